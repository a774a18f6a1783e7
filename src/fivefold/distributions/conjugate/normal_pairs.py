"""Conjugate pairs of normal columns, which are independent.

    mean, variance s2 known    N(m, v)            ->  1/v_n = 1/v + n/s2,  m_n = v_n (m/v + n xbar/s2)
    precision, mean known      Gamma(a, b)        ->  a + n/2,  b + sum (x - mean)^2 / 2
    mean and precision         NG(m, k, a, b)     ->  k_n = k + n,  m_n = (k m + n xbar) / k_n,  a_n = a + n/2,
                                                      b_n = b + scatter/2 + k n (xbar - m)^2 / (2 k_n)

The next value is N(m_n, s2 + v_n); t with 2 a degrees of freedom, squared scale b/a; t with 2 a_n degrees of freedom,
location m_n, squared scale b_n (k_n + 1) / (a_n k_n). Missing entries are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.types import Array, Vector
from fivefold.distributions.conjugate.conjugate_pair import ConjugatePair
from fivefold.distributions.conjugate.normal_gamma import NormalGammaMembers
from fivefold.distributions.covariances.gaussian_loops import LOG_2PI
from fivefold.distributions.family import Distributions
from fivefold.distributions.gamma import GammaMembers
from fivefold.distributions.gaussian import Diagonal, Gaussian, GaussianMembers
from fivefold.distributions.statistics.moments import GroupMoments
from fivefold.distributions.student_t import StudentTMembers


@dataclass(frozen=True)
class NormalColumns(ConjugatePair):
    """What the pairs of normal columns share: their moments by column."""

    @property
    def family(self) -> Gaussian:
        return Gaussian(Diagonal())


def normals(mean: ArrayLike, variance: ArrayLike) -> GaussianMembers:
    """Independent normal columns with these means and variances (K, d), or numbers."""
    m, v = np.broadcast_arrays(*(np.atleast_2d(np.asarray(a, dtype=np.float64)) for a in (mean, variance)))
    return GaussianMembers(np.array(m), Diagonal().from_matrix(np.array(v), m.shape[1]))


@dataclass(frozen=True)
class NormalMean(NormalColumns):
    """Normal columns with known variances, a number or one per column, and normal priors of their means."""

    variance: float | tuple[float, ...] = 1.0

    def posterior(self, prior: GaussianMembers, stats: GroupMoments) -> GaussianMembers:
        s2, v = np.asarray(self.variance), prior.variance
        total = s2 + stats.count * v
        mean = (s2 * prior.mean + stats.count * v * stats.mean) / total
        return normals(mean, s2 * v / total)

    def predictive(self, parameters: GaussianMembers) -> Distributions:
        return normals(parameters.mean, parameters.variance + np.asarray(self.variance))

    def log_evidence(self, prior: GaussianMembers, stats: GroupMoments) -> Vector:
        s2, n = np.asarray(self.variance), stats.count
        total = s2 + n * prior.variance
        within = n * (LOG_2PI + np.log(s2)) + stats.scatter / s2
        between = np.log(total / s2) + n * (stats.mean - prior.mean) ** 2 / total
        return -0.5 * (within + between).sum(axis=1)

    def sample_size(self, parameters: GaussianMembers) -> Array:
        return np.asarray(self.variance) / parameters.variance

    def mean_members(self, parameters: GaussianMembers) -> GaussianMembers:
        return normals(parameters.mean, np.asarray(self.variance) + 0 * parameters.mean)

    def mode_members(self, parameters: GaussianMembers) -> GaussianMembers:
        return self.mean_members(parameters)


@dataclass(frozen=True)
class NormalPrecision(NormalColumns):
    """Normal columns with known means, a number or one per column, and gamma priors of their precisions."""

    mean: float | tuple[float, ...] = 0.0

    def posterior(self, prior: GammaMembers, stats: GroupMoments) -> GammaMembers:
        squares = stats.scatter + stats.count * (stats.mean - np.asarray(self.mean)) ** 2
        return GammaMembers(prior.shape + stats.count / 2, prior.rate + squares / 2)

    def predictive(self, parameters: GammaMembers) -> Distributions:
        scale = np.sqrt(parameters.rate / parameters.shape)
        return StudentTMembers(np.asarray(self.mean) + 0 * scale, scale, 2 * parameters.shape, True)

    def log_evidence(self, prior: GammaMembers, stats: GroupMoments) -> Vector:
        after = self.posterior(prior, stats)
        gain = after.log_normaliser(after.natural_parameters) - prior.log_normaliser(prior.natural_parameters)
        return gain - 0.5 * LOG_2PI * stats.count.sum(axis=1)

    def sample_size(self, parameters: GammaMembers) -> Array:
        return 2 * parameters.shape

    def mean_members(self, parameters: GammaMembers) -> GaussianMembers:
        return normals(np.asarray(self.mean) + 0 * parameters.mean, 1 / parameters.mean)

    def mode_members(self, parameters: GammaMembers) -> GaussianMembers:
        return normals(np.asarray(self.mean) + 0 * parameters.mean, 1 / parameters.mode)


@dataclass(frozen=True)
class NormalNormalGamma(NormalColumns):
    """Normal columns, with normal-gamma priors of their means and precisions."""

    def posterior(self, prior: NormalGammaMembers, stats: GroupMoments) -> NormalGammaMembers:
        n, k = stats.count, prior.strength
        away = stats.mean - prior.location
        return NormalGammaMembers(
            prior.location + n / (k + n) * away,
            k + n,
            prior.shape + n / 2,
            prior.rate + stats.scatter / 2 + k * n / (k + n) * away**2 / 2,
        )

    def predictive(self, parameters: NormalGammaMembers) -> Distributions:
        a, b, k = parameters.shape, parameters.rate, parameters.strength
        return StudentTMembers(parameters.location, np.sqrt(b * (k + 1) / (a * k)), 2 * a, True)

    def log_evidence(self, prior: NormalGammaMembers, stats: GroupMoments) -> Vector:
        after = self.posterior(prior, stats)
        precision = after.precision.column_normaliser(*after.precision.column_parameters)
        precision = precision - prior.precision.column_normaliser(*prior.precision.column_parameters)
        mean = 0.5 * np.log(prior.strength / after.strength)
        return (precision + mean - 0.5 * LOG_2PI * stats.count).sum(axis=1)

    def sample_size(self, parameters: NormalGammaMembers) -> Array:
        return parameters.strength

    def mean_members(self, parameters: NormalGammaMembers) -> GaussianMembers:
        return normals(parameters.location, parameters.rate / parameters.shape)

    def mode_members(self, parameters: NormalGammaMembers) -> GaussianMembers:
        """At the mode of the joint density: precision (a - 1/2) / b."""
        return normals(parameters.location, parameters.rate / np.maximum(parameters.shape - 0.5, 0.0))
