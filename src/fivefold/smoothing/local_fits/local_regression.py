"""Local polynomials: the weights of a query, which all kernel and neighbour smoothers share.

    a_i(q) = w_i k(|x_i - q| / h)        h a width, or the distance within which rows weigh k
    g(q) = the value at q of the polynomial that minimises sum_i a_i(q) (y_i - p(x_i))^2  =  sum_i l_i(q) y_i

A polynomial of degree 0 is the weighted mean, so the running mean, the kernel smoother and the k-nearest smoother are
kernels and windows of it, as are the running line and loess of degree 1. Distances are those of columns that were
divided by their deviations, or made uncorrelated, where the kernel has that shape.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import comb
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from fivefold.core.parallel import map_items, scratch
from fivefold.core.types import Codes, Doubles, Indices, Mask, Matrix, Vector, Weights
from fivefold.smoothing.local_fits import neighborhood_loops, sorted_window_loops
from fivefold.smoothing.local_fits.window_fit_loops import FIELDS, LEVERAGE, TOTAL, VALUE
from fivefold.spatial.distances import squared_distances
from fivefold.spatial.search import NeighborIndex
from fivefold.spatial.smoothing_kernels import KERNELS

CHUNK_WORK = 2**19  # rows of windows that a thread goes through before it takes further queries
BLOCK_PAIRS = 2**22  # pairs of a query and a row whose distances are held at a time, per thread
MAX_COMPARED_ROWS = 4096  # up to which every query is compared with all: lists of neighbours would have to be sorted
MAX_TERMS = 10_000  # functions of a polynomial: more would take seconds per query
MAX_BLOCK_QUERIES = 512  # that are asked about together
RANK_ROUNDING = 1e-12  # pivots of a covariance below this share of its trace are linear dependence of columns

Shape = Literal["spherical", "diag", "full"]
EmptyPolicy = Literal["nearest", "nan", "error"]


@dataclass(frozen=True)
class Whitening:
    """Columns as distances take them: (x - centre) / scale, or solved by a Cholesky factor of their covariance."""

    centre: Doubles  # (d,)
    factor: Doubles  # (d, d), lower

    @classmethod
    def of(cls, X: Matrix, w: Weights, shape: Shape) -> Whitening:
        """Of rows X of weights w; constant columns are left as they are."""
        d = X.shape[1]
        centre = w @ X / w.sum()
        if shape == "spherical":
            return cls(centre, np.eye(d))
        Z = X - centre
        covariance = (Z * w[:, None]).T @ Z / w.sum()
        scale = np.sqrt(np.diag(covariance))
        scale[scale <= RANK_ROUNDING * np.abs(centre)] = 1.0
        if shape == "diag":
            return cls(centre, np.diag(scale))
        correlation = covariance / np.outer(scale, scale)
        correlation.flat[:: d + 1] = 1.0 + RANK_ROUNDING * d  # dependent columns keep a pivot
        return cls(centre, scale[:, None] * np.linalg.cholesky(correlation))

    def __call__(self, X: Matrix) -> Doubles:
        Z = np.asarray(X, dtype=np.float64) - self.centre
        if not np.any(self.factor - np.diag(np.diag(self.factor))):
            return np.ascontiguousarray(Z / np.diag(self.factor))
        return np.ascontiguousarray(solve_triangular(self.factor, Z.T, lower=True).T)


class Windows(NamedTuple):
    """The rows of several windows, one after the other."""

    indptr: Indices  # (m + 1,) where each window begins
    rows: Indices  # (total,)
    squares: Doubles  # (total,) squared distances from the query
    widths: Doubles  # (m,)


def _sorted_order(x: Doubles, y: Doubles) -> Codes:
    """The rows in the order of x, those of equal x in the order of y; sorting by both takes ten times as long."""
    if (np.diff(x) > 0).all():
        return np.arange(len(x))
    order = np.argsort(x)
    return np.lexsort((y, x)) if (np.diff(x[order]) == 0).any() else order


@dataclass(frozen=True)
class LocalRegression:
    """Rows, and the polynomial that is fitted to those around a query."""

    rows: Doubles  # (n, d), white; in one column sorted
    y: Doubles  # (n,), relative to `offset`
    w: Doubles  # (n,)
    order: Codes  # (n,) which row of the table each of these was
    offset: float
    white: Whitening
    kernel: str
    degree: int
    width: float
    neighbors: float  # the weight that a window holds; 0 where it has a fixed width
    empty: EmptyPolicy = "nearest"
    owner: str = "a smoother"  # for messages
    robustness: Doubles | None = None  # (n,) factors of the weights within windows, which count rows without them

    @classmethod
    def of(cls, X: Matrix, y: Vector, w: Weights, shape: Shape, **settings: Any) -> LocalRegression:
        """Rows X with targets y and weights w."""
        X, y, w = (np.asarray(a, dtype=np.float64) for a in (X, y, w))
        white = Whitening.of(X, w, shape)
        Z = white(X)
        order = _sorted_order(Z[:, 0], y) if Z.shape[1] == 1 else np.arange(len(Z))
        offset = float(w @ y / w.sum())
        known: dict[str, Any] = {"kernel": "gaussian", "degree": 0, "width": 1.0, "neighbors": 0.0, **settings}
        made: LocalRegression = cls(
            np.ascontiguousarray(Z[order]), y[order] - offset, w[order], order, offset, white, **known
        )
        return made

    def __post_init__(self) -> None:
        if self.terms > MAX_TERMS:
            raise ValueError(
                f"{self.owner}: a polynomial of degree {self.degree} has {self.terms:,} terms in {self.rows.shape[1]} "
                f"columns, and at most {MAX_TERMS:,} are fitted around a query. Take a smaller degree, such as 2"
            )

    def check_arrays(self, columns: int) -> None:
        """Refuse a degree, as of an altered file, that no computer could fit."""
        self.__post_init__()

    @property
    def spread(self) -> float:
        """The root of the mean squared distance of rows from their mean, in white columns."""
        centred = self.rows - self.w @ self.rows / self.w.sum()
        return float(np.sqrt(self.w @ np.square(centred).sum(axis=1) / self.w.sum()))

    @property
    def total(self) -> float:
        return float(self.w.sum())

    @property
    def terms(self) -> int:
        """The number of functions in a polynomial."""
        return comb(self.rows.shape[1] + self.degree, self.degree)

    def __call__(self, X: Matrix) -> Doubles:
        """The values at rows as users give them."""
        return self.values(self.white(X))

    def values(self, Z: Doubles) -> Doubles:
        """The values at white rows; empty windows have what the policy says."""
        found = self.fits(Z)
        out = found[:, VALUE] + self.offset
        if (empty := np.flatnonzero(found[:, TOTAL] <= 0)).size:
            if self.empty == "error":
                raise ValueError(
                    f"{self.owner}: no row is within the window of row {empty[0]}, nor of {len(empty) - 1} others. "
                    "Take a larger width, or empty='nearest'"
                )
            out[empty] = np.nan
            if self.empty == "nearest":
                out[empty] = self.nearest_targets(Z[empty])
        return out

    def nearest_targets(self, Z: Doubles) -> Doubles:
        """The mean target of the rows that are nearest to each query."""
        out = np.empty(len(Z))
        step = queries_per_block(len(self.rows))
        for a in range(0, len(Z), step):
            squares = self._squares(Z[a : a + step])
            nearest = self.w * (squares <= squares.min(axis=1)[:, None])
            out[a : a + step] = nearest @ self.y / nearest.sum(axis=1) + self.offset
        return out

    def fits(self, Z: Doubles, *, full: bool = False) -> Doubles:
        """What is known of the fit at each white row (m, FIELDS); see `window_fit_loops`."""
        out = np.zeros((len(Z), FIELDS))
        if Z.shape[1] == 1:
            self._fit_sorted(np.ascontiguousarray(Z[:, 0]), full, out)
        else:
            self._fit_neighborhoods(Z, full, out)
        return out

    def row_fits(self, picked: Indices, *, apart: bool) -> tuple[Doubles, Doubles]:
        """Values and leverages at some of the rows; `apart`: a window of k other rows is one of k + 1 with the row."""
        wider = replace(self, neighbors=self.neighbors + 1) if apart and self.neighbors else self
        found = wider.fits(self.rows[picked])
        return found[:, VALUE], found[:, LEVERAGE]

    def _fit_sorted(self, queries: Doubles, full: bool, out: Doubles) -> None:
        x, n = self.rows[:, 0], len(self.rows)
        kernel, k = KERNELS[self.kernel], self.neighbors
        cumulative = np.concatenate([[0.0], np.cumsum(self.w)])
        factors = self._factors()
        is_unit = bool((self.w == 1.0).all())

        def chunk(lo: int, hi: int) -> None:
            buffers, basis = scratch("windows", 3, max(n, self.degree + 1)), scratch("basis", self.degree + 1, n)
            sorted_window_loops.fit_sorted(
                queries[lo:hi],
                x,
                self.y,
                factors,
                self.w,
                cumulative,
                is_unit,
                kernel.code,
                kernel.reach,
                self.degree,
                self.width,
                k,
                full,
                buffers,
                buffers.view(np.int64),
                basis,
                out[lo:hi],
            )

        in_chunks(chunk, len(queries), max(64.0, n * self._share()))

    def _factors(self) -> Doubles:
        """The weights of the rows within windows."""
        return self.w if self.robustness is None else self.w * self.robustness

    def _share(self) -> float:
        """About what share of the rows a window holds."""
        if self.neighbors:
            return min(1.0, self.neighbors / self.total)
        range_ = float(np.ptp(self.rows[:, 0]))
        return min(1.0, 2 * self.width * KERNELS[self.kernel].reach / range_) if range_ > 0 else 1.0

    def _fit_neighborhoods(self, Z: Doubles, full: bool, out: Doubles) -> None:
        n, d = self.rows.shape
        kernel = KERNELS[self.kernel]
        parents, columns = monomials(d, self.degree)
        factors = self._factors()

        index = NeighborIndex(self.rows)

        def chunk(lo: int, hi: int) -> None:
            indptr, rows, squares, widths = self.windows(Z[lo:hi], index)
            buffers, p = scratch("windows", 4, max(n, len(parents) + 1)), len(parents) + 1
            neighborhood_loops.fit_neighborhoods(
                Z[lo:hi],
                indptr,
                rows,
                squares,
                widths,
                self.rows,
                self.y,
                factors,
                self.w,
                kernel.code,
                self.neighbors > 0,
                parents,
                columns,
                full,
                buffers,
                buffers.view(np.int64),
                scratch("basis", p, n),
                out[lo:hi],
            )

        in_chunks(chunk, len(Z), CHUNK_WORK / queries_per_block(n))

    def windows(self, Z: Doubles, index: NeighborIndex | None = None) -> Windows:
        """The rows of each window, by `index` where windows have an end."""
        if np.isinf(KERNELS[self.kernel].support):
            return self._endless_windows(Z)
        if len(self.rows) <= MAX_COMPARED_ROWS:
            return self._listed(self._squares(Z))
        index = NeighborIndex(self.rows) if index is None else index
        if not self.neighbors:
            found = index.query_radius(Z, self.width, sort=False)
            return Windows(found.indptr, found.rows, np.square(found.distances), np.full(len(Z), self.width))
        n, total = len(self.w), self.total
        if self.neighbors >= total or self.w.min() < 1.0:  # rows that weigh less than one: their number is not known
            return self._listed(self._squares(Z))
        count = min(n, int(np.ceil(self.neighbors)) + 1)
        distances, rows = index.query(Z, count)
        weight = np.cumsum(self.w[rows], axis=1)
        radii = distances[np.arange(len(Z)), (weight < self.neighbors).sum(axis=1)]
        if count < n and (radii >= distances[:, -1]).any():  # rows that are as far may be missing from the list
            return self._listed(self._squares(Z))
        inside = distances <= radii[:, None]
        return Windows(_ends(inside), rows[inside], np.square(distances[inside]), radii)

    def _squares(self, Z: Doubles) -> Doubles:
        """Squared distances of queries from all rows (m, n)."""
        return np.asarray(squared_distances(Z, self.rows), dtype=np.float64)

    def _listed(self, squares: Doubles) -> Windows:
        """Windows with an end, from all squared distances (m, n)."""
        ends = self._squared_radii(squares) if self.neighbors else np.full(len(squares), self.width**2)
        inside = squares <= ends[:, None]
        return Windows(_ends(inside), np.nonzero(inside)[1], squares[inside], np.sqrt(ends))

    def _squared_radii(self, squares: Doubles) -> Doubles:
        """The squared distance within which rows weigh `neighbors`, or all of them."""
        if (self.w == 1.0).all():
            k = min(len(self.w), int(np.ceil(self.neighbors)))
            nearest: Doubles = np.partition(squares, k - 1, axis=1)[:, k - 1]
            return nearest
        order = squares.argsort(axis=1)
        weight = np.cumsum(self.w[order], axis=1)
        place = (weight < min(self.neighbors, self.total * (1 - 1e-12))).sum(axis=1).clip(max=len(self.w) - 1)
        found: Doubles = np.take_along_axis(squares, order, axis=1)[np.arange(len(squares)), place]
        return found

    def _endless_windows(self, Z: Doubles) -> Windows:
        """Rows whose weight is not below rounding beside that of the nearest."""
        squares = self._squares(Z)
        widths = np.sqrt(self._squared_radii(squares)) if self.neighbors else np.full(len(Z), self.width)
        nearest, reach = np.sqrt(squares.min(axis=1)), KERNELS[self.kernel].reach * widths
        far = np.hypot(nearest, reach) if self.kernel == "gaussian" else nearest + reach
        inside = squares <= np.square(far)[:, None]
        inside[np.arange(len(Z)), squares.argmin(axis=1)] = True  # whatever rounding does
        return Windows(_ends(inside), np.nonzero(inside)[1], squares[inside], widths)


def _ends(inside: Mask) -> Indices:
    return np.concatenate([[0], np.cumsum(inside.sum(axis=1))])


def monomials(d: int, degree: int) -> tuple[Codes, Codes]:
    """Products of columns up to a degree, without the constant: each is an earlier one, by place, times a column."""
    parents, columns, last = [], [], [(0, 0)]  # of the last degree: its place, and the first column that may follow
    for _ in range(degree):
        found = []
        for place, first in last:
            for column in range(first, d):
                parents.append(place)
                columns.append(column)
                found.append((len(parents), column))
        last = found
    return np.array(parents, dtype=np.int64), np.array(columns, dtype=np.int64)


def queries_per_block(n: int) -> int:
    """How many queries are compared with n rows at a time."""
    return max(1, min(MAX_BLOCK_QUERIES, BLOCK_PAIRS // n))


def in_chunks(work: Callable[[int, int], None], count: int, cost: float) -> None:
    """work(lo, hi) over the queries, on threads, in chunks of about CHUNK_WORK, where each query costs this much."""
    step = max(1, min(count, int(CHUNK_WORK / cost)))
    cuts = list(range(0, count, step))
    map_items(lambda i: work(cuts[i], min(count, cuts[i] + step)), len(cuts))
