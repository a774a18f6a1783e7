"""A tree as a struct of arrays, in the order of a walk that goes left first.

Row x goes from node t to `left[t]` if x[feature[t]] <= threshold[t], else to `right[t]`; a missing value goes left
where `missing_left[t]` says so. Leaves have feature -1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from fivefold.core.compile import jit
from fivefold.core.parallel import map_parts

FEATURE, LOW, HIGH, MISSING_LEFT, CHILD, LO, HI, DEPTH, KEY = range(9)  # fields of a node while it grows
FIELDS = 9


@dataclass(frozen=True)
class Tree:
    """Nodes in preorder: node 0 is the root, a left child follows its parent."""

    feature: Any  # (m,) int32, -1 for a leaf
    threshold: Any  # (m,) float64
    left: Any  # (m,) int32, -1 for a leaf
    right: Any
    missing_left: Any  # (m,) uint8
    depth: Any  # (m,) int32
    rows: Any  # (m,) int64: rows it grew from

    def __len__(self) -> int:
        return len(self.feature)

    @cached_property
    def leaves(self) -> Any:
        """Indices of the leaves, from left to right."""
        return np.flatnonzero(self.feature < 0)

    def apply(self, X: Any) -> Any:
        """The leaf of each row."""
        out = np.empty(len(X), dtype=np.int64)
        map_parts(
            lambda lo, hi: _descend(
                X[lo:hi], self.feature, self.threshold, self.left, self.right, self.missing_left, out[lo:hi]
            ),
            len(X),
        )
        return out

    def aggregate(self, at_leaves: Any) -> Any:
        """Sums (m, q) of every node from those of the leaves (leaves, q), from the bottom up."""
        out = np.zeros((len(self), at_leaves.shape[1]))
        out[self.leaves] = at_leaves
        inner = np.flatnonzero(self.feature >= 0)
        for depth in range(int(self.depth.max()) - 1, -1, -1):
            some = inner[self.depth[inner] == depth]
            out[some] = out[self.left[some]] + out[self.right[some]]
        return out


class Grown(NamedTuple):
    """A tree, and the leaf of each row it grew from: a position among `tree.leaves`, -1 for rows it never saw."""

    tree: Tree
    leaf: Any  # (n,) int64

    def sums(self, *columns: Any) -> Any:
        """Sums of these columns, one number a row each, over the rows of every node: (m, len(columns))."""
        seen = self.leaf >= 0
        at = [np.bincount(self.leaf[seen], column[seen], len(self.tree.leaves)) for column in columns]
        return self.tree.aggregate(np.stack(at, axis=1))

    def counts(self, codes: Any, w: Any, classes: int) -> Any:
        """Weight of each class in every node: (m, classes)."""
        seen = self.leaf >= 0
        at = np.bincount(self.leaf[seen] * classes + codes[seen], w[seen], len(self.tree.leaves) * classes)
        return self.tree.aggregate(at.reshape(-1, classes))


def assemble(nodes: Any, members: Any, X: Any) -> Grown:
    """The tree of the nodes a grower left, thresholds halfway between the values on either side."""
    place, order = np.empty(len(nodes), dtype=np.int64), np.empty(len(nodes), dtype=np.int64)
    _preorder(nodes, place, order, np.zeros(len(nodes) + 1, dtype=np.int64))
    nodes = nodes[order]
    inner = nodes[:, FEATURE] >= 0
    left, right = np.full(len(nodes), -1, dtype=np.int32), np.full(len(nodes), -1, dtype=np.int32)
    left[inner], right[inner] = place[nodes[inner, CHILD]], place[nodes[inner, CHILD] + 1]
    rows = (nodes[:, HI] - nodes[:, LO]).astype(np.int64)
    tree = Tree(
        np.where(inner, nodes[:, FEATURE], -1).astype(np.int32),
        _thresholds(nodes, inner, X),
        left,
        right,
        np.where(inner, nodes[:, MISSING_LEFT], 0).astype(np.uint8),
        nodes[:, DEPTH].copy(),
        rows,
    )
    leaf = np.full(len(X), -1, dtype=np.int64)
    leaf[members] = np.repeat(np.arange(len(tree.leaves)), rows[tree.leaves])  # leaves hold the rows from left to right
    return Grown(tree, leaf)


def _thresholds(nodes: Any, inner: Any, X: Any) -> Any:
    """Halfway between the neighbours, but below the upper one also where they differ by rounding only."""
    out = np.full(len(nodes), np.nan)
    f = nodes[inner, FEATURE]
    low = X[nodes[inner, LOW], f].astype(np.float64)
    high = np.where(nodes[inner, HIGH] >= 0, X[nodes[inner, HIGH], f].astype(np.float64), np.inf)
    middle = low / 2 + high / 2
    out[inner] = np.where((nodes[inner, HIGH] >= 0) & ((middle >= high) | (middle < low)), low, middle)
    return out


@jit
def _preorder(nodes, place, order, stack):
    held, count = 1, 0
    while held > 0:
        held -= 1
        at = stack[held]
        place[at], order[count] = count, at
        count += 1
        if nodes[at, FEATURE] >= 0:
            stack[held], stack[held + 1] = nodes[at, CHILD] + 1, nodes[at, CHILD]
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
