"""Rows of a table, dense or sparse, as compiled loops see them.

A loop over rows is written once, in terms of `squared_distance` and `transfer_row`, whose rule is chosen by the
type of the rows. Dense rows are taken relative to an origin near the data, so that an offset costs no digits.

What takes the time, the comparison of many rows with many centres, has a loop of its own for each type:
`nearest_two` and `try_seeds`. Dense rows go through them ROW_LANES at a time, one row per
column of a small table, so that the innermost loop vectorises; four coordinates and two centres are taken together,
so that every number loaded is used twice.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from fivefold.core.compilation.jit import FAST, FAST_WITH_NAN, generic, jit
from fivefold.core.types import Array, Indices, Matrix, Vector

ROW_LANES = 64  # rows in a block: a whole number of vector registers in either precision
MAX_SINGLE_SQUARE = 1e30  # larger than any squared distance that is computed in single precision
# Two sparse rows are equal, up to rounding, if their squared distance is below this share of their squared norms.
EQUAL_ROWS_RATIO = 1e-14


class DenseRows(NamedTuple):
    """The rows of an array, read as X - origin."""

    X: Array  # (n, d)
    origin: Array  # (d,)


class SparseRows(NamedTuple):
    """The rows of a CSR matrix."""

    data: Vector  # (nnz,)
    indices: Indices  # (nnz,)
    indptr: Indices  # (n + 1,)


Rows: TypeAlias = DenseRows | SparseRows


@generic
def squared_distance(rows: Rows, i: int, C: Matrix, norms: Vector, k: int) -> float:
    """|x_i - c_k|^2; norms are |c|^2."""
    raise NotImplementedError


@squared_distance.rule(DenseRows)
def _(rows, i, C, norms, k):
    s = 0.0
    for j in range(C.shape[1]):
        z = (rows.X[i, j] - rows.origin[j]) - C[k, j]
        s += z * z
    return s


@squared_distance.rule(SparseRows)
def _(rows, i, C, norms, k):
    s, size = norms[k], norms[k]
    for p in range(rows.indptr[i], rows.indptr[i + 1]):
        c = C[k, rows.indices[p]]
        z = rows.data[p] - c
        s += z * z - c * c
        size += rows.data[p] * rows.data[p]
    return s if s > EQUAL_ROWS_RATIO * size else 0.0


@generic
def transfer_row(rows: Rows, i: int, v: float, S: Matrix, k: int, old: int) -> None:
    """S[k] += v x_i and S[old] -= v x_i."""


@transfer_row.rule(DenseRows)
def _(rows, i, v, S, k, old):
    for j in range(rows.X.shape[1]):
        z = v * (rows.X[i, j] - rows.origin[j])
        S[k, j] += z
        S[old, j] -= z


@transfer_row.rule(SparseRows)
def _(rows, i, v, S, k, old):
    for p in range(rows.indptr[i], rows.indptr[i + 1]):
        z = v * rows.data[p]
        S[k, rows.indices[p]] += z
        S[old, rows.indices[p]] -= z


@jit(fastmath=FAST, error_model="numpy")
def _nearest_two_dense(rows, ids, m, code, half, Z, v, u, found):
    """code (K, d) and half (K,), padded to an even K and a d that is a multiple of four, in the working precision.

    Z is (d, ROW_LANES).
    """
    X, origin = rows.X, rows.origin
    K, width = code.shape
    for b in range((m + ROW_LANES - 1) // ROW_LANES):
        first, second, which, norm = found[0][b], found[1][b], found[2][b], found[3][b]
        for i in range(ROW_LANES):
            first[i], second[i], which[i] = MAX_SINGLE_SQUARE, MAX_SINGLE_SQUARE, 0
        for i in range(min(ROW_LANES, m - b * ROW_LANES)):
            r, s = ids[b * ROW_LANES + i], 0.0
            for j in range(X.shape[1]):
                z = X[r, j] - origin[j]
                Z[j, i] = z
                s += z * z
            norm[i] = s
        for k in range(0, K, 2):
            hv, hu = half[k], half[k + 1]
            for i in range(ROW_LANES):
                v[i], u[i] = hv, hu
            for j in range(0, width, 4):
                v0, v1, v2, v3 = code[k, j], code[k, j + 1], code[k, j + 2], code[k, j + 3]
                u0, u1, u2, u3 = code[k + 1, j], code[k + 1, j + 1], code[k + 1, j + 2], code[k + 1, j + 3]
                for i in range(ROW_LANES):
                    z0, z1, z2, z3 = Z[j, i], Z[j + 1, i], Z[j + 2, i], Z[j + 3, i]
                    v[i] -= v0 * z0 + v1 * z1 + v2 * z2 + v3 * z3
                    u[i] -= u0 * z0 + u1 * z1 + u2 * z2 + u3 * z3
            kv, ku = np.float32(k), np.float32(k + 1)
            for i in range(ROW_LANES):
                low, high = min(v[i], u[i]), max(v[i], u[i])
                which[i] = which[i] if first[i] <= low else (kv if v[i] <= u[i] else ku)
                second[i] = min(second[i], high, max(first[i], low))
                first[i] = min(first[i], low)


@jit(fastmath=FAST, error_model="numpy")
def _nearest_two_sparse(rows, ids, m, code, half, Z, v, u, found):
    """code (d, K) and half (K,); v (K,)."""
    K = len(half)
    for t in range(m):
        r, norm = ids[t], 0.0
        for k in range(K):
            v[k] = half[k]
        for p in range(rows.indptr[r], rows.indptr[r + 1]):
            x, j = np.float64(rows.data[p]), rows.indices[p]
            norm += x * x
            for k in range(K):
                v[k] -= x * code[j, k]
        first, second, which = MAX_SINGLE_SQUARE, MAX_SINGLE_SQUARE, 0
        for k in range(K):
            if v[k] < first:
                first, second, which = v[k], first, k
            elif v[k] < second:
                second = v[k]
        b, i = t // ROW_LANES, t % ROW_LANES
        found[0][b, i], found[1][b, i], found[2][b, i], found[3][b, i] = first, second, which, norm


@generic
def nearest_two(
    rows: Rows,
    ids: Indices,
    m: int,
    code: Matrix,
    half: Vector,
    Z: Matrix,
    v: Vector,
    u: Vector,
    found: tuple[Matrix, ...],
) -> None:
    """For rows ids[:m]: the smallest and the second smallest |c|^2 / 2 - c.x, the k of the smallest, and |x|^2.

    They go into the four arrays (m / ROW_LANES, ROW_LANES) of `found`, which are separate because the compiler could
    not tell that rows of one array do not overlap. Z, v and u are scratch.
    """


@nearest_two.rule(DenseRows)
def _(rows, ids, m, code, half, Z, v, u, found):
    _nearest_two_dense(rows, ids, m, code, half, Z, v, u, found)


@nearest_two.rule(SparseRows)
def _(rows, ids, m, code, half, Z, v, u, found):
    _nearest_two_sparse(rows, ids, m, code, half, Z, v, u, found)


@jit(fastmath=FAST, error_model="numpy")
def _seed_trial_dense(rows, lo, hi, w, nearest, C, norms, Z, acc, out, potential):
    """C (T, d) and Z (d, ROW_LANES) are padded to a d that is a multiple of four."""
    X, origin = rows.X, rows.origin
    T, width = len(norms), C.shape[1]
    for b in range(lo, hi):
        for i in range(min(ROW_LANES, X.shape[0] - b * ROW_LANES)):
            for j in range(X.shape[1]):
                Z[j, i] = X[b * ROW_LANES + i, j] - origin[j]
        for t in range(T):
            for i in range(ROW_LANES):
                acc[i] = 0.0
            for j in range(0, width, 4):
                c0, c1, c2, c3 = C[t, j], C[t, j + 1], C[t, j + 2], C[t, j + 3]
                for i in range(ROW_LANES):
                    z0, z1, z2, z3 = Z[j, i] - c0, Z[j + 1, i] - c1, Z[j + 2, i] - c2, Z[j + 3, i] - c3
                    acc[i] += z0 * z0 + z1 * z1 + z2 * z2 + z3 * z3
            s = 0.0
            for i in range(ROW_LANES):
                v = min(acc[i], nearest[b, i])
                out[t, b, i] = v
                s += w[b, i] * v
            potential[t] += s


@jit(fastmath=FAST, error_model="numpy")
def _seed_trial_sparse(rows, lo, hi, w, nearest, C, norms, Z, acc, out, potential):
    """C (d, T) and acc (T,)."""
    T, n = len(norms), len(rows.indptr) - 1
    for b in range(lo, hi):
        for i in range(min(ROW_LANES, n - b * ROW_LANES)):
            r, norm = b * ROW_LANES + i, 0.0
            for t in range(T):
                acc[t] = norms[t]
            for p in range(rows.indptr[r], rows.indptr[r + 1]):
                x, j = np.float64(rows.data[p]), rows.indices[p]
                norm += x * x
                for t in range(T):
                    acc[t] -= 2 * x * C[j, t]
            for t in range(T):
                s = acc[t] + norm
                v = min(s if s > EQUAL_ROWS_RATIO * (norm + norms[t]) else 0.0, nearest[b, i])
                out[t, b, i] = v
                potential[t] += w[b, i] * v


@generic
def try_seeds(
    rows: Rows,
    lo: int,
    hi: int,
    w: Matrix,
    nearest: Matrix,
    C: Matrix,
    norms: Vector,
    Z: Matrix,
    acc: Vector,
    out: Array,
    potential: Vector,
) -> None:
    """The squared distances of rows to their nearest seed, if each of the T rows of C became a seed.

    For blocks lo..hi of ROW_LANES rows, out (T, blocks, ROW_LANES) from nearest (blocks, ROW_LANES); their sums,
    weighted by w, are added to potential (T,). norms (T,) are |c|^2; Z and acc are scratch.
    """


@try_seeds.rule(DenseRows)
def _(rows, lo, hi, w, nearest, C, norms, Z, acc, out, potential):
    _seed_trial_dense(rows, lo, hi, w, nearest, C, norms, Z, acc, out, potential)


@try_seeds.rule(SparseRows)
def _(rows, lo, hi, w, nearest, C, norms, Z, acc, out, potential):
    _seed_trial_sparse(rows, lo, hi, w, nearest, C, norms, Z, acc, out, potential)


@jit(fastmath=FAST_WITH_NAN, error_model="numpy")
def sums_about(X, w, origin, lo, hi, first):
    """Add w (x - origin) of the rows lo..hi to `first`; returns the sum of w |x - origin|^2."""
    second = 0.0
    for i in range(hi - lo):
        v, s = w[lo + i], 0.0
        for j in range(X.shape[1]):
            z = X[lo + i, j] - origin[j]
            first[j] += v * z
            s += z * z
        second += v * s
    return second


@jit(fastmath=FAST_WITH_NAN, error_model="numpy")
def project_rows(X, origin, direction, lo, hi, out):
    """out = (x - origin).direction for the rows lo..hi; equal rows have equal numbers."""
    for i in range(hi - lo):
        s = 0.0
        for j in range(X.shape[1]):
            s += (X[lo + i, j] - origin[j]) * direction[j]
        out[lo + i] = s


def multiple_of_four(d: int) -> int:
    """The next multiple of four."""
    return -(-d // 4) * 4
