"""Limited-memory BFGS, with the inverse of a matrix near the Hessian where the recursion has a multiple of one.

The last m pairs s = x' - x, u = g' - g correct a first guess B of the inverse Hessian so that B u = s for each of them
(Nocedal, 1980). With B from the Hessian of a sample of the rows the steps are almost Newton's, for the price of a
gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fivefold.optim.minimise import Solver, State, Stuck
from fivefold.optim.objective import Array, Smooth

ENOUGH = 1e-4  # share of the promised fall a step must give
ROUNDING = 4e-16  # of the value: a rise below it is not a rise
HALVINGS = 40


@dataclass(frozen=True)
class LBFGS(Solver):
    """`inverse(g)` applies a symmetric positive definite guess of the inverse Hessian; without it a multiple of one."""

    memory: int = 10
    inverse: Callable[[Array], Array] | None = None

    accepts = (Smooth,)

    def start(self, objective: Smooth, x0: Array) -> State:
        value, g = objective.both(x0)
        return State(x0, value, _largest(g), (g, ()))

    def step(self, objective: Smooth, state: State) -> State:
        g, pairs = state.memory
        direction = -self._times(g, pairs)
        slope = float(g @ direction)
        if not slope < 0:
            raise Stuck
        x, value, new = _backtrack(objective, state, g, direction, slope, first=not pairs and self.inverse is None)
        s, u = x - state.x, new - g
        if float(s @ u) > 1e-14 * float(np.linalg.norm(s) * np.linalg.norm(u)):
            pairs = (*pairs, (s, u))[-self.memory :]
        return State(x, value, _largest(new), (new, pairs))

    def _times(self, g: Array, pairs: tuple[tuple[Array, Array], ...]) -> Array:
        """The inverse Hessian, as far as it is known, times g."""
        q, shares = g.copy(), []
        for s, u in reversed(pairs):
            share = (s @ q) / (s @ u)
            shares.append(share)
            q -= share * u
        if self.inverse is not None:
            q = self.inverse(q)
        elif pairs:
            s, u = pairs[-1]
            q *= (s @ u) / (u @ u)
        for (s, u), share in zip(pairs, reversed(shares), strict=True):
            q += s * (share - (u @ q) / (s @ u))
        return q


def _backtrack(
    objective: Smooth, state: State, g: Array, direction: Array, slope: float, *, first: bool
) -> tuple[Array, float, Array]:
    """The first of t, t/2, t/4, ... that lowers the value enough, or by so little that rounding hides it."""
    t = min(1.0, 1.0 / float(np.abs(g).sum())) if first else 1.0
    slack = ROUNDING * abs(state.value)
    for _ in range(HALVINGS):
        x = state.x + t * direction
        value, new = objective.both(x)
        if value <= state.value + ENOUGH * t * slope:
            return x, value, new
        # near the minimum the values drown in rounding before the gradients do
        if value <= state.value + slack and _largest(new) < _largest(g):
            return x, value, new
        t *= 0.5
    raise Stuck


def _largest(g: Any) -> float:
    return float(np.abs(g).max(initial=0.0))
