"""Classifiers and regressors whose neighbours vote, whichever way these are found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.callback import with_callbacks

from fivefold.core.estimators.params import Positive
from fivefold.core.estimators.supervised_learning import Classifier, Regressor
from fivefold.core.types import (
    Array,
    Doubles,
    Matrix,
    Table,
    Target,
    UserTable,
    UserTarget,
    UserWeights,
    Vector,
    Weights,
)
from fivefold.neighbors.shared.base import FittedRows, NeighborEstimator
from fivefold.neighbors.shared.cases import Explanation, similar_cases
from fivefold.neighbors.shared.neighbor_votes import Votes
from fivefold.neighbors.shared.vote_weights import VoteRule, vote_weights

MAX_BLOCK_VOTES = 1 << 22  # votes that are held at a time: with their weights about 100 MB


class Voter(NeighborEstimator):
    """Answers by the neighbours of a row: `_votes(X)` gives theirs, for blocks of rows in turn.

    Parameters
    ----------
    weights
        what a neighbour's vote counts: "uniform", one; "distance", one over its distance; the name of a kernel of
        its distance, "gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine", "biweight", "triweight"
        or "tricube"; or a function of an array of distances.

    Attributes
    ----------
    outputs_2d_
        whether y has several columns.
    """

    _: KW_ONLY
    weights: VoteRule = "uniform"
    bandwidth: Positive | None = None

    def _votes(self, X: Table | None) -> Iterator[Votes]:
        raise TypeError(f"{type(self).__name__} does not say who votes")

    def _refuse_few(self, X: Table, w: Weights) -> None:
        """Refuse tables with too few rows to answer from."""

    def _fit(self, X: Table, y: Target, w: Weights, given: UserWeights = None, objects: Any = None) -> None:
        self._refuse_few(X, w)
        self.model_ = self._stored(X, w, given, objects, y)

    def _admit(self, X: UserTable) -> Table:
        """Admitted rows; None stands for the rows of fit, each without itself."""
        return self._fitted_or_admitted(X)

    def _weighted(
        self, indptr: Any, rows: Any, distances: Vector, width: float | Vector | None, shares: Doubles | None
    ) -> Votes:
        """The votes of these neighbours; `shares`: how many rows each of them stands for, one if None."""
        votes = vote_weights(self.weights, distances, indptr, width)
        if shares is not None:
            votes = shares if votes is None else votes * shares
        found = Votes(indptr, rows, distances, votes)
        if callable(self.weights) and (found.totals()[np.diff(indptr) > 0] <= 0).any():
            raise ValueError(
                f"{type(self).__name__}: All neighbors of some sample is getting zero weights. Let the function that "
                "`weights` is give one of them a positive weight"
            )
        return found

    def explain(self, X: UserTable) -> Explanation:
        """The rows of fit that each answer is made of: their numbers, distances, weights and targets.

        Weights add up to one. Those of the cases with a label add up to its probability, and the weighted mean of their
        targets is the predicted number. Without X (None) the rows of fit are explained, each by the others.
        """
        Q, fitted = self._admit(X), self.model_
        targets = self._known_targets(fitted)
        found = [cases for votes in self._votes(Q) for cases in similar_cases(votes, fitted.positions, targets)]
        return Explanation(tuple(found))

    def _known_targets(self, fitted: FittedRows) -> Target:
        """The targets of the rows that are searched, as users gave them."""
        return np.asarray(fitted.target)

    @property
    def outputs_2d_(self) -> bool:
        """Does y have several columns?"""
        return bool(self.model_.target.ndim == 2)


class NeighborClassifier(Voter, Classifier):
    """Gives a row the class with most votes of its neighbours; of classes with as many votes, the first."""

    @with_callbacks
    def fit(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None) -> Self:
        """Store rows and their classes; a weight of two counts a row twice, also among the neighbours."""
        return self._fit_admitted(self._table_of(X), y, sample_weight, given=sample_weight, **self._beside(X))

    def predict_proba(self, X: UserTable) -> Any:
        """The share of each class in the votes (m, K); a list of such arrays if y has several columns.

        Without X (None) those of the rows of fit, each by the others: leave-one-out.
        """
        return self._scores(self._admit(X))

    def _scores(self, X: Table | None) -> Any:
        """Shares of the votes, or a list of them."""
        labels = self.classes_ if self.outputs_2d_ else [self.classes_]
        found = self._class_votes(X, [len(classes) for classes in labels])
        made = [self._shares(votes).astype(self.model_.dtype, copy=False) for votes in found]
        return made if self.outputs_2d_ else made[0]

    def _class_votes(self, X: Table | None, sizes: list[int]) -> list[Matrix]:
        """Votes by class (m, K) of each column of y, which have so many classes."""
        codes = self.model_.target
        columns = codes.T if self.outputs_2d_ else [codes]
        found: list[list[Matrix]] = [[] for _ in sizes]
        for votes in self._votes(X):
            for own, column, K in zip(found, columns, sizes, strict=True):
                own.append(votes.class_votes(column, K))
        return [np.concatenate(parts) for parts in found]

    def _shares(self, votes: Matrix) -> Matrix:
        """Votes (m, K) as shares; zero where there are none."""
        total = votes.sum(axis=1, keepdims=True)
        return votes / np.where(total > 0, total, 1)

    def _known_targets(self, fitted: FittedRows) -> Target:
        if not self.outputs_2d_:
            return np.asarray(self.classes_[fitted.target])
        each = zip(self.classes_, np.asarray(fitted.target).T, strict=True)
        return np.stack([classes[codes] for classes, codes in each], axis=1)


class NeighborRegressor(Voter, Regressor):
    """Predicts the weighted mean of the neighbours' targets."""

    @with_callbacks
    def fit(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None) -> Self:
        """Store rows and their targets; a weight of two counts a row twice, also among the neighbours."""
        return self._fit_admitted(self._table_of(X), y, sample_weight, given=sample_weight, **self._beside(X))

    def predict(self, X: UserTable) -> Array:
        """The mean target of the neighbours; without X (None) of the rows of fit, each by the others."""
        total, sums = self._vote_sums(self._admit(X))
        return self._means(total, sums).astype(self.model_.dtype, copy=False)

    def _vote_sums(self, X: Table | None) -> tuple[Doubles, Doubles]:
        """Sums of votes (m,), and of votes times targets (m,) or (m, outputs)."""
        found = [(votes.totals(), votes.sums(self.model_.target)) for votes in self._votes(X)]
        total, sums = zip(*found, strict=True)
        return np.concatenate(total), np.concatenate(sums)

    def _means(self, total: Doubles, sums: Doubles) -> Doubles:
        return sums / (total if sums.ndim == 1 else total[:, None])
