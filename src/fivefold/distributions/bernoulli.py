"""Bernoulli columns, independent: 0 or 1.

    p(x) = p^x (1 - p)^(1 - x),   mean p,   variance p (1 - p)

The binomial distribution with one trial, and with its members: likelihood is greatest at the relative frequency.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fivefold.core.types import Array
from fivefold.distributions.binomial import Binomial, BinomialMembers
from fivefold.distributions.family import Family
from fivefold.distributions.statistics.counts import Totals


@dataclass(frozen=True)
class Bernoulli(Family):
    """Columns of zeros and ones."""

    def stats(self, X: Any, R: Any) -> Totals:
        return Binomial(1).stats(X, R)

    def fit(self, stats: Totals, prior: Totals | None = None) -> BinomialMembers:
        return Binomial(1).fit(stats, prior)

    def prior(self, ones: Any, zeros: Any) -> Totals:
        """A Beta(1 + ones, 1 + zeros) prior: as if so many more had been seen, of each column."""
        return Binomial(1).prior(ones, zeros)

    @classmethod
    def examples(cls, rng: np.random.RandomState) -> Iterator[tuple[Family, Array]]:
        yield cls(), rng.binomial(1, [0.2, 0.5, 0.8, 0.9], size=(200, 4)) * 1.0
