"""Independent exponential columns: waiting times without memory.

    p(x) = rate exp(-rate x),   x >= 0,   mean 1 / rate,   variance 1 / rate^2

In exponential form eta = -rate, u(x) = x, A = -log rate. The likelihood is greatest at one over the mean; a
Gamma(a, b) prior adds a - 1 events in a time of b. Missing entries are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.types import Array, Codes, Matrix, Rng, Table
from fivefold.distributions.family import Family
from fivefold.distributions.statistics.counts import check_values
from fivefold.distributions.statistics.exponential_columns import ExponentialColumnFamily, ExponentialColumns
from fivefold.distributions.statistics.marginal_shapes import entries, levels


@dataclass(frozen=True)
class ExponentialMembers(ExponentialColumns):
    """K members, each with one rate per column."""

    rate: Matrix  # (K, d)

    @staticmethod
    def statistics(X: Table) -> tuple[Table, ...]:
        return (X,)

    @staticmethod
    def inside(X: Table) -> Table:
        return X >= 0

    @property
    def column_parameters(self) -> tuple[Matrix, ...]:
        return (-self.rate,)

    @property
    def column_means(self) -> tuple[Matrix, ...]:
        return (self.mean,)

    @staticmethod
    def column_normaliser(*eta: Matrix) -> Matrix:
        return -np.log(-eta[0])

    @classmethod
    def from_columns(cls, *eta: Matrix) -> Self:
        return cls(-eta[0])

    def edge_log_prob(self, x: Array) -> Array:
        return np.full(np.broadcast_shapes(x.shape, self.rate.shape), -np.inf)

    def sample(self, which: Codes, rng: Rng) -> Matrix:
        return rng.standard_exponential((len(which), self.rate.shape[1])) / self.rate[which]

    @property
    def mean(self) -> Matrix:
        return 1 / self.rate

    @property
    def variance(self) -> Matrix:
        return 1 / self.rate**2

    def marginal_cdf(self, X: ArrayLike) -> Array:
        return -np.expm1(-self.rate * np.maximum(entries(X), 0.0))

    def marginal_quantile(self, q: ArrayLike) -> Array:
        with np.errstate(divide="ignore"):
            return -np.log1p(-levels(q)) / self.rate


@dataclass(frozen=True)
class Exponential(ExponentialColumnFamily):
    """Columns of waiting times.

    >>> family = Exponential()
    >>> family.fit(family.stats(np.array([[0.5], [1.0], [3.0]]), np.ones((3, 1)))).rate.round(4)
    array([[0.6667]])
    """

    @property
    def kind(self) -> type[ExponentialMembers]:
        return ExponentialMembers

    def refuse(self, X: Table) -> None:
        check_values(X, 0, np.inf, "Exponential", "Waiting times cannot be negative: check that column")

    def solve(self, *means: Matrix) -> ExponentialMembers:
        if not (means[0] > 0).all():
            k, j = np.argwhere(~(means[0] > 0))[0]
            raise ValueError(f"Exponential: every value of member {k} in column {j} is zero; give a prior, or drop it")
        return ExponentialMembers(1 / means[0])

    @classmethod
    def examples(cls, rng: Rng) -> Iterator[tuple[Family, Matrix]]:
        yield cls(), rng.exponential([0.5, 3.0], size=(200, 2))
