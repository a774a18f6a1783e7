"""Compiled loops for Gaussian families.

A block holds its points in columns, Z (d, m), so that the innermost loop runs over points and
vectorises. It is processed in tiles of TILE_POINTS points, copied and centred into D, which stays in
the first-level cache; rows of D, of the factors P and of the second moments are taken in fours (the width
is padded with zeros), so that each number loaded is used four times.

Scalars are read before the innermost loop: LLVM cannot hoist what a store might alias. That loop is
written range(m), from zero: over range(lo, hi) Numba must assume that the index may be negative and
wraps it, so that nothing vectorises. Loops that may meet NaN are compiled without the promise that there is none.
"""

import numpy as np

from fivefold.core.compilation.jit import FAST, FAST_WITH_NAN, jit

TILE_POINTS = 128  # points in a tile: a whole number of vector registers; d rows of them fit in the cache
LOG_2PI = float(np.log(2 * np.pi))


@jit(fastmath=FAST, error_model="numpy")
def log_full(Z, mean, P, c, D, acc, q, L):
    """L[k] = c[k] - |P[k] (z - mean[k])|^2 / 2; P[k] is lower triangular; D, acc and q are scratch."""
    K, d = mean.shape
    m = Z.shape[1]
    for t in range((m + TILE_POINTS - 1) // TILE_POINTS):
        lo = t * TILE_POINTS
        width = min(TILE_POINTS, m - lo)
        for k in range(K):
            for j in range(d):
                mu = mean[k, j]
                for i in range(width):
                    D[j, i] = Z[j, lo + i] - mu
            for i in range(TILE_POINTS):
                q[i] = 0.0
            for a in range(d):
                for i in range(TILE_POINTS):
                    acc[i] = 0.0
                for j in range(0, a + 1, 4):
                    p0, p1, p2, p3 = P[k, a, j], P[k, a, j + 1], P[k, a, j + 2], P[k, a, j + 3]
                    for i in range(TILE_POINTS):
                        acc[i] += p0 * D[j, i] + p1 * D[j + 1, i] + p2 * D[j + 2, i] + p3 * D[j + 3, i]
                for i in range(TILE_POINTS):
                    q[i] += acc[i] * acc[i]
            shift = c[k]
            for i in range(width):
                L[k, lo + i] = shift - 0.5 * q[i]


@jit(fastmath=FAST, error_model="numpy")
def add_full(Z, R, centre, D, acc, r, weight, first, second):
    """Add sum r, sum r (z - centre) and the lower half of sum r (z - centre)(z - centre)' for each k."""
    K, d = centre.shape
    m = Z.shape[1]
    for t in range((m + TILE_POINTS - 1) // TILE_POINTS):
        lo = t * TILE_POINTS
        width = min(TILE_POINTS, m - lo)
        for i in range(TILE_POINTS):
            r[i] = 0.0
        for k in range(K):
            s = 0.0
            for i in range(width):
                r[i] = R[k, lo + i]
                s += r[i]
            if s == 0.0:
                continue
            weight[k] += s
            for a in range(d):
                mu = centre[k, a]
                for i in range(width):
                    D[a, i] = Z[a, lo + i] - mu
            for a in range(d):
                s = 0.0
                for i in range(TILE_POINTS):
                    v = r[i] * D[a, i]
                    acc[i] = v
                    s += v
                first[k, a] += s
                for j in range(0, a + 1, 4):
                    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
                    for i in range(TILE_POINTS):
                        v = acc[i]
                        s0 += v * D[j, i]
                        s1 += v * D[j + 1, i]
                        s2 += v * D[j + 2, i]
                        s3 += v * D[j + 3, i]
                    second[k, a, j] += s0
                    second[k, a, j + 1] += s1
                    second[k, a, j + 2] += s2
                    second[k, a, j + 3] += s3


@jit(fastmath=FAST, error_model="numpy")
def log_diagonal(Z, mean, half, c, L):
    """L[k] = c[k] - sum_j half[k, j] (z_j - mean[k, j])^2."""
    K, d = mean.shape
    m = Z.shape[1]
    for k in range(K):
        shift = c[k]
        for i in range(m):
            L[k, i] = shift
        for j in range(d):
            mu, h = mean[k, j], half[k, j]
            for i in range(m):
                z = Z[j, i] - mu
                L[k, i] -= h * z * z


@jit(fastmath=FAST_WITH_NAN, error_model="numpy")
def log_diagonal_observed(Z, mean, half, level, c, L):
    """The same without the terms of missing entries; level[k, j] is the log density of column j at its mean."""
    K, d = mean.shape
    m = Z.shape[1]
    for k in range(K):
        for i in range(m):
            L[k, i] = c[k]
        for j in range(d):
            mu, h, top = mean[k, j], half[k, j], level[k, j]
            for i in range(m):
                z = Z[j, i] - mu
                L[k, i] += top - h * z * z if z == z else 0.0


@jit(fastmath=FAST, error_model="numpy")
def add_diagonal(Z, R, centre, weight, first, second):
    """Add sum r, sum r (z - centre) and sum r (z - centre)^2, column by column, for each k."""
    K, d = centre.shape
    m = Z.shape[1]
    for k in range(K):
        s = 0.0
        for i in range(m):
            s += R[k, i]
        if s == 0.0:
            continue
        weight[k] += s
        for j in range(d):
            mu = centre[k, j]
            s1, s2 = 0.0, 0.0
            for i in range(m):
                z = Z[j, i] - mu
                v = R[k, i] * z
                s1 += v
                s2 += v * z
            first[k, j] += s1
            second[k, j] += s2


@jit(fastmath=FAST_WITH_NAN, error_model="numpy")
def add_diagonal_observed(Z, R, centre, weight, count, first, second):
    """The same over the entries that are there; count[k, j] is their weight."""
    K, d = centre.shape
    m = Z.shape[1]
    for k in range(K):
        s = 0.0
        for i in range(m):
            s += R[k, i]
        weight[k] += s
        for j in range(d):
            mu = centre[k, j]
            s0, s1, s2 = 0.0, 0.0, 0.0
            for i in range(m):
                z = Z[j, i] - mu
                there = z == z
                r = R[k, i] if there else 0.0
                z = z if there else 0.0
                s0 += r
                s1 += r * z
                s2 += r * z * z
            count[k, j] += s0
            first[k, j] += s1
            second[k, j] += s2


@jit(fastmath=FAST_WITH_NAN, error_model="numpy")
def log_diagonal_rows(X, lo, hi, mean, half, c, out):
    """out[i, k] = c[k] - sum_j half[k, j] (x_ij - mean[k, j])^2 for rows lo..hi, four at a time.

    Returns the sum of all these sums, which is finite only if the rows are. The last four may repeat a row.
    """
    K, d = mean.shape
    total = 0.0
    for i0 in range(lo, hi, 4):
        i1, i2, i3 = min(i0 + 1, hi - 1), min(i0 + 2, hi - 1), min(i0 + 3, hi - 1)
        for k in range(K):
            s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
            for j in range(d):
                mu, h = mean[k, j], half[k, j]
                z0, z1, z2, z3 = X[i0, j] - mu, X[i1, j] - mu, X[i2, j] - mu, X[i3, j] - mu
                s0 += z0 * z0 * h
                s1 += z1 * z1 * h
                s2 += z2 * z2 * h
                s3 += z3 * z3 * h
            top = c[k]
            out[i0, k] = top - s0
            out[i1, k] = top - s1
            out[i2, k] = top - s2
            out[i3, k] = top - s3
            total += s0 + s1 + s2 + s3
    return total


@jit(fastmath=FAST_WITH_NAN, error_model="numpy")
def add_groups(X, codes, w, lo, hi, centre, weight, first, second):
    """Add sum w, sum w (x - centre), sum w (x - centre)^2 of rows lo..hi to the row of their code.

    The centre of a group is its first row.
    """
    d = X.shape[1]
    for i in range(lo, hi):
        k = codes[i]
        v = w[i]
        if weight[k] == 0.0:
            for j in range(d):
                centre[k, j] = X[i, j]
        weight[k] += v
        for j in range(d):
            z = X[i, j] - centre[k, j]
            t = v * z
            first[k, j] += t
            second[k, j] += t * z


@jit(fastmath=FAST_WITH_NAN, error_model="numpy")
def add_groups_observed(X, codes, w, lo, hi, centre, weight, count, first, second):
    """The same over the entries that are there; count[k, j] is their weight, the centre the first of them."""
    d = X.shape[1]
    for i in range(lo, hi):
        k = codes[i]
        v = w[i]
        weight[k] += v
        for j in range(d):
            x = X[i, j]
            if x == x:
                if count[k, j] == 0.0:
                    centre[k, j] = x
                count[k, j] += v
                z = x - centre[k, j]
                first[k, j] += v * z
                second[k, j] += v * z * z


@jit(error_model="numpy")
def sweep(sigma, k, seen, t, A):
    """A = the covariance sigma[k] swept over the columns seen[t]; returns the log determinant of their block.

    A holds -(S_oo)^-1, the regression S_mo (S_oo)^-1 of the missing on the observed columns, and what it
    leaves unexplained, S_mm - S_mo (S_oo)^-1 S_om (Beaton 1964; Dempster 1969).
    """
    d = seen.shape[1]
    for a in range(d):
        for b in range(d):
            A[a, b] = sigma[k, a, b]
    log_det = 0.0
    for p in range(d):
        if seen[t, p]:
            pivot = A[p, p]
            log_det += np.log(pivot)
            A[p, p] = -1.0
            for a in range(d):
                if a != p:
                    f = A[a, p] / pivot
                    A[a, p] = 0.0
                    for b in range(d):
                        A[a, b] -= f * A[p, b]
            for b in range(d):
                A[p, b] /= pivot
    return log_det


@jit(error_model="numpy")
def log_full_observed(Z, order, seen, fresh, mean, sigma, c, A, D, L):
    """L[k] = c[k] + log density of the entries that are there.

    Point order[t] has the entries seen[t] (d,); fresh[t] says that they are not those of t - 1. sigma
    holds K covariances, or one for all; A (d, d) and D (d,) are scratch.
    """
    K, d = mean.shape
    level = 0.0
    for k in range(K):
        for t in range(len(order)):
            i = order[t]
            if fresh[t]:
                level = c[k] - 0.5 * sweep(sigma, min(k, len(sigma) - 1), seen, t, A)
                for j in range(d):
                    level -= 0.5 * LOG_2PI * seen[t, j]
            s = 0.0
            for a in range(d):
                D[a] = Z[a, i] - mean[k, a] if seen[t, a] else 0.0
                v = 0.5 * A[a, a] * D[a]
                for b in range(a):
                    v += A[a, b] * D[b]
                s += v * D[a]
            L[k, i] = level + s


@jit(error_model="numpy")
def add_full_observed(Z, R, order, seen, fresh, mean, sigma, A, D, weight, first, second):
    """Add the expected sums about `mean`: a missing entry has its mean and spread given those seen."""
    K, d = mean.shape
    for k in range(K):
        for t in range(len(order)):
            i = order[t]
            if fresh[t]:
                sweep(sigma, min(k, len(sigma) - 1), seen, t, A)
            r = R[k, i]
            weight[k] += r
            for a in range(d):
                D[a] = Z[a, i] - mean[k, a] if seen[t, a] else 0.0
            for a in range(d):
                if not seen[t, a]:
                    for b in range(d):
                        D[a] += A[a, b] * D[b] * seen[t, b]
            for a in range(d):
                first[k, a] += r * D[a]
                for b in range(a + 1):
                    v = D[a] * D[b]
                    if not (seen[t, a] or seen[t, b]):
                        v += A[a, b]
                    second[k, a, b] += r * v
