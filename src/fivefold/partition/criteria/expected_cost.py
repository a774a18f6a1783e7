"""Criterion of expected cost: statistics are what each answer would cost."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fivefold.core.types import Array, Indices
from fivefold.partition.criteria.base import (
    accumulate,
    add_to_bins,
    impurity,
    n_statistics,
    n_targets,
    row_target,
    row_weight,
    score_additive_bins,
    score_bin_cuts,
    score_cuts,
    split_gain,
    total_weight,
)


class ExpectedCost(NamedTuple):
    """Mean cost of the cheapest answer."""

    y: Indices  # (n,) int32 codes
    w: Array  # (n,) float64
    loss: Array  # (K, K): loss[i, k] is the cost of answering class i where the true class is k


@n_statistics.rule(ExpectedCost)
def _(c):
    return len(c.loss) + 1


@accumulate.rule(ExpectedCost)
def _(c, order, lo, hi, sums):
    for k in range(len(sums)):
        sums[k] = 0.0
    for i in range(lo, hi):
        w, y = c.w[order[i]], c.y[order[i]]
        sums[0] += w
        for k in range(len(c.loss)):
            sums[1 + k] += w * c.loss[k, y]


@total_weight.rule(ExpectedCost)
def _(c, sums):
    return sums[0]


@impurity.rule(ExpectedCost)
def _(c, sums):
    least = sums[1]
    for k in range(2, len(sums)):
        least = min(least, sums[k])
    return least / sums[0]


@add_to_bins.rule(ExpectedCost)
def _(c, bins, rows, lo, hi, table):
    for i in range(lo, hi):
        b, w, y = bins[rows[i]], c.w[rows[i]], c.y[rows[i]]
        table[b, 0] += w
        for k in range(len(c.loss)):
            table[b, 1 + k] += w * c.loss[k, y]


@split_gain.rule(ExpectedCost)
def _(c, left, sums):
    a, b, whole = left[1], sums[1] - left[1], sums[1]
    for k in range(2, len(sums)):
        a, b, whole = min(a, left[k]), min(b, sums[k] - left[k]), min(whole, sums[k])
    return whole - a - b


@score_cuts.rule(ExpectedCost)
def _(c, order, lo, mid, hi, missing_left, sums, left, right, gain, weight):
    K = len(c.loss)
    for k in range(K + 1):
        left[k] = 0.0
    whole = sums[1]
    for k in range(K):
        whole = min(whole, sums[1 + k])
    for i in range(lo - (hi - mid) if missing_left else lo, mid):  # rows with a missing value first
        row = order[i] if i >= lo else order[hi + i - lo]
        w, y = c.w[row], c.y[row]
        left[0] += w
        a, b = np.inf, np.inf
        for k in range(K):
            left[1 + k] += w * c.loss[k, y]
            a, b = min(a, left[1 + k]), min(b, sums[1 + k] - left[1 + k])
        if i >= lo:
            weight[i - lo], gain[i - lo] = left[0], whole - a - b


score_bin_cuts.rule(ExpectedCost)(score_additive_bins)


@row_weight.rule(ExpectedCost)
def _(c, row):
    return c.w[row]


@n_targets.rule(ExpectedCost)
def _(c):
    return 1 if len(c.loss) == 2 else len(c.loss)


@row_target.rule(ExpectedCost)
def _(c, row, j):
    return 1.0 if c.y[row] == (1 if len(c.loss) == 2 else j) else 0.0
