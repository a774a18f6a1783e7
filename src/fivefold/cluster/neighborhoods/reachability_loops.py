"""Compiled loops that visit rows in the order in which they are reached, as OPTICS and the tree of HDBSCAN do.

The next row is the one that is nearest to those visited, the first of several; where none is within the limit, the
first that is left. It reaches the others at

    max(core_i, d(i, j))             OPTICS, if that is less than the row was reached at before
    max(core_i, core_j, d(i, j))     HDBSCAN, which makes it Prim's algorithm
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.core.types import Doubles, Indices
from fivefold.spatial.metrics.rule_loops import panel_distances
from fivefold.spatial.search.tree_search_loops import BOUND_SAFETY, node_bound, plain_distance

LEAF_ROOM = 64  # visited rows that may wait at a leaf
NODE_ROOM = 4  # the same for an inner node, for each row below it: most of them will never be looked at again


class Reach(NamedTuple):
    """How far a visited row reaches."""

    core: Doubles  # (n,): core distances, infinite for rows that reach no other; reduced ones where tens is 0
    mutual: bool  # whether a row is reached at its own core distance at least
    scale: float  # factor of distances
    limit: float  # the largest distance at which a row is reached, as the rule computes it
    tens: float  # distances are rounded to multiples of one over this; 0: they stay as the rule computes them


@jit(error_model="numpy", reference_counting=False)
def rounded(value, tens):
    """A number rounded to multiples of 1 / tens; one that is too large to have digits there stays."""
    shifted = value * tens
    return np.rint(shifted) / tens if shifted < np.inf else value


@jit(error_model="numpy", reference_counting=False)
def _least_reach(rule, reach, tree, q, core, node, work):
    """No row of the node is reached at less."""
    bound = node_bound(rule, tree, q, node, work)
    if bound > reach.limit:
        return np.inf
    if reach.tens > 0:
        return max(core, BOUND_SAFETY * plain_distance(rule, bound) - 1 / reach.tens)
    return max(core, reach.scale * bound)


class Visits(NamedTuple):
    """What is known of rows and nodes while rows are visited.

    A visited row waits at a node that it may reach into, with a bound on the length, and goes on to the children when
    one of the rows below may be the next. So far nodes are left alone, and of those that waited long only the nearest
    are compared with rows.
    """

    order: Indices  # (n,): rows by visit
    lengths: Doubles  # (n,): at which rows are reached
    source: Indices  # (n,): from which rows, -1 for none
    rank: Indices  # (n,): visits by row, n for rows that are not visited
    near: Doubles  # (nodes,): no row of the node that is left is reached at less
    far: Doubles  # (nodes,): nor at more
    room: Indices  # (nodes + 1,): rows that wait at node i are in waiting[room[i] : room[i + 1]]
    waiting: Indices
    bounds: Doubles
    held: Indices  # (nodes,): how many rows wait
    first: Indices  # (leaves,): the row that is reached at `near`
    stack: Indices  # scratch
    path: Indices  # scratch
    state: Indices  # (2,): the next row, and the first that may not be visited yet


def start_visits(ends: Indices, leaves: int) -> Visits:
    """Nothing is visited yet."""
    nodes, n = len(ends), int(ends[0, 1])
    space = NODE_ROOM * (ends[:, 1] - ends[:, 0]) + LEAF_ROOM
    space[nodes - leaves :] = LEAF_ROOM
    room = np.concatenate([np.zeros(1, np.int64), np.cumsum(space)])
    return Visits(
        order=np.empty(n, np.int64),
        lengths=np.full(n, np.inf),
        source=np.full(n, -1),
        rank=np.full(n, n),
        near=np.full(nodes, np.inf),
        far=np.full(nodes, np.inf),
        room=room,
        waiting=np.empty(room[-1], np.int64),
        bounds=np.empty(room[-1]),
        held=np.zeros(nodes, np.int64),
        first=np.full(leaves, n),
        stack=np.empty(nodes, np.int64),
        path=np.empty(nodes, np.int64),
        state=np.zeros(2, np.int64),
    )


@jit(error_model="numpy", reference_counting=False)
def _compare(rule, reach, tree, visits, q, i, leaf, m, work):
    """Let the rows of a leaf that are not visited see row i."""
    lengths, source, rank, n = visits.lengths, visits.source, visits.rank, len(visits.rank)
    panel_distances(rule, q, tree.Z[leaf], m, work)
    core = reach.core[i]
    for t in range(m):
        j = tree.ids[leaf, t]
        if rank[j] == n and work[t] <= reach.limit:
            if reach.tens > 0:
                pair = rounded(max(core, plain_distance(rule, work[t])), reach.tens)
            else:
                pair = max(core, reach.scale * work[t])
            if reach.mutual:
                pair = max(pair, reach.core[j])
            if pair < lengths[j] or (pair == lengths[j] and pair < np.inf and rank[i] < rank[source[j]]):
                lengths[j], source[j] = pair, i


@jit(error_model="numpy", reference_counting=False)
def _settle_leaf(rule, reach, tree, visits, X, node, work):
    """Compare the rows that wait at a leaf with its rows, the nearest first, until the others are too far."""
    leaf, m, n = node - (len(tree.ends) - len(tree.Z)), tree.ends[node, 1] - tree.ends[node, 0], len(X)
    lo, hi = visits.room[node], visits.room[node + 1]
    waiting, bounds = visits.waiting[lo:hi], visits.bounds[lo:hi]
    while True:
        near, far, first = np.inf, -np.inf, n
        for t in range(m):
            j = tree.ids[leaf, t]
            if visits.rank[j] == n:
                far = max(far, visits.lengths[j])
                if visits.lengths[j] < near or (visits.lengths[j] == near and j < first):
                    near, first = visits.lengths[j], j
        rest, least = visits.held[node], 0
        for k in range(rest):
            if bounds[k] < bounds[least]:
                least = k
        if rest == 0 or bounds[least] > far:
            break
        i = waiting[least]
        bounds[least], waiting[least] = bounds[rest - 1], waiting[rest - 1]
        visits.held[node] = rest - 1
        _compare(rule, reach, tree, visits, X[i], i, leaf, m, work)
    visits.held[node] = 0
    visits.near[node], visits.far[node], visits.first[leaf] = near, far, first
    while node > 0:
        node = (node - 1) // 2
        _renew(visits, node)


@jit(error_model="numpy", reference_counting=False)
def _renew(visits, node):
    """Bounds of a node from those of its children and of the rows that wait at it."""
    near = min(visits.near[2 * node + 1], visits.near[2 * node + 2])
    for k in range(visits.held[node]):
        near = min(near, visits.bounds[visits.room[node] + k])
    visits.near[node] = near
    visits.far[node] = max(visits.far[2 * node + 1], visits.far[2 * node + 2])


@jit(error_model="numpy", reference_counting=False, any_integer=True)
def _send_down(rule, reach, tree, visits, X, node, work):
    """Let the rows that wait at an inner node wait at those of its children that they may reach into."""
    inner = len(tree.ends) - len(tree.Z)
    size, visits.path[0] = 1, node
    while size > 0:
        node = visits.path[size - 1]
        one = 2 * node + 1
        while visits.held[node] > 0:
            full = 0
            for child in range(one, one + 2):
                if visits.room[child] + visits.held[child] == visits.room[child + 1]:
                    if child >= inner:
                        _settle_leaf(rule, reach, tree, visits, X, child, work)
                    else:
                        full = child
            if full > 0:  # it goes first
                visits.path[size] = full
                size += 1
                break
            visits.held[node] -= 1
            place = visits.room[node] + visits.held[node]
            i, known = visits.waiting[place], visits.bounds[place]
            for child in range(one, one + 2):
                if known > visits.far[child]:
                    continue
                bound = max(known, _least_reach(rule, reach, tree, X[i], reach.core[i], child, work))
                if bound <= visits.far[child] and bound < np.inf:
                    place = visits.room[child] + visits.held[child]
                    visits.waiting[place], visits.bounds[place] = i, bound
                    visits.held[child] += 1
                    visits.near[child] = min(visits.near[child], bound)
        if visits.path[size - 1] == node:
            _renew(visits, node)
            size -= 1


@jit(error_model="numpy", reference_counting=False)
def visit_in_tree(rule, reach, tree, visits, X, home, begin, end, work):
    """Visits begin..end; home (n,) is the leaf of each row."""
    n, inner, (current, start) = len(X), len(tree.ends) - len(tree.Z), (visits.state[0], visits.state[1])
    stack, near = visits.stack, visits.near
    for step in range(begin, end):
        visits.order[step], visits.rank[current] = current, step
        leaf = inner + home[current]
        if reach.core[current] < np.inf:
            visits.waiting[0], visits.bounds[0], visits.held[0] = current, reach.core[current], 1
            near[0] = min(near[0], reach.core[current])
            if inner > 0:
                _send_down(rule, reach, tree, visits, X, 0, work)
        _settle_leaf(rule, reach, tree, visits, X, leaf, work)  # a row has left it
        best, length = n, np.inf
        size, stack[0] = 1, 0
        while size > 0:
            size -= 1
            node = stack[size]
            if near[node] > length or near[node] == np.inf:
                continue
            if node < inner:
                if visits.held[node] > 0:
                    _send_down(rule, reach, tree, visits, X, node, work)
                one, two = 2 * node + 1, 2 * node + 2
                stack[size], stack[size + 1] = (two, one) if near[one] <= near[two] else (one, two)
                size += 2
                continue
            if visits.held[node] > 0:
                _settle_leaf(rule, reach, tree, visits, X, node, work)
            first = visits.first[node - inner]
            if near[node] < length or (near[node] == length and first < best):
                best, length = first, near[node]
        if length == np.inf:
            while start < n and visits.rank[start] < n:
                start += 1
            best = start
        current = best
    visits.state[0], visits.state[1] = current, start


@jit(error_model="numpy")
def visit_distances(D, core, limit, tens, order, lengths, source):
    """The visits of OPTICS from distances of all pairs (n, n)."""
    n = len(D)
    absent, current = np.ones(n, np.bool_), 0
    lengths[:], source[:] = np.inf, -1
    for step in range(n):
        order[step], absent[current] = current, False
        if core[current] < np.inf:
            for j in range(n):
                if absent[j] and D[current, j] <= limit:
                    pair = rounded(max(core[current], D[current, j]), tens)
                    if pair < lengths[j]:
                        lengths[j], source[j] = pair, current
        current = -1
        for j in range(n):
            if absent[j] and (current < 0 or lengths[j] < lengths[current]):
                current = j


@jit(error_model="numpy")
def visit_listed(indptr, rows, distances, core, tens, order, lengths, source):
    """The visits of OPTICS from lists of neighbours."""
    n = len(core)
    absent, start = np.ones(n, np.bool_), 0
    lengths[:], source[:] = np.inf, -1
    reached = [(0.0, 0)]
    for step in range(n):
        current = -1
        while current < 0 and len(reached) > 0:
            row = heappop(reached)[1]
            if absent[row]:
                current = row
        if current < 0:
            while not absent[start]:
                start += 1
            current = start
        order[step], absent[current] = current, False
        if core[current] < np.inf:
            for t in range(indptr[current], indptr[current + 1]):
                j, pair = rows[t], rounded(max(core[current], distances[t]), tens)
                if absent[j] and pair < lengths[j]:
                    lengths[j], source[j] = pair, current
                    heappush(reached, (pair, j))
