"""Uniform density on a box: every column is independent, and uniform between two ends.

    p(x) = prod_j 1 / (high_j - low_j)   inside,   0 outside

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
from fivefold.distributions.family import Family, GroupWeights, Members, RowWeights, Stats

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
class UniformMembers(Members):
    """K boxes."""

    low: Array  # (K, d)
    high: Array  # (K, d)

    def log_prob(self, X: Table) -> Table:
        xp = namespace(X)
        out = []
        for low, high in zip(self.low, self.high, strict=True):
            low, high = like(low, X), like(high, X)
            known = ~xp.isnan(X)
            outside = xp.any((low > X) | (high < X), axis=1)  # False where X is NaN
            log_sides = xp.sum(xp.where(known, xp.log(high - low), xp.zeros_like(X)), axis=1)
            out.append(xp.where(outside, xp.full_like(log_sides, -xp.inf), -log_sides))
        return xp.stack(out, axis=1)

    def sample(self, which: Codes, rng: Rng) -> Matrix:
        return rng.uniform(self.low[which], self.high[which])

    def expected_log_prob(self, stats: ColumnRanges) -> Vector:
        outside = ((stats.low < self.low) | (stats.high > self.high)).any(axis=1)
        return np.where(outside, -np.inf, -(stats.observed * np.log(self.high - self.low)).sum(axis=1))

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
