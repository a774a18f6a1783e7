"""Conjugate pairs of Gaussian rows.

    mean, Sigma known       N(m, V)           ->  V_n = (V^-1 + n Sigma^-1)^-1,  m_n = V_n (V^-1 m + n Sigma^-1 xbar)
    precision, mean known   Wi(nu, T^-1)      ->  nu + n,  T + sum (x - mean)(x - mean)'
    mean and precision      NW(m, k, nu, T)   ->  k_n = k + n,  m_n = (k m + n xbar) / k_n,  nu + n,
                                                  T + scatter + k n / k_n (m - xbar)(m - xbar)'

The next row is N(m_n, Sigma + V_n); multivariate t with nu - p + 1 degrees of freedom and scale T / (nu - p + 1), or
T (k_n + 1) / (k_n (nu - p + 1)).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.types import Array, Vector
from fivefold.distributions.conjugate.conjugate_pair import ConjugatePair
from fivefold.distributions.conjugate.normal_wishart import NormalWishartMembers
from fivefold.distributions.conjugate.wishart import WishartMembers, log_dets
from fivefold.distributions.covariances.gaussian_loops import LOG_2PI
from fivefold.distributions.covariances.inverses import spd_inverse
from fivefold.distributions.family import Distributions
from fivefold.distributions.gaussian import Full, Gaussian, GaussianMembers
from fivefold.distributions.multivariate_t import MultivariateTMembers
from fivefold.distributions.statistics.moments import GroupMoments


def gaussians(mean: ArrayLike, covariance: ArrayLike) -> GaussianMembers:
    """Gaussians with these means (K, d) and covariances (K, d, d)."""
    m = np.atleast_2d(np.asarray(mean, dtype=np.float64))
    sigma = np.asarray(covariance, dtype=np.float64)
    sigma = (sigma + np.swapaxes(sigma, -1, -2)) / 2
    return GaussianMembers(m, Full().from_matrix(np.array(np.broadcast_to(sigma, (len(m), *sigma.shape[-2:]))), 0))


@dataclass(frozen=True)
class GaussianRows(ConjugatePair):
    """What the pairs of Gaussian rows share: moments of pairs of columns."""

    @property
    def family(self) -> Gaussian:
        return Gaussian(Full())


@dataclass(frozen=True)
class MultivariateNormalMean(GaussianRows):
    """Gaussian rows with a known covariance, and Gaussian priors of their means."""

    covariance: tuple[tuple[float, ...], ...]  # rows of the matrix

    @property
    def _sigma(self) -> Array:
        return np.array(self.covariance, dtype=np.float64)

    def posterior(self, prior: GaussianMembers, stats: GroupMoments) -> GaussianMembers:
        V = prior.covariance.dense(len(self._sigma)) + np.zeros((len(prior.mean), 1, 1))
        gain = np.linalg.solve(self._sigma + stats.count[:, None, None] * V, V).transpose(0, 2, 1)
        step = np.einsum("kab,kb->ka", gain, stats.count[:, None] * (stats.mean - prior.mean))
        return gaussians(prior.mean + step, gain @ self._sigma)

    def predictive(self, parameters: GaussianMembers) -> Distributions:
        return gaussians(parameters.mean, parameters.covariance.dense(len(self._sigma)) + self._sigma)

    def log_evidence(self, prior: GaussianMembers, stats: GroupMoments) -> Vector:
        sigma, n = self._sigma, stats.count
        total = sigma + n[:, None, None] * prior.covariance.dense(len(sigma))
        away = stats.mean - prior.mean
        q = n * np.einsum("ka,ka->k", away, np.linalg.solve(total, away[:, :, None])[:, :, 0])
        log_det = log_dets(sigma[None])[0]
        within = n * (len(sigma) * LOG_2PI + log_det) + (spd_inverse(sigma[None]) * stats.scatter).sum(axis=(1, 2))
        return -0.5 * (within + np.linalg.slogdet(total)[1] - log_det + q)

    def sample_size(self, parameters: GaussianMembers) -> Array:
        """The geometric mean over directions of variance of a row over variance of the mean (K,)."""
        d = len(self._sigma)
        return np.exp((log_dets(self._sigma[None]) - parameters.covariance.log_det) / d)

    def mean_members(self, parameters: GaussianMembers) -> GaussianMembers:
        return gaussians(parameters.mean, self._sigma)

    def mode_members(self, parameters: GaussianMembers) -> GaussianMembers:
        return self.mean_members(parameters)


@dataclass(frozen=True)
class MultivariateNormalPrecision(GaussianRows):
    """Gaussian rows with a known mean, and Wishart priors of their precision matrices."""

    mean: tuple[float, ...]

    def posterior(self, prior: WishartMembers, stats: GroupMoments) -> WishartMembers:
        away = stats.mean - np.asarray(self.mean)
        squares = stats.scatter + stats.count[:, None, None] * away[:, :, None] * away[:, None, :]
        return WishartMembers(prior.dof + stats.count, spd_inverse(prior.inverse_scale + squares))

    def predictive(self, parameters: WishartMembers) -> Distributions:
        dof = parameters.dof - len(self.mean) + 1
        location = np.repeat(np.asarray(self.mean, dtype=np.float64)[None], len(dof), axis=0)
        return MultivariateTMembers.of(location, parameters.inverse_scale / dof[:, None, None], dof)

    def log_evidence(self, prior: WishartMembers, stats: GroupMoments) -> Vector:
        after = self.posterior(prior, stats)
        gain = after.log_normaliser(after.natural_parameters) - prior.log_normaliser(prior.natural_parameters)
        return gain - 0.5 * len(self.mean) * LOG_2PI * stats.count

    def sample_size(self, parameters: WishartMembers) -> Array:
        return parameters.dof

    def mean_members(self, parameters: WishartMembers) -> GaussianMembers:
        return self._members(parameters.mean)

    def mode_members(self, parameters: WishartMembers) -> GaussianMembers:
        return self._members(parameters.mode)

    def _members(self, precision: Array) -> GaussianMembers:
        return gaussians(np.repeat(np.asarray(self.mean)[None], len(precision), axis=0), spd_inverse(precision))


@dataclass(frozen=True)
class MultivariateNormalWishart(GaussianRows):
    """Gaussian rows, with normal-Wishart priors of their means and precision matrices."""

    def posterior(self, prior: NormalWishartMembers, stats: GroupMoments) -> NormalWishartMembers:
        n, k = stats.count, prior.strength
        away = stats.mean - prior.location
        between = (k * n / (k + n))[:, None, None] * away[:, :, None] * away[:, None, :]
        return NormalWishartMembers(
            prior.location + (n / (k + n))[:, None] * away,
            k + n,
            prior.dof + n,
            prior.inverse_scale + stats.scatter + between,
        )

    def predictive(self, parameters: NormalWishartMembers) -> Distributions:
        k, dof = parameters.strength, parameters.dof - parameters.location.shape[1] + 1
        scale = ((k + 1) / (k * dof))[:, None, None] * parameters.inverse_scale
        return MultivariateTMembers.of(parameters.location, scale, dof)

    def log_evidence(self, prior: NormalWishartMembers, stats: GroupMoments) -> Vector:
        after, d = self.posterior(prior, stats), prior.location.shape[1]
        levels = [m.precision.log_normaliser(m.precision.natural_parameters) for m in (prior, after)]
        mean = 0.5 * d * np.log(prior.strength / after.strength)
        return levels[1] - levels[0] + mean - 0.5 * d * LOG_2PI * stats.count

    def sample_size(self, parameters: NormalWishartMembers) -> Array:
        return parameters.strength

    def mean_members(self, parameters: NormalWishartMembers) -> GaussianMembers:
        return gaussians(parameters.location, spd_inverse(parameters.precision.mean))

    def mode_members(self, parameters: NormalWishartMembers) -> GaussianMembers:
        """At the mode of the joint density: precision (nu - p) T^-1."""
        spare = np.maximum(parameters.dof - parameters.location.shape[1], 0.0)
        return gaussians(parameters.location, parameters.inverse_scale / spare[:, None, None])
