"""The smoothing spline of many columns: radial functions at all rows, and a plane that costs nothing.

    f(x) = sum_i c_i |x - x_i|^3 / 12 + b_0 + b'x                    sum_i c_i = 0, sum_i c_i x_i = 0
    (K + gamma W^-1) c + T b = y,  T'c = 0                           K_ij = |x_i - x_j|^3 / 12, T = [1, x]

It is ridge regression with a kernel that is positive definite for coefficients orthogonal to T; reflections that turn T
into the first axes leave such coefficients in the others. To try many prices, the restricted K is diagonalised once.

Duchon (1977); Poggio & Girosi (1990), where radial basis functions come from.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cho_solve, lapack

from fivefold.core.numerics.cholesky import cholesky
from fivefold.core.numerics.eigenpairs import eigen
from fivefold.core.types import Array, Doubles, Indices, Matrix
from fivefold.spatial.distances import squared_distances

ROWS_PER_BLOCK = 1024  # rows that are predicted at a time
WORK = 64  # columns of LAPACK's work space: the largest block of reflections that it takes at once
RANK_ROUNDING = 1e-10  # singular values of T below this share of the largest are linear dependence of columns


@dataclass(frozen=True)
class Spline:
    """Coefficients of the radial functions at the rows, and of the plane, in columns that are centred and scaled."""

    knots: Matrix  # (n, d)
    dual: Doubles  # (n, t)
    plane: Doubles  # (1 + d, t)
    centre: Doubles  # (d,)
    scale: float
    penalty: float  # gamma in the units of the columns
    shape: tuple[int, ...]  # of the answer to one row: () for one target

    def __call__(self, X: Matrix) -> Array:
        """The values at rows."""
        out = np.empty((len(X), self.dual.shape[1]))
        for a in range(0, len(X), ROWS_PER_BLOCK):
            Z = (np.asarray(X[a : a + ROWS_PER_BLOCK], dtype=np.float64) - self.centre) / self.scale
            out[a : a + ROWS_PER_BLOCK] = _radial(Z, self.knots) @ self.dual + _plane(Z) @ self.plane
        return out.reshape(len(X), *self.shape)


@dataclass(frozen=True)
class RadialRows:
    """Rows and targets, ready for any price of roughness."""

    rows: Doubles  # (n, d), centred and scaled
    y: Doubles  # (n, t)
    w: Doubles  # (n,)
    centre: Doubles
    scale: float
    shape: tuple[int, ...]

    @cached_property
    def root(self) -> Doubles:
        """Square roots of the weights (n, 1)."""
        return np.sqrt(self.w)[:, None]

    @cached_property
    def planes(self) -> tuple[Doubles, Doubles, Doubles]:
        """The weighted plane functions: orthonormal (n, q), singular values (q,), and combinations (q, 1 + d)."""
        left, values, right = np.linalg.svd(self.root * _plane(self.rows), full_matrices=False)
        rank = int((values > RANK_ROUNDING * values[0]).sum())
        return left[:, :rank], values[:rank], right[:rank]

    def gram(self) -> Doubles:
        """The radial functions at the rows, weighted on both sides."""
        A = _radial(self.rows, self.rows)
        A *= self.root
        A *= self.root.T
        return A

    @cached_property
    def restricted(self) -> tuple[Doubles, Doubles]:
        """Eigenvalues of the restricted kernel (n - q,), and its vectors as coefficients of rows (n, n - q)."""
        left, n = self.planes[0], len(self.y)
        complement = np.linalg.qr(left, mode="complete")[0][:, left.shape[1] :]
        values, vectors = eigen(complement.T @ (self.gram() @ complement))
        assert vectors.shape[0] == n - left.shape[1]
        return np.maximum(values, 0.0), complement @ vectors

    def solved(self, alpha: float) -> Spline:
        """The surface at one price, by a Cholesky factor."""
        A = self.gram()
        along = self.planes[0].T @ A  # A itself is overwritten
        return self._surface(restricted_solution(A, self.planes[0], self.root * self.y, alpha), along, alpha)

    def _surface(self, a: Doubles, along: Doubles, alpha: float) -> Spline:
        left, values, right = self.planes
        plane = right.T @ ((left.T @ (self.root * self.y) - along @ a) / values[:, None])
        penalty = alpha * self.scale**3
        return Spline(self.rows, self.root * a, plane, self.centre, self.scale, penalty, self.shape)


@dataclass(frozen=True)
class DiagonalFit:
    """The surface at one price, from the diagonalised kernel."""

    data: RadialRows
    alpha: float

    @property
    def y(self) -> Doubles:
        return self.data.y

    @property
    def w(self) -> Doubles:
        return self.data.w

    def row_fits(self, picked: Indices, *, apart: bool) -> tuple[Doubles, Doubles]:
        """Values (m, t) and leverages at some of the rows, per unit of weight."""
        values, vectors = self.data.restricted
        shrunk = self.alpha / (values + self.alpha)
        rest = vectors[picked] @ (shrunk[:, None] * (vectors.T @ (self.data.root * self.data.y)))
        leverage = 1.0 - np.square(vectors[picked]) @ shrunk
        return self.data.y[picked] - rest / self.data.root[picked], leverage / self.data.w[picked]

    def __call__(self, X: Matrix) -> Array:
        return self.data.solved(self.alpha)(X)


def restricted_solution(A: Doubles, planes: Doubles, Y: Doubles, alpha: float) -> Doubles:
    """a orthogonal to the planes (n, q) with (A + alpha) a = Y up to planes; A is overwritten.

    Reflections turn the planes into the first q axes, at a cost of n^2 q: the others are a basis of what is left.
    """
    n, q = planes.shape
    out = np.zeros_like(Y)
    if n == q:
        return out
    reflectors, factors, _, _ = lapack.dgeqrf(np.asfortranarray(planes))

    def reflected(M: Doubles, side: str, transposed: bool) -> Doubles:
        found: Doubles = lapack.dormqr(
            side, "T" if transposed else "N", reflectors, factors, M, WORK * n, overwrite_c=1
        )[0]
        return found

    turned = reflected(reflected(A.T, "L", True), "R", False)  # A is symmetric, and its transpose in LAPACK's order
    inner = np.ascontiguousarray(turned.T[q:, q:])
    inner.flat[:: n - q + 1] += alpha
    if cholesky(inner) != 0:  # alpha is below rounding
        raise ValueError(
            f"SmoothingSpline: alpha={alpha:g} is too small for these rows, of which some repeat: raise it"
        )
    out[q:] = cho_solve((inner.T, False), reflected(np.asfortranarray(Y), "L", True)[q:], check_finite=False)
    return np.ascontiguousarray(reflected(np.asfortranarray(out), "L", False))


def _radial(Z: Matrix, knots: Matrix) -> Doubles:
    """|z - z_i|^3 / 12."""
    squares = np.maximum(squared_distances(Z, knots), 0.0)
    cubes = np.sqrt(squares)
    cubes *= squares
    cubes /= 12.0
    return np.asarray(cubes)


def _plane(Z: Matrix) -> Doubles:
    """The functions that cost nothing: one, and the columns."""
    return np.column_stack([np.ones(len(Z)), Z])
