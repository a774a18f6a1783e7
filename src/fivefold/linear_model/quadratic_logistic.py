"""Quadratic logistic discrimination: log odds with products of the columns.

    ln P(k | x) / P(l | x)  quadratic:   eta_k(x) = x' W_k x + w_k.x + b_k,   W_k symmetric

Logistic regression on the columns and their products x_i x_j. With d columns a W_k has d (d + 1) / 2 numbers. Of rank r
it is a sum of c v v' over its r eigenvectors v of largest size, and eta_k is fitted again on the columns and squares
(v.x)^2: fewer numbers, less variance.

Alpaydin (2014), section 10.7; Anderson (1975).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal

import numpy as np

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, NonNegative, Range
from fivefold.core.estimators.supervised_learning import Classifier
from fivefold.core.registry import Card
from fivefold.core.types import Array, Matrix, Table, Target, UserTable, Weights
from fivefold.linear_model.base import class_scores, decision_values
from fivefold.linear_model.logistic import LogisticRegression
from fivefold.linear_model.solvers.class_outputs import class_probabilities


@dataclass(frozen=True)
class QuadraticModel:
    """A linear model of standardised columns, and of the squares of their projections on `axes`, or all products."""

    mean: Array  # (d,)
    scale: Array  # (d,)
    axes: Array | None  # (d, q), None for all products
    classifier: LogisticRegression

    def features(self, X: Table) -> Array:
        """(n, d + q) or (n, d + d (d + 1) / 2)."""
        Z = (X - self.mean) / self.scale
        squares = column_products(Z) if self.axes is None else (Z @ self.axes) ** 2
        return np.column_stack([Z, squares])

    @property
    def forms(self) -> Array:
        """(K, d, d), or (1, d, d) for two classes: the W of each predictor, of standardised columns."""
        d = len(self.mean)
        return np.array([self._form(c[d:]) for c in self.classifier.coef_])

    def _form(self, c: Array) -> Array:
        if self.axes is not None:
            return (self.axes * c) @ self.axes.T
        d = len(self.mean)
        W, (i, j) = np.zeros((d, d)), np.triu_indices(d)
        W[i, j] += c / 2
        W[j, i] += c / 2
        return W


class QuadraticLogisticRegression(Classifier):
    """Logistic regression with quadratic log odds, of full or of low rank.

    Parameters
    ----------
    C
        inverse strength of the penalty on the squared coefficients; np.inf is no penalty.
    rank
        number of squares in the quadratic form of each class, those of its largest eigenvalues; None keeps all.
    tol, max_iter
        as in LogisticRegression.
    class_weight
        weights of the classes, a dictionary or "balanced".

    Attributes
    ----------
    forms_
        (K, d, d), or (1, d, d) for two classes: the quadratic form of each predictor, of standardised columns.
    n_iter_
        passes over the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.linear_model import QuadraticLogisticRegression
    >>> X = np.random.RandomState(0).normal(size=(200, 2))
    >>> y = (X**2).sum(axis=1) > 1.4
    >>> QuadraticLogisticRegression().fit(X, y).score(X, y) > 0.95
    True
    """

    _: KW_ONLY
    C: Annotated[float, Range(0, open_low=True)] = 1.0
    rank: Count | None = None
    tol: NonNegative = 1e-4
    max_iter: Count = 100
    class_weight: dict[Any, Any] | Literal["balanced"] | None = None

    takes = Takes(one_class=False)
    card = Card(
        applications=("classification",),
        use="Curved boundaries, few columns, probabilities wanted and no belief in Gaussian classes. With many columns "
        "take a small rank.",
        steps=(
            "Standardise the columns and add their products.",
            "Fit a logistic regression.",
            "For a rank r, keep r eigenvectors of each quadratic form and fit again on their squares.",
        ),
        source="Alpaydin (2014); Anderson (1975)",
        see_also=("LogisticRegression", "QuadraticDiscriminantAnalysis"),
        variants=({"rank": 1},),
        search={"C": (0.01, 0.1, 1.0, 10.0), "rank": (None, 1, 3)},
    )

    n_iter_ = learned("classifier.n_iter_")
    forms_ = learned("forms")

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        mean = np.average(X, axis=0, weights=w)
        spread = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=w))
        scale = np.where(spread > 0, spread, 1.0)
        model = self._fitted(QuadraticModel(mean, scale, None, LogisticRegression()), X, y, w)
        if self.rank is not None and self.rank < X.shape[1]:
            axes = np.hstack([_leading(W, self.rank) for W in model.forms])  # (d, q)
            model = self._fitted(QuadraticModel(mean, scale, axes, LogisticRegression()), X, y, w)
        self.model_ = model

    def _fitted(self, blank: QuadraticModel, X: Table, y: Target, w: Weights) -> QuadraticModel:
        inner = LogisticRegression(C=self.C, tol=self.tol, max_iter=self.max_iter)
        inner.fit(blank.features(X).astype(X.dtype), y, sample_weight=w)
        return QuadraticModel(blank.mean, blank.scale, blank.axes, inner)

    def decision_function(self, X: UserTable) -> Any:
        """The log odds (n,) of the second of two classes; the quadratic predictors (n, K) of more."""
        X = self._admit(X)
        return decision_values(self.model_.classifier.model_, self._features(X))

    def predict_proba(self, X: UserTable) -> Any:
        """Probability of each class."""
        return class_probabilities(self.decision_function(X))

    def _scores(self, X: Table) -> Matrix:
        return class_scores(self.model_.classifier.model_, self._features(X))

    def _features(self, X: Table) -> Matrix:
        return self.model_.features(X).astype(X.dtype)


def column_products(Z: Array) -> Array:
    """x_i x_j, i <= j: (n, d (d + 1) / 2)."""
    i, j = np.triu_indices(Z.shape[1])
    return Z[:, i] * Z[:, j]


def _leading(W: Array, rank: int) -> Array:
    """The eigenvectors (d, rank) of W with the largest absolute eigenvalues."""
    values, V = np.linalg.eigh(W)
    return V[:, np.argsort(-np.abs(values), kind="stable")[:rank]]
