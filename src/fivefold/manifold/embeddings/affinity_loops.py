"""Compiled search for the width of a Gaussian around each row, at which its neighbours count as so many."""

import numpy as np

from fivefold.core.compilation.jit import jit

STEPS = 100  # of a search, at most
ENTROPY_TOLERANCE = 1e-9  # in nats
FLAT, STEEP = 1e-12, 700.0  # products of precision and distance: all weights are equal, or all except the first zero


@jit(error_model="numpy")
def calibrate_rows(D, entropy, own, P, precisions):
    """p_j = exp(-b D_j) / sum exp(-b D) for each row of squared distances D (m, k), b such that p has this entropy.

    The entropy H falls with b: dH / dlog b = -b^2 var(D). Newton's steps for log b, halving the bracket where they
    leave it. `own` is the first row's own column, which counts for nothing, or -1. Where no b does, as with many copies
    of a row, the nearest entropy is taken.
    """
    m, k = D.shape
    for i in range(m):
        d, p = D[i], P[i]
        skip = own + i if own >= 0 else -1
        least, largest, mean = np.inf, 0.0, 0.0
        for j in range(k):
            if j != skip:
                least, largest = min(least, d[j]), max(largest, d[j])
        above = np.inf  # the smallest distance beyond the least
        for j in range(k):
            if j != skip:
                mean += d[j] - least
                if d[j] > least:
                    above = min(above, d[j] - least)
        count = k - (skip >= 0)
        mean /= count
        largest -= least
        t = -np.log(mean) if mean > 0.0 else 0.0
        lo, hi = -np.inf, np.inf
        for _ in range(STEPS):
            b = np.exp(t)
            total, first, second = 0.0, 0.0, 0.0
            for j in range(k):
                x = d[j] - least
                e = np.exp(-b * x) if j != skip else 0.0
                p[j] = e
                total += e
                first += e * x
                second += e * x * x
            first /= total
            spread = second / total - first * first
            gap = np.log(total) + b * first - entropy
            if abs(gap) < ENTROPY_TOLERANCE or mean == 0.0:
                break
            if gap > 0.0:
                lo = t
                if b * above > STEEP:
                    break
            else:
                hi = t
                if b * largest < FLAT:
                    break
            slope = b * b * spread
            move = gap / slope if slope > 0.0 else (1.0 if gap > 0.0 else -1.0)
            new = t + max(-4.0, min(4.0, move))
            if new <= lo or new >= hi:
                new = 0.5 * (lo + hi)
            t = new
        for j in range(k):
            p[j] /= total
        precisions[i] = b
