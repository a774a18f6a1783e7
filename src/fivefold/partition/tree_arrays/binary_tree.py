"""A binary tree as a struct of arrays, its nodes in preorder.

Row x goes from node t to `left[t]` if x[feature[t]] <= threshold[t], else to `right[t]`; a missing value goes left
where `missing_left[t]` says so. Leaves have feature -1. Where the column holds categories, the cut is a set of them:
the bits of the set of node t begin at byte `set_start[t]` of `set_bits`; a category that none of its rows had
goes with the missing values.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from fivefold.core.compilation.jit import jit
from fivefold.core.parallel import map_parts
from fivefold.core.storage.array_checks import check_category_sets, check_children, check_indices, check_lengths
from fivefold.core.types import Array, Codes, Indices, Mask, Matrix, Table, UserTable, Weights
from fivefold.partition.column_access import midpoint_below, values_at
from fivefold.partition.splitters.base import BEGIN, CHILD, DEPTH, END, FEATURE, MISSING_LEFT, ROW_ABOVE, ROW_BELOW
from fivefold.partition.tree_arrays.node_hierarchy import remaining_nodes


@dataclass(frozen=True)
class Tree:
    """Nodes in preorder: node 0 is the root, a left child follows its parent."""

    feature: Indices  # (m,) int32, -1 for a leaf
    threshold: Array  # (m,) float64
    left: Indices  # (m,) int32, -1 for a leaf
    right: Indices  # (m,) int32, -1 for a leaf
    missing_left: Indices  # (m,) uint8
    depth: Indices  # (m,) int32
    rows: Indices  # (m,) int64: rows it grew from
    set_start: Any = None  # (m,) int64, -1 where there is no set; None for a tree without sets
    set_bits: Any = None  # uint8; None likewise

    def check_arrays(self, columns: int) -> None:
        """Refuse arrays, as of an altered file, that do not make a tree over this many columns."""
        check_children((self.left, self.right), len(self))
        check_lengths(len(self), self.threshold, self.missing_left, self.depth, self.rows, self.set_start)
        inner = self.left >= 0
        if np.any((self.feature >= 0) != inner):
            raise ValueError("a leaf of a tree asks about a column")
        check_indices("columns", self.feature[inner], columns)
        check_category_sets(self.set_start, self.set_bits, self.feature)

    def __len__(self) -> int:
        return len(self.feature)

    @cached_property
    def leaves(self) -> Indices:
        """Indices of the leaves, from left to right."""
        return np.flatnonzero(self.feature < 0)

    @cached_property
    def parent(self) -> Indices:
        """The parent of each node, -1 for the root."""
        out, inner = np.full(len(self), -1, dtype=np.int64), self.feature >= 0
        out[self.left[inner]] = out[self.right[inner]] = np.flatnonzero(inner)
        return out

    def apply(self, X: UserTable) -> Indices:
        """The leaf of each row."""
        out = np.empty(X.shape[0], dtype=np.int64)
        nodes = (self.feature, self.threshold, self.left, self.right, self.missing_left)
        if issparse(X):
            X = X.tocsr()
            table = (X.indptr.astype(np.int64), X.indices.astype(np.int64), X.data.astype(np.float64))
            map_parts(lambda lo, hi: _descend_sparse(*table, *nodes, lo, hi, np.zeros(X.shape[1]), out), len(out))
        elif self.set_start is None:
            map_parts(lambda lo, hi: _descend(X[lo:hi], *nodes, out[lo:hi]), len(out))
        else:
            sets = (self.set_start, self.set_bits)
            map_parts(lambda lo, hi: _descend_sets(X[lo:hi], *nodes, *sets, out[lo:hi]), len(out))
        return out

    def chosen(self, t: int, levels: int) -> Mask:
        """Which of the categories of its column node t sends left: a mask."""
        start = self.set_start[t]
        return np.unpackbits(self.set_bits[start : start + (levels + 7) // 8], count=levels, bitorder="little") == 1

    def aggregate(self, at_leaves: Matrix | Codes) -> Matrix:
        """Sums (m, q) of every node from those of the leaves (leaves, q), from the bottom up."""
        out = np.zeros((len(self), at_leaves.shape[1]))
        out[self.leaves] = at_leaves
        _add_up(self.left, self.right, out)
        return out

    def prune(self, leaves: Mask) -> tuple[Tree, Indices]:
        """The tree with these nodes (a mask) as leaves, and the indices of the nodes that stay."""
        kept, place = remaining_nodes(self.parent, leaves)
        inner = (self.feature[kept] >= 0) & ~leaves[kept]
        return replace(
            self,
            feature=np.where(inner, self.feature[kept], -1).astype(np.int32),
            threshold=np.where(inner, self.threshold[kept], np.nan),
            left=np.where(inner, place[self.left[kept]], -1).astype(np.int32),
            right=np.where(inner, place[self.right[kept]], -1).astype(np.int32),
            missing_left=np.where(inner, self.missing_left[kept], 0).astype(np.uint8),
            depth=self.depth[kept],
            rows=self.rows[kept],
            set_start=None if self.set_start is None else np.where(inner, self.set_start[kept], -1),
        ), kept


class GrownTree(NamedTuple):
    """A tree, and the leaf of each row it grew from: a position among `tree.leaves`, -1 for rows it never saw."""

    tree: Tree
    leaf: Indices  # (n,) int64

    def sums(self, *columns: Array) -> Matrix:
        """Sums over the rows of every node of these columns, each with one number per row: (m, len(columns))."""
        seen = self.leaf >= 0
        at = [np.bincount(self.leaf[seen], column[seen], len(self.tree.leaves)) for column in columns]
        return self.tree.aggregate(np.stack(at, axis=1))

    def counts(self, codes: Codes, w: Weights, classes: int) -> Matrix:
        """Weight of each class in every node: (m, classes)."""
        seen = self.leaf >= 0
        at = np.bincount(self.leaf[seen] * classes + codes[seen], w[seen], len(self.tree.leaves) * classes)
        return self.tree.aggregate(at.reshape(-1, classes))


def assemble_tree(
    nodes: Indices, members: Indices, X: Table, levels: Indices | None = None, thresholds: Array | None = None
) -> GrownTree:
    """The tree of the nodes (m, NODE_FIELDS) a grower left; thresholds lie halfway between the values on either side.

    `members` are the rows in the order in which nodes refer to them. `levels` (d,) counts the categories of each
    column. `thresholds`, where they were drawn at random, holds that of each cut at the place where its right side
    begins.
    """
    order, place = preorder(nodes[:, FEATURE], nodes[:, CHILD])
    right_child = np.where(nodes[:, FEATURE] >= 0, nodes[:, CHILD] + 1, 0)
    middle = nodes[right_child, BEGIN][order]  # where the right side begins
    nodes = nodes[order]
    inner = nodes[:, FEATURE] >= 0
    left, right = np.full(len(nodes), -1, dtype=np.int32), np.full(len(nodes), -1, dtype=np.int32)
    left[inner], right[inner] = place[nodes[inner, CHILD]], place[nodes[inner, CHILD] + 1]
    rows = (nodes[:, END] - nodes[:, BEGIN]).astype(np.int64)
    threshold = _thresholds(nodes, inner, X) if thresholds is None else np.where(inner, thresholds[middle], np.nan)
    missing_left = np.where(inner, nodes[:, MISSING_LEFT], 0).astype(np.uint8)
    start, bits = _sets(nodes, inner, middle, missing_left, members, X, levels)
    if start is not None:
        threshold[start >= 0] = np.nan
    feature = np.where(inner, nodes[:, FEATURE], -1).astype(np.int32)
    tree = Tree(
        feature=feature,
        threshold=threshold,
        left=left,
        right=right,
        missing_left=missing_left,
        depth=nodes[:, DEPTH].copy(),
        rows=rows,
        set_start=start,
        set_bits=bits,
    )
    leaf = np.full(X.shape[0], -1, dtype=np.int64)
    leaf[members] = np.repeat(np.arange(len(tree.leaves)), rows[tree.leaves])  # leaves hold the rows from left to right
    return GrownTree(tree, leaf)


def preorder(feature: Indices, left: Indices) -> tuple[Indices, Indices]:
    """The nodes in preorder, and the place of each; right children stand beside left ones, leaves have feature -1."""
    order, place = np.empty((2, len(feature)), dtype=np.int64)
    _preorder(feature, left, place, order, np.zeros(len(feature) + 1, dtype=np.int64))
    return order, place


def _thresholds(nodes: Indices, inner: Mask, X: Table) -> Array:
    """Halfway between the values on either side of each cut; infinite where only missing values are on the right."""
    out = np.full(len(nodes), np.nan)
    f = nodes[inner, FEATURE]
    low, high = values_at(X, nodes[inner, ROW_BELOW], f), values_at(X, nodes[inner, ROW_ABOVE], f)
    out[inner] = np.where(nodes[inner, ROW_ABOVE] >= 0, midpoint_below(low, high), np.inf)
    return out


def _sets(
    nodes: Indices,
    inner: Mask,
    middle: Indices,
    missing_left: Indices,
    members: Indices,
    X: Table,
    levels: Indices | None,
) -> tuple[Indices | None, Indices | None]:
    """Where the set of each node begins, and the bits of all sets; (None, None) where no column holds categories."""
    if levels is None or not levels.any():
        return None, None
    start, which = np.full(len(nodes), -1, dtype=np.int64), np.flatnonzero(inner & (levels[nodes[:, FEATURE]] > 0))
    ends = np.concatenate([[0], np.cumsum((levels[nodes[which, FEATURE]] + 7) // 8)])
    start[which], bits = ends[:-1], np.zeros(ends[-1], dtype=np.uint8)
    _fill_sets(which, nodes, middle, missing_left, members, X, levels, start, bits)
    return start, bits


@jit
def _fill_sets(which, nodes, middle, missing_left, members, X, levels, start, bits):
    for t in which:
        f, first = nodes[t, FEATURE], start[t]
        if missing_left[t] == 1:
            for k in range(levels[f]):
                bits[first + (k >> 3)] |= 1 << (k & 7)
        for i in range(nodes[t, BEGIN], nodes[t, END]):
            x = X[members[i], f]
            if x == x:
                level = np.int64(x)
                if i < middle[t]:
                    bits[first + (level >> 3)] |= 1 << (level & 7)
                else:
                    bits[first + (level >> 3)] &= ~(1 << (level & 7))


@jit
def _add_up(left, right, out):
    """Sums of inner nodes: children stand after their parents."""
    for i in range(len(left)):
        t = len(left) - 1 - i
        for q in range(out.shape[1] if left[t] >= 0 else 0):
            out[t, q] = out[left[t], q] + out[right[t], q]


@jit
def _preorder(feature, left, place, order, stack):
    held, count = 1, 0
    while held > 0:
        held -= 1
        at = stack[held]
        place[at], order[count] = count, at
        count += 1
        if feature[at] >= 0:
            stack[held], stack[held + 1] = left[at] + 1, left[at]
            held += 2


@jit
def _descend(X, feature, threshold, left, right, missing_left, out):
    for i in range(X.shape[0]):
        t = 0
        while feature[t] >= 0:
            x = X[i, feature[t]]
            goes = missing_left[t] == 1 if x != x else x <= threshold[t]
            t = left[t] if goes else right[t]
        out[i] = t


@jit
def _descend_sparse(indptr, indices, data, feature, threshold, left, right, missing_left, lo, hi, row, out):
    for i in range(lo, hi):
        for p in range(indptr[i], indptr[i + 1]):
            row[indices[p]] = data[p]
        t = 0
        while feature[t] >= 0:
            x = row[feature[t]]
            goes = missing_left[t] == 1 if x != x else x <= threshold[t]
            t = left[t] if goes else right[t]
        out[i] = t
        for p in range(indptr[i], indptr[i + 1]):
            row[indices[p]] = 0.0


@jit
def _descend_sets(X, feature, threshold, left, right, missing_left, set_start, set_bits, out):
    for i in range(X.shape[0]):
        t = 0
        while feature[t] >= 0:
            x = X[i, feature[t]]
            if x != x:
                goes = missing_left[t] == 1
            elif set_start[t] >= 0:
                level = np.int64(x)
                goes = set_bits[set_start[t] + (level >> 3)] >> (level & 7) & 1 == 1
            else:
                goes = x <= threshold[t]
            t = left[t] if goes else right[t]
        out[i] = t
