"""Linear models that minimise an empirical risk: the design, the solver that suits the loss, the learned value.

The loss decides the solver: L-BFGS that starts from a sample of the rows where everything is smooth, proximal Newton
for an L1 penalty, smoothed kinks with an exact end where the loss has kinks. A loss that is not convex is minimised
from several starts: zero, and the logistic solution at several scales.

Coefficients of a risk are (outputs, size): the slopes, then the height at the centre of the design, if there is an
intercept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike
from sklearn.exceptions import ConvergenceWarning

from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import Estimator, learned
from fivefold.core.estimators.params import Count, NonNegative
from fivefold.core.numerics.arrays import numpy_dtype
from fivefold.core.types import Array, Matrix, Table, Vector, Weights
from fivefold.linear_model.base import LinearClassifier, LinearModel
from fivefold.optim.design import Design
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.losses.margin_losses import LogLoss
from fivefold.optim.minimise import Solver, minimise
from fivefold.optim.objective import CompositeObjective, Minimum, Monitor
from fivefold.optim.penalties.proximal_operators import L1
from fivefold.optim.proximal.proximal_gradient import FISTA
from fivefold.optim.proximal.proximal_newton import ProximalNewton
from fivefold.optim.risk_minimisation.convexified_hessian import ConvexifiedObjective
from fivefold.optim.risk_minimisation.kink_smoothing import minimise_kinked
from fivefold.optim.risk_minimisation.subsample_start import start_from_subsample
from fivefold.optim.smooth.lbfgs import LBFGS
from fivefold.optim.smooth.newton import Newton

MAX_HESSIAN_SIZE = 500  # a Hessian of at most this many coefficients is decomposed at every step
MAX_SOLVER_RUNS = 25  # runs of a solver within one fit, at most: starts, or levels of smoothed kinks
START_SCALES = (0.3, 1.0, 3.0, 10.0)  # multiples of the logistic solution from which a non-convex loss is minimised

# penalty -> shares of alpha on |w| and on w^2 / 2, given l1_ratio
L1_L2_SHARES: dict[str | None, Callable[[float], tuple[float, float]]] = {
    None: lambda ratio: (0.0, 0.0),
    "l2": lambda ratio: (0.0, 1.0),
    "l1": lambda ratio: (1.0, 0.0),
    "elasticnet": lambda ratio: (ratio, 1.0 - ratio),
}


class LinearRiskEstimator(Estimator):
    """Minimises an empirical risk of linear predictors.

    Parameters
    ----------
    fit_intercept
        fit an intercept, which is never penalised.
    tol
        stop when the gradient is this share of the gradient at zero.
    max_iter
        maximum number of steps of the solver.

    Attributes
    ----------
    n_iter_
        steps taken.
    """

    _: KW_ONLY
    fit_intercept: bool = True
    tol: NonNegative = 1e-9
    max_iter: Count = 1000

    n_iter_ = learned("n_iter")


class LinearRiskClassifier(LinearRiskEstimator, LinearClassifier):
    """Minimises a risk of the margins, or of each class against the rest.

    Parameters
    ----------
    class_weight
        weights of the classes, "balanced", or None.
    """

    _: KW_ONLY
    class_weight: dict[Any, float] | Literal["balanced"] | None = None


def centred_design(X: Table, w: Weights, intercept: bool) -> Design:
    """Rows about their mean, if there is an intercept to take up the shift."""
    centre = np.asarray(w @ X).ravel() / w.sum() if intercept else None
    return Design(X, intercept=intercept, centre=centre)


def column_strengths(design: Design, strength: float) -> Vector:
    """This strength for every coefficient except the intercept."""
    out = np.zeros(design.size)
    out[: design.X.shape[1]] = strength
    return out


def coefficient_strengths(risk: EmpiricalRisk, columns: float, intercept: float) -> Vector:
    """The strength of the penalty on each free coefficient of a risk."""
    row = np.full(risk.design.size, columns)
    if risk.design.intercept:
        row[-1] = intercept
    return np.tile(row, risk.outputs - (risk.reference is not None) if risk.outputs else 1)


def solve_risk(
    risk: EmpiricalRisk,
    lasso: Array | float,
    *,
    tol: float,
    max_iter: int,
    monitor: Monitor | None = None,
    x0: Vector | None = None,
) -> Minimum:
    """The minimum of a risk plus sum of lasso |x|, by the solver that suits the loss; a convex one starts from x0."""
    loss, x0 = risk.loss, np.zeros(risk.design.size * max(risk.outputs, 1)) if x0 is None else x0
    if not loss.smooth:
        if not loss.convex:
            raise ValueError(
                f"{type(loss).__name__} can only be used to evaluate: it cannot be minimised. Take a convex loss"
            )
        return minimise_kinked(risk, x0, lasso=lasso, max_iter=max_iter, monitor=monitor)
    if loss.convex:
        return _descend(risk, lasso, x0, tol, max_iter, monitor)
    guide = replace(risk, loss=LogLoss(), ridge=np.broadcast_to(risk.ridge, x0.shape) + 0.0)
    x = _descend(guide, 0.0, x0, 1e-3, 50, None).x
    found: list[Minimum] = []
    for t in (0.0, *START_SCALES):
        found.append(_descend(risk, lasso, t * x, tol, max_iter, monitor))
        if found[-1].reason == "interrupted":
            return replace(min(found, key=lambda minimum: minimum.value), reason="interrupted")
    return min(found, key=lambda minimum: minimum.value)


def _descend(
    risk: EmpiricalRisk, lasso: Array | float, x0: Vector, tol: float, max_iter: int, monitor: Monitor | None
) -> Minimum:
    """The nearest minimum of a smooth loss; `tol` is a share of the gradient at zero."""
    tol = tol * max(float(np.abs(risk.gradient(np.zeros_like(x0))).max()), np.finfo(float).tiny)
    curved = _has_curvature(risk)
    if np.any(lasso):
        objective = CompositeObjective(ConvexifiedObjective(risk, risk.loss.convex) if curved else risk, L1(lasso))
        solver: Solver = ProximalNewton() if curved else FISTA()
        return minimise(objective, x0, solver, tol=tol, max_iter=max_iter, monitor=monitor)
    if curved and not risk.loss.convex and len(x0) <= MAX_HESSIAN_SIZE:
        return minimise(
            ConvexifiedObjective(risk, convex=False), x0, Newton(), tol=tol, max_iter=max_iter, monitor=monitor
        )
    inverse = None
    if curved and risk.loss.convex:
        x0, inverse = start_from_subsample(risk, x0)
    return minimise(risk, x0, LBFGS(inverse=inverse), tol=tol, max_iter=max_iter, monitor=monitor)


def _has_curvature(risk: EmpiricalRisk) -> bool:
    """Whether the loss has a second derivative: one of a user's own need not."""
    if risk.outputs:
        return True
    try:
        risk.loss.curvature(risk.y[:1], np.zeros(1))
    except TypeError:
        return False
    return True


def fit_linear(
    estimator: LinearRiskEstimator, risks: Sequence[EmpiricalRisk], lasso: float = 0.0
) -> tuple[Matrix, int]:
    """Coefficients (outputs, size) of these risks, one after the other, and the largest number of steps."""
    tol, max_iter = estimator.tol, estimator.max_iter
    found: list[Minimum] = []
    with fit_steps(estimator, "step", MAX_SOLVER_RUNS * max_iter * len(risks)) as monitor:
        for risk in risks:
            lassos = np.tile(column_strengths(risk.design, lasso), max(risk.outputs, 1))
            if found and found[-1].reason == "interrupted":  # the outputs that are left get a first guess
                found.append(replace(solve_risk(risk, lassos, tol=tol, max_iter=1), reason="interrupted"))
            else:
                found.append(solve_risk(risk, lassos, tol=tol, max_iter=max_iter, monitor=monitor))
    if found[-1].reason == "interrupted":
        warn_kept_best(estimator, sum(m.steps for m in found), "step")
    short = [m for m in found if m.reason in ("max_iter", "diverged")]
    if short:
        warn(
            f"{type(estimator).__name__}: {short[0].steps} steps did not reach the minimum (gradient still "
            f"{short[0].violation:.3g}). Raise max_iter, scale the columns, or penalise more",
            ConvergenceWarning,
        )
    x = np.vstack([m.x.reshape(max(r.outputs, 1), -1) for m, r in zip(found, risks, strict=True)])
    return x, max(1, *(m.steps for m in found))


def linear_from_outputs(x: Matrix, design: Design, n_iter: int, *, one: bool = False) -> LinearModel:
    """The learned value for coefficients (outputs, size) about the centre of the design; `one` drops the first axis."""
    coef, offset = design.split(x)
    dtype, centre = design.X.dtype, design.centre
    if one:
        coef, offset = coef[0], offset[0]
    intercept = (offset - coef @ centre if centre is not None else offset).astype(dtype)
    coef = np.ascontiguousarray(coef, dtype=dtype)
    if centre is None or design.sparse:
        return LinearModel(coef, intercept[()], n_iter=n_iter)
    return LinearModel(coef, intercept[()], centre, offset, n_iter=n_iter)


def linear_from_risk(risk: EmpiricalRisk, x: Vector, dtype: DTypeLike, passes: int) -> LinearModel:
    """The learned value for the free coefficients of a classifier's risk, one row of `coef` per output."""
    W, design, dtype = np.atleast_2d(risk.coefficient_matrix(x)), risk.design, numpy_dtype(dtype)
    w, b = design.split(W)
    count = np.array([passes], dtype=np.int32)
    if design.centre is None:
        return LinearModel(w.astype(dtype), np.asarray(b, dtype=dtype), n_iter=count)
    return LinearModel(w.astype(dtype), (b - w @ design.centre).astype(dtype), design.centre, b, n_iter=count)


def centred_coefficients(design: Design, coef: Matrix, intercept: float | Vector) -> Matrix:
    """(outputs, size) coefficients of a design from slopes and intercepts (a number or (outputs,)) at the origin."""
    if not design.intercept:
        return np.array(coef, dtype=np.float64)
    level = intercept if design.centre is None else intercept + coef @ design.centre
    return np.column_stack([coef, level]).astype(np.float64)


def zero_sum_coefficients(risk: EmpiricalRisk, x: Vector) -> Vector:
    """Among coefficients that predict the same, those whose intercepts sum to zero, if no penalty decides."""
    if not risk.outputs or risk.reference is not None:
        return x
    W = risk.coefficient_matrix(x).copy()
    flat = np.broadcast_to(risk.ridge, x.shape)[: W.shape[1]] == 0
    if risk.design.intercept and flat[-1]:
        W[:, -1] -= W[:, -1].mean()
    return W.ravel()
