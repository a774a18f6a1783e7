"""Poisson columns, independent: counts of rare events.

    p(x) = lambda^x e^-lambda / x!,   mean = variance = lambda

The limit of Binomial(n, lambda / n) as n grows. In exponential form eta = log lambda, u(x) = x, A = e^eta. A
Gamma(a, b) prior adds a - 1 events and an exposure of b. Entries that are missing are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import xlogy

from fivefold.core.types import Array, Codes, Table
from fivefold.distributions.family import ExponentialForm, Family, Members
from fivefold.distributions.statistics.counts import (
    Totals,
    affine_log_density,
    check_values,
    count_totals,
    log_factorial,
    pooled_share,
    row_sums,
)


@dataclass(frozen=True)
class PoissonMembers(ExponentialForm, Members):
    """K members, each with a rate a column."""

    rate: Array  # (K, d)

    def log_prob(self, X: Table) -> Any:
        """Log probability (n, K) of the known entries; -inf for events of rate zero."""
        _check(X)
        return self.linear(X) + self.log_base(X)[:, None]

    def linear(self, X: Table) -> Any:
        """The same less log h(x), which no member differs in."""
        never = self.rate == 0
        if not never.any():
            return affine_log_density(X, self.natural, -self.rate)
        out = affine_log_density(X, np.where(never, 0.0, self.natural), -self.rate)
        out[affine_log_density(X, never * 1.0, never * 0.0) > 0] = -np.inf
        return out

    def sample(self, which: Codes, rng: np.random.RandomState) -> Array:
        return rng.poisson(self.rate[which]) * 1.0

    def expected(self, stats: Totals) -> Array:
        return (xlogy(stats.total, self.rate) - stats.observed * self.rate).sum(axis=1)

    @property
    def n_parameters(self) -> int:
        return int(self.rate.size)

    @property
    def mean(self) -> Array:
        return self.rate

    @property
    def variance(self) -> Array:
        return self.rate

    @cached_property
    def natural(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self.rate)

    @property
    def mean_sufficient(self) -> Array:
        return self.rate

    def sufficient(self, X: Table) -> Array:
        return np.asarray(X)

    def log_normaliser(self, eta: Array) -> Array:
        return np.exp(eta).sum(axis=1)

    def from_natural(self, eta: Array) -> PoissonMembers:
        return PoissonMembers(np.exp(eta))

    def log_base(self, X: Table) -> Array:
        return -row_sums(X, lambda x, _: log_factorial(x))


@dataclass(frozen=True)
class Poisson(Family):
    """Columns of counts without a fixed upper limit."""

    def stats(self, X: Any, R: Any) -> Totals:
        _check(X)
        return count_totals(X, R)

    def fit(self, stats: Totals, prior: Totals | None = None) -> PoissonMembers:
        stats = stats if prior is None else stats + prior
        return PoissonMembers(pooled_share(stats.total, stats.observed))

    def prior(self, events: Any, exposure: Any) -> Totals:
        """A Gamma(1 + events, rate exposure) prior: so many more events in so many more rows, of each column."""
        events, exposure = np.atleast_2d(events).astype(float), np.atleast_2d(exposure).astype(float)
        return Totals(np.zeros(1), exposure, events)

    @classmethod
    def examples(cls, rng: np.random.RandomState) -> Iterator[tuple[Family, Array]]:
        yield cls(), rng.poisson([0.5, 3.0, 40.0], size=(200, 3)) * 1.0


def _check(X: Table) -> None:
    check_values(X, 0, np.inf, "Poisson", "Counts cannot be negative: check that column")
