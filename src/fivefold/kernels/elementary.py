"""Kernels that look at no number, or at one: constant, white noise, rank one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np

from fivefold.core.types import Indices, Matrix, Vector
from fivefold.kernels.base import Kernel, Objects, Pullback, count
from fivefold.kernels.log_parameters import DEFAULT_BOUNDS, Bounds


def float_type(*several: Objects) -> np.dtype[np.floating[Any]]:
    """float32 where all objects are arrays of it; float64 otherwise."""
    single = all(getattr(X, "dtype", None) == np.float32 for X in several if X is not None)
    return np.dtype(np.float32 if single else np.float64)


class ConstantKernel(Kernel):
    """The same number for every pair: a number in an expression of kernels."""

    constant_value: float = 1.0
    constant_value_bounds: Bounds = DEFAULT_BOUNDS
    is_cheap: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if np.ndim(self.constant_value) == 0 and self.constant_value < 0:
            raise ValueError(
                f"{self.constant_value} times a kernel is no kernel: squared lengths would be negative; multiply by "
                "numbers from 0 up"
            )

    def is_stationary(self) -> bool:
        return True

    def _gram(self, X: Objects, Y: Objects | None) -> Matrix:
        shape = count(X), count(X if Y is None else Y)
        return np.full(shape, self.constant_value, dtype=float_type(X, Y))

    def diag(self, X: Objects) -> Vector:
        return np.full(count(X), self.constant_value, dtype=float_type(X))

    def _add_to(self, K: Matrix, X: Objects, Y: Objects | None) -> None:
        K += self.constant_value

    def _multiply(self, K: Matrix, X: Objects, Y: Objects | None) -> None:
        K *= self.constant_value

    def gradient(self, X: Objects, Y: Objects | None = None) -> Iterator[Matrix]:
        if self._free():
            yield self._gram(X, Y)

    def diag_gradient(self, X: Objects) -> Iterator[Vector]:
        if self._free():
            yield self.diag(X)

    def pullback(self, X: Objects, Y: Objects | None = None) -> tuple[Matrix, Pullback]:
        scale = self.constant_value
        return self._gram(X, Y), lambda W: np.array([scale * W.sum()] if self._free() else [])


class WhiteKernel(Kernel):
    """noise_level for an object with itself, zero for two objects, even equal ones: independent noise."""

    noise_level: float = 1.0
    noise_level_bounds: Bounds = DEFAULT_BOUNDS
    is_cheap: ClassVar[bool] = True

    def is_stationary(self) -> bool:
        return True

    def _gram(self, X: Objects, Y: Objects | None) -> Matrix:
        if Y is not None:
            return np.zeros((count(X), count(Y)), dtype=float_type(X, Y))
        return np.diag(self.diag(X))

    def _add_to(self, K: Matrix, X: Objects, Y: Objects | None) -> None:
        if Y is None:
            K.flat[:: len(K) + 1] += self.noise_level

    def rows(self, X: Objects, indices: Indices) -> Matrix:
        out = np.zeros((len(indices), count(X)), dtype=float_type(X))
        out[np.arange(len(indices)), indices] = self.noise_level
        return out

    def diag(self, X: Objects) -> Vector:
        return np.full(count(X), self.noise_level, dtype=float_type(X))

    def gradient(self, X: Objects, Y: Objects | None = None) -> Iterator[Matrix]:
        if self._free():
            yield self._gram(X, Y)

    def diag_gradient(self, X: Objects) -> Iterator[Vector]:
        if self._free():
            yield self.diag(X)

    def pullback(self, X: Objects, Y: Objects | None = None) -> tuple[Matrix, Pullback]:
        def pull(W: Matrix) -> Vector:
            total = self.noise_level * np.trace(W) if Y is None else 0.0
            return np.array([total] if self._free() else [])

        return self._gram(X, Y), pull


class RankOne(Kernel):
    """g(x) g(y) for a function g of one object: a single feature; with a density for g, the product of densities.

    Examples
    --------
    >>> RankOne(len)(["a", "bcd"])
    array([[1., 3.],
           [3., 9.]])
    """

    function: Callable[[Any], float]  # of one object

    def is_stationary(self) -> bool:
        return False

    def _feature(self, X: Objects) -> Vector:
        return np.array([self.function(X[i]) for i in range(count(X))], dtype=float_type(X))

    def _gram(self, X: Objects, Y: Objects | None) -> Matrix:
        g = self._feature(X)
        return np.multiply.outer(g, g if Y is None else self._feature(Y))

    def diag(self, X: Objects) -> Vector:
        return self._feature(X) ** 2

    def gradient(self, X: Objects, Y: Objects | None = None) -> Iterator[Matrix]:
        yield from ()

    def diag_gradient(self, X: Objects) -> Iterator[Vector]:
        yield from ()
