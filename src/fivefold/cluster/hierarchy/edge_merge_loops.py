"""Compiled merging along the edges of a graph: only clusters that an edge joins may merge, the closest pair first.

A new cluster has the edges of both its parts. Where both lead to the same cluster, their lengths are joined: the
smaller (single), the larger (complete), the mean by size (average) or plain (weighted); Ward and centroid compute the
length from the centres. Edges wait in a heap, those of clusters that are gone too.
"""

import heapq

import numpy as np

from fivefold.core.compilation.jit import jit

SINGLE, COMPLETE, AVERAGE, WEIGHTED, WARD, CENTROID = range(6)


@jit(error_model="numpy")
def merge_along_edges(kind, X, starts, ends, lengths, last, children, heights):
    """Merge until there are `last` nodes, rows included, or no edge is left; the number of nodes.

    `starts` and `ends` (edges,) list every edge once, starts > ends; X (n, d) are rows, used by WARD and CENTROID.
    """
    n, d = X.shape
    size, alive = np.ones(last), np.ones(last, np.bool_)
    centres = np.empty((last, d)) if kind >= WARD else np.empty((0, d))
    centres[:n] = X[: len(centres)]
    # Edges by node: entry e leads to `to[e]` and has this length; the next entry of the same node is next[e]
    head = np.full(last, -1)
    room = 4 * len(starts) + 4
    to, length, after = np.empty(room, np.int64), np.empty(room), np.empty(room, np.int64)
    used = 0
    heap = [(0.0, 0, 0) for _ in range(0)]
    for e in range(len(starts)):
        i, j = starts[e], ends[e]
        value = _centre_length(kind, centres, size, i, j) if kind >= WARD else lengths[e]
        for a, b in ((i, j), (j, i)):
            to[used], length[used], after[used], head[a] = b, value, head[a], used
            used += 1
        heap.append((value, i, j))
    heapq.heapify(heap)
    joined, seen, found = np.empty(last), np.full(last, -1), np.empty(last, np.int64)
    k = n
    while k < last and len(heap) > 0:
        value, i, j = heapq.heappop(heap)
        if not (alive[i] and alive[j]):
            continue
        children[k - n, 0], children[k - n, 1], heights[k - n] = j, i, value
        alive[i] = alive[j] = False
        size[k] = size[i] + size[j]
        if kind >= WARD:
            for c in range(d):
                centres[k, c] = centres[j, c] + size[i] / size[k] * (centres[i, c] - centres[j, c])
        near = 0
        for part in (i, j):
            other = size[j] if part == i else size[i]
            e = head[part]
            while e >= 0:
                node = to[e]
                if alive[node]:
                    if seen[node] != k:
                        seen[node], joined[node], found[near] = k, length[e], node
                        near += 1
                    elif kind == SINGLE:
                        joined[node] = min(joined[node], length[e])
                    elif kind == COMPLETE:
                        joined[node] = max(joined[node], length[e])
                    elif kind == AVERAGE:
                        joined[node] = (other * joined[node] + size[part] * length[e]) / size[k]
                    else:
                        joined[node] = 0.5 * (joined[node] + length[e])
                e = after[e]
        if used + 2 * near > room:
            room = 2 * (room + near)
            to, length, after = _longer(to, room), _longer(length, room), _longer(after, room)
        for f in range(near):
            node = found[f]
            value = _centre_length(kind, centres, size, k, node) if kind >= WARD else joined[node]
            for a, b in ((k, node), (node, k)):
                to[used], length[used], after[used], head[a] = b, value, head[a], used
                used += 1
            heapq.heappush(heap, (value, k, node))
        k += 1
    return k


@jit(error_model="numpy")
def _longer(old, room):
    new = np.empty(room, old.dtype)
    new[: len(old)] = old
    return new


@jit(error_model="numpy")
def _centre_length(kind, centres, size, i, j):
    total = 0.0
    for c in range(centres.shape[1]):
        total += (centres[i, c] - centres[j, c]) ** 2
    return total * (size[i] * size[j] / (size[i] + size[j])) if kind == WARD else total
