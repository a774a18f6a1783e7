"""Compiled answers to the question which rows are within a radius: a list of them, or sums of what they are worth.

A search hands its hits to a collector: a panel of reduced distances at a time, or some rows of a panel, or, where
only sums are wanted, all rows of a node of a tree that is within the radius as a whole. Sums need no lists, and follow
the order in which the search visits rows, which is that of its panels; lists can be put in order afterwards
(`arrange_hits`). Rows that are handed over and are too far change nothing, not even the order of additions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fivefold.core.compilation.jit import FAST, generic, jit
from fivefold.core.types import Array, Doubles, Indices, Mask
from fivefold.spatial.search.heap_loops import sort_pairs


class HitList(NamedTuple):
    """Pairs of a query and a row, with their reduced distances."""

    queries: Array  # (room,) int32: numbers in the tile
    rows: Indices  # (room,) int64
    values: Doubles  # (room,)
    counts: Indices  # (m,) int64: hits of each query
    size: Indices  # (1,) int64: hits so far


class HitPlaces(NamedTuple):
    """The same, written to where they belong, which is known as hits were counted before."""

    ends: Indices  # (m,) int64: where those of each query end
    rows: Indices  # (hits of all tiles,) int64
    values: Doubles  # as many
    cursor: Indices  # (m,) int64: where those of each query go on


class ClassVotes(NamedTuple):
    """Sums of votes by class; rows are numbered by their places in the search."""

    codes: Indices  # (outputs, n) int64: columns of the sums that a row votes for
    columns: Doubles  # (1, n): what its vote counts
    nodes: Doubles  # (nodes of a tree, K), or none
    power: float  # votes are the reduced distance to minus this power
    certain: Mask  # (m,) bool: has the query met a row at distance zero? Then only such rows vote
    votes: Doubles  # (lanes,): scratch
    sums: Doubles  # (m, K)


class TargetVotes(NamedTuple):
    """Sums of votes, and of votes times targets."""

    columns: Doubles  # (1 + outputs, n): what a vote counts, and the same times each target
    nodes: Doubles  # as above
    power: float
    certain: Mask
    votes: Doubles
    sums: Doubles  # (m, 1 + outputs)


Collector = HitList | HitPlaces | ClassVotes | TargetVotes


@generic
def has_room(collector: Collector, needed: int) -> bool:
    """Can it take this many more hits?"""
    raise NotImplementedError


@has_room.rule(HitList)
def _(collector, needed):
    return collector.size[0] + needed <= len(collector.rows)


@has_room.rule(HitPlaces, ClassVotes, TargetVotes)
def _(collector, needed):
    return True


@generic
def forget_query(collector: Collector, i: int) -> None:
    """Take back the hits of query i, which came last."""


@forget_query.rule(HitList)
def _(collector, i):
    collector.size[0] -= collector.counts[i]
    collector.counts[i] = 0


@forget_query.rule(HitPlaces, ClassVotes, TargetVotes)
def _(collector, i):
    pass


@generic
def takes_nodes(collector: Collector) -> bool:
    """Does it take all rows of a node at once?"""
    raise NotImplementedError


@takes_nodes.rule(HitList, HitPlaces)
def _(collector):
    return False


@takes_nodes.rule(ClassVotes, TargetVotes)
def _(collector):
    return len(collector.nodes) > 0


@generic
def take_node(collector: Collector, i: int, node: int) -> None:
    """All rows of a node are near query i."""


@take_node.rule(HitList, HitPlaces)
def _(collector, i, node):
    pass


@take_node.rule(ClassVotes, TargetVotes)
def _(collector, i, node):
    for c in range(collector.sums.shape[1]):
        collector.sums[i, c] += collector.nodes[node, c]


@generic
def take_panel(
    collector: Collector, i: int, ids: Indices, first: int, m: int, skip: int, work: Doubles, limit: float
) -> None:
    """Rows ids[t], at the places first + t, whose work[t] is at most `limit`, t < m, are near query i; not t = skip."""


@take_panel.rule(HitList)
def _(collector, i, ids, first, m, skip, work, limit):
    rows, values, queries = collector.rows, collector.values, collector.queries
    start = collector.size[0]
    total = start
    for t in range(m):  # without a branch: which rows are hits cannot be foreseen
        queries[total], rows[total], values[total] = i, ids[t], work[t]
        total += 1 if work[t] <= limit and t != skip else 0
    collector.counts[i] += total - start
    collector.size[0] = total


@take_panel.rule(HitPlaces)
def _(collector, i, ids, first, m, skip, work, limit):
    rows, values, at, end = collector.rows, collector.values, collector.cursor[i], collector.ends[i]
    for t in range(m):
        if at < end:
            rows[at], values[at] = ids[t], work[t]
            at += 1 if work[t] <= limit and t != skip else 0
    collector.cursor[i] = at


@take_panel.rule(ClassVotes)
def _(collector, i, ids, first, m, skip, work, limit):
    votes, codes, sums = collector.votes, collector.codes, collector.sums
    _weigh_panel(i, m, skip, work, limit, collector.power, collector.certain, votes, sums)
    for t in range(m):
        if votes[t] > 0:
            vote = votes[t] * collector.columns[0, first + t]
            for output in range(len(codes)):
                sums[i, codes[output, first + t]] += vote


@take_panel.rule(TargetVotes)
def _(collector, i, ids, first, m, skip, work, limit):
    votes, columns, sums = collector.votes, collector.columns, collector.sums
    _weigh_panel(i, m, skip, work, limit, collector.power, collector.certain, votes, sums)
    for c in range(len(columns)):
        sums[i, c] += _dot(votes, columns[c], first, m)


@generic
def take_rows(
    collector: Collector, i: int, ids: Indices, first: int, near: Indices, m: int, values: Doubles, limit: float
) -> None:
    """Rows ids[near[t]], at the places first + near[t], whose values[t] is at most `limit`, t < m, are near query i."""


@take_rows.rule(HitList)
def _(collector, i, ids, first, near, m, values, limit):
    rows, found, queries = collector.rows, collector.values, collector.queries
    start = collector.size[0]
    total = start
    for t in range(m):
        queries[total], rows[total], found[total] = i, ids[near[t]], values[t]
        total += 1 if values[t] <= limit else 0
    collector.counts[i] += total - start
    collector.size[0] = total


@take_rows.rule(ClassVotes)
def _(collector, i, ids, first, near, m, values, limit):
    votes, codes, sums = collector.votes, collector.codes, collector.sums
    _weigh_panel(i, m, -1, values, limit, collector.power, collector.certain, votes, sums)
    for t in range(m):
        if votes[t] > 0:
            place = first + near[t]
            vote = votes[t] * collector.columns[0, place]
            for output in range(len(codes)):
                sums[i, codes[output, place]] += vote


@take_rows.rule(TargetVotes)
def _(collector, i, ids, first, near, m, values, limit):
    votes, columns, sums = collector.votes, collector.columns, collector.sums
    _weigh_panel(i, m, -1, values, limit, collector.power, collector.certain, votes, sums)
    for c in range(len(columns)):
        total = sums[i, c]
        for t in range(m):
            total += votes[t] * columns[c, first + near[t]]
        sums[i, c] = total


@jit(fastmath=FAST, error_model="numpy")
def _dot(votes, column, first, m):
    total = 0.0
    for t in range(m):
        total += votes[t] * column[first + t]
    return total


@jit(error_model="numpy")
def _panel_votes(work, m, limit, power, votes):
    """Votes of the rows of a panel, zero of those that are too far; whether one is at distance zero."""
    zeros = 0
    for t in range(m):
        zeros += 1 if work[t] <= 0 else 0
    if power == 0.0:
        for t in range(m):
            votes[t] = 1.0 if work[t] <= limit else 0.0
    elif power == 0.5:
        for t in range(m):
            vote = 1.0 / np.sqrt(work[t])
            votes[t] = vote if work[t] <= limit else 0.0
    elif power == 1.0:
        for t in range(m):
            vote = 1.0 / work[t]
            votes[t] = vote if work[t] <= limit else 0.0
    else:
        for t in range(m):
            votes[t] = work[t] ** -power if work[t] <= limit else 0.0
    return zeros > 0


@jit(error_model="numpy")
def _weigh_panel(i, m, skip, work, limit, power, certain, votes, sums):
    """The votes of a panel; at the first row at distance zero the sums begin again, and only such rows count."""
    zeros = _panel_votes(work, m, limit, power, votes)
    if power > 0 and (certain[i] or zeros):
        others = 0
        for t in range(m):
            votes[t] = 1.0 if work[t] <= 0 else 0.0
            others += 1 if work[t] <= 0 and t != skip else 0
        if others == 0 and not certain[i]:  # the only one is the row that is left out
            _panel_votes(work, m, limit, power, votes)
        elif not certain[i]:
            certain[i] = True
            for c in range(sums.shape[1]):
                sums[i, c] = 0.0
    if 0 <= skip < m:
        votes[skip] = 0.0


@jit(error_model="numpy")
def lane_of(ids, m, row):
    """The place of a row among the first m numbers, or -1."""
    if row >= 0:
        for t in range(m):
            if ids[t] == row:
                return t
    return -1


@jit(error_model="numpy")
def place_hits(queries, rows, values, cursor, out_rows, out_values):
    """Write hits to where those of their queries go on, cursor (m,)."""
    for h in range(len(rows)):
        at = cursor[queries[h]]
        out_rows[at], out_values[at] = rows[h], values[h]
        cursor[queries[h]] = at + 1


@jit(error_model="numpy")
def arrange_hits(starts, counts, rows, values):
    """Put the hits of each query, which begin at starts (m,), in the order of distances, equal ones in that of rows."""
    for i in range(len(starts)):
        lo, hi = starts[i], starts[i] + counts[i]
        sort_pairs(values[lo:hi], rows[lo:hi], hi - lo)
