"""Exact splits of sorted columns: sort once, then keep every column sorted within every node.

Column f lists the rows by their value; a node is the same range lo..hi of every column. Dividing a node is a stable
partition of the range in each column, so no node is ever sorted again: a level of the tree costs one pass over the
data. Values are compared by their ranks, so float64 columns are exact in four bytes; missing values have the last rank.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fivefold.core.compilation.jit import FAST, jit
from fivefold.core.parallel import MIN_PART_ROWS, map_items
from fivefold.core.types import Indices, Table
from fivefold.partition.column_access import column_reader
from fivefold.partition.criteria.base import score_cuts
from fivefold.partition.splitters.base import (
    BEST_CUT,
    BEST_GAIN,
    BEST_MISSING_LEFT,
    BEST_TIE,
    RELATIVE_TIE,
    ROW_ABOVE,
    ROW_BELOW,
    divide_list,
    mark_split,
    n_row_lists,
    row_list,
    search_split,
)

MISSING_RANK = np.int32(2**31 - 1)
FASTMATH_INF = FAST - {"nnan", "ninf"}  # gains of forbidden cuts are -inf


class PresortedSplitter(NamedTuple):
    """The rows of each column by value (d, n), the ranks of their values, and one flag per row."""

    order: Indices  # (d, n) int32
    rank: Indices  # (d, n) int32
    flag: Indices  # (n,) uint8: 1 where the row goes left

    def copy(self) -> PresortedSplitter:
        """A copy whose columns can be divided again."""
        return PresortedSplitter(self.order.copy(), self.rank.copy(), self.flag)


def presort(X: Table) -> PresortedSplitter:
    """Sort every column of X (n, d), dense or sparse, NaN last."""
    n, d = X.shape
    order, rank = np.empty((d, n), dtype=np.int32), np.empty((d, n), dtype=np.int32)
    values = column_reader(X)

    def column(f: int) -> None:
        x = values(f)
        order[f] = rows = np.argsort(x, kind="stable")
        x = x[rows]
        known = n - int(np.isnan(x).sum())
        rank[f, 0] = 0
        np.cumsum(x[1:known] != x[: max(known - 1, 0)], out=rank[f, 1:known])
        rank[f, known:] = MISSING_RANK

    if n * d < MIN_PART_ROWS:  # starting threads would take longer
        for f in range(d):
            column(f)
    else:
        map_items(column, d)
    return PresortedSplitter(order, rank, np.zeros(n, dtype=np.uint8))


@jit
def known_end(rank, lo, hi):
    """Where the missing values of the range begin."""
    while hi > lo and rank[hi - 1] == MISSING_RANK:
        hi -= 1
    return hi


@jit(fastmath=FASTMATH_INF, error_model="numpy")
def best_sorted_cut(criterion, order, rank, lo, hi, rules, total, work):
    """Fill work.best if a cut of this column beats it; has the column two values?

    A cut at position i (BEST_CUT) sends rows order[lo : i + 1] left.
    """
    mid = known_end(rank, lo, hi)
    absent = hi - mid
    if mid == lo or (absent == 0 and rank[lo] == rank[mid - 1]):
        return False
    known = 0.0
    for side in range(2 if absent > 0 else 1):
        score_cuts(criterion, order, lo, mid, hi, side == 1, work.sums, work.left, work.right, work.gain, work.weight)
        if absent > 0 and rules.missing_chi_square > 0.0:
            known = keep_gaps_with_most(mid - lo, side, known, rules, total, work.gain, work.weight, work.best)
        choose_cut(rank, lo, mid, hi, side, rules, total, work.gain, work.weight, work.best)
    return True


@jit(error_model="numpy")
def keep_gaps_with_most(cuts, side, known, rules, total, gain, weight, best):
    """Rule out cuts that separate missing values from the majority of the known ones, unless the evidence is strong.

    The last cut, with missing values on the right, separates them from all known values: its gain, in units of the
    impurity per row, is a chi-square. Called for one side after the other; returns the known weight, or -1 where the
    missing values may go either way.
    """
    if side == 0:
        known = weight[cuts - 1]
        if gain[cuts - 1] * RELATIVE_TIE * total > rules.missing_chi_square * best[BEST_TIE]:
            known = -1.0
    for i in range(cuts if known >= 0.0 else 0):
        left = weight[i] - (total - known if side == 1 else 0.0)
        if (2.0 * left > known) != (side == 1):
            gain[i] = -np.inf
    return known


@jit(fastmath=FASTMATH_INF, error_model="numpy")
def choose_cut(rank, lo, mid, hi, side, rules, total, gain, weight, best):
    """Fill `best` with the first cut that gains most, between values that differ and with enough rows on each side."""
    extra = hi - mid if side == 1 else 0
    first, last = rules.min_leaf - 1 - extra, hi - lo - extra - rules.min_leaf
    if first < 0:
        first = 0
    if last > mid - lo:
        last = mid - lo
    top, slack, least = best[BEST_GAIN], best[BEST_TIE], rules.min_weight
    for i in range(first, last):
        if gain[i] > top + slack:
            enough = least <= 0.0 or (weight[i] >= least and total - weight[i] >= least)
            if enough and rank[lo + i] != rank[lo + i + 1]:
                top = gain[i]
                best[BEST_GAIN], best[BEST_CUT], best[BEST_MISSING_LEFT] = top, lo + i, side
                if mid == hi:  # a value that is missing later goes with most of the weight
                    best[BEST_MISSING_LEFT] = 1.0 if 2.0 * weight[i] > total else 0.0


@row_list.rule(PresortedSplitter)
def _(splitter):
    return splitter.order[0]


@n_row_lists.rule(PresortedSplitter)
def _(splitter):
    return len(splitter.order)


@search_split.rule(PresortedSplitter)
def _(splitter, criterion, f, lo, hi, rules, total, work):
    return best_sorted_cut(criterion, splitter.order[f], splitter.rank[f], lo, hi, rules, total, work)


@mark_split.rule(PresortedSplitter)
def _(splitter, criterion, f, lo, hi, work, node):
    return flag_left_rows(splitter.order[f], splitter.rank[f], lo, hi, work.best, splitter.flag, node)


@divide_list.rule(PresortedSplitter)
def _(splitter, j, lo, hi, work):
    partition_column(splitter.order[j], splitter.rank[j], lo, hi, splitter.flag, work.order, work.rank)


@jit
def flag_left_rows(order, rank, lo, hi, best, flag, node):
    """Flag the rows that the cut sends left; return where the others begin. The node notes the rows next to the cut."""
    at, missing_left, mid = np.int64(best[BEST_CUT]), np.int64(best[BEST_MISSING_LEFT]), known_end(rank, lo, hi)
    for i in range(lo, hi):
        flag[order[i]] = i <= at if i < mid else missing_left
    node[ROW_BELOW] = order[at]
    node[ROW_ABOVE] = order[at + 1] if at + 1 < mid else -1
    return at + 1 + (hi - mid if missing_left == 1 else 0)


@jit
def partition_column(order, rank, lo, hi, flag, spare_order, spare_rank):
    """Stable partition of one column by the flags."""
    left, right = np.int64(lo), np.int64(0)
    for i in range(lo, hi):
        row, value = order[i], rank[i]
        goes = np.int64(flag[row])
        order[left], rank[left] = row, value
        spare_order[right], spare_rank[right] = row, value
        left += goes
        right += 1 - goes
    for i in range(right):
        order[left + i], rank[left + i] = spare_order[i], spare_rank[i]
