"""Ridge regression on labels: squared loss as a loss for classes.

    two classes   y in {-1, +1}, decide by the sign of w'x + b;   (y - s)^2 = (1 - y s)^2, a loss of the margin
    K classes     one target a class, +1 inside and -1 outside; the largest wins

For two classes, without penalty, w has the direction of Fisher's discriminant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np

from fivefold.core.data import Takes
from fivefold.core.estimator import learned
from fivefold.core.params import Count, NonNegative, Seed
from fivefold.core.registry import Card
from fivefold.core.supervised import Classifier
from fivefold.linear_model.base import about, class_scores, decision, solved, unit
from fivefold.linear_model.penalised import ROUTES, by_nonnegative


class RidgeClassifier(Classifier):
    """Ridge regression on labels -1 and +1, one output a class.

    Parameters
    ----------
    alpha
        strength of the penalty.
    fit_intercept
        fit an offset; without it the boundary passes through the origin.
    copy_X, max_iter, tol, random_state
        kept for scikit-learn's signature; X is never overwritten and the solution is direct.
    class_weight
        weight of each class, or "balanced": classes of equal weight.
    solver
        "cholesky" factors the normal equations, "svd" takes the singular values of X; the other names take "cholesky"
        and reach the same optimum.
    positive
        keep every coefficient from being negative.

    Attributes
    ----------
    classes_
        the labels, sorted.
    coef_
        one row a class; for two classes one number a column, positive for the second.
    intercept_
        the scores at the origin.
    solver_
        the route taken.
    n_iter_
        always 1: the solution is direct.

    Examples
    --------
    >>> from fivefold.linear_model import RidgeClassifier
    >>> model = RidgeClassifier().fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
    >>> model.predict([[0.5], [2.5]])
    array(['a', 'b'], dtype='<U1')
    """

    alpha: NonNegative = 1.0
    _: KW_ONLY
    fit_intercept: bool = True
    copy_X: bool = True
    max_iter: Count | None = None
    tol: NonNegative = 1e-4
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = None
    solver: Literal["auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"] = "auto"
    positive: bool = False
    random_state: Seed = None

    takes = Takes(sparse=True)
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

    coef_ = learned("coef")
    intercept_ = learned("intercept")
    solver_ = learned("solver")
    n_iter_ = learned("n_iter")

    def _fit(self, X: Any, y: Any, w: Any) -> None:
        K = len(self.classes_)
        T = 2.0 * (y[:, None] == (np.arange(K) if K > 2 else 1)) - 1  # (n, K) or (n, 1)
        route = by_nonnegative if self.positive else ROUTES[self.solver]
        alpha = np.full(T.shape[1], float(self.alpha))
        found = solved(self, X, lambda: route(X, T, unit(w), alpha, self.fit_intercept))
        coef = found.W.T if K > 2 else found.W[:, 0]  # as scikit-learn: two classes or one, one vector
        self.model_ = about(coef, found.centre, found.offset, X.dtype, intercept=self.fit_intercept, solver=found.route)

    def decision_function(self, X: Any) -> Any:
        """The output of each class (n, K); for two classes that of the second (n,)."""
        X = self._admit(X)
        return decision(self.model_, X)

    def _scores(self, X: Any) -> Any:
        return class_scores(self.model_, X)
