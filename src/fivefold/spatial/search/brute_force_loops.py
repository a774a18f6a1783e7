"""Compiled loops that compare each query with every row by any rule, in panels of LANES rows."""

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.spatial.metrics.rule_loops import panel_distances
from fivefold.spatial.search.heap_loops import push_smaller, sort_heap, sort_pairs

LANES = 64  # rows per panel: a whole number of vector registers, and few enough that results stay in the first cache


@jit(error_model="numpy")
def pack_panels(X, Z):
    """Rows of X (n, d) as columns of Z (panels, d, LANES)."""
    n, d = X.shape
    for b in range(Z.shape[0]):
        for j in range(d):
            for t in range(LANES):
                Z[b, j, t] = X[b * LANES + t, j] if b * LANES + t < n else 0.0


@jit(error_model="numpy")
def nearest_rows(rule, Q, own, Z, n, k, work, values, rows):
    """The k nearest rows of each query; row own[i] is left out for query i."""
    for i in range(len(Q)):
        for t in range(k):
            values[i, t], rows[i, t] = np.inf, n
    for b in range(Z.shape[0]):
        first = b * LANES
        m = min(LANES, n - first)
        for i in range(len(Q)):
            panel_distances(rule, Q[i], Z[b], m, work)
            top, skip = values[i], own[i] - first
            for t in range(m):
                if work[t] <= top[0] and t != skip:
                    push_smaller(top, rows[i], k, work[t], first + t)
    for i in range(len(Q)):
        sort_heap(values[i], rows[i], k)


@jit(error_model="numpy")
def rows_within(rule, Q, own, Z, n, limit, work, hits, found, counts):
    """List rows whose reduced distance is at most `limit`; how many there are.

    Where `found` has room, hits[h] are the query and the row, and found[h] is the distance; counts (m,) by query.
    """
    total = 0
    for i in range(len(Q)):
        counts[i] = 0
    for b in range(Z.shape[0]):
        first = b * LANES
        m = min(LANES, n - first)
        for i in range(len(Q)):
            panel_distances(rule, Q[i], Z[b], m, work)
            for t in range(m):
                if work[t] <= limit and first + t != own[i]:
                    if total < len(found):
                        hits[total, 0], hits[total, 1], found[total] = i, first + t, work[t]
                    counts[i] += 1
                    total += 1
    return total


@jit(error_model="numpy")
def arrange_hits(hits, found, total, ends, values, rows):
    """Put hits in the order of queries, distances and rows; ends (m + 1,) are the places where queries begin."""
    for h in range(total):
        at = ends[hits[h, 0]]
        values[at], rows[at] = found[h], hits[h, 1]
        ends[hits[h, 0]] += 1
    for i in range(len(ends) - 1, 0, -1):
        ends[i] = ends[i - 1]
    ends[0] = 0
    for i in range(len(ends) - 1):
        lo, hi = ends[i], ends[i + 1]
        sort_pairs(values[lo:hi], rows[lo:hi], hi - lo)
