"""Dirichlet rows: positive shares that sum to one.

    p(x) = Gamma(alpha_0) / prod_i Gamma(alpha_i) prod_i x_i^(alpha_i - 1),   alpha_0 = sum_i alpha_i
    E x_i = alpha_i / alpha_0,   Cov(x_i, x_j) = (m_i [i = j] - m_i m_j) / (alpha_0 + 1),   m = E x

a density of all columns but one. In exponential form eta = alpha - 1, u(x) = log x. Two columns are a beta
distribution and the rest of it. The shares of some columns, and of all others together, are Dirichlet too: so missing
entries are integrated out, and EM adds the expected logarithms of the missing shares given the known ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaincinv, digamma, gammaln

from fivefold.core.numerics.arrays import like, namespace, to_device_of, to_numpy
from fivefold.core.types import Array, Codes, Mask, Matrix, Rng, Table, Vector
from fivefold.distributions.family import (
    Accumulator,
    ExponentialForm,
    Family,
    Marginals,
    Members,
    RowWeights,
    sum_stats,
)
from fivefold.distributions.statistics.counts import Totals, affine_log_density, count_totals, pooled_share
from fivefold.distributions.statistics.marginal_shapes import entries, levels
from fivefold.distributions.statistics.mean_logarithms import dirichlet_parameters

SUM_ROUNDING = 1e-5  # how far the sum of a row may be from one: shares of seven digits


@dataclass(frozen=True)
class DirichletMembers(ExponentialForm, Marginals, Members):
    """K members, each with one parameter per share."""

    alpha: Matrix  # (K, d)

    @classmethod
    def from_mean(cls, mean: ArrayLike, strength: ArrayLike) -> Self:
        """By its mean and by alpha_0, the size of a sample that it is worth."""
        return cls(np.atleast_2d(np.asarray(mean, dtype=np.float64)) * np.asarray(strength, dtype=np.float64))

    @property
    def strength(self) -> Vector:
        """alpha_0 (K,)."""
        return self.alpha.sum(axis=1)

    def log_prob(self, X: Table) -> Table:
        """Log density (n, K) of the known shares; -inf off the simplex."""
        xp = namespace(X)
        known = ~xp.isnan(X)
        shares = xp.where(known, X, xp.zeros_like(X))
        rest, complete = 1 - xp.sum(shares, axis=1), xp.all(known, axis=1)
        off = xp.any(shares < 0, axis=1) | xp.where(complete, xp.abs(rest) > SUM_ROUNDING, rest < -SUM_ROUNDING)
        level = gammaln(self.strength)[:, None] / self.alpha.shape[1] - gammaln(self.alpha)
        edge = known & (X <= 0)
        safe = xp.where(edge, xp.ones_like(X), X)
        out = affine_log_density(xp.log(safe), self.alpha - 1, level)
        if bool(xp.any(edge)):
            zeros = xp.astype(edge, X.dtype)
            for sign, where in ((-xp.inf, self.alpha > 1), (xp.inf, self.alpha < 1)):
                out[zeros @ like(where.T * 1.0, X) > 0] = sign
        if not bool(xp.all(complete)):
            rows = ~complete
            extra = self._of_rest(np.asarray(to_numpy(known[rows])), np.asarray(to_numpy(rest[rows]), dtype=float))
            out[rows] += like(extra, X)
        out[off] = -xp.inf
        return out

    def _of_rest(self, known: Mask, rest: Vector) -> Matrix:
        """What the shares that are not known add (n, K): together they are one share, the rest."""
        gaps = ~known * 1.0
        alpha = gaps @ self.alpha.T
        shared = gaps.sum(axis=1)[:, None] / known.shape[1] * gammaln(self.strength)
        with np.errstate(divide="ignore"):
            return shared - gammaln(alpha) + (alpha - 1) * np.log(np.maximum(rest, 0.0))[:, None]

    def sample(self, which: Codes, rng: Rng) -> Matrix:
        drawn = rng.standard_gamma(self.alpha[which])
        return drawn / drawn.sum(axis=1, keepdims=True)

    def expected_log_prob(self, stats: Totals) -> Vector:
        level = gammaln(self.strength) - gammaln(self.alpha).sum(axis=1)
        return stats.observed[:, 0] * level + ((self.alpha - 1) * stats.total).sum(axis=1)

    @property
    def n_parameters(self) -> int:
        return int(self.alpha.size)

    @property
    def mean(self) -> Matrix:
        return self.alpha / self.strength[:, None]

    @property
    def variance(self) -> Matrix:
        return self.mean * (1 - self.mean) / (self.strength + 1)[:, None]

    @property
    def covariance(self) -> Array:
        """(K, d, d); its rows sum to zero."""
        m = self.mean
        spread = np.eye(m.shape[1]) * m[:, None, :] - m[:, :, None] * m[:, None, :]
        return spread / (self.strength + 1)[:, None, None]

    @property
    def mode(self) -> Matrix:
        """Where the density is greatest (K, d); NaN unless every parameter is above one."""
        top = self.alpha - 1
        return np.where((top > 0).all(axis=1, keepdims=True), top / top.sum(axis=1, keepdims=True), np.nan)

    def marginal_cdf(self, X: ArrayLike) -> Array:
        return betainc(self.alpha, self._others, np.clip(entries(X), 0.0, 1.0))

    def marginal_quantile(self, q: ArrayLike) -> Array:
        return betaincinv(self.alpha, self._others, levels(q))

    @property
    def _others(self) -> Matrix:
        return self.strength[:, None] - self.alpha

    @property
    def natural_parameters(self) -> Matrix:
        return self.alpha - 1

    @property
    def mean_statistics(self) -> Matrix:
        return digamma(self.alpha) - digamma(self.strength)[:, None]

    def sufficient_statistics(self, X: Table) -> Matrix:
        return np.log(X)

    def log_normaliser(self, eta: Matrix) -> Vector:
        return gammaln(eta + 1).sum(axis=1) - gammaln((eta + 1).sum(axis=1))

    def from_natural(self, eta: Matrix) -> DirichletMembers:
        return DirichletMembers(eta + 1)


@dataclass(frozen=True)
class Dirichlet(Family):
    """Rows of positive shares that sum to one."""

    def stats(self, X: Table, R: RowWeights) -> Totals:
        xp = namespace(X)
        if bool(xp.any(xp.isnan(X))):
            raise ValueError(
                "Dirichlet: a row has missing shares; EM fills them in by expectation (fit a mixture), or give the "
                "other shares, which must sum to one"
            )
        refuse_other_rows(X)
        return count_totals(xp.log(X), R)

    def fit(self, stats: Totals, prior: Totals | None = None) -> DirichletMembers:
        stats = stats if prior is None else stats + prior
        return DirichletMembers(dirichlet_parameters(pooled_share(stats.total, stats.observed)))

    def prior(self, mean_logs: ArrayLike, rows: float) -> Totals:
        """A conjugate prior: as if this many more rows had been seen, whose logarithms have these means."""
        means = np.atleast_2d(np.asarray(mean_logs, dtype=np.float64))
        return Totals(np.zeros(1), np.full(means.shape, float(rows)), rows * means)

    def accumulator(self, members: DirichletMembers) -> Accumulator:
        return ShareAccumulator(members)

    @classmethod
    def examples(cls, rng: Rng) -> Iterator[tuple[Family, Matrix]]:
        yield cls(), rng.dirichlet([2.0, 3.0, 1.5], size=200)


class ShareAccumulator(Accumulator):
    """Sums of logarithms; those of missing shares by expectation under the members."""

    def __init__(self, members: DirichletMembers) -> None:
        self._members = members
        self._parts: list[Totals] = []

    def add(self, Z: Matrix, R: Matrix) -> None:
        X, W = np.ascontiguousarray(Z.T), np.ascontiguousarray(R.T)
        missing = np.isnan(X).any(axis=1)
        self._parts.append(Dirichlet().stats(X[~missing], W[~missing]))
        if missing.any():
            self._parts.append(self._expected(X[missing], W[missing]))

    def _expected(self, X: Matrix, W: Matrix) -> Totals:
        """E log x_i = log rest + psi(alpha_i) - psi(sum of the alpha that are not known)."""
        gaps = np.isnan(X)
        with np.errstate(divide="ignore"):
            logs = np.where(gaps, np.log(np.maximum(1 - np.nansum(X, axis=1), 0.0))[:, None], np.log(X))
        total = W.T @ logs
        alpha = self._members.alpha
        for k, w in enumerate(W.T):
            total[k] += (w[:, None] * np.where(gaps, digamma(alpha[k]) - digamma(gaps @ alpha[k])[:, None], 0.0)).sum(0)
        weight = W.sum(axis=0)
        return Totals(weight, np.repeat(weight[:, None], X.shape[1], axis=1), total)

    def stats(self) -> Totals:
        return sum_stats(self._parts)


def refuse_other_rows(X: Table) -> None:
    """Refuse rows that are not positive shares of one."""
    xp = namespace(X)
    sums = xp.sum(X, axis=1)
    bad = (xp.abs(sums - 1) > SUM_ROUNDING) | xp.any(X <= 0, axis=1)
    if bool(xp.any(bad)):
        i = int(to_numpy(to_device_of(bad, X)).argmax())
        raise ValueError(
            f"Dirichlet: row {i} is {np.asarray(to_numpy(X[i])).round(6).tolist()}, with sum {float(sums[i]):.6g}; "
            "rows are positive shares that sum to one. Divide each row by its sum, and replace zeros by small shares"
        )
