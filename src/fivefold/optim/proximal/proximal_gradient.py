"""Proximal gradients: smooth f plus a penalty g known by its prox.

    ProximalGradient    x' = prox(x - t grad f(x), t)
    FISTA               the same from y = x + (a - 1) / a' (x - before), a' = (1 + sqrt(1 + 4 a^2)) / 2
    SAGA                x' with B (grad f_b(x) - kept_b) + sum of kept in place of the gradient, b a random one of B
                        blocks of terms, kept_b the last gradient of block b

t is halved until the parabola of curvature 1 / t lies above f at x'. The momentum of FISTA restarts where it points
uphill, (y - x')'(x' - x) > 0, which gives linear convergence near the minimum; t may then grow again.

Beck & Teboulle (2009); O'Donoghue & Candes (2015); Defazio, Bach & Lacoste-Julien (2014).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fivefold.core.types import Array, Indices
from fivefold.optim.minimise import NoDescentError, Solver, State
from fivefold.optim.objective import CompositeObjective, FiniteSum, SmoothObjective
from fivefold.optim.penalties.proximal_operators import NoPenalty, Penalty
from fivefold.optim.smooth.line_search import MAX_TRIALS, Point

VALUE_ROUNDING = 1e-14  # as a share of the value: a parabola that rises by less is checked by gradients
PROBE_LENGTH = 1e-4  # length of the first step, which measures the curvature


@dataclass(frozen=True)
class ProximalGradient(Solver):
    """One gradient and one prox per step; t grows by `growth` between steps."""

    growth: float = 1.1

    accepts = (CompositeObjective, SmoothObjective)

    def start(self, objective: SmoothObjective | CompositeObjective, x0: Array) -> State:
        smooth, penalty = _parts(objective)
        here = Point.at(smooth, x0)
        return _state(penalty, here, (here, curvature_step(smooth, here)))

    def step(self, objective: SmoothObjective | CompositeObjective, state: State) -> State:
        smooth, penalty = _parts(objective)
        here, t = state.memory
        t, there = proximal_step(smooth, penalty, here, t * self.growth)
        return _state(penalty, there, (there, t))


@dataclass(frozen=True)
class FISTA(Solver):
    """Accelerated proximal gradients; `restart=False` never resets the momentum."""

    restart: bool = True

    accepts = (CompositeObjective, SmoothObjective)

    def start(self, objective: SmoothObjective | CompositeObjective, x0: Array) -> State:
        smooth, penalty = _parts(objective)
        here = Point.at(smooth, x0)
        return _state(penalty, here, (here, x0, 1.0, curvature_step(smooth, here)))

    def step(self, objective: SmoothObjective | CompositeObjective, state: State) -> State:
        smooth, penalty = _parts(objective)
        here, before, a, t = state.memory
        share = (1 + np.sqrt(1 + 4 * a * a)) / 2
        ahead = here if a == 1.0 else Point.at(smooth, here.x + (a - 1) / share * (here.x - before))
        t, there = proximal_step(smooth, penalty, ahead, t)
        if self.restart and float((ahead.x - there.x) @ (there.x - here.x)) > 0:
            share, t = 1.0, 2 * t
        return _state(penalty, there, (there, here.x, share, t))


@dataclass(frozen=True)
class SAGA(Solver):
    """A step is an epoch: as many random blocks as there are, t = 1 / (3 L), L the largest curvature of a block seen.

    The terms are divided into `blocks`; each keeps its last gradient and the point it belongs to, so that the next
    gradient measures the curvature. An epoch that ends above the start is undone, and t halved.
    """

    blocks: int = 32
    seed: int = 0

    accepts = (CompositeObjective, FiniteSum)

    def start(self, objective: SmoothObjective | CompositeObjective, x0: Array) -> State:
        smooth, penalty = _sampled_parts(objective)
        dealt = self._dealt(smooth)
        kept = np.array([_share(smooth, x0, rows) for rows in dealt])  # (blocks, d)
        curvature = max(_block_curvature(smooth, x0, rows) for rows in dealt)
        here = Point.at(smooth, x0)
        places = np.tile(x0, (len(dealt), 1))
        return _state(penalty, here, (kept, places, curvature, here.value + penalty.value(x0), 0))

    def step(self, objective: SmoothObjective | CompositeObjective, state: State) -> State:
        smooth, penalty = _sampled_parts(objective)
        kept, places, curvature, ceiling, number = state.memory
        dealt = self._dealt(smooth)
        order = np.random.RandomState([self.seed, 1, number]).randint(len(dealt), size=len(dealt))
        for _ in range(MAX_TRIALS):
            x, curvature, memory = _epoch(smooth, penalty, state.x, dealt, order, kept.copy(), places.copy(), curvature)
            found = _state(penalty, Point.at(smooth, x), (*memory, curvature, ceiling, number + 1))
            if found.value <= ceiling:
                return found
            curvature *= 2
        raise NoDescentError

    def _dealt(self, smooth: FiniteSum) -> list[Indices]:
        rows = np.random.RandomState([self.seed, 0]).permutation(smooth.n_terms)
        return np.array_split(rows, min(self.blocks, smooth.n_terms))


def proximal_step(smooth: SmoothObjective, penalty: Penalty, y: Point, t: float) -> tuple[float, Point]:
    """The proximal step from y, with t halved until the parabola holds, and its t."""
    for _ in range(2 * MAX_TRIALS):
        there = Point.at(smooth, penalty.prox(y.x - t * y.gradient, t))
        if _holds(y, there, t):
            return t, there
        t *= 0.5
    raise NoDescentError


def curvature_step(smooth: SmoothObjective, here: Point) -> float:
    """One over the curvature along the gradient."""
    length = float(np.linalg.norm(here.gradient))
    if not length > 0:
        return 1.0
    there = smooth.gradient(here.x - PROBE_LENGTH / length * here.gradient)
    curvature = float(np.linalg.norm(there - here.gradient)) / PROBE_LENGTH
    return 1 / curvature if curvature > 0 else 1.0


def _holds(y: Point, there: Point, t: float) -> bool:
    """Whether f at `there` is below its tangent at y plus |there - y|^2 / (2 t)."""
    step = there.x - y.x
    limit = float(step @ step) / (2 * t)
    if limit > VALUE_ROUNDING * abs(y.value):
        return there.value - y.value - float(y.gradient @ step) <= limit
    return float((there.gradient - y.gradient) @ step) <= 2 * limit


def _state(penalty: Penalty, here: Point, memory: tuple[Any, ...]) -> State:
    violation = float(np.abs(here.x - penalty.prox(here.x - here.gradient, 1.0)).max(initial=0.0))
    return State(here.x, here.value + penalty.value(here.x), violation, memory)


def _parts(objective: SmoothObjective | CompositeObjective) -> tuple[SmoothObjective, Penalty]:
    if isinstance(objective, CompositeObjective):
        return objective.smooth, objective.penalty
    return objective, NoPenalty()


def _sampled_parts(objective: SmoothObjective | CompositeObjective) -> tuple[FiniteSum, Penalty]:
    smooth, penalty = _parts(objective)
    if not isinstance(smooth, FiniteSum):
        raise TypeError(f"SAGA samples the terms of a FiniteSum; got a {type(smooth).__name__}")
    return smooth, penalty


def _share(smooth: FiniteSum, x: Array, rows: Indices) -> Array:
    """The gradient of the terms of these rows: over all blocks they add up to the gradient of f."""
    return smooth.batch(x, rows) * (len(rows) / smooth.n_terms)


def _epoch(
    smooth: FiniteSum,
    penalty: Penalty,
    x: Array,
    dealt: list[Indices],
    order: Indices,
    kept: Array,
    places: Array,
    curvature: float,
) -> tuple[Array, float, tuple[Array, Array]]:
    total = kept.sum(axis=0)
    for b in order:
        new = _share(smooth, x, dealt[b])
        change, way = new - kept[b], float(np.linalg.norm(x - places[b]))
        if way > 0:
            curvature = max(curvature, float(np.linalg.norm(change)) / way)
        t = 1 / (3 * len(dealt) * curvature) if curvature > 0 else 1.0
        kept[b], places[b] = new, x
        x = penalty.prox(x - t * (len(dealt) * change + total), t)
        total += change
    return x, curvature, (kept, places)


def _block_curvature(smooth: FiniteSum, x: Array, rows: Indices) -> float:
    """The largest curvature at x of the terms of these rows, by power iteration on differences of gradients."""
    g = _share(smooth, x, rows)
    v, size = 1 + 0.1 * np.cos(np.arange(len(x))), 0.0
    for _ in range(10):
        v = v / np.linalg.norm(v)
        v = (_share(smooth, x + PROBE_LENGTH * v, rows) - g) / PROBE_LENGTH
        size = float(np.linalg.norm(v))
        if not size > 0:
            break
    return size
