"""Products of matrices by pieces and by blocks of rows: threads never change a byte of the result.

Rows are centred before a product, in float64, so data far from zero cost no digits.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from itertools import pairwise

import numpy as np
from scipy.sparse.linalg import LinearOperator

from fivefold.core.numerics.arrays import AnyArray, is_tensor, like, namespace
from fivefold.core.numerics.tensors import row_cuts
from fivefold.core.parallel import map_items, map_parts
from fivefold.core.types import Array, Matrix, Table

WIDE_BLOCK_ROWS = 1024  # rows per block of a wide table; of a narrow one, four times as many fit into the cache
MIN_PIECE_ROWS = 64  # rows per piece of a product, at least
MAX_PIECES = 16  # pieces of a product, at most
MIN_PIECE_PRODUCTS = 1 << 21  # multiplications per piece, at least: fewer are not worth a thread


def row_blocks(X: Table, lo: int, hi: int) -> Iterator[tuple[int, int, Array]]:
    """Rows lo..hi of a NumPy array as (a, b, X[a:b]) block by block."""
    rows = 4 * WIDE_BLOCK_ROWS if X.shape[1] <= 128 else WIDE_BLOCK_ROWS
    for a in range(lo, hi, rows):
        b = min(a + rows, hi)
        yield a, b, X[a:b]


def centred_blocks(X: Table, centre: Array, lo: int, hi: int) -> Iterator[tuple[int, int, Array]]:
    """Rows lo..hi of a NumPy array less `centre`, as (a, b, Z) block by block; Z is overwritten by the next block."""
    held = np.empty((0, X.shape[1]))
    for a, b, rows in row_blocks(X, lo, hi):
        if not len(held):
            held = np.empty(rows.shape, dtype=np.result_type(rows, centre))
        yield a, b, np.subtract(rows, centre, out=held[: b - a])


def product(A: Table, B: Table) -> Table:
    """A @ B, the rows of a NumPy array A divided over the pool by its shape: threads do not change the result."""
    if not (isinstance(A, np.ndarray) and isinstance(B, np.ndarray)):
        return A @ B
    n, count = len(A), _pieces(len(A), A.size * (B.size // len(B)))
    out = np.empty((n, *B.shape[1:]), dtype=np.result_type(A, B))

    def piece(i: int) -> None:
        lo, hi = n * i // count, n * (i + 1) // count
        np.matmul(A[lo:hi], B, out=out[lo:hi])

    map_items(piece, count)
    return out


def cross_product(A: Table, B: Table) -> Table:
    """A.T @ B, summed over runs of rows, or by rows of the result if these are more."""
    n, d = A.shape
    if n < d or not (isinstance(A, np.ndarray) and isinstance(B, np.ndarray)):
        return product(A.T, B)
    # few pieces if each of the sums is large
    count = _pieces(n // max(1, d // (4 * MIN_PIECE_ROWS)), A.size * (B.size // n))
    cuts = [n * i // count for i in range(count + 1)]
    same = B is A  # a matrix with itself takes half the work
    rows = [slice(*ends) for ends in pairwise(cuts)]
    return reduce(np.add, map_items(lambda i: (Z := A[rows[i]]).T @ (Z if same else B[rows[i]]), count))


def _pieces(rows: int, work: int) -> int:
    """Number of pieces into which a product is cut."""
    return max(1, min(MAX_PIECES, rows // MIN_PIECE_ROWS, work // MIN_PIECE_PRODUCTS))


def affine(X: Array, centre: Array, A: Array, shift: Array | float = 0.0) -> Array:
    """(X - centre) @ A + shift for A (d,) or (d, k), in the type of X, an array or a tensor."""
    if is_tensor(X):
        return _affine_of_tensor(X, centre, A, shift)
    A = np.ascontiguousarray(A)
    out = np.empty((len(X), *A.shape[1:]), dtype=X.dtype)

    def part(lo: int, hi: int) -> None:
        for a, b, Z in centred_blocks(X, centre, lo, hi):
            out[a:b] = Z @ A + shift

    map_parts(part, len(X))
    return out


def _affine_of_tensor(X: AnyArray, centre: Array, A: Array, shift: Array | float) -> AnyArray:
    xp, origin, width = namespace(X), like(centre, X), A.shape[1:]
    W = like(A.reshape(len(A), -1), X)
    out = xp.empty((len(X), W.shape[1]), dtype=X.dtype, device=X.device)
    level = like(np.broadcast_to(shift, (W.shape[1],)), X)
    for a, b in row_cuts(X, X.shape[1]):
        xp.addmm(level, X[a:b] - origin if centre.any() else X[a:b], W, out=out[a:b])
    return out if width else out[:, 0]


def centred_operator(X: Table, mean: Array, scale: Array) -> LinearOperator:
    """(X - mean) / scale for a sparse X: products with it, never the matrix."""

    def times(V: Matrix) -> Matrix:
        U = (V.T / scale).T
        return X @ U - mean @ U

    def transposed_times(U: Matrix) -> Matrix:
        return ((X.T @ U - np.multiply.outer(mean, U.sum(axis=0))).T / scale).T

    return LinearOperator(
        X.shape, dtype=X.dtype, matvec=times, matmat=times, rmatvec=transposed_times, rmatmat=transposed_times
    )


def double_centre(A: Array) -> Array:
    """H A H with H = I - 11^T / n, the centring matrix: rows and columns then sum to zero."""
    return A - A.mean(axis=0) - A.mean(axis=1, keepdims=True) + A.mean()
