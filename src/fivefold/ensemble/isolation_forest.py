"""Isolation forest: rows that a few random splits isolate are outliers.

    score(x) = -2^(-mean_t h_t(x) / c(m)),    c(m) = 2 (log(m - 1) + 0.5772) - 2 (m - 1) / m

A tree grows from m rows: at each node a column and a threshold between its smallest and largest value are drawn, until
rows stand alone or the depth is that of a balanced tree, ceil(log2 m). h_t(x) is the depth of the leaf of x, plus c(k)
for the k rows that share the leaf; c is the mean of h over random trees.

Liu, Ting & Zhou (2008), Isolation Forest.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from math import ceil, log2
from typing import Annotated, Any, Literal, Self

import numpy as np
from scipy.sparse import issparse

from fivefold.core.admission.takes import Takes
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import OutlierDetector
from fivefold.core.estimators.params import Count, Index, Range, Seed
from fivefold.core.numerics.weighted_quantile import weighted_quantile
from fivefold.core.parallel import map_items
from fivefold.core.registry import Card
from fivefold.core.types import Array, Indices, Table, UserTable, UserTarget, UserWeights, Vector, Weights
from fivefold.ensemble.forests.committee import committee_trees
from fivefold.ensemble.forests.forest_loops import ForestArrays
from fivefold.ensemble.members.bootstrap_bag import Bag, MaxColumns, columns_per_member, kept_rows, sampled_rows
from fivefold.ensemble.members.inner_estimators import MemberSequence
from fivefold.ensemble.members.warm_start import EarlierFit, ForestTree, WarmStart, trees_of
from fivefold.partition.criteria.constant_impurity import ConstantImpurity
from fivefold.partition.growers.binary_grower import grow_random_tree
from fivefold.partition.splitters.base import GrowthLimits
from fivefold.tree.extra_tree import ExtraTreeRegressor
from fivefold.tree.shared.base import TreeModel

AUTO_SAMPLE_ROWS = 256  # rows per tree with max_samples="auto", as in the paper


@dataclass(frozen=True)
class IsolationModel:
    """Trees whose values are path lengths, their samples and columns, and the score below which rows are outliers."""

    trees: Any  # ForestArrays; None only before the first tree
    seeds: Indices  # (T,)
    features: tuple[Indices, ...]  # columns of each tree
    bag: Bag
    count: int  # rows per tree
    replacement: bool
    offset: float = -0.5
    rows: Indices | None = None  # positions, in the table given, of the rows to draw from; None for all

    def scores(self, X: Table) -> Array:
        """Near -1 for rows isolated at once, near 0 for rows hard to isolate."""
        usual = float(mean_path_length(np.array([float(self.count)]))[0])
        length = self.trees.mean(X, self.trees.value)[:, 0]
        return -(2.0 ** -(length / usual if usual > 0 else np.ones(len(length))))

    def drawn(self, i: int) -> Indices:
        """How often each row is in the sample of tree i."""
        return self.bag.sample(self.count, int(self.seeds[i]), replacement=self.replacement)


def mean_path_length(m: Array) -> Array:
    """Mean number of splits that isolate one of m rows: that of an unsuccessful search in a binary tree of m keys."""
    many = np.maximum(m, 2.5)
    length = 2.0 * (np.log(many - 1.0) + np.euler_gamma) - 2.0 * (many - 1.0) / many
    return np.where(m > 2, length, np.where(m > 1, 1.0, 0.0))


class IsolationForest(WarmStart, MemberSequence, OutlierDetector):
    """Marks rows that random splits isolate sooner than others.

    Parameters
    ----------
    max_samples
        rows per tree: a number, a share of all, or "auto" for 256 or all if they are fewer.
    contamination
        share of the training rows to mark; "auto" marks those with a score below -0.5.
    max_features
        columns per tree: a number, or a share.
    bootstrap
        whether the rows of a tree are drawn with replacement.
    random_state
        seed of all draws.
    verbose
        accepted for compatibility and ignored.

    Attributes
    ----------
    estimators_, estimator_
        the trees, made into estimators on first access; and an unfitted one.
    estimators_features_, estimators_samples_
        the columns and the rows of each tree.
    max_samples_
        rows per tree.
    offset_
        the score below which rows are marked.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.ensemble import IsolationForest
    >>> X = np.vstack([np.random.RandomState(0).normal(size=(200, 2)), [[9.0, 9.0]]])
    >>> forest = IsolationForest(random_state=0).fit(X)
    >>> int(forest.score_samples(X).argmin()), forest.predict(X[-1:])
    (200, array([-1]))
    """

    _: KW_ONLY
    n_estimators: Count = 100
    max_samples: Literal["auto"] | Count | Annotated[float, Range(0, 1, open_low=True)] = "auto"
    contamination: Literal["auto"] | Annotated[float, Range(0, 0.5, open_low=True)] = "auto"
    max_features: MaxColumns = 1.0
    bootstrap: bool = False
    n_jobs: int | None = None
    random_state: Seed = None
    verbose: Index | bool = 0
    warm_start: bool = False

    takes = Takes(missing=True, sparse=True)
    card = Card(
        applications=("outlier detection",),
        use="Many rows and columns of any scale, rows that stand apart in a few columns. Groups of outliers close to "
        "one another hide each other; smaller samples help.",
        steps=(
            "Draw a small sample of the rows for each tree.",
            "Split it at random columns and thresholds until rows stand alone.",
            "Score a row by its mean path length.",
        ),
        source="Liu, Ting & Zhou (2008)",
        see_also=("ExtraTreesRegressor",),
        variants=(
            {"n_estimators": 10, "contamination": 0.1, "max_features": 0.5},
            {"n_estimators": 10, "max_samples": 0.5, "bootstrap": True},
        ),
    )

    @property
    def estimator_(self) -> ExtraTreeRegressor:
        """An unfitted tree of the kind that is grown."""
        return ExtraTreeRegressor(max_features=1)

    def fit(self, X: UserTable, y: UserTarget = None, sample_weight: UserWeights = None) -> Self:
        """Grow the trees; a weight of two means a row is there twice."""
        super().fit(X, y, sample_weight)
        self.model_ = replace(self.model_, rows=kept_rows(sample_weight))
        return self

    def _fit(self, X: Table, w: Weights, earlier: EarlierFit | None = None) -> None:
        before, bag = self._resume(earlier, X), Bag.of(X, None, w)
        kept = () if before is None else before.seeds
        seeds = self._new_seeds(len(kept))
        count, width = self._rows(bag.size), columns_per_member(self, X.shape[1])
        blank = IsolationModel(None, seeds, (), bag, count, self.bootstrap)  # no trees yet
        grown = map_items(lambda i: _isolation_tree(X, blank, i, width), len(seeds))
        trees = [t for t, _ in grown] if before is None else [before.trees, *(t for t, _ in grown)]
        features = (*(() if before is None else before.features), *(f for _, f in grown))
        model = replace(blank, trees=committee_trees(trees), seeds=np.concatenate([kept, seeds]), features=features)
        if self.contamination != "auto":
            model = replace(model, offset=weighted_quantile(model.scores(X), w, self.contamination))
        self.model_ = model

    def _rows(self, size: int) -> int:
        """Rows per tree."""
        if self.max_samples == "auto":
            return min(AUTO_SAMPLE_ROWS, size)
        if isinstance(self.max_samples, int | np.integer):
            if self.max_samples > size:
                warn(
                    f"max_samples ({self.max_samples}) is greater than the total number of samples ({size}). "
                    "max_samples will be set to n_samples for estimation."
                )
            return min(int(self.max_samples), size)
        return max(1, int(self.max_samples * size))

    def score_samples(self, X: UserTable) -> Vector:
        """The lower, the sooner a row is isolated: between -1 and 0, about -0.5 if no row stands apart."""
        X = self._admit(X)
        return self.model_.scores(X)

    @property
    def offset_(self) -> float:
        """The score below which rows are marked."""
        return self.model_.offset

    @property
    def max_samples_(self) -> int:
        """Rows per tree."""
        return self.model_.count

    @property
    def estimators_(self) -> list[ForestTree]:
        """The trees as estimators."""
        return trees_of(self)

    @property
    def estimators_features_(self) -> list[Indices]:
        """The columns of each tree."""
        return list(self.model_.features)

    @property
    def estimators_samples_(self) -> list[Indices]:
        """The rows of each tree, by their position in the table given."""
        return [sampled_rows(self.model_.drawn(i), self.model_.rows) for i in range(len(self.model_.trees))]

    def _member(self, i: int) -> ExtraTreeRegressor:
        depth = ceil(log2(max(self.model_.count, 2)))
        tree = ExtraTreeRegressor(max_features=1, max_depth=depth, random_state=int(self.model_.seeds[i]))
        tree.n_features_in_, tree.model_ = self.n_features_in_, self.model_.trees[i]
        return tree


def _isolation_tree(X: Table, model: IsolationModel, i: int, width: int) -> tuple[ForestArrays, Indices]:
    """A tree whose values are path lengths, and its columns."""
    d, c = X.shape[1], model.drawn(i)
    rows = np.flatnonzero(c)
    features = np.arange(d)
    if width < d:
        features = np.sort(np.random.default_rng([int(model.seeds[i]), 1]).choice(d, width, replace=False))
    some = X[rows][:, features]
    some, w = np.ascontiguousarray(some.toarray() if issparse(some) else some), c[rows].astype(np.float64)
    rules = GrowthLimits(max_depth=ceil(log2(max(model.count, 2))), n_columns=1, seed=int(model.seeds[i]))
    grown = grow_random_tree(some, np.arange(len(rows), dtype=np.int32), ConstantImpurity(w), rules)
    tree, weight = grown.tree, grown.sums(w)[:, 0]
    length = (tree.depth + mean_path_length(weight))[:, None]
    tree = replace(tree, feature=np.where(tree.feature >= 0, features[tree.feature], -1).astype(np.int32))
    return ForestArrays.of(TreeModel(tree, length, np.zeros(len(tree)), weight, d, 1)), features
