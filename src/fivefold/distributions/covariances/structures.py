"""Structures of covariance: which entries of the covariances of K Gaussians are free.

`Full`, `Tied` (one matrix for all members), `Diagonal`, `Spherical`, `Fixed` (nothing is free). A structure turns
scatter and degrees into a covariance, Sigma = scatter / degrees + floor, and says whether it needs the scatter of
pairs of columns (K, d, d) or of columns alone (K, d).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.types import Array
from fivefold.distributions.covariances.covariance_matrices import (
    Covariance,
    DiagonalCovariance,
    FullCovariance,
    SphericalCovariance,
    TiedCovariance,
)
from fivefold.distributions.covariances.inverses import check_positive, spd_inverse


@dataclass(frozen=True)
class CovarianceStructure(ABC):
    """Which entries of the covariances are free."""

    by_column: ClassVar[bool] = False  # whether scatter, count and degrees are per column: (K, d)

    @abstractmethod
    def from_matrix(self, matrix: ArrayLike, d: int) -> Covariance:
        """The covariance with this `matrix`, in scikit-learn's shape, for d columns."""

    @abstractmethod
    def fit(self, scatter: Array, degrees: Array, floor: float) -> Covariance:
        """Maximum likelihood: scatter / degrees, with `floor` added to the diagonal."""

    @abstractmethod
    def from_precision(self, precision: ArrayLike, d: int) -> Covariance:
        """The covariance whose `matrix` has this inverse."""

    @abstractmethod
    def prior(self, scatter: ArrayLike, degrees: float, K: int, d: int) -> tuple[Array, Array]:
        """Scatter and degrees of the pseudo-moments that act as an inverse-Wishart prior with these parameters."""


@dataclass(frozen=True)
class Full(CovarianceStructure):
    """One matrix per member."""

    def from_matrix(self, matrix: ArrayLike, d: int) -> Covariance:
        return FullCovariance.from_matrix(np.asarray(matrix, dtype=np.float64))

    def fit(self, scatter: Array, degrees: Array, floor: float) -> Covariance:
        with np.errstate(invalid="ignore", divide="ignore"):
            sigma = scatter / degrees[:, None, None]
        return FullCovariance.from_matrix(sigma + floor * np.eye(sigma.shape[-1]))

    def from_precision(self, precision: ArrayLike, d: int) -> Covariance:
        return self.from_matrix(spd_inverse(np.asarray(precision, dtype=np.float64)), d)

    def prior(self, scatter: ArrayLike, degrees: float, K: int, d: int) -> tuple[Array, Array]:
        return np.broadcast_to(scatter, (K, d, d)), np.full(K, degrees + d + 2.0)


@dataclass(frozen=True)
class Tied(CovarianceStructure):
    """One matrix for all members."""

    def from_matrix(self, matrix: ArrayLike, d: int) -> Covariance:
        return TiedCovariance.from_matrix(np.asarray(matrix, dtype=np.float64))

    def fit(self, scatter: Array, degrees: Array, floor: float) -> Covariance:
        sigma = scatter.sum(0) / degrees.sum()
        return TiedCovariance.from_matrix(sigma + floor * np.eye(len(sigma)))

    def from_precision(self, precision: ArrayLike, d: int) -> Covariance:
        return self.from_matrix(spd_inverse(np.asarray(precision, dtype=np.float64)[None])[0], d)

    def prior(self, scatter: ArrayLike, degrees: float, K: int, d: int) -> tuple[Array, Array]:
        return np.broadcast_to(scatter, (K, d, d)) / K, np.full(K, (degrees + d + 1.0) / K + 1.0)


@dataclass(frozen=True)
class Diagonal(CovarianceStructure):
    """Columns are independent within a member."""

    by_column = True

    def from_matrix(self, matrix: ArrayLike, d: int) -> Covariance:
        return DiagonalCovariance.from_matrix(np.asarray(matrix, dtype=np.float64))

    def fit(self, scatter: Array, degrees: Array, floor: float) -> Covariance:
        with np.errstate(invalid="ignore", divide="ignore"):
            return DiagonalCovariance.from_matrix(scatter / degrees + floor)

    def from_precision(self, precision: ArrayLike, d: int) -> Covariance:
        return self.from_matrix(1 / check_positive(np.asarray(precision, dtype=np.float64)), d)

    def prior(self, scatter: ArrayLike, degrees: float, K: int, d: int) -> tuple[Array, Array]:
        return np.broadcast_to(scatter, (K, d)), np.full((K, d), degrees + 3.0)


@dataclass(frozen=True)
class Spherical(CovarianceStructure):
    """One variance per member, the same in every direction."""

    by_column = True

    def from_matrix(self, matrix: ArrayLike, d: int) -> Covariance:
        return SphericalCovariance.from_matrix(np.asarray(matrix, dtype=np.float64), d)

    def fit(self, scatter: Array, degrees: Array, floor: float) -> Covariance:
        with np.errstate(invalid="ignore", divide="ignore"):
            return SphericalCovariance.from_matrix(scatter.sum(1) / degrees.sum(1) + floor, scatter.shape[1])

    def from_precision(self, precision: ArrayLike, d: int) -> Covariance:
        return self.from_matrix(1 / check_positive(np.asarray(precision, dtype=np.float64)), d)

    def prior(self, scatter: ArrayLike, degrees: float, K: int, d: int) -> tuple[Array, Array]:
        return np.broadcast_to(scatter, (K, d)) / d, np.full((K, d), (degrees + 2.0) / d + 1.0)


@dataclass(frozen=True)
class Fixed(CovarianceStructure):
    """A known matrix for all members, or a number, the variance in every direction. Only means are fitted."""

    given: ArrayLike = 1.0

    def from_matrix(self, matrix: ArrayLike, d: int) -> Covariance:
        sigma = np.asarray(matrix, dtype=np.float64)
        return TiedCovariance.from_matrix(sigma if sigma.ndim else sigma * np.eye(d), known=True)

    def fit(self, scatter: Array, degrees: Array, floor: float) -> Covariance:
        return self.from_matrix(self.given, scatter.shape[-1])

    def from_precision(self, precision: ArrayLike, d: int) -> Covariance:
        return self.from_matrix(self.given, d)

    def prior(self, scatter: ArrayLike, degrees: float, K: int, d: int) -> tuple[Array, Array]:
        return np.zeros((K, d, d)), np.zeros(K)
