"""Condensed running mean: a row is stored only where the rows stored so far predict it badly.

    for each row in turn:  g(x) = mean of the stored targets with |x - x_i| < h
                           store (x, y) if there are none, or |y - g(x)| > threshold

Where the curve is flat a few rows are enough; where it changes, more are kept. It goes on learning from further rows.

After the condensed nearest neighbours of Hart (1968); Alpaydin (2014), exercise 8.9.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import NonNegative, Positive
from fivefold.core.estimators.supervised_learning import Regressor
from fivefold.core.registry import Card
from fivefold.core.types import Array, Doubles, Table, Target, UserTable, Weights
from fivefold.smoothing.condensed_mean_loops import condense
from fivefold.smoothing.local_fits.local_regression import LocalRegression


@dataclass(frozen=True)
class StoredRows:
    """The rows that were kept, in the order in which they came."""

    rows: Doubles  # (m, d)
    targets: Doubles  # (m,)
    weights: Doubles  # (m,)
    seen: float  # weight of all rows


class CondensedRunningMean(Regressor):
    """Running mean over the rows that were stored because they were badly predicted when they came.

    Parameters
    ----------
    width
        the distance from the query within which stored rows count.
    threshold
        the error, in units of the target, from which on a row is stored.

    Attributes
    ----------
    rows_, targets_, weights_
        the stored rows, their targets, and how often each was stored.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.smoothing import CondensedRunningMean
    >>> X = np.linspace(0, 10, 101)[:, None]
    >>> model = CondensedRunningMean(0.5, 0.25).fit(X, np.floor(X[:, 0] / 5))
    >>> len(model.rows_), model.predict([[2.0], [9.0]])
    (21, array([0., 1.]))
    """

    width: Positive = 1.0
    threshold: NonNegative = 0.1
    _: KW_ONLY

    card = Card(
        applications=("regression",),
        use="A stream of rows, of which few shall be kept. The order of the rows decides which.",
        steps=(
            "Predict each row by the mean of the stored rows within the width.",
            "Store it if there are none, or if the error is above the threshold.",
        ),
        source="Hart (1968); Alpaydin (2014)",
        see_also=("RunningMean",),
        variants=({"width": 3.0, "threshold": 0.5},),
        growth=2.0,
        order_dependent=True,
    )

    rows_, targets_, weights_ = learned("rows"), learned("targets"), learned("weights")

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        self._update(X, y, w)

    def _update(self, X: Table, y: Target, w: Weights) -> None:
        X, y, w = (np.asarray(a, dtype=np.float64) for a in (X, y, w))
        d = X.shape[1]
        old = self.model_ if "model_" in vars(self) else StoredRows(np.empty((0, d)), np.empty(0), np.empty(0), 0.0)
        m = len(old.targets)
        rows = np.concatenate([old.rows, np.empty((len(X), d))])
        targets, weights = (np.concatenate([a, np.empty(len(X))]) for a in (old.targets, old.weights))
        m = condense(X, y, w, float(self.width), float(self.threshold), rows, targets, weights, m)
        self.model_ = StoredRows(rows[:m].copy(), targets[:m].copy(), weights[:m].copy(), old.seen + float(w.sum()))

    def predict(self, X: UserTable) -> Array:
        """The mean of the stored targets around each row; that of the nearest where there are none."""
        X = self._admit(X)
        kept = self.model_
        mean = LocalRegression.of(
            kept.rows, kept.targets, kept.weights, "spherical", kernel="tophat", width=float(self.width)
        )
        return mean(X).astype(X.dtype, copy=False)
