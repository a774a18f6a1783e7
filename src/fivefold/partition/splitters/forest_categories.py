"""Splits on a sample of columns, some of which hold categories: for forests.

Numbers are cut as by `Sampled`. The levels of a category are divided as by `Qualified`: where they are few, from the
sums of each; otherwise the rows of a node are put level by level, by counting or, where they are few beside the
levels, by sorting. The division that wins is made once more when the rows are put in order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.core.types import Array, Codes, Indices, Table
from fivefold.partition.criteria.base import add_to_bins, n_targets, row_target, row_weight, score_bin_cuts
from fivefold.partition.sort_loops import heap_sort
from fivefold.partition.splitters.base import divide_list, mark_split, n_row_lists, row_list, search_split
from fivefold.partition.splitters.categorical_splitter import lasting_gain_share, order_levels, search_level_groups
from fivefold.partition.splitters.forest_splitter import (
    N_BINS,
    ForestSplitter,
    mark_numeric_split,
    search_numeric_split,
    shell_sort,
)
from fivefold.partition.splitters.presorted_splitter import MISSING_RANK, known_end
from fivefold.partition.tree_arrays.binary_tree import ROW_ABOVE, ROW_BELOW

MAX_LEVELS_PER_ROW = 8  # rows are sorted where the levels are more than so many times as many


class CategoryCodes(NamedTuple):
    """The levels of the columns that hold categories: what all trees of a forest share."""

    levels: Indices  # (d,) int64: categories of a column, 0 for numbers
    stands: Indices  # (d,) int64: the row of `codes` of a column
    codes: Indices  # (c, n) int32; the number of levels for missing
    short: Indices  # (c, n) uint8: the same of columns of at most BINS levels


class MixedForestSplitter(NamedTuple):
    """The rows of one tree, and what it shares with the others."""

    numbers: ForestSplitter
    kinds: CategoryCodes
    unit: float  # weight of one row
    order: Indices  # (m,) int32 scratch: rows level by level
    rank: Indices  # (m,) int32 scratch: their levels
    start: Indices  # (levels + 2,) int64 scratch
    moved: Array  # (BINS + 1, q) scratch: the table with levels in order
    of: Any  # (3, BINS + 1) scratch: weight, sum and mean of the target of levels
    turn: Indices  # (BINS + 1,) int32 scratch: levels in order


def category_codes(X: Table, levels: Codes) -> CategoryCodes:
    """Codes of the columns of X (n, d) that have levels."""
    columns = np.flatnonzero(levels)
    stands, codes = np.full(len(levels), -1, dtype=np.int64), np.empty((len(columns), X.shape[0]), dtype=np.int32)
    stands[columns] = np.arange(len(columns))
    for f, code in zip(columns, codes, strict=True):
        code[:] = np.where(np.isnan(X[:, f]), levels[f], X[:, f])
    return CategoryCodes(levels, stands, codes, codes.astype(np.uint8))


def mixed_forest_splitter(numbers: ForestSplitter, kinds: CategoryCodes, unit: float) -> MixedForestSplitter:
    """A splitter of the same rows that knows categories."""
    order, rank = np.empty((2, len(numbers.rows)), dtype=np.int32)
    start = np.zeros(int(kinds.levels.max()) + 2, dtype=np.int64)
    moved, of, turn = np.empty_like(numbers.table), np.empty((3, N_BINS + 1)), np.empty(N_BINS + 1, dtype=np.int32)
    return MixedForestSplitter(numbers, kinds, unit, order, rank, start, moved, of, turn)


@row_list.rule(MixedForestSplitter)
def _(splitter):
    return splitter.numbers.rows


@n_row_lists.rule(MixedForestSplitter)
def _(splitter):
    return 0


@divide_list.rule(MixedForestSplitter)
def _(splitter, j, lo, hi, work):
    return


@search_split.rule(MixedForestSplitter)
def _(splitter, criterion, f, lo, hi, rules, total, work):
    if splitter.kinds.levels[f] == 0:
        return search_numeric_split(splitter.numbers, criterion, f, lo, hi, rules, total, work)
    if _use_level_sums(splitter, f, lo, hi):
        return _search_level_sums(splitter, criterion, f, lo, hi, rules, total, work)
    _rows_by_level(splitter, f, lo, hi)
    order, rank, m = splitter.order, splitter.rank, hi - lo
    mid = known_end(rank, 0, m)
    if mid == 0 or (mid == m and rank[0] == rank[mid - 1]):
        return False
    return search_level_groups(criterion, order, rank, 0, mid, m, rules, splitter.unit, total, work)


@mark_split.rule(MixedForestSplitter)
def _(splitter, criterion, f, lo, hi, work, node):
    if splitter.kinds.levels[f] == 0:
        return mark_numeric_split(splitter.numbers, f, lo, hi, work, node)
    if _use_level_sums(splitter, f, lo, hi):
        return _separate_levels(splitter, criterion, f, lo, hi, work, node)
    _rows_by_level(splitter, f, lo, hi)
    order, m, at, missing_left = splitter.order, hi - lo, np.int64(work.best[1]), np.int64(work.best[2])
    mid = known_end(splitter.rank, 0, m)
    order_levels(criterion, order, splitter.rank, 0, mid, np.int64(work.best[5]), splitter.unit, work)
    node[ROW_BELOW], node[ROW_ABOVE] = order[at], -1
    rows, left, right = splitter.numbers.rows, np.int64(lo), np.int64(hi)
    for i in range(m):
        if i <= at or (i >= mid and missing_left == 1):
            rows[left] = order[i]
            left += 1
        else:
            right -= 1
            rows[right] = order[i]
    return left


@jit
def _use_level_sums(splitter, f, lo, hi):
    """Are the levels few, and not many more than the rows?"""
    return splitter.kinds.levels[f] <= N_BINS and splitter.kinds.levels[f] <= MAX_LEVELS_PER_ROW * (hi - lo)


@jit(error_model="numpy")
def _search_level_sums(splitter, criterion, f, lo, hi, rules, total, work):
    """Fill work.best if a division of the levels beats it; is there one? best[1] counts the levels on the left."""
    levels, code, table, moved = (
        splitter.kinds.levels[f],
        splitter.kinds.short[splitter.kinds.stands[f]],
        splitter.numbers.table,
        splitter.moved,
    )
    gain, weight, count, best, order = (
        splitter.numbers.gain,
        splitter.numbers.weight,
        splitter.numbers.count,
        work.best,
        splitter.turn,
    )
    for k in range(levels + 1):
        for q in range(table.shape[1]):
            table[k, q] = 0.0
    add_to_bins(criterion, code, splitter.numbers.rows, lo, hi, table)
    found, least = False, rules.least_weight
    for turn in range(n_targets(criterion)):
        m, share = _order_levels(splitter, criterion, f, lo, hi, turn)
        absent, before = count[levels] > 0, best[0]
        found = found or (m > 0 and absent) or (m > 1 and share > 0.0)
        for k in range(m):
            for q in range(table.shape[1]):
                moved[k, q] = table[order[k], q]
        for q in range(table.shape[1]):
            moved[m, q] = table[levels, q]
        for side in range(2 if absent else 1):
            there = count[levels] if side == 1 else 0
            cuts = score_bin_cuts(
                criterion, moved, m, m if side == 1 else -1, work.sums, work.left, gain, weight, splitter.numbers.place
            )
            for i in range(cuts if absent and side == 0 else cuts - 1):
                there += count[order[i]]
                if i < m - 1:  # the last leaves all levels on one side: nothing is sorted by the target
                    gain[i] = gain[i] * share if share > 0.0 else -np.inf
                enough = there >= rules.least_leaf and hi - lo - there >= rules.least_leaf
                if gain[i] > best[0] + best[3] and enough and weight[i] >= least and total - weight[i] >= least:
                    best[0], best[1], best[2] = gain[i], i + 1, side
                    if not absent:  # a level that is missing later goes with most of the weight
                        best[2] = 1.0 if 2.0 * weight[i] > total else 0.0
        if best[0] > before:
            best[5] = turn
    return found


@jit(error_model="numpy")
def _order_levels(splitter, criterion, f, lo, hi, j):
    """Put the levels that have rows in the order of their mean target j; their number, and what share of gains lasts.

    splitter.numbers.count holds the rows of each level, and last of those without one.
    """
    levels, code, rows = splitter.kinds.levels[f], splitter.kinds.short[splitter.kinds.stands[f]], splitter.numbers.rows
    of, count, order, squares = splitter.of, splitter.numbers.count, splitter.turn, 0.0
    for k in range(levels + 1):
        of[0, k], of[1, k], count[k] = 0.0, 0.0, 0
    for i in range(lo, hi):
        row = rows[i]
        k, w, y = code[row], row_weight(criterion, row), row_target(criterion, row, j)
        of[0, k] += w
        of[1, k] += w * y
        count[k] += 1
        squares += w * y * y if k < levels else 0.0
    m, A, S, between = 0, 0.0, 0.0, 0.0
    for k in range(levels):
        if count[k] > 0:
            order[m], of[2, m] = k, of[1, k] / of[0, k]
            A, S, between = A + of[0, k], S + of[1, k], between + of[1, k] * of[2, m]
            m += 1
    heap_sort(of[2], order, 0, m)
    return m, lasting_gain_share(squares - between, between - S * S / A, A / splitter.unit, m)


@jit
def _separate_levels(splitter, criterion, f, lo, hi, work, node):
    """Put the rows first whose levels are on the left by work.best; where the others begin."""
    levels, code, rows, count = (
        splitter.kinds.levels[f],
        splitter.kinds.short[splitter.kinds.stands[f]],
        splitter.numbers.rows,
        splitter.numbers.count,
    )
    _order_levels(splitter, criterion, f, lo, hi, np.int64(work.best[5]))
    for k in range(levels):
        count[k] = 0
    count[levels] = np.int64(work.best[2])
    for k in range(np.int64(work.best[1])):
        count[splitter.turn[k]] = 1
    left, right, spare = np.int64(lo), np.int64(0), work.order
    for i in range(lo, hi):
        row = rows[i]
        goes = count[code[row]]
        rows[left], spare[right] = row, row
        left += goes
        right += 1 - goes
    for i in range(right):
        rows[left + i] = spare[i]
    node[ROW_BELOW], node[ROW_ABOVE] = rows[lo], -1
    return left


@jit
def _rows_by_level(splitter, f, lo, hi):
    """Fill order and rank with the rows of the range, level by level, those without one last."""
    code, rows, order, rank = (
        splitter.kinds.codes[splitter.kinds.stands[f]],
        splitter.numbers.rows,
        splitter.order,
        splitter.rank,
    )
    levels, start, keys, m = splitter.kinds.levels[f], splitter.start, splitter.numbers.keys, hi - lo
    if levels > MAX_LEVELS_PER_ROW * m:
        for i in range(m):
            keys[i] = np.int64(code[rows[lo + i]]) << 32 | rows[lo + i]
        shell_sort(keys, m)
        for i in range(m):
            order[i] = keys[i] & 0xFFFFFFFF
            rank[i] = keys[i] >> 32
    else:
        for k in range(levels + 2):
            start[k] = 0
        for i in range(m):
            start[code[rows[lo + i]] + 1] += 1
        for k in range(levels):
            start[k + 1] += start[k]
        for i in range(m):
            row = rows[lo + i]
            at = start[code[row]]
            start[code[row]] = at + 1
            order[at], rank[at] = row, code[row]
    i = m
    while i > 0 and rank[i - 1] == levels:
        i -= 1
        rank[i] = MISSING_RANK
