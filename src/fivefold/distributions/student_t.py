"""Independent Student t columns with location and scale: heavier tails than the normal.

    p(x) = Gamma((nu+1)/2) / (Gamma(nu/2) sqrt(nu pi) s) (1 + (x - m)^2 / (nu s^2))^(-(nu+1)/2)

mean m for nu > 1, variance s^2 nu / (nu - 2) for nu > 2; nu = 1 is the Cauchy distribution, nu -> infinity the normal.
The predictive distribution of a normal with unknown mean and precision is of this kind. The likelihood is maximised by
EM (statistics/student_t_fit.py). Missing entries are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln, digamma, stdtr, stdtrit

from fivefold.core.numerics.arrays import like, namespace
from fivefold.core.types import Array, Codes, Matrix, Rng, Table, Vector
from fivefold.distributions.family import Family
from fivefold.distributions.statistics.distinct_rows import DistinctRowFamily, DistinctRows, LocationScaleColumns
from fivefold.distributions.statistics.marginal_shapes import entries, levels
from fivefold.distributions.statistics.student_t_fit import fit_student_t, t_level


@dataclass(frozen=True)
class StudentTMembers(LocationScaleColumns):
    """K members, each with location, scale and degrees of freedom per column."""

    dof: Matrix  # (K, d)
    known_dof: bool = False  # whether the degrees of freedom were given and not fitted

    def standard_log_prob(self, z: Table, k: int) -> Table:
        nu = self.dof[k]
        return like(t_level(nu, 1, 0.0), z) - like(0.5 * (nu + 1), z) * namespace(z).log1p(z**2 / like(nu, z))

    def sample(self, which: Codes, rng: Rng) -> Matrix:
        return self.location[which] + self.scale[which] * rng.standard_t(self.dof[which])

    @property
    def n_parameters(self) -> int:
        return (2 if self.known_dof else 3) * int(self.location.size)

    @property
    def mean(self) -> Matrix:
        return np.where(self.dof > 1, self.location, np.nan)

    @property
    def variance(self) -> Matrix:
        with np.errstate(divide="ignore", invalid="ignore"):
            finite = self.scale**2 * self.dof / (self.dof - 2)
        return np.where(self.dof > 2, finite, np.where(self.dof > 1, np.inf, np.nan))

    @property
    def entropy(self) -> Vector:
        """E[-log p] (K,), in nats."""
        nu = self.dof
        tail = (nu + 1) / 2 * (digamma((nu + 1) / 2) - digamma(nu / 2))
        return (tail + 0.5 * np.log(nu) + betaln(nu / 2, 0.5) + np.log(self.scale)).sum(axis=1)

    def marginal_cdf(self, X: ArrayLike) -> Array:
        return stdtr(self.dof, (entries(X) - self.location) / self.scale)

    def marginal_quantile(self, q: ArrayLike) -> Array:
        p = levels(q)
        inner = stdtrit(self.dof, np.clip(p, 1e-300, 1 - 1e-16))
        standard = np.where(p == 0, -np.inf, np.where(p == 1, np.inf, inner))
        return self.location + self.scale * standard


@dataclass(frozen=True)
class StudentT(DistinctRowFamily):
    """Columns of numbers with outliers; `dof` are the degrees of freedom, or None to fit them."""

    dof: float | None = None

    def fit(self, stats: DistinctRows, prior: DistinctRows | None = None) -> StudentTMembers:
        stats = stats if prior is None else stats + prior
        location, scale, dof = (np.empty((len(stats.weights), stats.rows.shape[1])) for _ in range(3))
        for j, x in enumerate(stats.rows.T):
            known = ~np.isnan(x)
            if not stats.weights[:, known].any():
                raise ValueError(f"no value of column {j} was seen: give a prior, or drop that column")
            for k, w in enumerate(stats.weights):
                used = (w if w[known].any() else stats.weights.sum(axis=0))[known]
                place, spread, nu = fit_student_t(x[known, None], used, self.dof)
                location[k, j], scale[k, j], dof[k, j] = place[0], np.sqrt(spread[0, 0]), nu
        return StudentTMembers(location, scale, dof, self.dof is not None)

    @classmethod
    def examples(cls, rng: Rng) -> Iterator[tuple[Family, Matrix]]:
        X = np.array([1.0, -3.0]) + np.array([0.5, 2.0]) * rng.standard_t(4.0, size=(200, 2))
        yield cls(), X
        yield cls(3.0), X
