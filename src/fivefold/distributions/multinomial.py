"""Multinomial rows: how often each of d outcomes occurred; each row has its own number of trials.

    p(x) = n! / (x_1! ... x_d!) prod_j p_j^x_j,   n = sum_j x_j
    E x_j = n p_j,   Var x_j = n p_j (1 - p_j),   Cov(x_i, x_j) = -n p_i p_j

A Dirichlet(a) prior adds a_j - 1 outcomes. A missing count is left out, as if the outcome had not occurred.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr, logsumexp, rel_entr, softmax, xlog1py, xlogy

from fivefold.core.types import Array, Codes, Matrix, Rng, Table, Vector
from fivefold.distributions.family import Family, RowWeights
from fivefold.distributions.statistics.counts import (
    CountMembers,
    Totals,
    check_counts,
    count_totals,
    log_factorial,
    log_linear_scores,
    log_or_minus_inf,
    mean_over_counts,
    row_sums,
)


@dataclass(frozen=True)
class MultinomialMembers(CountMembers):
    """K members, each with one probability per outcome; `length` is the mean number of trials, for samples."""

    probability: Matrix  # (K, d)
    length: Vector  # (K,)

    def check(self, X: Table) -> None:
        check_counts(X, "Multinomial")

    def linear_scores(self, X: Table) -> Table:
        return log_linear_scores(X, self.natural_parameters, np.zeros_like(self.natural_parameters))

    def sample(self, which: Codes, rng: Rng) -> Matrix:
        X = np.empty((len(which), self.probability.shape[1]))
        for k in np.unique(which):
            rows = which == k
            X[rows] = rng.multinomial(round(float(self.length[k])), self.probability[k], size=rows.sum())
        return X

    def expected_log_prob(self, stats: Totals) -> Vector:
        return xlogy(stats.total, self.probability).sum(axis=1)

    @property
    def n_parameters(self) -> int:
        K, d = self.probability.shape
        return K * (d - 1)

    @property
    def mean(self) -> Matrix:
        return self.length[:, None] * self.probability

    @property
    def covariance(self) -> Array:
        """Covariance of the counts of rows with `length` trials (K, d, d); its rows sum to zero."""
        p = self.probability
        return self.length[:, None, None] * (np.eye(p.shape[1]) * p[:, None, :] - p[:, :, None] * p[:, None, :])

    @property
    def entropy(self) -> Vector:
        """Of rows with `length` trials, rounded (K,), in nats."""
        n, p = np.round(self.length), self.probability

        def log_pmf(x: Array) -> Array:  # of one outcome: binomial
            left = n[:, None] - x
            choices = log_factorial(n)[:, None] - log_factorial(x) - log_factorial(left)
            return choices + xlogy(x, p) + xlog1py(left, -p)

        mean, top = n[:, None] * p, n[:, None]
        base = mean_over_counts(log_factorial, log_pmf, mean, mean * (1 - p), top).sum(axis=1)
        return n * entr(p).sum(axis=1) - log_factorial(n) + base

    def kl_divergence(self, other: Self) -> Vector:
        """Of rows with `length` trials (K,), in nats."""
        return self.length * rel_entr(self.probability, other.probability).sum(axis=1)

    @cached_property
    def natural_parameters(self) -> Matrix:
        return log_or_minus_inf(self.probability)

    def log_normaliser(self, eta: Matrix) -> Vector:
        """For rows of `length` trials; zero for a member whose exp(eta) sums to one."""
        return self.length * logsumexp(eta, axis=1)

    def from_natural(self, eta: Matrix) -> MultinomialMembers:
        return MultinomialMembers(softmax(eta, axis=1), self.length)

    def log_base_measure(self, X: Table) -> Vector:
        """log n! / (x_1! ... x_d!) of each row."""
        return log_factorial(row_sums(X, lambda x, _: x)) - row_sums(X, lambda x, _: log_factorial(x))


@dataclass(frozen=True)
class Multinomial(Family):
    """Rows of counts of the same kind of thing, such as words."""

    def stats(self, X: Table, R: RowWeights) -> Totals:
        check_counts(X, "Multinomial")
        return count_totals(X, R)

    def fit(self, stats: Totals, prior: Totals | None = None) -> MultinomialMembers:
        length = stats.total.sum(axis=1) / np.where(stats.weight > 0, stats.weight, 1)
        total = stats.total if prior is None else stats.total + prior.total
        count = total.sum(axis=1, keepdims=True)
        if not count.any():
            raise ValueError("Multinomial: every count is zero: give a prior, or check the table")
        total = np.where(count > 0, total, total.sum(axis=0))
        return MultinomialMembers(total / total.sum(axis=1, keepdims=True), length)

    def prior(self, counts: ArrayLike) -> Totals:
        """A Dirichlet(1 + counts) prior: as if this many more of each outcome had been observed."""
        return Totals(np.zeros(1), np.zeros((1, 1)), np.atleast_2d(counts).astype(float))

    @classmethod
    def examples(cls, rng: Rng) -> Iterator[tuple[Family, Matrix]]:
        yield cls(), rng.multinomial(12, [0.1, 0.2, 0.3, 0.4], size=200) * 1.0
