"""Compiled loops of shortest paths in graphs: Dijkstra from many nodes, Floyd and Warshall, detours around edges."""

import numpy as np

from fivefold.core.compilation.jit import jit

UNSEEN, SETTLED = -1, -2  # places of nodes that were never in the heap, and of those that have left it


@jit(error_model="numpy")
def _sift_up(heap, place, length, node, at):
    """Move a node from `at` towards the top of a heap with four children per node, nearest on top."""
    key = length[node]
    while at > 0:
        parent = (at - 1) >> 2
        if length[heap[parent]] <= key:
            break
        heap[at] = heap[parent]
        place[heap[at]] = at
        at = parent
    heap[at] = node
    place[node] = at


@jit(error_model="numpy")
def _pop(heap, place, length, size):
    """Take the nearest node off a heap of `size` nodes."""
    top, size = heap[0], size - 1
    place[top] = SETTLED
    if size == 0:
        return top
    node, at = heap[size], 0
    key = length[node]
    while True:
        first = 4 * at + 1
        if first >= size:
            break
        best, least = first, length[heap[first]]
        for child in range(first + 1, min(first + 4, size)):
            if length[heap[child]] < least:
                best, least = child, length[heap[child]]
        if least >= key:
            break
        heap[at] = heap[best]
        place[heap[at]] = at
        at = best
    heap[at] = node
    place[node] = at
    return top


@jit(error_model="numpy")
def paths_from(indptr, indices, weights, first, last, out):
    """Lengths of the shortest paths from nodes first..last to all nodes: rows of `out` (last - first, n)."""
    n = len(indptr) - 1
    heap, place = np.empty(n, np.int32), np.empty(n, np.int32)
    for source in range(first, last):
        length = out[source - first]
        length[:] = np.inf
        place[:] = UNSEEN
        length[source] = 0.0
        heap[0] = source
        place[source] = 0
        size = 1
        while size > 0:
            node = _pop(heap, place, length, size)
            size -= 1
            for e in range(indptr[node], indptr[node + 1]):
                other = indices[e]
                reach = length[node] + weights[e]
                if reach < length[other]:
                    length[other] = reach
                    if place[other] == UNSEEN:
                        size += 1
                        _sift_up(heap, place, length, other, size - 1)
                    else:
                        _sift_up(heap, place, length, other, place[other])


@jit(error_model="numpy")
def sweep_paths(indptr, indices, weights, order, sources, L, D):
    """Lengths of the shortest paths from a few sources that are near each other: D[source] (n,) for each.

    L (n, sources) holds what is known. Nodes are visited in the order of their distance from one of the sources, there
    and back, those alone of which a neighbour changed, until none is left: most paths are found in the first sweep.
    """
    n, count = L.shape
    pending, old = np.zeros(n, np.bool_), np.empty(count)
    L[:] = np.inf
    left = 0
    for b in range(count):
        L[sources[b], b] = 0.0
        for e in range(indptr[sources[b]], indptr[sources[b] + 1]):
            left += not pending[indices[e]]
            pending[indices[e]] = True
    forward = True
    while left > 0:
        for t in range(n):
            node = order[t] if forward else order[n - 1 - t]
            if not pending[node]:
                continue
            pending[node] = False
            left -= 1
            row = L[node]
            old[:] = row
            for e in range(indptr[node], indptr[node + 1]):
                other, step = L[indices[e]], weights[e]
                for b in range(count):
                    reach = other[b] + step
                    row[b] = reach if reach < row[b] else row[b]
            shorter = False
            for b in range(count):
                shorter |= row[b] < old[b]
            if shorter:
                for e in range(indptr[node], indptr[node + 1]):
                    left += not pending[indices[e]]
                    pending[indices[e]] = True
        forward = not forward
    for b in range(count):
        for i in range(n):
            D[sources[b], i] = L[i, b]


@jit(error_model="numpy")
def group_nodes(indptr, indices, weights, size, groups):
    """Cut the nodes into groups of `size` that are near each other, the last one smaller; how many there are.

    groups (g, size), filled up by -1, lists each with its centre first. Paths from a centre end where its group is
    full; where a part of the graph has too few nodes, those with the smallest numbers fill it.
    """
    n = len(indptr) - 1
    heap, place = np.empty(n, np.int32), np.full(n, UNSEEN, np.int32)
    length, seen = np.full(n, np.inf), np.empty(n, np.int32)
    taken, found, free = np.zeros(n, np.bool_), 0, 0
    for centre in range(n):
        if taken[centre]:
            continue
        length[centre], heap[0], place[centre], seen[0] = 0.0, centre, 0, centre
        waiting, known, members = 1, 1, 0
        while waiting > 0 and members < size:
            node = _pop(heap, place, length, waiting)
            waiting -= 1
            if not taken[node]:
                taken[node] = True
                groups[found, members] = node
                members += 1
            for e in range(indptr[node], indptr[node + 1]):
                other = indices[e]
                reach = length[node] + weights[e]
                if reach < length[other]:
                    length[other] = reach
                    if place[other] == UNSEEN:
                        seen[known] = other
                        known += 1
                        waiting += 1
                        _sift_up(heap, place, length, other, waiting - 1)
                    else:
                        _sift_up(heap, place, length, other, place[other])
        for t in range(known):
            length[seen[t]], place[seen[t]] = np.inf, UNSEEN
        while members < size and free < n:
            if not taken[free]:
                taken[free] = True
                groups[found, members] = free
                members += 1
            free += 1
        found += 1
    return found


@jit(error_model="numpy")
def relax_through(D, middle, lo, hi):
    """D_ij = min(D_ij, D_il + D_lj) for rows lo..hi and one node l between."""
    row = D[middle]
    for i in range(lo, hi):
        head = D[i, middle]
        if i == middle or head == np.inf:
            continue
        target = D[i]
        for j in range(len(row)):
            reach = head + row[j]
            target[j] = reach if reach < target[j] else target[j]


@jit(error_model="numpy")
def detours(indptr, indices, weights, limit, lo, hi, out):
    """For the edges of nodes lo..hi to later nodes: the shortest path between their ends that avoids the edge.

    Paths longer than `limit` times the edge are infinite: the search ends there. out (edges,) is in the order of edges.
    """
    n = len(indptr) - 1
    heap, place = np.empty(n, np.int32), np.full(n, UNSEEN, np.int32)
    length, seen = np.full(n, np.inf), np.empty(n, np.int32)
    for source in range(lo, hi):
        for skipped in range(indptr[source], indptr[source + 1]):
            target = indices[skipped]
            out[skipped] = np.inf
            if target <= source:
                continue
            length[source] = 0.0
            heap[0] = source
            place[source] = 0
            seen[0] = source
            size, known = 1, 1
            while size > 0:
                node = _pop(heap, place, length, size)
                size -= 1
                if node == target:
                    out[skipped] = length[node]
                    break
                for e in range(indptr[node], indptr[node + 1]):
                    other = indices[e]
                    reach = length[node] + weights[e]
                    avoided = node == source and other == target
                    if avoided or reach > limit * weights[skipped] or reach >= length[other]:
                        continue
                    length[other] = reach
                    if place[other] == UNSEEN:
                        seen[known] = other
                        known += 1
                        size += 1
                        _sift_up(heap, place, length, other, size - 1)
                    else:
                        _sift_up(heap, place, length, other, place[other])
            for t in range(known):
                length[seen[t]] = np.inf
                place[seen[t]] = UNSEEN


@jit(error_model="numpy")
def through_neighbors(geodesics, indptr, rows, distances, lo, hi, out):
    """Lengths of paths from new rows lo..hi to all rows, whose first step goes to a neighbour: rows of `out`."""
    for i in range(lo, hi):
        out[i] = np.inf
        for e in range(indptr[i], indptr[i + 1]):
            known, step = geodesics[rows[e]], distances[e]
            for j in range(len(known)):
                reach = known[j] + step
                out[i, j] = reach if reach < out[i, j] else out[i, j]
