"""Class shares of trees and votes drawn towards the shares of all training rows: the m-estimate of probability.

    p_k = (n s_k + m pi_k) / (n + m)

s_k is the share of class k among n training rows in a leaf, or among n votes of trees or neighbours; pi_k its share of
all training rows; m says how many rows pi is worth. A leaf of three rows of one class gives the other classes
probability zero, which says more than three rows can: one row of another class and the log loss of all rows is
decided by how a zero is clipped.

Cestnik (1990), Estimating probabilities; Provost & Domingos (2003) for trees.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any, Self

import numpy as np
import sklearn.ensemble
import sklearn.neighbors
import sklearn.tree
from sklearn.utils.validation import check_is_fitted, column_or_1d

from fivefold.core.types import Array, Labels, Matrix, UserTable, UserTarget
from fivefold.ensemble.bagging import BaggingClassifier
from fivefold.ensemble.forests.supervised_forests import BaseForestClassifier
from fivefold.evaluation.base import MetaClassifier
from fivefold.evaluation.protocols import TunableModel
from fivefold.neighbors.k_neighbors import KNeighborsClassifier
from fivefold.tree.shared.multiway_trees import BaseMultiwayTree
from fivefold.tree.shared.row_question_trees import BaseRowTreeClassifier
from fivefold.tree.shared.single_column_trees import BaseTreeClassifier

PRIOR_ROWS = 2.0  # m: the shares of all training rows count as much as this many rows or votes


@singledispatch
def vote_count(model: Any, X: UserTable) -> Array | float:  # dispatched by type: any model may be asked
    """How many training rows or votes the class shares of each row come from."""
    raise TypeError(f"{type(model).__name__} has no leaves and no votes to count")


@vote_count.register(BaseTreeClassifier)
@vote_count.register(sklearn.tree.DecisionTreeClassifier)
def _(model: Any, X: UserTable) -> Array | float:
    return model.tree_.weighted_n_node_samples[model.apply(X)]


@vote_count.register
def _(model: BaseRowTreeClassifier, X: UserTable) -> Array | float:
    return model.model_.weight[model.apply(X)]


@vote_count.register
def _(model: BaseMultiwayTree, X: UserTable) -> Array | float:
    found = model.model_
    return found.tree.answers(model._admit(X), found.counts.sum(axis=1, keepdims=True), found.missing)[:, 0]


@vote_count.register(BaseForestClassifier)
@vote_count.register(BaggingClassifier)
@vote_count.register(sklearn.ensemble.RandomForestClassifier)
@vote_count.register(sklearn.ensemble.ExtraTreesClassifier)
@vote_count.register(sklearn.ensemble.BaggingClassifier)
def _(model: Any, X: UserTable) -> Array | float:
    return float(model.n_estimators)


@vote_count.register(KNeighborsClassifier)
@vote_count.register(sklearn.neighbors.KNeighborsClassifier)
def _(model: Any, X: UserTable) -> Array | float:
    return float(model.n_neighbors)


def has_votes(model: object) -> bool:
    """Are the probabilities of this model shares of the rows of a leaf, or of votes?

    Examples
    --------
    >>> has_votes(KNeighborsClassifier()), has_votes(sklearn.ensemble.GradientBoostingClassifier(random_state=0))
    (True, False)
    """
    return vote_count.dispatch(type(model)) is not vote_count.dispatch(object)


class MEstimateClassifier(MetaClassifier):
    """A tree, forest or vote with m-estimates of its probabilities; the likeliest class is predicted.

    Parameters
    ----------
    estimator
        a classifier that `has_votes`.
    m
        how many rows or votes the shares of all training rows are worth.

    Attributes
    ----------
    estimator_
        the fitted classifier.
    prior_
        shares of the classes, in the order of `classes_`.

    Examples
    --------
    >>> from fivefold.tree import DecisionTreeClassifier
    >>> X, y = [[1.0], [2.0], [8.0], [9.0]], ["a", "a", "b", "b"]
    >>> MEstimateClassifier(DecisionTreeClassifier(random_state=0)).fit(X, y).predict_proba([[0.0]])
    array([[0.75, 0.25]])
    """

    def __init__(self, estimator: TunableModel, m: float = PRIOR_ROWS):
        self.estimator = estimator
        self.m = m

    def fit(self, X: UserTable, y: UserTarget, **params: Any) -> Self:
        """Fit the classifier and count the classes."""
        y = column_or_1d(y, warn=True)
        self._fit_estimator(X, y, **params)
        w = params.get("sample_weight")
        counts = np.bincount(np.searchsorted(self.classes_, y), w, len(self.classes_))
        self.prior_ = counts / counts.sum()
        return self

    def predict_proba(self, X: UserTable) -> Matrix:
        """The m-estimates, (n, K)."""
        check_is_fitted(self)
        shares = self.estimator_.predict_proba(X)
        n = np.reshape(vote_count(self.estimator_, X), (-1, 1))
        return (n * shares + self.m * self.prior_) / (n + self.m)

    def predict(self, X: UserTable) -> Labels:
        """The likeliest class."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]
