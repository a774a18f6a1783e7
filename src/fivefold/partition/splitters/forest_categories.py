"""Splits on a sample of columns, some of which hold categories: for forests.

Numbers are cut as by `ForestSplitter`. The levels of a category are divided as by `CategoricalSplitter`: where there
are few levels, from the sums of each; otherwise the rows of a node are grouped by level, by counting or, where the rows
are few compared with the levels, by sorting. The winning division is worked out once more when the rows are reordered.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.core.types import Array, Codes, Indices, Table
from fivefold.partition.criteria.base import add_to_bins, n_targets, row_target, row_weight, score_bin_cuts
from fivefold.partition.sort_loops import heap_sort
from fivefold.partition.splitters.base import (
    BEST_CUT,
    BEST_GAIN,
    BEST_MISSING_LEFT,
    BEST_ORDER,
    BEST_TIE,
    ROW_ABOVE,
    ROW_BELOW,
    divide_list,
    mark_split,
    n_row_lists,
    row_list,
    search_split,
)
from fivefold.partition.splitters.categorical_splitter import lasting_gain_share, order_levels, search_level_groups
from fivefold.partition.splitters.forest_splitter import (
    N_BINS,
    ForestSplitter,
    mark_numeric_split,
    search_numeric_split,
    shell_sort,
)
from fivefold.partition.splitters.presorted_splitter import MISSING_RANK, known_end

MAX_LEVELS_PER_ROW = 8  # rows are sorted, not counted, where a column has more levels than this per row of the node


class CategoryCodes(NamedTuple):
    """The levels of the columns that hold categories: what all trees of a forest share."""

    levels: Indices  # (d,) int64: number of categories of a column, 0 for numbers
    code_row: Indices  # (d,) int64: the row of `codes` that holds a column
    codes: Indices  # (c, n) int32; missing values have the number of levels as their code
    codes8: Indices  # (c, n) uint8: the same, for columns with at most N_BINS levels


class MixedForestSplitter(NamedTuple):
    """The rows of one tree, and what it shares with the others."""

    numeric: ForestSplitter
    categories: CategoryCodes
    unit: float  # weight of one row
    order: Indices  # (m,) int32 scratch: rows level by level
    rank: Indices  # (m,) int32 scratch: their levels
    start: Indices  # (levels + 2,) int64 scratch
    sorted_table: Array  # (N_BINS + 1, q) scratch: the table with its levels in order
    level_sums: Array  # (3, N_BINS + 1) scratch: weight, sum and mean of the target of each level
    level_order: Indices  # (N_BINS + 1,) int32 scratch: levels in order


def category_codes(X: Table, levels: Codes) -> CategoryCodes:
    """Codes of the columns of X (n, d) that have levels."""
    columns = np.flatnonzero(levels)
    code_row, codes = np.full(len(levels), -1, dtype=np.int64), np.empty((len(columns), X.shape[0]), dtype=np.int32)
    code_row[columns] = np.arange(len(columns))
    for f, code in zip(columns, codes, strict=True):
        code[:] = np.where(np.isnan(X[:, f]), levels[f], X[:, f])
    return CategoryCodes(levels, code_row, codes, codes.astype(np.uint8))


def mixed_forest_splitter(numeric: ForestSplitter, categories: CategoryCodes, unit: float) -> MixedForestSplitter:
    """A splitter of the same rows that can also split categories."""
    order, rank = np.empty((2, len(numeric.rows)), dtype=np.int32)
    start = np.zeros(int(categories.levels.max()) + 2, dtype=np.int64)
    return MixedForestSplitter(
        numeric=numeric,
        categories=categories,
        unit=unit,
        order=order,
        rank=rank,
        start=start,
        sorted_table=np.empty_like(numeric.table),
        level_sums=np.empty((3, N_BINS + 1)),
        level_order=np.empty(N_BINS + 1, dtype=np.int32),
    )


@row_list.rule(MixedForestSplitter)
def _(splitter):
    return splitter.numeric.rows


@n_row_lists.rule(MixedForestSplitter)
def _(splitter):
    return 0


@divide_list.rule(MixedForestSplitter)
def _(splitter, j, lo, hi, work):
    return


@search_split.rule(MixedForestSplitter)
def _(splitter, criterion, f, lo, hi, rules, total, work):
    if splitter.categories.levels[f] == 0:
        return search_numeric_split(splitter.numeric, criterion, f, lo, hi, rules, total, work)
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
    if splitter.categories.levels[f] == 0:
        return mark_numeric_split(splitter.numeric, f, lo, hi, work, node)
    if _use_level_sums(splitter, f, lo, hi):
        return _separate_levels(splitter, criterion, f, lo, hi, work, node)
    _rows_by_level(splitter, f, lo, hi)
    order, m = splitter.order, hi - lo
    at, missing_left = np.int64(work.best[BEST_CUT]), np.int64(work.best[BEST_MISSING_LEFT])
    mid = known_end(splitter.rank, 0, m)
    order_levels(criterion, order, splitter.rank, 0, mid, np.int64(work.best[BEST_ORDER]), splitter.unit, work)
    node[ROW_BELOW], node[ROW_ABOVE] = order[at], -1
    rows, left, right = splitter.numeric.rows, np.int64(lo), np.int64(hi)
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
    return splitter.categories.levels[f] <= N_BINS and splitter.categories.levels[f] <= MAX_LEVELS_PER_ROW * (hi - lo)


@jit(error_model="numpy")
def _search_level_sums(splitter, criterion, f, lo, hi, rules, total, work):
    """Fill work.best if a division of the levels beats it; is there one? BEST_CUT counts the levels on the left."""
    levels, code, table, sorted_table = (
        splitter.categories.levels[f],
        splitter.categories.codes8[splitter.categories.code_row[f]],
        splitter.numeric.table,
        splitter.sorted_table,
    )
    gain, weight, count, best, order = (
        splitter.numeric.gain,
        splitter.numeric.weight,
        splitter.numeric.count,
        work.best,
        splitter.level_order,
    )
    for k in range(levels + 1):
        for q in range(table.shape[1]):
            table[k, q] = 0.0
    add_to_bins(criterion, code, splitter.numeric.rows, lo, hi, table)
    found, least = False, rules.min_weight
    for turn in range(n_targets(criterion)):
        m, share = _order_levels(splitter, criterion, f, lo, hi, turn)
        absent, before = count[levels] > 0, best[BEST_GAIN]
        found = found or (m > 0 and absent) or (m > 1 and share > 0.0)
        for k in range(m):
            for q in range(table.shape[1]):
                sorted_table[k, q] = table[order[k], q]
        for q in range(table.shape[1]):
            sorted_table[m, q] = table[levels, q]
        for side in range(2 if absent else 1):
            there = count[levels] if side == 1 else 0
            cuts = score_bin_cuts(
                criterion,
                sorted_table,
                m,
                m if side == 1 else -1,
                work.sums,
                work.left,
                gain,
                weight,
                splitter.numeric.place,
            )
            for i in range(cuts if absent and side == 0 else cuts - 1):
                there += count[order[i]]
                if i < m - 1:  # the last cut leaves all levels on one side: nothing is sorted by the target
                    gain[i] = gain[i] * share if share > 0.0 else -np.inf
                enough = there >= rules.min_leaf and hi - lo - there >= rules.min_leaf
                if (
                    gain[i] > best[BEST_GAIN] + best[BEST_TIE]
                    and enough
                    and weight[i] >= least
                    and total - weight[i] >= least
                ):
                    best[BEST_GAIN], best[BEST_CUT], best[BEST_MISSING_LEFT] = gain[i], i + 1, side
                    if not absent:  # a level that is missing later goes with most of the weight
                        best[BEST_MISSING_LEFT] = 1.0 if 2.0 * weight[i] > total else 0.0
        if best[BEST_GAIN] > before:
            best[BEST_ORDER] = turn
    return found


@jit(error_model="numpy")
def _order_levels(splitter, criterion, f, lo, hi, j):
    """Put the levels that have rows in the order of their mean target j; their number, and the lasting share of gain.

    splitter.numeric.count holds the number of rows of each level, and last of those whose value is missing.
    """
    levels, code, rows = (
        splitter.categories.levels[f],
        splitter.categories.codes8[splitter.categories.code_row[f]],
        splitter.numeric.rows,
    )
    by_level, count, order, squares = splitter.level_sums, splitter.numeric.count, splitter.level_order, 0.0
    for k in range(levels + 1):
        by_level[0, k], by_level[1, k], count[k] = 0.0, 0.0, 0
    for i in range(lo, hi):
        row = rows[i]
        k, w, y = code[row], row_weight(criterion, row), row_target(criterion, row, j)
        by_level[0, k] += w
        by_level[1, k] += w * y
        count[k] += 1
        squares += w * y * y if k < levels else 0.0
    m, A, S, between = 0, 0.0, 0.0, 0.0
    for k in range(levels):
        if count[k] > 0:
            a, s = by_level[0, k], by_level[1, k]
            order[m], by_level[2, m] = k, s / a
            A, S, between = A + a, S + s, between + s * by_level[2, m]
            m += 1
    heap_sort(by_level[2], order, 0, m)
    return m, lasting_gain_share(squares - between, between - S * S / A, A / splitter.unit, m)


@jit
def _separate_levels(splitter, criterion, f, lo, hi, work, node):
    """Put the rows first whose levels work.best sends left; return where the others begin."""
    levels, code, rows, count = (
        splitter.categories.levels[f],
        splitter.categories.codes8[splitter.categories.code_row[f]],
        splitter.numeric.rows,
        splitter.numeric.count,
    )
    _order_levels(splitter, criterion, f, lo, hi, np.int64(work.best[BEST_ORDER]))
    for k in range(levels):
        count[k] = 0
    count[levels] = np.int64(work.best[BEST_MISSING_LEFT])
    for k in range(np.int64(work.best[BEST_CUT])):
        count[splitter.level_order[k]] = 1
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
    """Fill order and rank with the rows of the range, level by level, those with a missing value last."""
    code, rows, order, rank = (
        splitter.categories.codes[splitter.categories.code_row[f]],
        splitter.numeric.rows,
        splitter.order,
        splitter.rank,
    )
    levels, start, keys, m = splitter.categories.levels[f], splitter.start, splitter.numeric.keys, hi - lo
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
