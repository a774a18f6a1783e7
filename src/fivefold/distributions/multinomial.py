"""Multinomial rows: how often each of d outcomes came up, the number of trials being that of the row.

    p(x) = n! / (x_1! ... x_d!) prod_j p_j^x_j,   n = sum_j x_j
    E x_j = n p_j,   Var x_j = n p_j (1 - p_j),   Cov(x_i, x_j) = -n p_i p_j

A Dirichlet(a) prior adds a_j - 1 outcomes. A count that is missing is left out, as if none had been seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import logsumexp, softmax, xlogy

from fivefold.core.types import Array, Codes, Table
from fivefold.distributions.family import ExponentialForm, Family, Members
from fivefold.distributions.statistics.counts import (
    Totals,
    affine_log_density,
    check_values,
    count_totals,
    log_factorial,
    row_sums,
)


@dataclass(frozen=True)
class MultinomialMembers(ExponentialForm, Members):
    """K members, each with a probability an outcome; `length` is the mean number of trials, for samples."""

    probability: Array  # (K, d)
    length: Array  # (K,)

    def log_prob(self, X: Table) -> Any:
        """Log probability (n, K); -inf for outcomes of probability zero."""
        _check(X)
        return self.linear(X) + self.log_base(X)[:, None]

    def linear(self, X: Table) -> Any:
        """The same less log h(x), which no member differs in."""
        never, none = np.isneginf(self.natural), np.zeros_like(self.natural)
        if not never.any():
            return affine_log_density(X, self.natural, none)
        out = affine_log_density(X, np.where(never, 0.0, self.natural), none)
        out[affine_log_density(X, never * 1.0, none) > 0] = -np.inf
        return out

    def sample(self, which: Codes, rng: np.random.RandomState) -> Array:
        X = np.empty((len(which), self.probability.shape[1]))
        for k in np.unique(which):
            rows = which == k
            X[rows] = rng.multinomial(round(float(self.length[k])), self.probability[k], size=rows.sum())
        return X

    def expected(self, stats: Totals) -> Array:
        return xlogy(stats.total, self.probability).sum(axis=1)

    @property
    def n_parameters(self) -> int:
        K, d = self.probability.shape
        return K * (d - 1)

    @property
    def mean(self) -> Array:
        return self.length[:, None] * self.probability

    @property
    def covariance(self) -> Array:
        """Of the counts, for rows of `length` trials (K, d, d); its rows sum to zero."""
        p = self.probability
        return self.length[:, None, None] * (np.eye(p.shape[1]) * p[:, None, :] - p[:, :, None] * p[:, None, :])

    @cached_property
    def natural(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self.probability)

    @property
    def mean_sufficient(self) -> Array:
        return self.mean

    def sufficient(self, X: Table) -> Array:
        return np.asarray(X)

    def log_normaliser(self, eta: Array) -> Array:
        """Of rows of `length` trials; zero for any row where exp(eta) sums to one."""
        return self.length * logsumexp(eta, axis=1)

    def from_natural(self, eta: Array) -> MultinomialMembers:
        return MultinomialMembers(softmax(eta, axis=1), self.length)

    def log_base(self, X: Table) -> Array:
        """log n! / (x_1! ... x_d!) of each row."""
        return log_factorial(row_sums(X, lambda x, _: x)) - row_sums(X, lambda x, _: log_factorial(x))


@dataclass(frozen=True)
class Multinomial(Family):
    """Rows of counts of the same kind of thing, such as words."""

    def stats(self, X: Any, R: Any) -> Totals:
        _check(X)
        return count_totals(X, R)

    def fit(self, stats: Totals, prior: Totals | None = None) -> MultinomialMembers:
        length = stats.total.sum(axis=1) / np.where(stats.weight > 0, stats.weight, 1)
        total = stats.total if prior is None else stats.total + prior.total
        count = total.sum(axis=1, keepdims=True)
        if not count.any():
            raise ValueError("Multinomial: every count is zero: give a prior, or check the table")
        total = np.where(count > 0, total, total.sum(axis=0))
        return MultinomialMembers(total / total.sum(axis=1, keepdims=True), length)

    def prior(self, counts: Any) -> Totals:
        """A Dirichlet(1 + counts) prior: as if so many more of each outcome had been seen."""
        counts = np.atleast_2d(counts).astype(float)
        return Totals(np.zeros(1), np.zeros((1, 1)), counts)

    @classmethod
    def examples(cls, rng: np.random.RandomState) -> Iterator[tuple[Family, Array]]:
        yield cls(), rng.multinomial(12, [0.1, 0.2, 0.3, 0.4], size=200) * 1.0


def _check(X: Table) -> None:
    check_values(X, 0, np.inf, "Multinomial", "Counts cannot be negative: check that column")
