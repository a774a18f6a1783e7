"""What the trees of a forest learn, and how one of them grows.

A target scores splits of weighted rows and computes what nodes predict; a grower makes the tree of some rows, by the
best splits of ranked columns or by thresholds drawn at random.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fivefold.core.types import Array, Codes, Indices, Table, Weights
from fivefold.partition.column_access import to_dense
from fivefold.partition.criteria.classification_criteria import BinaryCountGini, BinaryGini
from fivefold.partition.criteria.multi_output import multi_output
from fivefold.partition.growers.binary_grower import grow, grow_forest_tree, grow_random_tree
from fivefold.partition.splitters.base import ColumnConstraints, GrowthLimits, column_constraints
from fivefold.partition.splitters.forest_categories import category_codes
from fivefold.partition.splitters.forest_splitter import rank_columns
from fivefold.partition.tree_arrays.binary_tree import GrownTree
from fivefold.tree.shared.base import clip_monotonic
from fivefold.tree.shared.single_column_trees import CLASS_CRITERIA, IMPURITY_FUNCTIONS, NUMBER_CRITERIA

TreeWeights = NDArray[Any]  # (n,) floats; integers where all weights are whole, for exact counts


@dataclass(frozen=True)
class ClassTarget:
    """Class codes, and the impurity that trees reduce."""

    y: Indices  # (n, outputs) int64
    sizes: tuple[int, ...]  # classes of each output
    impurity: str
    factors: Weights | None = None  # (n,) class weight of each row
    balanced: bool = False  # classes have equal weight in every tree

    statistics_add = True  # node statistics are sums over rows

    @property
    def impurity_name(self) -> str:
        """The impurity of a node, which follows from the shares of its classes."""
        return self.impurity

    @property
    def is_single_mean(self) -> bool:
        """Is the prediction one mean, which can be kept between bounds?"""
        return self.sizes == (2,)

    @cached_property
    def packed(self) -> Codes:
        """1 per row, plus 2**32 where the class is 1: both counts in one sum."""
        return 1 + (self.y[:, 0] << 32)

    @cached_property
    def class_one(self) -> Codes:
        """Whether the class is 1, one byte per row."""
        return self.y[:, 0].astype(np.uint8)

    def take(self, rows: Indices) -> ClassTarget:
        """Some of the rows."""
        return replace(self, y=self.y[rows])

    def weights(self, c: TreeWeights) -> TreeWeights:
        """Weights of the rows of a tree that has each row c times."""
        for codes, K in zip(self.y.T, self.sizes, strict=True) if self.balanced else ():
            sums = np.bincount(codes, c, K)
            c = c * (c.sum() / np.maximum(sums, 1e-300) / np.count_nonzero(sums))[codes]
        return c

    def criterion(self, w: TreeWeights) -> Any:
        """The criterion that scores splits of rows with these weights."""
        if self.impurity == "gini" and self.sizes == (2,) and w.dtype.kind == "i":
            return BinaryGini(self.class_one) if (w == 1).all() else BinaryCountGini(w * self.packed)
        w = w.astype(np.float64)
        make: Any = CLASS_CRITERIA[self.impurity]
        if len(self.sizes) > 1:
            return multi_output(make(np.ascontiguousarray(self.y.T, dtype=np.int32), w, np.array(self.sizes)))
        return make(self.y[:, 0].astype(np.int32), w, self.sizes[0])

    def answers(self, grown: GrownTree, w: TreeWeights, sign: Codes | None) -> tuple[Array, Array, Weights]:
        """Class shares, impurity and weight of every node; `sign`: see `clip_monotonic`."""
        counts = [grown.counts(codes, w, K) for codes, K in zip(self.y.T, self.sizes, strict=True)]
        weight = counts[0].sum(axis=1)
        shares = [c / weight[:, None] for c in counts]
        spread = np.mean([IMPURITY_FUNCTIONS[self.impurity](s) for s in shares], axis=0)
        if sign is not None:
            second = clip_monotonic(grown.tree, shares[0][:, 1], sign)
            shares = [np.stack([1 - second, second], axis=1)]
        return np.concatenate(shares, axis=1), spread, weight


@dataclass(frozen=True)
class NumberTarget:
    """Numbers relative to a centre, and the impurity that trees reduce."""

    Y: Array  # (outputs, n) float64, centre subtracted
    centre: Array  # (outputs,)
    impurity: str
    factors: Weights | None = None

    impurity_name = None  # the impurity of a node does not follow from its answer

    @property
    def y(self) -> Array:
        """The targets as they were given, (n, outputs)."""
        return (self.Y + self.centre[:, None]).T

    @property
    def sizes(self) -> tuple[int, ...]:
        """One number per output."""
        return (1,) * len(self.Y)

    @property
    def statistics_add(self) -> bool:
        """Are node statistics sums over rows?"""
        return self.impurity in ("squared_error", "friedman_mse", "poisson")

    @property
    def is_single_mean(self) -> bool:
        """Is the prediction one mean or median, which can be kept between bounds?"""
        return len(self.Y) == 1 and self.impurity != "max_error"

    def take(self, rows: Indices) -> NumberTarget:
        """Some of the rows."""
        return replace(self, Y=np.ascontiguousarray(self.Y[:, rows]))

    def weights(self, c: TreeWeights) -> TreeWeights:
        """Weights of the rows of a tree that has each row c times."""
        return c

    def criterion(self, w: TreeWeights) -> Any:
        """The criterion that scores splits of rows with these weights."""
        make, w = NUMBER_CRITERIA[self.impurity][0], w.astype(np.float64)
        return multi_output(make(self.Y, w)) if len(self.Y) > 1 else make(self.Y[0], w)

    def answers(self, grown: GrownTree, w: TreeWeights, sign: Codes | None) -> tuple[Array, Array, Weights]:
        """Prediction, impurity and weight of every node; `sign`: see `clip_monotonic`."""
        w = w.astype(np.float64)
        values, spreads = zip(*(NUMBER_CRITERIA[self.impurity][1](grown, y, w) for y in self.Y), strict=True)
        if sign is not None:
            values = (clip_monotonic(grown.tree, values[0], sign),)
        spread = np.maximum(np.mean(spreads, axis=0), 0.0)
        return np.stack(values, axis=1) + self.centre, spread, grown.sums(w)[:, 0]


ForestTarget = ClassTarget | NumberTarget
TreeGrower = Callable[[Indices, TreeWeights, GrowthLimits], tuple[GrownTree, ForestTarget, TreeWeights]]


def best_split_grower(
    estimator: Any, X: Table, target: ForestTarget, constraints: ColumnConstraints | None
) -> TreeGrower:
    """A function of (rows, weights, limits) that grows a tree by the best splits: the tree, its target, its weights."""
    leaves = estimator.max_leaf_nodes or 0
    if not leaves and (constraints is None or not constraints.sign.any()) and target.statistics_add:
        ranked, categories = rank_columns(X), None if constraints is None else category_codes(X, constraints.levels)

        def shared(rows: Indices, w: TreeWeights, rules: GrowthLimits) -> tuple[GrownTree, ForestTarget, TreeWeights]:
            own = _fresh_constraints(constraints, w[rows])
            unit = 1.0 if own is None else own.unit
            return grow_forest_tree(X, ranked, rows, target.criterion(w), rules, codes=categories, unit=unit), target, w

        return shared

    def exact(rows: Indices, w: TreeWeights, rules: GrowthLimits) -> tuple[GrownTree, ForestTarget, TreeWeights]:
        some, w = target.take(rows), w[rows]
        own = _fresh_constraints(constraints, w)
        return grow(X[rows], some.criterion(w), rules, leaves=leaves, constraints=own), some, w

    return exact


def random_split_grower(
    estimator: Any, X: Table, target: ForestTarget, constraints: ColumnConstraints | None
) -> TreeGrower:
    """The same with thresholds drawn at random."""
    values, leaves = to_dense(X), estimator.max_leaf_nodes or 0

    def draw(rows: Indices, w: TreeWeights, rules: GrowthLimits) -> tuple[GrownTree, ForestTarget, TreeWeights]:
        criterion, own = target.criterion(w), _fresh_constraints(constraints, w[rows])
        return grow_random_tree(X, rows, criterion, rules, leaves=leaves, values=values, constraints=own), target, w

    return draw


def _fresh_constraints(constraints: ColumnConstraints | None, w: TreeWeights) -> ColumnConstraints | None:
    return None if constraints is None else column_constraints(w, constraints.levels, constraints.sign)
