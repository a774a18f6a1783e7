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
from fivefold.partition.criteria import accumulate, aim, heft, impurity, weigh
from fivefold.partition.qualified import pass_bounds, within
from fivefold.partition.splitter import GOLDEN, INNER, Manner, cut, divide, listed, lists, mark, mixed


class Drawn(NamedTuple):
    """The rows of one tree, the values of all, column by column, and the thresholds drawn."""

    rows: Any  # (m,) int32
    values: Any  # (d, n)
    threshold: Any  # (m,) float64: of a cut, where its right side begins
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
    return _separate(splitter, criterion, f, lo, hi, work)


@jit(**INNER)
def _uniform(state):
    return np.float64(mixed(state) >> np.uint64(11)) * 2.0**-53


@jit(**INNER)
def _state(rules, f, key):
    return mixed(
        np.uint64(rules.seed) * GOLDEN + np.uint64(np.int64(key)) * np.uint64(0xD1B54A32D192ED03) + np.uint64(f)
    )


@jit(**INNER)
def _value(splitter, f, row, draw):
    """The value of a row, or of its level the random number that the draw (a fraction) and the level decide."""
    x = np.float64(splitter.values[f, row])
    if splitter.manner.levels[f] > 0 and x == x:
        return _uniform(np.uint64(np.int64(draw * 2.0**53)) + (np.uint64(np.int64(x)) + np.uint64(1)) * GOLDEN)
    return x


@jit(error_model="numpy", **INNER)
def _drawn_cut(splitter, criterion, f, lo, hi, rules, total, work):
    rows, order, best, sums = splitter.rows, work.order, work.best, work.sums
    draw = _uniform(_state(rules, f, best[4]))
    low, high, absent = np.inf, -np.inf, 0
    for i in range(lo, hi):
        x = _value(splitter, f, rows[i], draw)
        work.gain[i - lo] = x
        if x != x:
            absent += 1
        else:
            low = x if x < low else low
            high = x if x > high else high
    if absent == hi - lo or (absent == 0 and low == high):
        return False
    threshold = low + draw * (high - low)
    if threshold >= high:
        threshold = low
    a = _three_parts(rows, work.gain, threshold, lo, hi, absent, order)
    whole, m = total * impurity(criterion, sums), hi - lo
    for side in range(2 if absent > 0 else 1):
        middle = a + absent if side == 1 else a
        if middle < rules.least_leaf or m - middle < rules.least_leaf or middle == m:
            continue
        accumulate(criterion, order, 0, middle, work.left)
        accumulate(criterion, order, middle, m, work.right)
        L, R = heft(criterion, work.left), heft(criterion, work.right)
        if L < rules.least_weight or R < rules.least_weight:
            continue
        if splitter.manner.sign[f] != 0:
            x, y = _mean(criterion, order, 0, middle), _mean(criterion, order, middle, m)
            if not within(splitter.manner.sign[f], splitter.manner.low[lo], splitter.manner.high[lo], x, y):
                continue
        gain = whole - L * impurity(criterion, work.left) - R * impurity(criterion, work.right)
        if gain > best[0] + best[3]:
            best[0], best[1], best[2], best[5] = gain, threshold, side, draw
            if absent == 0:  # a value that is missing later goes with most of the weight
                best[2] = 1.0 if L > R else 0.0
    return True


@jit(**INNER)
def _three_parts(rows, x, threshold, lo, hi, absent, order):
    """Rows at or below the threshold first, those without a value next; how many the first are."""
    a = 0
    for i in range(hi - lo):
        if x[i] <= threshold:
            a += 1
    left, gap, right = 0, a, a + absent
    for i in range(hi - lo):
        if x[i] <= threshold:
            order[left] = rows[lo + i]
            left += 1
        elif x[i] != x[i]:
            order[gap] = rows[lo + i]
            gap += 1
        else:
            order[right] = rows[lo + i]
            right += 1
    return a


@jit(**INNER)
def _mean(criterion, order, lo, hi):
    a, s = 0.0, 0.0
    for i in range(lo, hi):
        w = weigh(criterion, order[i])
        a += w
        s += w * aim(criterion, order[i], 0)
    return s / a


@jit(error_model="numpy", **INNER)
def _separate(splitter, criterion, f, lo, hi, work):
    """Rows of the left side first, then the others; where they begin."""
    rows, left, right = splitter.rows, np.int64(lo), np.int64(0)
    threshold, missing_left, draw = work.best[1], work.best[2], work.best[5]
    for i in range(lo, hi):
        row = rows[i]
        x = _value(splitter, f, row, draw)
        if x <= threshold or (x != x and missing_left > 0.0):
            rows[left] = row
            left += 1
        else:
            work.order[right] = row
            right += 1
    for i in range(right):
        rows[left + i] = work.order[i]
    splitter.threshold[left] = threshold
    if splitter.manner.sign[f] != 0 or splitter.manner.low[lo] > -np.inf or splitter.manner.high[lo] < np.inf:
        pass_bounds(splitter.manner, f, lo, left, _mean(criterion, rows, lo, left), _mean(criterion, rows, left, hi))
    return left
