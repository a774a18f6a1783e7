"""Parts of the rows that are left out in turn, which the content of the rows decides: weights mean repetition."""

from __future__ import annotations

from typing import Any

import numpy as np

from fivefold.core.types import Table, Target
from fivefold.partition.column_access import to_dense
from fivefold.spatial.row_order import content_order


def content_folds(X: Table, y: Target, count: int) -> Any:
    """The part of each row (n,), 0 to count - 1; equal rows are in one, and there are no more parts than other rows."""
    order = content_order(X, y)
    Z = to_dense(X[order])
    same = ((Z[1:] == Z[:-1]) | ((Z[1:] != Z[1:]) & (Z[:-1] != Z[:-1]))).all(axis=1)
    t = y.reshape(len(y), -1)[order]
    group = np.concatenate([[0], np.cumsum(~(same & (t[1:] == t[:-1]).all(axis=1)))])
    out = np.empty(len(y), dtype=np.int64)
    out[order] = group % min(count, group[-1] + 1)
    return out
