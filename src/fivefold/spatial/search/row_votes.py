"""What rows are worth to the queries that they are near to: a vote for a class, or for a number.

Sums over all rows within a radius are made by the search itself (hit_loops.py), without lists of neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from fivefold.core.types import Array, Codes, Doubles, Indices
from fivefold.spatial.search.hit_loops import ClassVotes, TargetVotes
from fivefold.spatial.search.tree import RowTree

MAX_NODE_NUMBERS = 1 << 24  # sums that are kept for nodes of a tree: 128 MB


@dataclass(frozen=True, eq=False)
class RowVotes:
    """What each of n rows adds to the sums of a query."""

    columns: Doubles  # (1 + outputs, n): what its vote counts, and that times its targets; of classes the first only
    codes: Indices | None  # (outputs, n): of classes, the places in the sums that the vote goes to
    size: int  # sums per query
    by_tree: list[Any] = field(default_factory=list, repr=False)  # a tree, and the same in the order of its leaves

    @classmethod
    def of_targets(cls, y: Array, weights: Doubles | None) -> Self:
        """Votes for numbers (n,) or (n, outputs); sums are those of the votes, and of votes times each target."""
        targets = np.asarray(y, dtype=np.float64).reshape(len(y), -1).T
        columns = np.concatenate([np.ones((1, len(y))), targets])
        return cls(columns if weights is None else columns * weights, None, len(columns))

    @classmethod
    def of_classes(cls, codes: Codes, sizes: Sequence[int], weights: Doubles | None) -> Self:
        """Votes for classes (n,) or (n, outputs), of which outputs have so many; sums are by class, side by side."""
        starts = np.cumsum([0, *sizes])
        places = np.asarray(codes, dtype=np.int64).reshape(len(codes), -1).T + starts[:-1, None]
        columns = np.ones((1, len(codes))) if weights is None else np.asarray(weights, dtype=np.float64)[None]
        return cls(np.ascontiguousarray(columns), np.ascontiguousarray(places), int(starts[-1]))

    def in_order(self, tree: RowTree) -> tuple[Self, Doubles]:
        """The same with rows in the order of the leaves, and the sums of uniform votes of all nodes."""
        if not self.by_tree or self.by_tree[0] is not tree.order:
            codes = None if self.codes is None else np.ascontiguousarray(self.codes[:, tree.order])
            made = type(self)(np.ascontiguousarray(self.columns[:, tree.order]), codes, self.size)
            self.by_tree[:] = tree.order, made, made._node_sums(tree)
        return self.by_tree[1], self.by_tree[2]

    def _node_sums(self, tree: RowTree) -> Doubles:
        """Sums over the rows of each node (nodes, size), from those of its children; none where they are too many."""
        nodes, leaves = len(tree.ends), tree.leaves
        out = np.zeros((nodes, self.size))
        if nodes * self.size > MAX_NODE_NUMBERS:
            return out[:0]
        leaf = np.repeat(np.arange(leaves), np.diff(tree.ends[-leaves:], axis=1).ravel())
        if self.codes is None:
            for c, column in enumerate(self.columns):
                out[-leaves:, c] = np.bincount(leaf, column, leaves)
        else:
            for codes in self.codes:
                found = np.bincount(leaf * self.size + codes, self.columns[0], leaves * self.size)
                out[-leaves:] += found.reshape(leaves, self.size)
        for first in _levels(leaves):
            own, below = slice(first, 2 * first + 1), slice(2 * first + 1, 4 * first + 3)
            out[own] = out[below][::2] + out[below][1::2]
        return out

    def collector(self, m: int, lanes: int, power: float, nodes: Doubles | None = None) -> ClassVotes | TargetVotes:
        """Sums for m queries, all zero, of votes by the reduced distance to minus this power."""
        known = nodes if nodes is not None and power == 0 else np.empty((0, self.size))
        certain, scratch, sums = np.zeros(m, np.bool_), np.empty(lanes), np.zeros((m, self.size))
        if self.codes is None:
            return TargetVotes(self.columns, known, float(power), certain, scratch, sums)
        return ClassVotes(self.codes, self.columns, known, float(power), certain, scratch, sums)


def _levels(leaves: int) -> list[int]:
    """The first nodes of the levels above the leaves, from below."""
    return [(1 << level) - 1 for level in range(leaves.bit_length() - 2, -1, -1)]
