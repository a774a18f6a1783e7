"""Compiled loops that build a balanced binary tree of rows: each node is cut at the median of its widest column.

Nodes are numbered by level, as in a heap: the children of node i are 2 i + 1 and 2 i + 2, and all leaves are on the
last level. Leaves differ by at most one row, so that they fit into panels of the same shape.
"""

import numpy as np

from fivefold.core.compilation.jit import jit

SAMPLE_ROWS = 256  # rows of a node that are looked at to find its widest column


@jit(error_model="numpy")
def split_subtree(X, order, keys, ends, root, depth):
    """Divide the rows order[ends[root, 0] : ends[root, 1]] over the nodes down to this depth; keys (n,) is scratch."""
    first, count = root, 1
    for _ in range(depth):
        for node in range(first, first + count):
            lo, hi = ends[node, 0], ends[node, 1]
            column = _widest_column(X, order, lo, hi)
            for i in range(lo, hi):
                keys[i] = X[order[i], column]
            middle = lo + (hi - lo) // 2
            _select(keys, order, lo, hi - 1, middle)
            ends[2 * node + 1, 0], ends[2 * node + 1, 1] = lo, middle
            ends[2 * node + 2, 0], ends[2 * node + 2, 1] = middle, hi
        first, count = 2 * first + 1, 2 * count


@jit(error_model="numpy")
def _widest_column(X, order, lo, hi):
    step = max(1, (hi - lo) // SAMPLE_ROWS)
    best, widest = 0, -1.0
    for j in range(X.shape[1]):
        low, high = np.inf, -np.inf
        for i in range(lo, hi, step):
            low, high = min(low, X[order[i], j]), max(high, X[order[i], j])
        if high - low > widest:
            best, widest = j, high - low
    return best


@jit(error_model="numpy")
def _select(keys, order, lo, hi, middle):
    """Rearrange places lo..hi, ends included, so that no key before `middle` is larger than one after it (Hoare)."""
    while lo < hi:
        a, b, c = keys[lo], keys[(lo + hi) // 2], keys[hi]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = lo, hi
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            hi = j
        elif middle >= i:
            lo = i
        else:
            return


@jit(error_model="numpy")
def fill_leaves(X, order, ends, first, last, origin, scale, Z, ids, low, high):
    """Rows of leaves first..last as columns of Z (leaves, d or more, lanes), their numbers, and their boxes.

    Coordinates are taken relative to origin and times scale; lanes without a row have the number -1.
    """
    d, lanes, nodes = X.shape[1], Z.shape[2], len(ends)
    leaves = Z.shape[0]
    for leaf in range(first, last):
        node = nodes - leaves + leaf
        lo, m = ends[node, 0], ends[node, 1] - ends[node, 0]
        for t in range(lanes):
            ids[leaf, t] = order[lo + t] if t < m else -1
        for j in range(d):
            smallest, largest = np.inf, -np.inf
            for t in range(m):
                x = X[order[lo + t], j]
                smallest, largest = min(smallest, x), max(largest, x)
                Z[leaf, j, t] = (x - origin[j]) * scale
            for t in range(m, lanes):
                Z[leaf, j, t] = 0
            low[node, j], high[node, j] = smallest, largest
        for j in range(d, Z.shape[1]):
            for t in range(lanes):
                Z[leaf, j, t] = 0


@jit(error_model="numpy")
def home_leaves(Q, low, high, leaves, out):
    """The leaf that each query reaches when it goes to the nearer child, by the squared distance to boxes."""
    inner = len(low) - leaves
    for i in range(len(Q)):
        node = 0
        while node < inner:
            one, two = 0.0, 0.0
            for j in range(Q.shape[1]):
                x = Q[i, j]
                a = x - min(max(x, low[2 * node + 1, j]), high[2 * node + 1, j])
                b = x - min(max(x, low[2 * node + 2, j]), high[2 * node + 2, j])
                one += a * a
                two += b * b
            node = 2 * node + 1 if one <= two else 2 * node + 2
        out[i] = node - inner
