"""Squared distances between the rows of two tables by one matrix product.

    |x - c|^2 = |x|^2 - 2 x.c + |c|^2      both centred first, so that an offset costs no digits

Where the result is small beside its terms, its digits have cancelled: such pairs are computed again from x - c.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import issparse

from fivefold.core.numerics.arrays import AnyArray, is_tensor, like, namespace, to_numpy
from fivefold.core.numerics.tensors import row_cuts
from fivefold.core.parallel import map_parts
from fivefold.core.types import Matrix, Table
from fivefold.spatial.points import cache_blocks, rows_per_part, squared_norms

CANCELLATION_RATIO = 1e-6  # a distance below this share of the squared norms has lost too many digits to be trusted
PAIRS_PER_BLOCK = 65536  # pairs of a row and a centre that are computed again together: bounds the memory they take


def squared_distances(X: Table, C: Table = None) -> Matrix:
    """|x - c|^2 (n, K), never negative; without C between the rows of X, with a diagonal of zeros."""
    if is_tensor(X):
        return _distances_of_tensor(X, to_numpy(X if C is None else C))
    alone = C is None
    C = X if alone else C
    sparse = issparse(X)
    C = C.toarray() if issparse(C) else np.asarray(C)
    centre = np.zeros(C.shape[1]) if sparse else C.mean(axis=0, dtype=np.float64)
    D = C - centre
    norms = squared_norms(D)
    out = np.empty((X.shape[0], len(C)), dtype=np.result_type(X.dtype, C.dtype))

    def part(lo: int, hi: int) -> None:
        for a, b in cache_blocks(lo, hi, max(C.shape)):
            Z = X[a:b].astype(np.float64) if sparse else X[a:b] - centre
            squares = squared_norms(Z)[:, None]
            block = squares - 2 * (Z @ D.T) + norms
            i, k = np.nonzero(block < CANCELLATION_RATIO * (squares + norms))
            for s in range(0, len(i), PAIRS_PER_BLOCK):
                rows, centres = i[s : s + PAIRS_PER_BLOCK], k[s : s + PAIRS_PER_BLOCK]
                points = Z[rows].toarray() if sparse else Z[rows]
                block[rows, centres] = squared_norms(points - D[centres])
            out[a:b] = block

    map_parts(part, X.shape[0], rows=rows_per_part(max(C.shape)))
    if alone:
        np.fill_diagonal(out, 0.0)
    return out


def _distances_of_tensor(X: AnyArray, C: Matrix) -> AnyArray:
    """|x - c|^2 (n, K) on the device of X, in its type."""
    xp, centre = namespace(X), C.mean(axis=0, dtype=np.float64)
    D, origin = like(C - centre, X), like(centre, X)
    norms, slope = D.square().sum(dim=1), (-2 * D.T).contiguous()
    out = xp.empty((len(X), len(C)), dtype=X.dtype, device=X.device)
    for a, b in row_cuts(X, 2 * X.shape[1] + 2 * len(C)):
        Z = X[a:b] - origin
        squares = Z.square().sum(dim=1, keepdim=True)
        block = xp.addmm(norms, Z, slope, out=out[a:b]).add_(squares)
        for pairs in (block < CANCELLATION_RATIO * (squares + norms)).nonzero().split(PAIRS_PER_BLOCK):
            rows, centres = pairs[:, 0], pairs[:, 1]
            block[rows, centres] = (Z[rows] - D[centres]).square_().sum(dim=1)
    return out
