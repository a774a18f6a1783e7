"""Features whose inner products are close to a kernel: K = Z Z', with r columns in Z in place of n x n numbers.

    NystroemMap          z(x) = K_mm^(-1/2) k(m, x)   for m objects of the sample; exact between those
    IncompleteCholesky   the same span, the objects chosen one after another where the error on the diagonal is largest
    FourierMap           z(x) = sqrt(2 / r) cos(W'x + b), W from the spectrum of a stationary kernel (Bochner's theorem)

Williams & Seeger (2001); Fine & Scheinberg (2001); Rahimi & Recht (2007).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from fivefold.core.blas_threads import on_one_blas_thread
from fivefold.core.numerics.products import product
from fivefold.core.parallel import map_items
from fivefold.core.types import Indices, Matrix, Rng, Vector
from fivefold.kernels.base import Kernel, Objects, count, take
from fivefold.kernels.differences import Laplace
from fivefold.kernels.elementary import float_type
from fivefold.kernels.gram_blocks import as_rows
from fivefold.kernels.radial import RBF, Matern

ROWS_PER_BLOCK = 1024  # rows whose features a thread computes at a time
SINGULAR_FLOOR = 1e-12  # singular values below this count as this: scikit-learn's value


@dataclass(frozen=True)
class NystroemMap:
    """z(x) = N k(m, x) with N = K_mm^(-1/2)."""

    kernel: Kernel
    basis: Objects  # m objects
    normalization: Matrix  # (m, m)

    def features(self, X: Objects) -> Matrix:
        """One row of m numbers per object."""
        return product(self.kernel(X, self.basis), np.ascontiguousarray(self.normalization.T))


def nystroem_map(kernel: Kernel, basis: Objects) -> NystroemMap:
    """The map of these objects."""
    return NystroemMap(kernel, basis, inverse_root(kernel(basis)))


@on_one_blas_thread
def inverse_root(K: Matrix) -> Matrix:
    """K^(-1/2) of a symmetric matrix, small singular values lifted."""
    U, s, V = np.linalg.svd(K)
    return (U / np.sqrt(np.maximum(s, SINGULAR_FLOOR))) @ V


@dataclass(frozen=True)
class IncompleteCholesky:
    """Z (n, r) with Z Z' close to K: exact in the rows of the pivots, never above K on the diagonal."""

    kernel: Kernel
    pivots: Indices  # (r,) numbers of the objects chosen
    basis: Objects  # the objects themselves
    Z: Matrix  # (n, r) features of the n objects
    residual: float  # trace of K - Z Z'

    def features(self, X: Objects) -> Matrix:
        """Features of other objects: z(x) = L^-1 k(pivots, x)."""
        L = self.Z[self.pivots]
        return solve_triangular(L, self.kernel(self.basis, X), lower=True).T


@on_one_blas_thread
def incomplete_cholesky(kernel: Kernel, X: Objects, rank: int | None = None, tol: float = 1e-10) -> IncompleteCholesky:
    """Choose objects until the error on the diagonal sums to at most tol times the trace, or there are `rank` of them.

    Examples
    --------
    >>> X = np.array([[0.0], [0.0], [1.0]])
    >>> found = incomplete_cholesky(RBF(), X)
    >>> found.pivots, np.allclose(found.Z @ found.Z.T, RBF()(X))
    (array([0, 2]), True)
    """
    n = count(X)
    rank = n if rank is None else min(rank, n)
    left = kernel.diag(X).astype(np.float64)  # diagonal of K - Z Z'
    total, dtype = left.sum(), float_type(X)
    Z, pivots = np.zeros((n, min(rank, 16)), dtype=dtype), list[int]()
    while len(pivots) < rank and left.sum() > tol * total:
        p, r = int(np.argmax(left)), len(pivots)
        if r == Z.shape[1]:  # room for twice as many columns
            Z = np.concatenate([Z, np.zeros((n, min(r, rank - r)), dtype=dtype)], axis=1)
        row = kernel.rows(X, np.array([p]))[0] - Z[:, :r] @ Z[p, :r]
        Z[:, r] = row / np.sqrt(left[p])
        Z[pivots, r] = 0.0
        left = np.maximum(left - Z[:, r].astype(np.float64) ** 2, 0.0)
        left[p] = 0.0
        pivots.append(p)
    chosen = np.array(pivots, dtype=np.int64)
    return IncompleteCholesky(kernel, chosen, take(X, chosen), Z[:, : len(pivots)].copy(), float(left.sum()))


@dataclass(frozen=True)
class FourierMap:
    """z(x) = sqrt(2 / r) cos(W'x + b)."""

    weights: Matrix  # (d, r)
    offset: Vector  # (r,) from 0 to 2 pi

    def features(self, X: Objects) -> Matrix:
        """One row of r numbers per row of X."""
        X = as_rows(X)
        W, b = (A.astype(X.dtype, copy=False) for A in (self.weights, self.offset))
        out = np.empty((X.shape[0], len(b)), dtype=X.dtype)

        def piece(i: int) -> None:
            rows = slice(i * ROWS_PER_BLOCK, min((i + 1) * ROWS_PER_BLOCK, len(out)))
            Z = np.asarray(X[rows] @ W)
            Z += b
            np.cos(Z, out=Z)
            np.multiply(Z, np.sqrt(2.0 / len(b)), out=out[rows])

        map_items(piece, -(-len(out) // ROWS_PER_BLOCK))
        return out


def fourier_map(kernel: Kernel, d: int, rank: int, rng: Rng) -> FourierMap:
    """Random features of a stationary kernel of d columns: its spectral measure is drawn from.

    Gaussian kernels have normal frequencies, Matern kernels those of Student's t with 2 nu degrees of freedom, Laplace
    kernels those of Cauchy.
    """
    if isinstance(kernel, RBF) or (isinstance(kernel, Matern) and kernel.nu == np.inf):
        W = rng.normal(size=(d, rank))
    elif isinstance(kernel, Matern):
        W = rng.normal(size=(d, rank)) / np.sqrt(rng.chisquare(2.0 * kernel.nu, size=rank) / (2.0 * kernel.nu))
    elif isinstance(kernel, Laplace):
        W = rng.standard_cauchy(size=(d, rank))
    else:
        raise TypeError(f"the spectrum of {kernel} is not known: RBF, Matern and Laplace have random Fourier features")
    scale = np.broadcast_to(np.asarray(kernel.length_scale, dtype=np.float64), (d,))
    return FourierMap(W / scale[:, None], rng.uniform(0.0, 2.0 * np.pi, size=rank))
