"""Exact splits of sorted columns: sort once, then keep every column sorted within every node.

Column f lists the rows by their value; a node is the same range lo..hi of every column. Dividing a node is a stable
partition of the range in each column, so no node is ever sorted again: a level of the tree costs one pass over the
data.
Values are compared by their ranks, so float64 columns are exact in four bytes; missing values have the last rank.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fivefold.core.compile import FAST, jit
from fivefold.core.parallel import map_items
from fivefold.partition.criteria import scores
from fivefold.partition.splitter import apart, cut, listed
from fivefold.partition.tree import HIGH, LOW

MISSING = np.int32(2**31 - 1)
IN_ORDER = FAST - {"nnan", "ninf"}  # gains of forbidden cuts are -inf


class Presorted(NamedTuple):
    """Rows of each column by value (d, n), the ranks of their values, and a flag for each row."""

    order: Any  # int32
    rank: Any  # int32
    flag: Any  # (n,) uint8: does the row go left?

    def copied(self) -> Presorted:
        """The same columns to be divided anew."""
        return Presorted(self.order.copy(), self.rank.copy(), self.flag)


def presort(X: Any) -> Presorted:
    """Sort every column of X (n, d), NaN last."""
    n, d = X.shape
    order, rank = np.empty((d, n), dtype=np.int32), np.empty((d, n), dtype=np.int32)

    def column(f: int) -> None:
        x = np.ascontiguousarray(X[:, f])
        order[f] = rows = np.argsort(x, kind="stable")
        x = x[rows]
        known = n - int(np.isnan(x).sum())
        rank[f, 0] = 0
        np.cumsum(x[1:known] != x[: known - 1], out=rank[f, 1:known])
        rank[f, known:] = MISSING

    map_items(column, d)
    return Presorted(order, rank, np.zeros(n, dtype=np.uint8))


@jit
def known_end(rank, lo, hi):
    """Where the missing values of the range begin."""
    if rank[hi - 1] != MISSING:
        return hi
    a, b = lo, hi - 1  # rank[b] is missing
    while a < b:
        middle = (a + b) // 2
        if rank[middle] == MISSING:
            b = middle
        else:
            a = middle + 1
    return a


@jit(fastmath=IN_ORDER, error_model="numpy")
def best_cut(criterion, order, rank, lo, hi, rules, total, work):
    """Fill work.best = (gain, position, missing left) if a cut of this column beats it; was there a cut at all?

    A cut at position i sends rows order[lo : i + 1] left.
    """
    sums, gain, weight, best = work.sums, work.gain, work.weight, work.best
    least, least_weight = rules.least_leaf, rules.least_weight
    mid = known_end(rank, lo, hi)
    absent = hi - mid
    if mid == lo or (absent == 0 and rank[lo] == rank[mid - 1]):
        return False
    found = False
    for side in range(2 if absent > 0 else 1):
        scores(criterion, order, lo, mid, hi, side == 1, sums, work.left, work.right, gain, weight)
        extra = absent if side == 1 else 0
        m = mid - lo
        for i in range(m - 1):
            if rank[lo + i] == rank[lo + i + 1]:
                gain[i] = -np.inf
        if side == 1 or absent == 0:  # nothing would be left on the right
            gain[m - 1] = -np.inf
        if least_weight > 0.0:
            for i in range(m):
                if weight[i] < least_weight or total - weight[i] < least_weight:
                    gain[i] = -np.inf
        first = max(least - 1 - extra, 0)
        last = min(m, hi - lo - extra - least)
        top = -np.inf
        for i in range(first, last):
            top = max(top, gain[i])
        if top > -np.inf:
            found = True
        if top > best[0] + best[3]:
            at = first
            while gain[at] < top - best[3]:
                at += 1
            best[0], best[1], best[2] = top, lo + at, side
    return found


@listed.rule(Presorted)
def _(splitter):
    return splitter.order[0]


@cut.rule(Presorted)
def _(splitter, criterion, f, lo, hi, rules, total, work):
    return best_cut(criterion, splitter.order[f], splitter.rank[f], lo, hi, rules, total, work)


@apart.rule(Presorted)
def _(splitter, f, lo, hi, work, at, nodes):
    middle = mark(splitter.order[f], splitter.rank[f], lo, hi, work.best, splitter.flag, nodes[at])
    for j in range(len(splitter.order)):
        divide(splitter.order[j], splitter.rank[j], lo, hi, splitter.flag, work.order, work.rank)
    return middle


@jit
def mark(order, rank, lo, hi, best, flag, node):
    """Flag the rows that go left by the cut of one column; where the others begin. The node gets its neighbours."""
    at, missing_left, mid = np.int64(best[1]), np.int64(best[2]), known_end(rank, lo, hi)
    for i in range(lo, at + 1):
        flag[order[i]] = 1
    for i in range(at + 1, mid):
        flag[order[i]] = 0
    for i in range(mid, hi):
        flag[order[i]] = missing_left
    node[LOW] = order[at]
    node[HIGH] = order[at + 1] if at + 1 < mid else -1
    return at + 1 + (hi - mid if missing_left == 1 else 0)


@jit
def divide(order, rank, lo, hi, flag, spare_order, spare_rank):
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
