"""Predictive distributions of counts and waiting times: a likelihood averaged over its conjugate prior.

    beta-binomial          C(n, x) B(x + a, n - x + b) / B(a, b)                        successes among n trials
    Dirichlet-multinomial  n! / prod x_i! Gamma(alpha_0) / Gamma(n + alpha_0) prod Gamma(x_i + alpha_i) / Gamma(alpha_i)
    negative binomial      Gamma(x + a) / (x! Gamma(a)) (b / (b + 1))^a (1 / (b + 1))^x  Poisson counts, gamma rate
    Lomax                  a b^a / (b + x)^(a + 1)                                       exponential times, gamma rate

Columns are independent, except those of the Dirichlet-multinomial. Missing entries are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln, gammaln

from fivefold.core.numerics.arrays import to_numpy
from fivefold.core.types import Array, Codes, Mask, Matrix, Rng, Table
from fivefold.distributions.family import Distributions
from fivefold.distributions.statistics.counts import log_factorial
from fivefold.distributions.statistics.marginal_shapes import entries, levels


def _sum_known(X: Table, logs: Array, allowed: Mask) -> Matrix:
    """Sums over the known columns (n, K) of log probabilities (n, K, d); -inf for a value that is not allowed."""
    known = ~np.isnan(np.asarray(to_numpy(X), dtype=np.float64))[:, None, :]
    return np.where(known, np.where(allowed, logs, -np.inf), 0.0).sum(axis=2)


@dataclass(frozen=True)
class BetaBinomials(Distributions):
    """K distributions of successes among `trials` whose probability is Beta(a, b)."""

    a: Matrix  # (K, d)
    b: Matrix  # (K, d)
    trials: int | tuple[int, ...]

    def log_prob(self, X: Table) -> Matrix:
        n, x = np.asarray(self.trials), entries(to_numpy(X))
        allowed = (x >= 0) & (x <= n) & (x == np.floor(x))
        s = np.where(allowed, x, 0.0)
        choices = log_factorial(n) - log_factorial(s) - log_factorial(n - s)
        return _sum_known(X, choices + betaln(s + self.a, n - s + self.b) - betaln(self.a, self.b), allowed)

    def sample(self, which: Codes, rng: Rng) -> Matrix:
        p = rng.beta(self.a[which], self.b[which])
        return rng.binomial(np.broadcast_to(self.trials, p.shape[1:]), p) * 1.0

    @property
    def mean(self) -> Matrix:
        return np.asarray(self.trials) * self.a / (self.a + self.b)

    @property
    def variance(self) -> Matrix:
        n, total = np.asarray(self.trials), self.a + self.b
        return n * self.a * self.b * (total + n) / (total**2 * (total + 1))


@dataclass(frozen=True)
class DirichletMultinomials(Distributions):
    """K distributions of counts of outcomes with Dirichlet probabilities; each row has its own number of trials."""

    alpha: Matrix  # (K, d)
    length: int = 1  # trials of a row, for samples and moments

    def log_prob(self, X: Table) -> Matrix:
        x = entries(to_numpy(X))
        allowed = ((x >= 0) & (x == np.floor(x))).all(axis=2)
        s = np.where(allowed[:, :, None], x, 0.0)
        n, total = s.sum(axis=2), self.alpha.sum(axis=1)
        each = (gammaln(s + self.alpha) - gammaln(self.alpha) - log_factorial(s)).sum(axis=2)
        return np.where(allowed, log_factorial(n) + gammaln(total) - gammaln(n + total) + each, -np.inf)

    def sample(self, which: Codes, rng: Rng) -> Matrix:
        drawn = rng.standard_gamma(self.alpha[which])
        shares = drawn / drawn.sum(axis=1, keepdims=True)
        return np.array([rng.multinomial(self.length, p) for p in shares]) * 1.0

    @property
    def mean(self) -> Matrix:
        return self.length * self.alpha / self.alpha.sum(axis=1, keepdims=True)

    @property
    def variance(self) -> Matrix:
        total = self.alpha.sum(axis=1, keepdims=True)
        return self.mean * (1 - self.alpha / total) * (total + self.length) / (total + 1)


@dataclass(frozen=True)
class NegativeBinomials(Distributions):
    """K distributions of Poisson counts whose rate is Gamma(shape, rate)."""

    shape: Matrix  # (K, d)
    rate: Matrix  # (K, d)

    def log_prob(self, X: Table) -> Matrix:
        x = entries(to_numpy(X))
        allowed = (x >= 0) & (x == np.floor(x))
        s = np.where(allowed, x, 0.0)
        choices = gammaln(s + self.shape) - gammaln(self.shape) - log_factorial(s)
        logs = choices - self.shape * np.log1p(1 / self.rate) - s * np.log1p(self.rate)
        return _sum_known(X, logs, allowed)

    def sample(self, which: Codes, rng: Rng) -> Matrix:
        return rng.poisson(rng.standard_gamma(self.shape[which]) / self.rate[which]) * 1.0

    @property
    def mean(self) -> Matrix:
        return self.shape / self.rate

    @property
    def variance(self) -> Matrix:
        return self.mean * (1 + 1 / self.rate)


@dataclass(frozen=True)
class Lomaxes(Distributions):
    """K distributions of exponential waiting times whose rate is Gamma(shape, rate)."""

    shape: Matrix  # (K, d)
    rate: Matrix  # (K, d)

    def log_prob(self, X: Table) -> Matrix:
        x = entries(to_numpy(X))
        s = np.where(x >= 0, x, 0.0)
        logs = np.log(self.shape / self.rate) - (self.shape + 1) * np.log1p(s / self.rate)
        return _sum_known(X, logs, x >= 0)

    def sample(self, which: Codes, rng: Rng) -> Matrix:
        rate = rng.standard_gamma(self.shape[which]) / self.rate[which]
        return rng.standard_exponential(rate.shape) / rate

    @property
    def mean(self) -> Matrix:
        """Infinite for a shape of one or less."""
        with np.errstate(divide="ignore"):
            return np.where(self.shape > 1, self.rate / (self.shape - 1), np.inf)

    def marginal_cdf(self, X: ArrayLike) -> Array:
        """P(x_j <= X_ij) of each entry (n, K, d)."""
        return -np.expm1(-self.shape * np.log1p(np.maximum(entries(X), 0.0) / self.rate))

    def marginal_quantile(self, q: ArrayLike) -> Array:
        """The x with P(x_j <= x) = q (m, K, d)."""
        with np.errstate(divide="ignore"):
            return self.rate * np.expm1(-np.log1p(-levels(q)) / self.shape)
