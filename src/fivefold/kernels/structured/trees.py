"""Kernels of ordered, labelled trees: how many fragments two trees share.

    C(a, b) = 0                                          where the productions of nodes a and b differ
              decay                                      where they are equal and lead to leaves
              decay prod_c (s + C(child_c(a), child_c(b)))     otherwise
    k(S, T) = sum_ab C(a, b)

s = 1: fragments may stop at any node (subset trees); s = 0: they go down to the leaves (subtrees). A production is the
label of a node with those of its children. Collins & Duffy (2002); Vishwanathan & Smola (2003).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from fivefold.core.types import Indices, Matrix, Vector
from fivefold.kernels.base import Objects
from fivefold.kernels.structured.base import StructuredKernel, each_row, numbered
from fivefold.kernels.structured.tree_loops import fragment_row


class TreeArrays(NamedTuple):
    """Nodes of many trees, children before their parents."""

    offsets: Indices  # (trees + 1,)
    productions: Indices  # (nodes,) -1 for a leaf
    starts: Indices  # (nodes + 1,) where the children of each begin
    children: Indices  # numbers of nodes


def _nodes(tree: Any, found: list[tuple[Any, list[int]]]) -> int:
    """Add the nodes of a tree, written as (label, child, child, ...) or as a leaf's label; the number of its root."""
    label, below = (tree[0], tree[1:]) if isinstance(tree, tuple | list) else (tree, ())
    numbers = [_nodes(child, found) for child in below]
    found.append(((label, tuple(found[c][0][0] for c in numbers)), numbers))
    return len(found) - 1


def tree_arrays(trees: Sequence[Any]) -> TreeArrays:
    """Nested tuples as arrays."""
    found: list[tuple[Any, list[int]]] = []
    offsets = [0]
    for tree in trees:
        _nodes(tree, found)
        offsets.append(len(found))
    productions = numbered([production for production, _ in found], {})
    leaves = np.array([not below for _, below in found], dtype=bool)
    starts = np.concatenate([[0], np.cumsum([len(below) for _, below in found])]).astype(np.int64)
    children = np.array(list(chain.from_iterable(below for _, below in found)), dtype=np.int64)
    return TreeArrays(np.array(offsets), np.where(leaves, -1, productions), starts, children)


class TreeKernel(StructuredKernel):
    """Number of fragments that two trees share, larger ones weighted down by `decay`.

    Trees are nested tuples ("S", ("NP", "we"), ("VP", "ran")).

    Examples
    --------
    >>> tree = ("S", ("NP", "we"), ("VP", "ran"))
    >>> TreeKernel(decay=1.0)([tree], [tree])  # NP -> we, VP -> ran, and S with each of them cut off or not
    array([[6.]])
    >>> TreeKernel(decay=1.0, subset_trees=False)([tree], [tree])
    array([[3.]])
    """

    decay: float = 0.5
    subset_trees: bool = True

    def _gram(self, X: Objects, Y: Objects | None) -> Matrix:
        first = list(X)
        arrays = tree_arrays(first if Y is None else [*first, *Y])
        shift = 0 if Y is None else len(first)
        most = int(np.diff(arrays.offsets).max(initial=0))

        def fill(i: int, start: int, out: Vector) -> None:
            stop = 1.0 if self.subset_trees else 0.0
            fragment_row(*arrays, i, shift + start, float(self.decay), stop, np.empty((most, most)), out)

        return each_row(fill, len(first), len(arrays.offsets) - 1 - shift, Y is None)

    def diag(self, X: Objects) -> Vector:
        return np.array([self._gram([x], [x])[0, 0] for x in X])
