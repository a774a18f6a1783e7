"""Splits at thresholds drawn at random: one a column, the best of the columns tried.

The threshold is uniform between the least and the largest value in the node; of a column of categories each level gets
a random number, so a cut is a random set of levels. The seed, the node and the column decide the draw, not the rows.
Missing values go to the side that gains more.

Geurts, Ernst & Wehenkel (2006).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fivefold.core.compile import jit
from fivefold.partition.criteria import accumulate, heft, impurity
from fivefold.partition.qualified import pass_bounds, within
from fivefold.partition.splitter import GOLDEN, INLINE, INNER, Manner, cut, divide, listed, lists, mark, mixed


class Drawn(NamedTuple):
    """The rows of one tree, the values of all, and the thresholds drawn."""

    rows: Any  # (m,) int32
    values: Any  # (n, d)
    threshold: Any  # (m,) float64: of a cut, where its right side begins
    order: Any  # (m,) int32 scratch: rows as a cut would have them
    manner: Manner


@listed.rule(Drawn)
def _(splitter):
    return splitter.rows


@lists.rule(Drawn)
def _(splitter):
    return 0


@divide.rule(Drawn)
def _(splitter, j, lo, hi, work):
    return


@cut.rule(Drawn)
def _(splitter, criterion, f, lo, hi, rules, total, work):
    return _drawn_cut(splitter, criterion, f, lo, hi, rules, total, work)


@mark.rule(Drawn)
def _(splitter, criterion, f, lo, hi, work, node):
    return _separate(splitter, f, lo, hi, work)


@jit(**INLINE)
def _uniform(state):
    return np.float64(mixed(state) >> np.uint64(11)) * 2.0**-53


@jit(**INLINE)
def _state(rules, f, key):
    return mixed(
        np.uint64(rules.seed) * GOLDEN + np.uint64(np.int64(key)) * np.uint64(0xD1B54A32D192ED03) + np.uint64(f)
    )


@jit(**INNER)
def _fill(splitter, f, lo, hi, draw, out):
    """Values of the rows of a node; of a category the random number that the draw (a fraction) and its level decide."""
    rows, values = splitter.rows, splitter.values
    for i in range(hi - lo):
        out[i] = values[rows[lo + i], f]
    if splitter.manner.levels[f] > 0:
        for i in range(hi - lo):
            if out[i] == out[i]:
                level = np.uint64(np.int64(out[i])) + np.uint64(1)
                out[i] = _uniform(np.uint64(np.int64(draw * 2.0**53)) + level * GOLDEN)


@jit(error_model="numpy", **INNER)
def _drawn_cut(splitter, criterion, f, lo, hi, rules, total, work):
    order, best, x = splitter.order, work.best, work.gain
    draw = _uniform(_state(rules, f, best[4]))
    _fill(splitter, f, lo, hi, draw, x)
    low, high, absent, m = np.inf, -np.inf, 0, hi - lo
    for i in range(m):
        if x[i] < low:
            low = x[i]
        if x[i] > high:
            high = x[i]
        if x[i] != x[i]:
            absent += 1
    if absent == m or (absent == 0 and low == high):
        return False
    threshold = low + draw * (high - low)
    if threshold >= high:
        threshold = low
    a = _three_parts(splitter.rows, x, threshold, lo, hi, order, work.rank)
    whole = total * impurity(criterion, work.sums)
    for side in range(2 if absent > 0 else 1):
        middle = a + absent if side == 1 else a
        if middle - lo < rules.least_leaf or hi - middle < rules.least_leaf:
            continue
        accumulate(criterion, order, lo, middle, work.left)
        accumulate(criterion, order, middle, hi, work.right)
        L, R = heft(criterion, work.left), heft(criterion, work.right)
        if L < rules.least_weight or R < rules.least_weight:
            continue
        left, right = 0.0, 0.0
        if splitter.manner.sign[f] != 0:  # then the answer is one mean, statistic 1 by weight
            left, right = work.left[1] / L, work.right[1] / R
            if not within(splitter.manner, f, lo, left, right):
                continue
        gain = whole - L * impurity(criterion, work.left) - R * impurity(criterion, work.right)
        if gain > best[0] + best[3]:
            best[0], best[1], best[2], best[5], best[6], best[7] = gain, threshold, side, draw, left, right
            if absent == 0:  # a value that is missing later goes with most of the weight
                best[2] = 1.0 if L > R else 0.0
    return True


@jit(**INNER)
def _three_parts(rows, x, threshold, lo, hi, order, spare):
    """Rows at or below the threshold first, those without a value next, then the others; where the first end."""
    left, right, away = np.int64(lo), np.int64(hi), np.int64(0)
    for i in range(hi - lo):
        row, goes, there = rows[lo + i], np.int64(x[i] <= threshold), np.int64(x[i] == x[i])
        order[left] = order[right - 1] = spare[away] = row  # all ends are free; one of them moves on
        left += goes
        right -= there - goes
        away += 1 - there
    for i in range(away):
        order[left + i] = spare[i]
    return left


@jit(error_model="numpy", **INNER)
def _separate(splitter, f, lo, hi, work):
    """Rows of the left side first, then the others; where they begin."""
    rows, left, right = splitter.rows, np.int64(lo), np.int64(0)
    threshold, missing_left, draw = work.best[1], work.best[2], work.best[5]
    _fill(splitter, f, lo, hi, draw, work.gain)
    for i in range(hi - lo):
        x, row = work.gain[i], rows[lo + i]
        goes = np.int64(x <= threshold or (x != x and missing_left > 0.0))
        rows[left] = row
        work.order[right] = row
        left += goes
        right += 1 - goes
    for i in range(right):
        rows[left + i] = work.order[i]
    splitter.threshold[left] = threshold
    pass_bounds(splitter.manner, f, lo, left, work.best[6], work.best[7])
    return left
