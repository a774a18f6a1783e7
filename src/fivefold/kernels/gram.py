"""The Gram matrix of a kernel and n objects, as lazy as its use allows.

    G = Gram(k, X)
    G.rows(i)          some rows                               working-set methods
    G @ V              products by blocks of rows              conjugate gradients; n x n is never stored
    G.matrix           the whole, after asking whether there is memory for it
    G.factor(ridge)    the Cholesky factor of K + ridge I      ridge regression, Gaussian processes
    G.centring         means of rows and columns: K becomes that of centred features

Too large a matrix is refused before memory is asked for, with what to do instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import cho_solve
from scipy.sparse.linalg import LinearOperator

from fivefold.core.blas_threads import on_one_blas_thread
from fivefold.core.numerics.cholesky import cholesky_with_least
from fivefold.core.parallel import map_items
from fivefold.core.storage.memory_limits import refuse_square
from fivefold.core.types import Array, Indices, Matrix, Vector
from fivefold.kernels.base import Kernel, Objects, count
from fivefold.kernels.elementary import float_type

ROWS_PER_PRODUCT = 256  # rows of the matrix that are made, multiplied and forgotten at a time
JITTERS = (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6)  # added to the diagonal one after another, as shares of its mean


def jitters(n: int, level: float, shares: tuple[float, ...] = JITTERS) -> list[float]:
    """What to add to the diagonal of a matrix of n rows whose mean is `level`: nothing, then more and more.

    With an addition near n roundings there may be a factor, but its digits would be those of the rounding.
    """
    return [share * level for share in shares if share == 0 or share >= 10 * n * np.finfo(np.float64).eps]


class NotPositiveDefiniteError(np.linalg.LinAlgError, ValueError):
    """A Gram matrix that no small addition to its diagonal makes positive definite."""


@dataclass(frozen=True)
class Factor:
    """L L' = K + (ridge + jitter) I."""

    L: Matrix  # (n, n) lower triangle
    jitter: float  # what rounding made necessary on the diagonal, besides the ridge

    @on_one_blas_thread
    def solve(self, b: Array) -> Array:
        """(K + ridge I)^-1 b."""
        found: Array = cho_solve((self.L.T, False), b, check_finite=False)  # transposed: no copy of rows to columns
        return found

    @property
    def log_determinant(self) -> float:
        """log |K + ridge I|."""
        return 2.0 * float(np.log(np.diag(self.L)).sum())


@dataclass(frozen=True)
class Centring:
    """Means that turn values of k into those of features with their mean taken away."""

    column_means: Vector  # (n,) mean of k(x_i, .) over the objects
    mean: float  # of all entries

    def centred(self, K: Matrix) -> Matrix:
        """K (m, n) between m objects and the n of the matrix, for centred features."""
        return K - K.mean(axis=1, keepdims=True) - self.column_means + self.mean


@dataclass(frozen=True)
class Gram:
    """k(x_i, x_j) of n objects."""

    kernel: Kernel
    X: Objects

    @property
    def n(self) -> int:
        return count(self.X)

    @property
    def shape(self) -> tuple[int, int]:
        return self.n, self.n

    @property
    def diagonal(self) -> Vector:
        return self.kernel.diag(self.X)

    def rows(self, indices: Indices) -> Matrix:
        """Rows of the matrix."""
        return self.kernel.rows(self.X, np.asarray(indices))

    def __matmul__(self, V: Array) -> Array:
        """K V, a block of rows after the other: the memory of the whole is never taken."""
        if "matrix" in vars(self):
            return self.matrix @ V
        n = self.n

        def piece(i: int) -> Array:
            return self.rows(np.arange(i * ROWS_PER_PRODUCT, min((i + 1) * ROWS_PER_PRODUCT, n))) @ V

        return np.concatenate(map_items(piece, -(-n // ROWS_PER_PRODUCT)))

    def operator(self, ridge: float = 0.0) -> LinearOperator:
        """K + ridge I as SciPy's solvers take it: products, never the matrix."""

        def times(V: Array) -> Array:
            return self @ V + ridge * V

        return LinearOperator(self.shape, matvec=times, matmat=times, rmatvec=times, dtype=float_type(self.X))

    @cached_property
    def matrix(self) -> Matrix:
        """The whole matrix, if there is memory for it."""
        refuse_gram(self.n, float_type(self.X).itemsize / 8)
        return self.kernel(self.X)

    def factor(self, ridge: float | Vector = 0.0) -> Factor:
        """Cholesky factor of K + ridge I, the ridge a number or one per object; with as little jitter as it takes."""
        refuse_gram(self.n, float_type(self.X).itemsize / 4)
        return cholesky_with_jitter(self.matrix, ridge)

    @cached_property
    def centring(self) -> Centring:
        """Means of the columns, from products: the matrix need not be stored."""
        means = self @ np.full(self.n, 1.0 / self.n, dtype=float_type(self.X))
        return Centring(means, float(means.mean()))


def refuse_gram(n: int, matrices: float = 1) -> None:
    """Refuse Gram matrices of n objects, counted in float64, that would not fit into memory, and say what would."""
    cure = "Use a sample, features from Nystroem or RBFSampler, or a method that works by rows or products"
    refuse_square("the Gram matrix", n, matrices, cure)


@on_one_blas_thread
def cholesky_with_jitter(K: Matrix, ridge: float | Vector = 0.0) -> Factor:
    """L with L L' = K + ridge I, after adding to the diagonal what rounding makes necessary, at most 1e-6 of its mean.

    Examples
    --------
    >>> factor = cholesky_with_jitter(np.ones((3, 3)), ridge=1.0)
    >>> factor.solve(np.ones(3))
    array([0.25, 0.25, 0.25])
    """
    mean = float(np.mean(np.diag(K))) + float(np.mean(ridge)) if len(K) else 0.0
    A = np.array(K, dtype=np.float64, order="C")
    jitter = cholesky_with_least(A, np.diag(K) + ridge, jitters(len(K), mean))
    if jitter is None:
        raise NotPositiveDefiniteError(indefinite_message(K, ridge, mean))
    return Factor(np.tril(A).astype(K.dtype, copy=False), jitter)


def indefinite_message(K: Matrix, ridge: Any, mean: float) -> str:
    """Why a Gram matrix has no Cholesky factor, and what to do."""
    if not np.all(np.isfinite(K)):
        return "the Gram matrix holds infinite values or NaN: the kernel overflows on these objects; scale the columns"
    lowest, highest = np.linalg.eigvalsh(K)[[0, -1]]
    what = f"its eigenvalues run from {lowest:.3g} to {highest:.3g}, with a ridge of {np.min(ridge):.3g}"
    if lowest < -1e-6 * max(highest, abs(mean)):
        return (
            f"the kernel is not positive definite on these objects: {what}. Choose another kernel or other parameters "
            "(check_positive_definite tells), or use empirical_kernel_map"
        )
    return (
        f"the Gram matrix is singular to rounding: {what}. Objects repeat, or the kernel is too smooth: raise the ridge"
    )
