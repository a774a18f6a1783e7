"""The weighted polynomial of a window, and its value at the query.

    min over c of  sum_i a_i (y_i - sum_j c_j b_j(x_i - q))^2        b_0 = 1, b_j products of coordinates
    value = c_0        leverage = (B'AB)^-1_00                       of a row of weight one that stands at the query

The functions b_j are made orthonormal under the weights a, one after the other; one that depends on those before it, as
in a window with few distinct rows, is left out.
"""

from __future__ import annotations

import math

from fivefold.core.compilation.jit import FAST, jit

# What is known of a fit at a query, by column of a result
VALUE, LEVERAGE, TOTAL, SQUARED_WEIGHTS, VARIANCE, FREEDOM = range(6)
FIELDS = 6
LINE_CANCELLATION = 1e-6  # a variance below this share of the mean square has lost too many digits in one pass
MIN_COUNTED = 1e-12  # weight of a row that counts
DEPENDENCE = (
    1e-20  # squared norm of what is left of a function, as a share of its own, below which it depends on others
)


@jit(fastmath=FAST, error_model="numpy")
def fit_mean(a, m, y, lo, out, row):
    """Weights a[:m] of targets y[lo:]: their mean."""
    total, first = 0.0, 0.0
    for i in range(m):
        total += a[i]
        first += a[i] * y[lo + i]
    out[row, TOTAL] = total
    if total > 0.0:
        out[row, VALUE] = first / total
        out[row, LEVERAGE] = 1.0 / total


@jit(fastmath=FAST, error_model="numpy")
def fit_line(a, m, x, y, lo, query, out, row):
    """The line in one column; false where it has to be found by `fit_orthogonal`."""
    s0, s1, s2, r0, r1, count = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(m):
        t = x[lo + i] - query
        at = a[i] * t
        ay = a[i] * y[lo + i]
        count += 1.0 if a[i] > MIN_COUNTED else 0.0
        s0 += a[i]
        s1 += at
        s2 += at * t
        r0 += ay
        r1 += ay * t
    return line_of_sums(s0, s1, s2, r0, r1, count, out, row)


@jit(fastmath=FAST, error_model="numpy")
def fit_tricube_line(w, m, x, y, lo, query, width, out, row):
    """The same under a tricube kernel times w[lo:], in one pass: what loess spends its time on."""
    s0, s1, s2, r0, r1, count = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    inverse = 1.0 / width
    for i in range(m):
        t = x[lo + i] - query
        u = abs(t) * inverse
        rest = max(1.0 - u * u * u, 0.0)
        a = rest * rest * rest * w[lo + i]
        at = a * t
        ay = a * y[lo + i]
        count += 1.0 if a > MIN_COUNTED else 0.0
        s0 += a
        s1 += at
        s2 += at * t
        r0 += ay
        r1 += ay * t
    return line_of_sums(s0, s1, s2, r0, r1, count, out, row)


@jit(error_model="numpy")
def line_of_sums(s0, s1, s2, r0, r1, count, out, row):
    """The line from sums about the query, and in FREEDOM how many rows count; false where digits cancelled."""
    out[row, TOTAL] = s0
    out[row, FREEDOM] = count
    if s0 <= 0.0:
        return True
    mean = s1 / s0
    variance = s2 / s0 - mean * mean
    if variance <= LINE_CANCELLATION * (s2 / s0):
        return False
    height = r0 / s0
    slope = (r1 / s0 - mean * height) / variance
    out[row, VALUE] = height - slope * mean
    out[row, LEVERAGE] = (1.0 + mean * mean / variance) / s0
    return True


@jit(fastmath=FAST, error_model="numpy")
def fit_orthogonal(a, m, basis, p, y, lo, at_query, out, row):
    """basis[:p, :m] becomes orthonormal under a[:m]; at_query[:p] are its values at the query."""
    total = 0.0
    for i in range(m):
        total += a[i]
    out[row, TOTAL] = total
    if total <= 0.0:
        return
    value, leverage = 0.0, 0.0
    for j in range(p):
        at_query[j] = 1.0 if j == 0 else 0.0
        before = 0.0
        for i in range(m):
            before += a[i] * basis[j, i] * basis[j, i]
        for _ in range(2):  # the second time removes what rounding left
            for k in range(j):
                along = 0.0
                for i in range(m):
                    along += a[i] * basis[k, i] * basis[j, i]
                for i in range(m):
                    basis[j, i] -= along * basis[k, i]
                at_query[j] -= along * at_query[k]
        norm = 0.0
        for i in range(m):
            norm += a[i] * basis[j, i] * basis[j, i]
        scale = 1.0 / math.sqrt(norm) if norm > DEPENDENCE * before and norm > 0.0 else 0.0
        along = 0.0
        for i in range(m):
            basis[j, i] *= scale
            along += a[i] * basis[j, i] * y[lo + i]
        at_query[j] *= scale
        value += at_query[j] * along
        leverage += at_query[j] * at_query[j]
    out[row, VALUE] = value
    out[row, LEVERAGE] = leverage


@jit(fastmath=FAST, error_model="numpy")
def describe_fit(a, w, m, basis, p, y, lo, at_query, out, row):
    """After `fit_orthogonal`: the sum of squared weights per unit of the rows' own weight w[lo:], the variance of the
    targets about the polynomial, and its degrees of freedom.
    """
    total = out[row, TOTAL]
    if total <= 0.0:
        return
    squares, kernel_squares, residuals, used = 0.0, 0.0, 0.0, 0
    for j in range(p):
        filled = 0.0
        for i in range(m):
            filled += a[i] * basis[j, i] * basis[j, i]
        used += 1 if filled > 0.5 else 0
    for i in range(m):
        along = 0.0
        for j in range(p):
            along += at_query[j] * basis[j, i]
        weight = a[i] * along
        squares += weight * weight / w[lo + i]
        kernel_squares += a[i] * a[i] / w[lo + i]
    for j in range(p):
        along = 0.0
        for i in range(m):
            along += a[i] * basis[j, i] * y[lo + i]
        at_query[j] = along
    for i in range(m):
        rest = y[lo + i]
        for j in range(p):
            rest -= at_query[j] * basis[j, i]
        residuals += a[i] * rest * rest
    effective = total * total / kernel_squares
    out[row, SQUARED_WEIGHTS] = squares
    out[row, FREEDOM] = effective - used
    if effective > used:
        out[row, VARIANCE] = residuals / total * effective / (effective - used)
