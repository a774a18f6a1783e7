"""Kernels of objects that are no rows of numbers: most count features that two objects share.

    k(x, y) = sum_f count_f(x) count_f(y)

Features get their numbers for all objects of a call together, so that only features that occur take memory.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from fivefold.core.parallel import map_items
from fivefold.core.types import Indices, Matrix, Sparse, Table, Vector
from fivefold.kernels.base import Kernel, Objects
from fivefold.kernels.row_cache import cut
from fivefold.kernels.structured.shared_count_loops import add_shared_counts

OBJECTS_PER_TILE = 64  # objects whose inner products are computed together
DENSE_RATIO = 4  # counts are a dense table where there are at most this many features per entry of a row


class StructuredKernel(Kernel):
    """A kernel of objects of any kind, without parameters to search."""

    def is_stationary(self) -> bool:
        return False

    def gradient(self, X: Objects, Y: Objects | None = None) -> Iterator[Matrix]:
        yield from ()

    def diag_gradient(self, X: Objects) -> Iterator[Vector]:
        yield from ()


class CountKernel(StructuredKernel):
    """The inner product of counts of features."""

    @abstractmethod
    def features(self, objects: Sequence[Any]) -> Table:
        """Counts (n, features), dense or sparse; the numbers of features hold for these objects only."""

    def _gram(self, X: Objects, Y: Objects | None) -> Matrix:
        first = list(X)
        F = self.features(first if Y is None else [*first, *Y])
        A, B = (F, F) if Y is None else (F[: len(first)], F[len(first) :])
        return _sparse_products(A, B) if issparse(F) else A @ B.T

    def diag(self, X: Objects) -> Vector:
        F = self.features(list(X))
        return np.asarray(F.multiply(F).sum(axis=1)).ravel() if issparse(F) else np.einsum("ij,ij->i", F, F)


def _sparse_products(A: Sparse, B: Sparse) -> Matrix:
    """A B' as a dense table: most objects share some feature."""
    K, C = np.zeros((A.shape[0], B.shape[0])), B.tocsc()
    tiles = cut(len(K), OBJECTS_PER_TILE)

    def tile(i: int) -> None:
        lo, hi = tiles[i].start, tiles[i].stop
        add_shared_counts(A.indptr, A.indices, A.data, C.indptr, C.indices, C.data, lo, hi, K)

    map_items(tile, len(tiles))
    return K


def counts(rows: Indices, features: Indices, n: int, size: int) -> Table:
    """How often each of n objects has each of `size` features, from one entry per occurrence."""
    if size * n <= DENSE_RATIO * len(rows):
        return np.bincount(rows * size + features, minlength=n * size).reshape(n, size).astype(np.float64)
    return csr_array((np.ones(len(rows)), (rows, features)), shape=(n, size))


def presence(F: Table) -> Table:
    """One for every feature that occurs."""
    if issparse(F):
        F.sum_duplicates()
        F.data[:] = 1.0
        return F
    return (F > 0).astype(np.float64)


def numbered(items: Sequence[Hashable], known: dict[Hashable, int]) -> Indices:
    """A number for each item, the same for equal ones."""
    return np.array([known.setdefault(item, len(known)) for item in items], dtype=np.int64)


def each_row(fill: Callable[[int, int, Vector], None], n: int, m: int, symmetric: bool) -> Matrix:
    """A matrix (n, m) whose row i `fill(i, start, out)` computes from column `start` on, rows on all cores."""
    K = np.zeros((n, m))

    def piece(i: int) -> None:
        start = i if symmetric else 0
        fill(i, start, K[i, start:])

    map_items(piece, n)
    if symmetric:
        K += np.triu(K, 1).T
    return K
