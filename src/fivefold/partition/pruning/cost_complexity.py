"""Cost-complexity pruning.

Among the trees that can be pruned from a grown one, that which minimises risk + alpha x leaves shrinks as alpha grows,
by one weakest link at a time: the inner node with the least

    (risk as a leaf - risk of the leaves below) / (leaves below - 1)

Breiman, Friedman, Olshen & Stone (1984), chapter 3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.core.types import Array, Indices, Mask


class PruningPath(NamedTuple):
    """The weakest links in the order in which they are pruned.

    Entry 0 is the whole tree: node -1 at alpha 0.
    """

    node: Indices  # the node that becomes a leaf
    alpha: Array  # the alpha at which it does
    risk: Array  # the risk of the tree then

    def leaves(self, alpha: float, nodes: int) -> Mask:
        """Which of the nodes of the tree have become leaves at this alpha."""
        out = np.zeros(nodes, dtype=bool)
        out[self.node[1:][self.alpha[1:] <= alpha]] = True
        return out


def weakest_links(parent: Indices, risk: Array) -> PruningPath:
    """The whole sequence of pruned trees; `risk` (m,) is the risk of each node as a leaf.

    `parent` (m,) holds the parent of each node, which stands before its children; of equal links the first node goes
    first.
    """
    m = len(parent)
    inner = np.zeros(m, dtype=bool)
    inner[parent[1:]] = True
    children = np.argsort(parent, kind="stable")[1:]  # grouped by parent, increasing
    begin = np.searchsorted(parent[children], np.arange(m + 1))
    below, leaves = np.where(inner, 0.0, risk), np.where(inner, 0, 1)
    least, at = np.full(m, np.inf), np.full(m, -1, dtype=np.int64)
    nodes, alphas, risks = np.full(m, -1, dtype=np.int64), np.zeros(m), np.zeros(m)
    tree, state = _Links(parent, children, begin, risk), _LinkState(below, leaves, least, at)
    count = _weakest_links(tree, state, nodes, alphas, risks)
    return PruningPath(nodes[:count], alphas[:count], risks[:count])


class _Links(NamedTuple):
    """A tree and the risk of each node as a leaf."""

    parent: Indices
    children: Indices  # those of node t are children[begin[t] : begin[t + 1]]
    begin: Indices
    risk: Array


class _LinkState(NamedTuple):
    """What holds for each node while links are pruned."""

    below: Array  # risk of the leaves below
    leaves: Indices  # number of them
    least: Array  # the weakest link at or below the node
    at: Indices  # and its node, -1 for none


@jit
def _weakest_links(tree, state, nodes, alphas, risks):
    """Every node knows the weakest link below it, the first of equals: a step costs the depth of the tree."""
    parent, below, leaves = tree.parent, state.below, state.leaves
    for t in range(len(parent) - 1, -1, -1):  # from the bottom up
        if tree.begin[t] < tree.begin[t + 1]:
            _update_weakest(t, tree, state)
        if t > 0:
            below[parent[t]] += below[t]
            leaves[parent[t]] += leaves[t]
    risks[0] = below[0]
    count = 1
    while leaves[0] > 1:
        t = state.at[0]
        nodes[count], alphas[count] = t, state.least[0]
        change, gone = tree.risk[t] - below[t], leaves[t] - 1
        while t >= 0:
            below[t] += change
            leaves[t] -= gone
            _update_weakest(t, tree, state)
            t = parent[t]
        risks[count] = below[0]
        count += 1
    return count


@jit
def _update_weakest(t, tree, state):
    """The weakest link at or below a node; none where it has become a leaf."""
    least, at = state.least, state.at
    least[t], at[t] = np.inf, -1
    if state.leaves[t] > 1:
        least[t], at[t] = (tree.risk[t] - state.below[t]) / (state.leaves[t] - 1), t
        for i in range(tree.begin[t], tree.begin[t + 1]):
            c = tree.children[i]
            if least[c] < least[t] or (least[c] == least[t] and 0 <= at[c] < at[t]):
                least[t], at[t] = least[c], at[c]
