"""Columns of a table, dense or sparse, one at a time; single values of it; and the threshold between two values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import issparse

from fivefold.core.types import Array, Doubles, Indices, Table


def column_reader(X: Table) -> Callable[[int], Array]:
    """A function that gives column f of X (n, d) as a vector."""
    if not issparse(X):
        return lambda f: np.ascontiguousarray(X[:, f])
    table = X.tocsc()

    def column(f: int) -> Array:
        out = np.zeros(X.shape[0], dtype=X.dtype)
        lo, hi = table.indptr[f], table.indptr[f + 1]
        out[table.indices[lo:hi]] = table.data[lo:hi]
        return out

    return column


def values_at(X: Table, rows: Indices, columns: Indices) -> Doubles:
    """X[rows[i], columns[i]] for every i, as float64."""
    found = X[rows, columns] if len(rows) else np.empty(0)
    return np.asarray(found, dtype=np.float64).ravel()


def used_columns(X: Table, feature: Indices) -> tuple[Table, Indices]:
    """A sparse table reduced to the columns that nodes ask about, and `feature` renumbered; a dense one unchanged."""
    if not issparse(X):
        return X, feature
    used, number = np.unique(np.maximum(feature, 0), return_inverse=True)
    return X[:, used], np.where(feature >= 0, number, -1).astype(feature.dtype)


def to_dense(X: Table) -> Array:
    """The table as an array (n, d)."""
    return X.toarray() if issparse(X) else X


def midpoint(low: float, high: float) -> float:
    """`midpoint_below` of two numbers, which takes a tenth of the time that arrays of one number would."""
    middle = low / 2 + high / 2
    return low if middle >= high or middle < low else middle


def midpoint_below(low: Array, high: Array) -> Array:
    """The midpoints of low <= high, kept below the upper value even where the two differ only by rounding."""
    middle = low / 2 + high / 2
    return np.where((middle >= high) | (middle < low), low, middle)
