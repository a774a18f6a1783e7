"""Newton's method for a risk with an L1 penalty and many columns: a parabola in the predictors, column by column.

    slopes s l'(eta), curvatures h = s l''(eta):    min over u of 1/2 |r - D Z (u - x)|^2 + ridge / 2 u^2 + lasso |u|

D = diag(sqrt h), r = -slopes / sqrt h. Passes of coordinate descent need one column at a time, no matrix of columns by
columns; only columns that are not zero, or close to leaving zero, take part. The parabola is minimised more exactly as
the violation falls, and a step along u - x needs the predictors of that direction once.

Friedman, Hastie & Tibshirani (2010); Yuan, Ho & Lin (2012).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np
from scipy.sparse import csc_array, hstack

from fivefold.core.types import Array, Sparse
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.minimise import NoDescentError, Solver, State
from fivefold.optim.objective import CompositeObjective
from fivefold.optim.penalties.proximal_operators import L1
from fivefold.optim.proximal.coordinate_descent_loops import sparse_passes
from fivefold.optim.smooth.line_search import MAX_TRIALS, SUFFICIENT_SHARE, VALUE_ROUNDING

MAX_PASSES = 100  # over the columns, per Newton step
INNER_TOL_SHARE = 1e-2  # as a share of the squared violation: a pass that gains less ends the inner minimisation
ACTIVE_SLOPE_SHARE = 0.9  # as a share of its strength: a column at zero with a larger slope takes part
MIN_CURVATURE_SHARE = 1e-12  # as a share of the largest curvature: no row is given less


class NewtonPoint(NamedTuple):
    """What is known at a point: predictors, weighted slopes, the gradient and the curvature of each coefficient."""

    eta: Array
    slope: Array
    gradient: Array
    curvatures: Array
    columns: Sparse  # the design with its column of ones, CSC


@dataclass(frozen=True)
class CoordinateNewton(Solver):
    """For an EmpiricalRisk with one predictor per row and an L1 penalty; the violation is in units of the curvature."""

    accepts = (CompositeObjective,)

    def start(self, objective: CompositeObjective, x0: Array) -> State:
        risk = objective.smooth
        if not isinstance(risk, EmpiricalRisk) or risk.outputs or not isinstance(objective.penalty, L1):
            raise TypeError("CoordinateNewton minimises an EmpiricalRisk with one predictor and an L1 penalty")
        if risk.design.centre is not None or not risk.loss.smooth or not np.isfinite(risk.loss.max_curvature):
            raise TypeError("CoordinateNewton needs a design without centre and a loss of bounded curvature")
        return _state(objective, x0, risk.design.predictor(x0), _columns(risk))

    def step(self, objective: CompositeObjective, state: State) -> State:
        risk, penalty = cast(EmpiricalRisk, objective.smooth), cast(L1, objective.penalty)  # `start` checked both
        x, here = state.x, state.memory
        u = _minimum_of_model(risk, np.broadcast_to(penalty.strength, x.shape), state)
        d = u - x
        fall = float(here.gradient @ d) + penalty.value(u) - penalty.value(x)
        if not fall < 0:
            raise NoDescentError
        along, t = risk.design.predictor(d), 1.0
        for _ in range(MAX_TRIALS):
            new = _state(objective, u if t == 1 else x + t * d, here.eta + t * along, here.columns)
            if new.value <= state.value + SUFFICIENT_SHARE * t * fall:
                return new
            if new.value <= state.value + VALUE_ROUNDING * abs(state.value) and new.violation < state.violation:
                return new
            t *= 0.5
        raise NoDescentError


def _columns(risk: EmpiricalRisk) -> Sparse:
    X = csc_array(risk.design.X, dtype=np.float64)
    X = hstack([X, np.ones((X.shape[0], 1))], format="csc") if risk.design.intercept else X
    X.sort_indices()
    return X


def _state(objective: CompositeObjective, x: Array, eta: Array, columns: Sparse) -> State:
    risk = cast(EmpiricalRisk, objective.smooth)
    slope = np.empty_like(eta)
    value = risk.loss.weighted_sum(risk.y, eta.copy(), risk.s, slope) + 0.5 * float(x @ (risk.ridge * x))
    g = risk.design.transpose(slope) + risk.ridge * x
    curvatures = np.maximum(
        risk.design.gram_diagonal(risk.s * risk.loss.curvature(risk.y, eta)) + risk.ridge, np.finfo(np.float64).tiny
    )
    away = x - objective.penalty.prox(x - g / curvatures, 1 / curvatures)
    violation = float((np.abs(away) * np.sqrt(curvatures)).max(initial=0.0))
    return State(x, value + objective.penalty.value(x), violation, NewtonPoint(eta, slope, g, curvatures, columns))


def _minimum_of_model(risk: EmpiricalRisk, lasso: Array, state: State) -> Array:
    """The minimum of the parabola at a point with the penalty, near enough."""
    x, here = state.x, state.memory
    h = risk.s * risk.loss.curvature(risk.y, here.eta)
    root = np.sqrt(np.maximum(h, MIN_CURVATURE_SHARE * float(h.max(initial=1.0))))
    A, u, r = here.columns, x.copy(), -here.slope / root
    order = np.flatnonzero((x != 0) | (np.abs(here.gradient) >= ACTIVE_SLOPE_SHARE * lasso))
    ridge = np.broadcast_to(np.asarray(risk.ridge, dtype=np.float64), x.shape).copy()
    scaled = A.data * root[A.indices]
    norms = np.maximum(here.curvatures - ridge, 0.0)
    sparse_passes(
        scaled, A.indices, A.indptr, np.zeros(len(x)), root, norms, r, u, np.ascontiguousarray(lasso), ridge,
        False, order, INNER_TOL_SHARE * state.violation**2, MAX_PASSES,
    )  # fmt: skip
    return u
