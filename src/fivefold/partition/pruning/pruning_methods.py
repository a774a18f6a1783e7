"""Prunings: which inner nodes of a grown tree become leaves. They act on any tree whose parents stand before children.

A pruning sees the parent of each node and a cost of each node as a leaf; it gives a mask of the new leaves, for
`cut_back`. Two searches serve them all:

    bottom_up           the cheapest of all pruned trees, where costs of leaves and of branching add up
    greedy              the one collapse that lowers the total most, again and again

    pruning             search      cost of a leaf                                   of a branching
    reduced_error       bottom_up   mistakes on a pruning set                        0
    best_removals       greedy      mistakes on a pruning set                        0
    pessimistic         bottom_up   upper confidence limit of the mistakes           0
    cheapest_merges     greedy      weight x impurity + price                        0
    description_length  bottom_up   bits of the classes and their shares + 1         1 + bits of the question
    occam               bottom_up   mistakes + price x (1 + bits of the label)       price x (1 + bits of the question)

`links` gives the whole path of cost-complexity pruning, and `chi_square` keeps branchings that depend on the class.

Breiman et al. (1984); Quinlan (1987, 1993); Mingers (1989); Mehta, Rissanen & Agrawal (1995).
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from scipy.special import gammaln, ndtri
from scipy.stats import chi2

from fivefold.core.types import Array, Indices, Table
from fivefold.partition.pruning.cost_complexity import PruningPath, parent_indices, prune_binary_tree
from fivefold.partition.tree_arrays.binary_tree import Tree
from fivefold.partition.tree_arrays.multiway_tree import MultiwayArrays

COST_TOLERANCE = 1e-9  # costs are sums of many numbers
LEAF_SLACK = 0.1  # mistakes by which C4.5 lets a leaf be worse than the branches it replaces


@singledispatch
def parent_of(tree: Any) -> Any:
    """The parent of each node, -1 for the root."""
    raise TypeError(f"{type(tree).__name__} is no tree of this engine")


@parent_of.register
def _(tree: Tree) -> Any:
    return parent_indices(tree)


@parent_of.register
def _(tree: MultiwayArrays) -> Any:
    return tree.parent


@singledispatch
def prune_tree(tree: Any, leaves: Indices) -> tuple[Any, Any]:
    """The tree with these nodes (a mask) as leaves, and the indices of the nodes that stay."""
    raise TypeError(f"{type(tree).__name__} is no tree of this engine")


@prune_tree.register
def _(tree: Tree, leaves: Indices) -> tuple[Any, Any]:
    return prune_binary_tree(tree, leaves)


@prune_tree.register
def _(tree: MultiwayArrays, leaves: Indices) -> tuple[Any, Any]:
    return tree.cut_back(leaves)


# Searches


def bottom_up(parent: Any, leaf: Any, branching: Any = 0.0, slack: float = COST_TOLERANCE) -> Any:
    """The new leaves of the cheapest pruned tree; a leaf that costs as much as what is below it takes its place."""
    m = len(parent)
    below, inner = np.zeros(m) + branching, np.zeros(m, dtype=bool)
    inner[parent[1:]] = True
    out = np.zeros(m, dtype=bool)
    for t in range(m - 1, -1, -1):
        if not inner[t] or leaf[t] <= below[t] + slack:
            below[t], out[t] = leaf[t], inner[t]
        if t:
            below[parent[t]] += below[t]
    return out


def greedy_collapse(parent: Any, leaf: Any, *, ties: bool) -> list[int]:
    """Nodes in the order in which they are collapsed, while the total of the leaves falls, or stays where `ties`."""
    m = len(parent)
    inner = np.zeros(m, dtype=bool)
    inner[parent[1:]] = True
    below, children = _below(parent, inner, leaf), _children(parent)
    done: list[int] = []
    while inner.any():
        change = np.where(inner, leaf - below, np.inf)
        t = int(change.argmin())
        if change[t] > COST_TOLERANCE or (change[t] > -COST_TOLERANCE and not ties):
            break
        done.append(t)
        _collapse(children, inner, t)
        _add(below, parent, t, float(change[t]))
    return done


def weakest_link_path(parent: Any, leaf: Any) -> PruningPath:
    """The sequence of trees of least total + price x leaves as the price of a leaf grows; entry 0 is the whole tree."""
    m = len(parent)
    inner = np.zeros(m, dtype=bool)
    inner[parent[1:]] = True
    below, leaves = _below(parent, inner, leaf), _below(parent, inner, np.ones(m))
    path, children = [(-1, 0.0, float(below[0]))], _children(parent)
    while inner.any():
        with np.errstate(divide="ignore", invalid="ignore"):
            link = np.where(inner, (leaf - below) / (leaves - 1), np.inf)
        t = int(link.argmin())
        price = float(link[t])
        _collapse(children, inner, t)
        gone = 1.0 - float(leaves[t])
        _add(below, parent, t, float(leaf[t] - below[t]))
        _add(leaves, parent, t, gone)
        path.append((t, price, float(below[0])))
    nodes, prices, totals = zip(*path, strict=True)
    return PruningPath(np.array(nodes), np.array(prices), np.array(totals))


# Costs


def total_impurity(parent: Any, leaf: Any, price: float) -> float:
    """Weight times impurity of the leaves, and a price for each: sum_leaves W I + price x leaves."""
    inner = np.zeros(len(parent), dtype=bool)
    inner[parent[1:]] = True
    return float(leaf[~inner].sum() + price * (~inner).sum())


def cheapest_merge_pruning(parent: Any, leaf: Any, price: float) -> Any:
    """New leaves: the collapse that lowers the total impurity most, while one does; `leaf` is weight times impurity."""
    return _mask(parent, greedy_collapse(parent, leaf + price, ties=False))


def best_removal_pruning(parent: Any, mistakes: Any) -> Any:
    """New leaves: the collapse that helps most on a pruning set, while none harms; `mistakes` of each node there."""
    return _mask(parent, greedy_collapse(parent, mistakes, ties=True))


def reduced_error_pruning(parent: Any, mistakes: Any) -> Any:
    """New leaves, from the bottom up: where a leaf is not worse on a pruning set than what is below it."""
    return bottom_up(parent, mistakes)


def pessimistic_pruning(parent: Any, counts: Any, confidence: float = 0.25) -> Any:
    """New leaves where the upper confidence limit of the mistakes of a leaf is not above those of the leaves below."""
    return bottom_up(parent, upper_mistakes(counts, confidence), slack=LEAF_SLACK)


def mdl_pruning(parent: Any, counts: Any, question: Any) -> Any:
    """New leaves of the tree of the fewest bits: classes at its leaves, and the tree, `question` bits a branching."""
    return bottom_up(parent, class_bits(counts) + 1.0, 1.0 + question)


def occam_pruning(parent: Any, mistakes: Any, question: Any, price: float, label: float = 1.0) -> Any:
    """New leaves of the tree of least mistakes + price x bits: 1 + question a branching, 1 + label a leaf.

    A branching with two leaves is replaced where that costs price x (2 + label + question) mistakes at most.
    """
    return bottom_up(parent, mistakes + price * (1.0 + label), price * (1.0 + np.asarray(question)))


def chi_square_pruning(parent: Any, counts: Any, level: float = 0.05) -> Any:
    """New leaves where neither a branching nor any below it depends on the class at this level of significance."""
    m = len(parent)
    inner, kept = np.zeros(m, dtype=bool), np.zeros(m, dtype=bool)
    inner[parent[1:]] = True
    for t in range(m - 1, -1, -1):
        if inner[t]:
            kept[t] |= independence_p_value(counts[parent == t]) <= level
            if t and kept[t]:
                kept[parent[t]] = True
    return inner & ~kept


def independence_p_value(table: Any) -> float:
    """p-value of the chi-square test that the rows of a table of counts have the same shares."""
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    if min(table.shape) < 2:
        return 1.0
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    freedom = (table.shape[0] - 1) * (table.shape[1] - 1)
    return float(chi2.sf(((table - expected) ** 2 / expected).sum(), freedom))


def upper_mistakes(counts: Any, confidence: float) -> Any:
    """Mistakes of the majority in each node (m, K) with those that an upper confidence limit adds.

    None of N wrong: the rate at which that still happens with probability `confidence`; above one half of a mistake the
    normal limit with the continuity correction, between them a straight line.
    """
    N = counts.sum(axis=1)
    e = N - counts.max(axis=1)
    return e + extra_mistakes(N, e, confidence)


def extra_mistakes(N: Any, e: Any, confidence: float) -> Any:
    """What the upper confidence limit adds to e mistakes in N."""
    N, e = np.asarray(N, dtype=np.float64), np.maximum(np.asarray(e, dtype=np.float64), 0.0)
    N = np.maximum(N, 1e-12)
    none = N * -np.expm1(np.log(confidence) / N)
    one = _normal_limit(N, np.ones_like(N), confidence)
    return np.where(e < 1.0, none + e * (one - none), _normal_limit(N, e, confidence))


def class_bits(counts: Any) -> Any:
    """Bits to say the class of every row of a node: with the best shares, and to say those (stochastic complexity)."""
    N, K = counts.sum(axis=1), counts.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        said = np.where(counts > 0, counts * np.log2(N[:, None] / counts), 0.0).sum(axis=1)
        shares = (K - 1) / 2 * np.log2(np.maximum(N, 1.0) / 2) + (K / 2 * np.log(np.pi) - gammaln(K / 2)) / np.log(2)
    return said + np.maximum(shares, 0.0)


def _normal_limit(N: Any, e: Any, confidence: float) -> Any:
    z = ndtri(1 - confidence)
    f = np.minimum((e + 0.5) / N, 1.0)
    rate = (f + z * z / (2 * N) + z * np.sqrt(np.maximum(f / N - f * f / N + z * z / (4 * N * N), 0.0))) / (
        1 + z * z / N
    )
    return np.where(e + 0.5 >= N, np.maximum(N - e, 0.0), rate * N - e)


# Pruning sets


@singledispatch
def node_totals(tree: Any, X: Table, values: Array, missing: str = "fractions") -> tuple[Any, Any]:
    """Sums of the numbers values (n, q) over the rows that pass each node, and over those that end there: (m, q)."""
    raise TypeError(f"{type(tree).__name__} is no tree of this engine")


@node_totals.register
def _(tree: Tree, X: Table, values: Array, missing: str = "fractions") -> tuple[Any, Any]:
    return sum_along_paths(parent_indices(tree), tree.apply(X), np.arange(len(X)), np.ones(len(X)), values)


@node_totals.register
def _(tree: MultiwayArrays, X: Table, values: Array, missing: str = "fractions") -> tuple[Any, Any]:
    rows, nodes, part = tree.reach(tree.encode(X), missing)
    return sum_along_paths(tree.parent, nodes, rows, part, values)


def sum_along_paths(parent: Any, nodes: Indices, rows: Indices, part: Any, values: Array) -> tuple[Any, Any]:
    ends = np.stack([np.bincount(nodes, part * column[rows], len(parent)) for column in values.T], axis=1)
    passed = ends.copy()
    for t in range(len(parent) - 1, 0, -1):
        passed[parent[t]] += passed[t]
    return passed, ends


# Helpers


def _below(parent: Any, inner: Any, leaf: Any) -> Any:
    """The total of the leaves below each node."""
    out = np.where(inner, 0.0, leaf)
    for t in range(len(parent) - 1, 0, -1):
        out[parent[t]] += out[t]
    return out


def _children(parent: Any) -> list[list[int]]:
    out: list[list[int]] = [[] for _ in parent]
    for t in range(1, len(parent)):
        out[parent[t]].append(t)
    return out


def _collapse(children: list[list[int]], inner: Any, t: int) -> None:
    """A node, and all below it, are inner nodes no more."""
    ahead = [t]
    while ahead:
        s = ahead.pop()
        inner[s] = False
        ahead += [c for c in children[s] if inner[c]]


def _add(below: Any, parent: Any, t: int, change: float) -> None:
    while t >= 0:
        below[t] += change
        t = parent[t]


def _mask(parent: Any, nodes: list[int]) -> Any:
    out = np.zeros(len(parent), dtype=bool)
    out[nodes] = True
    return out
