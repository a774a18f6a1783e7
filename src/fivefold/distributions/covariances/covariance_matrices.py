"""Covariances of K Gaussians: one matrix per member, one for all, one variance per column, or one variance.

A covariance holds Sigma in scikit-learn's shape as `matrix` and knows a factor P of its inverse, P' P = Sigma^-1,
P lower triangular: P = L^-1 for the Cholesky factor L of Sigma. From these come densities, with missing entries
integrated out, samples, marginals and traces. Compiled loops work on blocks with points in columns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from fivefold.core.numerics.arrays import like, namespace
from fivefold.core.parallel import column_blocks, map_parts, scratch
from fivefold.core.types import Array, Indices, Matrix, Table, Vector
from fivefold.distributions.covariances.gaussian_loops import (
    LOG_2PI,
    TILE_POINTS,
    log_diagonal,
    log_diagonal_observed,
    log_diagonal_rows,
    log_full,
    log_full_observed,
)
from fivefold.distributions.covariances.inverses import check_positive, inverse_cholesky
from fivefold.distributions.covariances.missing_patterns import is_complete, missing_patterns, zero_tile


@dataclass(frozen=True)
class Covariance(ABC):
    """Covariances of K Gaussians; `matrix` has scikit-learn's shape."""

    matrix: Array

    @property
    @abstractmethod
    def precision_factor(self) -> Array:
        """P', upper triangular, in the shape of scikit-learn's precisions_cholesky_."""

    @property
    @abstractmethod
    def precision(self) -> Array:
        """Inverse of `matrix`, in its shape."""

    @property
    @abstractmethod
    def log_det(self) -> Vector:
        """log |Sigma| of each member (K,), or (1,) if they share it."""

    @property
    @abstractmethod
    def n_parameters(self) -> int:
        """Free parameters."""

    @abstractmethod
    def dense(self, d: int) -> Array:
        """Sigma as matrices (K, d, d), or (1, d, d) if the members share it."""

    @abstractmethod
    def marginal(self, kept: Indices) -> Covariance:
        """The covariance of some columns."""

    @abstractmethod
    def unwhiten(self, E: Matrix, k: int) -> Matrix:
        """Rows with covariance Sigma_k from rows E of independent standard normal numbers."""

    @abstractmethod
    def whiten(self, D: Table, k: int) -> Table:
        """P_k x of each row x of D, an array or a tensor."""

    @abstractmethod
    def trace(self, scatter: Array) -> Vector:
        """tr(Sigma_k^-1 S_k) (K,) of matrices or diagonals S (K, ...)."""

    @abstractmethod
    def log_prob_complete(self, Z: Matrix, mean: Matrix, log_weight: Vector, out: Matrix) -> None:
        """out (K, m) = log_weight (K,) + log density of the points in the columns of Z; no entry is missing."""

    @abstractmethod
    def log_prob_incomplete(self, Z: Matrix, mean: Matrix, log_weight: Vector, out: Matrix) -> None:
        """The same for points with missing entries, which are integrated out."""

    @abstractmethod
    def holds(self, K: int, d: int) -> bool:
        """Do the arrays have the shapes for K members and d columns?"""

    def check_shapes(self, mean: Matrix, log_weight: Vector, d: int) -> None:
        """Refuse arrays that do not fit together, such as those of a damaged model file: loops do not check bounds."""
        if np.shape(mean) != (len(log_weight), d) or not self.holds(len(log_weight), d):
            raise ValueError(
                f"means of shape {np.shape(mean)} and their covariances do not fit {len(log_weight)} components of {d} "
                "columns"
            )

    def log_prob_block(self, Z: Matrix, mean: Matrix, log_weight: Vector, out: Matrix) -> None:
        """out (K, m) = log_weight (K,) + log density of the points in the columns of Z."""
        self.check_shapes(mean, log_weight, len(Z))
        if is_complete(Z):
            self.log_prob_complete(Z, mean, log_weight, out)
            return
        missing = np.isnan(Z).any(axis=0)
        for log_prob, points in ((self.log_prob_complete, ~missing), (self.log_prob_incomplete, missing)):
            L = np.empty((len(mean), int(points.sum())))
            log_prob(np.ascontiguousarray(Z[:, points]), mean, log_weight, L)
            out[:, points] = L

    def log_prob_rows(self, X: Matrix, mean: Matrix, log_weight: Vector) -> Matrix:
        """c (K,) + log density (n, K) of the rows of X."""
        out = np.empty((len(X), len(mean)))
        ones = np.ones(len(X))

        def part(lo: int, hi: int) -> None:
            for Z, _ in column_blocks(X, ones, lo, hi):
                L = scratch("L", len(mean), Z.shape[1])
                self.log_prob_block(Z, mean, log_weight, L)
                out[lo : lo + Z.shape[1]] = L.T
                lo += Z.shape[1]

        map_parts(part, len(X))
        return out


@dataclass(frozen=True)
class FullCovariance(Covariance):
    """One matrix per member."""

    matrix: Array  # (K, d, d)
    factor: Array  # (K, d, d), lower

    @classmethod
    def from_matrix(cls, matrix: Array) -> Self:
        return cls(matrix, inverse_cholesky(matrix))

    @property
    def precision_factor(self) -> Array:
        return self.factor.transpose(0, 2, 1)

    @property
    def precision(self) -> Array:
        return self.precision_factor @ self.factor

    @cached_property
    def log_det(self) -> Vector:
        return -2 * np.log(np.einsum("kii->ki", self.factor)).sum(1)

    @property
    def n_parameters(self) -> int:
        K, d, _ = self.matrix.shape
        return K * d * (d + 1) // 2

    def dense(self, d: int) -> Array:
        return self.matrix

    def marginal(self, kept: Indices) -> FullCovariance:
        return FullCovariance.from_matrix(self.matrix[:, kept[:, None], kept])

    def unwhiten(self, E: Matrix, k: int) -> Matrix:
        return E @ np.linalg.inv(self.factor[k]).T

    def whiten(self, D: Table, k: int) -> Table:
        return D @ like(self.factor[k].T, D)

    def trace(self, scatter: Array) -> Vector:
        return np.einsum("kij,kij->k", self.precision, scatter)

    def log_prob_complete(self, Z: Matrix, mean: Matrix, log_weight: Vector, out: Matrix) -> None:
        d = len(Z)
        D, acc, q = zero_tile(d), scratch("lane sums", TILE_POINTS), scratch("lanes", TILE_POINTS)
        log_full(Z, mean, self.padded_factor, self.levels(log_weight), D, acc, q, out)

    def levels(self, log_weight: Vector) -> Vector:
        """log_weight (K,) + log density at the mean."""
        return log_weight - 0.5 * (self.matrix.shape[1] * LOG_2PI + self.log_det)

    def log_prob_incomplete(self, Z: Matrix, mean: Matrix, log_weight: Vector, out: Matrix) -> None:
        _log_observed(Z, mean, self.matrix, log_weight, out)

    def holds(self, K: int, d: int) -> bool:
        return self.matrix.shape == self.factor.shape == (K, d, d)

    @cached_property
    def padded_factor(self) -> Array:
        """The factor, padded with columns of zeros to a multiple of four."""
        return np.pad(self.factor, ((0, 0), (0, 0), (0, -self.factor.shape[2] % 4)))


@dataclass(frozen=True)
class TiedCovariance(Covariance):
    """One matrix for all members; `known` if it was given and not fitted."""

    matrix: Array  # (d, d)
    factor: Array  # (d, d), lower
    known: bool = False

    @classmethod
    def from_matrix(cls, matrix: Array, known: bool = False) -> Self:
        return cls(matrix, inverse_cholesky(matrix[None], "the covariance that all components share")[0], known)

    @property
    def precision_factor(self) -> Array:
        return self.factor.T

    @property
    def precision(self) -> Array:
        return self.factor.T @ self.factor

    @property
    def log_det(self) -> Vector:
        return -2 * np.log(np.diag(self.factor)).sum(keepdims=True)

    @property
    def n_parameters(self) -> int:
        d = len(self.matrix)
        return 0 if self.known else d * (d + 1) // 2

    def dense(self, d: int) -> Array:
        return self.matrix[None]

    def marginal(self, kept: Indices) -> TiedCovariance:
        return TiedCovariance.from_matrix(self.matrix[kept[:, None], kept], self.known)

    def unwhiten(self, E: Matrix, k: int) -> Matrix:
        return E @ np.linalg.inv(self.factor).T

    def whiten(self, D: Table, k: int) -> Table:
        return D @ like(self.factor.T, D)

    def trace(self, scatter: Array) -> Vector:
        return np.einsum("ij,kij->k", self.precision, scatter)

    def log_prob_complete(self, Z: Matrix, mean: Matrix, log_weight: Vector, out: Matrix) -> None:
        origin = mean[0]  # before the product, so that a common offset costs no digits
        W, means = self.factor @ (Z - origin[:, None]), (mean - origin) @ self.factor.T
        log_diagonal(W, means, np.full(mean.shape, 0.5), log_weight - 0.5 * (len(Z) * LOG_2PI + self.log_det), out)

    def log_prob_incomplete(self, Z: Matrix, mean: Matrix, log_weight: Vector, out: Matrix) -> None:
        _log_observed(Z, mean, self.matrix[None], log_weight, out)

    def holds(self, K: int, d: int) -> bool:
        return self.matrix.shape == self.factor.shape == (d, d)


@dataclass(frozen=True)
class UncorrelatedCovariance(Covariance):
    """Covariances without correlations: `matrix` holds variances."""

    @property
    def precision_factor(self) -> Array:
        return 1 / np.sqrt(self.matrix)

    @property
    def precision(self) -> Array:
        return 1 / self.matrix

    @property
    def n_parameters(self) -> int:
        return self.matrix.size

    def unwhiten(self, E: Matrix, k: int) -> Matrix:
        return E * np.sqrt(self.matrix[k])


@dataclass(frozen=True)
class DiagonalCovariance(UncorrelatedCovariance):
    """One variance per column of each member."""

    matrix: Array  # (K, d)

    @classmethod
    def from_matrix(cls, matrix: Array) -> Self:
        return cls(check_positive(matrix))

    @property
    def log_det(self) -> Vector:
        return np.log(self.matrix).sum(1)

    def dense(self, d: int) -> Array:
        return self.matrix[:, :, None] * np.eye(d)

    def marginal(self, kept: Indices) -> DiagonalCovariance:
        return DiagonalCovariance(self.matrix[:, kept])

    def whiten(self, D: Table, k: int) -> Table:
        return D / like(np.sqrt(self.matrix[k]), D)

    def trace(self, scatter: Array) -> Vector:
        return (scatter / self.matrix).sum(1)

    def log_prob_complete(self, Z: Matrix, mean: Matrix, log_weight: Vector, out: Matrix) -> None:
        log_diagonal(Z, mean, 0.5 / self.matrix, log_weight + _log_peak(self.matrix).sum(1), out)

    def log_prob_incomplete(self, Z: Matrix, mean: Matrix, log_weight: Vector, out: Matrix) -> None:
        log_diagonal_observed(Z, mean, 0.5 / self.matrix, _log_peak(self.matrix), log_weight, out)

    def holds(self, K: int, d: int) -> bool:
        return self.matrix.shape == (K, d)

    def log_prob_rows(self, X: Matrix, mean: Matrix, log_weight: Vector) -> Matrix:
        self.check_shapes(mean, log_weight, X.shape[1])
        out = np.empty((len(X), len(mean)))
        half, top = 0.5 / self.matrix, log_weight + _log_peak(self.matrix).sum(1)
        sums = map_parts(lambda lo, hi: log_diagonal_rows(X, lo, hi, mean, half, top, out), len(X))
        if not np.isfinite(sum(sums)):
            missing = np.flatnonzero(np.isnan(out).any(axis=1))
            L = np.empty((len(mean), len(missing)))
            self.log_prob_incomplete(np.ascontiguousarray(X[missing].T, dtype=np.float64), mean, log_weight, L)
            out[missing] = L.T
        return out


@dataclass(frozen=True)
class SphericalCovariance(UncorrelatedCovariance):
    """One variance per member, for all its columns."""

    matrix: Array  # (K,)
    d: int

    @classmethod
    def from_matrix(cls, matrix: Array, d: int) -> Self:
        return cls(check_positive(matrix), d)

    @property
    def log_det(self) -> Vector:
        return self.d * np.log(self.matrix)

    def dense(self, d: int) -> Array:
        return self.matrix[:, None, None] * np.eye(d)

    def marginal(self, kept: Indices) -> SphericalCovariance:
        return SphericalCovariance(self.matrix, len(kept))

    def whiten(self, D: Table, k: int) -> Table:
        return D / float(np.sqrt(self.matrix[k]))

    def trace(self, scatter: Array) -> Vector:
        return scatter.sum(1) / self.matrix

    def log_prob_complete(self, Z: Matrix, mean: Matrix, log_weight: Vector, out: Matrix) -> None:
        self._axes.log_prob_complete(Z, mean, log_weight, out)

    def log_prob_incomplete(self, Z: Matrix, mean: Matrix, log_weight: Vector, out: Matrix) -> None:
        self._axes.log_prob_incomplete(Z, mean, log_weight, out)

    def holds(self, K: int, d: int) -> bool:
        return self.matrix.shape == (K,) and self.d == d

    def log_prob_rows(self, X: Matrix, mean: Matrix, log_weight: Vector) -> Matrix:
        self.check_shapes(mean, log_weight, X.shape[1])
        return self._axes.log_prob_rows(X, mean, log_weight)

    @property
    def _axes(self) -> DiagonalCovariance:
        return DiagonalCovariance(np.repeat(self.matrix[:, None], self.d, axis=1))


def _log_observed(Z: Matrix, mean: Matrix, sigma: Array, log_weight: Vector, out: Matrix) -> None:
    """`Covariance.log_prob_incomplete` for matrices."""
    d = len(Z)
    log_full_observed(
        Z, *missing_patterns(Z), mean, sigma, log_weight, scratch("swept", d, d), scratch("point", d), out
    )


def _log_peak(variance: Array) -> Array:
    """Log density of a column at its mean."""
    return -0.5 * np.log(2 * np.pi * variance)


def mahalanobis_squares(covariance: Covariance, X: Table, mean: Matrix) -> Table:
    """Squared Mahalanobis distances (n, K) for arrays of any library."""
    xp = namespace(X)
    mean = like(mean, X)
    return xp.stack([xp.sum(covariance.whiten(X - mean[k], k) ** 2, axis=1) for k in range(len(mean))], axis=1)
