"""Sums, products and powers of kernels, entry by entry.

    (k1 + k2)    features side by side
    (k1 * k2)    products of a feature of one and a feature of the other
    k ** p       products of p features, for whole p

Derivatives follow the rules of sums and products, W being passed on to the parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from fivefold.core.types import Array, Indices, Matrix, Vector
from fivefold.kernels.base import Kernel, Objects, Pullback
from fivefold.kernels.inner_product import integer_power
from fivefold.kernels.log_parameters import sum_of_products


class KernelOperator(Kernel):
    """Two kernels in one."""

    k1: Kernel
    k2: Kernel

    def _in_order(self) -> tuple[Kernel, Kernel]:
        """The two kernels, one that needs no matrix of its own last."""
        return (self.k2, self.k1) if self.k1.is_cheap else (self.k1, self.k2)


class Sum(KernelOperator):
    """k1 + k2."""

    def _gram(self, X: Objects, Y: Objects | None) -> Matrix:
        first, second = self._in_order()
        K = first(X, Y)
        second._add_to(K, X, Y)
        return K

    def rows(self, X: Objects, indices: Indices) -> Matrix:
        return self.k1.rows(X, indices) + self.k2.rows(X, indices)

    def diag(self, X: Objects) -> Vector:
        return self.k1.diag(X) + self.k2.diag(X)

    def gradient(self, X: Objects, Y: Objects | None = None) -> Iterator[Matrix]:
        yield from self.k1.gradient(X, Y)
        yield from self.k2.gradient(X, Y)

    def diag_gradient(self, X: Objects) -> Iterator[Vector]:
        yield from self.k1.diag_gradient(X)
        yield from self.k2.diag_gradient(X)

    def pullback(self, X: Objects, Y: Objects | None = None) -> tuple[Matrix, Pullback]:
        first, second = self._in_order()
        K, pull = first.pullback(X, Y)
        if second.is_cheap:
            K, other = K.copy(), second.pullback(X[:1], None if Y is None else Y[:1])[1]
            second._add_to(K, X, Y)
        else:
            addend, other = second.pullback(X, Y)
            K = K + addend
        pulls = (pull, other) if first is self.k1 else (other, pull)
        return K, lambda W: np.concatenate([part(W) for part in pulls])


class Product(KernelOperator):
    """k1 k2."""

    def _gram(self, X: Objects, Y: Objects | None) -> Matrix:
        first, second = self._in_order()
        K = first(X, Y)
        second._multiply(K, X, Y)
        return K

    def rows(self, X: Objects, indices: Indices) -> Matrix:
        return self.k1.rows(X, indices) * self.k2.rows(X, indices)

    def diag(self, X: Objects) -> Vector:
        return self.k1.diag(X) * self.k2.diag(X)

    def gradient(self, X: Objects, Y: Objects | None = None) -> Iterator[Matrix]:
        if self.k1.n_dims:
            K2 = self.k2(X, Y)
            yield from (D * K2 for D in self.k1.gradient(X, Y))
        if self.k2.n_dims:
            K1 = self.k1(X, Y)
            yield from (K1 * D for D in self.k2.gradient(X, Y))

    def diag_gradient(self, X: Objects) -> Iterator[Vector]:
        yield from (d * self.k2.diag(X) for d in self.k1.diag_gradient(X))
        yield from (self.k1.diag(X) * d for d in self.k2.diag_gradient(X))

    def pullback(self, X: Objects, Y: Objects | None = None) -> tuple[Matrix, Pullback]:
        first, second = self._in_order()
        if (scale := _constant(second)) is not None:
            return self._scaled_pullback(first, scale, X, Y)
        (K1, pull1), (K2, pull2) = self.k1.pullback(X, Y), self.k2.pullback(X, Y)

        def pull(W: Array) -> Vector:
            parts = ((pull1, K2, self.k1), (pull2, K1, self.k2))
            return np.concatenate([np.empty(0), *(part(W * K) for part, K, k in parts if k.n_dims)])

        return K1 * K2, pull

    def _scaled_pullback(self, other: Kernel, scale: float, X: Objects, Y: Objects | None) -> tuple[Matrix, Pullback]:
        """A number times a kernel: no matrix of the number is made."""
        K, pull = other.pullback(X, Y)
        scaled = scale * K
        constant = self.k2 if other is self.k1 else self.k1

        def both(W: Array) -> Vector:
            parts = [np.array([sum_of_products(W, scaled)] if constant.n_dims else []), scale * pull(W)]
            return np.concatenate(parts if other is self.k2 else parts[::-1])

        return scaled, both


def _constant(kernel: Kernel) -> float | None:
    from fivefold.kernels.elementary import ConstantKernel

    return kernel.constant_value if isinstance(kernel, ConstantKernel) else None


class Exponentiation(Kernel):
    """k ** exponent; a kernel for whole exponents, and for others where all entries are positive and it stays valid."""

    kernel: Kernel
    exponent: float

    def _gram(self, X: Objects, Y: Objects | None) -> Matrix:
        return integer_power(self.kernel(X, Y), self.exponent)

    def rows(self, X: Objects, indices: Indices) -> Matrix:
        return integer_power(self.kernel.rows(X, indices), self.exponent)

    def diag(self, X: Objects) -> Vector:
        return integer_power(self.kernel.diag(X), self.exponent)

    def gradient(self, X: Objects, Y: Objects | None = None) -> Iterator[Matrix]:
        if self.n_dims:
            lower = self.exponent * integer_power(self.kernel(X, Y), self.exponent - 1)
            yield from (lower * D for D in self.kernel.gradient(X, Y))

    def diag_gradient(self, X: Objects) -> Iterator[Vector]:
        if self.n_dims:
            lower = self.exponent * integer_power(self.kernel.diag(X), self.exponent - 1)
            yield from (lower * d for d in self.kernel.diag_gradient(X))

    def pullback(self, X: Objects, Y: Objects | None = None) -> tuple[Matrix, Pullback]:
        K, pull = self.kernel.pullback(X, Y)
        power = self.exponent
        return integer_power(K, power), lambda W: pull(W * (power * integer_power(K, power - 1)))


class CompoundKernel(Kernel):
    """Several kernels that are evaluated together: matrices stacked along a third axis, for one process per class."""

    kernels: list[Any]

    def _children(self) -> tuple[tuple[str, Kernel], ...]:
        return tuple((str(i), k) for i, k in enumerate(self.kernels))

    def _replaced(self, values: Vector) -> Self:
        cuts = np.cumsum([k.n_dims for k in self.kernels])[:-1]
        return self._with(
            kernels=[k._replaced(part) for k, part in zip(self.kernels, np.split(values, cuts), strict=True)]
        )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"kernels": self.kernels}

    def __call__(self, X: Objects, Y: Objects | None = None, eval_gradient: bool = False) -> Any:
        if not eval_gradient:
            return self._gram(X, Y)
        found = [k(X, Y, eval_gradient=True) for k in self.kernels]
        return np.dstack([K for K, _ in found]), np.stack([D for _, D in found], axis=3)

    def _gram(self, X: Objects, Y: Objects | None) -> Array:
        return np.dstack([k(X, Y) for k in self.kernels])

    def diag(self, X: Objects) -> Matrix:
        return np.vstack([k.diag(X) for k in self.kernels]).T

    def gradient(self, X: Objects, Y: Objects | None = None) -> Iterator[Matrix]:
        for k in self.kernels:
            yield from k.gradient(X, Y)
