"""Gini for two classes, with counts that are whole numbers: one or two integers stand for all statistics of a row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fivefold.core.types import Indices
from fivefold.partition.criteria.base import (
    accumulate,
    add_to_bins,
    impurity,
    n_statistics,
    n_targets,
    row_target,
    row_weight,
    score_bin_cuts,
    score_cuts,
    split_gain,
    total_weight,
)

LOW_WORD_MASK = np.int64(2**32 - 1)  # of packed counts: the low word counts all rows, the high word those of class 1


class BinaryGini(NamedTuple):
    """Gini for two classes where all weights are one: counts are integers, and the loop is short."""

    y: Indices  # (n,) uint8


class BinaryCountGini(NamedTuple):
    """Gini for two classes and whole-number weights, such as those of rows drawn with replacement."""

    packed: Indices  # (n,) int64: weight, and 2**32 times the weight where the class is 1


@n_statistics.rule(BinaryGini, BinaryCountGini)
def _(c):
    return 2


@accumulate.rule(BinaryGini)
def _(c, order, lo, hi, sums):
    ones = 0
    for i in range(lo, hi):
        ones += c.y[order[i]]
    sums[0] = hi - lo
    sums[1] = ones


@impurity.rule(BinaryGini, BinaryCountGini)
def _(c, sums):
    p = sums[1] / sums[0]
    return 2.0 * p * (1.0 - p)


@total_weight.rule(BinaryGini, BinaryCountGini)
def _(c, sums):
    return sums[0]


@score_cuts.rule(BinaryGini)
def _(c, order, lo, mid, hi, missing_left, sums, left, right, gain, weight):
    rows, ones = 0, 0
    if missing_left:
        for i in range(mid, hi):
            ones += c.y[order[i]]
        rows = hi - mid
    count = ones
    for i in range(mid - lo):
        count += c.y[order[lo + i]]
        weight[i] = count
    N, A = sums[0], sums[1]
    for i in range(mid - lo):
        L = float(rows + i + 1)
        z = weight[i] * N - L * A
        gain[i] = 2.0 * z * z / (N * L * max(N - L, 1.0))
        weight[i] = L


@add_to_bins.rule(BinaryGini)
def _(c, bins, rows, lo, hi, table):
    packed = table.view(np.int64)
    for i in range(lo, hi):
        packed[bins[rows[i]], 0] += 1 + (np.int64(c.y[rows[i]]) << 32)


@score_bin_cuts.rule(BinaryGini, BinaryCountGini)
def _(c, table, bins, start, sums, left, gain, weight, place):
    packed, N, A, k = table.view(np.int64), sums[0], sums[1], 0
    both = packed[start, 0] if start >= 0 else np.int64(0)
    for b in range(bins):
        both += packed[b, 0]
        weight[k], gain[k], place[k] = both & LOW_WORD_MASK, both >> 32, b
        k += packed[b, 0] != 0
    for i in range(k):
        z = gain[i] * N - weight[i] * A
        gain[i] = 2.0 * z * z / (N * weight[i] * max(N - weight[i], 1.0))
    return k


@split_gain.rule(BinaryGini, BinaryCountGini)
def _(c, left, sums):
    z = left[1] * sums[0] - left[0] * sums[1]
    return 2.0 * z * z / (sums[0] * left[0] * (sums[0] - left[0]))


# Two classes, counted


@accumulate.rule(BinaryCountGini)
def _(c, order, lo, hi, sums):
    packed = np.int64(0)
    for i in range(lo, hi):
        packed += c.packed[order[i]]
    sums[0] = packed & LOW_WORD_MASK
    sums[1] = packed >> 32


@score_cuts.rule(BinaryCountGini)
def _(c, order, lo, mid, hi, missing_left, sums, left, right, gain, weight):
    packed = np.int64(0)
    if missing_left:
        for i in range(mid, hi):
            packed += c.packed[order[i]]
    N, A = sums[0], sums[1]
    for i in range(mid - lo):
        packed += c.packed[order[lo + i]]
        L = float(packed & LOW_WORD_MASK)
        z = float(packed >> 32) * N - L * A
        gain[i] = 2.0 * z * z / (N * L * max(N - L, 1.0))
        weight[i] = L


@add_to_bins.rule(BinaryCountGini)
def _(c, bins, rows, lo, hi, table):
    packed = table.view(np.int64)
    for i in range(lo, hi):
        packed[bins[rows[i]], 0] += c.packed[rows[i]]


# Targets of rows


@row_weight.rule(BinaryGini)
def _(c, row):
    return 1.0


@row_weight.rule(BinaryCountGini)
def _(c, row):
    return float(c.packed[row] & LOW_WORD_MASK)


@n_targets.rule(BinaryGini, BinaryCountGini)
def _(c):
    return 1


@row_target.rule(BinaryGini)
def _(c, row, j):
    return float(c.y[row])


@row_target.rule(BinaryCountGini)
def _(c, row, j):
    return 1.0 if c.packed[row] >> 32 > 0 else 0.0
