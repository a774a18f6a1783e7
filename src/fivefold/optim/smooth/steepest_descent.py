"""Steepest descent: x <- x - t g, with any rule for t.

With a fixed t below 2 / L, L the largest curvature, it converges on a convex function; with the exact minimum along
each line every step is orthogonal to the one before, and the path zigzags.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fivefold.core.types import Array
from fivefold.optim.minimise import Solver, State
from fivefold.optim.objective import SmoothObjective
from fivefold.optim.smooth.line_search import Armijo, LineSearch, Point, cautious_step, point_state


@dataclass(frozen=True)
class SteepestDescent(Solver):
    """Along the negative gradient, as far as `search` finds."""

    search: LineSearch = field(default=Armijo(growth=2.0))

    accepts = (SmoothObjective,)

    def start(self, objective: SmoothObjective, x0: Array) -> State:
        here = Point.at(objective, x0)
        return point_state(here, cautious_step(here.gradient), 0)

    def step(self, objective: SmoothObjective, state: State) -> State:
        here, last, iteration = state.memory
        t, there = self.search.find_step(objective, here, -here.gradient, last, iteration)
        return point_state(there, t, iteration + 1)
