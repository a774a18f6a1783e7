"""Compiled rounds of the projected Newton method; the formulas are in `projected_newton`."""

from __future__ import annotations

import numpy as np

from fivefold.core.compilation.jit import FAST, jit
from fivefold.optim.dual.dual_coordinate_loops import minimise_multiplier

MORE_PASSES = 3  # of coordinate descent before a Newton step, after a pass that found a violation
VIOLATION_ROUNDING = 1e-12  # as a share of the largest violation of all: a smaller one is rounding
DIAGONAL_SHIFT = 1e-12  # share of itself that is added to the diagonal: rows may depend on one another
MIN_CURVATURE = 1e-300  # keeps a division by zero finite


@jit(fastmath=FAST, error_model="numpy")
def projected_newton_steps(K, y, low, high, tube_width, curvature, a, steps):
    """Newton steps until a is the minimum, at most this many; a changes in place."""
    n = len(a)
    g, h, H, free, d = np.empty(n), np.empty(n), np.empty((n, n)), np.empty(n, dtype=np.int64), np.empty(n)
    for i in range(n):
        h[i] = max(K[i, i] + curvature[i], MIN_CURVATURE)
    largest, stopped = 0.0, False
    for _ in range(steps):
        dual_gradient(K, y, curvature, a, g)
        if not stopped:
            worst = box_pass(K, low, high, tube_width, curvature, h, a, g)
            largest = max(largest, worst)
            if worst <= VIOLATION_ROUNDING * largest:
                return
            for _ in range(MORE_PASSES):
                box_pass(K, low, high, tube_width, curvature, h, a, g)
        m = newton_direction(K, low, high, tube_width, curvature, a, g, free, H, d)
        stopped = projected_step(K, low, high, tube_width, curvature, a, g, free[:m], d)


@jit(fastmath=FAST, error_model="numpy")
def dual_gradient(K, y, curvature, a, g):
    """g = (K + diag(curvature)) a - y."""
    n = len(a)
    for i in range(n):
        total, row = 0.0, K[i]
        for k in range(n):
            total += row[k] * a[k]
        g[i] = total + curvature[i] * a[i] - y[i]


@jit(fastmath=FAST, error_model="numpy")
def box_pass(K, low, high, tube_width, curvature, h, a, g):
    """Each multiplier in turn to its own minimum; returns the largest violation met."""
    n, worst = len(a), 0.0
    for i in range(n):
        new = minimise_multiplier(a[i], g[i], h[i], low[i], high[i], tube_width)
        step = new - a[i]
        if step != 0.0:
            a[i] = new
            row = K[i]
            for k in range(n):
                g[k] += step * row[k]
            g[i] += step * curvature[i]
            worst = max(worst, abs(step) * h[i])
    return worst


@jit(fastmath=FAST, error_model="numpy")
def newton_direction(K, low, high, tube_width, curvature, a, g, free, H, d):
    """Fill `free` with the multipliers off every bound and kink, and d with Newton's step of them; returns how many."""
    m = 0
    for i in range(len(a)):
        if low[i] < a[i] < high[i] and (tube_width == 0.0 or a[i] != 0.0):
            free[m] = i
            m += 1
    for p in range(m):  # H = LL', row by row, and the first half of the solution
        i, row = free[p], H[p]
        d[p] = -g[i] - (tube_width if a[i] > 0.0 else -tube_width)
        for q in range(p + 1):
            total, other = K[i, free[q]], H[q]
            for k in range(q):
                total -= row[k] * other[k]
            row[q] = total / other[q] if q < p else total + curvature[i] + DIAGONAL_SHIFT * K[i, i]
        for k in range(p):
            d[p] -= row[k] * d[k]
        row[p] = np.sqrt(max(row[p], 0.5 * DIAGONAL_SHIFT * K[i, i], MIN_CURVATURE))
        d[p] /= row[p]
    for p in range(m - 1, -1, -1):
        d[p] /= H[p, p]
        for k in range(p):
            d[k] -= H[p, k] * d[p]
    return m


@jit(fastmath=FAST, error_model="numpy")
def projected_step(K, low, high, tube_width, curvature, a, g, free, d):
    """Move the free multipliers by d, each at most to its bound or kink, or all at most to the first of these.

    The lower of the two is taken. Returns whether a multiplier was stopped.
    """
    m, longest = len(free), 1.0
    step = np.empty(m)
    for p in range(m):
        i = free[p]
        bottom, top = edges(a[i], low[i], high[i], tube_width)
        step[p] = min(max(d[p], bottom - a[i]), top - a[i])
        if step[p] != d[p]:
            longest = min(longest, step[p] / d[p])
    for p in range(m):
        d[p] *= longest  # along dependent rows d may be so long that its rounding hides the change
    slope, square = change_along(K, tube_width, curvature, a, g, free, d)
    length = min(1.0, -slope / max(square, MIN_CURVATURE))
    change = (slope + 0.5 * length * square) * length
    if longest < 1.0:
        slope, square = change_along(K, tube_width, curvature, a, g, free, step)
    if longest == 1.0 or change < slope + 0.5 * square:
        for p in range(m):
            step[p] = length * d[p]
    else:
        change = slope + 0.5 * square
    if not change < 0.0:
        return False
    for p in range(m):
        i = free[p]
        bottom, top = edges(a[i], low[i], high[i], tube_width)
        a[i] = min(max(a[i] + step[p], bottom), top)
    return longest < 1.0


@jit(fastmath=FAST, error_model="numpy")
def change_along(K, tube_width, curvature, a, g, free, d):
    """b and c with b t + c t^2 / 2 the change of the dual where the free multipliers move by t d."""
    slope, square = 0.0, 0.0
    for p in range(len(free)):
        i = free[p]
        along, row = curvature[i] * d[p], K[i]
        for q in range(len(free)):
            along += row[free[q]] * d[q]
        slope += d[p] * (g[i] + (tube_width if a[i] > 0.0 else -tube_width))
        square += d[p] * along
    return slope, square


@jit(fastmath=FAST, error_model="numpy")
def edges(a, low, high, tube_width):
    """The nearest bounds or kinks of a multiplier below and above it."""
    if tube_width > 0.0:
        if a > 0.0:
            return 0.0, high
        return low, 0.0
    return low, high
