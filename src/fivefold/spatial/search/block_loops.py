"""Compiled loops over a block of distances: the smallest of each row or part of the rows, or those up to a limit."""

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.spatial.search.heap_loops import push_smaller, sort_heap
from fivefold.spatial.search.hit_loops import has_room, take_panel


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
def closest_of_parts(D, rows, labels, least, ends):
    """Keep the smallest of the distances D (m, n) of rows to all rows, for each part of theirs and each earlier part.

    least (parts, parts), and ends (parts, parts, 2), the two rows it is between, are those of the blocks so far.
    """
    for i in range(len(rows)):
        own = labels[rows[i]]
        for j in range(D.shape[1]):
            other = labels[j]
            if other < own and D[i, j] < least[own, other]:
                least[own, other] = D[i, j]
                ends[own, other, 0], ends[own, other, 1] = rows[i], j


@jit(error_model="numpy", reference_counting=False)
def within_in_block(D, own, ids, limit, start, collector):
    """Hand over columns with distances of at most `limit`, from row `start` on; the row that there was no room for."""
    for i in range(start, len(D)):
        if not has_room(collector, len(ids)):
            return i
        take_panel(collector, i, ids, 0, len(ids), own[i], D[i], limit)
    return len(D)
