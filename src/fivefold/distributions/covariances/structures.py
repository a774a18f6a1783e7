"""Structures of covariance: what of the covariances of K Gaussians is free.

`Full`, `Tied` (one matrix for all members), `Diagonal`, `Spherical`, `Fixed` (nothing is free). A structure turns
scatter and degrees into a covariance, Sigma = scatter / degrees + floor, and says whether it needs the scatter of
pairs of columns (K, d, d) or of columns alone (K, d).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fivefold.core.types import Array, Matrix
from fivefold.distributions.covariances.covariance_matrices import (
    Covariance,
    DiagonalCovariance,
    FullCovariance,
    SphericalCovariance,
    TiedCovariance,
    check_positive,
    spd_inverse,
)


@dataclass(frozen=True)
class CovarianceStructure(ABC):
    """What of the covariances is free."""

    by_column: ClassVar[bool] = False  # scatter, count and degrees are those of columns: (K, d)

    @abstractmethod
    def of(self, matrix: Any, d: int) -> Covariance:
        """From `matrix` in scikit-learn's shape, for d columns."""

    @abstractmethod
    def fit(self, scatter: Array, degrees: Array, floor: float) -> Covariance:
        """Maximum likelihood: scatter / degrees, and `floor` on the diagonal."""

    @abstractmethod
    def from_precision(self, precision: Any, d: int) -> Covariance:
        """From the inverse of `matrix`."""

    @abstractmethod
    def prior(self, scatter: Matrix, degrees: float, K: int, d: int) -> tuple[Array, Array]:
        """Scatter and degrees of the pseudo-moments that are an inverse-Wishart prior with these parameters."""


@dataclass(frozen=True)
class Full(CovarianceStructure):
    """Every member has its own matrix."""

    def of(self, matrix: Any, d: int) -> Covariance:
        return FullCovariance.of(np.asarray(matrix, dtype=np.float64))

    def fit(self, scatter: Array, degrees: Array, floor: float) -> Covariance:
        with np.errstate(invalid="ignore", divide="ignore"):
            sigma = scatter / degrees[:, None, None]
        return FullCovariance.of(sigma + floor * np.eye(sigma.shape[-1]))

    def from_precision(self, precision: Any, d: int) -> Covariance:
        return self.of(spd_inverse(np.asarray(precision, dtype=np.float64)), d)

    def prior(self, scatter: Matrix, degrees: float, K: int, d: int) -> tuple[Array, Array]:
        return np.broadcast_to(scatter, (K, d, d)), np.full(K, degrees + d + 2.0)


@dataclass(frozen=True)
class Tied(CovarianceStructure):
    """All members share one matrix."""

    def of(self, matrix: Any, d: int) -> Covariance:
        return TiedCovariance.of(np.asarray(matrix, dtype=np.float64))

    def fit(self, scatter: Array, degrees: Array, floor: float) -> Covariance:
        sigma = scatter.sum(0) / degrees.sum()
        return TiedCovariance.of(sigma + floor * np.eye(len(sigma)))

    def from_precision(self, precision: Any, d: int) -> Covariance:
        return self.of(spd_inverse(np.asarray(precision, dtype=np.float64)[None])[0], d)

    def prior(self, scatter: Matrix, degrees: float, K: int, d: int) -> tuple[Array, Array]:
        return np.broadcast_to(scatter, (K, d, d)) / K, np.full(K, (degrees + d + 1.0) / K + 1.0)


@dataclass(frozen=True)
class Diagonal(CovarianceStructure):
    """Columns are independent within a member."""

    by_column = True

    def of(self, matrix: Any, d: int) -> Covariance:
        return DiagonalCovariance.of(np.asarray(matrix, dtype=np.float64))

    def fit(self, scatter: Array, degrees: Array, floor: float) -> Covariance:
        with np.errstate(invalid="ignore", divide="ignore"):
            return DiagonalCovariance.of(scatter / degrees + floor)

    def from_precision(self, precision: Any, d: int) -> Covariance:
        return self.of(1 / check_positive(np.asarray(precision, dtype=np.float64)), d)

    def prior(self, scatter: Matrix, degrees: float, K: int, d: int) -> tuple[Array, Array]:
        return np.broadcast_to(scatter, (K, d)), np.full((K, d), degrees + 3.0)


@dataclass(frozen=True)
class Spherical(CovarianceStructure):
    """One variance a member: the same in every direction."""

    by_column = True

    def of(self, matrix: Any, d: int) -> Covariance:
        return SphericalCovariance.of(np.asarray(matrix, dtype=np.float64), d)

    def fit(self, scatter: Array, degrees: Array, floor: float) -> Covariance:
        with np.errstate(invalid="ignore", divide="ignore"):
            return SphericalCovariance.of(scatter.sum(1) / degrees.sum(1) + floor, scatter.shape[1])

    def from_precision(self, precision: Any, d: int) -> Covariance:
        return self.of(1 / check_positive(np.asarray(precision, dtype=np.float64)), d)

    def prior(self, scatter: Matrix, degrees: float, K: int, d: int) -> tuple[Array, Array]:
        return np.broadcast_to(scatter, (K, d)) / d, np.full((K, d), (degrees + 2.0) / d + 1.0)


@dataclass(frozen=True)
class Fixed(CovarianceStructure):
    """A known matrix for all members, or a number: that variance in every direction. Only means are fitted."""

    given: Any = 1.0

    def of(self, matrix: Any, d: int) -> Covariance:
        matrix = np.asarray(matrix, dtype=np.float64)
        return TiedCovariance.of(matrix if matrix.ndim else matrix * np.eye(d), known=True)

    def fit(self, scatter: Array, degrees: Array, floor: float) -> Covariance:
        return self.of(self.given, scatter.shape[-1])

    def from_precision(self, precision: Any, d: int) -> Covariance:
        return self.of(self.given, d)

    def prior(self, scatter: Matrix, degrees: float, K: int, d: int) -> tuple[Array, Array]:
        return np.zeros((K, d, d)), np.zeros(K)
