"""Compiled steps of the dual problem of multi-class machines; the formulas are in `multiclass_dual`."""

import numpy as np

from fivefold.core.compilation.jit import FAST, jit


@jit(error_model="numpy")
def row_violation(g, a, own, s, top):
    """How far the largest slope of a multiplier that may fall exceeds the smallest of one that may rise.

    `s` and `top` are the widths of the boxes of other classes, and of the row's own.
    """
    low, high = np.inf, -np.inf
    for k in range(len(a)):
        if a[k] < (top if k == own else 0.0):
            low = min(low, g[k])
        if a[k] > (0.0 if k == own else -s):
            high = max(high, g[k])
    return high - low


@jit(error_model="numpy")
def clipped_sum(b, own, s, top, h, beta):
    """The sum of the multipliers of a row for this beta."""
    total = 0.0
    for k in range(len(b)):
        v = (beta - b[k]) / h
        total += min(max(v, 0.0), top) if k == own else min(max(v, -s), 0.0)
    return total


@jit(error_model="numpy")
def minimise_row_in_box(g, a, own, s, top, h, b, ends, new):
    """The multipliers of a row at their minimum, in `new`; `b` and `ends` (2 K,) are scratch.

    Their sum rises with beta and bends where one of them meets a bound: the bends on both sides of zero are found by
    bisection, and beta lies on the line between them.
    """
    K = len(a)
    for k in range(K):
        b[k] = g[k] - h * a[k]
        ends[2 * k] = b[k] if k == own else b[k] - h * s
        ends[2 * k + 1] = b[k] + h * top if k == own else b[k]
    for i in range(1, 2 * K):  # a few numbers: insertion is quickest
        v, j = ends[i], i
        while j > 0 and ends[j - 1] > v:
            ends[j] = ends[j - 1]
            j -= 1
        ends[j] = v
    first, last = 0, 2 * K - 1
    while last - first > 1:
        middle = (first + last) // 2
        if clipped_sum(b, own, s, top, h, ends[middle]) <= 0.0:
            first = middle
        else:
            last = middle
    below, above = clipped_sum(b, own, s, top, h, ends[first]), clipped_sum(b, own, s, top, h, ends[last])
    beta = ends[first]
    if above > below:
        beta -= below * (ends[last] - ends[first]) / (above - below)
    for k in range(K):
        v = (beta - b[k]) / h
        new[k] = min(max(v, 0.0), top) if k == own else min(max(v, -s), 0.0)


@jit(fastmath=FAST, error_model="numpy")
def multiclass_steps(G, y, s, own_factor, A, F, margin, tol, steps):
    """Steps on the row that violates its conditions most; A (n, K) and F = G A change in place.

    F holds slopes: without the margin, which is added for other classes than the row's own. Returns the steps made and
    the largest violation that is left.
    """
    n, K = A.shape
    g, b, new, ends = np.empty(K), np.empty(K), np.empty(K), np.empty(2 * K)
    off = np.empty(n)
    for i in range(n):
        for k in range(K):
            g[k] = F[i, k] + (0.0 if k == y[i] else margin)
        off[i] = row_violation(g, A[i], y[i], s[i], own_factor * s[i])
    for step in range(steps + 1):
        i = 0
        for j in range(n):  # np.argmax would take longer to compile than all of this
            if off[j] > off[i]:
                i = j
        if off[i] <= tol or step == steps:
            return step, off[i]
        own = y[i]
        for k in range(K):
            g[k] = F[i, k] + (0.0 if k == own else margin)
        minimise_row_in_box(g, A[i], own, s[i], own_factor * s[i], G[i, i], b, ends, new)
        moved = False
        for k in range(K):
            new[k], A[i, k] = new[k] - A[i, k], new[k]
            moved = moved or new[k] != 0.0
        if not moved:  # rounding leaves nothing to gain here
            off[i] = 0.0
            continue
        row = G[i]
        for j in range(n):
            v = row[j]
            for k in range(K):
                F[j, k] += v * new[k]
                g[k] = F[j, k] + (0.0 if k == y[j] else margin)
            off[j] = row_violation(g, A[j], y[j], s[j], own_factor * s[j])
    return steps, 0.0  # never reached
