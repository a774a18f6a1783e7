"""Random trees as a code of rows: one column per leaf, equal to one where the row falls into that leaf.

    phi(x) = ([x in leaf 1 of tree 1], [x in leaf 2 of tree 1], ..., [x in the last leaf of tree T])

Trees ask about columns and thresholds drawn at random, without a target. phi(x)'phi(x') counts the trees in which two
rows fall into the same leaf, a similarity that adapts to where the rows are dense; linear methods on phi are no longer
linear in x. Where a parameter needs an impurity, it is that of a pseudo-random number computed from the content of each
row.

Moosmann, Triggs & Jurie (2007), Fast discriminative visual codebooks using randomized clustering forests; Geurts, Ernst
& Wehenkel (2006).
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from functools import partial
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_matrix, issparse
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.validation import check_is_fitted

from fivefold.core._sklearn import _check_feature_names_in
from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.base import Transformer
from fivefold.core.estimators.params import Count, Index, NonNegative, Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Doubles, Indices, Labels, Rng, Table, UserTable, UserTarget, UserWeights, Weights
from fivefold.ensemble.forests.base import ForestMethods
from fivefold.ensemble.forests.tree_growers import random_split_grower
from fivefold.ensemble.members.warm_start import EarlierFit
from fivefold.tree import ExtraTreeRegressor
from fivefold.tree.shared.base import MaxLeaves, MinLeaf, MinSplit, MinWeight
from fivefold.tree.shared.tree_targets import NumberTarget

GOLDEN_RATIO_64 = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio, odd: multiplying by it mixes the bits of a hash


class RandomTreesEmbedding(ForestMethods, Transformer):
    """A sparse code of rows: the leaves that they fall into, in trees grown at random.

    Parameters
    ----------
    max_leaf_nodes
        maximum number of leaves of a tree.
    min_impurity_decrease
        minimum decrease of the variance of a random target by a split, weighted by the node's share of the weight.
    sparse_output
        whether `transform` gives a sparse matrix, or an array.
    random_state
        seed of the columns and thresholds drawn.

    Attributes
    ----------
    estimators_samples_
        the rows of each tree: all of them.
    one_hot_encoder_
        turns the leaf numbers of `apply` into the code.
    feature_importances_
        share of each column in the decrease of the variance of the random target; meaningless.
    n_outputs_
        one.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.ensemble import RandomTreesEmbedding
    >>> X, y = load_iris(return_X_y=True)
    >>> codes = RandomTreesEmbedding(10, max_depth=3, random_state=0).fit_transform(X)
    >>> codes.shape[0], codes.sum(axis=1).max()
    (150, np.float64(10.0))
    """

    n_estimators: Count = 100
    _: KW_ONLY
    max_depth: Count | None = 5
    min_samples_split: MinSplit = 2
    min_samples_leaf: MinLeaf = 1
    min_weight_fraction_leaf: MinWeight = 0.0
    max_leaf_nodes: MaxLeaves = None
    min_impurity_decrease: NonNegative = 0.0
    sparse_output: bool = True
    n_jobs: int | None = None
    random_state: Seed = None
    verbose: Index | bool = 0
    warm_start: bool = False

    takes = Takes(missing=True, categories=True, sparse=True)
    card = Card(
        applications=("dimension reduction",),
        use="Before a linear method or a clustering, where similar rows share few exact values and scales differ. The "
        "code has thousands of columns; a supervised forest knows better which questions matter.",
        steps=(
            "Split the rows at a random threshold of a random column, a few times over, in many trees.",
            "Give every leaf a column.",
            "Mark the leaves that a row falls into.",
        ),
        source="Moosmann, Triggs & Jurie (2007)",
        see_also=("ExtraTreesRegressor", "IsolationForest"),
        given={"sparse_output": False},
        variants=({"n_estimators": 5, "max_leaf_nodes": 6},),
    )

    criterion, max_features, ccp_alpha = "squared_error", 1, 0.0
    bootstrap, oob_score, max_samples, monotonic_cst = False, False, None, None
    _new_tree = staticmethod(partial(ExtraTreeRegressor, max_features=1))
    _grower = staticmethod(random_split_grower)

    def fit(self, X: UserTable, y: UserTarget = None, sample_weight: UserWeights = None) -> Self:
        """Grow the trees; a weight of two means a row is there twice."""
        return super().fit(X, y, sample_weight)

    def fit_transform(self, X: UserTable, y: UserTarget = None, sample_weight: UserWeights = None) -> Table:
        """Grow the trees, and return the code of the rows."""
        return self.fit(X, y, sample_weight).transform(X)

    def _fit(self, X: Table, w: Weights, earlier: EarlierFit | None = None) -> None:
        y = _hash_rows(X, check_random_state(self.random_state))
        centre = np.average(y, weights=w)
        self._fit_trees(X, NumberTarget((y - centre)[None], np.array([centre]), self.criterion), w, earlier)

    def transform(self, X: UserTable) -> Table:
        """The code of each row, (n, leaves of all trees)."""
        X = self._admit(X)
        trees = self.model_.trees
        column = np.cumsum(trees.skip == 0) - 1  # of every node that is a leaf
        place = column[np.stack([trees.leaves(X, i) for i in range(len(trees))], axis=1)]
        n, T = place.shape
        marks = np.ones(n * T, dtype=X.dtype)
        code = csr_matrix((marks, place.ravel(), np.arange(0, n * T + 1, T)), shape=(n, column[-1] + 1))
        return code if self.sparse_output else code.toarray()

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Labels:
        """Names of the columns that `transform` returns: tree number, and number of the leaf among its nodes."""
        check_is_fitted(self)
        _check_feature_names_in(self, input_features, generate_names=False)
        me = type(self).__name__.lower()
        return np.array([f"{me}_{i}_{leaf}" for i, own in enumerate(self._leaves()) for leaf in own], dtype=object)

    @property
    def one_hot_encoder_(self) -> OneHotEncoder:
        """Turns the leaf numbers of `apply` into the code."""
        check_is_fitted(self)
        leaves = self._leaves()
        encoder = OneHotEncoder(categories=leaves, sparse_output=self.sparse_output)
        return encoder.fit(np.array([[own[0] for own in leaves]]))

    def _leaves(self) -> list[Indices]:
        """The leaves of each tree, as numbers of its nodes."""
        trees = self.model_.trees
        return [np.flatnonzero(trees.skip[lo:hi] == 0) for lo, hi in zip(trees.start, trees.start[1:], strict=False)]


def _hash_rows(X: Table, rng: Rng) -> Doubles:
    """A number between zero and one for each row, equal for equal rows."""
    r = rng.normal(size=X.shape[1])
    sums = X @ r if issparse(X) else (np.nan_to_num(X, nan=1.0).astype(np.float64) * r).sum(axis=1)
    bits = (np.nan_to_num(sums, nan=1.0) + 0.0).view(np.uint64) * GOLDEN_RATIO_64
    return (bits >> np.uint64(11)) / 2.0**53
