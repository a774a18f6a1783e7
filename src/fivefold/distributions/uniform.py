"""Uniform density on a box: every column is independent, and uniform between two ends.

    p(x) = prod_j 1 / (high_j - low_j)        inside,   0 outside
    P(x) = prod_j 1 / (high_j - low_j + 1)    of whole numbers low_j, low_j + 1, ..., high_j

The likelihood is greatest for the smallest box that holds the rows. Missing entries are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.numerics.arrays import like, namespace, to_numpy
from fivefold.core.types import Array, Codes, Matrix, Rng, Table, Vector
from fivefold.distributions.family import Family, GroupWeights, Marginals, Members, RowWeights, Stats
from fivefold.distributions.statistics.marginal_shapes import entries, levels

MIN_RESPONSIBILITY = 1e-200  # a row with a smaller responsibility lies outside the box: EM never gives it exactly zero


@dataclass(frozen=True)
class ColumnRanges(Stats):
    """Weight of the rows and smallest and largest known values of K groups."""

    observed: Array  # (K, d) weight of the known entries
    low: Array  # (K, d), +inf where nothing is known
    high: Array  # (K, d), -inf where nothing is known

    def __add__(self, other: Self) -> Self:
        return type(self)(
            self.weight + other.weight,
            self.observed + other.observed,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )

    def __sub__(self, other: Self) -> Self:
        raise TypeError("the range of the remaining rows does not follow from two ranges")

    def __mul__(self, scale: float) -> Self:
        return type(self)(self.weight * scale, self.observed * scale, self.low, self.high)

    __rmul__ = __mul__


@dataclass(frozen=True)
class UniformMembers(Marginals, Members):
    """K boxes."""

    low: Array  # (K, d)
    high: Array  # (K, d)

    @property
    def sides(self) -> Array:
        """Lengths of the sides (K, d); for whole numbers, how many there are."""
        return self.high - self.low

    def log_prob(self, X: Table) -> Table:
        xp = namespace(X)
        out = []
        for low, high, sides in zip(self.low, self.high, self.sides, strict=True):
            low, high = like(low, X), like(high, X)
            known = ~xp.isnan(X)
            outside = xp.any((low > X) | (high < X) | self._between_atoms(X), axis=1)  # False where X is NaN
            log_sides = xp.sum(xp.where(known, xp.log(like(sides, X)), xp.zeros_like(X)), axis=1)
            out.append(xp.where(outside, xp.full_like(log_sides, -xp.inf), -log_sides))
        return xp.stack(out, axis=1)

    def _between_atoms(self, X: Table) -> Table:
        """Where X has probability zero although it is inside the box."""
        return namespace(X).zeros_like(X) > 0

    def sample(self, which: Codes, rng: Rng) -> Matrix:
        return rng.uniform(self.low[which], self.high[which])

    def expected_log_prob(self, stats: ColumnRanges) -> Vector:
        outside = ((stats.low < self.low) | (stats.high > self.high)).any(axis=1)
        return np.where(outside, -np.inf, -(stats.observed * np.log(self.sides)).sum(axis=1))

    @property
    def entropy(self) -> Vector:
        """E[-log p] (K,), in nats."""
        return np.log(self.sides).sum(axis=1)

    def kl_divergence(self, other: UniformMembers) -> Vector:
        """KL(p_k || q_k) (K,), in nats: infinite unless q_k's box holds p_k's."""
        held = ((other.low <= self.low) & (self.high <= other.high)).all(axis=1)
        return np.where(held, other.entropy - self.entropy, np.inf)

    def marginal_cdf(self, X: ArrayLike) -> Array:
        return np.clip((entries(X) - self.low) / self.sides, 0.0, 1.0)

    def marginal_quantile(self, q: ArrayLike) -> Array:
        return self.low + levels(q) * self.sides

    @property
    def n_parameters(self) -> int:
        return int(self.low.size + self.high.size)

    @property
    def mean(self) -> Array:
        return (self.low + self.high) / 2

    @property
    def variance(self) -> Array:
        return (self.high - self.low) ** 2 / 12


@dataclass(frozen=True)
class DiscreteUniformMembers(UniformMembers):
    """K boxes of whole numbers, both ends included."""

    @property
    def sides(self) -> Array:
        return self.high - self.low + 1

    def _between_atoms(self, X: Table) -> Table:
        return namespace(X).floor(X) < X

    def sample(self, which: Codes, rng: Rng) -> Matrix:
        return np.floor(self.low[which] + rng.uniform(size=self.low[which].shape) * self.sides[which])

    @property
    def variance(self) -> Array:
        return (self.sides**2 - 1) / 12

    def marginal_cdf(self, X: ArrayLike) -> Array:
        return np.clip((np.floor(entries(X)) - self.low + 1) / self.sides, 0.0, 1.0)

    def marginal_quantile(self, q: ArrayLike) -> Array:
        return self.low + np.maximum(np.ceil(levels(q) * self.sides - 1e-12) - 1, 0.0)


@dataclass(frozen=True)
class UniformBox(Family):
    """Rows spread evenly over a box with sides along the columns."""

    def stats(self, X: Table, R: RowWeights) -> ColumnRanges:
        X = np.asarray(to_numpy(X), dtype=np.float64)
        R = np.asarray(R.to_matrix() if isinstance(R, GroupWeights) else to_numpy(R))
        known = ~np.isnan(X)
        low, high = np.where(known, X, np.inf), np.where(known, X, -np.inf)
        rows = [R[:, k] > MIN_RESPONSIBILITY for k in range(R.shape[1])]
        return ColumnRanges(
            R.sum(axis=0),
            R.T @ known,
            np.array([low[r].min(axis=0, initial=np.inf) for r in rows]),
            np.array([high[r].max(axis=0, initial=-np.inf) for r in rows]),
        )

    def fit(self, stats: ColumnRanges, prior: ColumnRanges | None = None) -> UniformMembers:
        stats = stats if prior is None else stats + prior
        low, high = stats.low, stats.high
        unseen = low > high
        low = np.where(unseen, low.min(axis=0), low)
        high = np.where(unseen, high.max(axis=0), high)
        if not (low < high).all():
            k, j = np.argwhere(~(low < high))[0]
            raise ValueError(
                f"UniformBox: member {k} has no width in column {j}, where all its rows hold {low[k, j]:g}; "
                "its density would be infinite. Give a prior range, ask for fewer members, or drop that column"
            )
        return UniformMembers(low, high)

    def prior(self, low: ArrayLike, high: ArrayLike) -> ColumnRanges:
        """A box that every member contains."""
        ends = (np.atleast_2d(end).astype(float) for end in (low, high))
        return ColumnRanges(np.zeros(1), np.zeros((1, 1)), *ends)

    @classmethod
    def examples(cls, rng: Rng) -> Iterator[tuple[Family, Matrix]]:
        yield cls(), rng.uniform([-1.0, 0.0, 5.0], [1.0, 0.5, 9.0], size=(200, 3))


@dataclass(frozen=True)
class DiscreteUniform(Family):
    """Whole numbers spread evenly over a box, such as the eyes of dice."""

    def stats(self, X: Table, R: RowWeights) -> ColumnRanges:
        table = np.asarray(to_numpy(X), dtype=np.float64)
        if (bad := np.floor(table) < table).any():
            i, j = np.argwhere(bad)[0]
            raise ValueError(f"DiscreteUniform: column {j} holds {table[i, j]:g} in row {i}; allowed are whole numbers")
        return UniformBox().stats(table, R)

    def fit(self, stats: ColumnRanges, prior: ColumnRanges | None = None) -> DiscreteUniformMembers:
        stats = stats if prior is None else stats + prior
        unseen = stats.low > stats.high
        low = np.where(unseen, stats.low.min(axis=0), stats.low)
        high = np.where(unseen, stats.high.max(axis=0), stats.high)
        if (low > high).any():
            j = int((low > high).any(axis=0).argmax())
            raise ValueError(f"no value of column {j} was seen: give a prior, or drop that column")
        return DiscreteUniformMembers(low, high)

    def prior(self, low: ArrayLike, high: ArrayLike) -> ColumnRanges:
        """A box that every member contains."""
        return UniformBox().prior(low, high)

    @classmethod
    def examples(cls, rng: Rng) -> Iterator[tuple[Family, Matrix]]:
        yield cls(), rng.randint([1, -3], [7, 10], size=(200, 2)) * 1.0
