"""Local fits in many columns: the rows of each window are listed, with their squared distances from the query."""

from __future__ import annotations

import math

from fivefold.core.compilation.jit import jit
from fivefold.smoothing.local_fits.window_fit_loops import describe_fit, fit_mean, fit_orthogonal
from fivefold.spatial.smoothing_kernel_loops import EXPONENTIAL, GAUSSIAN, TOPHAT, replace_by_profile


@jit(error_model="numpy")
def gather_weights(rows, distances, first, m, w, width, code, closed, squares, bits, powers, power_bits):
    """squares[:m] = k(distance / width) w of the rows of a window.

    The two exponentials are divided by their value at the nearest row: far from all rows they would be zero everywhere.
    """
    if width == 0.0 or (closed and code == TOPHAT):
        for i in range(m):
            squares[i] = 1.0
    else:
        nearest = 0.0
        if code in (GAUSSIAN, EXPONENTIAL):
            nearest = distances[first]
            for i in range(m):
                nearest = min(nearest, distances[first + i])
        root = math.sqrt(nearest)
        for i in range(m):
            if code == EXPONENTIAL:
                u = (math.sqrt(distances[first + i]) - root) / width
                squares[i] = u * u
            else:
                squares[i] = (distances[first + i] - nearest) / (width * width)
        replace_by_profile(code, m, squares, bits, powers, power_bits)
    for i in range(m):
        squares[i] *= w[rows[first + i]]


@jit(error_model="numpy")
def fit_neighborhoods(
    queries,
    indptr,
    rows,
    distances,
    widths,
    X,
    y,
    w,
    own,
    code,
    closed,
    parents,
    columns,
    full,
    buffers,
    bits,
    basis,
    out,
):
    """The fit at each query, into the rows of `out`: window r holds rows[indptr[r]:indptr[r + 1]].

    `closed`: rows at the end of a window count too. Function j + 1 of the basis is function parents[j] times a column.
    `buffers` (4, n) and `bits`, its integers, and `basis` are scratch.
    """
    squares, powers, targets, at_query = buffers[0], buffers[1], buffers[2], buffers[3]
    p = len(parents) + 1
    for row in range(len(queries)):
        first = indptr[row]
        m = indptr[row + 1] - first
        width = widths[row]
        gather_weights(rows, distances, first, m, w, width, code, closed, squares, bits[0], powers, bits[1])
        scale = 0.0
        for i in range(m):
            targets[i] = y[rows[first + i]]
            scale = max(scale, distances[first + i])
        if p == 1 and not full:
            fit_mean(squares, m, targets, 0, out, row)
            continue
        scale = 1.0 / math.sqrt(scale) if scale > 0.0 else 0.0
        for i in range(m):
            basis[0, i] = 1.0
        for j in range(p - 1):
            column = columns[j]
            for i in range(m):
                step = (X[rows[first + i], column] - queries[row, column]) * scale
                basis[j + 1, i] = basis[parents[j], i] * step
        fit_orthogonal(squares, m, basis, p, targets, 0, at_query, out, row)
        if full:
            for i in range(m):
                powers[i] = own[rows[first + i]]
            describe_fit(squares, powers, m, basis, p, targets, 0, at_query, out, row)
