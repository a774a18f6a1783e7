"""Compiled merging on a condensed matrix of distances, in place: a nearest-neighbour chain, and Prim's spanning tree.

The distances of cluster k to what a and b became, when these two merge (Lance & Williams, 1967):

    complete   max(d_ka, d_kb)
    average    (n_a d_ka + n_b d_kb) / (n_a + n_b)
    weighted   (d_ka + d_kb) / 2
    Ward       sqrt(((n_k + n_a) d_ka^2 + (n_k + n_b) d_kb^2 - n_k d_ab^2) / (n_k + n_a + n_b))

The distance of i and j > i is D[i (2 m - i - 1) / 2 + j - i - 1] while there are m places. When a quarter of the
clusters are gone the others close ranks, in their order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fivefold.cluster.hierarchy.least_loops import first_at, smallest_value
from fivefold.core.compilation.jit import jit
from fivefold.core.team_loops import run_task, share_tasks
from fivefold.core.types import Doubles, Indices, Mask
from fivefold.spatial.metrics.rule_loops import panel_distances
from fivefold.spatial.search.brute_force_loops import LANES

PLACES_PER_TASK = 4096  # clusters that a task compares: about 15 microseconds of work
MAX_TASKS = 32
COMPLETE, AVERAGE, WEIGHTED, WARD = range(4)
SCAN, UPDATE = range(2)  # kinds of tasks
# Numbers that change from step to step: places, clusters, the two that are compared or merged, length of the chain,
# merges done
SLOTS, ALIVE, ONE, OTHER, LENGTH, MERGES, COUNTERS = range(7)
PLAIN, ROOT, HALF = range(3)  # the way from what a rule computes to a distance


class MatrixScan(NamedTuple):
    """Clusters by their distances."""

    kind: Indices  # (1,)
    D: Doubles  # (n (n - 1) / 2,)
    ids: Indices  # (n,) the row that stands for the cluster in each place
    size: Doubles  # (n,)
    gone: Mask  # (n,)
    least: Doubles  # (MAX_TASKS, 8)
    place: Indices  # (MAX_TASKS, 8)
    counters: Indices  # (COUNTERS,)
    chain: Indices  # (n,)
    moved: Indices  # (n,) scratch
    merges: Indices  # (n - 1, 2)
    heights: Doubles  # (n - 1,)


@jit(error_model="numpy")
def fill_condensed(rule, finish, X, Z, lo, hi, work, D):
    """Distances of rows lo..hi of X to all later ones; Z (panels, d, LANES) are all rows."""
    n = len(X)
    for b in range(lo // LANES, Z.shape[0]):
        first = b * LANES
        m = min(LANES, n - first)
        for i in range(lo, min(hi, first + m)):
            panel_distances(rule, X[i], Z[b], m, work)
            begin = max(0, i + 1 - first)
            to = i * (2 * n - i - 1) // 2 + first + begin - i - 1
            if finish == ROOT:  # a loop for each, so that it vectorises
                for t in range(m - begin):
                    D[to + t] = np.sqrt(work[begin + t])
            elif finish == HALF:
                for t in range(m - begin):
                    D[to + t] = 0.5 * work[begin + t]
            else:
                for t in range(m - begin):
                    D[to + t] = work[begin + t]


@jit(error_model="numpy")
def _at(m, i, j):
    """Where the distance of places i and j is."""
    i, j = min(i, j), max(i, j)
    return i * (2 * m - i - 1) // 2 + j - i - 1


@run_task.rule(MatrixScan)
def _task(state, kind, i, rank):
    count, D, gone, size = state.counters, state.D, state.gone, state.size
    m, x, y = count[SLOTS], count[ONE], count[OTHER]
    tasks = max(1, min(MAX_TASKS, m // PLACES_PER_TASK))
    lo, hi = m * i // tasks, m * (i + 1) // tasks
    if kind == SCAN:
        value, place = np.inf, -1
        at = x - 1 + lo * (2 * m - lo - 3) // 2  # of the distance of x and lo
        for k in range(lo, min(hi, x)):
            if D[at] < value and not gone[k]:
                value, place = D[at], k
            at += m - k - 2
        row = x * (2 * m - x - 1) // 2 - x - 1
        for k in range(max(lo, x + 1), hi):
            if D[row + k] < value and not gone[k]:
                value, place = D[row + k], k
        state.least[i, 0], state.place[i, 0] = value, place
        return
    between, a, b, rule = D[_at(m, x, y)], size[x], size[y], state.kind[0]
    to_x, to_y = lo * (2 * m - lo - 3) // 2 + x - 1, lo * (2 * m - lo - 3) // 2 + y - 1
    row_x, row_y = x * (2 * m - x - 1) // 2 - x - 1, y * (2 * m - y - 1) // 2 - y - 1
    for k in range(lo, hi):
        if k != x and k != y and not gone[k]:
            at_x, at_y = to_x if k < x else row_x + k, to_y if k < y else row_y + k
            D[at_y] = _updated(rule, D[at_x], D[at_y], between, a, b, size[k])
        to_x += m - k - 2
        to_y += m - k - 2


@jit(error_model="numpy")
def _updated(rule, d_ka, d_kb, d_ab, a, b, k):
    if rule == COMPLETE:
        return max(d_ka, d_kb)
    if rule == AVERAGE:
        return (a * d_ka + b * d_kb) / (a + b)
    if rule == WEIGHTED:
        return 0.5 * (d_ka + d_kb)
    square = ((k + a) * d_ka * d_ka + (k + b) * d_kb * d_kb - k * d_ab * d_ab) / (k + a + b)
    return np.sqrt(max(square, 0.0))


@jit(reference_counting=False, error_model="numpy")
def _share(team, state, kind):
    tasks = max(1, min(MAX_TASKS, state.counters[SLOTS] // PLACES_PER_TASK))
    if tasks == 1:
        run_task(state, np.int64(kind), 0, 0)
    else:
        share_tasks(team, state, np.int64(kind), tasks)
    return tasks


@jit(reference_counting=False, error_model="numpy")
def follow_matrix_chain(team, state, until):
    """Merge clusters that are each other's nearest, until this many merges are done."""
    count = state.counters
    while count[MERGES] < until:
        if count[LENGTH] == 0:
            at = 0
            while state.gone[at]:
                at += 1
            state.chain[0], count[LENGTH] = at, 1
        top = state.chain[count[LENGTH] - 1]
        before = state.chain[count[LENGTH] - 2] if count[LENGTH] > 1 else -1
        count[ONE] = top
        tasks = _share(team, state, SCAN)
        value, place = np.inf, -1
        for t in range(tasks):
            if state.least[t, 0] < value:
                value, place = state.least[t, 0], state.place[t, 0]
        if place < 0:
            return False
        if before < 0 or state.D[_at(count[SLOTS], top, before)] > value:
            state.chain[count[LENGTH]] = place
            count[LENGTH] += 1
            continue
        count[LENGTH] -= 2
        count[ONE], count[OTHER] = min(top, before), max(top, before)
        done = count[MERGES]
        state.merges[done, 0], state.merges[done, 1] = state.ids[count[ONE]], state.ids[count[OTHER]]
        state.heights[done] = value
        _share(team, state, UPDATE)
        state.size[count[OTHER]] += state.size[count[ONE]]
        state.gone[count[ONE]] = True
        count[MERGES] += 1
        count[ALIVE] -= 1
        if count[ALIVE] < 0.75 * count[SLOTS]:
            _close_ranks(state)
    return True


@jit(reference_counting=False, error_model="numpy")
def follow_square_chain(kind, D, S, size, chain, merges, heights):
    """The same merges of few clusters, on the whole square S (n, n or more): rows that are searched lie in one piece.

    The diagonal, and the column of a cluster that is gone, are infinite: no place has to be passed over.
    """
    n, at, length = len(S), 0, 0
    for i in range(n):
        S[i, i] = np.inf
        for j in range(i + 1, n):
            if not D[at] < np.inf:
                return False
            S[i, j] = D[at]
            S[j, i] = D[at]
            at += 1
    alive = 0  # the first cluster that is not gone
    for done in range(n - 1):
        while True:
            if length == 0:
                while size[alive] == 0.0:
                    alive += 1
                chain[0], length = alive, 1
            top = chain[length - 1]
            value = smallest_value(S[top], n)
            if value == np.inf:
                return False
            if length > 1 and S[top, chain[length - 2]] <= value:
                break
            place = first_at(S[top], value, n)
            if place < 0 or length == n:  # squares have overflowed
                return False
            chain[length] = place
            length += 1
        length -= 2
        x, y = min(top, chain[length]), max(top, chain[length])
        merges[done, 0], merges[done, 1], heights[done] = x, y, value
        _update_row(kind, S[x], S[y], value, size[x], size[y], size)  # the sizes before this merge
        size[y] += size[x]
        size[x] = 0.0
        for k in range(n):
            S[k, y] = S[y, k]
            S[k, x] = np.inf
    return True


@jit(error_model="numpy")
def _update_row(kind, to_x, to_y, between, a, b, size):
    """Make the distances of y those of x and y together; a loop for each kind, so that it vectorises."""
    n = len(size)
    if kind == AVERAGE:
        for k in range(n):
            to_y[k] = _updated(AVERAGE, to_x[k], to_y[k], between, a, b, size[k])
    elif kind == COMPLETE:
        for k in range(n):
            to_y[k] = _updated(COMPLETE, to_x[k], to_y[k], between, a, b, size[k])
    elif kind == WEIGHTED:
        for k in range(n):
            to_y[k] = _updated(WEIGHTED, to_x[k], to_y[k], between, a, b, size[k])
    else:
        for k in range(n):
            to_y[k] = _updated(WARD, to_x[k], to_y[k], between, a, b, size[k])


@jit(error_model="numpy")
def _close_ranks(state):
    count, moved, D = state.counters, state.moved, state.D
    m, to = count[SLOTS], 0
    kept = 0
    for i in range(m):
        if not state.gone[i]:
            row = i * (2 * m - i - 1) // 2 - i - 1
            for j in range(i + 1, m):
                D[to] = D[row + j]  # never beyond what is read; overwritten where j is gone
                to += not state.gone[j]
            moved[i] = kept
            kept += 1
    for i in range(m):
        if not state.gone[i]:
            state.ids[moved[i]], state.size[moved[i]] = state.ids[i], state.size[i]
    for i in range(count[LENGTH]):
        state.chain[i] = moved[state.chain[i]]
    state.gone[:kept] = False
    count[SLOTS] = kept


@jit(error_model="numpy")
def matrix_spanning_tree(D, n, near, source, merges, heights):
    """Prim's minimum spanning tree of a condensed matrix; `source` is -1 for rows in the tree."""
    near[:], source[:] = np.inf, 0
    now = 0
    for done in range(n - 1):
        source[now] = -1
        value, place = np.inf, -1
        for k in range(n):
            if source[k] >= 0:
                gap = D[_at(n, now, k)]
                if gap < near[k]:
                    near[k], source[k] = gap, now
                if near[k] < value:
                    value, place = near[k], k
        if place < 0:
            return False
        merges[done, 0], merges[done, 1], heights[done] = source[place], place, value
        now = place
    return True
