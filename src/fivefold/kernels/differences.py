"""Kernels of differences that no matrix product gives: sums over columns, and any distance.

Laplace          exp(-sum_j |x_j - y_j| / l_j)
ChiSquared       exp(-g sum_j (x_j - y_j)^2 / (x_j + y_j)) of histograms
DistanceKernel   exp(-D(x, y) / (2 s^2)) of any distance D; valid only for some (check_positive_definite tells)
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.spatial.distance import cdist

from fivefold.core.compilation.jit import CompiledLoop
from fivefold.core.types import Array, Matrix, Table, Vector
from fivefold.kernels.base import Kernel, Objects, Pullback, count
from fivefold.kernels.difference_loops import chi_squares, column_distances
from fivefold.kernels.elementary import float_type
from fivefold.kernels.gram_blocks import as_rows, column_scaled, densified, distances, pairwise
from fivefold.kernels.log_parameters import DEFAULT_BOUNDS, Bounds, Scale


class DecayKernel(Kernel):
    """exp(-D) of a distance D that is proportional to a power of one parameter: D = c t^power."""

    @abstractmethod
    def _distance(self, X: Objects, Y: Objects | None) -> Matrix:
        """D, scaled by the parameter."""

    @property
    @abstractmethod
    def _power(self) -> float:
        """The power of the parameter in D."""

    def _gram(self, X: Objects, Y: Objects | None) -> Matrix:
        D = self._distance(X, Y)
        np.negative(D, out=D)
        return np.exp(D, out=D)

    def diag(self, X: Objects) -> Vector:
        return np.ones(count(X), dtype=float_type(X))

    def gradient(self, X: Objects, Y: Objects | None = None) -> Iterator[Matrix]:
        if self._free():
            D = self._distance(X, Y)
            yield -self._power * D * np.exp(-D)

    def diag_gradient(self, X: Objects) -> Iterator[Vector]:
        yield from (np.zeros(count(X)) for _ in range(self.n_dims))

    def pullback(self, X: Objects, Y: Objects | None = None) -> tuple[Matrix, Pullback]:
        D = self._distance(X, Y)
        K = np.exp(-D)
        return K, lambda W: np.array([-self._power * np.einsum("ij,ij,ij->", W, D, K)] if self._free() else [])


class Laplace(DecayKernel):
    """exp(-sum_j |x_j - y_j| / l_j): one width, or one per column.

    Examples
    --------
    >>> Laplace(2.0)([[0.0, 0.0]], [[1.0, -1.0]]).round(4)
    array([[0.3679]])
    """

    length_scale: Scale = 1.0
    length_scale_bounds: Bounds = DEFAULT_BOUNDS

    def is_stationary(self) -> bool:
        return True

    @property
    def requires_vector_input(self) -> bool:
        return True

    @property
    def _power(self) -> float:
        return -1.0

    def _scaled(self, X: Objects) -> Table:
        return densified(column_scaled(as_rows(X), np.squeeze(np.asarray(self.length_scale, dtype=np.float64))))

    def _distance(self, X: Objects, Y: Objects | None) -> Matrix:
        return _by_columns(column_distances, self._scaled(X), None if Y is None else self._scaled(Y))

    def gradient(self, X: Objects, Y: Objects | None = None) -> Iterator[Matrix]:
        if np.size(self.length_scale) == 1:
            yield from super().gradient(X, Y)
        elif self._free():
            A, K = self._scaled(X), self(X, Y)
            B = A if Y is None else self._scaled(Y)
            yield from (K * np.abs(A[:, [j]] - B[:, j]) for j in range(A.shape[1]))

    def pullback(self, X: Objects, Y: Objects | None = None) -> tuple[Matrix, Pullback]:
        return super().pullback(X, Y) if np.size(self.length_scale) == 1 else Kernel.pullback(self, X, Y)


class ChiSquared(DecayKernel):
    """exp(-gamma sum_j (x_j - y_j)^2 / (x_j + y_j)) for rows of numbers from 0 up, such as histograms."""

    gamma: float = 1.0
    gamma_bounds: Bounds = DEFAULT_BOUNDS

    def is_stationary(self) -> bool:
        return False

    @property
    def requires_vector_input(self) -> bool:
        return True

    @property
    def _power(self) -> float:
        return 1.0

    def _distance(self, X: Objects, Y: Objects | None) -> Matrix:
        D = additive_chi_squares(X, Y)
        D *= self.gamma
        return D


def additive_chi_squares(X: Objects, Y: Objects | None) -> Matrix:
    """sum_j (x_j - y_j)^2 / (x_j + y_j), a term of two zeros being zero."""
    tables = [densified(as_rows(Z)) for Z in (X, Y) if Z is not None]
    if any(np.any(Z < 0) for Z in tables):
        raise ValueError(
            "X contains negative values: the chi-squared kernel compares counts and other numbers from 0 up"
        )
    return _by_columns(chi_squares, tables[0], None if Y is None else tables[1])


def _by_columns(loop: CompiledLoop, X: Matrix, Y: Matrix | None) -> Matrix:
    """What a compiled loop finds for all pairs of rows."""
    other = X if Y is None else Y
    dtype = np.result_type(X, other)
    A, BT = np.ascontiguousarray(X, dtype), np.ascontiguousarray(other.T, dtype)

    def block(rows: slice, columns: slice) -> Matrix:
        out = np.empty((rows.stop - rows.start, columns.stop - columns.start), dtype=dtype)
        loop(A[rows], BT, columns.start, out)
        return out

    return pairwise(block, X, Y)


class DistanceKernel(DecayKernel):
    """exp(-D(x, y) / (2 scale^2)) of a distance: a name that SciPy's cdist knows, or a function of two objects.

    Examples
    --------
    >>> DistanceKernel("sqeuclidean", scale=2.0)([[0.0], [2.0]]).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    """

    distance: str | Callable[[Any, Any], float] = "sqeuclidean"
    scale: float = 1.0
    scale_bounds: Bounds = DEFAULT_BOUNDS

    def is_stationary(self) -> bool:
        return False

    @property
    def requires_vector_input(self) -> bool:
        return isinstance(self.distance, str)

    @property
    def _power(self) -> float:
        return -2.0

    def _distance(self, X: Objects, Y: Objects | None) -> Matrix:
        if isinstance(self.distance, str):
            D = _named_distances(self.distance, densified(as_rows(X)), None if Y is None else densified(as_rows(Y)))
        else:
            D = each_pair(self.distance, X, Y)
        return D / (2.0 * self.scale**2)


def _named_distances(name: str, X: Matrix, Y: Matrix | None) -> Matrix:
    if name in ("euclidean", "sqeuclidean"):
        D = distances(X, Y)
        return D if name == "sqeuclidean" else np.sqrt(D)
    other = X if Y is None else Y
    return pairwise(lambda rows, columns: cdist(X[rows], other[columns], metric=name), X, Y)


class FunctionKernel(Kernel):
    """A function of two objects, taken at its word; check_positive_definite says what a sample thinks of it.

    Examples
    --------
    >>> FunctionKernel(lambda x, y: float(len(set(x) & set(y))))(["abc", "bcd"])
    array([[3., 2.],
           [2., 3.]])
    """

    function: Callable[..., float]
    options: Mapping[str, Any] | None = None  # further arguments, by name

    def is_stationary(self) -> bool:
        return False

    def _value(self, x: Any, y: Any) -> float:
        return float(self.function(x, y, **(self.options or {})))

    def _gram(self, X: Objects, Y: Objects | None) -> Matrix:
        return each_pair(self._value, _items(X), None if Y is None else _items(Y))

    def diag(self, X: Objects) -> Vector:
        return np.array([self._value(x, x) for x in _items(X)], dtype=float_type(X))

    def gradient(self, X: Objects, Y: Objects | None = None) -> Iterator[Matrix]:
        yield from ()

    def diag_gradient(self, X: Objects) -> Iterator[Vector]:
        yield from ()


def _items(X: Objects) -> Objects:
    """The objects one by one: rows of a sparse table as arrays."""
    return X.toarray() if issparse(X) else X


def each_pair(function: Callable[[Any, Any], float], X: Objects, Y: Objects | None) -> Matrix:
    """A symmetric function of every two objects."""
    n, m = count(X), count(X if Y is None else Y)
    out: Array = np.empty((n, m), dtype=float_type(X, Y))
    for i in range(n):
        for j in range(0 if Y is not None else i, m):
            out[i, j] = function(X[i], X[j] if Y is None else Y[j])
            if Y is None:
                out[j, i] = out[i, j]
    return out
