"""Entropy of whole weights: every x log2 x is looked up.

    W H = W log2 W - sum_k W_k log2 W_k

The logarithms are most of the time of a search for thresholds; counts are few, and so are their logarithms.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fivefold.partition.class_criteria import Entropy, begin_left
from fivefold.partition.criteria import (
    accumulate,
    aim,
    aims,
    heft,
    impurity,
    merit,
    scores,
    sweep,
    tally,
    weigh,
    width,
)
from fivefold.partition.sides import sides

MOST = 2**20  # weight of all rows: the table stays in the memory near the processor


class CountedEntropy(NamedTuple):
    """Bits to say the class of a row, where weights are whole numbers."""

    y: Any  # (n,) int32 codes
    w: Any  # (n,) float64
    classes: int
    surprise: Any  # x log2 x of x = 0, 1, ..., the weight of all rows


def counted(criterion: Any) -> Any:
    """The criterion by counts, where it is an entropy of whole weights; otherwise as it is."""
    if not isinstance(criterion, Entropy):
        return criterion
    total = criterion.w.sum()
    if total > MOST or (criterion.w != np.floor(criterion.w)).any():
        return criterion
    x = np.arange(total + 1)
    return CountedEntropy(*criterion, x * np.log2(np.maximum(x, 1.0)))


for stub in (
    width,
    accumulate,
    heft,
    tally,
    merit,
    sweep,
    weigh,
    aims,
    aim,
    sides,
):  # those that need no logarithm, or few
    stub.rule(CountedEntropy)(stub.rules[Entropy])


@impurity.rule(CountedEntropy)
def _(c, sums):
    total, said = 0.0, 0.0
    for k in range(c.classes):
        total += sums[k]
        said += c.surprise[np.int64(sums[k])]
    return (c.surprise[np.int64(total)] - said) / total


@scores.rule(CountedEntropy)
def _(c, order, lo, mid, hi, missing_left, sums, left, right, gain, weight):
    begin_left(c, order, mid, hi if missing_left else mid, left)
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
