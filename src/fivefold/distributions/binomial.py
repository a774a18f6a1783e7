"""Binomial columns, independent: the number of successes in a fixed number of trials.

    p(x) = C(n, x) p^x (1 - p)^(n - x),   mean n p,   variance n p (1 - p)

With one trial this is the Bernoulli distribution. In exponential form the natural parameter is the logit
eta = log p / (1 - p), the sufficient statistic x, the log-normaliser n log(1 + e^eta). A Beta(a, b) prior adds a - 1
successes and b - 1 failures. Entries that are missing are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import expit, logit, xlog1py, xlogy

from fivefold.core.numerics.arrays import is_tensor, like
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
class BinomialMembers(ExponentialForm, Members):
    """K members, each with a probability of success a column."""

    probability: Array  # (K, d)
    trials: int | tuple[int, ...] = 1  # of all columns, or of each

    def log_prob(self, X: Table) -> Any:
        """Log probability (n, K) of the known entries; -inf for what a probability of 0 or 1 rules out."""
        check_successes(X, self.trials)
        return self.linear(X) if np.max(self.trials) == 1 else self.linear(X) + self.log_base(X)[:, None]

    def linear(self, X: Table) -> Any:
        """The same less log h(x), which no member differs in."""
        p, n = self.probability, np.asarray(self.trials)
        theta, fail = self._terms
        out = affine_log_density(X, theta, fail * n)
        if p.min() == 0 or p.max() == 1:
            # successes where p = 0 and failures where p = 1
            out[affine_log_density(X, (p == 0) - 1.0 * (p == 1), (p == 1) * n) > 0] = -np.inf
        return out

    @cached_property
    def _terms(self) -> tuple[Array, Array]:
        """log p / (1 - p) and log(1 - p), or zeros where p rules something out."""
        sure = (self.probability == 0) | (self.probability == 1)
        inside = np.where(sure, 0.5, self.probability)
        fail = np.where(sure, 0.0, np.log1p(-inside))
        return np.where(sure, 0.0, np.log(inside)) - fail, fail

    def _log_choices(self, x: Array, columns: Any) -> Any:
        """log C(n, x)."""
        trials = np.broadcast_to(self.trials, self.probability.shape[1:])[columns]
        n = like(trials, x) if is_tensor(x) else trials
        return log_factorial(n) - log_factorial(x) - log_factorial(n - x)

    def sample(self, which: Codes, rng: np.random.RandomState) -> Array:
        return rng.binomial(np.broadcast_to(self.trials, self.probability.shape[1:]), self.probability[which]) * 1.0

    def expected(self, stats: Totals) -> Array:
        p = self.probability
        return (xlogy(stats.total, p) + xlog1py(stats.observed * np.asarray(self.trials) - stats.total, -p)).sum(axis=1)

    @property
    def n_parameters(self) -> int:
        return int(self.probability.size)

    @property
    def mean(self) -> Array:
        return self.probability * np.asarray(self.trials)

    @property
    def variance(self) -> Array:
        return self.mean * (1 - self.probability)

    @property
    def natural(self) -> Array:
        return logit(self.probability)

    @property
    def mean_sufficient(self) -> Array:
        return self.mean

    def sufficient(self, X: Table) -> Array:
        return np.asarray(X)

    def log_normaliser(self, eta: Array) -> Array:
        return (np.asarray(self.trials) * np.logaddexp(0, eta)).sum(axis=1)

    def from_natural(self, eta: Array) -> BinomialMembers:
        return BinomialMembers(expit(eta), self.trials)

    def log_base(self, X: Table) -> Array:
        return row_sums(X, self._log_choices)


@dataclass(frozen=True)
class Binomial(Family):
    """Columns of successes among `trials`, the same for all columns or one number a column."""

    trials: int | tuple[int, ...] = 1

    def stats(self, X: Any, R: Any) -> Totals:
        check_successes(X, self.trials)
        return count_totals(X, R)

    def fit(self, stats: Totals, prior: Totals | None = None) -> BinomialMembers:
        stats = stats if prior is None else stats + prior
        return BinomialMembers(pooled_share(stats.total, stats.observed * np.asarray(self.trials)), self.trials)

    def prior(self, successes: Any, failures: Any) -> Totals:
        """A Beta(1 + successes, 1 + failures) prior: as if so many more had been seen, of each column."""
        successes, failures = np.atleast_2d(successes).astype(float), np.atleast_2d(failures).astype(float)
        return Totals(np.zeros(1), (successes + failures) / np.asarray(self.trials), successes)

    @classmethod
    def examples(cls, rng: np.random.RandomState) -> Iterator[tuple[Family, Array]]:
        yield cls(7), rng.binomial(7, [0.2, 0.5, 0.9], size=(200, 3)) * 1.0
        yield cls((1, 4)), rng.binomial([1, 4], [0.6, 0.3], size=(200, 2)) * 1.0


def check_successes(X: Table, trials: int | tuple[int, ...]) -> None:
    """Refuse what cannot be a number of successes."""
    if np.max(trials) == 1:
        check_values(X, 0, 1, "Bernoulli", "Turn the column into 0 and 1, for example by a threshold")
    else:
        check_values(X, 0, np.asarray(trials), "Binomial", "Raise `trials`, or check that column")
