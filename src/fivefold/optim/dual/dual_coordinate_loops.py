"""Compiled passes of dual coordinate descent over rows, dense or sparse.

The formulas are those of `dual_coordinate_descent`; g is the slope of the dual along the multiplier of a row.
"""

from __future__ import annotations

import numpy as np

from fivefold.core.compilation.jit import FAST, jit
from fivefold.optim.proximal.coordinate_descent_loops import soft_threshold
from fivefold.optim.stochastic.sgd_loops import shuffle_rows

MAX_PASSES = 300  # per step, at most, over the rows that were not left out
MAX_VISITS_PER_ROW = 6  # per step, at most, on average
VIOLATION_SHARE = 0.02  # a step ends when the worst violation is this share of that of its first pass
ONE_CALL_VISIT_FACTOR = 5  # a step of one call has this many times the visits, because the call costs more than a pass
VIOLATION_ROUNDING = 1e-5  # as a share of the first violation: a step of one call ends below it


@jit(fastmath=FAST, error_model="numpy")
def minimise_multiplier(a, g, h, low, high, tube_width):
    """The minimum over one multiplier."""
    return min(max(soft_threshold(a - g / h, tube_width / h, False), low), high)


@jit(fastmath=FAST, error_model="numpy")
def can_shrink(a, g, low, high, tube_width, worst):
    """Is the multiplier pushed against an edge, or held at the kink, by more than `worst`?"""
    if a == low and g - tube_width > worst:
        return True
    if a == high and -g - tube_width > worst:
        return True
    return tube_width > 0.0 and a == 0.0 and abs(g) + worst < tube_width


@jit(fastmath=FAST, error_model="numpy")
def next_multiplier(a, g, h, low, high, tube_width, worst):
    """Whether the row of a multiplier a with slope g stays in, and a at its minimum."""
    if can_shrink(a, g, low, high, tube_width, worst):
        return False, a
    return True, minimise_multiplier(a, g, h, low, high, tube_width)


@jit(fastmath=FAST, error_model="numpy")
def sparse_squares(data, indptr, out):
    """out_i = |x_i|^2."""
    for i in range(len(out)):
        start = indptr[i]
        for t in range(indptr[i + 1] - start):
            out[i] += data[start + t] * data[start + t]


@jit(error_model="numpy")  # without fastmath: vectorised, its gathers and scatters are slower
def sparse_pass(data, indices, indptr, rows, worst, y, low, high, tube_width, curvature, h, column, one, a, x):
    """One pass over `rows` of a CSR matrix; a and x change in place, rows that stay in are moved to the front.

    `column` and `one` are 1 / R of a column and of the intercept, zero where there is none. Returns the number of rows
    that stay in, and the largest violation of a row.
    """
    kept, most, last = 0, 0.0, len(x) - 1
    for k in range(len(rows)):
        i = rows[k]
        start, stop = indptr[i], indptr[i + 1]
        g = curvature[i] * a[i] - y[i]
        if one > 0.0:
            g += x[last]
        for t in range(start, stop):
            g += data[t] * x[indices[t]]
        stays, new = next_multiplier(a[i], g, h[i], low[i], high[i], tube_width, worst)
        if not stays:
            continue
        rows[k], rows[kept] = rows[kept], i
        kept += 1
        step = new - a[i]
        if step != 0.0:
            a[i] = new
            most = max(most, abs(step) * h[i])
            pull = step * column
            for t in range(start, stop):
                x[indices[t]] += pull * data[t]
            x[last] += step * one
    return kept, most


@jit(fastmath=FAST, error_model="numpy")
def dense_pass(X, rows, worst, y, low, high, tube_width, curvature, h, column, one, a, x):
    """The same over rows of a table."""
    kept, most, last, d = 0, 0.0, len(x) - 1, X.shape[1]
    for k in range(len(rows)):
        i = rows[k]
        z = X[i]
        g = curvature[i] * a[i] - y[i]
        if one > 0.0:
            g += x[last]
        for j in range(d):
            g += z[j] * x[j]
        stays, new = next_multiplier(a[i], g, h[i], low[i], high[i], tube_width, worst)
        if not stays:
            continue
        rows[k], rows[kept] = rows[kept], i
        kept += 1
        step = new - a[i]
        if step != 0.0:
            a[i] = new
            most = max(most, abs(step) * h[i])
            pull = step * column
            for j in range(d):
                x[j] += pull * z[j]
            x[last] += step * one
    return kept, most


@jit(error_model="numpy")
def dense_step(X, seed, worst, y, low, high, tube_width, curvature, h, column, one, a, x):
    """The passes of one step over rows of a table, in an order that the seed decides.

    Returns the largest violation of a row in the first pass and in the last.
    """
    rows, visits = np.arange(len(a)), ONE_CALL_VISIT_FACTOR * MAX_VISITS_PER_ROW * len(a)
    first, top, whole = 0.0, 0.0, True
    for k in range(MAX_PASSES):
        rows = shuffle_rows(rows, seed + (k << 32))
        visits -= len(rows)
        kept, worst = dense_pass(X, rows, worst, y, low, high, tube_width, curvature, h, column, one, a, x)
        if whole:
            top = worst
            first = max(first, worst)
        whole = worst <= VIOLATION_SHARE * top or kept == 0
        if visits <= 0 or (len(rows) == len(a) and worst <= VIOLATION_ROUNDING * first):
            break
        if whole:  # the rows that were left out are visited again
            rows, worst = np.arange(len(a)), np.inf
        else:
            rows = rows[:kept]
    return first, worst
