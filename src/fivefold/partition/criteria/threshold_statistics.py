"""Statistics of the two sides of a node that a threshold divides, without sorting its rows.

    split_statistics(c, rows, lo, hi, x, bar, order, sums, left, right)

x[i] is the value of row rows[lo + i]; rows with x <= bar go left. `sums` are the statistics of the node: where they
add, those on the right are `sums` minus those on the left. `order[lo:hi]` is scratch.
"""

from __future__ import annotations

import numpy as np

from fivefold.core.compilation.jit import generic, jit
from fivefold.core.types import Array, Doubles, Indices
from fivefold.partition.criteria.base import Criterion, accumulate, output_criterion
from fivefold.partition.criteria.classification_criteria import Entropy, Gini, Misclassification
from fivefold.partition.criteria.constant_impurity import ConstantImpurity
from fivefold.partition.criteria.expected_cost import ExpectedCost
from fivefold.partition.criteria.multi_output import MultiOutput
from fivefold.partition.criteria.order_statistics import AbsoluteError, MaxError
from fivefold.partition.criteria.regression_criteria import PoissonDeviance, SquaredError
from fivefold.partition.criteria.two_class_criteria import LOW_WORD_MASK, BinaryCountGini, BinaryGini


@generic
def split_statistics(
    c: Criterion,
    rows: Indices,
    lo: int,
    hi: int,
    x: Array,
    bar: float,
    order: Indices,
    sums: Doubles,
    left: Doubles,
    right: Doubles,
) -> None:
    """Fill `left` and `right` with the statistics of both sides."""


@jit
def _rest(sums, left, right):
    """The statistics on the right: those of the node minus those on the left."""
    for q in range(len(sums)):
        right[q] = sums[q] - left[q]


@split_statistics.rule(BinaryGini)
def _(c, rows, lo, hi, x, bar, order, sums, left, right):
    some, count, ones = rows[lo:hi], np.int64(0), np.int64(0)
    for i in range(len(some)):
        goes = np.int64(x[i] <= bar)
        count += goes
        ones += goes * c.y[some[i]]
    left[0], left[1] = count, ones
    _rest(sums, left, right)


@split_statistics.rule(BinaryCountGini)
def _(c, rows, lo, hi, x, bar, order, sums, left, right):
    some, both = rows[lo:hi], np.int64(0)
    for i in range(len(some)):
        packed = c.packed[some[i]]
        both += packed if x[i] <= bar else np.int64(0)
    left[0], left[1] = both & LOW_WORD_MASK, both >> 32
    _rest(sums, left, right)


@split_statistics.rule(Gini, Entropy, Misclassification)
def _(c, rows, lo, hi, x, bar, order, sums, left, right):
    for k in range(c.classes):
        left[k] = 0.0
    some = rows[lo:hi]
    for i in range(len(some)):
        w = c.w[some[i]]
        left[c.y[some[i]]] += w if x[i] <= bar else 0.0
    _rest(sums, left, right)


@split_statistics.rule(ExpectedCost)
def _(c, rows, lo, hi, x, bar, order, sums, left, right):
    for k in range(len(left)):
        left[k] = 0.0
    for i in range(hi - lo):
        if x[i] <= bar:
            w, y = c.w[rows[lo + i]], c.y[rows[lo + i]]
            left[0] += w
            for k in range(len(c.loss)):
                left[1 + k] += w * c.loss[k, y]
    _rest(sums, left, right)


@split_statistics.rule(SquaredError)
def _(c, rows, lo, hi, x, bar, order, sums, left, right):
    some, a, b, q = rows[lo:hi], 0.0, 0.0, 0.0
    for i in range(len(some)):
        y, w = c.y[some[i]], c.w[some[i]]
        w = w if x[i] <= bar else 0.0
        a += w
        b += w * y
        q += w * y * y
    left[0], left[1], left[2] = a, b, q
    _rest(sums, left, right)


@split_statistics.rule(ConstantImpurity)
def _(c, rows, lo, hi, x, bar, order, sums, left, right):
    some, total = rows[lo:hi], 0.0
    for i in range(len(some)):
        w = c.w[some[i]]
        total += w if x[i] <= bar else 0.0
    left[0] = total
    _rest(sums, left, right)


@split_statistics.rule(MultiOutput)
def _(c, rows, lo, hi, x, bar, order, sums, left, right):
    for j in range(len(c.start) - 1):
        a, b = c.start[j], c.start[j + 1]
        split_statistics(output_criterion(c.stacked, j), rows, lo, hi, x, bar, order, sums[a:b], left[a:b], right[a:b])


@split_statistics.rule(AbsoluteError, PoissonDeviance, MaxError)
def _(c, rows, lo, hi, x, bar, order, sums, left, right):
    start, end = lo, hi
    for i in range(hi - lo):
        if x[i] <= bar:
            order[start] = rows[lo + i]
            start += 1
        else:
            end -= 1
            order[end] = rows[lo + i]
    accumulate(c, order, lo, start, left)
    accumulate(c, order, start, hi, right)
