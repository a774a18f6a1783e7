"""Bases, coordinates and the matrix of a linear map.

    x = B a,  a = B^-1 x        coordinates of x in the basis of B's columns; a_i = u_i'x where it is orthonormal
    f(x_i) = sum_j a_ji z_j     column i of M = (a_ji) holds the coordinates of f(x_i) in the basis z; mu = M lambda
    A' = B^-1 A B               the map A in the basis B: same trace, determinant and eigenvalues

The arithmetic of a change of basis and of a linear map is the same, read in two ways: the vector stays and its
coordinates change, or the coordinates' basis stays and the vector moves. `plot.change_of_basis` draws both readings and
`plot.transformation` what a map does to a grid.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivefold.core.types import Array, Matrix, Vector
from fivefold.linear_algebra.axioms import AxiomReport, linearity_axioms
from fivefold.linear_algebra.matrix_input import format_matrix, matrix
from fivefold.linear_algebra.regularity import regularity

ORTHONORMAL_TOL = 1e-12  # largest entry of U'U - I, for columns U that still count as orthonormal


@dataclass(frozen=True)
class Basis:
    """Vectors (columns) in which every vector has one set of coordinates.

    Examples
    --------
    >>> B = Basis([[3, -2], [1, 1]])
    >>> B.coordinates([5, 5])
    array([3., 2.])
    >>> B.vector([3, 2])
    array([5., 5.])
    """

    columns: Matrix  # (d, d)

    def __post_init__(self) -> None:
        B = matrix(self.columns, "a basis", square=True)
        found = regularity(B)
        if not found.is_regular:
            raise ValueError(
                f"these {len(B)} vectors are no basis: they are dependent, of rank {found.column_rank}. Leave out "
                "those that are combinations of others and add vectors outside their span"
            )
        object.__setattr__(self, "columns", B)

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def orthonormal(self) -> bool:
        """Are the vectors orthogonal and of length one?"""
        return bool(np.abs(self.columns.T @ self.columns - np.eye(len(self))).max() <= ORTHONORMAL_TOL)

    def coordinates(self, x: ArrayLike) -> Array:
        """a with x = B a, for one vector or for several in columns."""
        vectors = self._sized(x)
        return self.columns.T @ vectors if self.orthonormal else np.linalg.solve(self.columns, vectors)

    def vector(self, a: ArrayLike) -> Array:
        """x = B a."""
        return self.columns @ self._sized(a)

    def _sized(self, given: ArrayLike) -> Array:
        x = np.asarray(given, dtype=np.float64)
        if len(np.atleast_1d(x)) != len(self):
            raise ValueError(f"this basis describes vectors of size {len(self)}; got shape {x.shape}")
        return x


@dataclass(frozen=True)
class ChangeOfBasis:
    """One map in the standard basis and in another."""

    matrix: Array  # A
    basis: Basis
    new_matrix: Array  # B^-1 A B

    @property
    def traces(self) -> tuple[float, float]:
        """Trace before and after; equal."""
        with np.errstate(over="ignore"):
            return float(np.trace(self.matrix)), float(np.trace(self.new_matrix))

    @property
    def determinants(self) -> tuple[float, float]:
        """Determinant before and after; equal."""
        with np.errstate(over="ignore", under="ignore"):
            return float(np.linalg.det(self.matrix)), float(np.linalg.det(self.new_matrix))

    @property
    def eigenvalues(self) -> NDArray[np.inexact[Any]]:
        """Eigenvalues, the same in both bases; complex where the map rotates every direction."""
        values = np.linalg.eigvals(self.matrix)
        return values if np.any(values.imag) else values.real  # NumPy versions differ in the type of real eigenvalues

    def __str__(self) -> str:
        (t, s), (d, e) = self.traces, self.determinants
        return "\n".join(
            [
                f"in the standard basis\n{format_matrix(self.matrix)}",
                f"in the basis of the columns\n{format_matrix(self.basis.columns)}",
                f"it is\n{format_matrix(self.new_matrix)}",
                f"trace {t:.6g} and {s:.6g}, determinant {d:.6g} and {e:.6g}",
            ]
        )


def change_of_basis(A: ArrayLike, basis: Basis | ArrayLike) -> ChangeOfBasis:
    """The map A in another basis, B^-1 A B.

    Parameters
    ----------
    A
        The matrix of a map in the standard basis.
    basis
        A `Basis`, or its vectors as columns.

    Examples
    --------
    >>> found = change_of_basis([[2, 1], [1, 2]], [[1, 1], [1, -1]])
    >>> print(found)
    in the standard basis
    [ 2  1 ]
    [ 1  2 ]
    in the basis of the columns
    [ 1   1 ]
    [ 1  -1 ]
    it is
    [ 3  0 ]
    [ 0  1 ]
    trace 4 and 4, determinant 3 and 3
    """
    M, B = matrix(A, square=True), basis if isinstance(basis, Basis) else Basis(matrix(basis, "a basis"))
    if len(M) != len(B):
        raise ValueError(f"A maps vectors of size {len(M)}; the basis has vectors of size {len(B)}")
    return ChangeOfBasis(M, B, B.coordinates(M @ B.columns))


@dataclass(frozen=True)
class LinearMap:
    """A linear map as a matrix between coordinates: mu = M lambda."""

    matrix: Array  # (m, d)
    source: Basis
    target: Basis
    linearity: AxiomReport  # the report of the test that f passed

    def __call__(self, x: ArrayLike) -> Array:
        """The image of a vector, through its coordinates."""
        return self.target.vector(self.matrix @ self.source.coordinates(x))

    def __str__(self) -> str:
        return f"a linear map from {len(self.source)} to {len(self.target)} coordinates\n{format_matrix(self.matrix)}"


def linear_map(
    f: Callable[[Vector], ArrayLike],
    source: Basis | ArrayLike,
    target: Basis | ArrayLike | None = None,
    *,
    draws: int = 100,
    tol: float = 1e-9,
    seed: int = 0,
) -> LinearMap:
    """The matrix of a linear function in two bases; a function that is not linear is refused.

    Parameters
    ----------
    f
        A function of a vector.
    source
        The basis of what f takes: a `Basis`, its vectors as columns, or a size, for the standard basis.
    target
        The basis of what f gives; by default the standard basis.
    draws, tol, seed
        Number of random vectors on which linearity is tried, relative difference allowed, and their seed.

    Examples
    --------
    >>> turned = linear_map(lambda x: np.array([-x[1], x[0]]), 2)
    >>> turned.matrix
    array([[ 0., -1.],
           [ 1.,  0.]])
    >>> linear_map(lambda x: x + 1, 2)
    Traceback (most recent call last):
        ...
    ValueError: f is not linear: fails additivity, homogeneity. ...
    """
    B = _basis(source)
    first = _image(f, B.columns[:, 0])
    Z = _basis(len(first) if target is None else target)
    if len(first) != len(Z):
        raise ValueError(f"f gives vectors of size {len(first)}; the target basis describes vectors of size {len(Z)}")
    rng = np.random.default_rng(seed)
    tried = (B.columns @ rng.standard_normal((len(B), max(draws, 2)))).T
    found = linearity_axioms(lambda x: _image(f, x), tried, draws=draws, tol=tol, seed=seed)
    if not found.holds:
        raise ValueError(
            f"f is not linear: fails {', '.join(found.failures)}. Only a linear function has a matrix; "
            "an affine one has a matrix once f(0) is subtracted"
        )
    return LinearMap(Z.coordinates(np.column_stack([_image(f, x) for x in B.columns.T])), B, Z, found)


def _image(f: Callable[[Vector], ArrayLike], x: Vector) -> Vector:
    return np.atleast_1d(np.asarray(f(x), dtype=np.float64))


def _basis(given: Basis | ArrayLike) -> Basis:
    """The basis itself, or that of these columns; a size stands for the standard basis."""
    if isinstance(given, Basis):
        return given
    return Basis(np.eye(given) if isinstance(given, int) else matrix(given, "a basis"))
