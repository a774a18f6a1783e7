"""Ridge regression on labels: squared loss as a loss for classes.

    two classes   y in {-1, +1}, decide by the sign of w'x + b;   (y - s)^2 = (1 - y s)^2, a loss of the margin
    K classes     one target per class, +1 inside and -1 outside; the largest wins
    L labels      one target per label, +1 where a row has it and -1 where not; each is decided by its sign

For two classes, without penalty, w has the direction of Fisher's discriminant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.params import NonNegative
from fivefold.core.registry import Card
from fivefold.core.types import Codes, Matrix, Table, Target, UserTable, Weights
from fivefold.linear_model.base import (
    LinearClassifier,
    LinearModel,
    decision_values,
    solve_unchecked,
    weights_or_none,
)
from fivefold.linear_model.ridge import RidgeEstimator


@dataclass(frozen=True)
class LabelSurfaces(LinearModel):
    """One surface per label: a row has the label where the surface is above zero."""


class RidgeClassifier(RidgeEstimator, LinearClassifier, keywords="fit_intercept copy_X max_iter tol class_weight"):
    """Ridge regression on labels -1 and +1, one output per class.

    With several columns of zeros and ones as y a row has any number of labels, one output per label.

    Parameters
    ----------
    alpha
        strength of the penalty.
    fit_intercept
        fit an intercept; without one the boundary passes through the origin.
    class_weight
        weight of each class, or "balanced": classes of equal weight.

    Attributes
    ----------
    classes_
        the labels, sorted; the numbers of the columns where y has several.
    coef_
        shape (K, d), one row per class or label; (d,) for two classes, positive for the second.
    intercept_
        the scores at the origin.

    Examples
    --------
    >>> from fivefold.linear_model import RidgeClassifier
    >>> model = RidgeClassifier().fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
    >>> model.predict([[0.5], [2.5]])
    array(['a', 'b'], dtype='<U1')
    """

    alpha: NonNegative = 1.0
    _: KW_ONLY
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = None

    takes = Takes(sparse=True, outputs=True)
    card = Card(
        applications=("classification",),
        use="A linear boundary in one direct solve, many columns, many classes. Far rows pull the boundary: with "
        "outliers, or where probabilities are wanted, take another loss.",
        steps=(
            "Give each class a target: +1 inside, -1 outside.",
            "Solve ridge regression for all targets with one factorisation.",
            "Choose the class with the largest output.",
        ),
        source="Hoerl & Kennard (1970); Fisher (1936)",
        see_also=("Ridge", "LinearDiscriminantAnalysis"),
        variants=({"class_weight": "balanced"}, {"solver": "svd"}),
        search={"alpha": (1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0)},
    )

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        labels, K = y.ndim == 2, len(self.classes_)
        T = self._present(y) if labels else 2.0 * (y[:, None] == (np.arange(K) if K > 2 else 1)) - 1  # (n, K) or (n, 1)
        alpha, route = np.full(T.shape[1], float(self.alpha)), self._route
        found = solve_unchecked(self, X, lambda: route(X, T, weights_or_none(w), alpha, self.fit_intercept))
        model = self._surface(found, found.offset, X.dtype)
        if labels:
            self.classes_ = np.arange(T.shape[1])
        self.model_ = LabelSurfaces(**vars(model)) if labels else model

    def _present(self, y: Codes) -> Matrix:
        """+1 where a row has a label, -1 where not, from codes (n, L) of `classes_`."""
        for j, classes in enumerate(self.classes_):
            if classes.dtype.kind not in "biuf" or not np.isin(classes, (0, 1)).all():
                raise ValueError(
                    f"RidgeClassifier: column {j} of y holds {classes[:3].tolist()}; several columns tell which "
                    "labels a row has, by 0 and 1. For several classes per column fit one model for each column"
                )
        return np.column_stack([2.0 * classes[code] - 1 for classes, code in zip(self.classes_, y.T, strict=True)])

    def decision_function(self, X: UserTable) -> Any:
        """The output of each class or label (n, K); for two classes that of the second (n,)."""
        X = self._admit(X)
        return decision_values(self.model_, X)

    def predict(self, X: UserTable) -> Any:
        """The likeliest class of each row; for labels, 1 for each that the row has and 0 for the others."""
        if self.__sklearn_is_fitted__() and isinstance(self.model_, LabelSurfaces):
            return (self.decision_function(X) > 0).astype(np.int64)
        return super().predict(X)
