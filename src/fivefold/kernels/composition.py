"""Kernels made of one kernel: of its features, of its values, of its normalised features, or of some columns.

Composition        f of the inner products or distances that a base kernel gives, in place of those of the rows
PowerSeries        sum_m a_m k^m with a_m >= 0: polynomials, exp(k), cosh(k), 1 / (1 - k)
NormalisedKernel   k(x, y) / sqrt(k(x, x) k(y, y))
OnColumns          k of some columns of a table; a product of these is a tensor product
KernelLimit        the limit of k_1, k_2, k_4, ... on the objects at hand
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from operator import mul
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import issparse

from fivefold.core.types import Array, Indices, Matrix, Vector
from fivefold.kernels.base import Kernel, Objects, Pullback
from fivefold.kernels.inner_product import InnerProductKernel
from fivefold.kernels.radial import RadialKernel

Columns: TypeAlias = Sequence[Any] | int | str  # positions or names


class Composition(Kernel):
    """`outer` of the features of `base`: RBF().of(k) is exp(-(k(x,x) - 2 k(x,y) + k(y,y)) / 2)."""

    outer: Any  # a RadialKernel or an InnerProductKernel
    base: Kernel

    def __post_init__(self) -> None:
        if not isinstance(self.outer, RadialKernel | InnerProductKernel):
            raise TypeError(f"{self.outer!r} is no function of inner products or of distances")

    @property
    def requires_vector_input(self) -> bool:
        return self.base.requires_vector_input

    def is_stationary(self) -> bool:
        return self.base.is_stationary()

    def _gram(self, X: Objects, Y: Objects | None) -> Matrix:
        K = self.base(X, Y)
        if isinstance(self.outer, InnerProductKernel):
            return self.outer.from_products(K)
        return self.outer.from_squares(feature_distances(K, *self._diagonals(X, Y)))

    def _diagonals(self, X: Objects, Y: Objects | None) -> tuple[Vector, Vector | None]:
        return self.base.diag(X), None if Y is None else self.base.diag(Y)

    def rows(self, X: Objects, indices: Indices) -> Matrix:
        K = self.base.rows(X, indices)
        if isinstance(self.outer, InnerProductKernel):
            return self.outer.from_products(K)
        d = self.base.diag(X)
        S = feature_distances(K, d[indices], d)
        S[np.arange(len(indices)), indices] = 0.0
        return self.outer.from_squares(S)

    def diag(self, X: Objects) -> Vector:
        d = self.base.diag(X)
        return self.outer.from_products(d) if isinstance(self.outer, InnerProductKernel) else np.ones_like(d)

    def gradient(self, X: Objects, Y: Objects | None = None) -> Iterator[Matrix]:
        K = self.base(X, Y)
        if isinstance(self.outer, InnerProductKernel):
            yield from self.outer._free_derivatives(K)
            slope = self.outer._slope(K)
            yield from (slope * D for D in self.base.gradient(X, Y))
            return
        dx, dy = self._diagonals(X, Y)
        S = feature_distances(K, dx, dy)
        yield from self.outer.squares_gradient(S)
        if not self.base.n_dims:
            return
        slope = self.outer.squares_slope(S)
        rows = list(self.base.diag_gradient(X))
        columns = rows if Y is None else list(self.base.diag_gradient(Y))
        for D, by_row, by_column in zip(self.base.gradient(X, Y), rows, columns, strict=True):
            yield slope * (by_row[:, None] + by_column - 2.0 * D)

    def diag_gradient(self, X: Objects) -> Iterator[Vector]:
        d = self.base.diag(X)
        if isinstance(self.outer, InnerProductKernel):
            yield from self.outer._free_derivatives(d)
            slope = self.outer._slope(d)
            yield from (slope * part for part in self.base.diag_gradient(X))
        else:
            yield from (np.zeros_like(d) for _ in range(self.n_dims))

    def pullback(self, X: Objects, Y: Objects | None = None) -> tuple[Matrix, Pullback]:
        B, base_pull = self.base.pullback(X, Y)
        if isinstance(self.outer, InnerProductKernel):
            K, outer_pull = self.outer.products_pullback(B)

            def pull_products(W: Array) -> Vector:
                own, M = outer_pull(W)
                return np.concatenate([own, base_pull(M)])

            return K, pull_products
        dx, x_pull = self.base.diag_pullback(X)
        dy, y_pull = (None, x_pull) if Y is None else self.base.diag_pullback(Y)
        K, squares_pull = self.outer.squares_pullback(feature_distances(B, dx, dy))

        def pull(W: Array) -> Vector:
            own, M = squares_pull(W)
            if not self.base.n_dims:
                return own
            return np.concatenate([own, x_pull(M.sum(axis=1)) + y_pull(M.sum(axis=0)) - 2.0 * base_pull(M)])

        return K, pull


def feature_distances(K: Matrix, dx: Vector, dy: Vector | None = None) -> Matrix:
    """|phi(x) - phi(y)|^2 = k(x, x) - 2 k(x, y) + k(y, y), never negative; without dy a diagonal of zeros."""
    S = dx[:, None] + (dx if dy is None else dy) - 2.0 * K
    np.maximum(S, 0.0, out=S)
    if dy is None:
        np.fill_diagonal(S, 0.0)
    return S


class PowerSeries(Kernel):
    """sum_m a_m k^m: coefficients from a_0 up, none negative, or the name of a series."""

    kernel: Kernel
    series: Any = "exp"  # coefficients, or "exp", "cosh", "geometric"

    def __post_init__(self) -> None:
        if isinstance(self.series, str):
            if self.series not in SERIES:
                raise ValueError(
                    f"no series is called {self.series!r}; there are {', '.join(SERIES)}, and coefficients"
                )
        elif min(self.series, default=-1.0) < 0:
            raise ValueError(f"coefficients {self.series!r}: at least one, and none below 0, or the sum is no kernel")

    def is_stationary(self) -> bool:
        return self.kernel.is_stationary()

    def _value(self, K: Array) -> Array:
        if isinstance(self.series, str):
            return SERIES[self.series][0](K)
        return _polynomial(K, [float(a) for a in self.series])

    def _slope(self, K: Array) -> Array:
        if isinstance(self.series, str):
            return SERIES[self.series][1](K)
        return _polynomial(K, [m * float(a) for m, a in enumerate(self.series)][1:] or [0.0])

    def _gram(self, X: Objects, Y: Objects | None) -> Matrix:
        return self._value(self.kernel(X, Y))

    def rows(self, X: Objects, indices: Indices) -> Matrix:
        return self._value(self.kernel.rows(X, indices))

    def diag(self, X: Objects) -> Vector:
        return self._value(self.kernel.diag(X))

    def gradient(self, X: Objects, Y: Objects | None = None) -> Iterator[Matrix]:
        if self.n_dims:
            slope = self._slope(self.kernel(X, Y))
            yield from (slope * D for D in self.kernel.gradient(X, Y))

    def diag_gradient(self, X: Objects) -> Iterator[Vector]:
        if self.n_dims:
            slope = self._slope(self.kernel.diag(X))
            yield from (slope * d for d in self.kernel.diag_gradient(X))

    def pullback(self, X: Objects, Y: Objects | None = None) -> tuple[Matrix, Pullback]:
        K, pull = self.kernel.pullback(X, Y)
        return self._value(K), lambda W: pull(W * self._slope(K))


def _polynomial(K: Array, coefficients: list[float]) -> Array:
    """Horner's rule."""
    out = np.full_like(K, coefficients[-1])
    for a in reversed(coefficients[:-1]):
        out *= K
        out += a
    return out


def _geometric(K: Array) -> Array:
    if K.size and (top := float(np.abs(K).max())) >= 1.0:
        raise ValueError(
            f"1 / (1 - k) needs |k| < 1, and a value is {top:.3g}: scale the kernel down, 0.9 * k.normalised()"
        )
    return 1.0 / (1.0 - K)


SERIES: dict[str, tuple[Callable[[Array], Array], Callable[[Array], Array]]] = {  # value and slope
    "exp": (np.exp, np.exp),
    "cosh": (np.cosh, np.sinh),
    "geometric": (_geometric, lambda K: 1.0 / (1.0 - K) ** 2),
}


def exp(kernel: Kernel) -> PowerSeries:
    """exp(k), a kernel where k is one."""
    return PowerSeries(kernel, "exp")


def polynomial(kernel: Kernel, coefficients: Sequence[float]) -> PowerSeries:
    """a_0 + a_1 k + a_2 k^2 + ..., a kernel where no coefficient is negative."""
    return PowerSeries(kernel, list(coefficients))


class NormalisedKernel(Kernel):
    """k(x, y) / sqrt(k(x, x) k(y, y)): the cosine of the angle between features; zero for objects of length zero."""

    kernel: Kernel

    def is_stationary(self) -> bool:
        return self.kernel.is_stationary()

    def _gram(self, X: Objects, Y: Objects | None) -> Matrix:
        K = self.kernel(X, Y)
        r = _inverse_length(self.kernel.diag(X))
        K *= np.multiply.outer(r, r if Y is None else _inverse_length(self.kernel.diag(Y)))
        if Y is None:
            np.fill_diagonal(K, r > 0)
        return K

    def rows(self, X: Objects, indices: Indices) -> Matrix:
        r = _inverse_length(self.kernel.diag(X))
        K = self.kernel.rows(X, indices) * np.multiply.outer(r[indices], r)
        K[np.arange(len(indices)), indices] = r[indices] > 0
        return K

    def diag(self, X: Objects) -> Vector:
        d = self.kernel.diag(X)
        return (d > 0).astype(d.dtype)

    def gradient(self, X: Objects, Y: Objects | None = None) -> Iterator[Matrix]:
        K = self(X, Y)
        rx = _inverse_length(self.kernel.diag(X))
        ry = rx if Y is None else _inverse_length(self.kernel.diag(Y))
        by_row = list(self.kernel.diag_gradient(X))
        by_column = by_row if Y is None else list(self.kernel.diag_gradient(Y))
        for D, dx, dy in zip(self.kernel.gradient(X, Y), by_row, by_column, strict=True):
            yield D * rx[:, None] * ry - 0.5 * K * ((dx * rx**2)[:, None] + dy * ry**2)

    def diag_gradient(self, X: Objects) -> Iterator[Vector]:
        yield from (np.zeros_like(self.kernel.diag(X)) for _ in range(self.n_dims))

    def pullback(self, X: Objects, Y: Objects | None = None) -> tuple[Matrix, Pullback]:
        B, base_pull = self.kernel.pullback(X, Y)
        dx, x_pull = self.kernel.diag_pullback(X)
        dy, y_pull = (dx, x_pull) if Y is None else self.kernel.diag_pullback(Y)
        rx, ry = _inverse_length(dx), _inverse_length(dy)
        K = B * np.multiply.outer(rx, ry)
        if Y is None:
            np.fill_diagonal(K, rx > 0)

        def pull(W: Array) -> Vector:
            M = W * K
            from_lengths = x_pull(M.sum(axis=1) * rx**2) + y_pull(M.sum(axis=0) * ry**2)
            return base_pull(W * rx[:, None] * ry) - 0.5 * from_lengths

        return K, pull


def _inverse_length(squares: Vector) -> Vector:
    """1 / sqrt(k(x, x)), zero for a zero."""
    return np.divide(1.0, np.sqrt(squares), out=np.zeros_like(squares), where=squares > 0)


class OnColumns(Kernel):
    """A kernel of some columns: a list gives it a table, a single name or number the values of that column."""

    kernel: Kernel
    columns: Columns

    def is_stationary(self) -> bool:
        return self.kernel.is_stationary()

    def _gram(self, X: Objects, Y: Objects | None) -> Matrix:
        return self.kernel(self._part(X), None if Y is None else self._part(Y))

    def rows(self, X: Objects, indices: Indices) -> Matrix:
        return self.kernel.rows(self._part(X), indices)

    def diag(self, X: Objects) -> Vector:
        return self.kernel.diag(self._part(X))

    def gradient(self, X: Objects, Y: Objects | None = None) -> Iterator[Matrix]:
        return self.kernel.gradient(self._part(X), None if Y is None else self._part(Y))

    def diag_gradient(self, X: Objects) -> Iterator[Vector]:
        return self.kernel.diag_gradient(self._part(X))

    def pullback(self, X: Objects, Y: Objects | None = None) -> tuple[Matrix, Pullback]:
        return self.kernel.pullback(self._part(X), None if Y is None else self._part(Y))

    def _part(self, X: Objects) -> Objects:
        several = isinstance(self.columns, list | tuple | np.ndarray)
        chosen: Any = list(self.columns) if isinstance(self.columns, list | tuple | np.ndarray) else self.columns
        if hasattr(X, "iloc"):  # pandas
            part = X[chosen] if _names(chosen) else X.iloc[:, chosen]
        elif hasattr(X, "get_column_index"):  # polars
            part = X[chosen] if _names(chosen) else X[:, chosen]
        elif isinstance(X, np.ndarray) or issparse(X):
            part = X[:, chosen]
        elif several:
            return [tuple(x[c] for c in chosen) for x in X]
        else:
            return [x[chosen] for x in X]
        values = part.to_numpy() if hasattr(part, "to_numpy") else part
        if not self.kernel.requires_vector_input or issparse(values):
            return values
        values = values.astype(np.float64) if values.dtype.kind not in "f" else values
        return values if several else values.reshape(-1, 1)


def _names(columns: Any) -> bool:  # as `OnColumns.columns`
    return isinstance(columns[0] if isinstance(columns, list) else columns, str)


def tensor_product(parts: Sequence[tuple[Kernel, Columns]]) -> Kernel:
    """The product of kernels, each of its own columns: for tables of numbers, words and other objects together.

    Examples
    --------
    >>> from fivefold.kernels import RBF, Polynomial
    >>> tensor_product([(RBF(2.0), [0, 1]), (Polynomial(degree=2), [2])])
    RBF(length_scale=2.0).on([0, 1]) * Polynomial(degree=2, gamma=1.0, coef0=1.0).on([2])
    """
    return reduce(mul, (kernel.on(columns) for kernel, columns in parts))


class KernelLimit(Kernel):
    """The limit of a sequence of kernels: terms 1, 2, 4, 8, ... until no entry changes by more than tol.

    Examples
    --------
    >>> from fivefold.kernels import Linear
    >>> exponential = KernelLimit(lambda n: (1.0 + (1 / n) * Linear()) ** n)  # (1 + <x, y> / n)^n -> exp(<x, y>)
    >>> exponential([[0.7]], [[1.3]]).round(4)
    array([[2.4843]])
    """

    sequence: Callable[[int], Kernel]
    tol: float = 1e-8
    max_terms: int = 2**40

    def is_stationary(self) -> bool:
        return self.sequence(1).is_stationary()

    @property
    def requires_vector_input(self) -> bool:
        return self.sequence(1).requires_vector_input

    def _limit(self, value: Callable[[Kernel], Array]) -> Array:
        n, before = 1, value(self.sequence(1))
        while n < self.max_terms:
            n *= 2
            after = value(self.sequence(n))
            if np.all(np.abs(after - before) <= self.tol * np.maximum(1.0, np.abs(after))):
                return after
            before = after
        raise ValueError(
            f"the kernels have not settled on these objects: term {n} still differs by more than {self.tol}"
        )

    def _gram(self, X: Objects, Y: Objects | None) -> Matrix:
        return self._limit(lambda k: k(X, Y))

    def diag(self, X: Objects) -> Vector:
        return self._limit(lambda k: k.diag(X))

    def gradient(self, X: Objects, Y: Objects | None = None) -> Iterator[Matrix]:
        yield from ()

    def diag_gradient(self, X: Objects) -> Iterator[Vector]:
        yield from ()
