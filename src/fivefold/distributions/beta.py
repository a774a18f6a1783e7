"""Independent beta columns: numbers between zero and one, such as probabilities.

    p(x) = x^(a-1) (1-x)^(b-1) / B(a, b),   mean a / (a + b),   variance a b / ((a + b)^2 (a + b + 1))

In exponential form eta = (a - 1, b - 1), u(x) = (log x, log(1 - x)), A = log B(a, b). Beta(1, 1) is uniform. After
a - 1 successes and b - 1 failures this is the posterior of a probability that was uniform before. Missing entries are
left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaincinv, betaln, digamma, xlog1py, xlogy

from fivefold.core.numerics.arrays import is_tensor, namespace
from fivefold.core.types import Array, Codes, Matrix, Rng, Table
from fivefold.distributions.family import Family
from fivefold.distributions.statistics.counts import check_values
from fivefold.distributions.statistics.exponential_columns import ExponentialColumnFamily, ExponentialColumns
from fivefold.distributions.statistics.marginal_shapes import entries, levels
from fivefold.distributions.statistics.mean_logarithms import dirichlet_parameters


@dataclass(frozen=True)
class BetaMembers(ExponentialColumns):
    """K members, each with a and b per column."""

    a: Matrix  # (K, d)
    b: Matrix  # (K, d)

    @classmethod
    def from_mean(cls, mean: ArrayLike, strength: ArrayLike) -> Self:
        """By its mean and by a + b, the size of a sample that it is worth."""
        m, s = (np.atleast_2d(np.asarray(v, dtype=np.float64)) for v in (mean, strength))
        return cls(m * s, (1 - m) * s)

    @staticmethod
    def statistics(X: Table) -> tuple[Table, ...]:
        xp = namespace(X)
        return xp.log(X), xp.log1p(-X)

    @staticmethod
    def inside(X: Table) -> Table:
        return (X > 0) & (X < 1)

    @property
    def column_parameters(self) -> tuple[Matrix, ...]:
        return self.a - 1, self.b - 1

    @property
    def column_means(self) -> tuple[Matrix, ...]:
        both = digamma(self.a + self.b)
        return digamma(self.a) - both, digamma(self.b) - both

    @staticmethod
    def column_normaliser(*eta: Matrix) -> Matrix:
        return betaln(eta[0] + 1, eta[1] + 1)

    @classmethod
    def from_columns(cls, *eta: Matrix) -> Self:
        return cls(eta[0] + 1, eta[1] + 1)

    def edge_log_prob(self, x: Array) -> Array:
        held = np.clip(x, 0.0, 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = xlogy(self.a - 1, held) + xlog1py(self.b - 1, -held) - betaln(self.a, self.b)
        return np.where(x == held, logs, -np.inf)

    def sample(self, which: Codes, rng: Rng) -> Matrix:
        return rng.beta(self.a[which], self.b[which])

    @property
    def mean(self) -> Matrix:
        return self.a / (self.a + self.b)

    @property
    def variance(self) -> Matrix:
        total = self.a + self.b
        return self.a * self.b / (total**2 * (total + 1))

    @property
    def mode(self) -> Matrix:
        """Where the density is greatest: (a - 1) / (a + b - 2), or an end; NaN where both ends or all points are."""
        a, b = self.a, self.b
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.where((a > 1) & (b > 1), (a - 1) / (a + b - 2), np.where(a > b, 1.0, 0.0))
        return np.where((a == 1) & (b == 1) | (a < 1) & (b < 1), np.nan, found)

    def marginal_cdf(self, X: ArrayLike) -> Array:
        return betainc(self.a, self.b, np.clip(entries(X), 0.0, 1.0))

    def marginal_quantile(self, q: ArrayLike) -> Array:
        return betaincinv(self.a, self.b, levels(q))


@dataclass(frozen=True)
class Beta(ExponentialColumnFamily):
    """Columns of numbers between zero and one, both ends excluded.

    >>> members = BetaMembers(np.array([[2.0]]), np.array([[3.0]]))
    >>> members.mean, members.variance
    (array([[0.4]]), array([[0.04]]))
    """

    @property
    def kind(self) -> type[BetaMembers]:
        return BetaMembers

    def refuse(self, X: Table) -> None:
        least, most = _ends(X)
        check_values(X, least, most, "Beta", "Its values are between 0 and 1, both ends excluded: move them inside")

    def solve(self, *means: Matrix) -> BetaMembers:
        found = dirichlet_parameters(np.stack(means, axis=-1), "Beta")
        return BetaMembers(found[..., 0], found[..., 1])

    @classmethod
    def examples(cls, rng: Rng) -> Iterator[tuple[Family, Matrix]]:
        yield cls(), rng.beta([2.0, 5.0], [3.0, 1.5], size=(200, 2))


def _ends(X: Table) -> tuple[float, float]:
    """The smallest and largest number strictly between 0 and 1 in the precision of X."""
    precise = np.float32 if (is_tensor(X) and X.element_size() == 4) or X.dtype == np.float32 else np.float64
    return float(np.finfo(precise).smallest_subnormal), float(np.nextafter(precise(1), precise(0)))
