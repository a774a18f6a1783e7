"""Entries of a Gram matrix, made when they are wanted, and rows of it kept within a budget of memory.

A source makes blocks of entries; the cache adds up rows and keeps those used last. No source asks for n x n numbers,
except one that was given them.

    VectorRows     kernels of inner products between rows of a table, float32 where that is exact enough
    SparseRows     the same for a sparse table
    MatrixRows     a matrix that is at hand
    FunctionRows   any function k(X, Y), called for batches of rows
    RepeatedRows   another source, some of whose things are there several times

Work is cut into tiles of columns by the size of the matrix alone, so the number of threads changes no byte.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from fivefold.core.parallel import map_items, run_team, scratch, team_size, teams_available, threads
from fivefold.core.types import Array, Doubles, Indices, Mask, Matrix, Sparse
from fivefold.kernels.row_source_loops import (
    BLOCK_ROWS,
    NO_SLOTS,
    NO_WEIGHTS,
    TILE_COLUMNS,
    GaussianRule32,
    GaussianRule64,
    LinearRule,
    PolynomialRule,
    ProductSums,
    Rule,
    SigmoidRule,
    apply_to_block,
    as_integers,
    plan_rows,
    subtract_rows,
    sum_products,
    sum_tile,
)

MAX_NARROW_EXPONENT = 30.0  # gamma |x - mean|^2 up to which float32 leaves five digits of a Gaussian kernel
MATRIX_TILE = 128  # rows of a whole matrix that are made together
MIN_SHARED_ROWS = 400  # up to this many, one thread makes the whole matrix: others would wake too late
MATRIX_COLUMNS = 64  # of a whole matrix in float32 per task
BLOCK_COLUMNS = 1024  # of a block of the matrix in weighted sums
SECONDS_PER_ENTRY = 4e-10  # time of an entry that is made,
SECONDS_PER_TERM = 3e-11  # per column of the table, and
SECONDS_PER_HELD_ENTRY = 1.5e-10  # of one that is at hand: what decides how many threads pay
NOTHING_HELD = NO_SLOTS, NO_WEIGHTS

Chosen: TypeAlias = Indices | slice
HeldRows: TypeAlias = tuple[Indices, Doubles]
NewRows: TypeAlias = tuple[Indices, Doubles, Indices]


class RowSource(ABC):
    """Makes entries of a symmetric matrix between n things."""

    dtype: np.dtype[Any]  # of the entries
    tile_columns: int = TILE_COLUMNS  # at a time

    @abstractmethod
    def __len__(self) -> int:
        """n, the number of things."""

    @abstractmethod
    def diagonal(self) -> Doubles:
        """G_ii."""

    @abstractmethod
    def entries(self, rows: Chosen, columns: Chosen) -> Matrix:
        """G_ij for i in `rows` and j in `columns`."""

    def matrix(self, chosen: Indices | None = None) -> Matrix:
        """G, or the block between some things."""
        size = len(self) if chosen is None else len(chosen)
        columns: Chosen = slice(None) if chosen is None else chosen
        G = np.empty((size, size), dtype=self.dtype)
        if size <= MIN_SHARED_ROWS or self.tile_columns == len(self):
            self.fill(columns, columns, G)
            return G
        tiles = cut(size, MATRIX_TILE)
        map_items(
            lambda i: self.fill(tiles[i] if chosen is None else chosen[tiles[i]], columns, G[tiles[i]]), len(tiles)
        )
        return G

    def fill(self, rows: Chosen, columns: Chosen, out: Matrix) -> None:
        """out = `entries`."""
        out[...] = self.entries(rows, columns)

    def weighted_sums(self, rows: Indices, columns: Indices, weights: Doubles) -> Doubles:
        """sum over j of weights_j G_ij for i in `rows` and j in `columns`."""
        out = np.zeros(len(rows))

        def part(i: int) -> None:
            chosen = rows[i * BLOCK_ROWS : (i + 1) * BLOCK_ROWS]
            for a in range(0, len(columns), BLOCK_COLUMNS):
                b = a + BLOCK_COLUMNS
                out[i * BLOCK_ROWS : (i + 1) * BLOCK_ROWS] += self.entries(chosen, columns[a:b]) @ weights[a:b]

        map_items(part, -(-len(rows) // BLOCK_ROWS))
        return out

    def subtract(self, f: Doubles, Q: Matrix, held: HeldRows, new: NewRows) -> None:
        """f -= the weighted sum of rows of the matrix, of which some are at hand in Q, and the first new ones are kept.

        `held` are slots of Q with their weights; `new` are rows, their weights, and slots for the first of them.
        """
        order, tiles = np.arange(BLOCK_ROWS), cut(len(self), self.tile_columns)

        def part(i: int) -> None:
            out = f[tiles[i]]
            subtract_rows(Q, *held, tiles[i].start, out)
            for block in cut(len(new[0]), BLOCK_ROWS):
                S, kept = self.entries(new[0][block], tiles[i]), new[2][block]
                subtract_rows(S, order[: len(S)], new[1][block], 0, out)
                Q[kept, tiles[i]] = S[: len(kept)]

        map_items(part, len(tiles))

    def cached(self, budget: float) -> RowCache:
        """A cache of rows in this many bytes."""
        return RowCache(self, budget)


@dataclass(frozen=True)
class VectorRows(RowSource):
    """A kernel of inner products between the rows of a table."""

    rule: Rule
    X: Matrix
    half: Array  # halves of the squared norms
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, rule: Rule, X: Matrix, dtype: np.dtype[Any]) -> VectorRows:
        """Centred where the kernel allows it, in float32 where that is exact enough for entries of type `dtype`."""
        X = np.asarray(X, dtype=np.float64)
        narrow = False
        if isinstance(rule, GaussianRule32 | GaussianRule64):
            X = X - X.mean(axis=0)
        half = 0.5 * np.einsum("ij,ij->i", X, X)
        if isinstance(rule, GaussianRule32 | GaussianRule64):
            narrow = dtype == np.float32 and 2.0 * rule.gamma * float(half.max()) <= MAX_NARROW_EXPONENT
            rule = (GaussianRule32 if narrow else GaussianRule64)(rule.gamma)
        kind = np.float32 if narrow else np.float64
        return cls(rule, np.ascontiguousarray(X, dtype=kind), half.astype(kind), np.dtype(dtype))

    def __len__(self) -> int:
        return len(self.X)

    def diagonal(self) -> Doubles:
        return diagonal_of(self.rule, 2.0 * self.half.astype(np.float64))

    def entries(self, rows: Chosen, columns: Chosen) -> Matrix:
        S = self.X[rows] @ self.X[columns].T
        apply_to_block(self.rule, S, self.half[rows], self.half[columns])
        return S.astype(self.dtype, copy=False)

    def matrix(self, chosen: Indices | None = None) -> Matrix:
        if self.dtype == np.float64:
            return super().matrix(chosen)
        X, half = (self.X, self.half) if chosen is None else (self.X.take(chosen, 0), self.half[chosen])
        G = np.empty((len(X), len(X)), dtype=self.dtype)
        every = X, half, NO_WEIGHTS, np.arange(len(X))
        self._sum_products(X, half, every, G, NOTHING_HELD, np.empty(len(X)), MATRIX_COLUMNS)
        return G

    def fill(self, rows: Chosen, columns: Chosen, out: Matrix) -> None:
        np.matmul(self.X[rows], self.X[columns].T, out=out)
        apply_to_block(self.rule, out, self.half[rows], self.half[columns])

    def subtract(self, f: Doubles, Q: Matrix, held: HeldRows, new: NewRows) -> None:
        made = self.X.take(new[0], 0), self.half[new[0]], new[1], new[2]
        self._sum_products(self.X, self.half, made, Q, held, f, TILE_COLUMNS)

    def _sum_products(
        self,
        X: Matrix,
        half: Array,
        made: tuple[Matrix, Array, Doubles, Indices],
        Q: Matrix,
        held: HeldRows,
        f: Doubles,
        columns: int,
    ) -> None:
        """See `ProductSums`."""
        whole, count = as_integers(X.dtype), -(-len(X) // columns)
        entries = (
            len(made[0]) * (SECONDS_PER_ENTRY + X.shape[1] * SECONDS_PER_TERM) + len(held[0]) * SECONDS_PER_HELD_ENTRY
        )

        def state(size: int) -> ProductSums:
            narrow = 8 // X.dtype.itemsize  # numbers in the place of one in float64
            S = scratch("products", size, BLOCK_ROWS * TILE_COLUMNS // narrow).view(X.dtype)
            t = scratch("exponents", size, TILE_COLUMNS // narrow).view(X.dtype)
            return ProductSums(self.rule, *made, X, half, Q, *held, f, columns, S, S.view(whole), t, t.view(whole))

        if teams_available():
            run_team(sum_products, state(threads()), size=min(count, team_size(len(X) * entries)))
        else:
            map_items(lambda i: sum_tile(state(1), i, 0), count)


@dataclass(frozen=True)
class SparseRows(RowSource):
    """A kernel of inner products between the rows of a sparse table."""

    rule: Rule
    X: Sparse  # canonical CSR, float64
    half: Doubles
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, rule: Rule, X: Sparse, dtype: np.dtype[Any]) -> SparseRows:
        X = X.astype(np.float64)
        if isinstance(rule, GaussianRule32 | GaussianRule64):
            rule = GaussianRule64(rule.gamma)
        return cls(rule, X, 0.5 * np.asarray(X.multiply(X).sum(axis=1)).ravel(), np.dtype(dtype))

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def diagonal(self) -> Doubles:
        return diagonal_of(self.rule, 2.0 * self.half)

    def entries(self, rows: Chosen, columns: Chosen) -> Matrix:
        S = np.ascontiguousarray((self.X[rows] @ self.X[columns].T).toarray())
        apply_to_block(self.rule, S, self.half[rows], self.half[columns])
        return S.astype(self.dtype, copy=False)


@dataclass(frozen=True)
class MatrixRows(RowSource):
    """A matrix that is at hand."""

    G: Matrix

    def __len__(self) -> int:
        return len(self.G)

    @property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]  # a field of other sources
        return np.dtype(np.float64)

    def diagonal(self) -> Doubles:
        return np.array(self.G.diagonal(), dtype=np.float64)

    def entries(self, rows: Chosen, columns: Chosen) -> Matrix:
        return self.G[rows][:, columns]

    def matrix(self, chosen: Indices | None = None) -> Matrix:
        return np.ascontiguousarray(self.G if chosen is None else self.G[np.ix_(chosen, chosen)], dtype=np.float64)

    def weighted_sums(self, rows: Indices, columns: Indices, weights: Doubles) -> Doubles:
        if len(rows) == len(self.G):  # all of them, in order
            return weights @ self.G[columns]
        return self.G[np.ix_(rows, columns)] @ weights


@dataclass(frozen=True)
class FunctionRows(RowSource):
    """A function of two collections of objects, of which `take` gives some; called by one thread only."""

    function: Callable[[Any, Any], Matrix]
    objects: Any  # whatever the function compares
    take: Callable[[Any, Indices], Any]
    n: int
    dtype: np.dtype[Any]

    def __len__(self) -> int:
        return self.n

    @property
    def tile_columns(self) -> int:  # type: ignore[override]  # a constant of other sources
        return self.n

    def diagonal(self) -> Doubles:
        return np.array([float(self.entries(slice(i, i + 1), slice(i, i + 1))[0, 0]) for i in range(self.n)])

    def entries(self, rows: Chosen, columns: Chosen) -> Matrix:
        everything = np.arange(self.n)
        made = self.function(self.take(self.objects, everything[rows]), self.take(self.objects, everything[columns]))
        return np.ascontiguousarray(made, dtype=self.dtype)

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

    def __len__(self) -> int:
        return len(self.place)

    @property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]  # a field of other sources
        return self.inner.dtype

    def diagonal(self) -> Doubles:
        return self.inner.diagonal()[self.place]

    def entries(self, rows: Chosen, columns: Chosen) -> Matrix:
        return self.inner.entries(self.place[rows], self.place[columns])

    def matrix(self, chosen: Indices | None = None) -> Matrix:
        if chosen is None:
            return self.inner.matrix().take(self.place, 0).take(self.place, 1)
        return self.inner.matrix(self.place[chosen])

    def cached(self, budget: float) -> RowCache:
        return RepeatedRowCache(self, budget)


class RowCache:
    """Sums of rows of a source; those used last are kept in `Q`."""

    def __init__(self, source: RowSource, budget: float) -> None:
        """`budget` in bytes; at least one row is held whatever it is."""
        n = len(source)
        room = int(budget // max(1, n * source.dtype.itemsize))
        self.source, self.capacity, self.made = source, min(n, max(1, room)), 0
        if isinstance(source, MatrixRows):
            self.Q, self.slot_of, self.owner = source.matrix(), np.arange(n), np.arange(n)
        else:
            self.Q = np.empty((self.capacity, n), dtype=source.dtype)
            self.slot_of = np.full(n, -1, dtype=np.int64)
            self.owner = np.full(self.capacity, -1, dtype=np.int64)
        self.by_use = np.arange(self.capacity)  # slots, those unused for longest first
        self.used = np.zeros(self.capacity, dtype=np.uint8)

    def subtract(self, f: Doubles, wanted: Indices, weights: Doubles, keep: Mask) -> None:
        """f -= sum over k of weights_k times row wanted_k; new rows are kept where `keep` is true."""
        held, new, room = np.empty((3, len(wanted)), dtype=np.int64)
        w_held, w_new = np.empty((2, len(wanted)))
        n_held, n_new, n_kept = plan_rows(
            self.slot_of, self.owner, self.by_use, wanted, weights, keep, held, w_held, new, w_new, room, self.used
        )
        self.made += n_new
        at_hand, made = (held[:n_held], w_held[:n_held]), (new[:n_new], w_new[:n_new], room[:n_kept])
        self.source.subtract(f, self.Q, at_hand, made)

    def rows(self, wanted: Indices) -> Matrix | None:
        """These rows, or None if there is no room for all of them."""
        if len(wanted) > self.capacity:
            return None
        zero = np.zeros(len(wanted))
        RowCache.subtract(self, np.zeros(len(self.source)), wanted, zero, zero == 0)
        return np.asarray(self.Q[self.slot_of[wanted]])


class RepeatedRowCache(RowCache):
    """The same for repeated rows, of which one is kept."""

    def __init__(self, source: RepeatedRows, budget: float) -> None:
        super().__init__(source.inner, budget)
        self.place = source.place

    def subtract(self, f: Doubles, wanted: Indices, weights: Doubles, keep: Mask) -> None:
        used, at = np.unique(self.place[wanted], return_inverse=True)
        total = np.zeros(len(self.source))
        super().subtract(total, used, np.bincount(at, weights).astype(np.float64), np.bincount(at, keep) > 0)
        f += total[self.place]

    def rows(self, wanted: Indices) -> Matrix | None:
        used, at = np.unique(self.place[wanted], return_inverse=True)
        made = super().rows(used)
        return None if made is None else made[np.ix_(at, self.place)]


def cut(n: int, size: int) -> list[slice]:
    """range(n) in runs of this size."""
    return [slice(a, min(a + size, n)) for a in range(0, n, size)]


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
