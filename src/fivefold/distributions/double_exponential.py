"""Independent Laplace (double exponential) columns: a sharp peak and heavier tails than the normal.

    p(x) = exp(-|x - m| / s) / (2 s),   mean m,   variance 2 s^2

The likelihood is greatest at the median and at the mean distance from it. As a prior of coefficients it is the
absolute-value penalty of the lasso. Missing entries are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.numerics.arrays import namespace
from fivefold.core.types import Array, Codes, Matrix, Rng, Table, Vector
from fivefold.distributions.family import Family
from fivefold.distributions.statistics.distinct_rows import (
    DistinctRowFamily,
    DistinctRows,
    LocationScaleColumns,
    weighted_median,
)
from fivefold.distributions.statistics.marginal_shapes import entries, levels


@dataclass(frozen=True)
class LaplaceMembers(LocationScaleColumns):
    """K members, each with a location and a scale per column."""

    def standard_log_prob(self, z: Table, k: int) -> Table:
        return -namespace(z).abs(z) - np.log(2)

    def sample(self, which: Codes, rng: Rng) -> Matrix:
        return rng.laplace(self.location[which], self.scale[which])

    @property
    def n_parameters(self) -> int:
        return 2 * int(self.location.size)

    @property
    def mean(self) -> Matrix:
        return self.location

    @property
    def variance(self) -> Matrix:
        return 2 * self.scale**2

    @property
    def entropy(self) -> Vector:
        """E[-log p] (K,), in nats: 1 + log 2 s for each column."""
        return (1 + np.log(2 * self.scale)).sum(axis=1)

    def kl_divergence(self, other: LaplaceMembers) -> Vector:
        """KL(p_k || q_k) (K,), in nats."""
        away = np.abs(self.location - other.location)
        ratio = (self.scale * np.exp(-away / self.scale) + away) / other.scale
        return (ratio - 1 + np.log(other.scale / self.scale)).sum(axis=1)

    def marginal_cdf(self, X: ArrayLike) -> Array:
        z = (entries(X) - self.location) / self.scale
        tail = 0.5 * np.exp(-np.abs(z))
        return np.where(z < 0, tail, 1 - tail)

    def marginal_quantile(self, q: ArrayLike) -> Array:
        p = levels(q)
        with np.errstate(divide="ignore"):
            return self.location - self.scale * np.sign(p - 0.5) * np.log(2 * np.minimum(p, 1 - p))


@dataclass(frozen=True)
class Laplace(DistinctRowFamily):
    """Columns of numbers with a sharp peak.

    >>> family = Laplace()
    >>> found = family.fit(family.stats(np.array([[1.0], [2.0], [9.0]]), np.ones((3, 1))))
    >>> found.location, found.scale.round(4)
    (array([[2.]]), array([[2.6667]]))
    """

    def fit(self, stats: DistinctRows, prior: DistinctRows | None = None) -> LaplaceMembers:
        stats = stats if prior is None else stats + prior
        location, scale = (np.empty((len(stats.weights), stats.rows.shape[1])) for _ in range(2))
        for j, x in enumerate(stats.rows.T):
            known, W = ~np.isnan(x), stats.weights[:, ~np.isnan(x)]
            total = W.sum(axis=1)
            if not total.any():
                raise ValueError(f"no value of column {j} was seen: give a prior, or drop that column")
            W = np.where(total[:, None] > 0, W, W.sum(axis=0))
            location[:, j] = weighted_median(x[known], W)
            scale[:, j] = (W * np.abs(x[known] - location[:, j, None])).sum(axis=1) / W.sum(axis=1)
        if not (scale > 0).all():
            k, j = np.argwhere(~(scale > 0))[0]
            raise ValueError(
                f"Laplace: every value of member {k} in column {j} is {location[k, j]:g}; its density would be "
                "infinite. Give a prior, ask for fewer members, or drop that column"
            )
        return LaplaceMembers(location, scale)

    @classmethod
    def examples(cls, rng: Rng) -> Iterator[tuple[Family, Matrix]]:
        yield cls(), rng.laplace([1.0, -3.0], [0.5, 2.0], size=(200, 2))
