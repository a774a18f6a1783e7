"""Distributions of what states emit: Dirichlet for symbols, Gaussian-Wishart for rows of numbers.

    Dirichlet          q(B_k) = Dir(alpha_k)                                    alpha_k = prior + counts
    Gaussian-Wishart   q(mu_k | L_k) = N(m_k, (beta_k L_k)^-1),  q(L_k) = W(nu_k, S_k^-1)
                       beta = beta0 + N,   m = (beta0 m0 + N xbar) / beta,   nu = nu0 + N
                       S = S0 + scatter + beta0 N / beta (xbar - m0)(xbar - m0)'

    E log p(x | k) = log N(x | m, S / nu) + 1/2 (sum_i psi((nu + 1 - i) / 2) + d log(2 / nu)) - d / (2 beta)

Diagonal and spherical scales are treated as matrices with their entries on the diagonal, as in hmmlearn; a spherical
one takes the mean of the columns, a tied one the sum of the states. McGrory & Titterington (2009); Gruhl & Sick (2016).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.special import digamma, gammaln

from fivefold.core.types import Codes, Doubles, Indices, Table
from fivefold.distributions.categorical import Categorical, CategoricalMembers, LevelCounts
from fivefold.distributions.gaussian import Diagonal, Full, Gaussian, GroupMoments, Spherical, Tied
from fivefold.sequence.hidden_markov.emissions import (
    CategoricalEmission,
    GaussianEmission,
    gaussian_members,
    symbol_log_rows,
)
from fivefold.sequence.hidden_markov.variational_model import dirichlet_divergence, expected_log

STRUCTURES = {"spherical": Spherical(), "diag": Diagonal(), "full": Full(), "tied": Tied()}


@dataclass(frozen=True)
class SymbolLogs:
    """Symbols by the logarithm of what stands for their probabilities."""

    levels: tuple[int, ...]
    logs: Doubles  # (K, sum of levels)

    def log_rows(self, X: Codes) -> tuple[Doubles, Indices | None]:
        """One row per symbol and the symbols of X, or one per row of X."""
        return symbol_log_rows(self.logs, self.levels, X)


@dataclass(frozen=True)
class DirichletEmission:
    """Symbols of one or several columns, which lie side by side."""

    levels: tuple[int, ...]
    alpha: Doubles  # (K, sum of levels)
    prior: Doubles
    learns: bool = True

    def _by_column(self, table: Doubles) -> list[Doubles]:
        return np.split(table, np.cumsum(self.levels)[:-1], axis=1)

    def _emission(self, table: Doubles) -> CategoricalEmission:
        return CategoricalEmission(Categorical(self.levels), CategoricalMembers(table, self.levels))

    def expected(self) -> SymbolLogs:
        """E log p of the symbols."""
        return SymbolLogs(self.levels, np.hstack([expected_log(part) for part in self._by_column(self.alpha)]))

    def mean(self) -> CategoricalEmission:
        """The mean probabilities."""
        parts = self._by_column(self.alpha)
        return self._emission(np.hstack([part / part.sum(axis=1, keepdims=True) for part in parts]))

    def stats(self, X: Any, R: Doubles) -> LevelCounts:
        """Counts of symbols under the weights R (n, K)."""
        return self.mean().stats(X, R)

    def maximise(self, stats: LevelCounts) -> Self:
        """Prior and counts."""
        return replace(self, alpha=self.prior + stats.counts) if self.learns else self

    def divergence(self) -> float:
        """KL from the prior."""
        pairs = zip(self._by_column(self.alpha), self._by_column(self.prior), strict=True)
        return float(sum(dirichlet_divergence(q, p).sum() for q, p in pairs))


@dataclass(frozen=True)
class ShiftedEmission:
    """Rows of another emission, with a number added to the logarithm of each state."""

    emission: GaussianEmission
    shift: Doubles  # (K,)

    def log_rows(self, X: Table) -> tuple[Doubles, Indices | None]:
        """log p(x | k) + shift (n, K)."""
        found, codes = self.emission.log_rows(X)
        return found + self.shift, codes


@dataclass(frozen=True)
class GaussianWishartEmission:
    """Means and precisions of rows of numbers; `scale` and `dof` have the shape of the covariance type."""

    kind: str  # spherical, diag, full or tied
    mean_: Doubles  # (K, d)
    beta: Doubles  # (K,)
    dof: Doubles  # (K,), or () if tied
    scale: Doubles  # (K,), (K, d), (K, d, d) or (d, d)
    mean_prior: Doubles
    beta_prior: Doubles
    dof_prior: Doubles
    scale_prior: Doubles
    learns_means: bool = True
    learns_scales: bool = True

    def _per_state(self, values: Doubles) -> Doubles:
        """One number per state (K,)."""
        return np.broadcast_to(values, self.beta.shape)

    def _matrices(self, scale: Doubles) -> Doubles:
        """(K, d, d)."""
        K, d = self.mean_.shape
        if self.kind == "full":
            return scale
        if self.kind == "tied":
            return np.tile(scale, (K, 1, 1))
        return (scale if self.kind == "diag" else np.repeat(scale[:, None], d, axis=1))[:, :, None] * np.eye(d)

    @property
    def covariance(self) -> Doubles:
        """Scale over degrees of freedom, in the shape of the type."""
        return self.scale / self.dof.reshape(self.dof.shape + (1,) * (self.scale.ndim - self.dof.ndim))

    def mean(self) -> GaussianEmission:
        """Gaussians with the means of the parameters."""
        family = Gaussian(STRUCTURES[self.kind])
        return GaussianEmission(family, gaussian_members(family, self.mean_, self.covariance))

    def expected(self) -> ShiftedEmission:
        """The same, up to a number per state."""
        d, dof = self.mean_.shape[1], self._per_state(self.dof)
        logs = digamma((dof - np.arange(d)[:, None]) / 2).sum(axis=0)
        return ShiftedEmission(self.mean(), 0.5 * (logs + d * np.log(2 / dof)) - d / (2 * self.beta))

    def stats(self, X: Any, R: Doubles) -> GroupMoments:
        """Moments of the rows under the weights R (n, K)."""
        return self.mean().stats(X, R)

    def maximise(self, stats: GroupMoments) -> Self:
        """Priors and moments."""
        N = np.asarray(stats.weight, dtype=np.float64)
        xbar = np.where(N[:, None] > 0, stats.mean, self.mean_prior)
        beta, mean = self.beta, self.mean_
        if self.learns_means:
            beta = self.beta_prior + N
            mean = (self.beta_prior[:, None] * self.mean_prior + N[:, None] * xbar) / beta[:, None]
        if not self.learns_scales:
            return replace(self, beta=beta, mean_=mean)
        spread = np.where(N.reshape(-1, *(1 for _ in stats.scatter.shape[1:])) > 0, stats.scatter, 0.0)
        away, back = xbar - mean, mean - self.mean_prior
        form = "k,ki,kj->kij" if self.kind in ("full", "tied") else "k,ki,ki->ki"
        moved = np.einsum(form, N, away, away) + np.einsum(form, self.beta_prior, back, back)
        total, counts = spread + moved, N
        if self.kind == "tied":
            total, counts = total.sum(axis=0), N.sum()
        elif self.kind == "spherical":
            total = total.mean(axis=1)
        return replace(self, beta=beta, mean_=mean, dof=self.dof_prior + counts, scale=self.scale_prior + total)

    def divergence(self) -> float:
        """KL from the prior: of the means given the mean precision, and of the precisions."""
        d, dof = self.mean_.shape[1], self._per_state(self.dof)
        precision = dof[:, None, None] * np.linalg.inv(self._matrices(self.scale))
        away, ratio = self.mean_ - self.mean_prior, self.beta_prior / self.beta
        means = 0.5 * (
            d * (ratio - 1 - np.log(ratio)) + self.beta_prior * np.einsum("ki,kij,kj->k", away, precision, away)
        )
        scales = wishart_divergence(
            dof, self._matrices(self.scale), self._per_state(self.dof_prior), self._matrices(self.scale_prior)
        )
        return float(means.sum() + (scales[0] if self.kind == "tied" else scales.sum()))


def wishart_divergence(dof_q: Doubles, scale_q: Doubles, dof_p: Doubles, scale_p: Doubles) -> Doubles:
    """KL of Wishart distributions with these degrees of freedom (K,) and inverse scales (K, d, d)."""
    d = scale_q.shape[-1]
    below = np.arange(d)[:, None]

    def log_normaliser(dof: Doubles, scale: Doubles) -> Doubles:
        logdet = np.linalg.slogdet(scale / 2)[1]
        found: Doubles = -dof / 2 * logdet + gammaln((dof - below) / 2).sum(axis=0)
        return found

    log_det = -np.linalg.slogdet(scale_q / 2)[1] + digamma((dof_q - below) / 2).sum(axis=0)  # E log |precision|
    trace = np.trace(scale_p @ np.linalg.inv(scale_q), axis1=-2, axis2=-1)
    found: Doubles = (dof_q - dof_p) / 2 * log_det - d * dof_q / 2 + dof_q / 2 * trace
    return found + log_normaliser(dof_p, scale_p) - log_normaliser(dof_q, scale_q)
