"""Independent binomial columns: the number of successes in a fixed number of trials.

    p(x) = C(n, x) p^x (1 - p)^(n - x),   mean n p,   variance n p (1 - p)

With one trial this is the Bernoulli distribution. In exponential form the natural parameter is the logit
eta = log p / (1 - p), the sufficient statistic x, the log-normaliser n log(1 + e^eta). A Beta(a, b) prior adds a - 1
successes and b - 1 failures. Missing entries are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr, bdtrik, expit, logit, rel_entr, xlog1py, xlogy

from fivefold.core.numerics.arrays import is_tensor, like
from fivefold.core.types import Array, Codes, Indices, Matrix, Rng, Table, Vector
from fivefold.distributions.family import Family, Marginals, RowWeights
from fivefold.distributions.statistics.counts import (
    CountMembers,
    Totals,
    affine_log_density,
    check_values,
    count_quantile,
    count_totals,
    log_factorial,
    mean_over_counts,
    pooled_share,
    row_sums,
)
from fivefold.distributions.statistics.marginal_shapes import entries, levels


@dataclass(frozen=True)
class BinomialMembers(Marginals, CountMembers):
    """K members, each with one success probability per column."""

    probability: Matrix  # (K, d)
    trials: int | tuple[int, ...] = 1  # the same number for all columns, or one per column

    def check(self, X: Table) -> None:
        check_successes(X, self.trials)

    def log_prob(self, X: Table) -> Table:
        if np.max(self.trials) > 1:
            return super().log_prob(X)
        self.check(X)
        return self.linear_scores(X)  # log h(x) is zero

    def linear_scores(self, X: Table) -> Table:
        p, n = self.probability, np.asarray(self.trials)
        theta, fail = self._terms
        out = affine_log_density(X, theta, fail * n)
        if p.min() == 0 or p.max() == 1:
            # -inf for a success where p = 0 and for a failure where p = 1
            out[affine_log_density(X, (p == 0) - 1.0 * (p == 1), (p == 1) * n) > 0] = -np.inf
        return out

    @cached_property
    def _terms(self) -> tuple[Matrix, Matrix]:
        """log p / (1 - p) and log(1 - p), or zeros where p is 0 or 1."""
        sure = (self.probability == 0) | (self.probability == 1)
        inside = np.where(sure, 0.5, self.probability)
        fail = np.where(sure, 0.0, np.log1p(-inside))
        return np.where(sure, 0.0, np.log(inside)) - fail, fail

    def _log_choices(self, x: Table, columns: Indices | slice) -> Table:
        """log C(n, x)."""
        trials = np.broadcast_to(self.trials, self.probability.shape[1:])[columns]
        n = like(trials, x) if is_tensor(x) else trials
        return log_factorial(n) - log_factorial(x) - log_factorial(n - x)

    def sample(self, which: Codes, rng: Rng) -> Matrix:
        return rng.binomial(np.broadcast_to(self.trials, self.probability.shape[1:]), self.probability[which]) * 1.0

    def expected_log_prob(self, stats: Totals) -> Vector:
        p = self.probability
        return (xlogy(stats.total, p) + xlog1py(stats.observed * np.asarray(self.trials) - stats.total, -p)).sum(axis=1)

    @property
    def n_parameters(self) -> int:
        return int(self.probability.size)

    @property
    def mean(self) -> Matrix:
        return self.probability * np.asarray(self.trials)

    @property
    def variance(self) -> Matrix:
        return self.mean * (1 - self.probability)

    @property
    def entropy(self) -> Vector:
        """E[-log p] (K,), in nats."""
        p, n = self.probability, np.asarray(self.trials)

        def log_pmf(x: Array) -> Array:
            return log_factorial(n) - log_factorial(x) - log_factorial(n - x) + xlogy(x, p) + xlog1py(n - x, -p)

        def minus_log_pmf(x: Array) -> Array:
            logs = log_pmf(x)
            return np.where(np.isfinite(logs), -logs, 0.0)

        return mean_over_counts(minus_log_pmf, log_pmf, self.mean, self.variance, n).sum(axis=1)

    def kl_divergence(self, other: Self) -> Vector:
        p, q = self.probability, other.probability
        return (np.asarray(self.trials) * (rel_entr(p, q) + rel_entr(1 - p, 1 - q))).sum(axis=1)

    def marginal_cdf(self, X: ArrayLike) -> Array:
        return self._cdf(entries(X))

    def _cdf(self, x: Array) -> Array:
        n = np.asarray(self.trials)
        return np.where(x < 0, 0.0, np.where(x >= n, 1.0, bdtr(np.clip(np.floor(x), 0, n), n, self.probability)))

    def marginal_quantile(self, q: ArrayLike) -> Array:
        n, p = np.asarray(self.trials), levels(q)
        sure = (self.probability == 0) | (self.probability == 1)
        guess = np.where(sure, n * self.probability, bdtrik(p, n, np.where(sure, 0.5, self.probability)))
        return np.minimum(count_quantile(self._cdf, np.where(np.isnan(guess), n, guess), p), n)

    @property
    def natural_parameters(self) -> Matrix:
        return logit(self.probability)

    def log_normaliser(self, eta: Matrix) -> Vector:
        return (np.asarray(self.trials) * np.logaddexp(0, eta)).sum(axis=1)

    def from_natural(self, eta: Matrix) -> BinomialMembers:
        return BinomialMembers(expit(eta), self.trials)

    def log_base_measure(self, X: Table) -> Vector:
        return row_sums(X, self._log_choices)


@dataclass(frozen=True)
class Binomial(Family):
    """Columns of successes among `trials`, a number for all columns or one per column."""

    trials: int | tuple[int, ...] = 1

    def stats(self, X: Table, R: RowWeights) -> Totals:
        check_successes(X, self.trials)
        return count_totals(X, R)

    def fit(self, stats: Totals, prior: Totals | None = None) -> BinomialMembers:
        stats = stats if prior is None else stats + prior
        return BinomialMembers(pooled_share(stats.total, stats.observed * np.asarray(self.trials)), self.trials)

    def prior(self, successes: ArrayLike, failures: ArrayLike) -> Totals:
        """A Beta(1 + successes, 1 + failures) prior: as if this many more of each had been observed in every column."""
        total, failed = np.atleast_2d(successes).astype(float), np.atleast_2d(failures).astype(float)
        return Totals(np.zeros(1), (total + failed) / np.asarray(self.trials), total)

    @classmethod
    def examples(cls, rng: Rng) -> Iterator[tuple[Family, Matrix]]:
        yield cls(7), rng.binomial(7, [0.2, 0.5, 0.9], size=(200, 3)) * 1.0
        yield cls((1, 4)), rng.binomial([1, 4], [0.6, 0.3], size=(200, 2)) * 1.0


def check_successes(X: Table, trials: int | tuple[int, ...]) -> None:
    """Refuse values that cannot be a number of successes."""
    if np.max(trials) == 1:
        check_values(X, 0, 1, "Bernoulli", "Turn the column into 0 and 1, for example by a threshold")
    else:
        check_values(X, 0, np.asarray(trials), "Binomial", "Raise `trials`, or check that column")
