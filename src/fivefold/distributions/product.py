"""Families side by side: independent groups of columns, each with a family of its own.

    log p_k(x) = sum_g log p_k^g(x_g)

So a table of numbers, counts and categories has one likelihood. Statistics, members and samples are those of the
parts, in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from fivefold.core.types import Codes, Matrix, Rng, Table, Vector
from fivefold.distributions.bernoulli import Bernoulli
from fivefold.distributions.categorical import Categorical
from fivefold.distributions.family import Accumulator, Family, FamilyStats, Members, RowWeights, Stats, to_host
from fivefold.distributions.poisson import Poisson


@dataclass(frozen=True)
class Part:
    """A family, and the columns it describes."""

    family: Family
    columns: tuple[int, ...]


@dataclass(frozen=True)
class ProductStats(Stats):
    """The statistics of the parts."""

    parts: tuple[FamilyStats, ...]  # None for a part of a prior that has none

    def __add__(self, other: Self) -> Self:
        return type(self)(
            self.weight + other.weight, tuple(a + b for a, b in zip(self.parts, other.parts, strict=True))
        )

    def __sub__(self, other: Self) -> Self:
        return type(self)(
            self.weight - other.weight, tuple(a - b for a, b in zip(self.parts, other.parts, strict=True))
        )

    def __mul__(self, scale: float) -> Self:
        return type(self)(self.weight * scale, tuple(part * scale for part in self.parts))

    __rmul__ = __mul__

    def to_host(self) -> Self:
        return type(self)(to_host(self.weight), tuple(part.to_host() for part in self.parts))


@dataclass(frozen=True)
class ProductMembers(Members):
    """The members of the parts."""

    parts: tuple[Members, ...]
    columns: tuple[tuple[int, ...], ...]

    def log_prob(self, X: Table) -> Table:
        return sum(part.log_prob(X[:, list(columns)]) for part, columns in self._pairs())

    def log_prob_columns(self, Z: Matrix, shift: Vector, out: Matrix) -> Matrix:
        out[:] = shift[:, None]
        one, zero = np.empty_like(out), np.zeros_like(shift)
        for part, columns in self._pairs():
            out += part.log_prob_columns(Z[list(columns)], zero, one)
        return out

    def sample(self, which: Codes, rng: Rng) -> Matrix:
        X = np.empty((len(which), sum(map(len, self.columns))))
        for part, columns in self._pairs():
            X[:, list(columns)] = part.sample(which, rng)
        return X

    def expected_log_prob(self, stats: ProductStats) -> Vector:
        pairs = zip(self.parts, stats.parts, strict=True)
        return np.sum([part.expected_log_prob(s) for part, s in pairs if s is not None], axis=0)

    @property
    def n_parameters(self) -> int:
        return sum(part.n_parameters for part in self.parts)

    def _pairs(self) -> Iterator[tuple[Members, tuple[int, ...]]]:
        return zip(self.parts, self.columns, strict=True)


class ProductAccumulator(Accumulator):
    """One accumulator per part, with the rows of Z that it reads."""

    def __init__(self, parts: Iterable[tuple[Accumulator, list[int] | slice]]) -> None:
        self._parts = list(parts)

    def add(self, Z: Matrix, R: Matrix) -> None:
        for part, columns in self._parts:
            part.add(Z[columns], R)

    def stats(self) -> ProductStats:
        parts = tuple(part.stats() for part, _ in self._parts)
        return ProductStats(parts[0].weight, parts)


@dataclass(frozen=True)
class Product(Family):
    """Independent parts: `Product((Part(Gaussian(), (0, 1)), Part(Categorical((3,)), (2,))))`."""

    parts: tuple[Part, ...]

    def stats(self, X: Table, R: RowWeights) -> ProductStats:
        parts = tuple(part.family.stats(X[:, list(part.columns)], R) for part in self.parts)
        return ProductStats(parts[0].weight, parts)

    def fit(self, stats: ProductStats, prior: ProductStats | None = None) -> ProductMembers:
        priors = (None,) * len(self.parts) if prior is None else prior.parts
        members = (part.family.fit(s, p) for part, s, p in zip(self.parts, stats.parts, priors, strict=True))
        return ProductMembers(tuple(members), tuple(part.columns for part in self.parts))

    def prior(self, *parts: FamilyStats | None) -> ProductStats:
        """The priors of the parts, in the same order; None for a part without one."""
        return ProductStats(np.zeros(1), parts)

    def accumulator(self, members: ProductMembers) -> Accumulator:
        pairs = zip(self.parts, members.parts, strict=True)
        return ProductAccumulator((part.family.accumulator(m), list(part.columns)) for part, m in pairs)

    @classmethod
    def examples(cls, rng: Rng) -> Iterator[tuple[Family, Matrix]]:
        X = np.column_stack([rng.poisson(3, 200), rng.randint(0, 3, 200), rng.binomial(1, 0.3, 200)]) * 1.0
        yield cls((Part(Poisson(), (0,)), Part(Categorical((3,)), (1,)), Part(Bernoulli(), (2,)))), X
