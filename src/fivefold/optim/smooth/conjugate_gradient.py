"""Non-linear conjugate gradients: d = -g + beta d_before, x <- x + t d.

    Fletcher-Reeves     beta = g'g / h'h                 h the gradient before
    Polak-Ribiere+      beta = max(0, g'(g - h) / h'h)   falls back to steepest descent by itself

With the exact minimum along each line the directions are conjugate on a quadratic of n variables, which is solved in n
steps. The directions restart from -g after `every` steps, where consecutive gradients are far from orthogonal,
|g'h| >= powell g'g (Powell, 1977), and where d does not go down.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from fivefold.core.types import Array
from fivefold.optim.minimise import Solver, State
from fivefold.optim.objective import SmoothObjective
from fivefold.optim.smooth.line_search import LineSearch, Point, Wolfe, cautious_step, point_state


def fletcher_reeves(g: Array, before: Array) -> float:
    """g'g / h'h."""
    return float(g @ g) / float(before @ before)


def polak_ribiere(g: Array, before: Array) -> float:
    """g'(g - h) / h'h, and zero where that is negative."""
    return max(0.0, float(g @ (g - before)) / float(before @ before))


@dataclass(frozen=True)
class ConjugateGradient(Solver):
    """`powell=inf` and `every=0` never restart."""

    beta: Callable[[Array, Array], float] = polak_ribiere
    search: LineSearch = field(default=Wolfe(curvature=0.1))
    powell: float = 0.2
    every: int = 0

    accepts = (SmoothObjective,)

    def start(self, objective: SmoothObjective, x0: Array) -> State:
        here = Point.at(objective, x0)
        return point_state(here, -here.gradient, cautious_step(here.gradient), 0)

    def step(self, objective: SmoothObjective, state: State) -> State:
        here, direction, trial, iteration = state.memory
        t, there = self.search.find_step(objective, here, direction, trial, iteration)
        g, before = there.gradient, here.gradient
        new = -g + self.beta(g, before) * direction
        if self._restarts(g, before, new, iteration + 1):
            new = -g
        # the next step is expected to lower f by as much as this one did
        slopes = abs(float(before @ direction)), abs(float(g @ new))
        trial = t * slopes[0] / slopes[1] if slopes[1] > 0 else t
        return point_state(there, new, trial, iteration + 1)

    def _restarts(self, g: Array, before: Array, new: Array, iteration: int) -> bool:
        if self.every and iteration % self.every == 0:
            return True
        far = abs(float(g @ before)) >= self.powell * float(g @ g)
        return self.powell < np.inf and (far or float(g @ new) >= 0)
