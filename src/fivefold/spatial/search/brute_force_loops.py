"""Compiled loops that compare each query with every row by any rule, in panels of LANES rows."""

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.spatial.metrics.rule_loops import panel_distances
from fivefold.spatial.search.heap_loops import push_smaller, sort_heap
from fivefold.spatial.search.hit_loops import has_room, take_panel

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


@jit(error_model="numpy", reference_counting=False)
def rows_within(rule, Q, own, Z, ids, limit, start, work, collector):
    """Hand over rows whose reduced distance is at most `limit`, from panel `start` on, ids being their numbers (n,).

    The panel before which there was no more room; as many as there are, if there was.
    """
    n = len(ids)
    for b in range(start, Z.shape[0]):
        first = b * LANES
        m = min(LANES, n - first)
        if not has_room(collector, len(Q) * m):
            return b
        for i in range(len(Q)):
            panel_distances(rule, Q[i], Z[b], m, work)
            take_panel(collector, i, ids[first:], first, m, own[i] - first, work, limit)
    return Z.shape[0]


@jit(error_model="numpy", reference_counting=False)
def all_distances(rule, Q, Z, n, work, out):
    """Reduced distances of all queries to all rows, out (m, n)."""
    for b in range(Z.shape[0]):
        first = b * LANES
        m = min(LANES, n - first)
        for i in range(len(Q)):
            panel_distances(rule, Q[i], Z[b], m, work)
            for t in range(m):
                out[i, first + t] = work[t]
