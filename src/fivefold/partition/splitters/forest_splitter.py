"""Splits on a sample of the columns: for forests, where sorting every column of every node would be wasted.

A node is a range of one list of rows. Large nodes count their rows in at most 255 bins of equal share per column and
cut between bins. Nodes of at most MAX_SORTED_WEIGHT rows, counted by their weight, are sorted by rank and cut exactly;
so are columns of larger nodes whose values all lie in one bin.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fivefold.core.compilation.jit import FAST, jit
from fivefold.core.parallel import MIN_PART_ROWS, map_items
from fivefold.core.types import Codes, Doubles, Indices, Table
from fivefold.partition.column_access import column_reader
from fivefold.partition.criteria.base import add_to_bins, score_bin_cuts
from fivefold.partition.splitters.base import (
    BEST_CUT,
    BEST_GAIN,
    BEST_MISSING_LEFT,
    BEST_TIE,
    ROW_ABOVE,
    ROW_BELOW,
    divide_list,
    mark_split,
    n_row_lists,
    row_list,
    search_split,
)
from fivefold.partition.splitters.presorted_splitter import MISSING_RANK, best_sorted_cut

N_BINS = 255  # bins of a column, besides the one for missing values
RANKS_PER_BIN = 2**16  # distinct values within a bin that keep distinct ranks
POSITION_BITS = 6  # bits of a sort key that hold the position of the row in its node
MAX_SORTED_WEIGHT = 1 << POSITION_BITS  # nodes of at most this weight are sorted, not binned
MISSING_KEY = N_BINS * RANKS_PER_BIN << POSITION_BITS  # sort keys of missing values start here
FASTMATH_INF = FAST - {"nnan", "ninf"}


class ColumnRanks(NamedTuple):
    """The bin of every value in its column, and its rank within the bin (d, n): what all trees of a forest share."""

    bins: Codes  # uint8, N_BINS for missing values
    rank_in_bin: Codes  # uint16
    has_missing: Codes  # (d,) uint8: 1 where the column has missing values


class ForestSplitter(NamedTuple):
    """The rows of one tree, and what it shares with the others."""

    rows: Indices  # (m,) int32
    bins: Codes  # those of ColumnRanks, as are the next two
    rank_in_bin: Codes
    has_missing: Codes
    table: Doubles  # (N_BINS + 1, q) scratch: statistics by bin
    cells: Doubles  # the same memory as a vector
    count: Any  # (an array: tuples have a method of this name) (N_BINS + 1,) int64 scratch: rows by bin
    place: Indices  # (N_BINS + 1,) int64 scratch: the bin of each cut
    gain: Doubles  # (N_BINS + 1,) scratch: the gain of each cut
    weight: Doubles  # (N_BINS + 1,) scratch: the weight on the left of each cut
    keys: Indices  # (m,) int64 scratch: sort keys
    small_keys: Indices  # (MAX_SORTED_WEIGHT,) int32 scratch: sort keys of a small node


def rank_columns(X: Table) -> ColumnRanks:
    """The bin of each value of X (n, d) in its column, and its rank within the bin."""
    n, d = X.shape
    bins, rank_in_bin = np.empty((d, n), dtype=np.uint8), np.empty((d, n), dtype=np.uint16)
    values = column_reader(X)

    def column(f: int) -> None:
        x = values(f)
        order = np.argsort(x)
        x = x[order]
        known = n - int(np.isnan(x).sum())
        rank = np.zeros(n, dtype=np.int64)
        np.cumsum(x[1:known] != x[: max(known - 1, 0)], out=rank[1:known])
        count = int(rank[known - 1]) + 1 if known else 1
        place = rank * N_BINS // count
        rank -= (place * count + N_BINS - 1) // N_BINS  # the rank of the first of its bin
        if (most := count // N_BINS + 1) > RANKS_PER_BIN:
            rank = rank * RANKS_PER_BIN // most
        place[known:], rank[known:] = N_BINS, 0
        bins[f, order], rank_in_bin[f, order] = place, rank

    if n * d < MIN_PART_ROWS:  # starting threads would take longer
        for f in range(d):
            column(f)
    else:
        map_items(column, d)
    return ColumnRanks(bins, rank_in_bin, (bins == N_BINS).any(axis=1).astype(np.uint8))


def forest_splitter(ranked: ColumnRanks, rows: Indices, statistics: int) -> ForestSplitter:
    """A splitter of these rows, which it reorders in place."""
    table, (gain, weight) = np.empty((N_BINS + 1, statistics)), np.empty((2, N_BINS + 1))
    count, place = np.zeros((2, N_BINS + 1), dtype=np.int64)
    return ForestSplitter(
        rows=rows,
        bins=ranked.bins,
        rank_in_bin=ranked.rank_in_bin,
        has_missing=ranked.has_missing,
        table=table,
        cells=table.ravel(),
        count=count,
        place=place,
        gain=gain,
        weight=weight,
        keys=np.empty(len(rows), dtype=np.int64),
        small_keys=np.empty(MAX_SORTED_WEIGHT, dtype=np.int32),
    )


@jit
def _rank(bins, rank_in_bin, row):
    """The rank of a row in its column."""
    return np.int32(np.int32(bins[row]) * RANKS_PER_BIN + rank_in_bin[row]) if bins[row] < N_BINS else MISSING_RANK


@row_list.rule(ForestSplitter)
def _(splitter):
    return splitter.rows


@search_split.rule(ForestSplitter)
def _(splitter, criterion, f, lo, hi, rules, total, work):
    return search_numeric_split(splitter, criterion, f, lo, hi, rules, total, work)


@jit
def search_numeric_split(splitter, criterion, f, lo, hi, rules, total, work):
    """Fill work.best if a cut of column f, which holds numbers, beats it; has it two values?"""
    small = total <= MAX_SORTED_WEIGHT and hi - lo <= MAX_SORTED_WEIGHT  # by weight, so that it means repetition
    if not small and _search_bins(criterion, splitter, f, lo, hi, rules, total, work):
        return True
    if not small and not _has_two_values(splitter.bins[f], splitter.rank_in_bin[f], splitter.rows, lo, hi):
        return False
    if small:
        _sort_few(
            splitter.bins[f],
            splitter.rank_in_bin[f],
            splitter.rows,
            lo,
            hi - lo,
            splitter.small_keys,
            work.order,
            work.rank,
        )
    else:
        _sort_many(
            splitter.bins[f], splitter.rank_in_bin[f], splitter.rows, lo, hi - lo, splitter.keys, work.order, work.rank
        )
    before = work.best[BEST_GAIN]
    found = best_sorted_cut(criterion, work.order, work.rank, 0, hi - lo, rules, total, work)
    if work.best[BEST_GAIN] > before:
        work.best[BEST_CUT] = work.rank[np.int64(work.best[BEST_CUT])]
    return found


@n_row_lists.rule(ForestSplitter)
def _(splitter):
    return 0


@mark_split.rule(ForestSplitter)
def _(splitter, criterion, f, lo, hi, work, node):
    return mark_numeric_split(splitter, f, lo, hi, work, node)


@jit
def mark_numeric_split(splitter, f, lo, hi, work, node):
    """Put the rows first that work.best of column f, which holds numbers, sends left; return where the others begin."""
    rank, missing_left = np.int32(work.best[BEST_CUT]), np.int64(work.best[BEST_MISSING_LEFT])
    return _separate(
        splitter.rows, splitter.bins[f], splitter.rank_in_bin[f], rank, missing_left, lo, hi, work.order, node
    )


@divide_list.rule(ForestSplitter)
def _(splitter, j, lo, hi, work):
    return


@jit
def _sort_few(bins, rank_in_bin, rows, lo, m, keys, order, rank):
    """A few rows in the order of their ranks: the place of each is the number of keys below its own."""
    for i in range(m):
        row = rows[lo + i]
        keys[i] = (np.int32(bins[row]) * RANKS_PER_BIN + rank_in_bin[row]) << POSITION_BITS | i
    for i in range(m, MAX_SORTED_WEIGHT):
        keys[i] = MISSING_RANK
    for i in range(m):
        key, at = keys[i], np.int32(0)
        for j in range(16):  # loops of fixed length are vectorised
            at += np.int32(keys[j] < key)
        if m > 16:
            for j in range(16, 32):
                at += np.int32(keys[j] < key)
        if m > 32:
            for j in range(32, MAX_SORTED_WEIGHT):
                at += np.int32(keys[j] < key)
        order[at] = rows[lo + i]
        rank[at] = key >> POSITION_BITS if key < MISSING_KEY else MISSING_RANK


@jit
def _sort_many(bins, rank_in_bin, rows, lo, m, keys, order, rank):
    """Rows in the order of their ranks."""
    for i in range(m):
        row = rows[lo + i]
        keys[i] = np.int64(_rank(bins, rank_in_bin, row)) << 32 | row
    shell_sort(keys, m)
    for i in range(m):
        rank[i] = keys[i] >> 32
        order[i] = keys[i] & 0xFFFFFFFF


@jit
def shell_sort(keys, m):
    """Insertion sort in shrinking steps (Shell, 1959)."""
    gap = 1
    while 3 * gap + 1 < m:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, m):
            key, j = keys[i], i
            while j >= gap and keys[j - gap] > key:
                keys[j] = keys[j - gap]
                j -= gap
            keys[j] = key
        gap //= 3


@jit
def _has_two_values(bins, rank_in_bin, rows, lo, hi):
    """Do the rows have more than one value?"""
    first, i = _rank(bins, rank_in_bin, rows[lo]), lo + 1
    while i < hi and _rank(bins, rank_in_bin, rows[i]) == first:
        i += 1
    return i < hi


@jit(fastmath=FASTMATH_INF, error_model="numpy")
def _search_bins(criterion, splitter, f, lo, hi, rules, total, work):
    bins, cells, count, rows = splitter.bins[f], splitter.cells, splitter.count, splitter.rows
    gain, weight, place, best = splitter.gain, splitter.weight, splitter.place, work.best
    for i in range(len(cells)):
        cells[i] = 0.0
    add_to_bins(criterion, bins, rows, lo, hi, splitter.table)
    absent, counted = False, False
    if splitter.has_missing[f] == 1:
        for i in range(N_BINS * splitter.table.shape[1], len(cells)):
            absent = absent or cells[i] != 0.0
    found, least = False, rules.min_weight
    for side in range(2 if absent else 1):
        start = N_BINS if side == 1 else -1
        cuts = score_bin_cuts(criterion, splitter.table, N_BINS, start, work.sums, work.left, gain, weight, place)
        # right of the last bin there is nothing, or only missing values
        last = cuts if absent and side == 0 else cuts - 1
        found = found or last > 0
        there, b = -1, 0
        for i in range(last):
            if gain[i] <= best[BEST_GAIN] + best[BEST_TIE] or weight[i] < least or total - weight[i] < least:
                continue
            if rules.min_leaf > 1:
                if not counted:
                    _count(bins, rows, lo, hi, count)
                    counted = True
                if there < 0:
                    there = count[N_BINS] if side == 1 else 0
                while b <= place[i]:
                    there += count[b]
                    b += 1
                if there < rules.min_leaf or hi - lo - there < rules.min_leaf:
                    continue
            best[BEST_GAIN], best[BEST_CUT], best[BEST_MISSING_LEFT] = gain[i], (place[i] + 1) * RANKS_PER_BIN - 1, side
            if not absent:  # a value that is missing later goes with most of the weight
                best[BEST_MISSING_LEFT] = 1.0 if 2.0 * weight[i] > total else 0.0
    return found


@jit
def _count(bins, rows, lo, hi, count):
    """Count the rows of each bin."""
    for b in range(N_BINS + 1):
        count[b] = 0
    for i in range(lo, hi):
        count[bins[rows[i]]] += 1


@jit
def _separate(rows, bins, rank_in_bin, cut, missing_left, lo, hi, spare, node):
    """Put the rows of the range with ranks up to the cut first, then the others; return where these begin.

    The node notes the row with the largest rank on the left, and that with the smallest on the right, or -1.
    """
    left, right, low, high = np.int64(lo), np.int64(0), np.int32(-1), MISSING_RANK
    node[ROW_BELOW], node[ROW_ABOVE] = -1, -1
    for i in range(lo, hi):
        row = rows[i]
        r = _rank(bins, rank_in_bin, row)
        goes = np.int64(missing_left if r == MISSING_RANK else r <= cut)
        if r != MISSING_RANK:
            if goes == 1 and r > low:
                low, node[ROW_BELOW] = r, row
            if goes == 0 and r < high:
                high, node[ROW_ABOVE] = r, row
        rows[left] = row
        spare[right] = row
        left += goes
        right += 1 - goes
    for i in range(right):
        rows[left + i] = spare[i]
    return left
