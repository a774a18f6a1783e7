"""The matrix of a linear predictor: eta = (X - centre) w + b, dense or sparse, and what a solver asks of it.

Coefficients are one vector (w, b), or K of them as a matrix (K, d + 1); predictors of K outputs are (K, n), so that
what belongs to one output lies together. Dense rows are centred block by block in scratch memory, so data far from zero
lose no digits; a sparse matrix stays sparse and its centre is subtracted from the products. Every product runs over
parts of the rows on the pool, and the parts are added in order: the number of threads never changes a result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from fivefold.core.linalg import centred_blocks, row_blocks
from fivefold.core.parallel import map_parts

Array = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Design:
    """Rows of X, less `centre` where it is given, with a column of ones at the end where `intercept` says so."""

    X: Any  # (n, d), C-contiguous or CSR
    intercept: bool = True
    centre: Array | None = None

    def __len__(self) -> int:
        return self.X.shape[0]

    @property
    def size(self) -> int:
        """Number of coefficients of one output."""
        return self.X.shape[1] + self.intercept

    @cached_property
    def sparse(self) -> bool:
        return issparse(self.X)

    def blocks(self, lo: int, hi: int) -> Iterator[tuple[int, int, Any]]:
        """(a, b, rows a..b) of rows lo..hi, centred where dense; blocks stay in the cache and are scratch."""
        if self.sparse:
            yield lo, hi, self.X[lo:hi]
        elif self.centre is None:
            yield from row_blocks(self.X, lo, hi)
        else:
            yield from centred_blocks(self.X, self.centre.astype(self.X.dtype), lo, hi)

    def predictor(self, x: Array) -> Array:
        """eta (n,) for coefficients (size,), or (K, n) for (K, size)."""
        eta = np.empty((*x.shape[:-1], len(self)))

        def part(lo: int, hi: int) -> None:
            for a, b, Z in self.blocks(lo, hi):
                eta[..., a:b] = self.scores(Z, x)

        map_parts(part, len(self))
        return eta

    def scores(self, Z: Any, x: Array) -> Array:
        """Predictors of the rows of one block."""
        w, b = self.split(x)
        w = w.astype(self.X.dtype, copy=False)
        return (Z @ w.T).T + self._shift(w, b)

    def transpose(self, r: Array) -> Array:
        """The design transposed times r: (size,) for r (n,), (K, size) for (K, n)."""
        zero = np.zeros((*r.shape[:-1], self.size))

        def part(lo: int, hi: int) -> Array:
            return sum((self.pull(Z, r[..., a:b]) for a, b, Z in self.blocks(lo, hi)), zero)

        return sum(map_parts(part, len(self)), zero)

    def pull(self, Z: Any, r: Array) -> Array:
        """The rows of one block, each times its r, summed."""
        out, d = np.empty((*r.shape[:-1], self.size)), self.X.shape[1]
        total = r.sum(axis=-1)
        out[..., :d] = (Z.T @ r.T.astype(self.X.dtype, copy=False)).T
        if self.sparse and self.centre is not None:
            out[..., :d] -= total[..., None] * self.centre
        if self.intercept:
            out[..., d] = total
        return out

    def gram(self, h: Array | None = None) -> Array:
        """sum over rows of h z z^T, z the row with its one; h not negative, one by default."""
        zero = np.zeros((self.size,) * 2)

        def part(lo: int, hi: int) -> Array:
            return sum((self._products(Z, None if h is None else h[a:b]) for a, b, Z in self.blocks(lo, hi)), zero)

        return sum(map_parts(part, len(self)), zero)

    def thinned(self, step: int) -> Design:
        """Every step-th row."""
        X = self.X[::step]
        return replace(self, X=X if self.sparse else np.ascontiguousarray(X))

    def split(self, x: Array) -> tuple[Array, Any]:
        """Coefficients of the columns, and the intercept (0 where there is none)."""
        d = self.X.shape[1]
        return x[..., :d], x[..., d] if self.intercept else np.zeros(x.shape[:-1])

    def _shift(self, w: Array, b: Any) -> Any:
        if self.sparse and self.centre is not None:
            b = b - w @ self.centre
        return np.asarray(b)[..., None] if np.ndim(b) else b

    def _products(self, Z: Any, h: Array | None) -> Array:
        d, out = self.X.shape[1], np.empty((self.size,) * 2)
        h = np.ones(Z.shape[0]) if h is None else h
        if self.sparse:
            G, total = (Z.T @ Z.multiply(h[:, None])).toarray(), Z.T @ h
            if self.centre is not None:
                cross = np.outer(total, self.centre)
                G += h.sum() * np.outer(self.centre, self.centre) - cross - cross.T
                total = total - h.sum() * self.centre
        else:
            Q = Z * np.sqrt(h)[:, None].astype(Z.dtype)
            G, total = Q.T @ Q, Z.T @ h.astype(Z.dtype)
        out[:d, :d] = G
        if self.intercept:
            out[d, :d] = out[:d, d] = total
            out[d, d] = h.sum()
        return out
