"""Rows of a Gram matrix, made when they are wanted and kept within a budget of memory.

A source makes rows; the cache keeps the rows used last. Columns can be dropped from both in place, as solvers do that
set variables aside. No source asks for n x n numbers, except one that was given them.

    VectorRows     kernels of inner products between rows of a table, float32 where that is exact enough
    SparseRows     the same for a sparse table
    MatrixRows     a matrix that is at hand
    FunctionRows   any function k(X, Y), called for batches of rows
    RepeatedRows   another source, some of whose things are there several times
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fivefold.core.parallel import map_items, threads
from fivefold.core.types import Array, Doubles, Indices, Matrix, Sparse
from fivefold.kernels.row_source_loops import (
    TILE_COLUMNS,
    GaussianRule32,
    GaussianRule64,
    LinearRule,
    PolynomialRule,
    Rule,
    SigmoidRule,
    apply_to_block,
    compact_rows,
    fill_rows,
    fill_sparse_rows,
)

MAX_NARROW_EXPONENT = 30.0  # gamma |x - mean|^2 up to which float32 leaves five digits of a Gaussian kernel
PART_ENTRIES = 1 << 16  # entries of rows per thread, at least
BLOCK_ROWS, BLOCK_COLUMNS = 256, 1024  # of a block of the matrix in products: it stays in the second cache


class RowSource(ABC):
    """Makes rows of a symmetric matrix between n things."""

    n: int
    dtype: np.dtype[Any]  # of the rows it is worth keeping

    @abstractmethod
    def diagonal(self) -> Doubles:
        """G_ii."""

    @abstractmethod
    def fill(self, wanted: Indices, slots: Indices, out: Matrix) -> None:
        """out[slots[k], :n] = row wanted[k]."""

    @abstractmethod
    def restricted(self, kept: Indices) -> RowSource:
        """The source of the matrix between some of the things."""

    @abstractmethod
    def weighted_sums(self, rows: Indices, columns: Indices, weights: Doubles) -> Doubles:
        """sum over j of weights_j G_ij for i in `rows` and j in `columns`."""


@dataclass(frozen=True)
class VectorRows(RowSource):
    """Rows of a kernel of inner products between the rows of a table."""

    rule: Rule
    XT: Matrix  # (d, n)
    half: Array  # halves of the squared norms
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, rule: Rule, X: Matrix, dtype: np.dtype[Any]) -> VectorRows:
        """Centred where the kernel allows it, in float32 where that is exact enough for rows of type `dtype`."""
        X = np.asarray(X, dtype=np.float64)
        if isinstance(rule, GaussianRule32 | GaussianRule64):
            X = X - X.mean(axis=0)
            half = 0.5 * np.einsum("ij,ij->i", X, X)
            narrow = dtype == np.float32 and 2.0 * rule.gamma * float(half.max()) <= MAX_NARROW_EXPONENT
            rule = (GaussianRule32 if dtype == np.float32 else GaussianRule64)(rule.gamma)
        else:
            narrow, half = False, 0.5 * np.einsum("ij,ij->i", X, X)
        kind = np.float32 if narrow else np.float64
        return cls(rule, np.ascontiguousarray(X.T, dtype=kind), half.astype(kind), np.dtype(dtype))

    @property
    def n(self) -> int:  # type: ignore[override]  # a field of other sources
        return self.XT.shape[1]

    def diagonal(self) -> Doubles:
        return diagonal_of(self.rule, 2.0 * self.half.astype(np.float64))

    def fill(self, wanted: Indices, slots: Indices, out: Matrix) -> None:
        cuts = _column_cuts(self.n, len(wanted))
        rule, XT, half = self.rule, self.XT, self.half
        if len(cuts) == 2:
            fill_rows(rule, XT, half, wanted, slots, out, 0, self.n)
            return
        map_items(lambda i: fill_rows(rule, XT, half, wanted, slots, out, cuts[i], cuts[i + 1]), len(cuts) - 1)

    def restricted(self, kept: Indices) -> VectorRows:
        return replace(self, XT=np.ascontiguousarray(self.XT[:, kept]), half=self.half[kept])

    def weighted_sums(self, rows: Indices, columns: Indices, weights: Doubles) -> Doubles:
        Z, half = np.ascontiguousarray(self.XT[:, columns]), self.half[columns]

        def inner_products(chosen: Indices, first: int, last: int) -> Matrix:
            return self.XT[:, chosen].T @ Z[:, first:last]

        def block(chosen: Indices, first: int, last: int) -> Matrix:
            S = inner_products(chosen, first, last)
            apply_to_block(self.rule, S, self.half[chosen], half[first:last], S)
            return S

        return _blocked_sums(block, rows, len(columns), weights)


@dataclass(frozen=True)
class SparseRows(RowSource):
    """Rows of a kernel of inner products between the rows of a sparse table."""

    rule: Rule
    X: Sparse  # canonical CSR, float64
    half: Doubles
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, rule: Rule, X: Sparse, dtype: np.dtype[Any]) -> SparseRows:
        X = X.astype(np.float64)
        if isinstance(rule, GaussianRule32 | GaussianRule64):
            rule = (GaussianRule32 if dtype == np.float32 else GaussianRule64)(rule.gamma)
        return cls(rule, X, 0.5 * np.asarray(X.multiply(X).sum(axis=1)).ravel(), np.dtype(dtype))

    @property
    def n(self) -> int:  # type: ignore[override]  # a field of other sources
        return int(self.X.shape[0])

    def diagonal(self) -> Doubles:
        return diagonal_of(self.rule, 2.0 * self.half)

    def fill(self, wanted: Indices, slots: Indices, out: Matrix) -> None:
        X = self.X
        indices, indptr = X.indices.astype(np.int64, copy=False), X.indptr.astype(np.int64, copy=False)
        cuts = _column_cuts(self.n, len(wanted))

        def part(i: int) -> None:
            held = np.zeros(X.shape[1])
            fill_sparse_rows(
                self.rule, X.data, indices, indptr, self.half, wanted, slots, out, cuts[i], cuts[i + 1], held
            )

        map_items(part, len(cuts) - 1)

    def restricted(self, kept: Indices) -> SparseRows:
        return replace(self, X=self.X[kept], half=self.half[kept])

    def weighted_sums(self, rows: Indices, columns: Indices, weights: Doubles) -> Doubles:
        ZT, half = self.X[columns].T.tocsc(), self.half[columns]

        def block(chosen: Indices, first: int, last: int) -> Matrix:
            S = (self.X[chosen] @ ZT[:, first:last]).toarray()
            apply_to_block(self.rule, S, self.half[chosen], half[first:last], S)
            return S

        return _blocked_sums(block, rows, len(columns), weights)


@dataclass(frozen=True)
class MatrixRows(RowSource):
    """A matrix that is at hand."""

    G: Matrix

    @property
    def n(self) -> int:  # type: ignore[override]  # a field of other sources
        return len(self.G)

    @property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]  # a field of other sources
        return np.dtype(np.float64)

    def diagonal(self) -> Doubles:
        return np.array(self.G.diagonal(), dtype=np.float64)

    def fill(self, wanted: Indices, slots: Indices, out: Matrix) -> None:
        for k, s in zip(wanted, slots, strict=True):
            out[s, : self.n] = self.G[k]

    def restricted(self, kept: Indices) -> MatrixRows:
        return MatrixRows(self.G[np.ix_(kept, kept)])

    def weighted_sums(self, rows: Indices, columns: Indices, weights: Doubles) -> Doubles:
        if len(rows) == len(self.G):  # all of them, in order
            return weights @ self.G[columns]
        return self.G[np.ix_(rows, columns)] @ weights


@dataclass(frozen=True)
class FunctionRows(RowSource):
    """Rows by a function of two collections of objects, of which `take` gives some."""

    function: Callable[[Any, Any], Matrix]
    objects: Any  # whatever the function compares
    take: Callable[[Any, Indices], Any]
    n: int
    dtype: np.dtype[Any]

    def diagonal(self) -> Doubles:
        return np.array([float(self.entries(np.array([i]), np.array([i]))[0, 0]) for i in range(self.n)])

    def entries(self, rows: Indices, columns: Indices | None = None) -> Matrix:
        """The matrix between some objects and others, or all."""
        others = self.objects if columns is None else self.take(self.objects, columns)
        return self.function(self.take(self.objects, rows), others)

    def fill(self, wanted: Indices, slots: Indices, out: Matrix) -> None:
        out[slots, : self.n] = self.entries(wanted)

    def restricted(self, kept: Indices) -> FunctionRows:
        return replace(self, objects=self.take(self.objects, kept), n=len(kept))

    def weighted_sums(self, rows: Indices, columns: Indices, weights: Doubles) -> Doubles:
        cuts = range(0, len(rows), BLOCK_ROWS)
        return np.concatenate(
            [self.entries(rows[a : a + BLOCK_ROWS], columns) @ weights for a in cuts] or [np.empty(0)]
        )


@dataclass(frozen=True)
class RepeatedRows(RowSource):
    """The matrix between things of another source, some of which are there several times."""

    inner: RowSource
    place: Indices  # (n,) number in the inner source

    @property
    def n(self) -> int:  # type: ignore[override]  # a field of other sources
        return len(self.place)

    @property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]  # a field of other sources
        return self.inner.dtype

    def diagonal(self) -> Doubles:
        return self.inner.diagonal()[self.place]

    def fill(self, wanted: Indices, slots: Indices, out: Matrix) -> None:
        chosen, back = np.unique(self.place[wanted], return_inverse=True)
        made = np.empty((len(chosen), self.inner.n), dtype=out.dtype)
        self.inner.fill(chosen, np.arange(len(chosen)), made)
        out[slots, : self.n] = made[np.ix_(back, self.place)]

    def restricted(self, kept: Indices) -> RepeatedRows:
        chosen, place = np.unique(self.place[kept], return_inverse=True)
        return RepeatedRows(self.inner.restricted(chosen), place)

    def weighted_sums(self, rows: Indices, columns: Indices, weights: Doubles) -> Doubles:
        needed, back = np.unique(self.place[rows], return_inverse=True)
        used, at = np.unique(self.place[columns], return_inverse=True)
        total = np.zeros(len(used))
        np.add.at(total, at, weights)
        return self.inner.weighted_sums(needed, used, total)[back]


class RowCache:
    """The rows of a source that were used last, in `Q`; columns can be dropped in place."""

    def __init__(self, source: RowSource, budget: float, least: int) -> None:
        """`budget` in bytes; at least `least` rows are held whatever it is."""
        n = source.n
        room = int(budget // max(1, n * source.dtype.itemsize))
        self.source, self.capacity, self.made = source, min(n, max(least, room)), 0
        self.filled, self.queue, self.queue_end = 0, np.empty(0, dtype=np.int64), -1
        if isinstance(source, MatrixRows):
            self.Q, self.slot_of = np.ascontiguousarray(source.G, dtype=np.float64), np.arange(n)
            self.owner, self.last_use = np.arange(n), np.zeros(n, dtype=np.int64)
            return
        self.Q = np.empty((self.capacity, n), dtype=source.dtype)
        self.slot_of = np.full(n, -1, dtype=np.int64)
        self.owner = np.full(self.capacity, -1, dtype=np.int64)
        self.last_use = np.full(self.capacity, -1, dtype=np.int64)

    def fetch(self, wanted: Indices, now: int) -> None:
        """Make these rows, none of which is at hand, in place of those used longest ago."""
        wanted = wanted[: self.capacity]
        slots = self._free_slots(len(wanted))
        gone = self.owner[slots]
        self.slot_of[gone[gone >= 0]] = -1
        self.source.fill(wanted, slots, self.Q)
        self.owner[slots], self.slot_of[wanted], self.last_use[slots] = wanted, slots, now
        self.made += len(wanted)

    def _free_slots(self, count: int) -> Indices:
        """Slots for new rows: never used ones first, then those whose rows were used longest ago.

        The order is made once for a quarter of the slots: a row used again meanwhile leaves the queue.
        """
        if self.filled + count <= self.capacity:
            self.filled += count
            return np.arange(self.filled - count, self.filled)
        self.queue = self.queue[self.last_use[self.queue] <= self.queue_end]
        if len(self.queue) < count:
            order = np.argsort(self.last_use, kind="stable")
            self.queue = order[: max(count, self.capacity // 4)]
            self.queue_end = int(self.last_use[self.queue[-1]])
        slots, self.queue = self.queue[:count], self.queue[count:]
        return slots

    def restrict(self, kept: Indices) -> None:
        """Keep some columns, in ascending order, and the rows of those that are at hand."""
        n = self.source.n
        new_place = np.full(n, -1, dtype=np.int64)
        new_place[kept] = np.arange(len(kept))
        self.source = self.source.restricted(kept)
        self.owner = np.where(self.owner >= 0, new_place[self.owner], -1)
        live, self.queue = np.flatnonzero(self.owner >= 0), np.empty(0, dtype=np.int64)
        self.last_use[self.owner < 0] = -1
        pieces = np.array_split(live, max(1, min(len(live), 4 * threads())))
        map_items(lambda i: compact_rows(self.Q, pieces[i], kept), len(pieces))
        self.slot_of = np.full(len(kept), -1, dtype=np.int64)
        self.slot_of[self.owner[live]] = live


def diagonal_of(rule: Rule, squares: Doubles) -> Doubles:
    """k(x, x) from the squared norms."""
    match rule:
        case LinearRule():
            return squares
        case PolynomialRule(gamma, coef0, degree):
            return np.asarray((gamma * squares + coef0) ** degree)
        case SigmoidRule(gamma, coef0):
            return np.tanh(gamma * squares + coef0)
    return np.ones(len(squares))


def _column_cuts(n: int, rows: int) -> list[int]:
    """Bounds of the columns that a thread fills, at tiles."""
    count = max(1, min(threads(), n * rows // PART_ENTRIES))
    return [n * i // count // TILE_COLUMNS * TILE_COLUMNS for i in range(count)] + [n]


def _blocked_sums(
    block: Callable[[Indices, int, int], Matrix], rows: Indices, columns: int, weights: Doubles
) -> Doubles:
    """sum over j of weights_j block(rows)_ij, a block of rows and columns at a time."""
    out = np.zeros(len(rows))

    def part(i: int) -> None:
        chosen = rows[i * BLOCK_ROWS : (i + 1) * BLOCK_ROWS]
        for first in range(0, columns, BLOCK_COLUMNS):
            last = min(columns, first + BLOCK_COLUMNS)
            out[i * BLOCK_ROWS : i * BLOCK_ROWS + len(chosen)] += block(chosen, first, last) @ weights[first:last]

    map_items(part, -(-len(rows) // BLOCK_ROWS))
    return out
