"""Conjugate pair of uniform columns between zero and an unknown end, with Pareto priors of the end.

    p(end) = k m^k / end^(k+1),  end >= m    ->    k + n,  max(m, largest value)

The next value is uniform up to m_n with probability k_n / (k_n + 1), and has a Pareto tail beyond.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.numerics.arrays import to_numpy
from fivefold.core.types import Array, Codes, Matrix, Rng, Table, Vector
from fivefold.distributions.conjugate.conjugate_pair import ConjugatePair
from fivefold.distributions.family import Distributions, Marginals
from fivefold.distributions.statistics.marginal_shapes import entries, levels
from fivefold.distributions.uniform import ColumnRanges, UniformBox, UniformMembers


@dataclass(frozen=True)
class ParetoMembers(Marginals, Distributions):
    """K Pareto distributions with independent columns."""

    shape: Matrix  # (K, d) k
    least: Matrix  # (K, d) m

    def log_prob(self, X: Table) -> Matrix:
        x = entries(to_numpy(X))
        inside = x >= self.least
        logs = np.log(self.shape / self.least) - (self.shape + 1) * np.log(np.where(inside, x / self.least, 1.0))
        return np.where(np.isnan(x), 0.0, np.where(inside, logs, -np.inf)).sum(axis=2)

    def sample(self, which: Codes, rng: Rng) -> Matrix:
        return self.least[which] * np.exp(rng.standard_exponential(self.least[which].shape) / self.shape[which])

    @property
    def mean(self) -> Matrix:
        """Infinite for a shape of one or less."""
        with np.errstate(divide="ignore"):
            return np.where(self.shape > 1, self.shape * self.least / (self.shape - 1), np.inf)

    @property
    def variance(self) -> Matrix:
        """Infinite for a shape of two or less."""
        k = np.where(self.shape > 2, self.shape, 3.0)
        return np.where(self.shape > 2, k * self.least**2 / ((k - 1) ** 2 * (k - 2)), np.inf)

    @property
    def entropy(self) -> Vector:
        """E[-log p] (K,), in nats."""
        return (np.log(self.least / self.shape) + 1 + 1 / self.shape).sum(axis=1)

    def kl_divergence(self, other: ParetoMembers) -> Vector:
        """KL(p_k || q_k) (K,), in nats: infinite where q_k begins after p_k."""
        ratio = np.maximum(self.least / other.least, 1.0)
        each = np.log(self.shape / other.shape) + other.shape * np.log(ratio) + other.shape / self.shape - 1
        return np.where(other.least <= self.least, each, np.inf).sum(axis=1)

    def marginal_cdf(self, X: ArrayLike) -> Array:
        return -np.expm1(-self.shape * np.log(np.maximum(entries(X) / self.least, 1.0)))

    def marginal_quantile(self, q: ArrayLike) -> Array:
        with np.errstate(divide="ignore"):
            return self.least * np.exp(-np.log1p(-levels(q)) / self.shape)


@dataclass(frozen=True)
class UniformParetoPredictive(Distributions):
    """K distributions of values that are uniform up to a Pareto end."""

    end: ParetoMembers

    def log_prob(self, X: Table) -> Matrix:
        x, k, m = entries(to_numpy(X)), self.end.shape, self.end.least
        beyond = np.maximum(np.where(np.isnan(x), 0.0, x) / m, 1.0)
        logs = np.log(k / ((k + 1) * m)) - (k + 1) * np.log(beyond)
        return np.where(np.isnan(x), 0.0, np.where(x >= 0, logs, -np.inf)).sum(axis=2)

    def sample(self, which: Codes, rng: Rng) -> Matrix:
        return self.end.sample(which, rng) * rng.uniform(size=(len(which), self.end.least.shape[1]))


@dataclass(frozen=True)
class UniformPareto(ConjugatePair):
    """Columns that are uniform from zero to an unknown end, with Pareto priors of the end."""

    @property
    def family(self) -> UniformBox:
        return UniformBox()

    def posterior(self, prior: ParetoMembers, stats: ColumnRanges) -> ParetoMembers:
        if (stats.low < 0).any():
            raise ValueError(
                "UniformPareto: a value is negative; the values are uniform from zero up: shift the column"
            )
        return ParetoMembers(prior.shape + stats.observed, np.maximum(prior.least, stats.high))

    def predictive(self, parameters: ParetoMembers) -> Distributions:
        return UniformParetoPredictive(parameters)

    def log_evidence(self, prior: ParetoMembers, stats: ColumnRanges) -> Vector:
        after = self.posterior(prior, stats)
        levels = [np.log(p.shape) + p.shape * np.log(p.least) for p in (prior, after)]
        return (levels[0] - levels[1]).sum(axis=1)

    def sample_size(self, parameters: ParetoMembers) -> Array:
        return parameters.shape

    def mean_members(self, parameters: ParetoMembers) -> UniformMembers:
        return UniformMembers(np.zeros(parameters.least.shape), parameters.mean)

    def mode_members(self, parameters: ParetoMembers) -> UniformMembers:
        return UniformMembers(np.zeros(parameters.least.shape), parameters.least)
