"""Splits on a sample of columns, some of which hold categories: for forests.

Numbers are cut as by `Sampled`. Of a category the rows of a node are put level by level, by counting or, where the rows
are few beside the levels, by sorting; then the levels are divided as by `Qualified`. The division that wins is made
once more when the rows are put in order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fivefold.core.compile import jit
from fivefold.partition.presorted import MISSING, known_end
from fivefold.partition.qualified import arrange, grouped
from fivefold.partition.sampled import Sampled, number_cut, number_mark, shell_sort
from fivefold.partition.splitter import INNER, cut, divide, listed, lists, mark
from fivefold.partition.tree import HIGH, LOW

FEW = 8  # rows are sorted where the levels are more than so many times as many


class Coded(NamedTuple):
    """The levels of the columns that hold categories: what all trees of a forest share."""

    levels: Any  # (d,) int64: categories of a column, 0 for numbers
    stands: Any  # (d,) int64: the row of `codes` of a column
    codes: Any  # (c, n) int32; the number of levels for missing


class Assorted(NamedTuple):
    """The rows of one tree, and what it shares with the others."""

    rows: Any  # (m,) int32
    bins: Any
    fine: Any
    gaps: Any
    table: Any
    cells: Any
    count: Any
    place: Any
    gain: Any
    weight: Any
    keys: Any  # (m,) int64 scratch
    few: Any
    levels: Any
    stands: Any
    codes: Any
    unit: float  # weight of one row
    order: Any  # (m,) int32 scratch: rows level by level
    rank: Any  # (m,) int32 scratch: their levels
    start: Any  # (levels + 2,) int64 scratch


def coded(X: Any, levels: Any) -> Coded:
    """Codes of the columns of X (n, d) that have levels."""
    columns = np.flatnonzero(levels)
    stands, codes = np.full(len(levels), -1, dtype=np.int64), np.empty((len(columns), X.shape[0]), dtype=np.int32)
    stands[columns] = np.arange(len(columns))
    for f, code in zip(columns, codes, strict=True):
        code[:] = np.where(np.isnan(X[:, f]), levels[f], X[:, f])
    return Coded(levels, stands, codes)


def assorted(numbers: Sampled, kinds: Coded, unit: float) -> Assorted:
    """A splitter of the same rows that knows categories."""
    order, rank = np.empty((2, len(numbers.rows)), dtype=np.int32)
    start = np.zeros(int(kinds.levels.max()) + 2, dtype=np.int64)
    return Assorted(*numbers, *kinds, unit, order, rank, start)


@listed.rule(Assorted)
def _(splitter):
    return splitter.rows


@lists.rule(Assorted)
def _(splitter):
    return 0


@divide.rule(Assorted)
def _(splitter, j, lo, hi, work):
    return


@cut.rule(Assorted)
def _(splitter, criterion, f, lo, hi, rules, total, work):
    if splitter.levels[f] == 0:
        return number_cut(splitter, criterion, f, lo, hi, rules, total, work)
    _by_level(splitter, f, lo, hi)
    order, rank, m = splitter.order, splitter.rank, hi - lo
    mid = known_end(rank, 0, m)
    if mid == 0 or (mid == m and rank[0] == rank[mid - 1]):
        return False
    return grouped(criterion, order, rank, 0, mid, m, rules, splitter.unit, total, work)


@mark.rule(Assorted)
def _(splitter, criterion, f, lo, hi, work, node):
    if splitter.levels[f] == 0:
        return number_mark(splitter, f, lo, hi, work, node)
    _by_level(splitter, f, lo, hi)
    order, m, at, missing_left = splitter.order, hi - lo, np.int64(work.best[1]), np.int64(work.best[2])
    mid = known_end(splitter.rank, 0, m)
    arrange(criterion, order, splitter.rank, 0, mid, np.int64(work.best[5]), splitter.unit, work)
    node[LOW], node[HIGH] = order[at], -1
    rows, left, right = splitter.rows, np.int64(lo), np.int64(hi)
    for i in range(m):
        if i <= at or (i >= mid and missing_left == 1):
            rows[left] = order[i]
            left += 1
        else:
            right -= 1
            rows[right] = order[i]
    return left


@jit(**INNER)
def _by_level(splitter, f, lo, hi):
    """Fill order and rank with the rows of the range, level by level, those without one last."""
    code, rows, order, rank = splitter.codes[splitter.stands[f]], splitter.rows, splitter.order, splitter.rank
    levels, start, keys, m = splitter.levels[f], splitter.start, splitter.keys, hi - lo
    if levels > FEW * m:
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
        rank[i] = MISSING
