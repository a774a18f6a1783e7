"""Nearest neighbours guided by a decision tree: by the columns that it asks about, and within the leaf of a row.

The tree says which columns matter and which region a row is in; neighbours grade what a leaf calls the same. With as
many neighbours as a leaf has rows the answers are those of the tree.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np

from fivefold.core.estimators.params import Count, Seed
from fivefold.core.estimators.supervised_learning import Classifier
from fivefold.core.registry import Card, SearchRange
from fivefold.core.types import Indices, Matrix, Table, Target, UserTable, Weights
from fivefold.neighbors.k_neighbors import KNeighborsClassifier
from fivefold.tree import DecisionTreeClassifier


@dataclass(frozen=True)
class LeafNeighbors:
    """A tree, the columns that it asks about, and the voters of each leaf."""

    tree: Any
    columns: Indices
    leaves: Indices  # their numbers; 0 alone if leaves are not told apart
    voters: tuple[KNeighborsClassifier, ...]  # of each leaf
    n_classes: int
    by_leaf: bool


class TreeNeighborsClassifier(Classifier):
    """Nearest neighbours within the leaf of a decision tree, by the columns that the tree uses.

    Parameters
    ----------
    n_neighbors
        how many rows of a leaf vote; all of them where there are fewer.
    max_depth
        depth of the tree at most; its leaves weigh no less than n_neighbors rows in any case.
    same_leaf
        whether only the rows in the leaf of a row vote on it.
    tree_columns
        whether distances are taken over the columns that the tree asks about, not over all.
    weights
        what a vote counts: "uniform", or "distance" for one over the distance.
    random_state
        decides between equally good questions of the tree.

    Attributes
    ----------
    columns_
        numbers of the columns of distances.
    tree_
        the fitted tree.

    Examples
    --------
    >>> from fivefold.neighbors import TreeNeighborsClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = TreeNeighborsClassifier(5, random_state=0).fit(X, y)
    >>> model.columns_.tolist(), model.score(X, y) > 0.95
    ([0, 2, 3], True)
    """

    n_neighbors: Count = 5
    _: KW_ONLY
    max_depth: Count | None = None
    same_leaf: bool = True
    tree_columns: bool = True
    weights: Literal["uniform", "distance"] = "uniform"
    random_state: Seed = None

    card = Card(
        applications=("classification",),
        use="Nearest neighbours of tables with columns that say nothing, and trees whose leaves are too coarse.",
        steps=(
            "Grow a decision tree.",
            "Keep the columns that it asks about, and the rows of each leaf.",
            "Let the nearest rows of its leaf vote on a row.",
        ),
        source="Alpaydin (2014), exercise 9.9",
        see_also=("KNeighborsClassifier", "DecisionTreeClassifier"),
        variants=({"same_leaf": False}, {"tree_columns": False, "weights": "distance"}),
        search={"n_neighbors": SearchRange(2, 30)},
        growth=1.5,
    )

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        least = min(0.5, self.n_neighbors / float(w.sum()))
        tree = DecisionTreeClassifier(
            max_depth=self.max_depth, min_weight_fraction_leaf=least, random_state=self.random_state
        ).fit(X, y, sample_weight=w)
        feature = tree.model_.tree.feature
        asked = np.unique(feature[feature >= 0])
        columns = asked if self.tree_columns and len(asked) else np.arange(X.shape[1])
        leaves = tree.apply(X) if self.same_leaf else np.zeros(len(y), dtype=np.int64)
        voters, numbers = [], np.unique(leaves)
        for leaf in numbers:
            members = leaves == leaf
            k = max(1, min(self.n_neighbors, int(w[members].sum())))
            voter = KNeighborsClassifier(k, weights=self.weights)
            voters.append(voter.fit(X[members][:, columns], y[members], sample_weight=w[members]))
        self.model_ = LeafNeighbors(tree, columns, numbers, tuple(voters), len(self.classes_), self.same_leaf)

    def predict_proba(self, X: UserTable) -> Matrix:
        """The share of each class in the votes (n, K)."""
        return self._scores(self._admit(X))

    def _scores(self, X: Table) -> Matrix:
        model, P = self.model_, np.zeros((X.shape[0], self.model_.n_classes), dtype=X.dtype)
        leaves = model.tree.apply(X) if model.by_leaf else np.zeros(X.shape[0], dtype=np.int64)
        for leaf, voter in zip(model.leaves, model.voters, strict=True):
            rows = np.flatnonzero(leaves == leaf)
            if not len(rows):
                continue
            P[np.ix_(rows, voter.classes_)] = voter.predict_proba(X[rows][:, model.columns])
        return P

    @property
    def columns_(self) -> Indices:
        """Numbers of the columns of distances."""
        return self.model_.columns

    @property
    def tree_(self) -> Any:
        """The fitted tree."""
        return self.model_.tree
