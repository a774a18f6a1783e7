"""Compiled expansions: products of columns, dense and sparse.

Monomials of degree t are ordered by their columns c_1 <= ... <= c_t. Those that begin with column j are x_j times the
monomials of degree t - 1 that begin with j or later, which are contiguous: a run. A row is built from runs, each a
multiple of numbers computed before.
"""

import numpy as np

from fivefold.core.compilation.jit import FAST, jit
from fivefold.core.types import Indices, Matrix, Vector


@jit(fastmath=FAST, error_model="numpy")
def expand_dense(X: Matrix, runs: Indices, bias: int, out: Matrix) -> None:
    """Rows of out: a one if `bias`, the columns, then the runs (column, source, length, target)."""
    n, d = X.shape
    for i in range(n):
        row = out[i]
        if bias:
            row[0] = 1
        for j in range(d):
            row[bias + j] = X[i, j]
        for r in range(len(runs)):
            v, source, target = X[i, runs[r, 0]], runs[r, 1], runs[r, 3]
            for k in range(runs[r, 2]):
                row[target + k] = v * row[source + k]


@jit(fastmath=FAST, error_model="numpy")
def expand_sparse(
    data: Vector,
    indices: Indices,
    indptr: Indices,
    d: int,
    degree: int,
    strict: int,
    counts: Indices,
    offset: int,
    start: Indices,
    out_data: Vector,
    out_indices: Indices,
) -> None:
    """Products of `degree` stored entries of each row, written from start[i] on; `strict` uses no entry twice.

    counts[m, r] is the number of choices of r columns out of m, which gives the rank of a choice among all.
    """
    at, rank = np.zeros(degree, dtype=np.int64), np.zeros(degree + 1, dtype=np.int64)
    product = np.ones(degree + 1)
    for i in range(len(indptr) - 1):
        lo, hi, place, level = indptr[i], indptr[i + 1], start[i], 0
        at[0] = lo
        while level >= 0:
            if at[level] >= hi:
                level -= 1
                if level >= 0:
                    at[level] += 1
                continue
            c, left = indices[at[level]], degree - level
            low = 0 if level == 0 else indices[at[level - 1]] + strict
            rank[level + 1] = rank[level] + counts[d - low, left] - counts[d - c, left]
            product[level + 1] = product[level] * data[at[level]]
            if left == 1:
                out_data[place] = product[degree]
                out_indices[place] = offset + rank[degree]
                place += 1
                at[level] += 1
            else:
                at[level + 1] = at[level] + strict
                level += 1
