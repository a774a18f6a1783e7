"""Squared distances between the rows of two tables by one matrix product.

    |x - c|^2 = |x|^2 - 2 x.c + |c|^2      both centred first, so that an offset costs no digits

Where the difference is small beside its terms its digits have cancelled: those are taken again from x - c.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from fivefold.core.parallel import map_parts
from fivefold.core.types import Array
from fivefold.spatial.points import cache_blocks, rows_per_part

CANCELLATION_RATIO = 1e-6  # below this share of the squared norms a difference of products is not to be trusted
PAIRS_PER_BLOCK = 65536  # so many are taken again together


def squared_distances(X: Any, C: Any = None) -> Array:
    """|x - c|^2 (n, K), never negative; between the rows of X, with a diagonal of zeros, if C is not given."""
    alone = C is None
    C = X if alone else C
    sparse = issparse(X)
    C = C.toarray() if issparse(C) else np.asarray(C)
    centre = np.zeros(C.shape[1]) if sparse else C.mean(axis=0, dtype=np.float64)
    D = C - centre
    norms = np.einsum("kj,kj->k", D, D)
    out = np.empty((X.shape[0], len(C)), dtype=np.result_type(X.dtype, C.dtype))

    def part(lo: int, hi: int) -> None:
        for a, b in cache_blocks(lo, hi, max(C.shape)):
            Z = X[a:b].astype(np.float64) if sparse else X[a:b] - centre
            squares = _norms(Z)[:, None]
            block = squares - 2 * (Z @ D.T) + norms
            i, k = np.nonzero(block < CANCELLATION_RATIO * (squares + norms))
            for s in range(0, len(i), PAIRS_PER_BLOCK):
                some = Z[i[s : s + PAIRS_PER_BLOCK]]
                some = some.toarray() if sparse else some
                block[i[s : s + PAIRS_PER_BLOCK], k[s : s + PAIRS_PER_BLOCK]] = _norms(
                    some - D[k[s : s + PAIRS_PER_BLOCK]]
                )
            out[a:b] = block

    map_parts(part, X.shape[0], rows=rows_per_part(max(C.shape)))
    if alone:
        np.fill_diagonal(out, 0.0)
    return out


def _norms(Z: Any) -> Array:
    """|z|^2 of each row."""
    if issparse(Z):
        return np.asarray(Z.multiply(Z).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", Z, Z)
