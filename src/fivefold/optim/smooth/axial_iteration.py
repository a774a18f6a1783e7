"""Axial iteration: minimise along one coordinate after another, the others fixed.

A step is a pass over all coordinates, in their order or in a random one. It needs no direction and no curvature, and
is slow where the coordinates are correlated; `proximal.coordinate_descent` is the compiled form for linear models.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fivefold.core.types import Array
from fivefold.optim.minimise import NoDescentError, Solver, State
from fivefold.optim.objective import SmoothObjective
from fivefold.optim.smooth.line_search import LineSearch, Point, Wolfe, cautious_step, point_state


@dataclass(frozen=True)
class AxialIteration(Solver):
    """`search` finds the minimum along a coordinate; `seed` is for the random order."""

    search: LineSearch = field(default=Wolfe(curvature=0.1))
    order: Literal["cyclic", "random"] = "cyclic"
    seed: int = 0

    accepts = (SmoothObjective,)

    def start(self, objective: SmoothObjective, x0: Array) -> State:
        here = Point.at(objective, x0)
        return point_state(here, np.full(len(x0), cautious_step(here.gradient)), 0)

    def step(self, objective: SmoothObjective, state: State) -> State:
        here, trials, iteration = state.memory
        trials, moved = trials.copy(), False
        for j in self._coordinates(len(here.x), iteration):
            axis = np.zeros_like(here.x)
            axis[j] = -here.gradient[j]
            if not axis[j]:
                continue
            try:
                trials[j], here = self.search.find_step(objective, here, axis, float(trials[j]), iteration)
            except NoDescentError:  # already at the minimum along this coordinate
                continue
            moved = True
        if not moved:
            raise NoDescentError
        return point_state(here, trials, iteration + 1)

    def _coordinates(self, d: int, iteration: int) -> NDArray[np.intp]:
        if self.order == "cyclic":
            return np.arange(d)
        return np.random.RandomState([self.seed, iteration]).permutation(d)
