"""Kernels of an inner product: k(x, y) = f(<x, y>).

Linear        <x, y>
DotProduct    <x, y> + s^2
Polynomial    (g <x, y> + c)^d
Sigmoid       tanh(g <x, y> + c): positive definite for few g and c only (check_positive_definite tells)
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from fivefold.core.types import Array, Matrix, Table, Vector
from fivefold.kernels.base import Kernel, Objects, Pullback
from fivefold.kernels.gram_blocks import as_rows, pairwise, product_block, squared_lengths, whitened
from fivefold.kernels.log_parameters import DEFAULT_BOUNDS, Bounds, sum_of_products


class InnerProductKernel(Kernel):
    """f(P) of the inner products P."""

    @abstractmethod
    def from_products(self, P: Array) -> Array:
        """k of objects with these inner products; P may be overwritten."""

    @abstractmethod
    def _slope(self, P: Array) -> Array:
        """f'(P)."""

    def _derivatives(self, P: Array) -> Mapping[str, Array]:
        """Derivatives by the logarithm of each parameter."""
        return {}

    def is_stationary(self) -> bool:
        return False

    @property
    def requires_vector_input(self) -> bool:
        return True

    def of(self, base: Kernel) -> Kernel:
        from fivefold.kernels.composition import Composition

        return Composition(self, base)

    def _rows(self, X: Objects) -> Table:
        """The rows whose inner products count."""
        return as_rows(X)

    def _products(self, X: Objects, Y: Objects | None) -> Matrix:
        A, B = self._rows(X), None if Y is None else self._rows(Y)
        return pairwise(product_block(A, B), A, B)

    def _gram(self, X: Objects, Y: Objects | None) -> Matrix:
        A, B = self._rows(X), None if Y is None else self._rows(Y)
        return pairwise(product_block(A, B), A, B, self.from_products)

    def diag(self, X: Objects) -> Vector:
        return self.from_products(squared_lengths(self._rows(X)))

    def _free_derivatives(self, P: Array) -> Iterator[Array]:
        found = self._derivatives(P) if self._free() else {}
        yield from (found[name] for name in self._free())

    def gradient(self, X: Objects, Y: Objects | None = None) -> Iterator[Matrix]:
        if self._free():
            yield from self._free_derivatives(self._products(X, Y))

    def diag_gradient(self, X: Objects) -> Iterator[Vector]:
        yield from self._free_derivatives(squared_lengths(self._rows(X)))

    def pullback(self, X: Objects, Y: Objects | None = None) -> tuple[Matrix, Pullback]:
        P = self._products(X, Y)
        return self.from_products(P.copy()), lambda W: self._pulled(W, P)

    def products_pullback(self, P: Array) -> tuple[Array, Any]:
        """k of these inner products, and what turns W into the derivatives by theta and by the products."""
        return self.from_products(P.copy()), lambda W: (self._pulled(W, P), W * self._slope(P))

    def _pulled(self, W: Array, P: Array) -> Vector:
        return np.array([sum_of_products(W, D) for D in self._free_derivatives(P)])


class Linear(InnerProductKernel):
    """<x, y>.

    Examples
    --------
    >>> Linear()([[1.0, 2.0]], [[3.0, -1.0]])
    array([[1.]])
    """

    def from_products(self, P: Array) -> Array:
        return P

    def _slope(self, P: Array) -> Array:
        return np.ones_like(P)


class MahalanobisLinear(Linear):
    """x' S^-1 y with a covariance S: the linear kernel of whitened rows."""

    covariance: Any  # (d, d), symmetric and positive definite

    def _rows(self, X: Objects) -> Table:
        return whitened(as_rows(X), self.covariance)


class DotProduct(InnerProductKernel):
    """<x, y> + sigma_0^2: linear functions with an intercept."""

    sigma_0: float = 1.0
    sigma_0_bounds: Bounds = DEFAULT_BOUNDS

    def from_products(self, P: Array) -> Array:
        P += self.sigma_0**2
        return P

    def _slope(self, P: Array) -> Array:
        return np.ones_like(P)

    def _derivatives(self, P: Array) -> Mapping[str, Array]:
        return {"sigma_0": np.full_like(P, 2.0 * self.sigma_0**2)}


class Polynomial(InnerProductKernel):
    """(gamma <x, y> + coef0)^degree; homogeneous if coef0 is zero.

    Examples
    --------
    >>> Polynomial(degree=2)([[1.0, 2.0]], [[3.0, -1.0]])
    array([[4.]])
    """

    degree: float = 3
    gamma: float = 1.0
    coef0: float = 1.0
    gamma_bounds: Bounds = DEFAULT_BOUNDS
    coef0_bounds: Bounds = "fixed"

    def from_products(self, P: Array) -> Array:
        P *= self.gamma
        P += self.coef0
        return integer_power(P, self.degree)

    def _slope(self, P: Array) -> Array:
        return self.degree * self.gamma * self._lower_power(P)

    def _lower_power(self, P: Array) -> Array:
        return integer_power(self.gamma * P + self.coef0, self.degree - 1)

    def _derivatives(self, P: Array) -> Mapping[str, Array]:
        lower = self.degree * self._lower_power(P)
        return {"gamma": lower * (self.gamma * P), "coef0": lower * self.coef0}


def integer_power(P: Array, degree: float) -> Array:
    """P ** degree in the type of P; small whole degrees by products, which are faster and keep negative numbers."""
    if degree == int(degree) and 0 <= degree <= 8:
        out, square, rest = None, P, int(degree)
        while rest:
            if rest & 1:
                out = square.copy() if out is None else out * square
            rest >>= 1
            square = square * square if rest else square
        return np.ones_like(P) if out is None else out
    return np.power(P, P.dtype.type(degree))


class Sigmoid(InnerProductKernel):
    """tanh(gamma <x, y> + coef0): the unit of a neural network, and no valid kernel for most parameters."""

    gamma: float = 1.0
    coef0: float = 1.0
    gamma_bounds: Bounds = DEFAULT_BOUNDS
    coef0_bounds: Bounds = "fixed"

    def from_products(self, P: Array) -> Array:
        P *= self.gamma
        P += self.coef0
        return np.tanh(P, out=P)

    def _slope(self, P: Array) -> Array:
        return self.gamma * self._rise(P)

    def _rise(self, P: Array) -> Array:
        return 1.0 - np.tanh(self.gamma * P + self.coef0) ** 2

    def _derivatives(self, P: Array) -> Mapping[str, Array]:
        rise = self._rise(P)
        return {"gamma": rise * (self.gamma * P), "coef0": rise * self.coef0}
