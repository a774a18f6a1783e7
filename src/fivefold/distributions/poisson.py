"""Independent Poisson columns: counts of rare events.

    p(x) = lambda^x e^-lambda / x!,   mean = variance = lambda

The limit of Binomial(n, lambda / n) as n grows. In exponential form eta = log lambda, u(x) = x, A = e^eta. A
Gamma(a, b) prior adds a - 1 events and an exposure of b. Missing entries are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import pdtr, pdtrik, rel_entr, xlogy

from fivefold.core.types import Array, Codes, Matrix, Rng, Table, Vector
from fivefold.distributions.family import Family, Marginals, RowWeights
from fivefold.distributions.statistics.counts import (
    CountMembers,
    Totals,
    check_counts,
    count_quantile,
    count_totals,
    log_factorial,
    log_linear_scores,
    log_or_minus_inf,
    mean_over_counts,
    pooled_share,
    row_sums,
)
from fivefold.distributions.statistics.marginal_shapes import entries, levels


@dataclass(frozen=True)
class PoissonMembers(Marginals, CountMembers):
    """K members, each with one rate per column."""

    rate: Matrix  # (K, d)

    def check(self, X: Table) -> None:
        check_counts(X, "Poisson")

    def linear_scores(self, X: Table) -> Table:
        return log_linear_scores(X, self.natural_parameters, -self.rate)

    def sample(self, which: Codes, rng: Rng) -> Matrix:
        return rng.poisson(self.rate[which]) * 1.0

    def expected_log_prob(self, stats: Totals) -> Vector:
        return (xlogy(stats.total, self.rate) - stats.observed * self.rate).sum(axis=1)

    @property
    def n_parameters(self) -> int:
        return int(self.rate.size)

    @property
    def mean(self) -> Matrix:
        return self.rate

    @property
    def variance(self) -> Matrix:
        return self.rate

    @property
    def entropy(self) -> Vector:
        """E[-log p] (K,), in nats."""

        def log_pmf(x: Array) -> Array:
            return xlogy(x, self.rate) - self.rate - log_factorial(x)

        return mean_over_counts(lambda x: -log_pmf(x), log_pmf, self.rate, self.rate, np.inf).sum(axis=1)

    def kl_divergence(self, other: Self) -> Vector:
        return (rel_entr(self.rate, other.rate) - self.rate + other.rate).sum(axis=1)

    def marginal_cdf(self, X: ArrayLike) -> Array:
        return self._cdf(entries(X))

    def _cdf(self, x: Array) -> Array:
        return np.where(x < 0, 0.0, pdtr(np.maximum(np.floor(x), 0.0), self.rate))

    def marginal_quantile(self, q: ArrayLike) -> Array:
        return count_quantile(self._cdf, pdtrik(levels(q), self.rate), levels(q))

    @cached_property
    def natural_parameters(self) -> Matrix:
        return log_or_minus_inf(self.rate)

    def log_normaliser(self, eta: Matrix) -> Vector:
        return np.exp(eta).sum(axis=1)

    def from_natural(self, eta: Matrix) -> PoissonMembers:
        return PoissonMembers(np.exp(eta))

    def log_base_measure(self, X: Table) -> Vector:
        return -row_sums(X, lambda x, _: log_factorial(x))


@dataclass(frozen=True)
class Poisson(Family):
    """Columns of counts without a fixed upper limit."""

    def stats(self, X: Table, R: RowWeights) -> Totals:
        check_counts(X, "Poisson")
        return count_totals(X, R)

    def fit(self, stats: Totals, prior: Totals | None = None) -> PoissonMembers:
        stats = stats if prior is None else stats + prior
        return PoissonMembers(pooled_share(stats.total, stats.observed))

    def prior(self, events: ArrayLike, exposure: ArrayLike) -> Totals:
        """A Gamma(1 + events, rate exposure) prior: as if `exposure` more rows had held `events`, in every column."""
        return Totals(np.zeros(1), np.atleast_2d(exposure).astype(float), np.atleast_2d(events).astype(float))

    @classmethod
    def examples(cls, rng: Rng) -> Iterator[tuple[Family, Matrix]]:
        yield cls(), rng.poisson([0.5, 3.0, 40.0], size=(200, 3)) * 1.0
