"""Local learning: a simple model per query, trained on the rows around it and discarded.

    N(x) = the k rows that are closest to x, as far as the k-th
    prediction = f_N(x)(x),        f_N fitted on N(x) alone

A linear model whose reach is k rows bends with the data; with k = n it is the global one. The cost is a fit per query.

Bottou & Vapnik (1992), Local learning algorithms; Atkeson, Moore & Schaal (1997).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if

from fivefold.core.estimators.params import Count, Learner
from fivefold.core.estimators.supervised_learning import Classifier, Regressor
from fivefold.core.parallel import map_items
from fivefold.core.registry import Card, SearchRange
from fivefold.core.types import Array, Doubles, Matrix, Table, Target, UserTable, Weights
from fivefold.linear_model import LogisticRegression, Ridge
from fivefold.smoothing.local_fits.local_regression import LocalRegression, Shape
from fivefold.spatial.search import NeighborIndex

QUERY_BLOCK = 256  # queries whose neighbours are found together

WEAK_PENALTY = 1e-6  # of the default regressor: least squares, also where neighbours lie in a plane


@dataclass(frozen=True)
class LocalRows:
    """The rows, and the windows that pick some of them."""

    X: Matrix
    y: Target
    w: Doubles
    windows: LocalRegression

    @classmethod
    def of(cls, X: Table, y: Target, w: Weights, shape: Shape, k: int) -> LocalRows:
        windows = LocalRegression.of(X, np.zeros(len(X)), w, shape, kernel="tophat", neighbors=float(k))
        return cls(X, y, np.asarray(w, dtype=np.float64), windows)

    def answers(self, X: Table, fitted: Callable[[Matrix, Target, Doubles, Matrix], Array], out: Array) -> Array:
        """`fitted(X, y, w, queries)` for the neighbours of each query, into the rows of `out`."""
        if self.windows.neighbors >= self.windows.total:  # every window holds all rows: one fit
            out[:] = fitted(self.X, self.y, self.w, X)
            return out
        Z, order = self.windows.white(X), self.windows.order
        index = NeighborIndex(self.windows.rows)
        for a in range(0, len(X), QUERY_BLOCK):
            indptr, listed, _, _ = self.windows.windows(Z[a : a + QUERY_BLOCK], index)

            def one(i: int, a: int = a, indptr: Any = indptr, listed: Any = listed) -> None:
                rows = np.sort(order[listed[indptr[i] : indptr[i + 1]]])
                out[a + i] = fitted(self.X[rows], self.y[rows], self.w[rows], X[a + i : a + i + 1])[0]

            map_items(one, len(indptr) - 1)
        return out


@dataclass(eq=False, repr=False)
class LocalLearner:
    """A model per query.

    Parameters
    ----------
    estimator
        what is fitted around each query, of any library; None for a linear model.
    n_neighbors
        how many rows it is fitted on; rows as far as the last of them count too, and a row of weight two is two of
        them.
    covariance_type
        how distances are taken: "spherical", in deviations of each column ("diag"), or under the covariance of the rows
        ("full").
    """

    estimator: Learner | None = None
    n_neighbors: Count = 50
    _: KW_ONLY
    covariance_type: Shape = "spherical"

    def _fitted(self, inner: Any, X: Matrix, y: Target, w: Doubles) -> Any:
        """A fitted copy of the inner estimator; weights are passed on where they differ from one."""
        return clone(inner).fit(X, y) if (w == 1.0).all() else clone(inner).fit(X, y, sample_weight=w)


def _inner_gives_probabilities(self: Any) -> bool:
    inner = LogisticRegression() if self.estimator is None else self.estimator
    return hasattr(inner, "predict_proba")


class LocalLearningClassifier(LocalLearner, Classifier):
    """Classification by a simple classifier per query, trained on the rows around it.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.smoothing import LocalLearningClassifier
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(400, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")
    >>> LocalLearningClassifier(n_neighbors=30).fit(X, y).predict([[0.5, 0.5], [0.5, -0.5]])
    array(['same', 'other'], dtype='<U5')
    """

    card = Card(
        applications=("classification",),
        use="Boundaries of any form from a simple model that is right nearby, where queries are few: every prediction "
        "costs a fit.",
        steps=(
            "Find the rows that are closest to the query.",
            "Fit the inner classifier on them.",
            "Give the query the class that it predicts.",
        ),
        source="Bottou & Vapnik (1992); Atkeson, Moore & Schaal (1997)",
        see_also=("LogisticRegression", "LocalLearningRegressor"),
        variants=({"n_neighbors": 20, "covariance_type": "diag"},),
        search={"n_neighbors": SearchRange(10, 200)},
        growth=2.0,
    )

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        self.model_ = LocalRows.of(X, y, w, self.covariance_type, self.n_neighbors)

    @available_if(_inner_gives_probabilities)
    def predict_proba(self, X: UserTable) -> Array:
        """Probabilities (n, K) of the classes, by the model of each query; zero for classes that no neighbour has."""
        X = self._admit(X)
        return self._scores(X).astype(X.dtype, copy=False)

    def _scores(self, X: Table) -> Matrix:
        inner = LogisticRegression() if self.estimator is None else self.estimator
        K, proba = len(self.classes_), hasattr(inner, "predict_proba")

        def fitted(rows: Matrix, codes: Target, w: Doubles, queries: Matrix) -> Array:
            out = np.zeros((len(queries), K))
            if (codes == codes[0]).all():
                out[:, codes[0]] = 1.0
                return out
            model = self._fitted(inner, rows, codes, w)
            if proba:
                out[:, model.classes_] = model.predict_proba(queries)
            else:
                out[np.arange(len(queries)), model.predict(queries)] = 1.0
            return out

        return self.model_.answers(X, fitted, np.empty((len(X), K)))


class LocalLearningRegressor(LocalLearner, Regressor):
    """Regression by a simple regressor per query, trained on the rows around it.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.smoothing import LocalLearningRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(400, 2))
    >>> LocalLearningRegressor(n_neighbors=20).fit(X, X[:, 0] * X[:, 1]).predict([[0.5, 0.5]]).round(1)
    array([0.3])
    """

    card = Card(
        applications=("regression",),
        use="Surfaces of any form from a simple model that is right nearby, where queries are few: every prediction "
        "costs a fit. LocalPolynomial is faster where the inner model is linear.",
        steps=(
            "Find the rows that are closest to the query.",
            "Fit the inner regressor on them.",
            "Return its prediction.",
        ),
        source="Bottou & Vapnik (1992); Atkeson, Moore & Schaal (1997)",
        see_also=("LocalPolynomial", "LocalLearningClassifier"),
        variants=({"n_neighbors": 20, "covariance_type": "diag"},),
        search={"n_neighbors": SearchRange(10, 200)},
        growth=2.0,
    )

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        self.model_ = LocalRows.of(X, y, w, self.covariance_type, self.n_neighbors)

    def predict(self, X: UserTable) -> Array:
        """The prediction of the model of each query."""
        X = self._admit(X)
        inner = Ridge(WEAK_PENALTY) if self.estimator is None else self.estimator

        def fitted(rows: Matrix, y: Target, w: Doubles, queries: Matrix) -> Array:
            found: Array = self._fitted(inner, rows, y, w).predict(queries)
            return found

        return self.model_.answers(X, fitted, np.empty(len(X), dtype=X.dtype))
