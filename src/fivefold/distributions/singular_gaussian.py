"""Gaussians whose covariance is singular: densities within the subspace that holds all the probability.

With eigenvalues lambda_1 .. lambda_r > 0 of Sigma and unit eigenvectors v_1 .. v_r,

    log p(x) = -(r log 2 pi + sum_j log lambda_j + sum_j (v_j.(x - mu))^2 / lambda_j) / 2

on mu + span(v_1 .. v_r), and -inf off it: the determinant is the pseudo-determinant. At full rank this is the
product of univariate densities in eigen-coordinates, equal to the density by Cholesky.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from fivefold.core.types import Array, Codes, Indices, Matrix, Rng, Table, Vector
from fivefold.distributions.covariances.gaussian_loops import LOG_2PI
from fivefold.distributions.family import Members
from fivefold.distributions.statistics.moments import GroupMoments


@dataclass(frozen=True)
class SingularGaussians(Members):
    """K Gaussians of any rank."""

    mean: Matrix  # (K, d)
    values: Matrix  # (K, d) eigenvalues, zero outside the subspace
    vectors: Array  # (K, d, d) eigenvectors in columns
    tol: float  # a point is off the subspace if its squared distance exceeds this share of the largest eigenvalue

    @classmethod
    def of(cls, mean: Array, matrix: Array, tol: float = 1e-9) -> Self:
        """From covariances (K, d, d); eigenvalues below `tol` times the largest count as zero."""
        values, vectors = np.linalg.eigh(matrix)
        floor = tol * np.maximum(values[:, -1:], np.finfo(np.float64).tiny)
        return cls(mean, np.where(values > floor, values, 0.0), vectors, tol)

    @classmethod
    def fit(cls, moments: GroupMoments, tol: float = 1e-9) -> Self:
        """Maximum likelihood within the subspace of each member's points, from moments with full scatter."""
        return cls.of(moments.mean, moments.scatter / moments.degrees[:, None, None], tol)

    @property
    def rank(self) -> Indices:
        """Dimension of each subspace (K,)."""
        return (self.values > 0).sum(axis=1)

    @cached_property
    def log_pseudo_det(self) -> Vector:
        """Sum of the logarithms of the nonzero eigenvalues (K,)."""
        return np.log(np.where(self.values > 0, self.values, 1.0)).sum(axis=1)

    @property
    def n_parameters(self) -> int:
        d, r = self.mean.shape[1], self.rank
        return int(self.mean.size + (r * d - r * (r - 1) // 2).sum())

    def log_prob(self, X: Table) -> Matrix:
        return np.stack([self._log_prob(X, k) for k in range(len(self.mean))], axis=1)

    def _log_prob(self, X: Matrix, k: int) -> Vector:
        squares = ((X - self.mean[k]) @ self.vectors[k]) ** 2
        off = squares[:, self.values[k] == 0].sum(axis=1) > self.tol * self.values[k].max()
        inside = squares[:, self.values[k] > 0] / self.values[k][self.values[k] > 0]
        level = self.rank[k] * LOG_2PI + self.log_pseudo_det[k]
        return np.where(off, -np.inf, -0.5 * (level + inside.sum(axis=1)))

    def sample(self, which: Codes, rng: Rng) -> Matrix:
        E = rng.standard_normal((len(which), self.mean.shape[1])) * np.sqrt(self.values[which])
        out = self.mean[which]
        for k in np.unique(which):
            out[which == k] += E[which == k] @ self.vectors[k].T
        return out

    def expected_log_prob(self, stats: GroupMoments) -> Vector:
        delta = stats.mean - self.mean
        spread = stats.scatter + stats.count[:, None, None] * delta[:, :, None] * delta[:, None, :]
        along = np.einsum("kia,kij,kja->ka", self.vectors, spread, self.vectors)  # squares in eigen-coordinates
        flat = self.values == 0
        off = (along * flat).sum(axis=1) > self.tol * self.values.max(axis=1) * stats.count
        inside = (along / np.where(flat, np.inf, self.values)).sum(axis=1)
        level = stats.degrees * (self.rank * LOG_2PI + self.log_pseudo_det)
        return np.where(off, -np.inf, -0.5 * (level + inside))
