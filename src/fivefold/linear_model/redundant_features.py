"""Redundant features: columns that are combinations of columns before them carry nothing new to a linear model.

Column by column, from the left: a column is kept if the columns kept so far leave enough of its length unexplained.
The columns that stay are independent, so Z'Z can be inverted, and span what all of them span, so the predictions of
least squares do not change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from fivefold.core._sklearn import _check_feature_names_in
from fivefold.core.estimators.base import Transformer, learned
from fivefold.core.estimators.params import Fraction
from fivefold.core.numerics.linear_dependence import linear_dependencies
from fivefold.core.registry import Card
from fivefold.core.types import Indices, Labels, Table, UserTable
from fivefold.linear_model.solvers.least_squares_solver import qr_root


@dataclass(frozen=True)
class KeptColumns:
    """Which columns stay, and what the others are combinations of."""

    kept: Indices  # (k,)
    redundant: dict[int, tuple[int, ...]]  # column -> columns it is a combination of; () for a constant


class RedundantFeatures(Transformer):
    """Drop columns that are linear combinations of columns before them.

    Parameters
    ----------
    tol
        a column is redundant if the others leave less than this share of its length.
    fit_intercept
        the model has an intercept, so that a constant column is redundant.

    Attributes
    ----------
    kept_
        numbers of the columns that stay.
    redundant_
        for each column that goes, the columns it is a combination of; () for a constant.

    Examples
    --------
    >>> from fivefold.linear_model import RedundantFeatures
    >>> X = [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [2.0, 0.0, 2.0], [3.0, 5.0, 8.0]]
    >>> RedundantFeatures().fit(X).redundant_
    {2: (0, 1)}
    """

    tol: Fraction = 1e-10
    fit_intercept: bool = True

    card = Card(
        applications=("dimension reduction",),
        use="Before least squares on tables with sums, shares, dummies of every level or copied columns.",
        steps=(
            "Reduce the centred table to a triangle by QR.",
            "From the left, keep a column if the columns kept so far do not explain it.",
        ),
        source="Golub (1965)",
        see_also=("LinearRegression", "Ridge", "PCA"),
        variants=({"fit_intercept": False},),
    )

    kept_ = learned("kept")
    redundant_ = learned("redundant")

    def _fit(self, X: Table) -> None:
        if len(X) == 1 and self.fit_intercept:
            raise ValueError("RedundantFeatures: every column of n_samples=1 is constant; give two rows or more")
        redundant = linear_dependencies(
            qr_root(X.astype(np.float64, copy=False), None, self.fit_intercept)[0], self.tol
        )
        kept = np.setdiff1d(np.arange(X.shape[1]), list(redundant))
        if not len(kept):
            raise ValueError(f"RedundantFeatures: all {X.shape[1]} columns are constant: nothing would be left")
        self.model_ = KeptColumns(kept, redundant)

    def transform(self, X: UserTable) -> Any:
        """The columns that stay."""
        X = self._admit(X)
        return np.ascontiguousarray(X[:, self.model_.kept])

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Labels:
        """Names of the columns that stay."""
        check_is_fitted(self)
        return _check_feature_names_in(self, input_features)[self.model_.kept]
