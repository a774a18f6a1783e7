"""A line search for risks: along a line the predictors change in proportion, so trials need no product with the rows.

    phi(t) = sum of s loss(y, eta + t delta) + 1/2 (x + t d)'R(x + t d),      eta, delta the predictors of x and of d

Where the classes can be separated and the penalty is weak, Newton's step of one adds about one to every margin, however
far the minimum is: the minimum along the line is many times as far.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq

from fivefold.core.chunks.chunked_array import is_chunked
from fivefold.core.types import Array
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.smooth.line_search import Armijo, Point, descent_slope, has_decreased

LEFT_SLOPE_SHARE = 0.2  # share of the slope that the step of one may leave
MAX_DOUBLINGS = 30  # of the step, in search of a slope upwards
ROUNDING_DECREASE = 1e-13  # per unit of weight: a decrease of the risk that rounding may hide
STEP_PRECISION = 0.02  # as a share of the step


def predictor_step(risk: EmpiricalRisk, here: Point, direction: Array) -> Point:
    """The point one step along the direction if that leaves little of the slope, else one near the minimum there.

    Raises NoDescentError where there is none.
    """
    slope = descent_slope(here, direction)
    there = Point.at(risk, here.x + direction)
    left = float(there.gradient @ direction)
    hidden = -slope <= ROUNDING_DECREASE * float(risk.s.sum())  # only slopes tell where the value is lower
    if abs(left) <= LEFT_SLOPE_SHARE * abs(slope) and (hidden or has_decreased(here, there, 0.0)):
        return there
    return Armijo().find_step(risk, here, direction, _minimum_along(risk, here.x, direction, left))[1]


def _minimum_along(risk: EmpiricalRisk, x: Array, d: Array, at_one: float) -> float:
    """A step near the minimum along d, from the slope at a step of one."""
    pull, bend = float(x @ (risk.ridge * d)), float(d @ (risk.ridge * d))
    loss_slope = (lambda t: risk.line_slope(x, d, t)) if is_chunked(risk) else _loss_slope(risk, x, d)

    def slope(t: float) -> float:
        return loss_slope(t) + pull + t * bend

    low, t, at_t = 0.0, 1.0, at_one
    for _ in range(MAX_DOUBLINGS if bend > 0 else 0):  # without a penalty there may be no minimum
        if not at_t < 0:
            break
        low, t = t, 2 * t
        at_t = slope(t)
    if not (slope(low) < 0 < slope(t) < np.inf):  # overflow, or rounding
        return t
    return float(brentq(slope, low, t, rtol=STEP_PRECISION, maxiter=50, disp=False))


def _loss_slope(risk: EmpiricalRisk, x: Array, d: Array) -> Callable[[float], float]:
    """The slope along d of the loss at x + t d, from the predictors of x and of d."""
    eta, along = (risk.design.predictor(risk.coefficient_matrix(v)) for v in (x, d))
    out = np.empty_like(eta)

    def slope(t: float) -> float:
        risk.loss.weighted_sum(risk.y, eta + t * along, risk.s, out)
        return float(np.vdot(out, along))

    return slope
