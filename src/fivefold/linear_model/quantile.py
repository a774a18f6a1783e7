"""Quantile regression, and least absolute deviations, its middle case.

    min over w, b of   1/W sum_i s_i rho_q(y_i - w'x_i - b) + alpha |w|_1,     rho_q(r) = max(q r, (q - 1) r)

The minimum estimates the q-quantile of y given x: a share q of the rows lies below the surface. The loss grows only
linearly, so a gross outlier moves the surface no further than any row on its side. The minimum is a corner: as many
rows (or zero coefficients) as there are coefficients are fitted exactly. The interior-point method finds which, and
one linear system the corner, to rounding (optim.dual.frisch_newton).

Koenker & Bassett (1978); Portnoy & Koenker (1997).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning

from fivefold.core.admission.takes import Takes
from fivefold.core.blas_threads import one_blas_thread
from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import Estimator, learned
from fivefold.core.estimators.params import Count, NonNegative, OpenFraction
from fivefold.core.registry import Card
from fivefold.core.types import Array, Table, Target, Vector, Weights
from fivefold.linear_model.base import LinearModel, SurfaceRegressor, centred_linear
from fivefold.optim.design import Design
from fivefold.optim.dual.frisch_newton import FrischNewton, PiecewiseLinearRisk
from fivefold.optim.minimise import minimise
from fivefold.optim.objective import Minimum

PREDICTION_ROUNDING = 64 * float(np.finfo(np.float64).eps)  # share of the largest target that counts as rounding
TIGHT_GAP = 1e-12  # the gap aimed at, as a share of sum s |y|, if no corner is proved to be the minimum
CARD_STEPS = (
    "Give each row a dual number between its two slopes, zero at first.",
    "Take Newton steps that make the products of the slacks equal and ever smaller.",
    "Once it is clear which rows lie on the surface, solve for them exactly.",
    "Check by the dual numbers that no other choice of rows is better.",
)


@dataclass(frozen=True)
class QuantileProblem:
    """A piecewise linear risk about the mean of the rows, and that mean."""

    risk: PiecewiseLinearRisk
    centre: Array

    def linear_model(self, x: Vector, dtype: DTypeLike) -> LinearModel:
        """The surface with coefficients x; numbers that users see get this dtype."""
        coef, offset = self.risk.design.split(x)
        return centred_linear(coef, self.centre, offset[()], dtype, intercept=self.risk.design.intercept)


def quantile_problem(
    X: Table, y: Array, w: Array, q: float, *, l1: float, ridge: float, intercept: bool
) -> QuantileProblem:
    """Rows of weight w judged at the quantile q, with penalties on all coefficients except the intercept."""
    y = y.astype(np.float64)
    centre = np.asarray(w @ X, dtype=np.float64) / w.sum() if intercept else np.zeros(X.shape[1])
    design = Design(X, intercept, centre if intercept else None)
    penalised = np.append(np.ones(X.shape[1]), [0.0] * intercept)
    risk = PiecewiseLinearRisk(design, y, (q - 1) * w, q * w, l1 * penalised, ridge * penalised)
    return QuantileProblem(risk, centre)


def solve_quantile(estimator: Estimator, problem: QuantileProblem, X: Table, max_iter: int) -> Minimum:
    """The minimum; callbacks see every step."""
    risk = problem.risk
    start = np.zeros(risk.design.size)
    if risk.design.intercept:
        start[-1] = weighted_median(risk.y, risk.high)
    tol = TIGHT_GAP * float((risk.high - risk.low) @ np.abs(risk.y))
    with one_blas_thread(), fit_steps(estimator, "step", max_iter, X) as monitor:
        found = minimise(
            risk,
            start,
            FrischNewton(),
            tol=tol,
            max_iter=max_iter,
            monitor=lambda x, value: monitor(QuantileFit(problem.linear_model(x, X.dtype), 0), value),
        )
    if found.reason == "interrupted":
        warn_kept_best(estimator, found.steps, "step")
    elif found.reason == "max_iter":
        warn(
            f"{type(estimator).__name__}: not at the minimum after {max_iter} steps; a subgradient of size "
            f"{found.violation:.3g} is left. Scale the columns, or give a penalty",
            ConvergenceWarning,
        )
    return found


def weighted_median(y: Array, w: Array) -> float:
    """The first value that half of the weight does not exceed."""
    order = np.argsort(y, kind="stable")
    below = np.cumsum(w[order])
    return float(y[order[np.searchsorted(below, below[-1] / 2)]])


@dataclass(frozen=True)
class QuantileFit:
    """A surface and the steps that found it."""

    linear: LinearModel
    n_iter: int


class QuantileRegressor(SurfaceRegressor):
    """A linear surface that a given share of the targets lies below.

    Parameters
    ----------
    quantile
        the share of targets below the surface.
    alpha
        strength of the penalty on the size of the coefficients.
    solver, solver_options
        kept for scikit-learn's signature: every name takes the interior-point method and ends at an exact corner.

    Attributes
    ----------
    n_iter_
        steps of the interior-point method.

    Examples
    --------
    >>> from fivefold.linear_model import QuantileRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 90.0]
    >>> model = QuantileRegressor(alpha=0).fit(X, y)
    >>> model.predict([[3.0]]).round(6)
    array([3.])
    """

    _: KW_ONLY
    quantile: OpenFraction = 0.5
    alpha: NonNegative = 1.0
    fit_intercept: bool = True
    solver: Literal["highs-ds", "highs-ipm", "highs", "interior-point", "revised simplex"] = "highs"
    solver_options: dict[str, Any] | None = None

    takes = Takes(sparse=True)
    card = Card(
        applications=("regression",),
        use="Bounds and medians instead of means, with outliers in the targets. With very many columns take the lasso.",
        steps=CARD_STEPS,
        source="Koenker & Bassett (1978); Portnoy & Koenker (1997)",
        see_also=("HuberRegressor", "LeastAbsoluteRegressor"),
        variants=({"alpha": 0.0, "quantile": 0.8}, {"alpha": 0.01, "fit_intercept": False}),
        search={"alpha": (0.0, 1e-3, 1e-2, 0.1)},
    )

    n_iter_ = learned("n_iter")

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        l1 = self.alpha * float(w.sum())
        problem = quantile_problem(X, y, w, self.quantile, l1=l1, ridge=0.0, intercept=self.fit_intercept)
        found = solve_quantile(self, problem, X, 200)
        x = _zero_rounding(found.x, X, y) if self.alpha else found.x
        self.model_ = QuantileFit(problem.linear_model(x, X.dtype), max(found.steps, 1))


def _zero_rounding(x: Vector, X: Table, y: Vector) -> Vector:
    """x with zero for coefficients that change no prediction by more than rounding: zeros of the penalty's corner."""
    largest = abs(X).max(axis=0)
    largest = largest.toarray().ravel() if issparse(largest) else largest
    change = np.abs(x[: len(largest)]) * largest
    x = x.copy()
    x[: len(largest)][change <= PREDICTION_ROUNDING * np.abs(y).max()] = 0.0
    return x


class LeastAbsoluteRegressor(SurfaceRegressor):
    """The linear surface of least absolute deviations: the median of the target, which gross outliers do not move.

    Parameters
    ----------
    ridge
        strength of a penalty on the squared length of the coefficients: sum of |r| + ridge/2 |w|^2 is minimised.
    max_iter
        maximum number of steps of the interior-point method.

    Attributes
    ----------
    n_iter_
        steps taken.

    Examples
    --------
    >>> from fivefold.linear_model import LeastAbsoluteRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 90.0]
    >>> LeastAbsoluteRegressor().fit(X, y).coef_.round(6)
    array([1.])
    """

    _: KW_ONLY
    ridge: NonNegative = 0.0
    fit_intercept: bool = True
    max_iter: Count = 200

    takes = Takes(sparse=True)
    card = Card(
        applications=("regression",),
        use="A linear trend under gross errors in some targets. An outlier in the columns still pulls.",
        steps=CARD_STEPS,
        source="Laplace (1793); Koenker & Bassett (1978)",
        see_also=("HuberRegressor", "QuantileRegressor"),
        variants=({"ridge": 1.0}, {"fit_intercept": False}),
        search={"ridge": (0.0, 0.1, 1.0, 10.0)},
    )

    n_iter_ = learned("n_iter")

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        # the quantile 1/2 has slopes of a half: twice the weight makes them one
        problem = quantile_problem(X, y, 2 * w, 0.5, l1=0.0, ridge=self.ridge, intercept=self.fit_intercept)
        found = solve_quantile(self, problem, X, self.max_iter)
        self.model_ = QuantileFit(problem.linear_model(found.x, X.dtype), max(found.steps, 1))
