"""Members of different families, which are assigned to the members in turn.

    p_k(x) = the density of member k of family k mod F

with F families. So a mixture may have a Gaussian component beside a uniform one. Each family keeps statistics and
parameters for every member, of which only its own members count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fivefold.core.numerics.arrays import namespace
from fivefold.core.types import Codes, Matrix, Rng, Table, Vector
from fivefold.distributions.family import Accumulator, Family, FamilyStats, Members, RowWeights
from fivefold.distributions.gaussian import Gaussian
from fivefold.distributions.product import ProductAccumulator, ProductStats
from fivefold.distributions.uniform import UniformBox


@dataclass(frozen=True)
class AlternativeMembers(Members):
    """K members of every family, of which member k counts only in family k mod F."""

    parts: tuple[Members, ...]
    count: int  # K

    def log_prob(self, X: Table) -> Table:
        logs = [part.log_prob(X) for part in self.parts]
        return namespace(logs[0]).stack([logs[k % len(logs)][:, k] for k in range(self.count)], axis=1)

    def sample(self, which: Codes, rng: Rng) -> Matrix:
        drawn = np.array([part.sample(which, rng) for part in self.parts])
        return drawn[which % len(self.parts), np.arange(len(which))]

    def expected_log_prob(self, stats: ProductStats) -> Vector:
        pairs = zip(self.parts, stats.parts, strict=True)
        values = [np.zeros(self.count) if s is None else part.expected_log_prob(s) for part, s in pairs]
        return np.array([values[k % len(values)][k] for k in range(self.count)])

    @property
    def n_parameters(self) -> int:
        F, K = len(self.parts), self.count
        return sum(part.n_parameters * len(range(f, K, F)) // K for f, part in enumerate(self.parts))


@dataclass(frozen=True)
class Alternatives(Family):
    """One family per member: `Alternatives((Gaussian(), UniformBox()))`."""

    families: tuple[Family, ...]

    def stats(self, X: Table, R: RowWeights) -> ProductStats:
        parts = tuple(family.stats(X, R) for family in self.families)
        return ProductStats(parts[0].weight, parts)

    def fit(self, stats: ProductStats, prior: ProductStats | None = None) -> AlternativeMembers:
        priors = (None,) * len(self.families) if prior is None else prior.parts
        pairs = zip(self.families, stats.parts, priors, strict=True)
        return AlternativeMembers(tuple(family.fit(s, p) for family, s, p in pairs), len(stats.weight))

    def prior(self, *parts: FamilyStats | None) -> ProductStats:
        """The priors of the families, in the same order; None for a family without one."""
        return ProductStats(np.zeros(1), parts)

    def accumulator(self, members: AlternativeMembers) -> Accumulator:
        pairs = zip(self.families, members.parts, strict=True)
        return ProductAccumulator((family.accumulator(m), slice(None)) for family, m in pairs)

    @classmethod
    def examples(cls, rng: Rng) -> Iterator[tuple[Family, Matrix]]:
        yield cls((Gaussian(), UniformBox())), rng.uniform([-1.0, 0.0], [1.0, 5.0], size=(200, 2))
