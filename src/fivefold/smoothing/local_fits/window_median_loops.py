"""Medians of windows, from a binary indexed tree over the ranks of the targets."""

from __future__ import annotations

from fivefold.core.compilation.jit import jit
from fivefold.partition.criteria.order_statistics import fenwick_add, fenwick_median
from fivefold.smoothing.local_fits.sorted_window_loops import window_of


@jit
def clear_path(weights, place, m):
    """Take a rank out of a tree that holds the ranks of one window only: exactly, whatever rounding did."""
    i = place + 1
    while i <= m:
        weights[i] = 0.0
        i += i & -i


@jit
def sorted_medians(queries, x, w, rank, ascending, width, whole, weights, products, out, totals):
    """The median of each window in one sorted column; sorted queries slide it along where weights are whole numbers."""
    m, lo, hi, total = len(x), 0, 0, 0.0
    for row in range(len(queries)):
        first, last = window_of(x, queries[row], width, False)
        if not whole or first >= hi:
            for i in range(lo, hi):
                clear_path(weights, rank[i], m)
            lo, hi, total = first, first, 0.0
        while hi < last:
            fenwick_add(weights, products, rank[hi], w[hi], 0.0, m)
            total += w[hi]
            hi += 1
        while lo < first:
            fenwick_add(weights, products, rank[lo], -w[lo], 0.0, m)
            total -= w[lo]
            lo += 1
        totals[row] = total
        if total > 0.0:
            out[row] = fenwick_median(weights, ascending, 0, m, total)
    for i in range(lo, hi):
        clear_path(weights, rank[i], m)


@jit
def listed_medians(indptr, rows, w, rank, ascending, weights, products, out, totals):
    """The median of each list of rows."""
    m = len(rank)
    for row in range(len(indptr) - 1):
        total = 0.0
        for i in range(indptr[row], indptr[row + 1]):
            fenwick_add(weights, products, rank[rows[i]], w[rows[i]], 0.0, m)
            total += w[rows[i]]
        totals[row] = total
        if total > 0.0:
            out[row] = fenwick_median(weights, ascending, 0, m, total)
        for i in range(indptr[row], indptr[row + 1]):
            clear_path(weights, rank[rows[i]], m)
