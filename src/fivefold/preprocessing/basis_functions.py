"""Families of basis functions phi_1, ..., phi_m of a row; `BasisExpansion` evaluates one or several of them.

    Powers          x_j, x_j^2, ..., x_j^p                          any x
    Legendre-       Legendre polynomials of x_j, on the range       any x
     Polynomials    of the rows learned from
    Gaussians       exp(-|x - m|^2 / (2 width^2))                   centres given, or rows
    Bumps           exp(-(x_j - m)^2 / (2 width^2))                 along each column
    Sigmoids        1 / (1 + e^-((x_j - m) / width))                along each column
    Fourier         sin(2 pi k x_j / period), cos(...)              any x
    Logs            ln x_j                                          x_j > 0
    Thresholds      1 where x_j > c                                 any x
    HalfPlanes      1 where a'x > c                                 any x
    Functions       functions of your own                           as they say
    Kernels         k(x, x_i), one per row learned from             as the kernel says

A basis is an immutable value; `learn(X)` returns it fitted to a table, and calling that maps rows to columns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import ArrayLike
from scipy.special import expit

from fivefold.core.types import Array, Matrix
from fivefold.spatial.distances import squared_distances

LearnedIfNone: TypeAlias = Any  # an array, or numbers that become one; where None, `learn` takes it from the rows


class Basis(ABC):
    """Functions of a row."""

    def learn(self, X: Array) -> Basis:
        """The same basis with the parts that depend on the rows filled in."""
        return self

    @abstractmethod
    def __call__(self, X: Array) -> Array:
        """The functions at each row, (n, m)."""

    @abstractmethod
    def names(self, columns: Sequence[str]) -> list[str]:
        """Names of the functions, given the names of the columns."""


@dataclass(frozen=True)
class Powers(Basis):
    """x, x^2, ..., x^degree of each column."""

    degree: int = 3

    def __call__(self, X: Array) -> Array:
        return np.hstack([np.vander(x, self.degree + 1, increasing=True)[:, 1:] for x in X.T])

    def names(self, columns: Sequence[str]) -> list[str]:
        return [c if p == 1 else f"{c}^{p}" for c in columns for p in range(1, self.degree + 1)]


@dataclass(frozen=True)
class LegendrePolynomials(Basis):
    """Legendre polynomials P_1 .. P_degree of each column, mapped to [-1, 1] by the range learned."""

    degree: int = 3
    low: LearnedIfNone = None  # (d,)
    high: LearnedIfNone = None  # (d,)

    def learn(self, X: Array) -> Basis:
        return replace(self, low=X.min(axis=0), high=X.max(axis=0))

    def __call__(self, X: Array) -> Array:
        half = np.where(self.high > self.low, (self.high - self.low) / 2, 1.0)
        U = (X - (self.high + self.low) / 2) / half
        return np.hstack([legendre.legvander(u, self.degree)[:, 1:] for u in U.T])

    def names(self, columns: Sequence[str]) -> list[str]:
        return [f"P{p}({c})" for c in columns for p in range(1, self.degree + 1)]


@dataclass(frozen=True)
class Gaussians(Basis):
    """Gaussians around centres (m, d) in the space of all columns; by default around the rows learned from."""

    width: float = 1.0
    centres: LearnedIfNone = None  # (m, d)

    def learn(self, X: Array) -> Basis:
        return replace(self, centres=X.copy() if self.centres is None else np.atleast_2d(self.centres).astype(float))

    def __call__(self, X: Array) -> Array:
        return np.exp(squared_distances(X, self.centres) / (-2 * self.width**2))

    def names(self, columns: Sequence[str]) -> list[str]:
        return [f"gaussian{i}" for i in range(len(self.centres))]


def _spaced(X: Array, centres: ArrayLike | None, count: int) -> Matrix:
    """Centres along each column (d, m): as given, or evenly spaced from the least to the largest value."""
    if centres is not None:
        return np.broadcast_to(np.asarray(centres, dtype=float), (X.shape[1], np.shape(centres)[-1]))
    return np.linspace(X.min(axis=0), X.max(axis=0), count).T


@dataclass(frozen=True)
class ColumnShapes(Basis):
    """One shape moved along each column to every centre; without centres, to `count` evenly spaced ones."""

    shape_name: ClassVar[str]

    width: float = 1.0
    centres: LearnedIfNone = None  # (m,), or (d, m)
    count: int = 5

    def learn(self, X: Matrix) -> Basis:
        return replace(self, centres=_spaced(X, self.centres, self.count))

    @abstractmethod
    def shape(self, distance: Matrix) -> Matrix:
        """The function at each distance from its centre."""

    def __call__(self, X: Matrix) -> Matrix:
        return np.hstack([self.shape(x[:, None] - m) for x, m in zip(X.T, self.centres, strict=True)])

    def names(self, columns: Sequence[str]) -> list[str]:
        return [f"{self.shape_name}({c}, {m:g})" for c, own in zip(columns, self.centres, strict=True) for m in own]


@dataclass(frozen=True)
class Bumps(ColumnShapes):
    """Gaussians along each column; without centres `count` of them, evenly spaced."""

    shape_name = "bump"

    def shape(self, distance: Matrix) -> Matrix:
        return np.exp(-(distance**2) / (2 * self.width**2))


@dataclass(frozen=True)
class Sigmoids(ColumnShapes):
    """Smooth steps along each column; without centres `count` of them, evenly spaced."""

    shape_name = "sigmoid"

    def shape(self, distance: Matrix) -> Matrix:
        return expit(distance / self.width)


@dataclass(frozen=True)
class Fourier(Basis):
    """Sines and cosines of frequencies 1 .. order over a period of each column; by default its range."""

    order: int = 3
    period: LearnedIfNone = None  # one number, or (d,)

    def learn(self, X: Array) -> Basis:
        span = np.ptp(X, axis=0)
        period = np.where(span > 0, span, 1.0) if self.period is None else np.broadcast_to(self.period, X.shape[1])
        return replace(self, period=period)

    def __call__(self, X: Array) -> Array:
        k = np.arange(1, self.order + 1)
        # whole periods are removed first, without rounding: large x, such as times in seconds, keep all their digits
        angles = [2 * np.pi * (np.fmod(x, p) / p)[:, None] * k for x, p in zip(X.T, self.period, strict=True)]
        return np.hstack([np.hstack([np.sin(a), np.cos(a)]) for a in angles])

    def names(self, columns: Sequence[str]) -> list[str]:
        return [f"{f}{k}({c})" for c in columns for f in ("sin", "cos") for k in range(1, self.order + 1)]


@dataclass(frozen=True)
class Logs(Basis):
    """The logarithm of each column, or of those listed; they must be positive."""

    columns: tuple[int, ...] | None = None

    def learn(self, X: Array) -> Basis:
        self(X)  # refuses what is not positive
        return self

    def __call__(self, X: Array) -> Array:
        own = range(X.shape[1]) if self.columns is None else self.columns
        for j in own:
            if (bad := X[:, j] <= 0).any():
                raise ValueError(
                    f"Logs: column {j} holds {X[bad, j][0]:g} in row {int(bad.argmax())}; a logarithm needs numbers "
                    "above zero. Shift the column, or leave it out by `columns`"
                )
        return np.log(X[:, list(own)])

    def names(self, columns: Sequence[str]) -> list[str]:
        own = range(len(columns)) if self.columns is None else self.columns
        return [f"log({columns[j]})" for j in own]


@dataclass(frozen=True)
class Thresholds(Basis):
    """1 where a column exceeds a cut; without cuts, `count` of them at its quantiles."""

    cuts: LearnedIfNone = None  # (m,), or (d, m)
    count: int = 3

    def learn(self, X: Array) -> Basis:
        if self.cuts is not None:
            return replace(self, cuts=_spaced(X, self.cuts, 0))
        return replace(self, cuts=np.quantile(X, np.arange(1, self.count + 1) / (self.count + 1), axis=0).T)

    def __call__(self, X: Array) -> Array:
        return np.hstack([x[:, None] > c for x, c in zip(X.T, self.cuts, strict=True)]).astype(float)

    def names(self, columns: Sequence[str]) -> list[str]:
        return [f"{c} > {v:g}" for c, own in zip(columns, self.cuts, strict=True) for v in own]


@dataclass(frozen=True)
class HalfPlanes(Basis):
    """1 where a'x > c, for rows a of `directions` (m, d) and `cuts` (m,)."""

    directions: ArrayLike
    cuts: ArrayLike

    def __call__(self, X: Array) -> Array:
        return (X @ np.atleast_2d(self.directions).T > np.asarray(self.cuts)).astype(float)

    def names(self, columns: Sequence[str]) -> list[str]:
        return [f"half plane {i}" for i in range(len(np.atleast_2d(self.directions)))]


@dataclass(frozen=True)
class Functions(Basis):
    """Functions of your own, each from rows (n, d) to n numbers."""

    functions: tuple[Callable[[Matrix], ArrayLike], ...]

    def __call__(self, X: Array) -> Array:
        return np.column_stack([np.asarray(f(X), dtype=float).reshape(len(X)) for f in self.functions])

    def names(self, columns: Sequence[str]) -> list[str]:
        return [f"{f.__name__}{i}" for i, f in enumerate(self.functions)]


@dataclass(frozen=True)
class Kernels(Basis):
    """k(x, x_i) for every row x_i learned from; `whitened` rotates them so that |w|^2 is a'Ka of f = sum a_i k(x_i, .).

    Ridge regression on the whitened columns, without an intercept, is kernel ridge regression.
    """

    kernel: Callable[[Matrix, Matrix], Matrix]  # (n, d), (m, d) -> (n, m)
    whitened: bool = True
    points: LearnedIfNone = None  # (n, d)
    root: LearnedIfNone = None  # K^-1/2

    def learn(self, X: Array) -> Basis:
        if not self.whitened:
            return replace(self, points=X.copy())
        values, V = np.linalg.eigh(self.kernel(X, X))
        kept = values > len(X) * np.finfo(float).eps * values.max(initial=0.0)  # the others are rounding
        return replace(self, points=X.copy(), root=V[:, kept] / np.sqrt(values[kept]))

    def __call__(self, X: Array) -> Array:
        K = np.asarray(self.kernel(X, self.points))
        return K @ self.root if self.whitened else K

    def names(self, columns: Sequence[str]) -> list[str]:
        return [f"kernel{i}" for i in range(self.root.shape[1] if self.whitened else len(self.points))]
