"""What a split is worth: the statistics of the rows on either side, summed and scored.

A criterion holds the targets and weights of the rows, and implements these functions, which compiled loops call:

    n_statistics(c)                             number of statistics of a node
    accumulate(c, order, lo, hi, sums)          statistics of the rows order[lo:hi], summed
    impurity(c, sums), total_weight(c, sums)    impurity of a node per unit of weight, and its weight
    score_cuts(c, order, lo, mid, hi, missing_left, sums, left, right, gain, weight)
    add_to_bins(c, bins, rows, lo, hi, table)   statistics of the rows by bin, in the criterion's own form
    score_bin_cuts(c, table, bins, start, sums, left, gain, weight, place)
    split_gain(c, left, sums)                   total fall of the impurity when `left` of `sums` goes left

    row_weight(c, row)                          weight of a row
    n_targets(c), row_target(c, row, j)         the targets whose means put categories in order
    output_criterion(c, j)                      the criterion of output j, where `c` holds the targets of several

`score_cuts` fills, for i = 0, 1, ..., gain[i] with the total fall of the impurity (weight times impurity of the node
minus that of its sides) when rows order[lo : lo + i + 1] go left and the others right, and weight[i] with the weight on
the left. Rows order[mid:hi] have a missing value; they go left where `missing_left` is true, else right. `left` and
`right` are scratch of the size of `sums`. `score_bin_cuts` does the same for the cuts after each bin of a table that
holds rows: place[i] is the bin of cut i, and the rows of bin `start`, unless it is -1, are on the left from the start.

    criterion           statistics                    impurity
    BinaryGini          rows, rows of class 1         Gini 1 - sum p^2, all weights one
    BinaryCountGini     the same                      the same, weights are whole numbers
    Gini                weight of each class          1 - sum p^2
    Entropy             weight of each class          -sum p log2 p
    TabulatedEntropy    the same                      the same, weights are whole numbers and logarithms tabulated
    Misclassification   weight of each class          1 - max p
    ExpectedCost        weight, cost of each answer   mean cost of the cheapest answer
    SquaredError        sums of w, w y, w y^2         variance
    PoissonDeviance     sums of w, w y, w y log y     half the mean Poisson deviance
    AbsoluteError       w, deviation, median          mean absolute deviation from the median
    MaxError            w, smallest, largest target   half the range: the worst error of the best constant
    NewtonGain          rows, gradients, curvatures   -G^2 / (H + ridge) / 2
    ConstantImpurity    weight                        1
    MultiOutput         those of each output          mean over the outputs

The statistics of AbsoluteError and MaxError do not add: they have no `add_to_bins`, `score_bin_cuts` and `split_gain`,
and can be used with sorted columns and with random thresholds only.

Breiman, Friedman, Olshen & Stone (1984); Quinlan (1993); Friedman (2001).
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from fivefold.core.compilation.jit import generic
from fivefold.core.types import Codes, Doubles, Indices

Criterion: TypeAlias = Any  # one of the named tuples in the table above: compiled code chooses functions by their type


@generic
def n_statistics(c: Criterion) -> int:
    """Number of statistics."""
    raise NotImplementedError  # never runs: `generic` calls the rule for the type of c


@generic
def accumulate(c: Criterion, order: Indices, lo: int, hi: int, sums: Doubles) -> None:
    """Add up the statistics of rows order[lo:hi]."""


@generic
def impurity(c: Criterion, sums: Doubles) -> float:
    """Impurity of a node per unit of weight."""
    raise NotImplementedError  # never runs: `generic` calls the rule for the type of c


@generic
def total_weight(c: Criterion, sums: Doubles) -> float:
    """Weight of a node."""
    raise NotImplementedError  # never runs: `generic` calls the rule for the type of c


@generic
def score_cuts(
    c: Criterion,
    order: Indices,
    lo: int,
    mid: int,
    hi: int,
    missing_left: bool,
    sums: Doubles,
    left: Doubles,
    right: Doubles,
    gain: Doubles,
    weight: Doubles,
) -> None:
    """Fill the gain of every cut of a sorted column, and the weight on its left."""


@generic
def add_to_bins(c: Criterion, bins: Codes, rows: Indices, lo: int, hi: int, table: Doubles) -> None:
    """Add the statistics of each of rows[lo:hi] to the row of the table that belongs to its bin."""


@generic
def split_gain(c: Criterion, left: Doubles, sums: Doubles) -> float:
    """Total fall of the impurity when `left` of the statistics `sums` goes left."""
    raise NotImplementedError  # never runs: `generic` calls the rule for the type of c


@generic
def score_bin_cuts(
    c: Criterion,
    table: Doubles,
    bins: int,
    start: int,
    sums: Doubles,
    left: Doubles,
    gain: Doubles,
    weight: Doubles,
    place: Indices,
) -> int:
    """Fill gain, weight on the left and place of the cut after every bin with rows; return their number."""
    raise NotImplementedError  # never runs: `generic` calls the rule for the type of c


@generic
def row_weight(c: Criterion, row: int) -> float:
    """Weight of a row."""
    raise NotImplementedError  # never runs: `generic` calls the rule for the type of c


@generic
def n_targets(c: Criterion) -> int:
    """Number of targets whose means may put categories in order."""
    raise NotImplementedError  # never runs: `generic` calls the rule for the type of c


@generic
def row_target(c: Criterion, row: int, j: int) -> float:
    """Target j of a row: a number, or whether it is of class j; with two classes, of the second one."""
    raise NotImplementedError  # never runs: `generic` calls the rule for the type of c


@generic
def output_criterion(c: Criterion, j: int) -> Criterion:
    """The criterion of output j, from one that holds the targets of all outputs."""
    raise NotImplementedError  # never runs: `generic` calls the rule for the type of c


def score_additive_bins(
    c: Criterion,
    table: Doubles,
    bins: int,
    start: int,
    sums: Doubles,
    left: Doubles,
    gain: Doubles,
    weight: Doubles,
    place: Indices,
) -> int:
    """`score_bin_cuts` for any statistics that add."""
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
