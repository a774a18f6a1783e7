"""Trees, forests and boosted trees as one sum, F(x) = base + sum_t value_t(leaf of x), and its exact Shapley values.

For a row x and a background row b, a leaf is reached by the rows that mix them if they take from x all columns in which
only x goes its way (a of them), and from b all in which only b does (c of them). In this game the contributions are

    (a - 1)! c! / (a + c)!  of the leaf's value for each of the a,      - a! (c - 1)! / (a + c)!  for each of the c

and those of all leaves, trees and background rows add up. One pass per pair of rows visits the leaves that can be
reached; several columns may form one player.

Lundberg et al. (2020), From local explanations to global understanding with explainable AI for trees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from fivefold.core.types import Array, Codes, Indices, Mask, Matrix, Table, Vector
from fivefold.ensemble.boosting.boosted_trees import BoostedTrees
from fivefold.ensemble.boosting.hist_boosting_base import HistBoostingMethods
from fivefold.ensemble.forests.base import ForestMethods
from fivefold.evaluation.inspection.tree_shapley_loops import add_contributions
from fivefold.partition.histograms.bins import MISSING_BIN
from fivefold.partition.tree_arrays.binary_tree import Tree
from fivefold.tree.shared.base import TreeMethods, TreeModel


@dataclass(frozen=True)
class TreeTerm:
    """One tree of a sum."""

    feature: Indices  # (m,), -1 for a leaf
    left: Indices  # (m,)
    right: Indices  # (m,)
    value: Matrix  # (m, K)
    goes_left: Callable[[Table], Mask]  # (n, m) of the rows of a table; anything at leaves

    def leaf_values(self, X: Table) -> Matrix:
        """The value of the leaf of each row, (n, K)."""
        goes, rows, t = self.goes_left(X), np.arange(len(X)), np.zeros(len(X), dtype=np.int64)
        while (self.feature[t] >= 0).any():
            step = np.where(goes[rows, t], self.left[t], self.right[t])
            t = np.where(self.feature[t] >= 0, step, t)
        return self.value[t]


@dataclass(frozen=True)
class AdditiveTrees:
    """A base and the trees whose values are added to it; rows are given as the method admits them."""

    base: Vector  # (K,)
    terms: Callable[[], Iterator[TreeTerm]]

    def sums(self, X: Table) -> Matrix:
        """F of the rows, (n, K)."""
        return self.base + sum(term.leaf_values(X) for term in self.terms())

    def contributions(self, X: Table, B: Table, players: Codes) -> Array:
        """Shapley values (n, players, K) of the rows of X against the rows of B; players[j] has column j."""
        K, P = len(self.base), int(players.max()) + 1
        out = np.zeros((len(X), P, K))
        for term in self.terms():
            if len(term.feature) > 1:
                player = np.where(term.feature >= 0, players[term.feature], -1)
                goes = [np.ascontiguousarray(term.goes_left(Z)) for Z in (X, B)]
                nodes = (term.left.astype(np.int64), term.right.astype(np.int64), player.astype(np.int64))
                add_contributions(*goes, *nodes, np.ascontiguousarray(term.value), out)
        return out / len(B)


@singledispatch
def additive_trees(model: Any) -> tuple[AdditiveTrees, Callable[[Table], Table]] | None:
    """The trees of a fitted model and how it admits rows; None for a model of another kind."""
    return None


@additive_trees.register
def _(model: TreeMethods) -> tuple[AdditiveTrees, Callable[[Table], Table]]:
    held: TreeModel = model.model_
    return AdditiveTrees(np.zeros(held.value.shape[1]), lambda: iter([_term(held.tree, held.value)])), model._admit


@additive_trees.register
def _(model: ForestMethods) -> tuple[AdditiveTrees, Callable[[Table], Table]]:
    trees, admit = model.model_.trees, model._admit

    def terms() -> Iterator[TreeTerm]:
        for i in range(len(trees)):
            one = trees[i]
            yield _term(one.tree, one.value / len(trees))

    return AdditiveTrees(np.zeros(trees.value.shape[1]), terms), admit


@additive_trees.register
def _(model: HistBoostingMethods) -> tuple[AdditiveTrees, Callable[[Table], Table]]:
    boosted: BoostedTrees = model.model_
    K = len(boosted.base)

    def terms() -> Iterator[TreeTerm]:
        for t in range(len(boosted.starts) - 1):
            yield _boosted_term(boosted, slice(boosted.starts[t], boosted.starts[t + 1]), t % K)

    return AdditiveTrees(boosted.base, terms), lambda X: boosted.bins.levels(model._admit(X))


def _term(tree: Tree, value: Matrix) -> TreeTerm:
    def goes_left(X: Table) -> Mask:
        column = X[:, np.maximum(tree.feature, 0)]  # (n, m)
        goes = np.where(np.isnan(column), tree.missing_left == 1, column <= tree.threshold)
        if tree.set_start is not None and (with_set := np.flatnonzero(tree.set_start >= 0)).size:
            level = np.nan_to_num(column[:, with_set]).astype(np.int64)
            bits = tree.set_bits[tree.set_start[with_set] + (level >> 3)] >> (level & 7) & 1
            goes[:, with_set] = np.where(np.isnan(column[:, with_set]), goes[:, with_set], bits == 1)
        return goes

    return TreeTerm(tree.feature, tree.left, tree.right, value, goes_left)


def _boosted_term(boosted: BoostedTrees, part: slice, output: int) -> TreeTerm:
    feature, category = boosted.feature[part], boosted.category[part]
    left, right = (np.where(a[part] >= 0, a[part] - part.start, -1) for a in (boosted.left, boosted.right))
    value = np.zeros((len(feature), len(boosted.base)))
    value[:, output] = boosted.value[part]

    def goes_left(X: Table) -> Mask:
        column = X[:, np.maximum(feature, 0)]
        goes = np.where(np.isnan(column), boosted.missing_left[part] == 1, column <= boosted.threshold[part])
        if (with_set := np.flatnonzero(category >= 0)).size:
            code = np.nan_to_num(column[:, with_set], nan=MISSING_BIN).astype(np.int64)
            words = boosted.sets[category[with_set], code >> 5]
            goes[:, with_set] = (words >> (code & 31).astype(np.uint32)) & np.uint32(1) == 1
        return goes

    return TreeTerm(feature, left, right, value, goes_left)
