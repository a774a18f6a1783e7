"""Matrices of kernels by blocks of rows, on all cores; the symmetric ones computed once above the diagonal.

The cut into blocks depends on the shapes alone, so the number of threads changes no byte.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.sparse import issparse

from fivefold.core.parallel import map_items
from fivefold.core.types import Array, Matrix, Table, Vector
from fivefold.kernels.distance_loops import finish_squares
from fivefold.spatial.distances import CANCELLATION_RATIO, squared_distances

PIECE_ROWS = 256  # rows of the matrix that a thread computes at a time, at most
BLOCK_NUMBERS = 2**17  # entries of the matrix that pass through all steps together: they stay in the cache
MIN_BLOCK_ROWS = 8  # rows of a block, at least: fewer make no matrix product worth its call
MIRROR_ROWS = 64  # rows and columns of a tile that is copied across the diagonal: it stays in the first cache

Block: TypeAlias = Callable[[slice, slice], Matrix]  # rows of X, rows of Y -> that part of the matrix


def as_rows(X: Any) -> Table:  # what users pass
    """A table of float64 or float32, dense or CSR; other numbers become float64."""
    if issparse(X):
        X = X.tocsr()
        return X if X.dtype.kind == "f" else X.astype(np.float64)
    X = np.atleast_2d(np.asarray(X))
    if X.ndim != 2:
        raise ValueError(f"rows of numbers are wanted, a table with two axes; got an array of shape {X.shape}")
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def pairwise(block: Block, X: Table, Y: Table | None, finish: Callable[[Matrix], Matrix] | None = None) -> Matrix:
    """The matrix of all rows of X and Y by blocks, `finish` applied to each; without Y symmetric to the last bit."""
    other = X if Y is None else Y
    n, m = X.shape[0], other.shape[0]
    K = np.empty((n, m), dtype=np.result_type(X.dtype, other.dtype))
    height = int(np.clip(BLOCK_NUMBERS // max(m, 1), MIN_BLOCK_ROWS, PIECE_ROWS))

    def piece(i: int) -> None:
        end = min((i + 1) * PIECE_ROWS, n)
        for a in range(i * PIECE_ROWS, end, height):
            rows = slice(a, min(a + height, end))
            columns = slice(0, m) if Y is not None else slice(a, n)
            part = block(rows, columns)
            K[rows, columns] = part if finish is None else finish(part)
            if Y is None:
                mirror(K, a, rows.stop)

    map_items(piece, -(-n // PIECE_ROWS))
    return K


def sum_over_blocks(part: Callable[[slice], Vector], n: int, m: int) -> Vector:
    """part(rows) summed over blocks of the rows of a matrix (n, m), in their order."""
    height = int(np.clip(BLOCK_NUMBERS // max(m, 1), MIN_BLOCK_ROWS, PIECE_ROWS))

    def piece(i: int) -> Vector:
        end = min((i + 1) * PIECE_ROWS, n)
        return reduce(np.add, [part(slice(a, min(a + height, end))) for a in range(i * PIECE_ROWS, end, height)])

    return reduce(np.add, map_items(piece, -(-n // PIECE_ROWS)))


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


def product_block(X: Table, Y: Table | None) -> Block:
    """Blocks of the inner products of rows."""
    Z = (X if Y is None else Y).T
    return lambda rows, columns: densified(X[rows] @ Z[:, columns])


def densified(A: Any) -> Array:
    """A dense array of a dense or sparse table."""
    return A.toarray() if issparse(A) else np.asarray(A)


def distance_block(X: Table, Y: Table | None) -> Block:
    """Blocks of the squared distances of rows: dense ones centred, in float64, so that no digits are lost."""
    other = X if Y is None else Y
    if issparse(X) or issparse(other):
        return lambda rows, columns: squared_distances(X[rows], other[columns])
    centre = other.mean(axis=0, dtype=np.float64)
    A = np.subtract(X, centre, dtype=np.float64, order="C")
    B = A if Y is None else np.subtract(Y, centre, dtype=np.float64, order="C")
    a = squared_lengths(A)
    b = a if Y is None else squared_lengths(B)

    def block(rows: slice, columns: slice) -> Matrix:
        P = A[rows] @ B[columns].T
        finish_squares(P, A[rows], B[columns], a[rows], b[columns], CANCELLATION_RATIO)
        return P

    return block


def distances(X: Table, Y: Table | None) -> Matrix:
    """The squared distances of rows as one matrix; without Y symmetric, with a diagonal of zeros."""
    return pairwise(distance_block(X, Y), X, Y)


def whitened(X: Table, covariance: Any) -> Table:  # an array (d, d)
    """Rows L^-1 x with L L' = covariance: their inner products are x' S^-1 y."""
    S = np.atleast_2d(np.asarray(covariance, dtype=np.float64))
    if S.shape != (X.shape[1], X.shape[1]):
        raise ValueError(f"the covariance has shape {S.shape}, and the rows have {X.shape[1]} columns")
    try:
        L = cholesky(S, lower=True)
    except np.linalg.LinAlgError as error:
        raise ValueError("the covariance is not positive definite: add a ridge to its diagonal") from error
    return np.ascontiguousarray(solve_triangular(L, densified(X).T, lower=True).T.astype(X.dtype, copy=False))


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
