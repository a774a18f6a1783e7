"""Exact splits of columns that hold categories, or along which the answer is monotonic.

Categories. The rows of a node are grouped by level; the levels are put in the order of the mean target of their rows,
and the column is cut like a sorted one. For two classes, or a number, under squared error, Gini or entropy no division
of the levels into two sets gains more. With more classes every class takes its turn as the target.

Levels ordered by the target gain something by chance, the more so the more levels there are. On new rows the means of L
levels explain less than on those they were computed from (Mallows, 1973); the share that lasts is

    1 - 2 (L - 2) s^2 / B,   B = sum_k n_k (mean_k - mean)^2

with s^2 the variance within levels, estimated from n - L degrees of freedom and, in case these are few, PRIOR_ROWS more
that have the variance of the node. Columns compete by that share of their gain. Where none of it lasts the levels are
not divided: levels of one row each tell nothing.

Monotonic columns: see `monotonic_constraints`.

Fisher (1958); Mallows (1973); Breiman, Friedman, Olshen & Stone (1984), section 4.2 and theorem 4.5.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.core.types import Indices
from fivefold.partition.criteria.base import n_targets, row_target, row_weight, score_cuts
from fivefold.partition.sort_loops import heap_sort
from fivefold.partition.splitters.base import (
    BEST_GAIN,
    BEST_ORDER,
    ColumnConstraints,
    divide_list,
    mark_split,
    n_row_lists,
    row_list,
    search_split,
)
from fivefold.partition.splitters.monotonic_constraints import forbid_cuts, pass_bounds, side_answers
from fivefold.partition.splitters.presorted_splitter import (
    PresortedSplitter,
    choose_cut,
    flag_left_rows,
    keep_gaps_with_most,
    known_end,
    partition_column,
)

PRIOR_ROWS = 20.0  # prior degrees of freedom: this many rows' worth of evidence that the levels do not differ


class CategoricalSplitter(NamedTuple):
    """Sorted columns, and the constraints of each."""

    order: Indices  # (d, n) int32
    rank: Indices  # (d, n) int32
    flag: Indices  # (n,) uint8: 1 where the row goes left
    constraints: ColumnConstraints


def categorical_splitter(columns: PresortedSplitter, constraints: ColumnConstraints) -> CategoricalSplitter:
    """Sorted columns with their constraints."""
    return CategoricalSplitter(*columns, constraints)


@row_list.rule(CategoricalSplitter)
def _(splitter):
    return splitter.order[0]


@n_row_lists.rule(CategoricalSplitter)
def _(splitter):
    return len(splitter.order)


@divide_list.rule(CategoricalSplitter)
def _(splitter, j, lo, hi, work):
    partition_column(splitter.order[j], splitter.rank[j], lo, hi, splitter.flag, work.order, work.rank)


@search_split.rule(CategoricalSplitter)
def _(splitter, criterion, f, lo, hi, rules, total, work):
    order, rank, constraints = splitter.order[f], splitter.rank[f], splitter.constraints
    mid = known_end(rank, lo, hi)
    if mid == lo or (mid == hi and rank[lo] == rank[mid - 1]):
        return False
    if constraints.levels[f] > 0:
        return search_level_groups(criterion, order, rank, lo, mid, hi, rules, constraints.unit, total, work)
    known = 0.0
    for side in range(2 if mid < hi else 1):
        score_cuts(criterion, order, lo, mid, hi, side == 1, work.sums, work.left, work.right, work.gain, work.weight)
        if mid < hi and rules.missing_chi_square > 0.0:
            known = keep_gaps_with_most(mid - lo, side, known, rules, total, work.gain, work.weight, work.best)
        if constraints.sign[f] != 0:
            forbid_cuts(criterion, constraints, f, order, lo, mid, hi, side, total, work.gain, work.weight)
        choose_cut(rank, lo, mid, hi, side, rules, total, work.gain, work.weight, work.best)
    return True


@mark_split.rule(CategoricalSplitter)
def _(splitter, criterion, f, lo, hi, work, node):
    order = splitter.order[f]
    middle = flag_left_rows(order, splitter.rank[f], lo, hi, work.best, splitter.flag, node)
    left, right = 0.0, 0.0
    if splitter.constraints.sign[f] != 0:
        left, right = side_answers(criterion, order, splitter.flag, lo, hi)
    pass_bounds(splitter.constraints, f, lo, middle, left, right)
    return middle


@jit(error_model="numpy")
def search_level_groups(criterion, order, rank, lo, mid, hi, rules, unit, total, work):
    """Fill work.best if a division of the levels beats it; is there one? The levels are left in the order of the best.

    The rows of a level stand together, those with a missing value from mid on; BEST_ORDER is the target that put the
    levels in order.
    """
    turns, winner, best, found = n_targets(criterion), 0, work.best, mid < hi
    for turn in range(turns):
        share = order_levels(criterion, order, rank, lo, mid, turn, unit, work)
        found, before, known = found or share > 0.0, best[BEST_GAIN], 0.0
        for side in range(2 if mid < hi else 1):
            score_cuts(
                criterion, order, lo, mid, hi, side == 1, work.sums, work.left, work.right, work.gain, work.weight
            )
            if mid < hi and rules.missing_chi_square > 0.0:
                known = keep_gaps_with_most(mid - lo, side, known, rules, total, work.gain, work.weight, best)
            for i in range(mid - lo - 1):  # the last cut leaves all levels on one side: nothing is sorted by the target
                work.gain[i] = work.gain[i] * share if share > 0.0 else -np.inf
            choose_cut(rank, lo, mid, hi, side, rules, total, work.gain, work.weight, best)
        if best[BEST_GAIN] > before:
            best[BEST_ORDER] = winner = turn
    if winner < turns - 1:
        order_levels(criterion, order, rank, lo, mid, winner, unit, work)
    return found


@jit(error_model="numpy")
def order_levels(criterion, order, rank, lo, mid, j, unit, work):
    """Put the levels in the order of their mean target j, rows of a level together; the share of gains that will last.

    `order` and `rank` must not be those of `work`.
    """
    mean, start, level, rows, count = work.gain, work.rank, work.weight, work.order, 0
    A, S, squares, between, i = 0.0, 0.0, 0.0, 0.0, lo
    while i < mid:
        a, s, begin = 0.0, 0.0, i
        while i < mid and rank[i] == rank[begin]:
            w, y = row_weight(criterion, order[i]), row_target(criterion, order[i], j)
            a += w
            s += w * y
            squares += w * y * y
            i += 1
        start[count], mean[count] = begin, s / a
        A, S, between = A + a, S + s, between + s * s / a
        count += 1
    heap_sort(mean, start, 0, count)
    filled = 0
    for b in range(count):
        i = np.int64(start[b])
        level[b] = rank[i]
        while i < mid and rank[i] == level[b]:
            rows[filled] = order[i]
            filled += 1
            i += 1
        start[b] = filled  # where the next begins
    b = 0
    for i in range(filled):
        if i == start[b]:
            b += 1
        order[lo + i], rank[lo + i] = rows[i], np.int32(level[b])
    return lasting_gain_share(squares - between, between - S * S / A, A / unit, count)


@jit(error_model="numpy")
def lasting_gain_share(within, between, rows, levels):
    """The share of gains that will last, 0 where none will."""
    if levels <= 2:
        return 1.0
    if between <= 0.0:
        return 0.0
    variance = (within + PRIOR_ROWS * (within + between) / rows) / (rows - levels + PRIOR_ROWS)
    return max(0.0, 1.0 - 2.0 * (levels - 2) * variance / between)
