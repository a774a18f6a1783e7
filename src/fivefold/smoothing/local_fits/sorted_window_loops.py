"""Local fits in one column whose rows are sorted: windows are found by bisection, and are runs of rows."""

from __future__ import annotations

import math

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.smoothing.local_fits.window_fit_loops import (
    describe_fit,
    fit_line,
    fit_mean,
    fit_orthogonal,
    fit_tricube_line,
)
from fivefold.spatial.smoothing_kernel_loops import EXPONENTIAL, GAUSSIAN, TOPHAT, TRICUBE, replace_by_profile

DOWN, UP = -1.0, 1.0  # sides of a query


@jit
def rows_below(x, bound, closed):
    """How many of the sorted x are below the bound, or at it where `closed`."""
    lo, hi = 0, len(x)
    while lo < hi:
        mid = (lo + hi) >> 1
        if x[mid] < bound or (closed and x[mid] == bound):
            lo = mid + 1
        else:
            hi = mid
    return lo


@jit
def weight_within(x, cumulative, query, radius):
    """The weight of the rows at a distance of at most `radius`."""
    lo, hi = 0, len(x)
    while lo < hi:
        mid = (lo + hi) >> 1
        if query - x[mid] > radius:
            lo = mid + 1
        else:
            hi = mid
    first, hi = lo, len(x)
    while lo < hi:
        mid = (lo + hi) >> 1
        if x[mid] - query <= radius:
            lo = mid + 1
        else:
            hi = mid
    return cumulative[lo] - cumulative[first]


@jit
def radius_of_weight(x, cumulative, is_unit, query, k):
    """The least distance within which the rows weigh k, or all of them."""
    n = len(x)
    if cumulative[n] <= k:
        return max(query - x[0], x[n - 1] - query)
    if is_unit:  # k rows in a run: shift it until the row before the run is no nearer than its last row
        count = int(np.ceil(k))
        lo, hi = 0, n - count
        while lo < hi:
            mid = (lo + hi) >> 1
            if query - x[mid] > x[mid + count] - query:
                lo = mid + 1
            else:
                hi = mid
        return max(query - x[lo], x[lo + count - 1] - query)
    place, best = rows_below(x, query, False), math.inf
    lo, hi = 0, place  # among the rows below: the nearest one whose distance is enough
    while lo < hi:
        mid = (lo + hi) >> 1
        if weight_within(x, cumulative, query, query - x[mid]) >= k:
            lo = mid + 1
        else:
            hi = mid
    if lo > 0:
        best = query - x[lo - 1]
    lo, hi = place, n
    while lo < hi:
        mid = (lo + hi) >> 1
        if weight_within(x, cumulative, query, x[mid] - query) >= k:
            hi = mid
        else:
            lo = mid + 1
    return min(best, x[lo] - query) if lo < n else best


@jit(error_model="numpy")
def window_of(x, query, radius, closed):
    """First and last + 1 row at a distance below `radius`, or at it where `closed`."""
    n = len(x)
    lo, hi = 0, n
    while lo < hi:
        mid = (lo + hi) >> 1
        gap = query - x[mid]
        if gap > radius or (gap == radius and not closed):
            lo = mid + 1
        else:
            hi = mid
    first, hi = lo, n
    while lo < hi:
        mid = (lo + hi) >> 1
        gap = x[mid] - query
        if gap < radius or (gap == radius and closed):
            lo = mid + 1
        else:
            hi = mid
    return first, lo


@jit(error_model="numpy")
def nearest_distance(x, query):
    """The distance of the nearest row."""
    place, best = rows_below(x, query, False), math.inf
    if place > 0:
        best = query - x[place - 1]
    return min(best, x[place] - query) if place < len(x) else best


@jit(error_model="numpy")
def kernel_weights(x, w, lo, m, query, width, nearest, code, squares, bits, powers, power_bits):
    """squares[:m] = k(|x - q| / width) w of the rows lo.. of a window.

    The two exponentials are divided by their value at the nearest row: far from all rows they would be zero everywhere.
    """
    if code == EXPONENTIAL:
        for i in range(m):
            u = (abs(x[lo + i] - query) - nearest) / width
            squares[i] = u * u
    else:
        shift = nearest * nearest if code == GAUSSIAN else 0.0
        scale = 1.0 / (width * width)
        for i in range(m):
            t = x[lo + i] - query
            squares[i] = (t * t - shift) * scale
    replace_by_profile(code, m, squares, bits, powers, power_bits)
    for i in range(m):
        squares[i] *= w[lo + i]


@jit(error_model="numpy")
def fit_sorted(
    queries, x, y, w, own, cumulative, is_unit, code, reach, degree, width, k, full, buffers, bits, basis, out
):
    """The fit at each query, into the rows of `out`: by a width, or where k > 0 by the distance of the k-th weight.

    Kernels multiply w; `own`, with its cumulative sums, is what the rows count for. `buffers` (3, n) and `bits`, its
    integers, and basis (degree + 1, n), are scratch. A row of `out` with a TOTAL of zero has an empty window.
    """
    squares, powers, at_query = buffers[0], buffers[1], buffers[2]
    for row in range(len(queries)):
        query = queries[row]
        h = radius_of_weight(x, cumulative, is_unit, query, k) if k > 0.0 else width
        nearest = 0.0
        flat = h == 0.0  # all rows of the window stand at the query, and count fully
        if reach == 1.0:
            lo, hi = window_of(x, query, h, k > 0.0)
        else:
            nearest = nearest_distance(x, query)
            end = nearest + reach * h if code == EXPONENTIAL else math.sqrt(nearest * nearest + reach * h * reach * h)
            lo, hi = window_of(x, query, end, True)
        m = hi - lo
        fused = code == TRICUBE and degree == 1 and not full and not flat
        if fused and fit_tricube_line(w, m, x, y, lo, query, h, out, row):
            continue
        if flat or (k > 0.0 and code == TOPHAT):  # rows at the distance of the k-th count too
            for i in range(m):
                squares[i] = w[lo + i]
        else:
            kernel_weights(x, w, lo, m, query, h, nearest, code, squares, bits[0], powers, bits[1])
        if degree == 0 and not full:
            fit_mean(squares, m, y, lo, out, row)
        elif degree != 1 or full or not fit_line(squares, m, x, y, lo, query, out, row):
            scale = 0.0 if flat else 1.0 / max(h, nearest)
            for i in range(m):
                basis[0, i] = 1.0
            for j in range(degree):
                for i in range(m):
                    basis[j + 1, i] = basis[j, i] * (x[lo + i] - query) * scale
            fit_orthogonal(squares, m, basis, degree + 1, y, lo, at_query, out, row)
            if full:
                describe_fit(squares, own, m, basis, degree + 1, y, lo, at_query, out, row)
