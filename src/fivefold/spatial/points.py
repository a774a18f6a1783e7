"""Weighted points: a table, dense or sparse, with the weight of each row, and what engines ask of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_matrix, issparse

from fivefold.core.parallel import BLOCK_ROWS, MIN_PART_ROWS, map_parts, take_rows
from fivefold.core.types import Codes, Doubles, Indices, Mask, Matrix, Table, Vector, Weights
from fivefold.spatial.row_loops import (
    EQUAL_ROWS_RATIO,
    MAX_SINGLE_SQUARE,
    ROW_LANES,
    DenseRows,
    Rows,
    SparseRows,
    multiple_of_four,
    project_rows,
    sums_about,
)

DIRECTION_SEED = 20_07  # seed of the direction along which rows are put in order
# numbers in a block at most, so that it stays in the cache; about as many in a part of long rows
MAX_BLOCK_NUMBERS = 2**17
MAX_COMPARED_NUMBERS = 2**14  # in a table that is compared with a row as it is: faster than by its keys
KEY_ROUNDING = 1e-13  # keys that differ by no more than this share of the largest are those of equal rows
KEY_TOLERANCE = 1e-9  # keys further apart than this share belong to rows that differ: others are compared in full


Precision: TypeAlias = type[np.float32] | type[np.float64]


@dataclass(frozen=True)
class Codebook:
    """K centres, made ready for comparison with rows."""

    norms: Vector  # (K,) |c|^2
    code: Matrix  # the centres as `nearest_two` takes them
    half: Vector  # |c|^2 / 2, padded like `code`
    rounding: float  # error of |c|^2 / 2 - c.x in those loops, as a share of |c| |x| + |c|^2 / 2


class WeightedPoints:
    """What all points have in common: rows about an origin, the weight of each, and their spread."""

    table: Any  # (n, d): an array, a CSR matrix or a tensor
    w: Any  # (n,), of the same library
    origin: Vector  # (d,)
    scatter: float  # sum of w |x - mean|^2

    @property
    def n(self) -> int:
        return int(self.table.shape[0])

    @property
    def width(self) -> int:
        return int(self.table.shape[1])

    @property
    def variance(self) -> float:
        """The mean variance of the columns."""
        return self.scatter / float(self.w.sum()) / self.width

    def rows_as_given(self, ids: Any) -> Matrix:  # numbers of rows; of a table in chunks, rows already
        """Some rows as they were given, dense (m, d), on the host."""
        raise TypeError(f"{type(self).__name__} does not give single rows")

    def centred_rows(self, ids: Indices) -> Matrix:
        """Some rows, dense, relative to the origin (m, d)."""
        return np.ascontiguousarray(self.rows_as_given(ids) - self.origin)

    def centred(self, C: Matrix) -> Matrix:
        """Positions C (K, d) relative to the origin, in double precision."""
        return np.ascontiguousarray(np.asarray(C, dtype=np.float64) - self.origin)


@dataclass(frozen=True)
class Points(WeightedPoints):
    """Rows relative to an origin (their mean; zero if they are sparse), the weight of each, and their spread."""

    table: Table  # as given: (n, d), an array or a CSR matrix
    rows: Rows
    w: Weights  # (n,)
    origin: Vector  # (d,)
    scatter: float  # sum of w |x - mean|^2

    @classmethod
    def of(cls, X: Table, w: Weights | None = None) -> Points:
        """The rows of X, each counted w times (once by default)."""
        w = np.ones(X.shape[0]) if w is None else np.ascontiguousarray(w, dtype=np.float64)
        if issparse(X):
            return cls._sparse(X, w)
        X = np.ascontiguousarray(X)
        n, d = X.shape
        pilot = X[:BLOCK_ROWS].sum(axis=0, dtype=np.float64) / min(n, BLOCK_ROWS)
        total = w.sum()

        def part(lo: int, hi: int) -> tuple[Vector, float]:
            first = np.zeros(d)
            return first, float(sums_about(X, w, pilot, lo, hi, first))

        if n <= BLOCK_ROWS:  # one part, and next to no work
            first, second = part(0, n)
        else:
            firsts, seconds = zip(*map_parts(part, n, rows=rows_per_part(d)), strict=True)
            first, second = firsts[0] if len(firsts) == 1 else np.sum(firsts, axis=0), sum(seconds)
        shift = first / total
        mean = pilot + shift
        return cls(X, DenseRows(X, mean), w, mean, max(float(second - total * (shift @ shift)), 0.0))

    @classmethod
    def _sparse(cls, X: Table, w: Weights) -> Points:
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        integers = np.int32 if max(X.shape[1], X.nnz) < 2**31 else np.int64
        rows = SparseRows(X.data, X.indices.astype(integers, copy=False), X.indptr.astype(integers, copy=False))
        mean = np.asarray(X.T @ w).ravel() / w.sum()
        second = float(np.repeat(w, np.diff(X.indptr)) @ np.square(X.data, dtype=np.float64))
        return cls(X, rows, w, np.zeros(X.shape[1]), max(second - float(w.sum() * (mean @ mean)), 0.0))

    @cached_property
    def mean(self) -> Vector:
        """The weighted mean of the rows (d,)."""
        return self.origin if isinstance(self.rows, DenseRows) else np.asarray(self.table.T @ self.w) / self.w.sum()

    def inertia(self, centre: Vector) -> float:
        """The sum of w |x - centre|^2: that about the mean, and the distance of the mean for every row."""
        away = self.mean - centre
        return self.scatter + float(self.w.sum()) * float(away @ away)

    @cached_property
    def keys(self) -> Vector:
        """A number for each row that depends only on its values: its place along a fixed random direction (n,)."""
        direction = fixed_direction(self.width)
        if isinstance(self.rows, SparseRows):
            return np.asarray(self.table @ direction).ravel()
        out = np.empty(self.n)

        def part(lo: int, hi: int) -> None:
            project_rows(self.table, self.origin, direction, lo, hi, out)

        if self.n <= BLOCK_ROWS:  # one part, and next to no work
            part(0, self.n)
        else:
            map_parts(part, self.n, rows=rows_per_part(self.width))
        return out

    @cached_property
    def order(self) -> Indices:
        """The rows in the order of their keys: equal rows are neighbours."""
        return np.argsort(self.keys)

    def subset(self, chosen: Mask) -> Points:
        """Some of the points; their order is that of all, if it is known: to sort them again would take longer."""
        rows = np.flatnonzero(chosen)
        table = take_rows(self.table, rows) if isinstance(self.rows, DenseRows) else self.table[rows]
        part = Points.of(table, self.w[rows])
        if "order" in vars(self):
            place = np.cumsum(chosen) - 1
            vars(part)["order"] = place[self.order[chosen[self.order]]]
        return part

    @cached_property
    def n_distinct(self) -> int:
        """The number of distinct rows."""
        keys = self.keys[self.order]
        return 1 + int((np.diff(keys) > KEY_ROUNDING * np.abs(keys[[0, -1]]).max()).sum())

    def equal_rows(self, row: int, among: Indices | None = None) -> Indices:
        """The rows, of all or `among` some, with the same values as this one."""
        if among is None and isinstance(self.rows, DenseRows) and self.table.size <= MAX_COMPARED_NUMBERS:
            return np.flatnonzero((self.table == self.table[row]).all(axis=1))
        if among is None:
            gap = np.abs(self.keys - self.keys[row])
            among = np.flatnonzero(gap <= KEY_TOLERANCE * (gap.max() + abs(self.keys[row])))
        some, x = self.table[among], self.table[[row]]
        if isinstance(self.rows, DenseRows):
            return among[(some == x).all(axis=1)]
        x = x.toarray()[0]
        size = squared_norms(some) + x @ x
        return among[size - 2 * np.asarray(some @ x).ravel() <= EQUAL_ROWS_RATIO * size]

    def rows_as_given(self, ids: Indices) -> Matrix:
        """Some rows as they were given, dense (m, d)."""
        chosen = self.table[ids]
        return chosen.toarray() if issparse(chosen) else chosen

    def sums(self, labels: Codes, K: int) -> Doubles:
        """The weighted sum of the rows of each label, relative to the origin (K, d)."""
        members = csr_matrix((self.w, (labels, np.arange(self.n))), shape=(K, self.n))
        if isinstance(self.rows, SparseRows):
            return (members @ self.table).toarray()
        return members @ (self.table - self.origin)

    def fits_single_precision(self, C: Matrix) -> bool:
        """Can single precision hold the squared norms of these rows and centres?"""
        farthest = max(self.scatter / float(self.w.min()), float((C * C).sum(axis=1).max()))
        return isinstance(self.rows, DenseRows) and (
            farthest == 0 or 1 / MAX_SINGLE_SQUARE < farthest < MAX_SINGLE_SQUARE
        )

    def codebook(self, C: Matrix, precision: Precision) -> Codebook:
        """Centres (K, d), relative to the origin, made ready for comparison in the given precision."""
        norms = squared_norms(C)
        K, d = C.shape
        if isinstance(self.rows, SparseRows):
            return Codebook(norms, np.ascontiguousarray(C.T), 0.5 * norms, (d + 8) * 2.0**-53)
        code, half = np.zeros((K + K % 2, multiple_of_four(d)), precision), np.empty(K + K % 2, precision)
        code[:K, :d], half[:K], half[K:] = C, 0.5 * norms, MAX_SINGLE_SQUARE
        # d / 4 sums of four are added in turn; 8 covers the products, the shift and the rounding of both factors
        return Codebook(norms, code, half, (d / 4 + 8) * float(np.finfo(precision).eps) / 2)


def rows_per_part(d: int) -> int:
    """The number of rows in a part of a table: fewer if the rows are long."""
    return max(BLOCK_ROWS, min(MIN_PART_ROWS, MAX_BLOCK_NUMBERS // d))


def cache_blocks(lo: int, hi: int, d: int) -> Iterator[tuple[int, int]]:
    """Rows lo..hi in blocks that stay in the cache."""
    step = max(ROW_LANES, min(BLOCK_ROWS, MAX_BLOCK_NUMBERS // d))
    for a in range(lo, hi, step):
        yield a, min(a + step, hi)


def squared_norms(Z: Table) -> Vector:
    """|z|^2 of each row (n,)."""
    if isinstance(Z, np.ndarray):
        return np.einsum("ij,ij->i", Z, Z)
    return np.asarray(Z.multiply(Z).sum(axis=1)).ravel()


@lru_cache(maxsize=32)
def fixed_direction(width: int) -> Vector:
    """The direction along which rows of this width are ordered; kept, as a generator takes as long as a small fit."""
    return np.random.RandomState(DIRECTION_SEED).standard_normal(width)
