"""Pruning methods: which inner nodes of a grown tree become leaves, for any tree whose parents stand before children.

A method sees the parent of each node and the cost of each node as a leaf; it returns a mask of the new leaves, for
`tree.prune`. Two searches serve them all:

    bottom_up                the cheapest of all pruned trees, where the costs of leaves and of branchings add up
    greedy_collapse          the one collapse that lowers the total most, again and again

    method                   search            cost of a leaf                           of a branching
    reduced_error_pruning    bottom_up         mistakes on a pruning set                0
    best_removal_pruning     greedy_collapse   mistakes on a pruning set                0
    pessimistic_pruning      bottom_up         upper confidence limit of the mistakes   0
    cheapest_merge_pruning   greedy_collapse   weight x impurity + price                0
    mdl_pruning              bottom_up         bits of the classes and their shares + 1 1 + bits of the question
    occam_pruning            bottom_up         mistakes + price x (1 + bits of label)   price x (1 + bits of question)

`chi_square_pruning` keeps branchings that depend on the class. Cost-complexity and error-based pruning have modules of
their own.

Breiman et al. (1984); Quinlan (1987, 1993); Mingers (1989); Mehta, Rissanen & Agrawal (1995).
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from scipy.special import gammaln, ndtri
from scipy.stats import chi2

from fivefold.core.types import Indices, Mask, Matrix, Table, Vector
from fivefold.partition.tree_arrays.binary_tree import Tree
from fivefold.partition.tree_arrays.multiway_tree import MultiwayArrays
from fivefold.partition.tree_arrays.node_hierarchy import sum_to_root

COST_TOLERANCE = 1e-9  # costs that differ by less are equal: they are sums of many numbers
LEAF_SLACK = 0.1  # mistakes by which C4.5 lets a leaf be worse than the branches it replaces


# Searches


def bottom_up(parent: Indices, leaf: Vector, branching: Vector | float = 0.0, slack: float = COST_TOLERANCE) -> Mask:
    """The new leaves of the cheapest pruned tree; a node becomes a leaf also where the costs are equal."""
    m = len(parent)
    below, inner = np.zeros(m) + branching, _inner_nodes(parent)
    out = np.zeros(m, dtype=bool)
    for t in range(m - 1, -1, -1):
        if not inner[t] or leaf[t] <= below[t] + slack:
            below[t], out[t] = leaf[t], inner[t]
        if t:
            below[parent[t]] += below[t]
    return out


def greedy_collapse(parent: Indices, leaf: Vector, *, ties: bool) -> list[int]:
    """Nodes in the order in which they are collapsed, while the total of the leaves falls or, with `ties`, stays."""
    inner = _inner_nodes(parent)
    below, children = sum_to_root(parent, np.where(inner, 0.0, leaf)), _children(parent)
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


# Costs


def total_impurity(parent: Indices, leaf: Vector, price: float) -> float:
    """Weight times impurity of the leaves, and a price for each: sum_leaves W I + price x leaves."""
    leaves = ~_inner_nodes(parent)
    return float(leaf[leaves].sum() + price * leaves.sum())


def cheapest_merge_pruning(parent: Indices, leaf: Vector, price: float) -> Mask:
    """New leaves: the collapse that lowers the total impurity most, while any does; `leaf` is weight times impurity."""
    return _mask(parent, greedy_collapse(parent, leaf + price, ties=False))


def best_removal_pruning(parent: Indices, mistakes: Vector) -> Mask:
    """New leaves: the collapse that helps most on a pruning set, while one does no harm; `mistakes` are those there."""
    return _mask(parent, greedy_collapse(parent, mistakes, ties=True))


def reduced_error_pruning(parent: Indices, mistakes: Vector) -> Mask:
    """New leaves, from the bottom up: where a leaf is not worse on a pruning set than what is below it."""
    return bottom_up(parent, mistakes)


def pessimistic_pruning(parent: Indices, counts: Matrix, confidence: float = 0.25) -> Mask:
    """New leaves where the upper confidence limit of the mistakes of a leaf is not above those of the leaves below."""
    return bottom_up(parent, upper_mistakes(counts, confidence), slack=LEAF_SLACK)


def mdl_pruning(parent: Indices, counts: Matrix, question: Vector | float) -> Mask:
    """New leaves of the tree of the fewest bits: of the classes at its leaves, and `question` bits per branching."""
    return bottom_up(parent, class_bits(counts) + 1.0, 1.0 + question)


def occam_pruning(
    parent: Indices, mistakes: Vector, question: Vector | float, price: float, label: float = 1.0
) -> Mask:
    """New leaves of the tree of least mistakes + price x bits: 1 + question per branching, 1 + label per leaf.

    A branching with two leaves is replaced where that costs at most price x (2 + label + question) mistakes.
    """
    return bottom_up(parent, mistakes + price * (1.0 + label), price * (1.0 + np.asarray(question)))


def chi_square_pruning(parent: Indices, counts: Matrix, level: float = 0.05) -> Mask:
    """New leaves where neither a branching nor any below it depends on the class at this level of significance."""
    inner, kept = _inner_nodes(parent), np.zeros(len(parent), dtype=bool)
    for t in range(len(parent) - 1, -1, -1):
        if inner[t]:
            kept[t] |= independence_p_value(counts[parent == t]) <= level
            if t and kept[t]:
                kept[parent[t]] = True
    return inner & ~kept


def independence_p_value(table: Matrix) -> float:
    """p-value of the chi-square test that the rows of a table of counts have the same shares."""
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    if min(table.shape) < 2:
        return 1.0
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    freedom = (table.shape[0] - 1) * (table.shape[1] - 1)
    return float(chi2.sf(((table - expected) ** 2 / expected).sum(), freedom))


def upper_mistakes(counts: Matrix, confidence: float) -> Vector:
    """Upper confidence limit of the mistakes that the majority class makes in each node; counts (m, K).

    Where none of N rows is wrong: N times the error rate at which that still happens with probability `confidence`.
    From one mistake on: the normal limit with continuity correction. In between: a straight line.
    """
    N = counts.sum(axis=1)
    e = N - counts.max(axis=1)
    return e + extra_mistakes(N, e, confidence)


def extra_mistakes(N: Vector | float, e: Vector | float, confidence: float) -> Vector:
    """What the upper confidence limit adds to e mistakes among N rows."""
    N, e = np.asarray(N, dtype=np.float64), np.maximum(np.asarray(e, dtype=np.float64), 0.0)
    N = np.maximum(N, 1e-12)
    none = N * -np.expm1(np.log(confidence) / N)
    one = _normal_limit(N, np.ones_like(N), confidence)
    return np.where(e < 1.0, none + e * (one - none), _normal_limit(N, e, confidence))


def class_bits(counts: Matrix) -> Vector:
    """Bits to encode the classes of all rows of a node with the best shares, and the shares (stochastic complexity)."""
    N, K = counts.sum(axis=1), counts.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        classes = np.where(counts > 0, counts * np.log2(N[:, None] / counts), 0.0).sum(axis=1)
        shares = (K - 1) / 2 * np.log2(np.maximum(N, 1.0) / 2) + (K / 2 * np.log(np.pi) - gammaln(K / 2)) / np.log(2)
    return classes + np.maximum(shares, 0.0)


def _normal_limit(N: Vector, e: Vector, confidence: float) -> Vector:
    z = ndtri(1 - confidence)
    f = np.minimum((e + 0.5) / N, 1.0)
    rate = (f + z * z / (2 * N) + z * np.sqrt(np.maximum(f / N - f * f / N + z * z / (4 * N * N), 0.0))) / (
        1 + z * z / N
    )
    return np.where(e + 0.5 >= N, np.maximum(N - e, 0.0), rate * N - e)


# Pruning sets


@singledispatch
def node_totals(tree: Any, X: Table, values: Matrix, missing: str = "fractions") -> tuple[Matrix, Matrix]:
    """Sums of `values` (n, q) over the rows that pass through each node, and over those that end there: (m, q)."""
    raise TypeError(f"{type(tree).__name__} is not a tree that can be pruned")


@node_totals.register
def _(tree: Tree, X: Table, values: Matrix, missing: str = "fractions") -> tuple[Matrix, Matrix]:
    return sum_along_paths(tree.parent, tree.apply(X), np.arange(len(X)), np.ones(len(X)), values)


@node_totals.register
def _(tree: MultiwayArrays, X: Table, values: Matrix, missing: str = "fractions") -> tuple[Matrix, Matrix]:
    rows, nodes, part = tree.paths(tree.encode(X), missing)
    return sum_along_paths(tree.parent, nodes, rows, part, values)


def sum_along_paths(
    parent: Indices, nodes: Indices, rows: Indices, part: Vector, values: Matrix
) -> tuple[Matrix, Matrix]:
    """The same from the nodes where rows end, each with a part of the row."""
    each = [np.bincount(nodes, part * column[rows], len(parent)) for column in values.T]
    ends = np.stack(each, axis=1).astype(np.float64)
    return sum_to_root(parent, ends), ends


# Helpers


def _inner_nodes(parent: Indices) -> Mask:
    out = np.zeros(len(parent), dtype=bool)
    out[parent[1:]] = True
    return out


def _children(parent: Indices) -> list[list[int]]:
    out: list[list[int]] = [[] for _ in parent]
    for t in range(1, len(parent)):
        out[parent[t]].append(t)
    return out


def _collapse(children: list[list[int]], inner: Mask, t: int) -> None:
    """Mark a node and all nodes below it as no longer inner nodes."""
    stack = [t]
    while stack:
        s = stack.pop()
        inner[s] = False
        stack += [c for c in children[s] if inner[c]]


def _add(below: Vector, parent: Indices, t: int, change: float) -> None:
    """Add a change to a node and to all nodes above it."""
    while t >= 0:
        below[t] += change
        t = parent[t]


def _mask(parent: Indices, nodes: list[int]) -> Mask:
    out = np.zeros(len(parent), dtype=bool)
    out[nodes] = True
    return out
