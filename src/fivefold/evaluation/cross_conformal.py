"""Intervals around a regressor that lose no rows to calibration: CV+ and jackknife+.

Every row i is predicted by f_-i, fitted without its fold; R_i = |y_i - f_-i(x_i)|. The interval at x has the ends

    low     the floor(alpha (n + 1))-th smallest of f_-i(x) - R_i
    high    the ceil((1 - alpha)(n + 1))-th smallest of f_-i(x) + R_i

With LeaveOneOut this is jackknife+. For exchangeable rows the target is inside with probability at least 1 - 2 alpha
for jackknife+, and at most sqrt(2/n) less for K folds; in practice it is close to 1 - alpha.

Barber, Candes, Ramdas & Tibshirani (2021), Predictive inference with the jackknife+.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from fivefold.core._sklearn import _safe_indexing as rows_of
from fivefold.core.types import Array, Codes, Table, Target, Vector
from fivefold.evaluation.conformal import PredictionIntervals, conformal_rank
from fivefold.evaluation.protocols import CrossValidation, FittedModel, Model
from fivefold.evaluation.validation import splits_of

BLOCK_CELLS = 4_000_000  # at most this many numbers are partitioned at a time, 32 MB


@dataclass(frozen=True)
class CrossConformalRegressor:
    """Regressors fitted without one fold each, and the residuals of the rows left out."""

    models: tuple[FittedModel, ...]
    fold: Codes = field(repr=False)  # (n,)
    residuals: Vector = field(repr=False)  # (n,)

    def guarantee(self, alpha: float) -> float:
        """The least probability, by theory, that a target is inside; in practice it is about 1 - alpha."""
        n, K = len(self.fold), len(self.models)
        loss = 0.0 if K == n else min(2 * (1 - 1 / K) / (n / K + 1), (1 - K / n) / (K + 1))
        return max(0.0, 1 - 2 * alpha - loss)

    def interval(self, X: Table, alpha: float = 0.1) -> PredictionIntervals:
        """Intervals meant to miss the target with probability alpha; `level` is what theory guarantees."""
        n = len(self.residuals)
        k = conformal_rank(n, alpha)
        F = np.array([model.predict(X) for model in self.models])  # (K, m)
        ends = []
        step = max(1, BLOCK_CELLS // n)
        for lo in range(0, F.shape[1], step):
            left_out = F[self.fold, lo : lo + step]  # (n, block)
            ends.append([_kth(-left_out + self.residuals[:, None], k), _kth(left_out + self.residuals[:, None], k)])
        low, high = np.concatenate(ends, axis=1) if ends else np.empty((2, 0))
        assumptions = (
            "the rows at hand and new rows are exchangeable, as independent draws from one source are",
            "the learner does not depend on the order of its rows",
        )
        return PredictionIntervals(F.mean(axis=0), -low, high, self.guarantee(alpha), assumptions)


def _kth(values: Array, k: int) -> Vector:
    """The k-th smallest of every column; infinite if there are fewer values."""
    if k > len(values):
        return np.full(values.shape[1], np.inf)
    return np.partition(values, k - 1, axis=0)[k - 1]


def cross_conformal_regressor(
    model: Model, X: Table, y: Target, *, cv: CrossValidation = 10, groups: ArrayLike | None = None
) -> CrossConformalRegressor:
    """Fit the regressor without each fold in turn, and keep the residuals of the rows left out.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fivefold.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> found = cross_conformal_regressor(Ridge(alpha=0.1), X[:300], y[:300]).interval(X[300:], alpha=0.1)
    >>> bool(found.cover(y[300:]).mean() > 0.85)
    True
    """
    y = np.asarray(y, dtype=float)
    splits = splits_of(model, X, y, cv=cv, groups=groups)
    fold, residuals = np.full(len(y), -1), np.zeros(len(y))
    models = []
    for j, (train, test) in enumerate(splits):
        if (fold[test] >= 0).any():
            raise ValueError(f"every row must be left out once; {cv} leaves some out twice. Use KFold or LeaveOneOut")
        models.append(clone(model).fit(rows_of(X, train), y[train]))
        fold[test], residuals[test] = j, np.abs(y[test] - models[-1].predict(rows_of(X, test)))
    if (fold < 0).any():
        raise ValueError(f"every row must be left out once; {cv} leaves out {int((fold >= 0).sum())} of {len(y)}")
    return CrossConformalRegressor(tuple(models), fold, residuals)
