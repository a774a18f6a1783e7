"""The pass of the condensed running mean over new rows."""

from __future__ import annotations

from fivefold.core.compilation.jit import jit


@jit(error_model="numpy")
def condense(X, y, w, width, threshold, rows, targets, weights, stored):
    """Go on from `stored` rows at the front of rows, targets and weights; returns how many there are at the end.

    A row of weight w comes w times in a row, the last time with what is left of its weight; once it is not stored it
    will not be.
    """
    n, d = X.shape
    limit = width * width
    for i in range(n):
        left, own = w[i], -1
        while left > 0.0:
            total, first = 0.0, 0.0
            for s in range(stored):
                square = 0.0
                for j in range(d):
                    square += (rows[s, j] - X[i, j]) ** 2
                if square < limit:
                    total += weights[s]
                    first += weights[s] * targets[s]
            if total > 0.0 and abs(y[i] - first / total) <= threshold:
                break
            part = min(left, 1.0)
            left -= part
            if own < 0:
                own = stored
                for j in range(d):
                    rows[stored, j] = X[i, j]
                targets[stored] = y[i]
                weights[stored] = 0.0
                stored += 1
            weights[own] += part
    return stored
