"""The projected Newton method for the dual of a linear machine with few rows.

    min over a of  1/2 a'Ka + sum of c_i/2 a_i^2 - y_i a_i + e |a_i|,   low <= a <= high,       K = Z R^-1 Z'

K has one row per row of the table, so the number of columns matters only once, where K is made. Passes of coordinate
descent tell the multipliers at a bound or a kink from those that are free, F, and Newton's step of these,

    (K + diag c)_FF d = -(gradient)_F

is cut off at the bounds, or at the first of them where that is lower. Once F is right the step ends at the minimum, to
rounding.

Bertsekas (1982).
"""

from __future__ import annotations

from dataclasses import dataclass

from fivefold.core.types import Array
from fivefold.optim.dual.box_dual import BoxDual
from fivefold.optim.dual.projected_newton_loops import projected_newton_steps
from fivefold.optim.minimise import NoDescentError, Solver, State

MAX_NEWTON_STEPS, MIN_NEWTON_STEPS = 60, 12  # per step of the solver; with a tube, not more than the following allows:
MAX_TUBE_WORK = 1e8  # cubed rows x Newton steps; many kinks may need more of them than another solver takes in all


@dataclass(frozen=True)
class ProjectedNewton(Solver):
    """For a table with few rows; a step is one compiled call, and usually the only one."""

    accepts = (BoxDual,)

    def start(self, objective: BoxDual, x0: Array) -> State:
        return _state(objective, x0)

    def step(self, objective: BoxDual, state: State) -> State:
        a, terms = state.x.copy(), objective.terms
        box = terms.low, terms.high, float(terms.tube_width), terms.curvature
        allowed = int(MAX_TUBE_WORK / len(a) ** 3) if terms.tube_width else MAX_NEWTON_STEPS
        steps = min(max(allowed, MIN_NEWTON_STEPS), MAX_NEWTON_STEPS)
        projected_newton_steps(objective.row_products, objective.risk.y, *box, a, steps)
        new = _state(objective, a)
        if not new.value < state.value:  # what is left is rounding
            raise NoDescentError
        return new


def _state(dual: BoxDual, a: Array) -> State:
    x = dual.primal(a)
    value = dual.value_at(a, x)
    return State(a, value, value + dual.primal_value(x, dual.predictor(x)))
