"""Members of different kinds: member k follows the family k, counted round and round.

    p_k(x) = the density of member k of family k mod F

So a mixture may have a Gaussian component beside a uniform one. Each family keeps statistics for every member and uses
its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fivefold.core.numerics.arrays import namespace
from fivefold.core.types import Array, Codes, Table
from fivefold.distributions.family import Accumulator, Family, Members
from fivefold.distributions.gaussian import Gaussian
from fivefold.distributions.product import ProductAccumulator, ProductStats
from fivefold.distributions.uniform import UniformBox


@dataclass(frozen=True)
class AlternativeMembers(Members):
    """All members of every family, of which member k counts in family k mod F only."""

    parts: tuple[Any, ...]
    count: int

    def log_prob(self, X: Table) -> Any:
        logs = [part.log_prob(X) for part in self.parts]
        return namespace(logs[0]).stack([logs[k % len(logs)][:, k] for k in range(self.count)], axis=1)

    def sample(self, which: Codes, rng: np.random.RandomState) -> Array:
        drawn = np.array([part.sample(which, rng) for part in self.parts])
        return drawn[which % len(self.parts), np.arange(len(which))]

    def expected(self, stats: ProductStats) -> Array:
        pairs = zip(self.parts, stats.parts, strict=True)
        values = [np.zeros(self.count) if s is None else part.expected(s) for part, s in pairs]
        return np.array([values[k % len(values)][k] for k in range(self.count)])

    @property
    def n_parameters(self) -> int:
        F, K = len(self.parts), self.count
        return sum(part.n_parameters * len(range(f, K, F)) // K for f, part in enumerate(self.parts))


@dataclass(frozen=True)
class Alternatives(Family):
    """A family a member: `Alternatives((Gaussian(), UniformBox()))`."""

    families: tuple[Family, ...]

    def stats(self, X: Any, R: Any) -> ProductStats:
        parts = tuple(family.stats(X, R) for family in self.families)
        return ProductStats(parts[0].weight, parts)

    def fit(self, stats: ProductStats, prior: ProductStats | None = None) -> AlternativeMembers:
        priors = (None,) * len(self.families) if prior is None else prior.parts
        pairs = zip(self.families, stats.parts, priors, strict=True)
        return AlternativeMembers(tuple(family.fit(s, p) for family, s, p in pairs), len(stats.weight))

    def prior(self, *parts: Any) -> ProductStats:
        """The priors of the families, in their order; None for one without."""
        return ProductStats(np.zeros(1), parts)

    def accumulator(self, members: AlternativeMembers) -> Accumulator:
        pairs = zip(self.families, members.parts, strict=True)
        return ProductAccumulator((family.accumulator(m), slice(None)) for family, m in pairs)

    @classmethod
    def examples(cls, rng: np.random.RandomState) -> Iterator[tuple[Family, Array]]:
        yield cls((Gaussian(), UniformBox())), rng.uniform([-1.0, 0.0], [1.0, 5.0], size=(200, 2))
