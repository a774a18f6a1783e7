"""BFGS: Newton's method with an inverse Hessian B learned from the gradients.

    B' = (I - s u'/(u's)) B (I - u s'/(u's)) + s s'/(u's),  s = x' - x,  u = g' - g

B' is the symmetric matrix nearest to B with B' u = s, and stays positive definite while u's > 0; a pair with u's <= 0
is skipped. B starts as the identity. Broyden, Fletcher, Goldfarb & Shanno (1970); `lbfgs` keeps pairs instead of B.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fivefold.core.types import Array
from fivefold.optim.minimise import Solver, State
from fivefold.optim.objective import SmoothObjective
from fivefold.optim.smooth.line_search import LineSearch, Point, Wolfe, cautious_step, point_state


@dataclass(frozen=True)
class BFGS(Solver):
    """`search` starts from one, after a cautious first step; FixedStep(a) is the damped method without search."""

    search: LineSearch = field(default=Wolfe())

    accepts = (SmoothObjective,)

    def start(self, objective: SmoothObjective, x0: Array) -> State:
        return point_state(Point.at(objective, x0), np.eye(len(x0)), 0)

    def step(self, objective: SmoothObjective, state: State) -> State:
        here, B, iteration = state.memory
        trial = 1.0 if iteration else cautious_step(here.gradient)
        _, there = self.search.find_step(objective, here, -B @ here.gradient, trial, iteration)
        B = bfgs_update(B, there.x - here.x, there.gradient - here.gradient)
        return point_state(there, B, iteration + 1)


def bfgs_update(B: Array, s: Array, u: Array) -> Array:
    """B corrected so that B u = s, or B unchanged where u's is not positive."""
    su = float(s @ u)
    if not su > 1e-14 * float(np.linalg.norm(s) * np.linalg.norm(u)):
        return B
    Bu = B @ u
    cross = np.outer(s, Bu) / su
    return B - cross - cross.T + np.outer(s, s) * ((1 + float(u @ Bu) / su) / su)
