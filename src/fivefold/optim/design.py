"""The matrix of a linear predictor: eta = (X - centre) w + b, dense or sparse, and the products that solvers need.

Coefficients are one vector (w, b), or K of them as a matrix (K, d + 1); predictors of K outputs are (K, n), so that
what belongs to one output lies together. Dense rows are centred, and float32 widened, block by block in scratch memory,
so data far from zero lose no digits; a sparse matrix stays sparse and its centre is subtracted from the products. Every
product runs over parts of the rows on the thread pool, and the parts are added in order: the number of threads never
changes a result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array, issparse

from fivefold.core.chunks.chunked_array import is_chunked, sum_over_chunks
from fivefold.core.numerics.arrays import is_tensor, to_numpy
from fivefold.core.parallel import BLOCK_ROWS, map_parts
from fivefold.core.types import Array, Indices, Sparse, Table
from fivefold.optim.tensor_design import tensor_gram, tensor_gram_diagonal, tensor_predictor, tensor_softmax_gram

BLOCK_NUMBERS = 1 << 17  # numbers per block: a block with its predictors and slopes stays in the cache
MIN_BLOCK_ROWS = 128  # rows per block, at least, however wide the table
PILOT_ROWS = 500  # the centre is the mean of this many rows, or of up to twice as many
MAX_SQUARED_OFFSET = 100.0  # squared mean over variance: a column farther from zero than this loses digits in products


@dataclass(frozen=True)
class Design:
    """Rows of X less `centre`, where one is given, with a column of ones at the end if `intercept`."""

    X: Table  # (n, d), C-contiguous or CSR
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

    def blocks(self, lo: int, hi: int) -> Iterator[tuple[int, int, Table]]:
        """(a, b, rows a..b) of rows lo..hi, float64 and centred where dense; the next block may overwrite it."""
        if self.sparse:
            yield lo, hi, self._row_slice(lo, hi)
            return
        rows = min(
            BLOCK_ROWS, max(MIN_BLOCK_ROWS, BLOCK_NUMBERS // max(1, self.X.shape[1]) // MIN_BLOCK_ROWS * MIN_BLOCK_ROWS)
        )
        plain = self.centre is None and self.X.dtype == np.float64
        held = np.empty((0 if plain else min(rows, hi - lo), self.X.shape[1]))
        for a in range(lo, hi, rows):
            b = min(a + rows, hi)
            if plain:
                yield a, b, self.X[a:b]
            else:
                centre = 0.0 if self.centre is None else self.centre
                yield a, b, np.subtract(self.X[a:b], centre, out=held[: b - a])

    def predictor(self, x: Array) -> Array:
        """eta (n,) for coefficients (size,), or (K, n) for (K, size)."""
        if is_tensor(self.X):
            return tensor_predictor(self, x)
        eta = np.empty((*x.shape[:-1], len(self)))

        def part(lo: int, hi: int) -> None:
            for a, b, Z in self.blocks(lo, hi):
                eta[..., a:b] = self.predictor_block(Z, x)

        map_parts(part, len(self))
        return eta

    def predictor_block(self, Z: Table, x: Array) -> Array:
        """Predictors of the rows of one block Z."""
        w, b = self.split(x)
        eta = Z @ w if w.ndim == 1 else np.ascontiguousarray((Z @ np.ascontiguousarray(w.T)).T)
        eta += self._shift(w, b)
        return eta

    def transpose(self, r: Array) -> Array:
        """The design transposed times r: (size,) for r (n,), (K, size) for (K, n)."""
        zero = np.zeros((*r.shape[:-1], self.size))

        def part(lo: int, hi: int) -> Array:
            return sum((self.transpose_block(Z, r[..., a:b]) for a, b, Z in self.blocks(lo, hi)), zero)

        return sum(map_parts(part, len(self)), zero)

    def transpose_block(self, Z: Table, r: Array) -> Array:
        """The sum of the rows of one block Z, each times its r."""
        out, d = np.empty((*r.shape[:-1], self.size)), self.X.shape[1]
        total = r.sum(axis=-1)
        out[..., :d] = r @ Z
        if self.sparse and self.centre is not None:
            out[..., :d] -= total[..., None] * self.centre
        if self.intercept:
            out[..., d] = total
        return out

    def gram(self, h: Array | None = None) -> Array:
        """sum over rows of h z z^T, z the row with its one; h of any sign, one for every row by default."""
        if is_tensor(self.X):
            return tensor_gram(self, h)
        zero = np.zeros((self.size,) * 2)

        def part(lo: int, hi: int) -> Array:
            return sum((self._products(Z, None if h is None else h[a:b]) for a, b, Z in self.blocks(lo, hi)), zero)

        return sum(map_parts(part, len(self), rows=BLOCK_ROWS), zero)

    def softmax_gram(self, P: Array, s: Array) -> Array:
        """sum over rows of s (diag(p) - p p^T) x z z^T, the Kronecker product, for probabilities P (K, n)."""
        if is_tensor(self.X):
            return tensor_softmax_gram(self, P, s)
        K, m = len(P), self.size
        zero = np.zeros((K * m, K * m))

        def part(lo: int, hi: int) -> Array:
            H = zero.copy()
            for a, b, Z in self.blocks(lo, hi):
                H -= self._outer(Z, P[:, a:b], s[a:b])
                for k in range(K):
                    H[k * m : (k + 1) * m, k * m : (k + 1) * m] += self._products(Z, s[a:b] * P[k, a:b])
            return H

        return sum(map_parts(part, len(self), rows=BLOCK_ROWS), zero)

    def gram_diagonal(self, h: Array) -> Array:
        """The diagonal of the Gram matrix: sum over rows of h z_j^2, (size,) for h (n,), (K, size) for (K, n)."""
        if is_chunked(self):
            return sum_over_chunks(lambda design, h: design.gram_diagonal(h), self, h)
        if is_tensor(self.X):
            return tensor_gram_diagonal(self, h)
        zero = np.zeros((*h.shape[:-1], self.size))

        def part(lo: int, hi: int) -> Array:
            return sum((self._gram_diagonal_block(Z, h[..., a:b]) for a, b, Z in self.blocks(lo, hi)), zero)

        return sum(map_parts(part, len(self)), zero)

    def columns(self, chosen: Indices) -> Design:
        """The same rows with these columns only."""
        centre = None if self.centre is None else self.centre[chosen]
        if self.sparse:
            return replace(self, X=self.as_csc[:, chosen].tocsr(), centre=centre)
        return replace(self, X=np.ascontiguousarray(self.X[:, chosen]), centre=centre)

    @cached_property
    def as_csc(self) -> Sparse:
        """A sparse X stored by columns; converted once."""
        return self.X.tocsc()

    def rows(self, which: Indices | slice) -> Array:
        """Some rows as coefficients see them: dense, float64, centred, with the one of the intercept."""
        Z = self.X[which]
        Z = np.asarray(Z.toarray() if self.sparse else Z, dtype=np.float64)
        Z = Z if self.centre is None else Z - self.centre
        return np.column_stack([Z, np.ones(len(Z))]) if self.intercept else Z

    def subsample(self, stride: int) -> Design:
        """Every stride-th row; those of a tensor on the host, where a sample is worked on sooner."""
        X = to_numpy(self.X[::stride])
        return replace(self, X=X if self.sparse else np.ascontiguousarray(X))

    def split(self, x: Array) -> tuple[Array, Array]:
        """Coefficients of the columns, and the intercept (0 where there is none)."""
        d = self.X.shape[1]
        return x[..., :d], x[..., d] if self.intercept else np.zeros(x.shape[:-1])

    def _shift(self, w: Array, b: Array) -> Array:
        if self.sparse and self.centre is not None:
            b = b - w @ self.centre
        return np.asarray(b)[..., None] if np.ndim(b) else b

    def _row_slice(self, lo: int, hi: int) -> Sparse:
        """Rows lo..hi of a sparse X, which share its memory; each slice is made once."""
        if (lo, hi) not in self._row_slices:
            a, b = self.X.indptr[lo], self.X.indptr[hi]
            arrays = self.X.data[a:b], self.X.indices[a:b], self.X.indptr[lo : hi + 1] - a
            self._row_slices[lo, hi] = csr_array(arrays, shape=(hi - lo, self.X.shape[1]))
        return self._row_slices[lo, hi]

    @cached_property
    def _row_slices(self) -> dict[tuple[int, int], Sparse]:
        return {}

    def _products(self, Z: Table, h: Array | None) -> Array:
        d, out = self.X.shape[1], np.empty((self.size,) * 2)
        h = np.ones(Z.shape[0]) if h is None else h
        total, mass = h @ Z, float(h.sum())
        if self.sparse:
            G = (Z.T @ Z.multiply(h[:, None]).tocsr()).toarray()
            if self.centre is not None:
                cross = np.outer(total, self.centre)
                G += mass * np.outer(self.centre, self.centre) - cross - cross.T
                total = total - mass * self.centre
        elif h.min(initial=0.0) < 0:
            G = (Z * h[:, None]).T @ Z
        else:
            A = Z * np.sqrt(h)[:, None]
            G = A.T @ A  # BLAS does half the work for a product of a matrix with itself
        out[:d, :d] = G
        if self.intercept:
            out[d, :d] = out[:d, d] = total
            out[d, d] = mass
        return out

    def _outer(self, Z: Table, P: Array, s: Array) -> Array:
        """sum over rows of s (p x z) (p x z)^T."""
        K, m, d = len(P), self.size, self.X.shape[1]
        rows = self._dense(Z)
        A = np.empty((len(rows), K, m))
        np.multiply((P * np.sqrt(s)).T[:, :, None], rows[:, None, :], out=A[:, :, :d])
        if self.intercept:
            A[:, :, d] = (P * np.sqrt(s)).T
        flat = A.reshape(len(rows), K * m)
        return flat.T @ flat

    def _dense(self, Z: Table) -> Array:
        if not self.sparse:
            return Z
        return Z.toarray() - (0.0 if self.centre is None else self.centre)

    def _gram_diagonal_block(self, Z: Table, h: Array) -> Array:
        out, d = np.empty((*h.shape[:-1], self.size)), self.X.shape[1]
        total = h.sum(axis=-1)
        out[..., :d] = h @ (Z * Z if isinstance(Z, np.ndarray) else Z.power(2))
        if self.sparse and self.centre is not None:
            out[..., :d] += (total[..., None] * self.centre - 2 * (h @ Z)) * self.centre
        if self.intercept:
            out[..., d] = total
        return out


def pilot_centre(X: Table) -> Array | None:
    """The mean of some rows, if some column is so far from zero for its spread that products would lose digits."""
    if issparse(X):
        return None
    rows = (
        X.head(2 * PILOT_ROWS).astype(np.float64)
        if is_chunked(X)
        else to_numpy(X[:: max(1, len(X) // PILOT_ROWS)]).astype(np.float64, copy=False)
    )
    mean = rows.mean(axis=0)
    return mean if bool((mean**2 > MAX_SQUARED_OFFSET * rows.var(axis=0)).any()) else None
