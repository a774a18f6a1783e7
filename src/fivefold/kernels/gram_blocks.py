"""Matrices of kernels by blocks of rows, on all cores; the symmetric ones computed once above the diagonal.

The cut into blocks depends on the shapes alone, so the number of threads changes no byte.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import issparse

from fivefold.core.parallel import map_items
from fivefold.core.types import Matrix, Table, Vector

BLOCK_ROWS = 256  # rows of the matrix per block: a thread's share is several blocks, each with a long matrix product
MIRROR_ROWS = 64  # rows and columns of a tile that is copied across the diagonal: it stays in the first cache

Block: TypeAlias = Callable[[Table, Table], Matrix]  # rows A, rows B -> matrix (len A, len B)


def as_rows(X: Any) -> Table:  # what users pass
    """A table of float64 or float32, dense or CSR; other numbers become float64."""
    if issparse(X):
        X = X.tocsr()
        return X if X.dtype.kind == "f" else X.astype(np.float64)
    X = np.atleast_2d(np.asarray(X))
    if X.ndim != 2:
        raise ValueError(f"rows of numbers are wanted, a table with two axes; got an array of shape {X.shape}")
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def pairwise(block: Block, X: Table, Y: Table | None) -> Matrix:
    """block(rows of X, Y) for all rows; without Y the matrix is symmetric to the last bit."""
    n, m = X.shape[0], (X if Y is None else Y).shape[0]
    K = np.empty((n, m), dtype=np.result_type(X.dtype, (X if Y is None else Y).dtype))

    def piece(i: int) -> None:
        a, b = i * BLOCK_ROWS, min((i + 1) * BLOCK_ROWS, n)
        if Y is not None:
            K[a:b] = block(X[a:b], Y)
            return
        K[a:b, a:] = block(X[a:b], X[a:])
        mirror(K, a, b)

    map_items(piece, -(-n // BLOCK_ROWS))
    return K


def mirror(K: Matrix, a: int, b: int) -> None:
    """Copy rows a..b right of the diagonal to the columns a..b below it, tile by tile."""
    n = len(K)
    for lo in range(a, b, MIRROR_ROWS):
        hi = min(lo + MIRROR_ROWS, b)
        tile = K[lo:hi, lo:hi]
        tile[...] = np.triu(tile) + np.triu(tile, 1).T
        for start in range(hi, n, MIRROR_ROWS):
            end = min(start + MIRROR_ROWS, n)
            K[start:end, lo:hi] = K[lo:hi, start:end].T


def inner_products(X: Table, Y: Table) -> Matrix:
    """X Y' as a dense array, of dense or sparse tables."""
    P = X @ Y.T
    return P.toarray() if issparse(P) else np.asarray(P)


def squared_lengths(X: Table) -> Vector:
    """|x_i|^2."""
    if issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)


def column_scaled(X: Table, scale: Any) -> Table:  # a number, or one per column
    """X / scale, in the type of X."""
    if np.ndim(scale) and np.size(scale) not in (1, X.shape[1]):
        raise ValueError(
            f"Anisotropic kernel must have the same number of dimensions as data ({np.size(scale)}!={X.shape[1]})"
        )
    inverse = (1.0 / np.asarray(scale, dtype=np.float64)).astype(X.dtype)
    if issparse(X):
        return X.multiply(inverse).tocsr() if inverse.ndim else X * inverse
    return X * inverse
