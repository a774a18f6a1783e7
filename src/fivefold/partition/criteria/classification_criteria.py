"""Criteria for classes: Gini, entropy and misclassification; statistics are weights of classes."""

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


score_bin_cuts.rule(Gini, Entropy, Misclassification)(score_additive_bins)


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


# Targets of rows


@row_weight.rule(Gini, Entropy, Misclassification)
def _(c, row):
    return c.w[row]


@n_targets.rule(Gini, Entropy, Misclassification)
def _(c):
    return 1 if c.classes == 2 else c.classes


@row_target.rule(Gini, Entropy, Misclassification)
def _(c, row, j):
    return 1.0 if c.y[row] == (1 if c.classes == 2 else j) else 0.0


@output_criterion.rule(Gini)
def _(c, j):
    return Gini(c.y[j], c.w, c.classes[j])


@output_criterion.rule(Entropy)
def _(c, j):
    return Entropy(c.y[j], c.w, c.classes[j])


@output_criterion.rule(Misclassification)
def _(c, j):
    return Misclassification(c.y[j], c.w, c.classes[j])
