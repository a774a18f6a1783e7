"""Independent Bernoulli columns: 0 or 1.

    p(x) = p^x (1 - p)^(1 - x),   mean p,   variance p (1 - p)

The binomial distribution with one trial, whose members it uses. The likelihood is greatest at the relative frequency.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from numpy.typing import ArrayLike

from fivefold.core.types import Matrix, Rng, Table
from fivefold.distributions.binomial import Binomial, BinomialMembers
from fivefold.distributions.family import Family, RowWeights
from fivefold.distributions.statistics.counts import Totals


@dataclass(frozen=True)
class Bernoulli(Family):
    """Columns of zeros and ones."""

    def stats(self, X: Table, R: RowWeights) -> Totals:
        return Binomial(1).stats(X, R)

    def fit(self, stats: Totals, prior: Totals | None = None) -> BinomialMembers:
        return Binomial(1).fit(stats, prior)

    def prior(self, ones: ArrayLike, zeros: ArrayLike) -> Totals:
        """A Beta(1 + ones, 1 + zeros) prior: as if this many more of each had been observed in every column."""
        return Binomial(1).prior(ones, zeros)

    @classmethod
    def examples(cls, rng: Rng) -> Iterator[tuple[Family, Matrix]]:
        yield cls(), rng.binomial(1, [0.2, 0.5, 0.8, 0.9], size=(200, 4)) * 1.0
