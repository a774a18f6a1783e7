"""Independent von Mises columns: angles, in radians.

    p(x) = exp(kappa cos(x - mu)) / (2 pi I_0(kappa)),   for one turn of x

In exponential form eta = kappa (cos mu, sin mu), u(x) = (cos x, sin x), A = log 2 pi I_0(kappa). The likelihood is
greatest at the direction of the mean vector of (cos x, sin x), and at the kappa with I_1(kappa) / I_0(kappa) equal to
its length. kappa = 0 is uniform; for large kappa it is nearly N(mu, 1 / kappa). Missing entries are left out.
Mardia & Jupp (2000).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import i0e, i1e, ive

from fivefold.core.numerics.arrays import namespace
from fivefold.core.types import Array, Codes, Matrix, Rng, Table
from fivefold.distributions.family import Family
from fivefold.distributions.statistics.exponential_columns import ExponentialColumnFamily, ExponentialColumns
from fivefold.distributions.statistics.marginal_shapes import entries, levels

TURN = 2 * np.pi
MAX_LENGTH = 1 - 1e-12  # length of the mean vector beyond which rounding decides on kappa
SERIES_REACH = 9.0  # terms of the Fourier series per root of kappa: the next ones are below 1e-17


@dataclass(frozen=True)
class VonMisesMembers(ExponentialColumns):
    """K members, each with a direction and a concentration per column."""

    direction: Matrix  # (K, d)
    concentration: Matrix  # (K, d)

    period = TURN

    @staticmethod
    def statistics(X: Table) -> tuple[Table, ...]:
        xp = namespace(X)
        return xp.cos(X), xp.sin(X)

    @staticmethod
    def inside(X: Table) -> Table:
        return namespace(X).isfinite(X)

    @property
    def column_parameters(self) -> tuple[Matrix, ...]:
        return self.concentration * np.cos(self.direction), self.concentration * np.sin(self.direction)

    @property
    def column_means(self) -> tuple[Matrix, ...]:
        return self.length * np.cos(self.direction), self.length * np.sin(self.direction)

    @staticmethod
    def column_normaliser(*eta: Matrix) -> Matrix:
        kappa = np.hypot(*eta)
        return np.log(TURN * i0e(kappa)) + kappa

    @classmethod
    def from_columns(cls, *eta: Matrix) -> Self:
        return cls(np.arctan2(eta[1], eta[0]), np.hypot(*eta))

    def edge_log_prob(self, x: Array) -> Array:
        return np.full(np.broadcast_shapes(x.shape, self.direction.shape), -np.inf)

    def sample(self, which: Codes, rng: Rng) -> Matrix:
        return rng.vonmises(self.direction[which], self.concentration[which])

    @property
    def length(self) -> Matrix:
        """Length of the mean vector (K, d): 0 if all directions are equally likely, near 1 if few are."""
        return i1e(self.concentration) / i0e(self.concentration)

    @property
    def mean(self) -> Matrix:
        return self.direction

    @property
    def variance(self) -> Matrix:
        """The circular variance, 1 - length of the mean vector."""
        return 1 - self.length

    def marginal_cdf(self, X: ArrayLike) -> Array:
        """Probability from half a turn below the direction up to each entry; a whole turn more adds one."""
        kappa, angle = self.concentration, entries(X) - self.direction
        turns = np.floor(angle / TURN + 0.5)
        angle = angle - TURN * turns
        total = angle / 2
        for j in range(1, 10 + int(SERIES_REACH * np.sqrt(kappa.max()))):
            total = total + ive(j, kappa) / i0e(kappa) * np.sin(j * angle) / j
        return turns + 0.5 + total / np.pi

    def marginal_quantile(self, q: ArrayLike) -> Array:
        wanted = np.broadcast_to(levels(q), (np.size(q), *self.direction.shape))
        low, high = self.direction - np.pi + 0 * wanted, self.direction + np.pi + 0 * wanted
        for _ in range(54):  # halvings of a turn down to rounding
            middle = (low + high) / 2
            below = self._cdf_of(middle) < wanted
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return (low + high) / 2

    def _cdf_of(self, x: Array) -> Array:
        """Of entries (m, K, d), one per member."""
        K, d = self.direction.shape
        columns = VonMisesMembers(self.direction.reshape(1, -1), self.concentration.reshape(1, -1))
        return columns.marginal_cdf(x.reshape(-1, K * d)).reshape(-1, K, d)


@dataclass(frozen=True)
class VonMises(ExponentialColumnFamily):
    """Columns of angles in radians; whole turns do not matter.

    >>> family = VonMises()
    >>> found = family.fit(family.stats(np.array([[3.1], [-3.1]]), np.ones((2, 1))))
    >>> np.abs(found.direction).round(4), found.concentration.round(1)
    (array([[3.1416]]), array([[578.4]]))
    """

    @property
    def kind(self) -> type[VonMisesMembers]:
        return VonMisesMembers

    def refuse(self, X: Table) -> None:
        xp = namespace(X)
        if bool(xp.any(xp.isinf(X))):
            raise ValueError("VonMises: the table holds an infinite angle; replace it by a missing value")

    def solve(self, *means: Matrix) -> VonMisesMembers:
        length = np.hypot(*means)
        if not (length < MAX_LENGTH).all():
            k, j = np.argwhere(~(length < MAX_LENGTH))[0]
            raise ValueError(
                f"VonMises: the angles of member {k} in column {j} are all the same, or nearly; no concentration is "
                "large enough. Give a prior, ask for fewer members, or drop that column"
            )
        return VonMisesMembers(np.arctan2(means[1], means[0]), concentration(length))

    @classmethod
    def examples(cls, rng: Rng) -> Iterator[tuple[Family, Matrix]]:
        yield cls(), rng.vonmises([0.5, -2.0], [3.0, 1.5], size=(200, 2))


def concentration(length: Array) -> Array:
    """The kappa with I_1(kappa) / I_0(kappa) = length < 1, by Newton's method."""
    kappa = length * (2 - length**2) / (1 - length**2)  # within a few percent (Banerjee et al. 2005)
    for _ in range(12):  # the error is squared each time
        ratio, v = i1e(kappa) / i0e(kappa), 1 / np.maximum(kappa, 1.0)
        large = kappa > 1e4  # 1 - ratio cancels there, and its series has all digits
        gap = np.where(large, (1 - length) - v / 2 - v**2 / 8 - v**3 / 8, ratio - length)
        slope = np.where(large, v**2 / 2 + v**3 / 4, 1 - ratio**2 - ratio / np.maximum(kappa, 1e-300))
        slope = np.where(kappa > 1e-4, slope, 0.5)  # its limit at zero
        kappa = np.maximum(kappa - gap / slope, kappa / 10)
    return kappa
