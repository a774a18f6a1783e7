"""Huber regression: squares for small residuals, absolute values for large ones, and the scale that divides them.

    min over w, b, sigma > 0 of   sum_i s_i (sigma + H(r_i / sigma) sigma) + alpha |w|^2,      r = y - w'x - b
    H(z) = z^2 for |z| < epsilon, 2 epsilon |z| - epsilon^2 beyond

The sum is convex in all of them together, and the answer does not change with the unit of y. Rows beyond epsilon sigma
pull with a constant force, however far they are. Newton's method on (w, b, sigma): the Hessian is the Gram matrix of
the inlying rows with r / sigma as one more column.

Where the surface can pass through enough rows the minimum is at sigma = 0, where the sum is 2 epsilon sum_i s_i |r_i| +
alpha |w|^2: least absolute deviations (optim.dual.frisch_newton).

Huber & Ronchetti (2009), section 7.7; Owen (2007).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fivefold.core.admission.takes import Takes
from fivefold.core.blas_threads import one_blas_thread
from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Index, NonNegative, Range
from fivefold.core.numerics.arrays import to_numpy
from fivefold.core.registry import Card, SearchRange
from fivefold.core.types import Array, Table, Target, UserTable, UserTarget, UserWeights, Weights
from fivefold.linear_model.base import LinearModel, SurfaceRegressor, centred_linear
from fivefold.linear_model.quantile import weighted_median
from fivefold.optim.design import Design
from fivefold.optim.dual.frisch_newton import FrischNewton, PiecewiseLinearRisk
from fivefold.optim.minimise import minimise
from fivefold.optim.objective import Minimum, TwiceSmoothObjective
from fivefold.optim.smooth.newton import Newton

MAD_TO_SIGMA = 1.4826  # one over the median absolute deviation of a Gaussian of unit variance
SIGMA_FLOOR = 1e-15  # lower bound of sigma, as a share of the largest target
VANISHING_SIGMA = 1e-5  # as a share of the spread of y: a smaller sigma is converging to zero
GRADIENT_TOL = 1e-10  # gradient aimed at, per unit of weight: Newton's last steps are cheap


@dataclass(frozen=True)
class ScaledHuber(TwiceSmoothObjective):
    """The sum of the module's text at (w, b, sigma); `ridge` is alpha for each of (w, b), zero for b."""

    design: Design
    y: Array
    s: Array
    epsilon: float
    ridge: Array
    floor: float

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        v, sigma, e = x[:-1], float(x[-1]), self.epsilon
        if not sigma >= self.floor:
            return np.inf, np.zeros_like(x)
        r = self.y - self.design.predictor(v)
        z = r / sigma
        far = np.abs(z) >= e
        value = sigma * self.s @ (1 + np.where(far, 2 * e * np.abs(z) - e**2, z**2)) + self.ridge @ v**2
        slope = -2 * self.s * np.clip(z, -e, e)
        rise = self.s @ (1 - np.minimum(z**2, e**2))
        return float(value), np.append(self.design.transpose(slope) + 2 * self.ridge * v, rise)

    def hessian(self, x: Array) -> Array:
        v, sigma = x[:-1], float(x[-1])
        z = (self.y - self.design.predictor(v)) / sigma
        h = np.where(np.abs(z) < self.epsilon, 2 * self.s / sigma, 0.0)
        H = np.empty((len(x), len(x)))
        H[:-1, :-1] = self.design.gram(h) + np.diag(2 * self.ridge)
        H[-1, :-1] = H[:-1, -1] = self.design.transpose(h * z)
        H[-1, -1] = h @ z**2
        return H


@dataclass(frozen=True)
class RobustFit:
    """A surface, the scale of the inlying residuals, and the steps that found them."""

    linear: LinearModel
    scale: float
    n_iter: int


class HuberRegressor(SurfaceRegressor):
    """Linear regression that outliers in the targets cannot dominate.

    Parameters
    ----------
    epsilon
        residuals beyond epsilon times the scale count as absolute values; smaller is more robust.
    max_iter
        maximum number of Newton steps.
    alpha
        strength of the penalty on the squared length of the coefficients.
    warm_start
        start from what the last fit found.
    tol
        gradient above which a warning is given; the gradient reached is usually far smaller.

    Attributes
    ----------
    scale_
        sigma, the scale that epsilon multiplies.
    n_iter_
        steps taken.
    outliers_
        True for the rows of fit beyond epsilon times the scale.

    Examples
    --------
    >>> from fivefold.linear_model import HuberRegressor
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    >>> model = HuberRegressor().fit(X, [0.1, 0.9, 2.1, 2.9, 4.1, 95.0])
    >>> model.coef_.round(2)
    array([1.06])
    """

    _: KW_ONLY
    epsilon: Annotated[float, Range(1.0, open_high=True)] = 1.35
    max_iter: Index = 100
    alpha: NonNegative = 0.0001
    warm_start: bool = False
    fit_intercept: bool = True
    tol: NonNegative = 1e-5

    takes = Takes(sparse=True)
    card = Card(
        applications=("regression",),
        use="A linear trend with outliers in the targets, nearly as precise as least squares where there are none. "
        "An outlier in the columns still pulls.",
        steps=(
            "Start from the median and the median absolute deviation of the targets.",
            "Take a Newton step on coefficients and scale: least squares on the rows within epsilon times the scale.",
            "Halve the step until the sum falls; repeat until the gradient vanishes.",
        ),
        source="Huber (1964); Owen (2007)",
        see_also=("LeastAbsoluteRegressor", "QuantileRegressor", "Ridge"),
        variants=({"epsilon": 1.1, "alpha": 1.0}, {"fit_intercept": False}),
        search={"epsilon": SearchRange(1.05, 2.5), "alpha": SearchRange(1e-4, 10.0)},
        portfolio=True,
    )

    scale_ = learned("scale")
    n_iter_ = learned("n_iter")

    def fit(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None) -> Self:
        """Learn from rows and their targets; a weight of two counts a row twice."""
        super().fit(X, y, sample_weight)
        residual = np.ravel(np.asarray(to_numpy(y), dtype=np.float64)) - self.predict(X)
        self.outliers_ = np.abs(residual) > self.scale_ * self.epsilon
        return self

    def _forget(self) -> None:
        if not self.warm_start:
            super()._forget()

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        y, d = y.astype(np.float64), X.shape[1]
        centre = np.asarray(w @ X, dtype=np.float64) / w.sum() if self.fit_intercept else np.zeros(d)
        design = Design(X, self.fit_intercept, centre if self.fit_intercept else None)
        ridge = np.append(np.full(d, self.alpha), [0.0] * self.fit_intercept)
        floor = max(SIGMA_FLOOR * float(np.abs(y).max()), np.finfo(np.float64).tiny)
        risk = ScaledHuber(design, y, w, self.epsilon, ridge, floor)

        def model(x: Array, count: int) -> RobustFit:
            coef, offset = design.split(x[:-1])
            surface = centred_linear(coef, centre, offset[()], X.dtype, intercept=self.fit_intercept)
            return RobustFit(surface, x[-1], count)

        start = self._start(y, w, centre, floor)
        options: dict[str, Any] = {"tol": min(self.tol, GRADIENT_TOL * w.sum()), "max_iter": self.max_iter}
        with one_blas_thread(), fit_steps(self, "step", max(self.max_iter, 1), X) as monitor:
            options["monitor"] = lambda x, value: monitor(model(x, 0), value)
            found = minimise(risk, start, Newton(), **options)
            collapsed = found.x[-1] < VANISHING_SIGMA * start[-1] or (
                found.reason == "stuck" and found.violation > self.tol
            )
            if collapsed and found.reason != "interrupted":
                found = _from_corner(risk, found, options)
        self.model_ = model(found.x, found.steps)
        if found.reason == "interrupted":
            warn_kept_best(self, found.steps, "step")
        elif found.reason == "max_iter" and found.violation > self.tol:
            warn(
                f"HuberRegressor: the gradient is {found.violation:.3g} after {self.max_iter} steps, above tol = "
                f"{self.tol:g}; raise max_iter, or scale the columns",
                ConvergenceWarning,
            )

    def _start(self, y: Array, w: Array, centre: Array, floor: float) -> Array:
        """(w, b, sigma): those of the last fit, or the median of y and the spread about it."""
        if self.__sklearn_is_fitted__() and len(self.coef_) == len(centre):
            old = self.model_.linear
            b = [old.intercept + old.coef @ centre] * self.fit_intercept
            return np.array([*old.coef, *b, max(self.scale_, floor)], dtype=np.float64)
        middle = weighted_median(y, w) if self.fit_intercept else 0.0
        spread = MAD_TO_SIGMA * weighted_median(np.abs(y - middle), w) or float(
            np.sqrt(np.average((y - middle) ** 2, weights=w))
        )
        return np.array([*np.zeros(len(centre)), *[middle] * self.fit_intercept, max(spread, floor)])


def _from_corner(risk: ScaledHuber, found: Minimum, options: dict[str, Any]) -> Minimum:
    """The lowest of three: `found`, the minimum at sigma = 0, and the end of Newton's method from there.

    If the surface fits nearly every row, r / sigma is nearly a combination of the columns and the Hessian singular;
    near the corner of least absolute deviations it is not.
    """
    slopes, none = 2 * risk.epsilon * risk.s, np.zeros(risk.design.size)
    absolute = PiecewiseLinearRisk(risk.design, risk.y, -slopes, slopes, none, 2 * risk.ridge)
    corner = minimise(absolute, none, FrischNewton(), tol=0.0, max_iter=100).x
    spread = MAD_TO_SIGMA * weighted_median(np.abs(absolute.residual(corner)), risk.s)
    x = np.append(corner, risk.floor)
    at_zero = Minimum(x, risk.value(x), 0.0, (*found.history, risk.value(x)), "converged")
    again = minimise(risk, np.append(corner, max(spread, risk.floor)), Newton(), **options)
    return min(found, at_zero, again, key=lambda end: end.value)
