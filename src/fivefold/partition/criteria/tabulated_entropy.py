"""Entropy of whole weights: every x log2 x is looked up.

    W H = W log2 W - sum_k W_k log2 W_k

The logarithms are most of the time of a search for thresholds; counts are few, and so are their logarithms.
"""

from __future__ import annotations

from typing import Any, NamedTuple

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
    score_bin_cuts,
    score_cuts,
    split_gain,
    total_weight,
)
from fivefold.partition.criteria.classification_criteria import Entropy, start_left_counts
from fivefold.partition.criteria.threshold_statistics import split_statistics

MAX_TABLE_WEIGHT = 2**20  # weight of all rows: the table stays in the memory near the processor


class TabulatedEntropy(NamedTuple):
    """Bits to say the class of a row, where weights are whole numbers."""

    y: Indices  # (n,) int32 codes
    w: Array  # (n,) float64
    classes: int
    surprise: Any  # x log2 x of x = 0, 1, ..., the weight of all rows


def tabulate_entropy(criterion: Any) -> Any:
    """The criterion by counts, where it is an entropy of whole weights; otherwise as it is."""
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
):  # those that need no logarithm, or few
    stub.rule(TabulatedEntropy)(stub.rules[Entropy])


@impurity.rule(TabulatedEntropy)
def _(c, sums):
    total, said = 0.0, 0.0
    for k in range(c.classes):
        total += sums[k]
        said += c.surprise[np.int64(sums[k])]
    return (c.surprise[np.int64(total)] - said) / total


@score_cuts.rule(TabulatedEntropy)
def _(c, order, lo, mid, hi, missing_left, sums, left, right, gain, weight):
    start_left_counts(c, order, mid, hi if missing_left else mid, left)
    W, L, said, whole = np.int64(0), np.int64(0), 0.0, 0.0  # said: that of the classes on either side
    for k in range(c.classes):
        right[k] = sums[k] - left[k]
        W += np.int64(sums[k])
        L += np.int64(left[k])
        said += c.surprise[np.int64(left[k])] + c.surprise[np.int64(right[k])]
        whole += c.surprise[np.int64(sums[k])]
    whole = c.surprise[W] - whole
    for i in range(mid - lo):
        k, w = c.y[order[lo + i]], np.int64(c.w[order[lo + i]])
        a, b = np.int64(left[k]), np.int64(right[k])
        said += (c.surprise[a + w] - c.surprise[a]) - (c.surprise[b] - c.surprise[b - w])
        left[k] = a + w
        right[k] = b - w
        L += w
        weight[i] = L
        gain[i] = whole - c.surprise[L] - c.surprise[W - L] + said
