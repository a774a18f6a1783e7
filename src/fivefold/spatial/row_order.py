"""An order of rows that depends only on their content: draws along it do not depend on how the rows are listed.

key of a row = sum over the columns of (its bits) x (an odd number of the column)    modulo 2^64
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from fivefold.core.parallel import BLOCK_ROWS, map_parts
from fivefold.core.types import Array, Indices, Table, Target

COLUMN_KEY_SEED = 20_07  # seed of the odd numbers that tell the columns apart


def content_order(X: Table, y: Target | None = None) -> Indices:
    """An order of the rows (n,), int32, that depends only on their values and those of y: equal rows are neighbours."""
    # targets are rounded, so that the same ones in single precision give the same order
    targets = np.empty((X.shape[0], 0)) if y is None else np.asarray(y, np.float32).reshape(X.shape[0], -1)
    d, count = X.shape[1], X.shape[1] + targets.shape[1]
    odd = 2 * np.random.default_rng(COLUMN_KEY_SEED).integers(2**63, size=count, dtype=np.uint64) + 1
    keys = np.empty(X.shape[0], dtype=np.uint64)

    def part(lo: int, hi: int) -> None:
        for a in range(lo, hi, BLOCK_ROWS):
            b = min(a + BLOCK_ROWS, hi)
            own = _sparse_keys(X[a:b], odd[:d]) if issparse(X) else (_mixed(X[a:b]) * odd[:d]).sum(axis=1)
            keys[a:b] = own + (_mixed(targets[a:b]) * odd[d:]).sum(axis=1)

    map_parts(part, len(keys))
    return np.argsort(keys, kind="stable").astype(np.int32)


def _mixed(values: Array) -> NDArray[np.uint64]:
    """The bits of numbers in double precision, high ones folded into low ones; zero for zero, one value for all NaN."""
    Z = values.astype(np.float64) + 0.0  # no negative zero
    Z[np.isnan(Z)] = np.nan
    bits = Z.view(np.uint64)
    return bits ^ (bits >> np.uint64(33))


def _sparse_keys(X: Table, odd: NDArray[np.uint64]) -> NDArray[np.uint64]:
    ends = np.concatenate([np.zeros(1, np.uint64), np.cumsum(_mixed(X.data) * odd[X.indices])])
    return ends[X.indptr[1:]] - ends[X.indptr[:-1]]
