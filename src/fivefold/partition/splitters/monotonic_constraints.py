"""Monotonic constraints: cuts that would break the order are ruled out, and bounds pass down the tree.

Where the answer must rise with a column, the answer on the left of a cut may not exceed that on the right, and both
stay within the bounds of the node; the midpoint of the two bounds everything below. The answer of a node is the
mean of its targets or, under the absolute error, their median.
"""

from __future__ import annotations

import numpy as np

from fivefold.core.compilation.jit import generic, jit
from fivefold.core.types import Doubles, Indices
from fivefold.partition.criteria.base import Criterion, row_target, row_weight, total_weight
from fivefold.partition.criteria.classification_criteria import Entropy, Gini, Misclassification
from fivefold.partition.criteria.constant_impurity import ConstantImpurity
from fivefold.partition.criteria.expected_cost import ExpectedCost
from fivefold.partition.criteria.multi_output import MultiOutput
from fivefold.partition.criteria.order_statistics import AbsoluteError, MaxError, fenwick_add, fenwick_median
from fivefold.partition.criteria.regression_criteria import PoissonDeviance, SquaredError
from fivefold.partition.criteria.tabulated_entropy import TabulatedEntropy
from fivefold.partition.criteria.two_class_criteria import BinaryCountGini, BinaryGini
from fivefold.partition.splitters.base import ColumnConstraints

CLASS_CRITERIA = BinaryGini, BinaryCountGini, Gini, Entropy, TabulatedEntropy, Misclassification, ExpectedCost
MEAN_CRITERIA = (*CLASS_CRITERIA, SquaredError, PoissonDeviance, MaxError, ConstantImpurity, MultiOutput)


@generic
def forbid_cuts(
    c: Criterion,
    constraints: ColumnConstraints,
    f: int,
    order: Indices,
    lo: int,
    mid: int,
    hi: int,
    side: int,
    total: float,
    gain: Doubles,
    weight: Doubles,
) -> None:
    """Rule out cuts whose sides would break the constraint; rows order[mid:hi] go left where side is 1."""


@generic
def side_answers(c: Criterion, order: Indices, flag: Indices, lo: int, hi: int) -> tuple[float, float]:
    """The answer of the rows order[lo:hi] that are flagged to go left, and that of the others."""
    raise NotImplementedError


@generic
def node_answer(c: Criterion, sums: Doubles) -> float:
    """The answer of the rows with these statistics."""
    raise NotImplementedError


@jit
def pass_bounds(constraints, f, lo, middle, left, right):
    """Bounds of the two sides of a cut, whose answers are `left` and `right`."""
    constraints.low[middle], constraints.high[middle] = constraints.low[lo], constraints.high[lo]
    between = (left + right) / 2.0
    if constraints.sign[f] > 0:
        constraints.high[lo] = constraints.low[middle] = between
    elif constraints.sign[f] < 0:
        constraints.low[lo] = constraints.high[middle] = between


@jit
def within_bounds(constraints, f, lo, left, right):
    """Do these answers of the two sides keep to the constraint and to the bounds of the node that begins at lo?"""
    low, high = constraints.low[lo], constraints.high[lo]
    return constraints.sign[f] * (left - right) <= 0.0 and low <= left <= high and low <= right <= high


@forbid_cuts.rule(*MEAN_CRITERIA)
def _(c, constraints, f, order, lo, mid, hi, side, total, gain, weight):
    T, S = 0.0, 0.0
    for i in range(lo, hi):
        part = row_weight(c, order[i]) * row_target(c, order[i], 0)
        S += part
        if i >= mid and side == 1:
            T += part
    for i in range(mid - lo):
        T += row_weight(c, order[lo + i]) * row_target(c, order[lo + i], 0)
        L = weight[i]
        if L >= total or not within_bounds(constraints, f, lo, T / L, (S - T) / (total - L)):
            gain[i] = -np.inf


@forbid_cuts.rule(AbsoluteError)
def _(c, constraints, f, order, lo, mid, hi, side, total, gain, weight):
    m, W, first = hi - lo, 0.0, lo - (hi - mid) if side == 1 else lo
    weights, products, left = np.zeros(m + 1), np.zeros(m + 1), np.empty(mid - lo)
    for i in range(first, mid):
        row = order[i] if i >= lo else order[hi + i - lo]
        W += c.w[row]
        fenwick_add(weights, products, c.rank[row], c.w[row], c.y[row], m)
        if i >= lo:
            left[i - lo] = fenwick_median(weights, c.sorted_targets, lo, m, W)
    weights[:], W = 0.0, 0.0
    for i in range(mid if side == 1 else hi, lo, -1):
        if i <= mid and not (
            W > 0.0
            and within_bounds(constraints, f, lo, left[i - 1 - lo], fenwick_median(weights, c.sorted_targets, lo, m, W))
        ):
            gain[i - 1 - lo] = -np.inf
        W += c.w[order[i - 1]]
        fenwick_add(weights, products, c.rank[order[i - 1]], c.w[order[i - 1]], 0.0, m)


@side_answers.rule(*MEAN_CRITERIA)
def _(c, order, flag, lo, hi):
    a, s, b, t = 0.0, 0.0, 0.0, 0.0
    for i in range(lo, hi):
        w = row_weight(c, order[i])
        part, goes = w * row_target(c, order[i], 0), flag[order[i]]
        a += w * goes
        s += part * goes
        b += w * (1 - goes)
        t += part * (1 - goes)
    return s / a, t / b


@side_answers.rule(AbsoluteError)
def _(c, order, flag, lo, hi):
    return _flagged_median(c, flag, 1, lo, hi), _flagged_median(c, flag, 0, lo, hi)


@jit
def _flagged_median(c, flag, side, lo, hi):
    """Median of the rows of a side; c.rows_by_target[lo:hi] are those of the node in the order of their targets."""
    W, below, found, low = 0.0, 0.0, False, 0.0
    for i in range(lo, hi):
        W += c.w[c.rows_by_target[i]] * (flag[c.rows_by_target[i]] == side)
    for i in range(lo, hi):
        if flag[c.rows_by_target[i]] == side:
            below += c.w[c.rows_by_target[i]]
            if not found and below >= W / 2.0:
                low, found = c.sorted_targets[i], True
            if below > W / 2.0:
                return (low + c.sorted_targets[i]) / 2.0
    return low


@node_answer.rule(*MEAN_CRITERIA)
def _(c, sums):
    return sums[1] / total_weight(c, sums)


@node_answer.rule(AbsoluteError)
def _(c, sums):
    return sums[2]
