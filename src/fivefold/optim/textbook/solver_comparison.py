"""Solvers side by side on the same landscapes.

Measured are the cost of a solver (steps, evaluations, numbers stored between steps), its path (the mean angle between
consecutive steps), its basin (the share of a grid of starts from which it reaches the minimum) and its robustness (how
far from the minimum it ends when noise is added to every gradient).

    >>> from fivefold.optim.smooth.conjugate_gradient import ConjugateGradient
    >>> from fivefold.optim.functions import BOWL
    >>> from fivefold.optim.smooth.bfgs import BFGS
    >>> solvers = {"BFGS": BFGS(), "conjugate gradients": ConjugateGradient()}
    >>> print(comparison_table(compare_solvers([BOWL], solvers, grid=3)))
    function   solver               reason     steps  values  Hessians  memory  turn  basin  noise
    quadratic  BFGS                 converged ...
    quadratic  conjugate gradients  converged ...
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fivefold.core.types import Array
from fivefold.optim.functions import Landscape
from fivefold.optim.minimise import Solver, minimise
from fivefold.optim.objective import Minimum, TwiceSmoothObjective

REACHED_DISTANCE = 1e-3  # a run that ends within this distance of the minimum has reached it
NOISE_DRAWS = 5  # runs with noisy gradients per solver and landscape


@dataclass(frozen=True)
class SolverComparison:
    """One solver on one landscape. `values` counts evaluations of the value, with or without the gradient."""

    function: str
    solver: str
    minimum: Minimum
    values: int
    hessians: int
    memory: int  # numbers held between steps
    turning_angle: float  # mean angle between a step and the next, in degrees
    basin_share: float  # share of starts that reach the minimum
    noise: float  # median distance from the minimum under noise


def compare_solvers(
    landscapes: Sequence[Landscape],
    solvers: Mapping[str, Solver],
    *,
    tol: float = 1e-8,
    max_iter: int = 1000,
    grid: int = 5,
    noise: float = 0.01,
    seed: int = 0,
) -> tuple[SolverComparison, ...]:
    """Run every solver on every landscape, from its start, from a grid of starts, and with noisy gradients."""
    return tuple(
        _measured(land, name, solver, {"tol": tol, "max_iter": max_iter}, grid, noise, seed)
        for land in landscapes
        for name, solver in solvers.items()
    )


def comparison_table(found: Sequence[SolverComparison]) -> str:
    """The comparison in columns."""
    head = ("function", "solver", "reason", "steps", "values", "Hessians", "memory", "turn", "basin", "noise")
    rows = [
        tuple(
            map(str, (c.function, c.solver, c.minimum.reason, c.minimum.steps, c.values, c.hessians, c.memory, *shares))
        )
        for c in found
        for shares in [(f"{c.turning_angle:.0f}", f"{c.basin_share:.0%}", f"{c.noise:.2g}")]
    ]
    widths = [max(len(row[j]) for row in [head, *rows]) for j in range(len(head))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in [head, *rows]]
    return "\n".join(line.rstrip() for line in lines)


@dataclass(frozen=True)
class CountingFunction(TwiceSmoothObjective):
    """A function that counts its evaluations, and may return a noisy gradient."""

    function: TwiceSmoothObjective
    noise: float = 0.0
    rng: np.random.RandomState = field(default_factory=lambda: np.random.RandomState(0))
    calls: dict[str, int] = field(default_factory=lambda: {"values": 0, "hessians": 0})

    def value(self, x: Array) -> float:
        self.calls["values"] += 1
        return self.function.value(x)

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        self.calls["values"] += 1
        value, g = self.function.value_and_gradient(x)
        return value, g + self.noise * self.rng.standard_normal(len(x)) if self.noise else g

    def hessian(self, x: Array) -> Array:
        self.calls["hessians"] += 1
        return self.function.hessian(x)


def count_numbers(memory: object) -> int:
    """The number of numbers in a solver's memory."""
    if isinstance(memory, np.ndarray):
        return memory.size
    if isinstance(memory, tuple):
        return sum(count_numbers(part) for part in memory)
    return 1


def mean_turning_angle(path: Sequence[Array]) -> float:
    """The mean angle, in degrees, between a step of a path and the next: 0 on a line, 90 for a zigzag."""
    steps = np.diff(np.array(path), axis=0)
    lengths = np.linalg.norm(steps, axis=1)
    steps = steps[lengths > 0] / lengths[lengths > 0, None]
    if len(steps) < 2:
        return 0.0
    return float(np.degrees(np.arccos(np.clip((steps[1:] * steps[:-1]).sum(axis=1), -1, 1))).mean())


def _measured(
    land: Landscape, name: str, solver: Solver, options: dict[str, Any], grid: int, noise: float, seed: int
) -> SolverComparison:
    counted = CountingFunction(land.function)
    found = minimise(counted, land.start, solver, record=True, **options)
    values, hessians = counted.calls["values"], counted.calls["hessians"]
    state = solver.start(land.function, np.array(land.start))
    if found.steps:
        state = solver.step(land.function, state)
    (a, b), (c, d) = land.window
    starts = [(s, t) for s in np.linspace(a, b, grid) for t in np.linspace(c, d, grid)]
    reached = [
        _distance(land, minimise(land.function, start, solver, **options)) < REACHED_DISTANCE for start in starts
    ]
    noisy = [CountingFunction(land.function, noise, np.random.RandomState([seed, k])) for k in range(NOISE_DRAWS)]
    far = [_distance(land, minimise(function, land.start, solver, **options)) for function in noisy]
    return SolverComparison(
        land.name, name, found, values, hessians, count_numbers(state.memory), mean_turning_angle(found.path),
        float(np.mean(reached)) if reached else np.nan, float(np.median(far)),
    )  # fmt: skip


def _distance(land: Landscape, found: Minimum) -> float:
    return float(np.linalg.norm(found.x - land.minimum)) if np.isfinite(found.x).all() else np.inf
