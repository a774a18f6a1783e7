"""Compiled loops over pairs of rows: distances of places, stress, and the directions that lower it."""

import numpy as np

from fivefold.core.compilation.jit import FAST_WITH_NAN, jit


@jit(error_model="numpy", fastmath=FAST_WITH_NAN)
def guttman_rows(Y, D, lo, hi, moved, sums):
    """Guttman's transform of rows lo..hi of the places Y (k, n), whose distances should be those of D (n, n).

    moved (k, n) gets (1/n) sum_j (D_ij / d_ij) (y_i - y_j), zero for places that coincide; sums (n, 2) the squared
    differences to D and the squared distances of each row.
    """
    k, n = Y.shape
    ratio = np.empty(n)
    for i in range(lo, hi):
        for j in range(n):
            ratio[j] = 0.0
        for c in range(k):
            own, row = Y[c, i], Y[c]
            for j in range(n):
                ratio[j] += (own - row[j]) * (own - row[j])
        stress, squares, wanted = 0.0, 0.0, D[i]
        for j in range(n):
            d = np.sqrt(ratio[j])
            squares += ratio[j]
            stress += (wanted[j] - d) * (wanted[j] - d)
            ratio[j] = wanted[j] / d if d > 0.0 else 0.0
        sums[i, 0], sums[i, 1] = stress, squares
        for c in range(k):
            own, row, total = Y[c, i], Y[c], 0.0
            for j in range(n):
                total += ratio[j] * (own - row[j])
            moved[c, i] = total / n


@jit(error_model="numpy", fastmath=FAST_WITH_NAN)
def sammon_rows(Y, D, lo, hi, slope, sums):
    """Squared errors over distances, sum_j (D_ij - d_ij)^2 / D_ij, of rows lo..hi of Y (k, n), and their slope (k, n).

    Pairs at distance zero in D are left out.
    """
    k, n = Y.shape
    factor = np.empty(n)
    for i in range(lo, hi):
        for j in range(n):
            factor[j] = 0.0
        for c in range(k):
            own, row = Y[c, i], Y[c]
            for j in range(n):
                factor[j] += (own - row[j]) * (own - row[j])
        error, wanted = 0.0, D[i]
        for j in range(n):
            d = np.sqrt(factor[j])
            known = wanted[j] > 0.0
            error += (wanted[j] - d) * (wanted[j] - d) / wanted[j] if known else 0.0
            factor[j] = (wanted[j] - d) / (wanted[j] * d) if known and d > 0.0 else 0.0
        sums[i] = error
        for c in range(k):
            own, row, total = Y[c, i], Y[c], 0.0
            for j in range(n):
                total += factor[j] * (own - row[j])
            slope[c, i] = -2.0 * total


@jit(error_model="numpy")
def excess_ranks(D, first, found, sums):
    """For rows of distances D (m, n) of the rows from `first` on: how far beyond rank k the rows `found` (m, k) lie.

    The rank of j for i is 1 for the nearest other row; of equally near rows the one with the smaller number is nearer.
    """
    m, n = D.shape
    k = found.shape[1]
    for i in range(m):
        total, row = 0, D[i]
        for t in range(k):
            j = found[i, t]
            rank = 1
            for other in range(n):
                nearer = row[other] < row[j] or (row[other] == row[j] and other < j)
                rank += nearer and other != first + i
            total += max(0, rank - k)
        sums[i] = total
