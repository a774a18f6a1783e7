"""Non-linear least squares: f(x) = 1/2 |r(x)|^2, J the derivatives of the residuals r.

    Gauss-Newton    min over d of |r + J d|^2                    one step where r is linear
    Levenberg       and lambda |d|^2                             a shorter step, closer to -g, as lambda grows
    Marquardt       and lambda |D d|^2, D the lengths of J's columns: the same in any units of the parameters

A step that lowers f is accepted, and lambda divided by ten; any other is rejected, and lambda multiplied by ten.
J is never multiplied by itself: the problems are solved by orthogonal factors of J, so no digits are squared away.
Levenberg (1944), Marquardt (1963).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import lstsq

from fivefold.core.types import Array
from fivefold.optim.minimise import NoDescentError, Solver, State
from fivefold.optim.objective import ResidualObjective
from fivefold.optim.smooth.line_search import Armijo, LineSearch, Point, point_state, within_rounding

MAX_REJECTIONS = 60  # rejected steps in a row after which the solver gives up


@dataclass(frozen=True)
class GaussNewton(Solver):
    """`search` starts from a trial of one; the shortest step where J has dependent columns."""

    search: LineSearch = field(default=Armijo())

    accepts = (ResidualObjective,)

    def start(self, objective: ResidualObjective, x0: Array) -> State:
        return point_state(Point.at(objective, x0), 0)

    def step(self, objective: ResidualObjective, state: State) -> State:
        here, iteration = state.memory
        direction = lstsq(objective.jacobian(here.x), -objective.residuals(here.x))[0]
        _, there = self.search.find_step(objective, here, direction, 1.0, iteration)
        return point_state(there, iteration + 1)


@dataclass(frozen=True)
class LevenbergMarquardt(Solver):
    """`scaled` is Marquardt's form, without it Levenberg's; `damping` is the first lambda, `factor` its change."""

    damping: float = 1e-3
    factor: float = 10.0
    scaled: bool = True

    accepts = (ResidualObjective,)

    def start(self, objective: ResidualObjective, x0: Array) -> State:
        return point_state(Point.at(objective, x0), self.damping)

    def step(self, objective: ResidualObjective, state: State) -> State:
        here, damping = state.memory
        r, J = objective.residuals(here.x), objective.jacobian(here.x)
        for _ in range(MAX_REJECTIONS):
            there = Point.at(objective, here.x + damped_step(r, J, damping, scaled=self.scaled))
            if there.value < here.value or within_rounding(here, there):
                return point_state(there, damping / self.factor)
            damping *= self.factor
        raise NoDescentError


def damped_step(r: Array, J: Array, damping: float, *, scaled: bool) -> Array:
    """argmin over d of |r + J d|^2 + damping |D d|^2."""
    lengths = np.linalg.norm(J, axis=0) if scaled else np.ones(J.shape[1])
    lengths = np.where(lengths > 0, lengths, 1.0)  # a parameter that changes nothing stays where it is
    tall = np.vstack([J, np.sqrt(damping) * np.diag(lengths)])
    return lstsq(tall, np.concatenate([-r, np.zeros(J.shape[1])]))[0]
