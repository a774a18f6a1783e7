"""Compiled passes of the squared hinge over a dense table; the formulas are in `squared_hinge_newton`."""

import numpy as np

from fivefold.core.compilation.jit import FAST, jit
from fivefold.optim.smooth.line_search import MAX_TRIALS, SUFFICIENT_SHARE, VALUE_ROUNDING


@jit(error_model="numpy")
def newton_step(X, y, s, ridge, x, g, value):
    """The next point, its gradient and its value; the value is infinite where no step lowers it."""
    (n, d), m = X.shape, len(x)
    H = np.zeros((m, m))  # only its lower triangle is filled
    row = np.ones(m)
    for i in range(n):
        eta = x[d] if m > d else 0.0
        for j in range(d):
            row[j] = X[i, j]
            eta += row[j] * x[j]
        if y[i] * eta < 1.0:
            for j in range(m):
                a = 2.0 * s[i] * row[j]
                for k in range(j + 1):
                    H[j, k] += a * row[k]
    p = g.copy()
    for j in range(m):  # H = LL' in place, and the first half of H^-1 g
        H[j, j] += ridge[j]
        for k in range(j):
            H[j, j] -= H[j, k] * H[j, k]
            p[j] -= H[j, k] * p[k]
        if H[j, j] <= 0.0:
            return x, g, np.inf
        H[j, j] = np.sqrt(H[j, j])
        p[j] /= H[j, j]
        for i in range(j + 1, m):
            for k in range(j):
                H[i, j] -= H[i, k] * H[j, k]
            H[i, j] /= H[j, j]
    for j in range(m - 1, -1, -1):
        for k in range(j + 1, m):
            p[j] -= H[k, j] * p[k]
        p[j] /= H[j, j]
    fall, t = np.dot(g, p), 1.0
    steep = np.abs(g).max()
    for _ in range(MAX_TRIALS):
        new, slope = x - t * p, np.zeros(d + 1)
        total = squared_hinge_pass(X, y, s, new[:d], new[d] if m > d else 0.0, slope)
        for j in range(m):
            total += 0.5 * ridge[j] * new[j] * new[j]
            slope[j] += ridge[j] * new[j]
        # near the minimum values are lost in rounding before slopes are
        if total <= value - SUFFICIENT_SHARE * t * fall or (
            total <= value + VALUE_ROUNDING * abs(value) and np.abs(slope[:m]).max() < steep
        ):
            return new, slope[:m], total
        t *= 0.5
    return x, g, np.inf


@jit(fastmath=FAST, error_model="numpy")
def squared_hinge_pass(X, y, s, w, b, g):
    """The sum of s (1 - m)^2 over the rows within their margin; its gradient is added to g."""
    n, d = X.shape
    total, some, pull = 0.0, 0.0, 0.0
    for i in range(n):
        if i % 128 == 0:  # sums of partial sums: one long sum loses the digits that a line search needs
            total += some
            some = 0.0
        z, x = b, X[i]
        for j in range(d):
            z += x[j] * w[j]
        short = 1.0 - y[i] * z
        if short > 0.0:
            some += s[i] * short * short
            r = -2.0 * s[i] * y[i] * short
            pull += r
            for j in range(d):
                g[j] += r * x[j]
    g[d] += pull
    return total + some
