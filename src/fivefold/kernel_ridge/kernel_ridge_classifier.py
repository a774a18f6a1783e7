"""Kernel ridge regression on labels: one target per class, +1 inside and -1 outside; the largest output wins.

    two classes   y in {-1, +1}, decide by the sign of f(x)

The squared loss of a label is a loss of the margin, (1 - y f)^2, so this is a least-squares support vector machine
whose offset is the mean of the targets: one linear system in place of a quadratic program, and every row has a
coefficient.

Saunders, Gammerman & Vovk (1998); Suykens & Vandewalle (1999).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.params import NonNegative
from fivefold.core.estimators.supervised_learning import Classifier
from fivefold.core.registry import Card, SearchRange
from fivefold.core.types import Array, Matrix, Table, Target, UserTable, Weights
from fivefold.kernel_ridge.base import DualModel, KernelName, KernelRidgeEstimator
from fivefold.kernels.base import Kernel


class KernelRidgeClassifier(KernelRidgeEstimator, Classifier):
    """Classification by ridge regression of labels -1 and +1 in the feature space of a kernel.

    Parameters
    ----------
    alpha
        strength of the penalty.
    fit_intercept
        whether outputs have an offset, the weighted mean of the targets: far from all rows they return to it, and the
        class of the largest weight is predicted.
    class_weight
        weight of each class, or "balanced": classes of equal weight.

    Attributes
    ----------
    classes_
        the labels, sorted.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.kernel_ridge import KernelRidgeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> round(KernelRidgeClassifier(0.1).fit(X, y).score(X, y), 2)
    0.99
    """

    alpha: NonNegative = 1.0
    _: KW_ONLY
    kernel: KernelName | Kernel | Callable[..., Any] = "rbf"
    fit_intercept: bool = True
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = None

    takes = Takes(sparse=True, one_class=False)
    card = Card(
        applications=("classification",),
        use="Curved boundaries from one direct solve, many classes at once. Far rows pull the boundary; where few rows "
        "should decide, take a support vector machine.",
        steps=(
            "Give each class a target: +1 inside, -1 outside.",
            "Solve kernel ridge regression for all targets with one factor.",
            "Choose the class with the largest output.",
        ),
        source="Saunders, Gammerman & Vovk (1998); Suykens & Vandewalle (1999)",
        see_also=("KernelRidge", "RidgeClassifier"),
        variants=({"kernel": "poly", "alpha": 0.1, "class_weight": "balanced"},),
        search={"alpha": SearchRange(1e-3, 10.0), "gamma": SearchRange(1e-3, 1.0)},
        growth=3.0,
    )

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        if self._is_precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(
                "KernelRidgeClassifier: rows of weight zero cannot be dropped from precomputed kernels, which keep "
                "their columns; drop them from rows and columns before"
            )
        K = len(self.classes_)
        targets = np.where(y[:, None] == np.arange(1 if K == 2 else 0, K), 1.0, -1.0)  # (n, 1) or (n, K)
        offset = np.average(targets, axis=0, weights=w) if self.fit_intercept else np.zeros(targets.shape[1])
        kernel, found = self._solve(X, targets - offset, w, np.full(targets.shape[1], float(self.alpha)))
        rows = X if self._is_precomputed else X.copy()
        self.model_ = DualModel(kernel, rows, found.dual.astype(X.dtype, copy=False), found.solver, found.steps, offset)

    def decision_function(self, X: UserTable) -> Array:
        """The outputs (n, K); for two classes (n,), positive for the second."""
        said = self.model_(self._admit(X))
        return said[:, 0] if said.shape[1] == 1 else said

    def _scores(self, X: Table) -> Matrix:
        said = self.model_(X)
        return np.column_stack([-said, said]) if said.shape[1] == 1 else said
