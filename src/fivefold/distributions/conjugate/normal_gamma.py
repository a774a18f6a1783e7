"""Normal-gamma distribution of the mean and the precision of a normal.

    NG(mu, lambda | m, k, a, b) = N(mu | m, 1 / (k lambda)) Ga(lambda | a, rate b)

The marginal of mu is Student t with 2 a degrees of freedom, location m and squared scale b / (a k). Columns are
independent; a row holds the d means and then the d precisions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, gammaln

from fivefold.core.types import Codes, Matrix, Rng, Table, Vector
from fivefold.distributions.covariances.gaussian_loops import LOG_2PI
from fivefold.distributions.family import Distributions, ExponentialForm
from fivefold.distributions.gamma import GammaMembers
from fivefold.distributions.student_t import StudentTMembers


@dataclass(frozen=True)
class NormalGammaMembers(ExponentialForm, Distributions):
    """K distributions of the means and precisions of d columns."""

    location: Matrix  # (K, d) m
    strength: Matrix  # (K, d) k: as if the mean of this many rows had been seen
    shape: Matrix  # (K, d) a
    rate: Matrix  # (K, d) b

    @property
    def precision(self) -> GammaMembers:
        """The marginal distribution of the precisions."""
        return GammaMembers(self.shape, self.rate)

    @property
    def means(self) -> StudentTMembers:
        """The marginal distribution of the means."""
        scale = np.sqrt(self.rate / (self.shape * self.strength))
        return StudentTMembers(self.location, scale, 2 * self.shape, True)

    def log_prob(self, X: Table) -> Table:
        """Log density (n, K) of rows (means, precisions); -inf unless the precisions are positive."""
        mu, precision = (part[:, None, :] for part in np.hsplit(np.asarray(X, dtype=np.float64), 2))
        good = precision > 0
        tau = np.where(good, precision, 1.0)
        normal = 0.5 * (np.log(self.strength * tau) - LOG_2PI - self.strength * tau * (mu - self.location) ** 2)
        level = self.shape * np.log(self.rate) - gammaln(self.shape)
        each = normal + level + (self.shape - 1) * np.log(tau) - self.rate * tau
        return np.where(good, each, -np.inf).sum(axis=2)

    def sample(self, which: Codes, rng: Rng) -> Matrix:
        tau = self.precision.sample(which, rng)
        E = rng.standard_normal(tau.shape)
        return np.hstack([self.location[which] + E / np.sqrt(self.strength[which] * tau), tau])

    @property
    def natural_parameters(self) -> Matrix:
        pull = self.strength * self.location
        return np.hstack([pull, -self.strength / 2, -self.rate - pull * self.location / 2, self.shape - 0.5])

    @property
    def mean_statistics(self) -> Matrix:
        tau = self.shape / self.rate
        pull = self.location * tau
        logs = digamma(self.shape) - np.log(self.rate)
        return np.hstack([pull, 1 / self.strength + pull * self.location, tau, logs])

    def sufficient_statistics(self, X: Table) -> Matrix:
        """(lambda mu, lambda mu^2, lambda, log lambda)."""
        mu, tau = np.hsplit(np.asarray(X, dtype=np.float64), 2)
        return np.hstack([tau * mu, tau * mu**2, tau, np.log(tau)])

    def log_normaliser(self, eta: Matrix) -> Vector:
        found = self.from_natural(eta)
        gamma = gammaln(found.shape) - found.shape * np.log(found.rate)
        return (gamma + 0.5 * (LOG_2PI - np.log(found.strength))).sum(axis=1)

    def from_natural(self, eta: Matrix) -> NormalGammaMembers:
        pull, half, slope, power = np.hsplit(eta, 4)
        strength = -2 * half
        return NormalGammaMembers(pull / strength, strength, power + 0.5, -slope - pull**2 / (2 * strength))
