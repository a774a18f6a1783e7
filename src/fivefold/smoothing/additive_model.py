"""Additive model: a sum of smooth curves, one per column, fitted by backfitting.

    g(x) = b + sum_j f_j(x_j)        each f_j has a mean of zero over the rows
    repeat for each column j:  f_j = smooth of  y - b - sum_{k != j} f_k(x_k)  along x_j

Any smoother of one column serves. Every curve can be drawn; many columns cost no more than their number.

Friedman & Stuetzle (1981); Hastie & Tibshirani (1990), Generalized additive models.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, Learner, NonNegative
from fivefold.core.estimators.supervised_learning import Regressor
from fivefold.core.registry import Card
from fivefold.core.types import Array, Doubles, Table, Target, UserTable, Weights
from fivefold.smoothing.base import Smoother
from fivefold.smoothing.smoothing_spline import SmoothingSpline

CHOOSING_ROUNDS = (
    3  # in which smoothers choose their smoothness anew; with a choice in every round curves may never settle
)


@dataclass(frozen=True)
class AdditiveFit:
    """A constant and a fitted smoother per column; `shifts` centre their curves."""

    intercept: float
    smoothers: tuple[Any, ...]  # regressors of any library, one per column
    shifts: Doubles  # (d,)
    n_iter: int
    converged: bool


class AdditiveModel(Regressor):
    """Regression by a sum of smooth curves of single columns.

    Parameters
    ----------
    smoother
        a regressor of one column, of any library, a copy of which is fitted along each; None for a smoothing spline
        whose price generalised cross-validation chooses.
    max_iter
        rounds over all columns, at most.
    tol
        change of the sum of the curves in a round, as a share of the deviation of the targets, from which on it is
        final.

    Attributes
    ----------
    intercept_
        the mean of the targets.
    smoothers_
        the fitted smoother of each column.
    n_iter_
        rounds that were made.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.smoothing import AdditiveModel
    >>> X = np.random.default_rng(0).uniform(-2, 2, size=(300, 2))
    >>> model = AdditiveModel().fit(X, np.sin(X[:, 0]) + X[:, 1] ** 2)
    >>> model.predict([[1.0, 1.0]]).round(2)
    array([1.84])
    """

    smoother: Learner | None = None
    _: KW_ONLY
    max_iter: Count = 100
    tol: NonNegative = 1e-4

    card = Card(
        applications=("regression",),
        use="Many columns whose effects add up and bend. Products of columns are not found: boosting or a "
        "Gaussian process finds them.",
        steps=(
            "Begin with the mean of the targets and curves of zero.",
            "Along each column smooth what the other curves leave of the targets.",
            "Repeat until the curves stay as they are.",
        ),
        source="Friedman & Stuetzle (1981); Hastie & Tibshirani (1990)",
        see_also=("SmoothingSpline", "Loess", "LinearRegression"),
        variants=({"smoother": SmoothingSpline(1.0)},),
    )

    intercept_, smoothers_, n_iter_ = learned("intercept"), learned("smoothers"), learned("n_iter")

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        X, y, w = (np.asarray(a, dtype=np.float64) for a in (X, y, w))
        inner = SmoothingSpline("gcv") if self.smoother is None else self.smoother
        d, total = X.shape[1], w.sum()
        intercept = float(w @ y / total)
        deviation = float(np.sqrt(w @ np.square(y - intercept) / total))
        curves, shifts = np.zeros((d, len(y))), np.zeros(d)
        smoothers: list[Any] = [None] * d
        rest, rounds, change = y - intercept, 0, np.inf
        weights = {} if (w == 1.0).all() else {"sample_weight": w}
        while rounds < self.max_iter and change > self.tol * deviation:
            rounds, before = rounds + 1, rest.copy()
            for j in range(d):
                column = np.ascontiguousarray(X[:, j : j + 1])
                asked = clone(inner) if rounds <= CHOOSING_ROUNDS else _settled(inner, smoothers[j])
                smoothers[j] = asked.fit(column, rest + curves[j], **weights)
                found = np.asarray(smoothers[j].predict(column), dtype=np.float64)
                shifts[j] = w @ found / total
                found -= shifts[j]
                rest += curves[j] - found
                curves[j] = found
            change = 0.0 if d == 1 else float(np.sqrt(w @ np.square(rest - before) / total))
        converged = change <= self.tol * deviation
        if not converged:
            warn(
                f"AdditiveModel: the sum of the curves still changed by {change:.2g} after {rounds} rounds: raise "
                "max_iter or tol, or leave out columns that depend on others"
            )
        self.model_ = AdditiveFit(intercept, tuple(smoothers), shifts, rounds, converged)

    def partial_predictions(self, X: UserTable) -> Array:
        """The curve of each column at each row (n, d); with the intercept their sum is the prediction."""
        X = self._admit(X)
        fit = self.model_
        curves = [s.predict(np.ascontiguousarray(X[:, j : j + 1])) for j, s in enumerate(fit.smoothers)]
        return (np.column_stack(curves) - fit.shifts).astype(X.dtype, copy=False)

    def predict(self, X: UserTable) -> Array:
        """The sum of the curves at each row."""
        curves = self.partial_predictions(X)
        return (self.model_.intercept + curves.sum(axis=1, dtype=np.float64)).astype(curves.dtype, copy=False)


def _settled(inner: Any, fitted: Any) -> Any:  # regressors of any library
    """A new smoother with the smoothness that the fitted one chose, if it chose any."""
    if isinstance(fitted, Smoother) and fitted.search_ is not None:
        return clone(inner).set_params(**fitted.model_.settings)
    return clone(inner)
