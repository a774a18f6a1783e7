"""Criteria for numbers that depend on the order of the targets: absolute error about the median, worst error.

AbsoluteError. The rows of a node are sorted by their target once; along a column, two sums over the sorted targets, of
the weights and of the weighted targets, are kept in binary indexed trees, so that adding a row costs the logarithm of
the node's size. With m the median,

    sum w |y - m| = sum_{y > m} w (y - m) + sum_{y <= m} w (m - y)

MaxError. The worst error of a constant is least halfway between the smallest and the largest target; a cut is judged by
the worse of its two sides.

Fenwick (1994).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.core.types import Array, Doubles, Indices, Target, Weights
from fivefold.partition.criteria.base import (
    accumulate,
    impurity,
    n_statistics,
    n_targets,
    output_criterion,
    row_target,
    row_weight,
    score_cuts,
    total_weight,
)
from fivefold.partition.criteria.regression_criteria import SquaredError
from fivefold.partition.sort_loops import heap_sort
from fivefold.partition.tree_arrays.binary_tree import GrownTree


class AbsoluteError(NamedTuple):
    """Mean absolute deviation from the median."""

    y: Array  # (n,) float64
    w: Array  # (n,) float64
    rank: Indices  # (n,) int32 scratch: rank of a row's target within its node
    rows_by_target: Indices  # (n,) int32 scratch: the rows of a node by target, at the node's range
    sorted_targets: Array  # (n,) scratch: their targets


class MaxError(NamedTuple):
    """Half the range of the target."""

    y: Array  # (n,) float64
    w: Array  # (n,) float64


def absolute_error(y: Target, w: Weights) -> AbsoluteError:
    """The criterion with its working memory, which no two trees may share."""
    return AbsoluteError(y, w, np.empty(y.shape, dtype=np.int32), np.empty(y.shape, dtype=np.int32), np.empty(y.shape))


for stub in (n_statistics, total_weight, row_weight, n_targets, row_target):  # as for the squared error
    stub.rule(AbsoluteError, MaxError)(stub.rules[SquaredError])


@output_criterion.rule(AbsoluteError)
def _(c, j):
    return AbsoluteError(c.y[j], c.w, c.rank[j], c.rows_by_target[j], c.sorted_targets[j])


@output_criterion.rule(MaxError)
def _(c, j):
    return MaxError(c.y[j], c.w)


@accumulate.rule(AbsoluteError)
def _(c, order, lo, hi, sums):
    W = 0.0
    for i in range(lo, hi):
        c.rows_by_target[i], c.sorted_targets[i] = order[i], c.y[order[i]]
        W += c.w[order[i]]
    heap_sort(c.sorted_targets, c.rows_by_target, lo, hi)
    median, cost = sorted_median(c.sorted_targets, c.rows_by_target, c.w, lo, hi, W), 0.0
    for i in range(lo, hi):
        c.rank[c.rows_by_target[i]] = i - lo
        cost += c.w[c.rows_by_target[i]] * abs(c.sorted_targets[i] - median)
    sums[0], sums[1], sums[2] = W, cost, median


@impurity.rule(AbsoluteError)
def _(c, sums):
    return sums[1] / sums[0]


@score_cuts.rule(AbsoluteError)
def _(c, order, lo, mid, hi, missing_left, sums, left, right, gain, weight):
    m = hi - lo
    top = 1
    while 2 * top <= m:
        top *= 2
    weights, products = np.zeros(m + 1), np.zeros(m + 1)
    W, S = 0.0, 0.0
    for i in range(lo - (hi - mid) if missing_left else lo, mid):  # rows with a missing value first
        row = order[i] if i >= lo else order[hi + i - lo]
        W += c.w[row]
        S += c.w[row] * c.y[row]
        fenwick_add(weights, products, c.rank[row], c.w[row], c.y[row], m)
        if i >= lo:
            weight[i - lo] = W
            gain[i - lo] = sums[1] - _deviation(weights, products, c.sorted_targets, lo, top, m, W, S)
    weights[:], products[:] = 0.0, 0.0
    W, S = 0.0, 0.0
    for i in range(mid if missing_left else hi, lo, -1):
        row = order[i - 1]
        if i <= mid:
            gain[i - 1 - lo] -= _deviation(weights, products, c.sorted_targets, lo, top, m, W, S) if W > 0.0 else 0.0
        W += c.w[row]
        S += c.w[row] * c.y[row]
        fenwick_add(weights, products, c.rank[row], c.w[row], c.y[row], m)


@jit
def sorted_median(targets, rows, w, lo, hi, W):
    """The weighted median of sorted targets[lo:hi] of these rows, of total weight W; halfway between two middles."""
    below, at = w[rows[lo]], lo
    while at < hi - 1 and below < W / 2.0:
        at += 1
        below += w[rows[at]]
    return (targets[at] + targets[at + 1]) / 2.0 if at < hi - 1 and below == W / 2.0 else targets[at]


@jit
def fenwick_add(weights, products, place, w, y, m):
    """Add a row of rank `place` to the binary indexed trees of the weights and of their products with targets."""
    i = np.int64(place) + 1
    while i <= m:
        weights[i] += w
        products[i] += w * y
        i += i & -i


@jit
def _deviation(weights, products, ascending, lo, top, m, W, S):
    """Sum of absolute deviations from the median, from the trees of the weights and of their products with targets."""
    at, a, s, step = 0, 0.0, 0.0, top
    while step > 0:
        if at + step <= m and a + weights[at + step] < W / 2.0:
            at += step
            a += weights[at]
            s += products[at]
        step //= 2
    median = ascending[lo + min(at, m - 1)]  # the first target with half of the weight at or below it
    return (S - 2.0 * s) - median * (W - 2.0 * a)


@jit
def fenwick_median(weights, ascending, lo, m, W):
    """The median from the tree of the weights, whose sum is W; halfway between two middle targets."""
    top = 1
    while 2 * top <= m:
        top *= 2
    low, high, a, b = 0, 0, 0.0, 0.0
    while top > 0:
        if low + top <= m and a + weights[low + top] < W / 2.0:
            low += top
            a += weights[low]
        if high + top <= m and b + weights[high + top] <= W / 2.0:
            high += top
            b += weights[high]
        top //= 2
    return (ascending[lo + min(low, m - 1)] + ascending[lo + min(high, m - 1)]) / 2.0


@accumulate.rule(MaxError)
def _(c, order, lo, hi, sums):
    W, low, high = 0.0, np.inf, -np.inf
    for i in range(lo, hi):
        W += c.w[order[i]]
        low, high = min(low, c.y[order[i]]), max(high, c.y[order[i]])
    sums[0], sums[1], sums[2] = W, low, high


@impurity.rule(MaxError)
def _(c, sums):
    return (sums[2] - sums[1]) / 2.0


@score_cuts.rule(MaxError)
def _(c, order, lo, mid, hi, missing_left, sums, left, right, gain, weight):
    W, low, high = 0.0, np.inf, -np.inf
    for i in range(lo - (hi - mid) if missing_left else lo, mid):
        row = order[i] if i >= lo else order[hi + i - lo]
        W += c.w[row]
        low, high = min(low, c.y[row]), max(high, c.y[row])
        if i >= lo:
            weight[i - lo], gain[i - lo] = W, high - low
    low, high = np.inf, -np.inf
    for i in range(mid if missing_left else hi, lo, -1):
        if i <= mid:
            range_right = high - low if high >= low else 0.0
            gain[i - 1 - lo] = 0.5 * sums[0] * (sums[2] - sums[1] - max(gain[i - 1 - lo], range_right))
        low, high = min(low, c.y[order[i - 1]]), max(high, c.y[order[i - 1]])


def medians(grown: GrownTree, y: Target, w: Weights) -> tuple[Doubles, Doubles]:
    """Weighted median and mean absolute deviation of the targets of every node; halfway between two middle targets."""
    tree, rows = grown.tree, np.argsort(grown.leaf, kind="stable")
    rows = rows[grown.leaf[rows] >= 0].astype(np.int32)
    leaves = np.where(tree.feature < 0, tree.rows, 0)
    start = np.cumsum(leaves) - leaves  # rows are grouped by leaf
    middle, deviation = np.empty(len(tree)), np.empty(len(tree))
    _medians(rows, y[rows], start, start + tree.rows, y, w, np.empty(len(y), dtype=np.int32), middle, deviation)
    return middle, deviation


@jit(error_model="numpy")
def _medians(rows, keys, start, end, y, w, items, middle, deviation):
    for t in range(len(start)):
        lo, hi, W = start[t], end[t], 0.0
        for i in range(lo, hi):
            keys[i], items[i] = y[rows[i]], rows[i]
            W += w[rows[i]]
        heap_sort(keys, items, lo, hi)
        middle[t], cost = sorted_median(keys, items, w, lo, hi, W), 0.0
        for i in range(lo, hi):
            cost += w[items[i]] * abs(keys[i] - middle[t])
        deviation[t] = cost / W


def midranges(grown: GrownTree, y: Target) -> tuple[Doubles, Doubles]:
    """Middle and half-width of the range of the targets of every node."""
    tree, seen = grown.tree, grown.leaf >= 0
    low, high = np.full(len(tree), np.inf), np.full(len(tree), -np.inf)
    at = tree.leaves[grown.leaf[seen]]
    np.minimum.at(low, at, y[seen])
    np.maximum.at(high, at, y[seen])
    inner = np.flatnonzero(tree.feature >= 0)
    for t in inner[np.argsort(-tree.depth[inner], kind="stable")]:
        low[t] = min(low[tree.left[t]], low[tree.right[t]])
        high[t] = max(high[tree.left[t]], high[tree.right[t]])
    return (low + high) / 2, (high - low) / 2
