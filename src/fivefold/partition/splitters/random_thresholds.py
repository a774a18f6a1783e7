"""Splits at thresholds drawn at random: one per column, and the best of the columns tried.

The threshold is uniform between the smallest and the largest value in the node. Each level of a categorical column gets
a random number, so a cut is a random set of levels. The seed, the node and the column decide the draw, not the rows.
Missing values go to the side that gains more.

Geurts, Ernst & Wehenkel (2006).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.core.types import Array, Indices
from fivefold.partition.criteria.base import impurity, total_weight
from fivefold.partition.criteria.threshold_statistics import split_statistics
from fivefold.partition.splitters.base import (
    BEST_CUT,
    BEST_DRAW_KEY,
    BEST_GAIN,
    BEST_LEFT_ANSWER,
    BEST_MISSING_LEFT,
    BEST_ORDER,
    BEST_RIGHT_ANSWER,
    BEST_TIE,
    GOLDEN_RATIO_64,
    ColumnConstraints,
    divide_list,
    mark_split,
    mix_bits,
    n_row_lists,
    row_list,
    search_split,
)
from fivefold.partition.splitters.monotonic_constraints import node_answer, pass_bounds, within_bounds


class RandomThresholds(NamedTuple):
    """The rows of one tree, the values of all, and the thresholds drawn."""

    rows: Indices  # (m,) int32
    values: Array  # (n, d)
    threshold: Array  # (m,) float64: the threshold of each cut, at the place where its right side begins
    order: Indices  # (m,) int32 scratch: rows in the order that a cut would give them
    constraints: ColumnConstraints


@row_list.rule(RandomThresholds)
def _(splitter):
    return splitter.rows


@n_row_lists.rule(RandomThresholds)
def _(splitter):
    return 0


@divide_list.rule(RandomThresholds)
def _(splitter, j, lo, hi, work):
    return


@jit
def _uniform(state):
    return np.float64(mix_bits(state) >> np.uint64(11)) * 2.0**-53


@jit
def _state(rules, f, key):
    return mix_bits(
        np.uint64(rules.seed) * GOLDEN_RATIO_64
        + np.uint64(np.int64(key)) * np.uint64(0xD1B54A32D192ED03)
        + np.uint64(f)
    )


@jit
def _fill_values(splitter, f, lo, hi, draw, out):
    """Values of the rows of a node; for a category, a random number decided by the draw (a fraction) and its level."""
    some, values = splitter.rows[lo:hi], splitter.values[:, f]
    for i in range(len(some)):
        out[i] = values[some[i]]
    if splitter.constraints.levels[f] > 0:
        for i in range(len(some)):
            if out[i] == out[i]:
                level = np.uint64(np.int64(out[i])) + np.uint64(1)
                out[i] = _uniform(np.uint64(np.int64(draw * 2.0**53)) + level * GOLDEN_RATIO_64)


@search_split.rule(RandomThresholds)
def _(splitter, criterion, f, lo, hi, rules, total, work):
    best, x, m = work.best, work.gain, hi - lo
    draw = _uniform(_state(rules, f, best[BEST_DRAW_KEY]))
    _fill_values(splitter, f, lo, hi, draw, x)
    low, high, absent = np.inf, -np.inf, 0
    for i in range(m):
        low = x[i] if x[i] < low else low
        high = x[i] if x[i] > high else high
        absent += x[i] != x[i]
    if absent == m or (absent == 0 and low == high):
        return False
    threshold = low + draw * (high - low)
    if threshold >= high:
        threshold = low
    whole = total * impurity(criterion, work.sums)
    for side in range(2 if absent > 0 else 1):
        if side == 1:
            _missing_first(x, m)
        count = 0
        for i in range(m):
            count += x[i] <= threshold
        if count < rules.min_leaf or m - count < rules.min_leaf:
            continue
        split_statistics(
            criterion, splitter.rows, lo, hi, x, threshold, splitter.order, work.sums, work.left, work.right
        )
        L, R = total_weight(criterion, work.left), total_weight(criterion, work.right)
        if L < rules.min_weight or R < rules.min_weight:
            continue
        left, right = 0.0, 0.0
        if splitter.constraints.sign[f] != 0:
            left, right = node_answer(criterion, work.left), node_answer(criterion, work.right)
            if not within_bounds(splitter.constraints, f, lo, left, right):
                continue
        gain = whole - L * impurity(criterion, work.left) - R * impurity(criterion, work.right)
        if gain > best[BEST_GAIN] + best[BEST_TIE]:
            best[BEST_GAIN], best[BEST_CUT], best[BEST_MISSING_LEFT] = gain, threshold, side
            best[BEST_ORDER], best[BEST_LEFT_ANSWER], best[BEST_RIGHT_ANSWER] = draw, left, right
            if absent == 0:  # a value that is missing later goes with most of the weight
                best[BEST_MISSING_LEFT] = 1.0 if L > R else 0.0
    return True


@jit
def _missing_first(x, m):
    """Put missing values below all thresholds."""
    for i in range(m):
        x[i] = x[i] if x[i] == x[i] else -np.inf


@mark_split.rule(RandomThresholds)
def _(splitter, criterion, f, lo, hi, work, node):
    """Put the rows of the left side first, then the others; return where these begin."""
    some, others, x, best = splitter.rows[lo:hi], work.order, work.gain, work.best
    left, right = np.int64(0), np.int64(0)
    _fill_values(splitter, f, lo, hi, best[BEST_ORDER], x)
    if best[BEST_MISSING_LEFT] > 0.0:
        _missing_first(x, hi - lo)
    for i in range(len(some)):
        row, goes = some[i], np.int64(x[i] <= best[BEST_CUT])
        some[left] = others[right] = row  # one of the two stays
        left += goes
        right += 1 - goes
    for i in range(right):
        some[left + i] = others[i]
    splitter.threshold[lo + left] = best[BEST_CUT]
    pass_bounds(splitter.constraints, f, lo, lo + left, best[BEST_LEFT_ANSWER], best[BEST_RIGHT_ANSWER])
    return lo + left
