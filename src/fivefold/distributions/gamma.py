"""Independent gamma columns, by shape and rate: positive numbers, sums of waiting times, precisions.

    p(x) = b^a / Gamma(a) x^(a-1) exp(-b x),   x > 0,   mean a / b,   variance a / b^2

In exponential form eta = (-b, a - 1), u(x) = (x, log x), A = log Gamma(a) - a log b. The likelihood is greatest where
log a - psi(a) = log mean(x) - mean(log x), which Newton's method solves (Minka 2002), and b = a / mean(x). Missing
entries are left out. Shape 1 is the exponential distribution.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma, gammainc, gammaincinv, gammaln, polygamma, xlogy

from fivefold.core.numerics.arrays import namespace
from fivefold.core.types import Array, Codes, Matrix, Rng, Table
from fivefold.distributions.family import Family
from fivefold.distributions.statistics.counts import check_values
from fivefold.distributions.statistics.exponential_columns import ExponentialColumnFamily, ExponentialColumns
from fivefold.distributions.statistics.marginal_shapes import entries, levels

MIN_SPREAD = 1e-13  # log mean(x) - mean(log x) below which rounding decides on the shape: values equal to 3e-7


@dataclass(frozen=True)
class GammaMembers(ExponentialColumns):
    """K members, each with a shape and a rate per column."""

    shape: Matrix  # (K, d)
    rate: Matrix  # (K, d)

    @staticmethod
    def statistics(X: Table) -> tuple[Table, ...]:
        return X, namespace(X).log(X)

    @staticmethod
    def inside(X: Table) -> Table:
        return X > 0

    @property
    def column_parameters(self) -> tuple[Matrix, ...]:
        return -self.rate, self.shape - 1

    @property
    def column_means(self) -> tuple[Matrix, ...]:
        return self.mean, self.mean_log

    @staticmethod
    def column_normaliser(*eta: Matrix) -> Matrix:
        rate, shape = -eta[0], eta[1] + 1
        return gammaln(shape) - shape * np.log(rate)

    @classmethod
    def from_columns(cls, *eta: Matrix) -> Self:
        return cls(eta[1] + 1, -eta[0])

    def edge_log_prob(self, x: Array) -> Array:
        level = self.shape * np.log(self.rate) - gammaln(self.shape)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(x < 0, -np.inf, level + xlogy(self.shape - 1, np.maximum(x, 0.0)))

    def sample(self, which: Codes, rng: Rng) -> Matrix:
        return rng.standard_gamma(self.shape[which]) / self.rate[which]

    @property
    def mean(self) -> Matrix:
        return self.shape / self.rate

    @property
    def mean_log(self) -> Matrix:
        """E log x (K, d)."""
        return digamma(self.shape) - np.log(self.rate)

    @property
    def variance(self) -> Matrix:
        return self.shape / self.rate**2

    @property
    def mode(self) -> Matrix:
        """Where the density is greatest: (a - 1) / b, or 0 for a shape below one."""
        return np.maximum(self.shape - 1, 0.0) / self.rate

    def marginal_cdf(self, X: ArrayLike) -> Array:
        return gammainc(self.shape, self.rate * np.maximum(entries(X), 0.0))

    def marginal_quantile(self, q: ArrayLike) -> Array:
        return gammaincinv(self.shape, levels(q)) / self.rate


@dataclass(frozen=True)
class Gamma(ExponentialColumnFamily):
    """Columns of positive numbers.

    >>> family = Gamma()
    >>> family.fit(family.stats(np.array([[1.0], [2.0], [3.0]]), np.ones((3, 1)))).shape.round(4)
    array([[5.3752]])
    """

    @property
    def kind(self) -> type[GammaMembers]:
        return GammaMembers

    def refuse(self, X: Table) -> None:
        least = np.finfo(np.float64).smallest_subnormal
        check_values(X, float(least), np.inf, "Gamma", "Its values are above zero: check that column")

    def solve(self, *means: Matrix) -> GammaMembers:
        spread = np.log(means[0]) - means[1]
        if not (spread > MIN_SPREAD).all():
            k, j = np.argwhere(~(spread > MIN_SPREAD))[0]
            raise ValueError(
                f"Gamma: the values of member {k} in column {j} are all {means[0][k, j]:g}, or nearly, for their size; "
                "no shape is large enough. Describe them by a Gaussian, give a prior, or drop that column"
            )
        shape = gamma_shape(spread)
        return GammaMembers(shape, shape / means[0])

    @classmethod
    def examples(cls, rng: Rng) -> Iterator[tuple[Family, Matrix]]:
        yield cls(), rng.gamma([3.0, 8.0], [0.5, 3.0], size=(200, 2))


def gamma_shape(spread: Array) -> Array:
    """The a with log a - psi(a) = spread > 0, by Newton's method on 1 / a."""
    a = (3 - spread + np.sqrt((spread - 3) ** 2 + 24 * spread)) / (12 * spread)  # within 1.5 percent
    for _ in range(8):  # the error is squared each time: four would do
        large = a > 1e3  # differences of logarithms cancel there, and three terms of the series have all digits
        gap = np.where(large, 1 / (2 * a) + 1 / (12 * a**2) - 1 / (120 * a**4), np.log(a) - digamma(a))
        slope = np.where(large, -1 / (2 * a**2) - 1 / (6 * a**3) + 1 / (30 * a**5), 1 / a - polygamma(1, a))
        a = 1 / (1 / a + (gap - spread) / (a**2 * slope))
    return a
