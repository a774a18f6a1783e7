"""Columns in at most 255 bins: what histograms are made of.

Numbers: a column with few distinct values has one bin per value, others have bins of nearly equal weight. A value x is
in bin b if edges[b - 1] < x <= edges[b]. Categories: one bin per level; where there are more levels than bins the
rarest share the last one. The last code, MISSING_BIN, is for missing values and for levels never seen. Codes are kept
by column, for separating rows, and packed in words of COLUMNS_PER_WORD columns, for adding rows up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from fivefold.core.chunks.chunked_array import Rows, is_chunked, rows_at
from fivefold.core.compilation.jit import jit
from fivefold.core.numerics.arrays import is_tensor, to_device_of, to_numpy
from fivefold.core.parallel import map_items, map_parts, threads
from fivefold.core.storage.array_checks import check_lengths
from fivefold.core.types import Array, Codes, Doubles, Indices, Mask, Rng, Table, Weights

Allocation: TypeAlias = Callable[[tuple[int, ...], Any], Any]  # makes an array of a shape and a type, uninitialised
MISSING_BIN = 255
COLUMNS_PER_WORD = 8  # one byte per column; histograms of this many columns fit the first-level cache
EDGE_SAMPLE_ROWS = 200_000  # rows: edges are computed from a sample of at most this many
BLOCK_ROWS = 512  # rows that are transposed at a time, so that they stay in the cache
COLUMNS_AT_ONCE = 8  # columns that are copied to find their edges: a cache line of each row; or one per thread
BLOCK_NUMBERS = 2**15  # of a table whose codes are found together: a quarter of a megabyte stays in the cache
PART_BLOCKS = 4  # blocks that are worth a thread, at least: about half a millisecond
MAX_SHUFFLED_ROWS = 2**24  # rows whose numbers are shuffled to draw the sample; of more, a few may be drawn twice


@dataclass(frozen=True)
class Bins:
    """The bins of each column."""

    edges: tuple[Array, ...]  # numbers: upper edges of all bins except the last; categories: the levels, increasing
    place: tuple[Codes, ...]  # categories: the bin of each level; numbers: empty
    sizes: Indices  # (d,) int64: bins of known values
    categorical: Mask  # (d,) bool

    def check_arrays(self, columns: int) -> None:
        """Refuse arrays, as of an altered file, that do not make bins of this many columns."""
        check_lengths(len(self.sizes), self.categorical)
        if np.any(self.categorical):  # else no bin is looked up
            check_lengths(columns, self.edges, self.place, self.sizes)
        for f in np.flatnonzero(self.categorical):
            check_lengths(len(self.edges[f]), self.place[f])

    def codes(self, X: Table, allocate: Allocation = np.empty) -> Codes:
        """Codes of the rows of X: (columns, n) uint8."""
        out = allocate(X.shape[::-1], np.uint8)
        if is_chunked(X):
            for start, part in X.rows.map(lambda rows: (rows.start, self.codes(X.pick(rows)))):
                out[:, start : start + part.shape[1]] = part
            return out
        numeric, levels = np.flatnonzero(~self.categorical), np.flatnonzero(self.categorical).tolist()
        edges = np.full((len(numeric), MISSING_BIN), np.inf)
        for own, f in zip(edges, numeric, strict=True):
            own[: len(self.edges[f])] = self.edges[f]
        if len(numeric):
            rows = max(1, BLOCK_NUMBERS // len(out))
            map_parts(lambda lo, hi: _codes(X, numeric, edges, lo, hi, rows, out), X.shape[0], rows=PART_BLOCKS * rows)
        if len(levels):
            map_items(lambda i: self._level_codes(X, levels[i], out[levels[i]]), len(levels))
        return out

    def levels(self, X: Table) -> Array:
        """X with each level replaced by its bin, NaN for a level never seen; numbers are unchanged."""
        if not self.categorical.any():
            return X
        X = X.copy()
        code = np.empty(len(X), dtype=np.uint8)
        for f in np.flatnonzero(self.categorical):
            self._level_codes(X, int(f), code)
            X[:, f] = np.where(code == MISSING_BIN, np.nan, code)
        return X

    def pooled(self) -> list[tuple[int, int]]:
        """The columns whose rarest levels share a bin, and how many levels share it."""
        return [(f, int((p == p.max()).sum())) for f, p in enumerate(self.place) if len(p) > self.sizes[f]]

    def _level_codes(self, X: Table, f: int, out: Codes) -> None:
        _level_codes(X, f, self.edges[f], self.place[f], out)


def pack_codes(codes: Codes, allocate: Allocation = np.empty) -> Codes:
    """Words (n * groups,) int64: the codes of a row follow each other; the last word of a row is padded with zeros."""
    d, n = codes.shape
    out = allocate((n, -(-d // COLUMNS_PER_WORD) * COLUMNS_PER_WORD), np.uint8)

    def part(lo: int, hi: int) -> None:
        out[lo:hi, :d], out[lo:hi, d:] = codes[:, lo:hi].T, 0

    map_parts(part, n)
    return out.reshape(-1).view(np.int64)


def find_bins(X: Table, w: Weights, max_bins: int, categorical: Mask, rng: Rng) -> Bins:
    """Bins of every column of X, at most max_bins each; edges lie halfway between values, or at weighted quantiles."""
    n, d = X.shape
    some: Any = slice(None)
    weights = None if (w == w[0]).all() else w
    if n > EDGE_SAMPLE_ROWS:
        some, weights = _edge_sample(n, weights, rng), None

    seen: Any = X
    if is_chunked(X):
        at = np.arange(n) if n <= EDGE_SAMPLE_ROWS else some
        seen, levels = rows_at(X, at), _chunk_levels(X, w, categorical)
        some = slice(None)
    elif is_tensor(X):  # without categories
        seen, some = to_numpy(X if n <= EDGE_SAMPLE_ROWS else X[to_device_of(some, X)]), slice(None)

    def column(first: int, block: Doubles, i: int) -> tuple[Array, Codes, int]:
        f = first + i
        if categorical[f]:
            found = levels[f] if is_chunked(X) else _level_weights(np.asarray(X[:, f], dtype=np.float64), w)
            return _level_bins(*found, max_bins)
        edges = _edges(block[i], weights, max_bins)
        return edges, np.zeros(0, dtype=np.uint8), len(edges) + 1

    found: list[tuple[Array, Codes, int]] = []
    step = max(COLUMNS_AT_ONCE, threads())
    for first in range(0, d, step):
        block = _columns(seen, some, first, min(first + step, d))
        found += map_items(partial(column, first, block), len(block))
    edges, place, sizes = zip(*found, strict=True)
    return Bins(edges, place, np.array(sizes, dtype=np.int64), np.asarray(categorical, dtype=bool))


def _edge_sample(n: int, w: Weights | None, rng: Rng) -> Indices:
    """Some of n rows, increasing, drawn by weight."""
    if w is not None:
        return np.sort(rng.choice(n, EDGE_SAMPLE_ROWS, p=w / w.sum()))
    if n > MAX_SHUFFLED_ROWS:
        return np.unique(rng.randint(n, size=EDGE_SAMPLE_ROWS))
    return np.sort(rng.choice(n, EDGE_SAMPLE_ROWS, replace=False))


def _columns(X: Table, some: Indices | slice, first: int, last: int) -> Doubles:
    """Some columns, each as a row of its own, in one pass; column by column, each pass would read all cache lines."""
    n = X.shape[0] if isinstance(some, slice) else len(some)
    out = np.empty((last - first, n))

    def part(lo: int, hi: int) -> None:
        for a in range(lo, hi, BLOCK_ROWS):
            b = min(a + BLOCK_ROWS, hi)
            out[:, a:b] = X[slice(a, b) if isinstance(some, slice) else some[a:b], first:last].T

    map_parts(part, n)
    return out


def _edges(x: Doubles, w: Weights | None, max_bins: int) -> Array:
    """The edges of a column of numbers, which are put in order."""
    if w is None:
        x.sort()
    else:
        order = np.argsort(x, kind="stable")
        x, w = x[order], w[order]
    known = np.searchsorted(x, np.nan)  # missing values come last
    x, w = x[:known], None if w is None else w[:known]
    fresh = x[1:] != x[:-1]
    if np.count_nonzero(fresh) < max_bins:
        return _halfway(x[:-1][fresh], x[1:][fresh])
    total = None if w is None else np.cumsum(w)
    weight = len(x) if total is None else total[-1]
    wanted = np.linspace(0, 100, max_bins + 1)[1:-1] / 100 * weight  # rounded as NumPy's percentiles are
    at = np.ceil(wanted).astype(np.int64) - 1 if total is None else np.searchsorted(total, wanted)
    after = np.minimum(at + ((at + 1 if total is None else total[at]) == wanted), len(x) - 1)
    return np.unique(_halfway(x[at], x[after]))


def _halfway(a: Array, b: Array) -> Array:
    """The midpoints of a <= b, made finite, so that infinite values lie beyond the edge."""
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(a / 2 + b / 2, nan=0.0)


def _level_weights(x: Array, w: Weights) -> tuple[Array, Array]:
    """The levels of a column of categories, and the weight of the rows of each."""
    known = ~np.isnan(x)
    levels, at = np.unique(x[known], return_inverse=True)
    return levels, np.bincount(at, w[known], len(levels)).astype(np.float64)


def _chunk_levels(X: Any, w: Weights, categorical: Mask) -> dict[int, tuple[Array, Array]]:
    """The levels of the columns of categories of a table in chunks, and their weights."""
    columns = np.flatnonzero(categorical).tolist()

    def levels(rows: Rows) -> dict[int, tuple[Array, Array]]:
        v, Z = w[rows.start : rows.start + len(rows.w)], X.pick(rows)
        return {f: _level_weights(np.asarray(Z[:, f], dtype=np.float64), v) for f in columns}

    found: dict[int, tuple[Array, Array]] = {f: (np.empty(0), np.empty(0)) for f in columns}
    for part in X.rows.map(levels) if columns else ():
        for f in columns:
            values, weights = (np.concatenate(pair) for pair in zip(found[f], part[f], strict=True))
            found[f] = _level_weights(values, weights)
    return found


def _level_bins(levels: Array, weight: Array, max_bins: int) -> tuple[Array, Codes, int]:
    """The levels of a column of categories, the bin of each, and the number of bins."""
    size = min(len(levels), max_bins)
    place = np.arange(len(levels))
    if len(levels) > max_bins:
        own = np.sort(np.argsort(-weight, kind="stable")[: max_bins - 1])
        place = np.full(len(levels), max_bins - 1)
        place[own] = np.arange(max_bins - 1)
    return levels, place.astype(np.uint8), max(size, 1)


@jit
def _codes(X, columns, edges, lo, hi, rows, out):
    """The codes of some columns in rows lo..hi, by blocks of rows that stay in the cache; out (d, n)."""
    for first in range(lo, hi, rows):
        for c in range(len(columns)):
            f = columns[c]
            own, codes = edges[c], out[f]
            for i in range(first, min(first + rows, hi)):
                x = X[i, f]
                a = 0  # edges below x; a branchless binary search over edges padded with infinity
                for k in range(8):
                    half = 128 >> k
                    a += half if own[a + half - 1] < x else 0
                codes[i] = a if x == x else MISSING_BIN


@jit
def _level_codes(X, f, levels, place, out):
    n, last = X.shape[0], len(levels)
    for i in range(n):
        x = np.float64(X[i, f])
        a, b = 0, last
        while a < b:
            middle = (a + b) // 2
            if levels[middle] < x:
                a = middle + 1
            else:
                b = middle
        out[i] = place[a] if a < last and levels[a] == x else MISSING_BIN
