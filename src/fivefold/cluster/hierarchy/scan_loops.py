"""Compiled merging in linear memory: distances are computed from the rows, or from centres, whenever they are needed.

single             Prim's minimum spanning tree
Ward               nearest-neighbour chain: follow nearest neighbours until two clusters are each other's, merge them
centroid, median   nearest later neighbour of every cluster; the closest pair is merged (no chain: heights may fall)

Rows stand in panels of LANES, coordinates along axis 1. A row that is done with stays in its panel until a quarter of
all are; then the others close ranks in their order, which keeps the first of several equal distances first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fivefold.cluster.hierarchy.least_loops import first_at, smallest_outside, smallest_value
from fivefold.core.compilation.jit import jit
from fivefold.core.team_loops import run_task, share_tasks
from fivefold.core.types import Doubles, Indices
from fivefold.spatial.metrics.rule_loops import MinkowskiRule, Rule, panel_distances
from fivefold.spatial.search.brute_force_loops import LANES

WORK_PER_TASK = 1 << 16  # coordinates that a task compares, about 15 microseconds of work: less is not worth sharing
MAX_TASKS = 32
WARD, CENTROID, MEDIAN = range(3)
# Numbers that change from step to step: panels in use, places in them, rows not done with, the place that is compared,
# the first place it is compared with, the one before it in the chain (-1: none), length of the chain, merges done
PANELS, SLOTS, ALIVE, NOW, FIRST, BEFORE, LENGTH, MERGES, COUNTERS = range(9)


class SpanningScan(NamedTuple):
    """The tree of Prim as it grows, by any rule."""

    rule: Rule
    Z: Doubles  # (panels, d, LANES)
    ids: Indices  # (panels * LANES,) the row in each place
    near: Doubles  # (panels * LANES,) reduced distance to the tree
    source: Indices  # (panels * LANES,) the row of the tree at that distance
    barrier: Doubles  # (panels * LANES,) infinity where the row is in the tree, otherwise zero
    q: Doubles  # (d,) the row that joined last
    work: Doubles  # (MAX_TASKS, LANES)
    least: Doubles  # (MAX_TASKS, 8) the smallest distance of each task, first of a cache line
    place: Indices  # (MAX_TASKS, 8) and where it is
    counters: Indices  # (COUNTERS,)
    merges: Indices  # (n - 1, 2)
    heights: Doubles  # (n - 1,)


class CentreScan(NamedTuple):
    """Clusters as centres and sizes; one that is gone has infinite coordinates."""

    kind: Indices  # (1,)
    Z: Doubles  # (panels, d, LANES)
    ids: Indices  # (panels * LANES,)
    size: Doubles  # (panels * LANES,) rows of each cluster
    smallest: Doubles  # (panels,) a bound below the sizes in a panel
    near: Doubles  # (panels * LANES,) distance to the nearest later cluster, of CENTROID and MEDIAN
    source: Indices  # (panels * LANES,) which is in this place
    q: Doubles  # (d,) the centre that is compared
    work: Doubles  # (MAX_TASKS, LANES)
    least: Doubles  # (MAX_TASKS, 8)
    place: Indices  # (MAX_TASKS, 8)
    gap: Doubles  # (1,) distance to the cluster before in the chain: as scans compute it, so that equal ones are equal
    gaps: Doubles  # (panels * LANES,) squared distances to a new cluster, of CENTROID and MEDIAN
    counters: Indices  # (COUNTERS,)
    chain: Indices  # (n,) places
    moved: Indices  # (n,) scratch: new places
    merges: Indices  # (n - 1, 2)
    heights: Doubles  # (n - 1,)


@jit(error_model="numpy")
def _tasks(state):
    cost = state.counters[PANELS] * state.Z.shape[1] * LANES
    return min(MAX_TASKS, max(1, cost // WORK_PER_TASK))


@jit(error_model="numpy")
def _nearest(team, state, tasks):
    """The place at the smallest distance, the first of several, and that distance; -1 where there is none."""
    if tasks == 1:
        run_task(state, 0, 0, 0)
    else:
        share_tasks(team, state, np.int64(0), tasks)
    value, place = np.inf, -1
    for t in range(tasks):
        if state.least[t, 0] < value:
            value, place = state.least[t, 0], state.place[t, 0]
    return value, place


@run_task.rule(SpanningScan)
def _span_task(state, kind, i, rank):
    tasks, panels = _tasks(state), state.counters[PANELS]
    work, row = state.work[i], state.ids[state.counters[NOW]]
    value, place = np.inf, -1
    for b in range(panels * i // tasks, panels * (i + 1) // tasks):
        m = min(LANES, state.counters[SLOTS] - b * LANES)
        panel_distances(state.rule, state.q, state.Z[b], m, work)
        first = b * LANES
        near, source = state.near[first : first + m], state.source[first : first + m]
        barrier = state.barrier[first : first + m]
        for t in range(m):
            closer = work[t] < near[t]
            near[t] = work[t] if closer else near[t]
            source[t] = row if closer else source[t]
        smallest = smallest_outside(near, barrier, m)
        if smallest < value:
            value = smallest
            for t in range(m):
                if max(near[t], barrier[t]) == smallest:
                    place = first + t
                    break
    state.least[i, 0], state.place[i, 0] = value, place


@jit(reference_counting=False, error_model="numpy")
def grow_spanning_tree(team, state, until):
    """Join rows to the tree until this many have joined."""
    count, d = state.counters, state.Z.shape[1]
    while count[MERGES] < until:
        for j in range(d):
            state.q[j] = state.Z[count[NOW] // LANES, j, count[NOW] % LANES]
        value, place = _nearest(team, state, _tasks(state))
        if place < 0:
            return False
        done = count[MERGES]
        state.merges[done, 0], state.merges[done, 1] = state.source[place], state.ids[place]
        state.heights[done] = value
        state.barrier[place] = np.inf
        count[MERGES] += 1
        count[NOW] = place
        count[ALIVE] -= 1
        if count[ALIVE] < 0.75 * count[SLOTS] and count[SLOTS] > LANES:
            to = 0
            for at in range(count[SLOTS]):
                if state.barrier[at] == 0.0 or at == place:
                    state.ids[to], state.near[to], state.source[to] = state.ids[at], state.near[at], state.source[at]
                    state.barrier[to] = state.barrier[at]
                    count[NOW] = to if at == place else count[NOW]
                    for j in range(d):
                        state.Z[to // LANES, j, to % LANES] = state.Z[at // LANES, j, at % LANES]
                    to += 1
            count[SLOTS], count[PANELS] = to, (to + LANES - 1) // LANES
    return True


@run_task.rule(CentreScan)
def _centre_task(state, kind, i, rank):
    tasks, panels, now = _tasks(state), state.counters[PANELS], state.counters[NOW]
    work, own, ward = state.work[i], state.size[now], state.kind[0] == WARD
    start, before = state.counters[FIRST], state.counters[BEFORE]
    value, place = np.inf, -1
    for b in range(max(panels * i // tasks, start // LANES), panels * (i + 1) // tasks):
        first = b * LANES
        m = min(LANES, state.counters[SLOTS] - first)
        panel_distances(MinkowskiRule(2.0), state.q, state.Z[b], m, work)
        if first <= now < first + m:
            work[now - first] = np.inf
        if first <= before < first + m:
            state.gap[0] = work[before - first] * (own * state.size[before] / (own + state.size[before]))
        for t in range(min(m, start - first)):  # earlier clusters, which look for this one themselves
            work[t] = np.inf
        smallest = smallest_value(work, m)
        if ward:
            bound = state.smallest[b]
            if smallest * (own * bound / (own + bound)) >= value * (1 + 1e-12):  # no cluster of the panel is nearer
                continue
            size = state.size[first : first + m]
            for t in range(m):
                work[t] *= own * size[t] / (own + size[t])
            smallest = smallest_value(work, m)
        if smallest < value:
            value, place = smallest, first + first_at(work, smallest, m)
    state.least[i, 0], state.place[i, 0] = value, place


@jit(reference_counting=False, error_model="numpy")
def follow_chain(team, state, until):
    """Merge clusters that are each other's nearest, until this many are done; heights are increases of inertia."""
    count = state.counters
    while count[MERGES] < until:
        if count[LENGTH] == 0:
            at = 0
            while _is_gone(state, at):
                at += 1
            state.chain[0], count[LENGTH] = at, 1
        top = state.chain[count[LENGTH] - 1]
        before = state.chain[count[LENGTH] - 2] if count[LENGTH] > 1 else -1
        count[BEFORE] = before
        _compare_with(state, top)
        value, place = _nearest(team, state, _tasks(state))
        if place < 0:
            return False
        if before < 0 or state.gap[0] > value:
            state.chain[count[LENGTH]] = place
            count[LENGTH] += 1
            continue
        count[LENGTH] -= 2
        _merge_centres(state, min(top, before), max(top, before), value)
    return True


@jit(reference_counting=False, error_model="numpy")
def merge_closest(team, state, until):
    """Merge the closest pair of centres, until this many merges are done; heights are squared distances."""
    count = state.counters
    if count[MERGES] == 0:
        for at in range(count[SLOTS]):
            _find_later(team, state, at)
    while count[MERGES] < until:
        a, least = -1, np.inf
        for at in range(count[SLOTS]):
            if state.near[at] < least:
                a, least = at, state.near[at]
        if a < 0:
            return False
        b = state.source[a]
        b = _merge_centres(state, a, b, least)
        _compare_with(state, b)
        for p in range(b // LANES + 1):
            m = min(LANES, count[SLOTS] - p * LANES)
            panel_distances(MinkowskiRule(2.0), state.q, state.Z[p], m, state.gaps[p * LANES : p * LANES + m])
        for at in range(b + 1):
            if _is_gone(state, at):
                state.near[at] = np.inf
            elif at == b or state.source[at] == a or state.source[at] == b:
                _find_later(team, state, at)
            elif state.gaps[at] < state.near[at]:
                state.near[at], state.source[at] = state.gaps[at], b
    return True


@jit(error_model="numpy")
def _compare_with(state, at):
    state.counters[NOW] = at
    for j in range(state.Z.shape[1]):
        state.q[j] = state.Z[at // LANES, j, at % LANES]


@jit(reference_counting=False, error_model="numpy")
def _find_later(team, state, at):
    _compare_with(state, at)
    state.counters[FIRST] = at + 1
    state.near[at], state.source[at] = _nearest(team, state, _tasks(state))


@jit(error_model="numpy")
def _is_gone(state, at):
    return state.Z[at // LANES, 0, at % LANES] == np.inf


@jit(error_model="numpy")
def _merge_centres(state, a, b, height):
    """Put cluster a into the later cluster b; where b is then."""
    count, size, d = state.counters, state.size, state.Z.shape[1]
    done = count[MERGES]
    state.merges[done, 0], state.merges[done, 1], state.heights[done] = state.ids[a], state.ids[b], height
    count[MERGES] += 1
    count[ALIVE] -= 1
    total = size[a] + size[b]
    share = 0.5 if state.kind[0] == MEDIAN else size[a] / total
    for j in range(d):
        x, y = state.Z[a // LANES, j, a % LANES], state.Z[b // LANES, j, b % LANES]
        state.Z[b // LANES, j, b % LANES] = y + share * (x - y)
        state.Z[a // LANES, j, a % LANES] = np.inf
    size[b] = total
    if count[ALIVE] >= 0.75 * count[SLOTS] or count[SLOTS] <= LANES:
        return b
    moved, to = state.moved, 0
    for at in range(count[SLOTS]):
        moved[at] = to
        if not _is_gone(state, at):
            state.ids[to], size[to], state.near[to], state.source[to] = (
                state.ids[at], size[at], state.near[at], state.source[at],
            )  # fmt: skip
            for j in range(d):
                state.Z[to // LANES, j, to % LANES] = state.Z[at // LANES, j, at % LANES]
            to += 1
    for i in range(count[LENGTH]):
        state.chain[i] = moved[state.chain[i]]
    count[SLOTS], count[PANELS] = to, (to + LANES - 1) // LANES
    for at in range(to):
        if state.source[at] == a:  # the cluster that is gone, which is now part of b
            state.source[at] = b
        state.source[at] = moved[state.source[at]] if state.source[at] >= 0 else -1
    for p in range(count[PANELS]):
        state.smallest[p] = np.inf
        for at in range(p * LANES, min(to, (p + 1) * LANES)):
            state.smallest[p] = min(state.smallest[p], size[at])
    return moved[b]
