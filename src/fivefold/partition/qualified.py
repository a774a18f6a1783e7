"""Exact splits of columns that hold categories or that the answer must follow.

Categories. The rows of a node stand level by level; the levels are put in the order of the mean target of their rows,
and the column is cut like a sorted one. For two classes or a number under squared error, Gini or entropy no division of
the levels into two sets gains more. With more classes every class takes its turn as the target.

Monotone columns. Where the answer must rise with a column, the mean on the left of a cut may not exceed that on the
right, and both stay within the bounds of the node; the point halfway between them bounds what stands below.

Fisher (1958); Breiman, Friedman, Olshen & Stone (1984), section 4.2 and theorem 4.5.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fivefold.core.compile import jit
from fivefold.partition.criteria import aim, aims, scores, weigh
from fivefold.partition.ordering import heap_sort
from fivefold.partition.presorted import IN_ORDER, Presorted, best_cut, choose, flagged, known_end, parted
from fivefold.partition.splitter import INNER, Manner, cut, divide, listed, lists, mark


class Qualified(NamedTuple):
    """Sorted columns, and the manner of each."""

    order: Any  # (d, n) int32
    rank: Any
    flag: Any
    manner: Manner


def qualify(columns: Presorted, manner: Manner) -> Qualified:
    """Sorted columns with what is asked of them."""
    return Qualified(*columns, manner)


@listed.rule(Qualified)
def _(splitter):
    return splitter.order[0]


@lists.rule(Qualified)
def _(splitter):
    return len(splitter.order)


@divide.rule(Qualified)
def _(splitter, j, lo, hi, work):
    parted(splitter.order[j], splitter.rank[j], lo, hi, splitter.flag, work.order, work.rank)


@cut.rule(Qualified)
def _(splitter, criterion, f, lo, hi, rules, total, work):
    order, rank, manner = splitter.order[f], splitter.rank[f], splitter.manner
    if manner.levels[f] > 0:
        return _level_cut(criterion, order, rank, lo, hi, rules, total, work)
    if manner.sign[f] != 0:
        low, high = manner.low[lo], manner.high[lo]
        return _monotone_cut(criterion, order, rank, manner.sign[f], low, high, lo, hi, rules, total, work)
    return best_cut(criterion, order, rank, lo, hi, rules, total, work)


@mark.rule(Qualified)
def _(splitter, criterion, f, lo, hi, work, node):
    order = splitter.order[f]
    middle = flagged(order, splitter.rank[f], lo, hi, work.best, splitter.flag, node)
    a, s, b, t = 0.0, 0.0, 0.0, 0.0
    for i in range(lo, hi):
        w = weigh(criterion, order[i])
        if splitter.flag[order[i]] == 1:
            a += w
            s += w * aim(criterion, order[i], 0)
        else:
            b += w
            t += w * aim(criterion, order[i], 0)
    pass_bounds(splitter.manner, f, lo, middle, s / a, t / b)
    return middle


@jit(**INNER)
def pass_bounds(manner, f, lo, middle, left, right):
    """Bounds of the two sides of a cut, whose answers are `left` and `right`."""
    manner.low[middle], manner.high[middle] = manner.low[lo], manner.high[lo]
    between = (left + right) / 2.0
    if manner.sign[f] > 0:
        manner.high[lo] = manner.low[middle] = between
    elif manner.sign[f] < 0:
        manner.low[lo] = manner.high[middle] = between


@jit(**INNER)
def within(sign, low, high, left, right):
    """May the sides of a cut answer so?"""
    return sign * (left - right) <= 0.0 and low <= left <= high and low <= right <= high


@jit(fastmath=IN_ORDER, error_model="numpy", **INNER)
def _monotone_cut(criterion, order, rank, sign, low, high, lo, hi, rules, total, work):
    mid = known_end(rank, lo, hi)
    absent = hi - mid
    if mid == lo or (absent == 0 and rank[lo] == rank[mid - 1]):
        return False
    known, away = 0.0, 0.0
    for i in range(lo, mid):
        known += weigh(criterion, order[i]) * aim(criterion, order[i], 0)
    for i in range(mid, hi):
        away += weigh(criterion, order[i]) * aim(criterion, order[i], 0)
    for side in range(2 if absent > 0 else 1):
        scores(criterion, order, lo, mid, hi, side == 1, work.sums, work.left, work.right, work.gain, work.weight)
        T = away if side == 1 else 0.0
        for i in range(mid - lo):
            T += weigh(criterion, order[lo + i]) * aim(criterion, order[lo + i], 0)
            L = work.weight[i]
            if L >= total or not within(sign, low, high, T / L, (known + away - T) / (total - L)):
                work.gain[i] = -np.inf
        choose(rank, lo, mid, hi, side, rules, total, work.gain, work.weight, work.best)
    return True


@jit(fastmath=IN_ORDER, error_model="numpy", **INNER)
def _level_cut(criterion, order, rank, lo, hi, rules, total, work):
    """The best cut over the orders of the levels; the column is left in the order of that cut."""
    found, winner, turns = False, -1, aims(criterion)
    for j in range(turns):
        _arrange(criterion, order, rank, lo, hi, j)
        before = work.best[0]
        found = best_cut(criterion, order, rank, lo, hi, rules, total, work)
        if work.best[0] > before:
            winner = j
    if 0 <= winner < turns - 1:
        _arrange(criterion, order, rank, lo, hi, winner)
    return found


@jit(error_model="numpy", **INNER)
def _arrange(criterion, order, rank, lo, hi, j):
    """Levels in the order of their mean target, rows of a level together; rows without a value stay last."""
    mid = known_end(rank, lo, hi)
    m, count = mid - lo, 0
    start, mean = np.empty(m + 1, dtype=np.int32), np.empty(m)
    i = lo
    while i < mid:
        a, s, begin = 0.0, 0.0, i
        while i < mid and rank[i] == rank[begin]:
            w = weigh(criterion, order[i])
            a += w
            s += w * aim(criterion, order[i], j)
            i += 1
        start[count], mean[count] = begin, s / a
        count += 1
    heap_sort(mean, start, 0, count)
    rows, ranks, filled = np.empty(m, dtype=np.int32), np.empty(m, dtype=np.int32), 0
    for b in range(count):
        i = np.int64(start[b])
        level = rank[i]
        while i < mid and rank[i] == level:
            rows[filled], ranks[filled] = order[i], level
            filled += 1
            i += 1
    for i in range(m):
        order[lo + i], rank[lo + i] = rows[i], ranks[i]
