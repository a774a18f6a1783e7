"""Limited-memory BFGS; the recursion may start from the inverse of a matrix near the Hessian.

The last m pairs s = x' - x, u = g' - g correct a first guess B of the inverse Hessian so that B u = s for each of them
(Nocedal, 1980). With B from the Hessian of a sample of the rows the steps are almost Newton's, at the cost of a
gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from fivefold.core.types import Array
from fivefold.optim.minimise import Solver, State
from fivefold.optim.objective import SmoothObjective
from fivefold.optim.smooth.line_search import LineSearch, Point, Wolfe, cautious_step, point_state


@dataclass(frozen=True)
class LBFGS(Solver):
    """`inverse(g)` applies a positive definite guess of the inverse Hessian; by default a multiple of the identity."""

    memory: int = 10
    inverse: Callable[[Array], Array] | None = None
    search: LineSearch = field(default=Wolfe())

    accepts = (SmoothObjective,)

    def start(self, objective: SmoothObjective, x0: Array) -> State:
        return point_state(Point.at(objective, x0), ())

    def step(self, objective: SmoothObjective, state: State) -> State:
        here, pairs = state.memory
        trial = 1.0 if pairs or self.inverse is not None else cautious_step(here.gradient)
        direction = -inverse_hessian_times(here.gradient, pairs, self.inverse)
        _, there = self.search.find_step(objective, here, direction, trial)
        return point_state(there, with_new_pair(pairs, here, there, self.memory))


def inverse_hessian_times(
    g: Array, pairs: tuple[tuple[Array, Array], ...], inverse: Callable[[Array], Array] | None = None
) -> Array:
    """The estimate of the inverse Hessian by pairs (s, u) of changes of point and gradient, times g."""
    q, shares = g.copy(), []
    for s, u in reversed(pairs):
        share = (s @ q) / (s @ u)
        shares.append(share)
        q -= share * u
    if inverse is not None:
        q = inverse(q)
    elif pairs:
        s, u = pairs[-1]
        q *= (s @ u) / (u @ u)
    for (s, u), share in zip(pairs, reversed(shares), strict=True):
        q += s * (share - (u @ q) / (s @ u))
    return q


def with_new_pair(
    pairs: tuple[tuple[Array, Array], ...], here: Point, there: Point, memory: int
) -> tuple[tuple[Array, Array], ...]:
    """The last `memory` pairs after a step; one along which the gradient did not rise is left out."""
    s, u = there.x - here.x, there.gradient - here.gradient
    if float(s @ u) > 1e-14 * float(np.linalg.norm(s) * np.linalg.norm(u)):
        return (*pairs, (s, u))[-memory:]
    return pairs
