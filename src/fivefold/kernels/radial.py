"""Kernels of a distance: k(x, y) = f(D) with D = sum_j (x_j - y_j)^2 / l_j^2.

    RBF                  f = exp(-D / 2)
    Matern               f = 2^(1-v) / Gamma(v) t^v K_v(t),  t = sqrt(2 v D);  a polynomial times exp(-t) for v = 3/2
    RationalQuadratic    f = (1 + D / (2 a))^-a
    ExpSineSquared       f = exp(-2 (sin(pi |x - y| / p) / l)^2)

A width l_j changes f through D alone, so one slope f'(D) serves every derivative:

    dK / dlog l_j = -2 f'(D) (x_j - y_j)^2 / l_j^2,   sum_ik M_ik (x_ij - y_kj)^2 = r.x_j^2 - 2 x_j'M y_j + c.y_j^2

with M = W * f'(D), r and c its sums of rows and columns: one matrix product for the widths of all columns.

Rasmussen & Williams (2006), chapter 4.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
from scipy.special import gamma as gamma_function
from scipy.special import kv

from fivefold.core.types import Array, Matrix, Table, Vector
from fivefold.kernels.base import Kernel, Objects, Pullback, count
from fivefold.kernels.gram_blocks import (
    as_rows,
    column_scaled,
    densified,
    distance_block,
    distances,
    pairwise,
    sum_over_blocks,
    whitened,
)
from fivefold.kernels.log_parameters import DEFAULT_BOUNDS, Bounds, Scale, sum_of_products

HALF_INTEGERS = (0.5, 1.5, 2.5)  # smoothness of a Matern kernel with a polynomial form


class RadialKernel(Kernel):
    """f(D) of the scaled squared distance; subclasses say f, its slope, and the derivatives by further parameters."""

    _width: ClassVar[str] = "length_scale"  # the parameter by which distances are divided

    @abstractmethod
    def _profile(self, D: Matrix) -> Matrix:
        """f(D); D may be overwritten."""

    @abstractmethod
    def _slope(self, D: Matrix, K: Matrix) -> Matrix:
        """f'(D), zero where D is zero and f has no slope."""

    def _others(self, D: Matrix, K: Matrix) -> Mapping[str, Matrix]:
        """Derivatives by the logarithms of further parameters; computed only where one of them is free."""
        return {}

    @property
    def _scale(self) -> Any:  # one number, or one per column
        width = np.asarray(getattr(self, self._width), dtype=np.float64)
        return float(width.reshape(-1)[0]) if width.size == 1 else width

    @property
    def anisotropic(self) -> bool:
        """Has each column its own width?"""
        return np.ndim(self._scale) > 0

    def is_stationary(self) -> bool:
        return True

    @property
    def requires_vector_input(self) -> bool:
        return True

    def of(self, base: Kernel) -> Kernel:
        from fivefold.kernels.composition import Composition

        if self.anisotropic:
            raise ValueError(
                f"the features of {base} have no columns: give {type(self).__name__} a single length_scale"
            )
        return Composition(self, base)

    def diag(self, X: Objects) -> Vector:
        return np.ones(count(X), dtype=as_rows(X[:1]).dtype)

    def _scaled(self, X: Objects) -> Table:
        return column_scaled(as_rows(X), self._scale)

    def _gram(self, X: Objects, Y: Objects | None) -> Matrix:
        A, B = self._scaled(X), None if Y is None else self._scaled(Y)
        return pairwise(distance_block(A, B), A, B, self._profile)

    def from_squares(self, S: Matrix) -> Matrix:
        """k of objects with these squared distances."""
        return self._profile(S / self._scale**2)

    def squares_slope(self, S: Matrix) -> Matrix:
        """The derivative of k by the squared distances."""
        D = S / self._scale**2
        return self._slope(D, self._profile(D.copy())) / self._scale**2

    def squares_gradient(self, S: Matrix) -> Iterator[Matrix]:
        """The derivatives of k by theta, for these squared distances."""
        D = S / self._scale**2
        K = self._profile(D.copy())
        others = self._others(D, K) if set(self._free()) - {self._width} else {}
        yield from (-2.0 * self._slope(D, K) * D if name == self._width else others[name] for name in self._free())

    def squares_pullback(self, S: Matrix) -> tuple[Matrix, Any]:
        """k of these squared distances, and what turns W into the derivatives by theta and by the squares."""
        D = S / self._scale**2
        K = self._profile(D.copy())
        slope = self._slope(D, K)

        def pull(W: Array) -> tuple[Vector, Matrix]:
            M = W * slope
            return self._own(W, D, K, np.atleast_1d(-2.0 * sum_of_products(M, D))), M / self._scale**2

        return K, pull

    def _own(self, W: Array, D: Matrix, K: Matrix, by_scale: Vector) -> Vector:
        """The derivatives by the free parameters, that by the widths being known."""
        free = self._free()
        others = self._others(D, K) if set(free) - {self._width} else {}
        found = [by_scale if name == self._width else np.atleast_1d(sum_of_products(W, others[name])) for name in free]
        return np.concatenate(found) if found else np.empty(0)

    def gradient(self, X: Objects, Y: Objects | None = None) -> Iterator[Matrix]:
        if not self._free():
            return
        A, B, D, K = self._distances(X, Y)
        if not self.anisotropic:
            yield from self.squares_gradient(D * self._scale**2)
            return
        slope = self._slope(D, K)
        for j in range(A.shape[1]):  # kernels with a width per column have no other free parameter
            a, b = (densified(Z[:, [j]]) for Z in (A, B))
            yield -2.0 * slope * np.square(a - b.T)

    def _distances(self, X: Objects, Y: Objects | None) -> tuple[Table, Table, Matrix, Matrix]:
        """Scaled rows, scaled squared distances, the matrix."""
        A = self._scaled(X)
        B = A if Y is None else self._scaled(Y)
        D = distances(A, None if Y is None else B)
        return A, B, D, self._profile(D.copy())

    def pullback(self, X: Objects, Y: Objects | None = None) -> tuple[Matrix, Pullback]:
        """The matrix; derivatives come from distances that are computed again by blocks: no other matrix is kept."""
        A = self._scaled(X)
        B = A if Y is None else self._scaled(Y)
        squares = distance_block(A, None if Y is None else B)
        K = pairwise(squares, A, None if Y is None else B, self._profile)

        def pull(W: Array) -> Vector:
            if not self._free():
                return np.empty(0)
            sums = _column_sums(A, B) if self.anisotropic else _total

            def part(rows: slice) -> Vector:
                D = squares(rows, slice(0, K.shape[1])) if self._uses_distances else np.empty(0)
                M = self._slope(D, K[rows])
                M *= W[rows]
                return self._own(W[rows], D, K[rows], -2.0 * sums(rows, M, D))

            return sum_over_blocks(part, *K.shape)

        return K, pull

    @property
    def _uses_distances(self) -> bool:
        """Do its derivatives need more than the matrix itself?"""
        return True


def _total(rows: slice, M: Matrix, D: Matrix) -> Vector:
    return np.atleast_1d(sum_of_products(M, D))


def _column_sums(A: Table, B: Table) -> Callable[[slice, Matrix, Matrix], Vector]:
    """sum_ik M_ik (a_ij - b_kj)^2 for every column j, for a block M of some rows of A."""
    centre = B.mean(axis=0, dtype=np.float64)
    A, B = densified(A) - centre, densified(B) - centre  # an offset costs no digits
    squares = B**2

    def sums(rows: slice, M: Matrix, D: Matrix) -> Vector:
        Z = A[rows]
        return M.sum(axis=1) @ Z**2 - 2.0 * np.einsum("ij,ij->j", Z, M @ B) + M.sum(axis=0) @ squares

    return sums


class RBF(RadialKernel):
    """Gaussian kernel exp(-|x - y|^2 / (2 l^2)); one width, or one per column.

    Examples
    --------
    >>> RBF(2.0)([[0.0], [2.0]]).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    """

    length_scale: Scale = 1.0
    length_scale_bounds: Bounds = DEFAULT_BOUNDS

    def _profile(self, D: Matrix) -> Matrix:
        D *= -0.5
        return np.exp(D, out=D)

    def _slope(self, D: Matrix, K: Matrix) -> Matrix:
        return -0.5 * K

    @property
    def _uses_distances(self) -> bool:
        return not self.anisotropic


def gaussian(
    *, sigma: Scale | None = None, w: float | None = None, gamma: float | None = None, covariance: Matrix | None = None
) -> Kernel:
    """The Gaussian kernel by whichever width a text uses: sigma, w = sigma^2, gamma = 1 / (2 sigma^2), or a covariance.

    Examples
    --------
    >>> gaussian(w=4.0), gaussian(gamma=0.125), gaussian(sigma=2.0)
    (RBF(length_scale=2.0), RBF(length_scale=2.0), RBF(length_scale=2.0))
    """
    if sum(width is not None for width in (sigma, w, gamma, covariance)) != 1:
        raise ValueError("give one of sigma, w, gamma and covariance: each of them is the whole width")
    if covariance is not None:
        return Mahalanobis(covariance)
    if sigma is not None:
        return RBF(sigma)
    square = 0.5 / gamma if gamma is not None else w or 0.0
    return RBF(float(np.sqrt(square)))


class Mahalanobis(RadialKernel):
    """exp(-(x - y)' S^-1 (x - y) / 2) with a covariance S, which is given: it is no part of theta."""

    covariance: Any  # (d, d), symmetric and positive definite

    @property
    def _scale(self) -> Any:
        return 1.0

    def _scaled(self, X: Objects) -> Table:
        return whitened(as_rows(X), self.covariance)

    def _profile(self, D: Matrix) -> Matrix:
        D *= -0.5
        return np.exp(D, out=D)

    def _slope(self, D: Matrix, K: Matrix) -> Matrix:
        return -0.5 * K


class Matern(RadialKernel):
    """Matern kernel of smoothness nu: sample paths have derivatives of every order below nu.

    Examples
    --------
    >>> Matern(nu=0.5)([[0.0], [1.0]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

    length_scale: Scale = 1.0
    length_scale_bounds: Bounds = DEFAULT_BOUNDS
    nu: float = 1.5

    def _profile(self, D: Matrix) -> Matrix:
        if self.nu == np.inf:
            D *= -0.5
            return np.exp(D, out=D)
        D *= 2.0 * self.nu
        t = np.sqrt(D, out=D)
        if self.nu in HALF_INTEGERS:
            decay = np.exp(-t)
            if self.nu == 0.5:
                return decay
            factor = 1.0 + t if self.nu == 1.5 else 1.0 + t + t**2 / 3.0
            factor *= decay
            return factor
        zero = t == 0.0
        t[zero] = 1.0
        K = 2.0 ** (1.0 - self.nu) / gamma_function(self.nu) * t**self.nu * kv(self.nu, t)
        K[zero] = 1.0
        return K

    def _slope(self, D: Matrix, K: Matrix) -> Matrix:
        """dK/dD = dK/dt v / t, with dK/dt = -2^(1-v) / Gamma(v) t^v K_(v-1)(t)."""
        if self.nu == np.inf:
            return -0.5 * K
        t = np.sqrt(2.0 * self.nu * D)
        if self.nu == 1.5:
            return -1.5 * np.exp(-t)
        if self.nu == 2.5:
            return (-5.0 / 6.0) * (1.0 + t) * np.exp(-t)
        zero = t == 0.0
        t[zero] = 1.0
        if self.nu == 0.5:
            slope = -0.5 * K / t
        else:
            slope = (
                -self.nu
                * 2.0 ** (1.0 - self.nu)
                / gamma_function(self.nu)
                * t ** (self.nu - 1.0)
                * kv(self.nu - 1.0, t)
            )
        slope[zero] = 0.0
        return slope


class RationalQuadratic(RadialKernel):
    """(1 + D / (2 alpha))^-alpha: Gaussian kernels of many widths, in one."""

    length_scale: float = 1.0
    alpha: float = 1.0
    length_scale_bounds: Bounds = DEFAULT_BOUNDS
    alpha_bounds: Bounds = DEFAULT_BOUNDS

    def _scaled(self, X: Objects) -> Table:
        if np.ndim(self.length_scale) and np.size(self.length_scale) > 1:
            raise AttributeError(
                "RationalQuadratic kernel only supports isotropic version, please use a single scalar for length_scale"
            )
        return super()._scaled(X)

    def _profile(self, D: Matrix) -> Matrix:
        D /= 2.0 * self.alpha
        D += 1.0
        return np.power(D, -self.alpha, out=D)

    def _slope(self, D: Matrix, K: Matrix) -> Matrix:
        return -0.5 * K / (1.0 + D / (2.0 * self.alpha))

    def _others(self, D: Matrix, K: Matrix) -> Mapping[str, Matrix]:
        base = 1.0 + D / (2.0 * self.alpha)
        return {"alpha": K * (D / (2.0 * base) - self.alpha * np.log(base))}


class ExpSineSquared(RadialKernel):
    """Periodic kernel exp(-2 (sin(pi |x - y| / p) / l)^2), of one column: of several columns it may be indefinite.

    A product of one such kernel per column, `ExpSineSquared().on([0]) * ExpSineSquared().on([1])`, is always valid.
    """

    length_scale: float = 1.0
    periodicity: float = 1.0
    length_scale_bounds: Bounds = DEFAULT_BOUNDS
    periodicity_bounds: Bounds = DEFAULT_BOUNDS

    _width: ClassVar[str] = "periodicity"  # D = (|x - y| / p)^2, and the width is a parameter of f

    def _profile(self, D: Matrix) -> Matrix:
        angle = np.sqrt(D, out=D)
        angle *= np.pi
        sine = np.sin(angle, out=angle)
        sine *= sine
        sine *= -2.0 / self.length_scale**2
        return np.exp(sine, out=sine)

    def _slope(self, D: Matrix, K: Matrix) -> Matrix:
        """f'(D) = -K 2 pi^2 / l^2 sin(2 pi d) / (2 pi d), with d = sqrt D."""
        return K * (-2.0 * np.pi**2 / self.length_scale**2) * np.sinc(2.0 * np.sqrt(D))

    def _others(self, D: Matrix, K: Matrix) -> Mapping[str, Matrix]:
        return {"length_scale": K * (4.0 / self.length_scale**2) * np.sin(np.pi * np.sqrt(D)) ** 2}
