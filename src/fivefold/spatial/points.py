"""Weighted points: a table, dense or sparse, with the weight of each row, and what engines ask of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from fivefold.core.parallel import BLOCK_ROWS, MIN_PART_ROWS, map_parts, scratch
from fivefold.core.types import Array, Codes, Doubles, Indices, Matrix, Table
from fivefold.spatial.row_loops import (
    EQUAL_ROWS_RATIO,
    MAX_SINGLE_SQUARE,
    NEAREST_TWO_LOOPS,
    ROW_LANES,
    DenseRows,
    SparseRows,
    multiple_of_four,
)

DIRECTION_SEED = 20_07  # seed of the direction along which rows are put in order
MAX_BLOCK_NUMBERS = 2**17  # a part of a table with long rows has about so many, and a block at most
KEY_ROUNDING = 1e-13  # of keys of equal rows
KEY_TOLERANCE = 1e-9  # keys that differ by less than this share may belong to equal rows


@dataclass(frozen=True)
class Codebook:
    """K centres, made ready for comparison with rows."""

    norms: Array  # (K,) |c|^2
    code: Array  # as COMPARE takes it
    half: Array  # |c|^2 / 2, padded like `code`
    rounding: float  # of a value of COMPARE, as a share of |c| |x| + |c|^2 / 2

    def compare(self, rows: DenseRows | SparseRows, ids: Indices, m: int) -> tuple[Array, ...]:
        """The two nearest centres of rows ids[:m]: see COMPARE."""
        kind, shape = self.code.dtype, (-(-m // ROW_LANES), ROW_LANES)
        found = tuple(np.empty(shape, kind) for _ in range(4))
        Z, v, u = (
            np.zeros((self.code.shape[1], ROW_LANES), kind),
            np.empty(max(ROW_LANES, len(self.half)), kind),
            np.empty(ROW_LANES, kind),
        )
        NEAREST_TWO_LOOPS[type(rows)](rows, ids, m, self.code, self.half, Z, v, u, found)
        return found


@dataclass(frozen=True)
class Points:
    """Rows relative to an origin (their mean; zero if they are sparse), the weight of each, and their spread."""

    table: Any  # as given: (n, d), an array or a matrix in compressed rows
    rows: DenseRows | SparseRows
    w: Array  # (n,)
    origin: Array  # (d,)
    scatter: float  # sum of w |x - mean|^2

    @classmethod
    def of(cls, X: Any, w: Array | None = None) -> Points:
        """The rows of X, each counted w times (once by default)."""
        w = np.ones(X.shape[0]) if w is None else np.ascontiguousarray(w, dtype=np.float64)
        if issparse(X):
            return cls._sparse(X, w)
        X = np.ascontiguousarray(X)
        n, d = X.shape
        pilot = X[:BLOCK_ROWS].sum(axis=0, dtype=np.float64) / min(n, BLOCK_ROWS)
        sums = map_parts(lambda lo, hi: _sums(X, w, pilot, lo, hi), n, rows=rows_per_part(d))
        firsts, seconds = zip(*sums, strict=True)
        total = w.sum()
        shift = (firsts[0] if len(firsts) == 1 else np.sum(firsts, axis=0)) / total
        mean = pilot + shift
        return cls(X, DenseRows(X, mean), w, mean, max(float(sum(seconds) - total * (shift @ shift)), 0.0))

    @classmethod
    def _sparse(cls, X: Table, w: Array) -> Points:
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        whole = np.int32 if max(X.shape[1], X.nnz) < 2**31 else np.int64
        rows = SparseRows(X.data, X.indices.astype(whole, copy=False), X.indptr.astype(whole, copy=False))
        mean = np.asarray(X.T @ w).ravel() / w.sum()
        second = float(np.repeat(w, np.diff(X.indptr)) @ np.square(X.data, dtype=np.float64))
        return cls(X, rows, w, np.zeros(X.shape[1]), max(second - float(w.sum() * (mean @ mean)), 0.0))

    @property
    def n(self) -> int:
        return int(self.table.shape[0])

    @property
    def width(self) -> int:
        return int(self.table.shape[1])

    @property
    def variance(self) -> float:
        """Mean over the columns of their variance."""
        return self.scatter / float(self.w.sum()) / self.width

    @cached_property
    def keys(self) -> Array:
        """A number for each row that depends on its values only: its place along a fixed random direction (n,)."""
        direction = _direction(self.width)
        if isinstance(self.rows, SparseRows):
            return np.asarray(self.table @ direction).ravel()
        X, out = self.table, np.empty(self.n)

        def part(lo: int, hi: int) -> None:
            for a, b in cache_blocks(lo, hi, self.width):
                out[a:b] = np.subtract(X[a:b], self.origin, out=scratch("keys", b - a, self.width)) @ direction

        map_parts(part, self.n, rows=rows_per_part(self.width))
        return out

    @cached_property
    def order(self) -> Indices:
        """The rows in the order of their keys: equal rows stand together."""
        return np.argsort(self.keys)

    @cached_property
    def different(self) -> int:
        """How many rows differ: repetitions are not counted."""
        sizes = self.keys[self.order]
        return 1 + int((np.diff(sizes) > KEY_ROUNDING * np.abs(sizes[[0, -1]]).max()).sum())

    def equal(self, row: int, among: Indices | None = None) -> Indices:
        """The rows with the values of this one."""
        if among is None:
            gap = np.abs(self.keys - self.keys[row])
            among = np.flatnonzero(gap <= KEY_TOLERANCE * (gap.max() + abs(self.keys[row])))
        some, x = self.table[among], self.table[[row]]
        if isinstance(self.rows, DenseRows):
            return among[(some == x).all(axis=1)]
        squares, x = np.asarray(some.multiply(some).sum(axis=1)).ravel(), x.toarray()[0]
        size = squares + x @ x
        return among[size - 2 * np.asarray(some @ x).ravel() <= EQUAL_ROWS_RATIO * size]

    def some(self, ids: Any) -> Array:
        """Some rows as they were given, dense (m, d)."""
        chosen = self.table[ids]
        return chosen.toarray() if issparse(chosen) else chosen

    def take(self, ids: Any) -> Array:
        """Some rows, dense, relative to the origin (m, d)."""
        return np.ascontiguousarray(self.some(ids) - self.origin)

    def sums(self, labels: Codes, K: int) -> Doubles:
        """The weighted sum of the rows of each label, relative to the origin (K, d)."""
        members = csr_matrix((self.w, (labels, np.arange(self.n))), shape=(K, self.n))
        if isinstance(self.rows, SparseRows):
            return (members @ self.table).toarray()
        return members @ (self.table - self.origin)

    def shifted(self, C: Matrix) -> Array:
        """Given positions relative to the origin, in double precision."""
        return np.ascontiguousarray(np.asarray(C, dtype=np.float64) - self.origin)

    def narrow(self, C: Array) -> bool:
        """Can single precision hold the squares of these rows and centres?"""
        farthest = max(self.scatter / float(self.w.min()), float((C * C).sum(axis=1).max()))
        return isinstance(self.rows, DenseRows) and (
            farthest == 0 or 1 / MAX_SINGLE_SQUARE < farthest < MAX_SINGLE_SQUARE
        )

    def codebook(self, C: Array, kind: type) -> Codebook:
        """Centres (K, d), relative to the origin, made ready for comparison in the precision `kind`."""
        norms = np.einsum("kj,kj->k", C, C)
        K, d = C.shape
        if isinstance(self.rows, SparseRows):
            return Codebook(norms, np.ascontiguousarray(C.T), 0.5 * norms, (d + 8) * 2.0**-53)
        code, half = np.zeros((K + K % 2, multiple_of_four(d)), kind), np.empty(K + K % 2, kind)
        code[:K, :d], half[:K], half[K:] = C, 0.5 * norms, MAX_SINGLE_SQUARE
        # sums of four are added one after the other; 8 for the products, the shift and the rounding of both factors
        return Codebook(norms, code, half, (d / 4 + 8) * float(np.finfo(kind).eps) / 2)


def rows_per_part(d: int) -> int:
    """How many rows make a part of a table: fewer, if they are long."""
    return max(BLOCK_ROWS, min(MIN_PART_ROWS, MAX_BLOCK_NUMBERS // d))


def cache_blocks(lo: int, hi: int, d: int) -> Iterator[tuple[int, int]]:
    """Rows lo..hi in blocks that stay in the cache."""
    step = max(ROW_LANES, min(BLOCK_ROWS, MAX_BLOCK_NUMBERS // d))
    for a in range(lo, hi, step):
        yield a, min(a + step, hi)


def _sums(X: Array, w: Array, origin: Array, lo: int, hi: int) -> tuple[Array, float]:
    """Sums of w (x - origin) and of w |x - origin|^2 over rows lo..hi."""
    first, second = np.zeros(X.shape[1]), 0.0
    for a, b in cache_blocks(lo, hi, X.shape[1]):
        Z = np.subtract(X[a:b], origin, out=scratch("sums", b - a, X.shape[1]))
        first += w[a:b] @ Z
        second += float(w[a:b] @ np.einsum("ij,ij->i", Z, Z))
    return first, second


@lru_cache(maxsize=32)
def _direction(width: int) -> Array:
    """The direction along which rows of this width are put in order; a generator takes as long as a small fit."""
    return np.random.RandomState(DIRECTION_SEED).standard_normal(width)
