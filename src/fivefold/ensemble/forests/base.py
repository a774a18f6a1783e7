"""Forests: many trees, each with its own sample of rows and of the columns at every node, averaged.

    f(x) = 1/T sum_t tree_t(x)

Trees that err differently err less together: with variance s^2 each and correlation r between two of them, the mean of
T has variance r s^2 + (1 - r) s^2 / T. Columns are ranked once for all trees; every tree is grown by one thread, from a
seed of its own, so the number of threads never changes a byte.

Breiman (2001), Random Forests.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Annotated, Any, Self

import numpy as np
from scipy.sparse import hstack

from fivefold.core.chunks.user_chunks import source_of
from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, Range
from fivefold.core.numerics.arrays import to_numpy
from fivefold.core.parallel import map_items
from fivefold.core.types import (
    Array,
    Indices,
    Sparse,
    Table,
    UserTable,
    UserTarget,
    UserWeights,
    Weights,
)
from fivefold.ensemble.forests.committee import Committee
from fivefold.ensemble.forests.forest_loops import ForestArrays
from fivefold.ensemble.forests.tree_growers import TreeGrower
from fivefold.ensemble.members.bootstrap_bag import (
    Bag,
    kept_rows,
    oob_mean,
    sampled_rows,
    with_idle_rows,
)
from fivefold.ensemble.members.inner_estimators import MemberSequence
from fivefold.ensemble.members.warm_start import EarlierFit, ForestTree, WarmStart, trees_of
from fivefold.tree.shared.base import (
    DrawSeed,
    MaxFeatures,
    TreeModel,
    columns_tried,
    constraints_of,
    decision_path,
    growth_limits,
)
from fivefold.tree.shared.tree_targets import TreeTarget, TreeWeights

TREES_PER_REPORT = 32  # trees between two reports of progress: few enough for the line to move, cheap enough
MAX_INTEGER_WEIGHT = 2**31  # total weight below which integer weights are counted in integers

MaxSamples = Count | Annotated[float, Range(0, open_low=True, open_high=True)] | None
OobScore = bool | Callable[..., float]  # a function of true and predicted targets


@dataclass(frozen=True)
class SampleDraws:
    """What the samples are drawn from, and the seed of each tree."""

    seeds: Indices  # (T,) int64
    bag: Bag | None  # None: every tree has all rows
    count: int  # rows per sample
    rows: Indices | None = None  # positions, in the table given, of the rows to draw from; None for all
    in_chunks: bool = False  # rows of a table in chunks, or of a tensor, are drawn one by one, and not remembered

    def of(self, i: int) -> Indices:
        """How often each row is in the sample of tree i; only with a bag."""
        assert self.bag is not None
        return self.bag.draw_with_replacement(self.count, int(self.seeds[i]))


@dataclass(frozen=True)
class OutOfBag:
    """What trees predict for rows they were not grown from."""

    answers: Array  # (n, K), zero for rows that are in every sample
    score: float


@dataclass(frozen=True)
class Forest:
    """Trees, their samples, and what they predict for the rows left out."""

    trees: ForestArrays
    draws: SampleDraws
    oob: OutOfBag | None = None

    @cached_property
    def votes(self) -> Array:
        """The class that each node votes for, one-hot (m, K); the first of equally common ones."""
        each = self.trees.split_outputs(self.trees.value)
        return np.concatenate([np.eye(v.shape[1])[v.argmax(axis=1)] for v in each], axis=1)


def _integer_weights(w: Weights) -> TreeWeights:
    """Weights as integers if they are whole."""
    return w.astype(np.int64) if w.sum() < MAX_INTEGER_WEIGHT and (w == np.rint(w)).all() else w


def _shifted(work: Callable[[int], None], lo: int, i: int) -> None:
    work(lo + i)


class ForestMethods(WarmStart, MemberSequence):
    """What every forest does: grow, continue growing, and predict.

    Parameters
    ----------
    max_leaf_nodes
        maximum number of leaves of a tree; the nodes that gain most are split first.
    min_impurity_decrease
        minimum decrease of the impurity by a split, weighted by the node's share of the total weight.
    bootstrap
        whether each tree gets a sample drawn with replacement, or all rows.
    random_state
        seed of the samples, and of the columns and thresholds drawn at nodes.
    verbose
        accepted for compatibility and ignored: long fits in a terminal show a progress line anyway.
    ccp_alpha
        price per leaf: a tree is pruned to the subtree of least risk + ccp_alpha x leaves.

    Attributes
    ----------
    estimators_, estimator_
        the trees, made into estimators on first access; and an unfitted one.
    estimators_samples_
        the rows of each tree.
    feature_importances_
        share of each column in the decrease of the impurity.
    """

    model_: Forest
    n_estimators: int
    max_features: MaxFeatures
    bootstrap: bool
    oob_score: OobScore
    ccp_alpha: float
    max_samples: MaxSamples
    _score: Callable[..., float]  # (target, forest, out-of-bag answers)
    _grower: Callable[..., TreeGrower]
    _new_tree: Callable[[], ForestTree]  # an unfitted tree of the kind that is grown
    get_params: Callable[..., dict[str, object]]
    max_leaf_nodes: int | None

    feature_importances_ = learned("trees.importances")
    n_outputs_ = learned("trees.outputs")

    def fit(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None) -> Self:
        """Learn from rows and their targets; a weight of two means a row is there twice."""
        mixed_into: Any = super()  # of the class it is mixed into
        mixed_into.fit(X, y, sample_weight)
        return self._note_idle_rows(X, sample_weight)

    def _note_idle_rows(self, X: UserTable, sample_weight: UserWeights) -> Self:
        """After a fit: which rows had a weight, and what trees predict for the others."""
        if source_of(X) is None and (rows := kept_rows(sample_weight)) is not None:
            self.model_ = self._with_idle_rows(X, rows)
        return self

    def _fit_trees(self, X: Table, target: TreeTarget, w: Weights, earlier: EarlierFit | None) -> None:
        """Grow the missing trees, and score them on the rows that they were not grown from."""
        before = self._resume(earlier, X, target.y)
        trees = None if before is None else before.trees
        draws = self._sample_draws(X, target, w, np.empty(0, np.int64) if before is None else before.draws.seeds)
        trees = self._grow(X, target, w, draws, trees)
        draws = replace(draws, seeds=draws.seeds[: len(trees)])  # an interrupted fit has fewer
        oob = self._out_of_bag(X, target, Forest(trees, draws)) if self.oob_score else None
        self.model_ = Forest(trees, draws, oob)

    def _sample_draws(self, X: Table, target: TreeTarget, w: Weights, kept: Indices) -> SampleDraws:
        """A seed per tree, earlier ones kept, and what the samples are drawn from."""
        seeds = np.concatenate([kept, self._new_seeds(len(kept))]).astype(np.int64)
        if not self.bootstrap:
            if self.oob_score or self.max_samples is not None:
                raise ValueError(
                    f"{type(self).__name__}: oob_score={self.oob_score} and max_samples={self.max_samples} are about "
                    "samples of the rows: they need bootstrap=True"
                )
            return SampleDraws(seeds, None, 0)
        bag = Bag.of(X, target.y, w)
        drawn = bag.sample_size(self.max_samples)
        return SampleDraws(seeds, bag if target.factors is None else bag.reweighted(target.factors), drawn)

    def _grow(
        self, X: Table, target: TreeTarget, w: Weights, draws: SampleDraws, trees: ForestArrays | None
    ) -> ForestArrays:
        """All trees, the earlier ones first."""
        all_rows = _integer_weights(w if target.factors is None else w * target.factors)  # without a bag
        constraints = constraints_of(self, X, np.ones(X.shape[0]), means=target.is_single_mean)
        sign = constraints.sign if constraints is not None and constraints.sign.any() else None
        tried = columns_tried(self.max_features, X.shape[1])
        grow_one = self._grower(self.max_leaf_nodes, X, target, constraints)

        def grow_tree(i: int) -> None:
            c = target.weights(all_rows if draws.bag is None else draws.of(i))
            rows = np.flatnonzero(c).astype(np.int32)
            grown, some, c = grow_one(rows, c, growth_limits(self, X, c, int(draws.seeds[i])))
            value, impurity, weight = some.answers(grown, c, sign)
            tree = TreeModel(grown.tree, value, impurity, weight, X.shape[1], tried, target.sizes)
            impurity_name = target.impurity_name if sign is None else None
            committee.add(i - before, ForestArrays.of(tree.pruned(self.ccp_alpha), impurity_name))

        committee, before = Committee(trees), 0 if trees is None else len(trees)
        blocks = range(before, len(draws.seeds), TREES_PER_REPORT)
        with fit_steps(self, f"block of {TREES_PER_REPORT} trees", len(blocks), X) as monitor:
            try:
                for lo in blocks:
                    map_items(partial(_shifted, grow_tree, lo), min(TREES_PER_REPORT, len(draws.seeds) - lo))
                    trees = committee.arrays()
                    assert trees is not None
                    if monitor(Forest(trees, draws), len(trees)):
                        break
            except KeyboardInterrupt:
                if (trees := committee.arrays()) is None:
                    raise
                warn_kept_best(self, len(trees), "tree")
        assert trees is not None  # n_estimators is at least one
        return trees

    def _out_of_bag(self, X: Table, target: TreeTarget, forest: Forest) -> OutOfBag:
        """The mean prediction of the trees that did not see a row, and its score."""
        value, n = self._values(forest), X.shape[0]
        total, times = np.zeros((n, value.shape[1])), np.zeros(n)
        for i in range(len(forest.trees)):
            out = np.flatnonzero(forest.draws.of(i) == 0)
            total[out] += value[forest.trees.leaves(X, i, out)]
            times[out] += 1
        answers = oob_mean(self, total, times, "tree", "Grow more trees")
        return OutOfBag(answers, self._score(target, forest, answers))

    def _with_idle_rows(self, X: Table, rows: Indices) -> Forest:
        """The forest with the predictions of all trees for the rows of weight zero, in their positions."""
        forest, oob = self.model_, self.model_.oob
        if oob is not None:
            values = self._values(forest)
            answers = with_idle_rows(
                oob.answers, rows, X, lambda idle: to_numpy(forest.trees.mean(self._admit(idle), values))
            )
            oob = replace(oob, answers=answers)
        return replace(forest, draws=replace(forest.draws, rows=rows), oob=oob)

    def _values(self, forest: Forest) -> Array:
        """What the nodes predict."""
        return forest.trees.value

    @property
    def estimators_(self) -> list[ForestTree]:
        """The trees as estimators."""
        return trees_of(self)

    @property
    def estimators_samples_(self) -> list[Indices]:
        """The rows of each tree, by their position in the table given; rows drawn twice are listed twice."""
        trees, draws = self.model_.trees, self.model_.draws
        if draws.in_chunks:
            raise AttributeError(
                f"{type(self).__name__} has no 'estimators_samples_': the samples of a table in chunks, or of a tensor "
                "on a device, are not kept"
            )
        whole = np.ones(trees.rows[0], dtype=np.int64)
        each = (whole if draws.bag is None else draws.of(i) for i in range(len(trees)))
        return [sampled_rows(counts, draws.rows).astype(np.int32) for counts in each]

    @property
    def estimator_(self) -> ForestTree:
        """An unfitted tree of the kind that is grown."""
        return self._new_tree()

    @property
    def estimator(self) -> ForestTree:
        """An unfitted tree of the kind that is grown."""
        return self._new_tree()

    def apply(self, X: UserTable) -> Indices:
        """The leaf of each row in every tree (n, T)."""
        X = to_numpy(self._admit(X))
        trees = self.model_.trees
        return np.stack([trees.leaves(X, i) - trees.start[i] for i in range(len(trees))], axis=1)

    def decision_path(self, X: UserTable) -> tuple[Sparse, Indices]:
        """Sparse (n, nodes of all trees), 1 where a row passes a node; and the first node of each tree."""
        X = to_numpy(self._admit(X))
        trees = self.model_.trees
        paths = [decision_path(trees[i].tree, X) for i in range(len(trees))]
        return hstack(paths, format="csr"), trees.start.copy()

    def _member(self, i: int) -> ForestTree:
        """Tree i as an estimator."""
        tree = self._new_tree()
        shared = (tree.get_params().keys() & self.get_params().keys()) - {"class_weight"}
        tree.set_params(**{name: getattr(self, name) for name in shared})
        tree.random_state = DrawSeed(self.model_.draws.seeds[i])
        tree.n_features_in_, tree.model_ = self.n_features_in_, self.model_.trees[i]
        return tree
