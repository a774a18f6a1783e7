"""Compiled loops over mutual reachability: its smallest spanning tree, the merges of the tree, the condensed form.

reach(i, j) = max(core_i, core_j, d(i, j) / alpha)
"""

import numpy as np

from fivefold.core.compilation.jit import jit


@jit(error_model="numpy")
def _grow(core, distances, current, first, m, alpha, absent, reach, source):
    """Let rows first..first + m, not in the tree yet, see the row that joined it last."""
    for t in range(m):
        j = first + t
        if absent[j]:
            pair = max(core[current], core[j], distances[t] / alpha)
            if pair < reach[j]:
                reach[j], source[j] = pair, current


@jit(error_model="numpy")
def _next_row(absent, reach):
    """The row that is nearest to the tree, the first of several."""
    best = -1
    for j in range(len(reach)):
        if absent[j] and (best < 0 or reach[j] < reach[best]):
            best = j
    return best


@jit(error_model="numpy")
def tree_of_distances(D, core, alpha, edges, lengths):
    """Prim's tree from row 0 on, from distances of all pairs (n, n): edges (n - 1, 2) and their lengths."""
    n = len(D)
    absent, reach, source, current = np.ones(n, np.bool_), np.full(n, np.inf), np.zeros(n, np.int64), 0
    for i in range(n - 1):
        absent[current] = False
        _grow(core, D[current], current, 0, n, alpha, absent, reach, source)
        current = _next_row(absent, reach)
        edges[i, 0], edges[i, 1], lengths[i] = source[current], current, reach[current]


@jit(error_model="numpy")
def merge_edges(edges, merges, sizes):
    """The two clusters that each edge, shortest first, joins (n - 1, 2); rows are 0..n - 1, merge i makes n + i."""
    n = len(edges) + 1
    parent = np.arange(2 * n - 1)
    sizes[:n] = 1
    for i in range(n - 1):
        for side in range(2):
            node = edges[i, side]
            while parent[node] != node:
                parent[node] = parent[parent[node]]
                node = parent[node]
            merges[i, side] = node
            parent[node] = n + i
        sizes[n + i] = sizes[merges[i, 0]] + sizes[merges[i, 1]]


@jit(error_model="numpy")
def condense(merges, heights, sizes, least, rows, leaving, above, births, weights):
    """Clusters of at least this many rows, from the root down; how many.

    A cluster lives until it splits into two that are large enough; rows in small parts leave it at the level 1 / height
    of the merge. rows and leaving (n,): the cluster and the level that each row leaves; above, births and weights (n,):
    the parent of each cluster, the level at which it begins, and its rows.
    """
    n = len(merges) + 1
    queue, cluster, stack = np.empty(n, np.int64), np.empty(2 * n - 1, np.int64), np.empty(2 * n, np.int64)
    queue[0], cluster[2 * n - 2], above[0], births[0], weights[0] = 2 * n - 2, 0, -1, 0.0, n
    first, last, count = 0, 1, 1
    while first < last:
        node = queue[first]
        first += 1
        own, height = cluster[node], heights[node - n]
        level = 1.0 / height if height > 0 else np.inf
        children = merges[node - n]
        split = sizes[children[0]] >= least and sizes[children[1]] >= least
        for side in range(2):
            child = children[side]
            if sizes[child] >= least:
                cluster[child] = count if split else own
                if split:
                    above[count], births[count], weights[count] = own, level, sizes[child]
                    count += 1
                queue[last] = child
                last += 1
                continue
            size, stack[0] = 1, child
            while size > 0:
                size -= 1
                below = stack[size]
                if below < n:
                    rows[below], leaving[below] = own, level
                else:
                    stack[size], stack[size + 1] = merges[below - n, 1], merges[below - n, 0]
                    size += 2
    return count


@jit(error_model="numpy")
def cut_merges(merges, heights, cut, roots):
    """The cluster of each row after all merges below a height, by the number of one of its members (union by rank)."""
    n = len(merges) + 1
    parent, rank = np.arange(2 * n - 1), np.zeros(2 * n - 1, np.int64)
    for i in range(n - 1):
        if heights[i] < cut:
            for side in range(2):
                a, b = merges[i, side], n + i
                while parent[a] != a:
                    a = parent[a]
                while parent[b] != b:
                    b = parent[b]
                if rank[a] < rank[b]:
                    parent[a] = b
                else:
                    rank[a] += rank[a] == rank[b]
                    parent[b] = a
    for i in range(n):
        root = i
        while parent[root] != root:
            root = parent[root]
        roots[i] = root
