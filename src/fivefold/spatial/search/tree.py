"""A balanced tree of rows whose leaves are panels of the same shape: boxes (kd-tree) or balls (ball tree) about nodes.

Bentley (1975); Omohundro (1989).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fivefold.core.parallel import map_items, map_parts, threads
from fivefold.core.types import Array, Doubles, Indices, Matrix, Vector
from fivefold.spatial.search.tree_build_loops import fill_leaves, home_leaves, split_subtree

MIN_SHARED_ROWS = 20_000  # smaller trees are built by one thread
SHARED_DEPTH = 4  # levels above the subtrees that go to the threads whole
LANE_STEP = 8  # rows of a leaf are padded to a multiple of this: a vector register of double precision


class RowTree(NamedTuple):
    """Nodes of a balanced tree by level, and rows by leaf."""

    order: Indices  # (n,) int64: rows in the order of the leaves
    ends: Indices  # (nodes, 2) int64: node i holds the rows order[ends[i, 0] : ends[i, 1]]
    low: Doubles  # (nodes, d): the box of a node
    high: Doubles  # (nodes, d)
    Z: Array  # (leaves, d or more, lanes): rows of a leaf as columns
    ids: Indices  # (leaves, lanes) int64: their numbers, -1 where there is none

    @property
    def leaves(self) -> int:
        """How many leaves there are: a power of two."""
        return len(self.Z)


def tree_depth(n: int, leaf_rows: int) -> int:
    """Levels below the root, so that leaves have at most this many rows."""
    return max(0, int(np.ceil(np.log2(max(1.0, n / leaf_rows)))))


def build_tree(
    X: Matrix,
    depth: int,
    *,
    origin: Vector | None = None,
    scale: float = 1.0,
    single: bool = False,
    width: int | None = None,
    lanes: int | None = None,
) -> RowTree:
    """A tree with leaves on level `depth`; panels hold (x - origin) * scale, in single precision if asked for."""
    n, d = X.shape
    leaves, nodes = 1 << depth, (2 << depth) - 1
    order, keys, ends = np.arange(n), np.empty(n), np.zeros((nodes, 2), np.int64)
    ends[0, 1] = n

    def split(first: int, count: int, levels: int) -> None:
        map_items(lambda i: split_subtree(X, order, keys, ends, first + i, levels), count)

    shared = min(depth, SHARED_DEPTH) if n >= MIN_SHARED_ROWS and threads() > 1 else 0
    for level in range(shared):  # one by one, as each has twice as many nodes to share
        split((1 << level) - 1, 1 << level, 1)
    split((1 << shared) - 1, 1 << shared, depth - shared)
    capacity = (
        lanes or -(-max(1, int((ends[nodes - leaves :, 1] - ends[nodes - leaves :, 0]).max())) // LANE_STEP) * LANE_STEP
    )
    Z = np.empty((leaves, width or d, capacity), np.float32 if single else np.float64)
    ids, low, high = np.empty((leaves, capacity), np.int64), np.empty((nodes, d)), np.empty((nodes, d))
    start: Any = np.zeros(d) if origin is None else origin
    pieces = min(leaves, 16 if n >= MIN_SHARED_ROWS else 1)

    def fill(i: int) -> None:
        fill_leaves(X, order, ends, leaves * i // pieces, leaves * (i + 1) // pieces, start, scale, Z, ids, low, high)

    map_items(fill, pieces)
    for level in range(depth - 1, -1, -1):  # boxes of inner nodes from those of their children
        own, below = slice((1 << level) - 1, (2 << level) - 1), slice((2 << level) - 1, (4 << level) - 1)
        low[own] = np.minimum(low[below][::2], low[below][1::2])
        high[own] = np.maximum(high[below][::2], high[below][1::2])
    return RowTree(order, ends, low, high, Z, ids)


def leaves_of(tree: RowTree, Q: Matrix) -> Indices:
    """The leaf that each query reaches when it goes to the nearer child (m,)."""
    home = np.empty(len(Q), np.int64)

    def part(lo: int, hi: int) -> None:
        home_leaves(Q[lo:hi], tree.low, tree.high, tree.leaves, home[lo:hi])

    map_parts(part, len(Q))
    return home
