"""An order of rows that their content decides: what is drawn along it does not depend on how the rows are listed.

key of a row = sum over the columns of (its bits) x (an odd number of the column)    modulo 2^64
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from fivefold.core.parallel import BLOCK_ROWS, map_parts
from fivefold.core.types import Array, Table

COLUMN_KEY_SEED = 20_07  # seed of the numbers that tell the columns apart


def content_order(X: Any, y: Any = None) -> Any:
    """An order of the rows that depends on their values, and those of y, only: equal rows stand together (n,) int32."""
    # targets are rounded, so that those given in single precision stand in the same order
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


def _mixed(values: Array) -> Any:
    """The bits of numbers in double precision, high ones folded into low ones; zero for zero, one number for NaN."""
    Z = values.astype(np.float64) + 0.0  # no negative zero
    Z[np.isnan(Z)] = np.nan
    bits = Z.view(np.uint64)
    return bits ^ (bits >> np.uint64(33))


def _sparse_keys(X: Table, odd: Any) -> Any:
    ends = np.concatenate([np.zeros(1, np.uint64), np.cumsum(_mixed(X.data) * odd[X.indices])])
    return ends[X.indptr[1:]] - ends[X.indptr[:-1]]
