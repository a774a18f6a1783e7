"""Criteria for classes: Gini, entropy, misclassification, expected cost; statistics are class weights, or costs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.core.types import Array, Indices
from fivefold.partition.criteria.base import (
    accumulate,
    add_to_bins,
    impurity,
    n_statistics,
    n_targets,
    output_criterion,
    row_target,
    row_weight,
    score_additive_bins,
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


class Gini(NamedTuple):
    """1 - sum of squared shares."""

    y: Indices  # (n,) int32 codes
    w: Array  # (n,) float64
    classes: int


class Entropy(NamedTuple):
    """Bits to encode the class of a row."""

    y: Indices  # (n,) int32 codes
    w: Array  # (n,) float64
    classes: int


class Misclassification(NamedTuple):
    """Share of the rows that are not of the commonest class."""

    y: Indices  # (n,) int32 codes
    w: Array  # (n,) float64
    classes: int


class ExpectedCost(NamedTuple):
    """Mean cost of the cheapest answer."""

    y: Indices  # (n,) int32 codes
    w: Array  # (n,) float64
    loss: Array  # (K, K): loss[i, k] is the cost of answering class i where the true class is k


# Two classes


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


# Classes


@n_statistics.rule(Gini, Entropy, Misclassification)
def _(c):
    return c.classes


@accumulate.rule(Gini, Entropy, Misclassification)
def _(c, order, lo, hi, sums):
    for k in range(c.classes):
        sums[k] = 0.0
    for i in range(lo, hi):
        sums[c.y[order[i]]] += c.w[order[i]]


@total_weight.rule(Gini, Entropy, Misclassification)
def _(c, sums):
    total = 0.0
    for k in range(c.classes):
        total += sums[k]
    return total


@add_to_bins.rule(Gini, Entropy, Misclassification)
def _(c, bins, rows, lo, hi, table):
    for i in range(lo, hi):
        table[bins[rows[i]], c.y[rows[i]]] += c.w[rows[i]]


score_bin_cuts.rule(Gini, Entropy, Misclassification, ExpectedCost)(score_additive_bins)


@jit
def start_left_counts(c, order, mid, end, left):
    """Fill `left` with the weight of each class among rows order[mid:end]: what is on the left before the first cut."""
    for k in range(c.classes):
        left[k] = 0.0
    for i in range(mid, end):
        left[c.y[order[i]]] += c.w[order[i]]


@impurity.rule(Gini)
def _(c, sums):
    total, squares = 0.0, 0.0
    for k in range(c.classes):
        total += sums[k]
        squares += sums[k] * sums[k]
    return 1.0 - squares / (total * total)


@split_gain.rule(Gini)
def _(c, left, sums):
    W, L, a, b, whole = 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(c.classes):
        W += sums[k]
        L += left[k]
        a += left[k] * left[k]
        b += (sums[k] - left[k]) ** 2
        whole += sums[k] * sums[k]
    return a / L + b / (W - L) - whole / W


@score_cuts.rule(Gini)
def _(c, order, lo, mid, hi, missing_left, sums, left, right, gain, weight):
    start_left_counts(c, order, mid, hi if missing_left else mid, left)
    W, L, squares_left, squares_right = 0.0, 0.0, 0.0, 0.0
    for k in range(c.classes):
        right[k] = sums[k] - left[k]
        W += sums[k]
        L += left[k]
        squares_left += left[k] * left[k]
        squares_right += right[k] * right[k]
    whole = 0.0
    for k in range(c.classes):
        whole += sums[k] * sums[k] / W
    for i in range(mid - lo):
        k, w = c.y[order[lo + i]], c.w[order[lo + i]]
        squares_left += w * (2.0 * left[k] + w)
        squares_right -= w * (2.0 * right[k] - w)
        left[k] += w
        right[k] -= w
        L += w
        R = W - L
        weight[i] = L
        gain[i] = squares_left / L - whole + (squares_right / R if R > 0.0 else 0.0)


@impurity.rule(Entropy)
def _(c, sums):
    total, bits = 0.0, 0.0
    for k in range(c.classes):
        total += sums[k]
    for k in range(c.classes):
        if sums[k] > 0.0:
            bits -= sums[k] / total * np.log2(sums[k] / total)
    return bits


@split_gain.rule(Entropy)
def _(c, left, sums):
    W, L, bits = 0.0, 0.0, 0.0
    for k in range(c.classes):
        W += sums[k]
        L += left[k]
        r = sums[k] - left[k]
        bits -= sums[k] * np.log2(sums[k]) if sums[k] > 0.0 else 0.0
        bits += left[k] * np.log2(left[k]) if left[k] > 0.0 else 0.0
        bits += r * np.log2(r) if r > 0.0 else 0.0
    return W * np.log2(W) - L * np.log2(L) - (W - L) * np.log2(W - L) + bits


@score_cuts.rule(Entropy)
def _(c, order, lo, mid, hi, missing_left, sums, left, right, gain, weight):
    start_left_counts(c, order, mid, hi if missing_left else mid, left)
    W, L, x_log_x_left, x_log_x_right, whole = 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(c.classes):  # sums of x log2 x: weight times entropy is W log2 W minus their sum
        right[k] = sums[k] - left[k]
        W += sums[k]
        L += left[k]
        x_log_x_left += left[k] * np.log2(left[k]) if left[k] > 0.0 else 0.0
        x_log_x_right += right[k] * np.log2(right[k]) if right[k] > 0.0 else 0.0
        whole += sums[k] * np.log2(sums[k]) if sums[k] > 0.0 else 0.0
    whole = W * np.log2(W) - whole
    for i in range(mid - lo):
        k, w = c.y[order[lo + i]], c.w[order[lo + i]]
        x_log_x_left -= left[k] * np.log2(left[k]) if left[k] > 0.0 else 0.0
        x_log_x_right -= right[k] * np.log2(right[k]) if right[k] > 0.0 else 0.0
        left[k] += w
        right[k] -= w
        x_log_x_left += left[k] * np.log2(left[k])
        x_log_x_right += right[k] * np.log2(right[k]) if right[k] > 0.0 else 0.0
        L += w
        R = W - L
        weight[i] = L
        gain[i] = whole - (L * np.log2(L) - x_log_x_left) - ((R * np.log2(R) - x_log_x_right) if R > 0.0 else 0.0)


@impurity.rule(Misclassification)
def _(c, sums):
    total, most = 0.0, 0.0
    for k in range(c.classes):
        total += sums[k]
        most = max(most, sums[k])
    return 1.0 - most / total


@split_gain.rule(Misclassification)
def _(c, left, sums):
    a, b, most = 0.0, 0.0, 0.0
    for k in range(c.classes):
        a = max(a, left[k])
        b = max(b, sums[k] - left[k])
        most = max(most, sums[k])
    return a + b - most


@score_cuts.rule(Misclassification)
def _(c, order, lo, mid, hi, missing_left, sums, left, right, gain, weight):
    start_left_counts(c, order, mid, hi if missing_left else mid, left)
    L, most = 0.0, 0.0
    for k in range(c.classes):
        right[k] = sums[k] - left[k]
        L += left[k]
        most = max(most, sums[k])
    for i in range(mid - lo):
        k, w = c.y[order[lo + i]], c.w[order[lo + i]]
        left[k] += w
        right[k] -= w
        L += w
        weight[i] = L
        best_left, best_right = 0.0, 0.0
        for k in range(c.classes):
            best_left = max(best_left, left[k])
            best_right = max(best_right, right[k])
        gain[i] = best_left + best_right - most


# Expected cost


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


# Targets of rows


@row_weight.rule(BinaryGini)
def _(c, row):
    return 1.0


@row_weight.rule(BinaryCountGini)
def _(c, row):
    return float(c.packed[row] & LOW_WORD_MASK)


@row_weight.rule(Gini, Entropy, Misclassification, ExpectedCost)
def _(c, row):
    return c.w[row]


@n_targets.rule(BinaryGini, BinaryCountGini)
def _(c):
    return 1


@n_targets.rule(Gini, Entropy, Misclassification)
def _(c):
    return 1 if c.classes == 2 else c.classes


@n_targets.rule(ExpectedCost)
def _(c):
    return 1 if len(c.loss) == 2 else len(c.loss)


@row_target.rule(BinaryGini)
def _(c, row, j):
    return float(c.y[row])


@row_target.rule(BinaryCountGini)
def _(c, row, j):
    return 1.0 if c.packed[row] >> 32 > 0 else 0.0


@row_target.rule(Gini, Entropy, Misclassification)
def _(c, row, j):
    return 1.0 if c.y[row] == (1 if c.classes == 2 else j) else 0.0


@row_target.rule(ExpectedCost)
def _(c, row, j):
    return 1.0 if c.y[row] == (1 if len(c.loss) == 2 else j) else 0.0


@output_criterion.rule(Gini)
def _(c, j):
    return Gini(c.y[j], c.w, c.classes[j])


@output_criterion.rule(Entropy)
def _(c, j):
    return Entropy(c.y[j], c.w, c.classes[j])


@output_criterion.rule(Misclassification)
def _(c, j):
    return Misclassification(c.y[j], c.w, c.classes[j])
