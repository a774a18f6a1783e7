"""Compiled loops of k-medoids; D[j, i] is the distance of point i to candidate j, so that a candidate is one row."""

import numpy as np

from fivefold.core.compilation.jit import FAST, jit

TIE_RATIO = 1 - 1e-12  # a distance is smaller than another if it is below this share of it: sums differ in last digits


@jit(error_model="numpy")
def two_nearest(D, medoids, near, first, second):
    """The nearest medoid of each point, the first of those equally near, and the distances to it and to the next."""
    for i in range(D.shape[1]):
        near[i], first[i], second[i] = 0, D[medoids[0], i], np.inf
    for k in range(1, len(medoids)):
        row = D[medoids[k]]
        for i in range(D.shape[1]):
            if row[i] < TIE_RATIO * first[i]:
                near[i], first[i], second[i] = k, row[i], first[i]
            elif row[i] < second[i]:
                second[i] = row[i]


@jit(error_model="numpy")
def swap_pass(D, w, order, place, calm, medoids, near, first, second):
    """Try candidates along `order` from `place` on, swap at once where that lowers the sum of distances.

    Ends with the order, or when all have been tried since the last swap. Returns the next place, the number of
    candidates tried since the last swap, and the number of swaps.
    """
    K, n, swaps = len(medoids), D.shape[1], 0
    removal, change = np.empty(K), np.empty(K)
    stale = True
    while place < len(order) and calm < len(order):
        if stale:
            total = 0.0
            removal[:] = 0.0
            for i in range(n):  # what the points of each medoid would cost without it
                removal[near[i]] += w[i] * (second[i] - first[i])
                total += w[i] * first[i]
            stale = False
        j, row, gain = order[place], D[order[place]], 0.0
        place += 1
        calm += 1
        change[:] = removal
        for i in range(n):
            d = row[i]
            if d < first[i]:
                gain += w[i] * (d - first[i])
                change[near[i]] += w[i] * (first[i] - second[i])
            elif d < second[i]:
                change[near[i]] += w[i] * (d - second[i])
        k = np.argmin(change)
        if gain + change[k] < (TIE_RATIO - 1) * total:
            medoids[k] = j
            two_nearest(D, medoids, near, first, second)
            stale, calm, swaps = True, 0, swaps + 1
    return place, calm, swaps


@jit(fastmath=FAST, error_model="numpy")
def best_addition(D, w, order, first):
    """The candidate that lowers the sum of distances most, the first along `order` of those equally good."""
    best, most = order[0], -1.0
    for place in range(len(order)):
        row, gain = D[order[place]], 0.0
        for i in range(D.shape[1]):
            gain += w[i] * (first[i] - row[i]) if row[i] < first[i] else 0.0
        if TIE_RATIO * gain > most:
            best, most = order[place], gain
    return best
