"""Log densities of K Gaussians at the rows of a tensor, on its device: one product for all members.

    full              |P_k (x - mu_k)|^2, with P_1 .. P_K side by side in one factor
    tied              rows and means are whitened by the one P, then as for unit variances
    diag, spherical   sum_j z_j^2 / s_kj - 2 z_j m_kj / s_kj + m_kj^2 / s_kj,  z and m about the mean of the means

The last form cancels where a mean lies many deviations from the others: then, and for rows with missing entries, which
are integrated out, distances are computed from x - mu_k, one member after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fivefold.core.numerics.arrays import AnyArray, like, namespace, to_numpy
from fivefold.core.numerics.tensors import row_cuts
from fivefold.core.types import Matrix, Vector
from fivefold.distributions.covariances.covariance_matrices import (
    Covariance,
    FullCovariance,
    SphericalCovariance,
    TiedCovariance,
    mahalanobis_squares,
)
from fivefold.distributions.covariances.gaussian_loops import LOG_2PI

MAX_SQUARED_DEVIATIONS = 1e3  # of a mean from the mean of the means: beyond it sums of squares cancel too many digits


@dataclass(frozen=True)
class WhiteningFactors:
    """P_1 .. P_K of full covariances side by side: one product whitens a run of rows for every member."""

    factors: AnyArray  # (d, K d)
    shift: AnyArray  # (K d,) -P_k mu_k, about the origin
    origin: AnyArray  # (d,)
    members: int

    @classmethod
    def of(cls, mean: Matrix, covariance: FullCovariance, X: AnyArray) -> WhiteningFactors:
        K, d = mean.shape
        origin = mean.mean(axis=0)
        P = covariance.factor  # (K, d, d), w = P (x - mu)
        shift = -np.einsum("kij,kj->ki", P, mean - origin).ravel()
        return cls(like(P.transpose(2, 0, 1).reshape(d, K * d), X), like(shift, X), like(origin, X), K)

    def whiten(self, X: AnyArray) -> AnyArray:
        """P_k (x - mu_k) of each row and member (m, K, d)."""
        W = namespace(X).addmm(self.shift, X - self.origin, self.factors)
        return W.view(len(X), self.members, X.shape[1])


def log_prob_of_tensor(mean: Matrix, covariance: Covariance, X: AnyArray, shift: Vector) -> AnyArray:
    """shift (K,) + log density (n, K) of the rows; missing entries are integrated out."""
    xp, (K, d) = namespace(X), mean.shape
    out = xp.empty((len(X), K), dtype=X.dtype, device=X.device)
    distances, numbers = _distance_rule(mean, covariance, X)
    level = like(shift - 0.5 * (d * LOG_2PI + covariance.log_det), X)
    for a, b in row_cuts(X, numbers):
        xp.add(level, distances(X[a:b]), alpha=-0.5, out=out[a:b])
    if out.isnan().any():
        _fill_incomplete(mean, covariance, X, shift, out)
    return out


def _distance_rule(mean: Matrix, covariance: Covariance, X: AnyArray) -> tuple[Callable[[AnyArray], AnyArray], int]:
    """Squared Mahalanobis distances (m, K) of a run of rows, and how many numbers per row they make."""
    K, d = mean.shape
    if isinstance(covariance, FullCovariance):
        factors = WhiteningFactors.of(mean, covariance, X)
        return lambda rows: namespace(X).linalg.vector_norm(factors.whiten(rows), axis=2).square_(), (K + 1) * d + K
    origin = mean.mean(axis=0)
    factor = covariance.factor.T if isinstance(covariance, TiedCovariance) else None
    M = mean - origin if factor is None else (mean - origin) @ factor
    variance = covariance.matrix if factor is None else np.ones_like(mean)
    variance = variance[:, None] * np.ones(d) if isinstance(covariance, SphericalCovariance) else variance
    if ((M**2 / variance).sum(axis=1) > MAX_SQUARED_DEVIATIONS).any():
        return lambda rows: mahalanobis_squares(covariance, rows, mean), 3 * d + 2 * K
    middle, slope = like(origin, X), like((-2 * M / variance).T, X)
    bend, level = like((1 / variance).T, X), like((M**2 / variance).sum(axis=1), X)
    turn = None if factor is None else like(factor, X)

    def distances(rows: AnyArray) -> AnyArray:
        Z = rows - middle
        Z = Z if turn is None else Z @ turn
        found = namespace(X).addmm(level, Z, slope)
        return found.addmm_(Z.square_(), bend).clamp_(min=0.0)

    return distances, 2 * d + 2 * K


def _fill_incomplete(mean: Matrix, covariance: Covariance, X: AnyArray, shift: Vector, out: AnyArray) -> None:
    """Densities of the rows with missing entries, one pattern of known entries after the other."""
    xp = namespace(X)
    rows = X.isnan().any(dim=1).nonzero()[:, 0]
    seen = ~to_numpy(X[rows].isnan())
    for pattern in np.unique(seen, axis=0):
        which = rows[xp.asarray(np.flatnonzero((seen == pattern).all(axis=1)), device=X.device)]
        kept = np.flatnonzero(pattern)
        if not len(kept):
            out[which] = like(shift, X)
            continue
        known = X[which][:, xp.asarray(kept, device=X.device)]
        out[which] = log_prob_of_tensor(mean[:, kept], covariance.marginal(kept), known, shift)
