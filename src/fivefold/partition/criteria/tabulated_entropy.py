"""Entropy of whole-number weights: every x log2 x is looked up in a table.

    W H = W log2 W - sum_k W_k log2 W_k

Logarithms take most of the time of a search for thresholds; whole numbers up to the total weight need only a table.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fivefold.core.types import Array, Indices
from fivefold.partition.criteria.base import (
    Criterion,
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
from fivefold.partition.criteria.classification_criteria import Entropy, start_left_counts
from fivefold.partition.criteria.threshold_statistics import split_statistics

MAX_TABLE_WEIGHT = 2**20  # largest total weight of all rows: the table, 8 MB, stays in the cache


class TabulatedEntropy(NamedTuple):
    """Bits to encode the class of a row, where weights are whole numbers."""

    y: Indices  # (n,) int32 codes
    w: Array  # (n,) float64
    classes: int
    x_log_x: Array  # x log2 x for x = 0, 1, ..., the weight of all rows


def tabulate_entropy(criterion: Criterion) -> Criterion:
    """The criterion with tabulated logarithms, where it is an entropy of whole-number weights; otherwise unchanged."""
    if not isinstance(criterion, Entropy):
        return criterion
    total = criterion.w.sum()
    if total > MAX_TABLE_WEIGHT or (criterion.w != np.floor(criterion.w)).any():
        return criterion
    x = np.arange(total + 1)
    return TabulatedEntropy(*criterion, x * np.log2(np.maximum(x, 1.0)))


for stub in (
    n_statistics,
    accumulate,
    total_weight,
    add_to_bins,
    split_gain,
    score_bin_cuts,
    row_weight,
    n_targets,
    row_target,
    split_statistics,
):  # functions that need no logarithms, or few
    stub.rule(TabulatedEntropy)(stub.rules[Entropy])


@impurity.rule(TabulatedEntropy)
def _(c, sums):
    total, sum_x_log_x = 0.0, 0.0
    for k in range(c.classes):
        total += sums[k]
        sum_x_log_x += c.x_log_x[np.int64(sums[k])]
    return (c.x_log_x[np.int64(total)] - sum_x_log_x) / total


@score_cuts.rule(TabulatedEntropy)
def _(c, order, lo, mid, hi, missing_left, sums, left, right, gain, weight):
    start_left_counts(c, order, mid, hi if missing_left else mid, left)
    W, L, sum_x_log_x, whole = np.int64(0), np.int64(0), 0.0, 0.0  # sum_x_log_x: over the classes of both sides
    for k in range(c.classes):
        right[k] = sums[k] - left[k]
        W += np.int64(sums[k])
        L += np.int64(left[k])
        sum_x_log_x += c.x_log_x[np.int64(left[k])] + c.x_log_x[np.int64(right[k])]
        whole += c.x_log_x[np.int64(sums[k])]
    whole = c.x_log_x[W] - whole
    for i in range(mid - lo):
        k, w = c.y[order[lo + i]], np.int64(c.w[order[lo + i]])
        a, b = np.int64(left[k]), np.int64(right[k])
        sum_x_log_x += (c.x_log_x[a + w] - c.x_log_x[a]) - (c.x_log_x[b] - c.x_log_x[b - w])
        left[k] = a + w
        right[k] = b - w
        L += w
        weight[i] = L
        gain[i] = whole - c.x_log_x[L] - c.x_log_x[W - L] + sum_x_log_x
