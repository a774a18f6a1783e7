"""Cutting a grown tree back.

Cost-complexity: among the trees that can be pruned from this one, the one that minimises risk + alpha x leaves shrinks
as alpha grows, by one weakest link at a time: the inner node with the least

    (risk as a leaf - risk of the leaves below) / (leaves below - 1)

Breiman, Friedman, Olshen & Stone (1984), chapter 3.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.core.types import Indices
from fivefold.partition.tree_arrays.binary_tree import Tree


class PruningPath(NamedTuple):
    """Weakest links in the order they go: the node, the alpha at which it becomes a leaf, and the tree's risk then.

    Entry 0 is the whole tree: node -1 at alpha 0.
    """

    node: Any
    alpha: Any
    risk: Any


def weakest_links(tree: Tree, risk: Any) -> PruningPath:
    """The whole sequence of pruned trees; `risk[t]` is the risk of node t as a leaf, a share of the root's rows."""
    m = len(tree)
    nodes, alphas, risks = np.full(m, -1, dtype=np.int64), np.zeros(m), np.zeros(m)
    below, leaves = risk.astype(np.float64).copy(), np.ones(m, dtype=np.int64)
    least, at = np.full(m, np.inf), np.full(m, -1, dtype=np.int64)
    count = _weakest_links(
        tree.left, tree.right, parent_indices(tree), risk, below, leaves, least, at, nodes, alphas, risks
    )
    return PruningPath(nodes[:count], alphas[:count], risks[:count])


def parent_indices(tree: Tree) -> Any:
    """The parent of each node, -1 for the root."""
    out, inner = np.full(len(tree), -1, dtype=np.int64), tree.feature >= 0
    out[tree.left[inner]] = out[tree.right[inner]] = np.flatnonzero(inner)
    return out


def prune_binary_tree(tree: Tree, leaves: Indices) -> tuple[Tree, Any]:
    """The tree with these nodes (a mask) as leaves, and the indices of the nodes that stay."""
    parent = parent_indices(tree)
    gone = np.zeros(len(tree), dtype=bool)
    for t in range(1, len(tree)):  # parents stand before their children
        gone[t] = gone[parent[t]] or leaves[parent[t]]
    kept = np.flatnonzero(~gone)
    place = np.full(len(tree), -1, dtype=np.int32)
    place[kept] = np.arange(len(kept))
    inner = (tree.feature[kept] >= 0) & ~leaves[kept]
    return replace(
        tree,
        feature=np.where(inner, tree.feature[kept], -1).astype(np.int32),
        threshold=np.where(inner, tree.threshold[kept], np.nan),
        left=np.where(inner, place[tree.left[kept]], -1).astype(np.int32),
        right=np.where(inner, place[tree.right[kept]], -1).astype(np.int32),
        missing_left=np.where(inner, tree.missing_left[kept], 0).astype(np.uint8),
        depth=tree.depth[kept],
        rows=tree.rows[kept],
        set_start=None if tree.set_start is None else np.where(inner, tree.set_start[kept], -1),
    ), kept


@jit
def _weakest_links(left, right, parent, risk, below, leaves, least, at, nodes, alphas, risks):
    """Every node knows the weakest link below it, the first of equals: a step costs the depth of the tree."""
    m = len(left)
    for t in range(m - 1, -1, -1):  # from the bottom up
        if left[t] >= 0:
            below[t] = below[left[t]] + below[right[t]]
            leaves[t] = leaves[left[t]] + leaves[right[t]]
            _update_weakest(t, left, right, risk, below, leaves, least, at)
    risks[0] = below[0]
    count = 1
    while leaves[0] > 1:
        t = at[0]
        nodes[count], alphas[count] = t, least[0]
        fall, gone = risk[t] - below[t], leaves[t] - 1
        while t >= 0:
            below[t] += fall
            leaves[t] -= gone
            _update_weakest(t, left, right, risk, below, leaves, least, at)
            t = parent[t]
        risks[count] = below[0]
        count += 1
    return count


@jit
def _update_weakest(t, left, right, risk, below, leaves, least, at):
    """The weakest link at or below a node; none where it has become a leaf."""
    least[t], at[t] = np.inf, -1
    if leaves[t] > 1:
        least[t], at[t] = (risk[t] - below[t]) / (leaves[t] - 1), t
        for child in (left[t], right[t]):
            if least[child] < least[t]:
                least[t], at[t] = least[child], at[child]
