"""What a split is worth: sums of the rows' statistics on either side, scored.

A criterion holds the targets and weights of the rows, and the rules that the grower calls in compiled loops:

    accumulate(c, order, lo, hi, sums)      statistics of the rows order[lo:hi], summed
    impurity(c, sums)                       impurity of a node a unit of weight
    scores(c, order, lo, mid, hi, missing_left, sums, left, right, gain, weight)
    tally(c, bins, rows, lo, hi, table)     statistics of the rows by bin, in the criterion's own form
    sweep(c, table, bins, start, sums, left, gain, weight, place)
    merit(c, left, sums)                    total fall of the impurity when `left` of `sums` goes left

    weigh(c, row), aims(c), aim(c, row, j)  weight of a row, and the targets whose means put categories in order
    output(c, j)                            the criterion of one output, where `c` holds those of several

`scores` fills, for i = 0, 1, ..., gain[i] with the total fall of the impurity, weight times impurity of the node less
that of its sides, when rows order[lo : lo + i + 1] go left and the others right, and weight[i] with the weight on the
left. Rows order[mid:hi] lack the value; they go right, or left where `missing_left` says so. `left` and `right` are
scratch of the size of `sums`. `sweep` does the same for the cuts behind each bin of a table that holds rows: place[i]
is the bin of cut i, and what bin `start` holds, if there is one, is on the left from the beginning.

    criterion       statistics                  impurity
    TwoClasses      rows, rows of class 1       Gini 1 - sum p^2, all weights one
    TwoCounts       the same                    the same, weights are whole numbers
    Gini            weight of each class        1 - sum p^2
    Entropy         weight of each class        -sum p log2 p
    CountedEntropy  the same                    the same, weights are whole numbers and logarithms looked up
    Mistakes        weight of each class        1 - max p
    Risk            weight, cost of each answer mean cost of the cheapest answer
    Squares         sums of w, w y, w y^2       variance
    Deviance        sums of w, w y, w y log y   half the mean Poisson deviance
    Absolute        w, deviation, median        mean absolute deviation from the median
    Extremes        w, least, largest           half the range: the worst error of the best constant
    Newton          rows, gradients, curvatures -G^2 / (H + ridge) / 2
    Several         those of each output        mean over the outputs

Absolute and Extremes do not add: they have no `tally`, `sweep` and `merit`, and suit sorted columns and drawn
thresholds.

Breiman, Friedman, Olshen & Stone (1984); Quinlan (1993); Friedman (2001).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fivefold.core.compilation.jit import generic
from fivefold.core.types import Array, Codes, Indices, Weights


@generic
def n_statistics(c: Any) -> int:
    """Number of statistics."""
    raise NotImplementedError


@generic
def accumulate(c: Any, order: Indices, lo: int, hi: int, sums: Array) -> None:
    """Add up the statistics of rows order[lo:hi]."""


@generic
def impurity(c: Any, sums: Array) -> float:
    """Impurity of a node, a unit of weight."""
    raise NotImplementedError


@generic
def total_weight(c: Any, sums: Array) -> float:
    """Weight of a node."""
    raise NotImplementedError


@generic
def score_cuts(
    c: Any,
    order: Indices,
    lo: int,
    mid: int,
    hi: int,
    missing_left: bool,
    sums: Array,
    left: Any,
    right: Any,
    gain: Any,
    weight: Weights,
) -> None:
    """Gains and weights on the left of every cut of a sorted column."""


@generic
def add_to_bins(c: Any, bins: Codes, rows: Indices, lo: int, hi: int, table: Any) -> None:
    """Add the statistics of each of rows[lo:hi] to the row of the table that its bin names."""


@generic
def split_gain(c: Any, left: Any, sums: Array) -> float:
    """Total fall of the impurity when `left` of the statistics goes left."""
    raise NotImplementedError


@generic
def score_bin_cuts(
    c: Any, table: Any, bins: int, start: int, sums: Array, left: Any, gain: Any, weight: Weights, place: Any
) -> int:
    """Gains, weights on the left and places of the cuts behind every bin with rows; their number."""
    raise NotImplementedError


@generic
def row_weight(c: Any, row: int) -> float:
    """Weight of a row."""
    raise NotImplementedError


@generic
def n_targets(c: Any) -> int:
    """How many targets there are whose means may put categories in order."""
    raise NotImplementedError


@generic
def row_target(c: Any, row: int, j: int) -> float:
    """Target j of a row: a number, or whether it is of a class; of two classes, the second."""
    raise NotImplementedError


@generic
def output_criterion(c: Any, j: int) -> Any:
    """The criterion of output j, from one that holds the targets of all."""
    raise NotImplementedError


def score_additive_bins(
    c: Any, table: Any, bins: int, start: int, sums: Array, left: Any, gain: Any, weight: Weights, place: Any
) -> int:
    """A `sweep` for any statistics that add."""
    whole, k = total_weight(c, sums), 0
    for q in range(len(left)):
        left[q] = table[start, q] if start >= 0 else 0.0
    for b in range(bins):
        if total_weight(c, table[b]) > 0.0:
            for q in range(len(left)):
                left[q] += table[b, q]
            weight[k], place[k] = total_weight(c, left), b
            gain[k] = split_gain(c, left, sums) if weight[k] < whole else -np.inf
            k += 1
    return k
