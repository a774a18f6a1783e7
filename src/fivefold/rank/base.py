"""What rankers share: learning from grades within queries, and using the scores.

A ranker is fitted to rows, their grades and the query of each row (`groups`; one query where none is given), and gives
every row a score; only the order of the scores within a query means anything. Queries travel by scikit-learn's metadata
routing: with it enabled, `cross_validate(ranker, X, y, cv=GroupKFold(), params={"groups": queries})` keeps queries
whole, and `fit` and `score` both see them.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_consistent_length, column_or_1d

from fivefold.core.admission.targets import admit_pair, admit_weights, keep_positive
from fivefold.core.console.fit_progress import interruptible_fit
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators import params
from fivefold.core.estimators.supervised_learning import Regressor
from fivefold.core.numerics.arrays import to_numpy
from fivefold.core.types import Array, Codes, Indices, Table, UserTable, UserTarget, UserWeights
from fivefold.linear_model.base import LinearModel, predictor
from fivefold.rank.pairwise.ranking_pairs import Queries, UserGroups
from fivefold.rank.ranking_metrics import pairwise_accuracy
from fivefold.spatial.points import Points


class Ranker(Regressor):
    """`_rank(X, queries)` learns a score from rows and the pairs of their queries, `_scores(X)` gives it."""

    __metadata_request__fit: ClassVar[dict[str, Any]] = {"groups": True}
    __metadata_request__score: ClassVar[dict[str, Any]] = {"groups": True}

    def _rank(self, X: Table, queries: Queries) -> None:
        raise TypeError(f"{type(self).__name__} does not implement _rank")

    def _scores(self, X: Table) -> Array:
        raise TypeError(f"{type(self).__name__} does not implement _scores")

    def _without_order(self, X: Table) -> object:
        """The model whose scores are all zero."""
        raise TypeError(f"{type(self).__name__} does not implement _without_order")

    @with_callbacks
    def fit(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None, groups: UserGroups = None) -> Self:
        """Learn from rows, grades (the higher the better) and queries; a weight of two counts a row twice."""
        return self._fit_admitted(X, y, sample_weight, groups=groups)

    def _fit_admitted(
        self, X: UserTable, y: UserTarget, sample_weight: UserWeights, groups: UserGroups = None, **extra: Any
    ) -> Self:
        params.check_params(self)
        self._forget()
        X, y = admit_pair(self, X, y, numeric=True)
        y, codes = column_or_1d(y, warn=True), _codes(groups, X)
        X, y, codes, w = keep_positive(admit_weights(self, sample_weight, X), X, y, codes)
        queries = Queries.of(y, codes, w, Points.of(X, w).keys)
        if queries.total > 0:
            with interruptible_fit(self):
                self._rank(X, queries, **extra)
            return self
        warn(
            f"{type(self).__name__}: no two rows of one query differ in grade, so every order is equally good and all "
            "scores are zero. Check the grades y and the queries `groups`"
        )
        self.model_ = self._without_order(X, **extra)
        return self

    def predict(self, X: UserTable) -> Array:
        """The score of each row: the higher, the earlier in the list of its query."""
        X = self._admit(X)
        return self._scores(X)

    def score(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None, groups: UserGroups = None) -> float:
        """Share of the pairs of different grade within a query that are in the right order."""
        return pairwise_accuracy(y, self.predict(X), sample_weight=sample_weight, groups=groups)

    def top(self, X: UserTable, k: int = 1, *, seen: ArrayLike | None = None) -> Indices:
        """The k rows to recommend, best first: those of the highest score that are not among the rows `seen`."""
        scores = self.predict(X).astype(np.float64)
        fresh = np.ones(len(scores), dtype=bool)
        if seen is not None:
            fresh[np.asarray(seen)] = False
        if not 1 <= k <= fresh.sum():
            raise ValueError(f"{type(self).__name__}: k={k} rows are asked for; {int(fresh.sum())} have not been seen")
        rows = np.flatnonzero(fresh)
        return rows[np.argsort(-scores[rows], kind="stable")[:k]]

    def rerank(self, X: UserTable) -> Indices:
        """A permutation that puts the candidates of another system in our order; ties keep the given order."""
        return np.argsort(-self.predict(X).astype(np.float64), kind="stable")


class LinearScores(Ranker):
    """A ranker with a linear score.

    Attributes
    ----------
    coef_
        one number per column: the direction of better rows.
    """

    def _scores(self, X: Table) -> Array:
        return predictor(self.model_, X)

    def _without_order(self, X: Table) -> LinearModel:
        return LinearModel(np.zeros(X.shape[1], dtype=X.dtype), 0.0)


def _codes(groups: UserGroups, X: Table) -> Codes:
    """The number of the query of each row."""
    if groups is None:
        return np.zeros(X.shape[0], dtype=np.int64)
    groups = column_or_1d(to_numpy(groups))
    check_consistent_length(X, groups)
    return np.unique(groups, return_inverse=True)[1].astype(np.int64)
