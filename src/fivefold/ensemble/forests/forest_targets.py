"""What the trees of a forest learn, and how one of them grows.

A target scores splits of weighted rows and gives the answers of the nodes; a grower makes the tree of some rows, by
the best cuts of ranked columns or by thresholds drawn at random.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from fivefold.core.types import Array, Indices, Table, Weights
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


@dataclass(frozen=True)
class ClassTarget:
    """Codes of classes, and the impurity that a tree lowers."""

    y: Indices  # (n, outputs) int64
    sizes: tuple[int, ...]  # classes of each output
    impurity: str
    factors: Any = None  # (n,) weights of the classes
    balanced: bool = False  # classes have equal weight in every tree

    tallied = True  # statistics of the targets add

    @property
    def named(self) -> str:
        """The impurity of a node, which follows from the shares of its classes."""
        return self.impurity

    @property
    def one_mean(self) -> bool:
        """Is the answer one mean, which can be held between bounds?"""
        return self.sizes == (2,)

    @cached_property
    def packed(self) -> Any:
        """One, and 2**32 more where the class is 1."""
        return 1 + (self.y[:, 0] << 32)

    @cached_property
    def second(self) -> Any:
        """Whether the class is 1, a byte a row."""
        return self.y[:, 0].astype(np.uint8)

    def take(self, rows: Any) -> ClassTarget:
        """Some of the rows."""
        return replace(self, y=self.y[rows])

    def weights(self, c: Any) -> Any:
        """Weights of the rows of a tree that has each of them c times."""
        for codes, K in zip(self.y.T, self.sizes, strict=True) if self.balanced else ():
            sums = np.bincount(codes, c, K)
            c = c * (c.sum() / np.maximum(sums, 1e-300) / np.count_nonzero(sums))[codes]
        return c

    def criterion(self, w: Weights) -> Any:
        """What scores the splits of rows of these weights."""
        if self.impurity == "gini" and self.sizes == (2,) and w.dtype.kind == "i":
            return BinaryGini(self.second) if (w == 1).all() else BinaryCountGini(w * self.packed)
        w = w.astype(np.float64)
        make: Any = CLASS_CRITERIA[self.impurity]
        if len(self.sizes) > 1:
            return multi_output(make(np.ascontiguousarray(self.y.T, dtype=np.int32), w, np.array(self.sizes)))
        return make(self.y[:, 0].astype(np.int32), w, self.sizes[0])

    def answers(self, grown: GrownTree, w: Weights, sign: Any) -> tuple[Any, Any, Any]:
        """Shares of the classes, impurity and weight of every node; `sign`: see `bounded`."""
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
    """Numbers about a centre, and the impurity that a tree lowers."""

    Y: Array  # (outputs, n) float64, less the centre
    centre: Array  # (outputs,)
    impurity: str
    factors: Any = None

    named = None  # the impurity of a node does not follow from its answer

    @property
    def y(self) -> Any:
        """The targets as they were given (n, outputs)."""
        return (self.Y + self.centre[:, None]).T

    @property
    def sizes(self) -> tuple[int, ...]:
        """One number an output."""
        return (1,) * len(self.Y)

    @property
    def tallied(self) -> bool:
        """Do statistics of the targets add?"""
        return self.impurity in ("squared_error", "friedman_mse", "poisson")

    @property
    def one_mean(self) -> bool:
        """Is the answer one mean or median, which can be held between bounds?"""
        return len(self.Y) == 1 and self.impurity != "max_error"

    def take(self, rows: Any) -> NumberTarget:
        """Some of the rows."""
        return replace(self, Y=np.ascontiguousarray(self.Y[:, rows]))

    def weights(self, c: Any) -> Any:
        """Weights of the rows of a tree that has each of them c times."""
        return c

    def criterion(self, w: Weights) -> Any:
        """What scores the splits of rows of these weights."""
        make, w = NUMBER_CRITERIA[self.impurity][0], w.astype(np.float64)
        return multi_output(make(self.Y, w)) if len(self.Y) > 1 else make(self.Y[0], w)

    def answers(self, grown: GrownTree, w: Weights, sign: Any) -> tuple[Any, Any, Any]:
        """Answer, impurity and weight of every node; `sign`: see `bounded`."""
        w = w.astype(np.float64)
        values, spreads = zip(*(NUMBER_CRITERIA[self.impurity][1](grown, y, w) for y in self.Y), strict=True)
        if sign is not None:
            values = (clip_monotonic(grown.tree, values[0], sign),)
        spread = np.maximum(np.mean(spreads, axis=0), 0.0)
        return np.stack(values, axis=1) + self.centre, spread, grown.sums(w)[:, 0]


def best_split_grower(
    estimator: Any, X: Table, target: Any, constraints: ColumnConstraints | None
) -> Callable[..., Any]:
    """A function of rows, their weights and rules that grows a tree of the best cuts; with its target and weights."""
    leaves = estimator.max_leaf_nodes or 0
    if not leaves and (constraints is None or not constraints.sign.any()) and target.tallied:
        ranked, kinds = rank_columns(X), None if constraints is None else category_codes(X, constraints.levels)

        def shared(rows: Indices, w: Weights, rules: GrowthLimits) -> Any:
            unit = 1.0 if constraints is None else _fresh_constraints(constraints, w[rows]).unit
            return grow_forest_tree(X, ranked, rows, target.criterion(w), rules, codes=kinds, unit=unit), target, w

        return shared

    def exact(rows: Indices, w: Weights, rules: GrowthLimits) -> Any:
        some, w = target.take(rows), w[rows]
        return (
            grow(X[rows], some.criterion(w), rules, leaves=leaves, constraints=_fresh_constraints(constraints, w)),
            some,
            w,
        )

    return exact


def random_split_grower(
    estimator: Any, X: Table, target: Any, constraints: ColumnConstraints | None
) -> Callable[..., Any]:
    """The same with thresholds drawn at random."""
    values, leaves = to_dense(X), estimator.max_leaf_nodes or 0

    def draw(rows: Indices, w: Weights, rules: GrowthLimits) -> Any:
        criterion, own = target.criterion(w), _fresh_constraints(constraints, w[rows])
        return grow_random_tree(X, rows, criterion, rules, leaves=leaves, values=values, constraints=own), target, w

    return draw


def _fresh_constraints(constraints: Any, w: Weights) -> Any:
    return None if constraints is None else column_constraints(w, constraints.levels, constraints.sign)
