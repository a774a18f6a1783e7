"""Compiled loops over a block of distances: the smallest of each row, or those up to a limit."""

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.spatial.search.heap_loops import push_smaller, sort_heap, sort_pairs


@jit(error_model="numpy")
def nearest_in_block(D, own, k, values, rows):
    """The k smallest distances of each row of D, and their columns; column own[i] of row i is left out, NaN is last."""
    for i in range(D.shape[0]):
        for t in range(k):
            values[i, t], rows[i, t] = np.inf, D.shape[1]
        for j in range(D.shape[1]):
            value = D[i, j]
            if not value <= np.inf:
                value = np.inf
            if value <= values[i, 0] and j != own[i]:
                push_smaller(values[i], rows[i], k, value, j)
        sort_heap(values[i], rows[i], k)
        for t in range(k):
            values[i, t] = D[i, rows[i, t]]


@jit(error_model="numpy")
def within_in_block(D, own, limit, counts, values, rows):
    """Distances of at most `limit` and their columns, sorted, row after row."""
    total = 0
    for i in range(D.shape[0]):
        start = total
        for j in range(D.shape[1]):
            if D[i, j] <= limit and j != own[i]:
                values[total], rows[total] = D[i, j], j
                total += 1
        counts[i] = total - start
        sort_pairs(values[start:total], rows[start:total], counts[i])
