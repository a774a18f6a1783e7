"""Splits on a sample of the columns: for forests, where sorting every column of every node would be wasted.

A node is a range of one list of rows. Large nodes tally their rows into at most 255 bins of equal share a column and
cut between bins; nodes of at most `SMALL` rows, counted by their weight, are sorted by their ranks and cut exactly, and
so are columns of larger nodes that no edge of a bin divides.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fivefold.core.compile import FAST, jit
from fivefold.core.parallel import map_items
from fivefold.partition.columns import column_by_column
from fivefold.partition.criteria import heft, merit, tally
from fivefold.partition.presorted import MISSING, best_cut
from fivefold.partition.splitter import INNER, cut, divide, listed, lists, mark
from fivefold.partition.tree import HIGH, LOW

BINS = 255  # and one for missing values
FINE = 2**16  # values of a bin that are told apart
SMALL = 64  # weight of a node that is sorted
IN_ORDER = FAST - {"nnan", "ninf"}


class Ranked(NamedTuple):
    """The place of every value in its column, a bin and a rank within it (d, n): what all trees of a forest share."""

    bins: Any  # uint8, BINS for missing
    fine: Any  # uint16


class Sampled(NamedTuple):
    """The rows of one tree, and what it shares with the others."""

    rows: Any  # (m,) int32
    bins: Any
    fine: Any
    table: Any  # (BINS + 1, q) scratch
    count: Any  # (BINS + 1,) int64 scratch
    keys: Any  # (m,) int64 scratch


def rank_columns(X: Any) -> Ranked:
    """Bins of the values of each column of X (n, d), and their ranks within."""
    n, d = X.shape
    bins, fine = np.empty((d, n), dtype=np.uint8), np.empty((d, n), dtype=np.uint16)
    values = column_by_column(X)

    def column(f: int) -> None:
        x = values(f)
        order = np.argsort(x)
        x = x[order]
        known = n - int(np.isnan(x).sum())
        rank = np.zeros(n, dtype=np.int64)
        np.cumsum(x[1:known] != x[: known - 1], out=rank[1:known])
        count = int(rank[known - 1]) + 1 if known else 1
        place = rank * BINS // count
        rank -= (place * count + BINS - 1) // BINS  # the rank of the first of its bin
        if (most := count // BINS + 1) > FINE:
            rank = rank * FINE // most
        place[known:], rank[known:] = BINS, 0
        bins[f, order], fine[f, order] = place, rank

    map_items(column, d)
    return Ranked(bins, fine)


def sampled(ranked: Ranked, rows: Any, statistics: int) -> Sampled:
    """A splitter of these rows, which it will reorder."""
    table, count = np.empty((BINS + 1, statistics)), np.zeros(BINS + 1, dtype=np.int64)
    return Sampled(rows, *ranked, table, count, np.empty(len(rows), dtype=np.int64))


@jit(**INNER)
def _rank(bins, fine, row):
    """The place of a row in its column."""
    return np.int32(np.int32(bins[row]) * FINE + fine[row]) if bins[row] < BINS else MISSING


@listed.rule(Sampled)
def _(splitter):
    return splitter.rows


@cut.rule(Sampled)
def _(splitter, criterion, f, lo, hi, rules, total, work):
    small = total <= SMALL and hi - lo <= SMALL  # by weight, so that it means repetition
    if not small and _binned(criterion, splitter, f, lo, hi, rules, total, work):
        return True
    if not small and not _varied(splitter.bins[f], splitter.fine[f], splitter.rows, lo, hi):
        return False
    return _exact(criterion, splitter, f, lo, hi, rules, total, work)


@lists.rule(Sampled)
def _(splitter):
    return 0


@mark.rule(Sampled)
def _(splitter, criterion, f, lo, hi, work, node):
    rank, missing_left = np.int32(work.best[1]), np.int64(work.best[2])
    return _separate(splitter.rows, splitter.bins[f], splitter.fine[f], rank, missing_left, lo, hi, work.order, node)


@divide.rule(Sampled)
def _(splitter, j, lo, hi, work):
    return


@jit(fastmath=IN_ORDER, error_model="numpy", **INNER)
def _exact(criterion, splitter, f, lo, hi, rules, total, work):
    bins, fine, rows, keys, m = splitter.bins[f], splitter.fine[f], splitter.rows, splitter.keys, hi - lo
    for i in range(m):
        row = rows[lo + i]
        keys[i] = np.int64(_rank(bins, fine, row)) << 32 | row
    _sort(keys, m)
    for i in range(m):
        work.rank[i] = keys[i] >> 32
        work.order[i] = keys[i] & 0xFFFFFFFF
    before = work.best[0]
    found = best_cut(criterion, work.order, work.rank, 0, m, rules, total, work)
    if work.best[0] > before:
        work.best[1] = work.rank[np.int64(work.best[1])]
    return found


@jit(**INNER)
def _sort(keys, m):
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


@jit(**INNER)
def _varied(bins, fine, rows, lo, hi):
    """Do the rows have more than one value?"""
    first, i = _rank(bins, fine, rows[lo]), lo + 1
    while i < hi and _rank(bins, fine, rows[i]) == first:
        i += 1
    return i < hi


@jit(fastmath=IN_ORDER, error_model="numpy", **INNER)
def _binned(criterion, splitter, f, lo, hi, rules, total, work):
    bins, table, count, rows = splitter.bins[f], splitter.table, splitter.count, splitter.rows
    q = table.shape[1]
    for b in range(BINS + 1):
        for k in range(q):
            table[b, k] = 0.0
    tally(criterion, bins, rows, lo, hi, table)
    if rules.least_leaf > 1:
        for b in range(BINS + 1):
            count[b] = 0
        for i in range(lo, hi):
            count[bins[rows[i]]] += 1
    left, sums, best = work.left, work.sums, work.best
    absent = heft(criterion, table[BINS])
    found = False
    for side in range(2 if absent > 0.0 else 1):
        for k in range(q):
            left[k] = table[BINS, k] if side == 1 else 0.0
        there = count[BINS] if side == 1 else 0
        for b in range(BINS):
            mass = heft(criterion, table[b])
            if mass <= 0.0:
                continue
            for k in range(q):
                left[k] += table[b, k]
            L = heft(criterion, left)
            there += count[b]
            if total - L <= 1e-12 * total:
                break
            if L < rules.least_weight or total - L < rules.least_weight:
                continue
            if rules.least_leaf > 1 and (there < rules.least_leaf or hi - lo - there < rules.least_leaf):
                continue
            found = True
            gain = merit(criterion, left, sums)
            if gain > best[0] + best[3]:
                best[0], best[1], best[2] = gain, (b + 1) * FINE - 1, side
                if absent <= 0.0:  # a value that is missing later goes with most of the weight
                    best[2] = 1.0 if 2.0 * L > total else 0.0
    return found


@jit(**INNER)
def _separate(rows, bins, fine, cut, missing_left, lo, hi, spare, node):
    """Rows of the range with ranks up to the cut first, then the others; where they begin.

    The node gets the row with the largest rank on the left, and that with the least on the right or -1.
    """
    left, right, low, high = np.int64(lo), np.int64(0), np.int32(-1), MISSING
    node[LOW], node[HIGH] = -1, -1
    for i in range(lo, hi):
        row = rows[i]
        r = _rank(bins, fine, row)
        goes = np.int64(missing_left if r == MISSING else r <= cut)
        if r != MISSING:
            if goes == 1 and r > low:
                low, node[LOW] = r, row
            if goes == 0 and r < high:
                high, node[HIGH] = r, row
        rows[left] = row
        spare[right] = row
        left += goes
        right += 1 - goes
    for i in range(right):
        rows[left + i] = spare[i]
    return left
