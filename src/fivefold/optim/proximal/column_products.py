"""Columns and a target for coordinate descent: as a Gram matrix, as dense columns, as sparse columns.

With Z and y the rows of X and y less their weighted means, times the roots of their weights, the intercept drops out.
`GramProducts` holds Z'Z and Z'y: one pass over the rows, which are not needed again. `DenseProducts` and
`SparseProducts` hold the columns; products among those that were in a working set are kept, so that along a path each
is computed once.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csc_array

from fivefold.core.parallel import map_parts
from fivefold.core.types import Array, Indices
from fivefold.optim.proximal.coordinate_descent import ColumnProducts, ResidualPoint
from fivefold.optim.proximal.coordinate_descent_loops import column_passes, row_products, sparse_passes
from fivefold.optim.proximal.quadratic_net import FactorQuadratic

MIN_PANEL_COLUMNS = 2048  # columns per task on the thread pool, at least
LOOP_COLUMN_SHARE = 0.3  # below this share of the columns a loop over them is faster than a product with all


class GramProducts(ColumnProducts):
    """Z'Z (d, d), Z'y and |y|^2."""

    has_gram = True
    rows = 0

    def __init__(self, G: Array, q: Array, total: float) -> None:
        self.G, self.q, self.target_square = np.ascontiguousarray(G), q, total
        self.norms = self.G.diagonal().copy()

    def residual_point(self, x: Array, among: Indices | None) -> tuple[ResidualPoint, bool]:
        pull = self.q - self.G @ x
        # |y - Zx|^2 = |y|^2 - x'(q + pull)
        return ResidualPoint(x, pull, max(self.target_square - float(np.vdot(x, self.q + pull)), 0.0)), True

    def gram_block(self, W: Indices) -> tuple[Array, Array]:
        return self.G, self.q

    def passes(
        self, x: Array, W: Indices, l1: float, l2: float, positive: bool, tolerance: float
    ) -> Callable[[], bool]:
        raise TypeError("a Gram matrix has no residual: its passes are coordinate_descent_loops.gram_passes")


class _StoredColumns(ColumnProducts):
    """What dense and sparse columns share: the products among columns of working sets."""

    has_gram = False

    def __init__(self, y: Array, norms: Array) -> None:
        self.y, self.norms, self.target_square, self.rows = y, norms, float(np.vdot(y, y)), len(y)
        self.place = np.full(len(norms), -1)  # of a column among those kept, -1 where it is not kept
        self.count, self.kept = 0, np.empty((0, 0))
        self.q = self.correlations(y)

    @abstractmethod
    def correlations(self, r: Array) -> Array:
        """Z'r."""

    @abstractmethod
    def some_correlations(self, r: Array, among: Indices) -> Array:
        """Z'r of some columns, zero elsewhere."""

    @abstractmethod
    def predictions(self, x: Array) -> Array:
        """Zx."""

    @abstractmethod
    def products(self, new: Indices, old: Indices) -> Array:
        """(new, old) entries of Z'Z."""

    def residual_point(self, x: Array, among: Indices | None) -> tuple[ResidualPoint, bool]:
        r = self.y - self.predictions(x)
        square = float(np.vdot(r, r))
        if among is not None and len(among) < LOOP_COLUMN_SHARE * len(x):
            return ResidualPoint(x, self.some_correlations(r, among), square), False
        return ResidualPoint(x, self.correlations(r), square), True

    def gram_block(self, W: Indices) -> tuple[Array, Array]:
        new = W[self.place[W] < 0]
        if len(new):
            self._extend_block(new)
        at = self.place[W]
        return self.kept[np.ix_(at, at)], self.q[W]

    def _extend_block(self, new: Indices) -> None:
        lo, hi = self.count, self.count + len(new)
        if hi > len(self.kept):
            grown = np.empty((2 * hi, 2 * hi))
            grown[:lo, :lo] = self.kept[:lo, :lo]
            self.kept = grown
        self.place[new] = np.arange(lo, hi)
        self.count = hi
        members = np.empty(hi, dtype=np.int64)
        inside = np.flatnonzero(self.place >= 0)
        members[self.place[inside]] = inside
        P = self.products(new, members)
        self.kept[lo:hi, :hi] = P
        self.kept[:lo, lo:hi] = P[:, :lo].T


class DenseProducts(_StoredColumns):
    """Columns of Z, stored as the rows of an array (d, n)."""

    def __init__(self, Z: Array, y: Array) -> None:
        self.Z = Z
        super().__init__(y, np.einsum("ij,ij->i", Z, Z))

    def correlations(self, r: Array) -> Array:
        return np.concatenate(map_parts(lambda lo, hi: self.Z[lo:hi] @ r, len(self.Z), rows=MIN_PANEL_COLUMNS))

    def some_correlations(self, r: Array, among: Indices) -> Array:
        out = np.zeros((len(self.Z), *r.shape[1:]))
        if r.ndim > 1:
            out[among] = self.Z[among] @ r
        else:
            map_parts(lambda lo, hi: row_products(self.Z, among[lo:hi], r, out), len(among), rows=MIN_PANEL_COLUMNS)
        return out

    def predictions(self, x: Array) -> Array:
        on = np.flatnonzero(x if x.ndim == 1 else x.any(axis=1))
        return self.Z[on].T @ x[on]

    def products(self, new: Indices, old: Indices) -> Array:
        return self.Z[new] @ self.Z[old].T

    def factor(self, W: Indices) -> FactorQuadratic | None:
        return FactorQuadratic(self.Z if len(W) == len(self.Z) else self.Z[W], self.y) if self.y.ndim == 1 else None

    def passes(
        self, x: Array, W: Indices, l1: float, l2: float, positive: bool, tolerance: float
    ) -> Callable[[], bool]:
        strengths = np.full(len(x), l1), np.full(len(x), l2)

        def one_pass() -> bool:
            r = self.y - self.predictions(x)
            return bool(column_passes(self.Z, self.norms, r, x, *strengths, positive, W, tolerance, 2) == 1)

        return one_pass


class SparseProducts(_StoredColumns):
    """Columns root (s - centre) of a sparse matrix whose rows were multiplied by `root`."""

    def __init__(self, S: csc_array, centre: Array, root: Array, y: Array) -> None:
        self.S, self.centre, self.root = S, centre, root
        self.St = S.T  # CSR: its rows are the columns
        self.mass = np.asarray(S.T @ root)  # (d,)
        self.weight = float(root @ root)
        squares = np.asarray(S.multiply(S).sum(axis=0)).ravel()
        norms = squares - 2 * centre * self.mass + self.weight * centre**2
        super().__init__(y, np.maximum(norms, 0.0))

    def correlations(self, r: Array) -> Array:
        along = self.root @ r
        return np.asarray(self.St @ r) - (self.centre * along if r.ndim == 1 else np.outer(self.centre, along))

    def some_correlations(self, r: Array, among: Indices) -> Array:
        out, along = np.zeros((len(self.centre), *r.shape[1:])), self.root @ r
        shift = self.centre[among] * along if r.ndim == 1 else np.outer(self.centre[among], along)
        out[among] = self.St[among] @ r - shift
        return out

    def predictions(self, x: Array) -> Array:
        shift = self.centre @ x
        return np.asarray(self.S @ x) - (self.root * shift if x.ndim == 1 else np.outer(self.root, shift))

    def products(self, new: Indices, old: Indices) -> Array:
        P = (self.St[new] @ self.S[:, old]).toarray()
        c, m = self.centre, self.mass
        return P - np.outer(c[new], m[old]) - np.outer(m[new], c[old]) + self.weight * np.outer(c[new], c[old])

    def passes(
        self, x: Array, W: Indices, l1: float, l2: float, positive: bool, tolerance: float
    ) -> Callable[[], bool]:
        strengths = np.full(len(x), l1), np.full(len(x), l2)
        S, own = self.S, (self.centre, self.root, self.norms)

        def one_pass() -> bool:
            r = self.y - self.predictions(x)
            parts: tuple[Any, ...] = (S.data, S.indices, S.indptr, *own, r, x, *strengths)
            return bool(sparse_passes(*parts, positive, W, tolerance, 2) == 1)

        return one_pass
