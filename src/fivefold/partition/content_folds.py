"""Cross-validation folds decided by the content of the rows, not by their order, so that weights mean repetition."""

from __future__ import annotations

import numpy as np

from fivefold.core.types import Indices, Table, Target
from fivefold.partition.column_access import to_dense
from fivefold.spatial.row_order import content_order


def content_folds(X: Table, y: Target, count: int) -> Indices:
    """The fold of each row (n,), from 0 to count - 1 or to the number of distinct rows - 1; equal rows share a fold."""
    order = content_order(X, y)
    Z = to_dense(X[order])
    same = ((Z[1:] == Z[:-1]) | ((Z[1:] != Z[1:]) & (Z[:-1] != Z[:-1]))).all(axis=1)
    t = y.reshape(len(y), -1)[order]
    group = np.concatenate([[0], np.cumsum(~(same & (t[1:] == t[:-1]).all(axis=1)))])
    out = np.empty(len(y), dtype=np.int64)
    out[order] = group % min(count, group[-1] + 1)
    return out
