"""Each state emits a mixture of Gaussians: K states with M components each.

    p(x | k) = sum_m c_km N(x | mu_km, Sigma_km)

The K M Gaussians are members of one family, state after state. A row counts in a component by the probability of the
state times that of the component within it. With `tied` covariances the components of a state share one matrix.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from fivefold.core.parallel import map_parts
from fivefold.core.types import Codes, Doubles, Indices, Matrix, Rng, Table
from fivefold.distributions.family import Stats
from fivefold.distributions.gaussian import Gaussian, GaussianMembers, GroupMoments
from fivefold.distributions.statistics.counts import log_or_minus_inf
from fivefold.distributions.statistics.empty_groups import refill_empty
from fivefold.inference.chains.forward_backward import scaled_exponentials
from fivefold.inference.em import CollapseError
from fivefold.sequence.hidden_markov.emissions import member_stats


@dataclass(frozen=True)
class MixtureStats(Stats):
    """Moments of the components; `weight` (K,) is that of the states."""

    shares: Doubles  # (K, M): weight of each component
    moments: GroupMoments  # of K M components


@dataclass(frozen=True)
class MixtureEmission:
    """Mixtures of Gaussians."""

    family: Gaussian
    members: GaussianMembers  # K M of them
    weights: Doubles  # (K, M)
    prior: GroupMoments
    weights_prior: Doubles | float = 0.0  # added to the weight of each component
    tied: bool = False  # do the components of a state share a matrix?
    learns: str = "mcw"

    def log_rows(self, X: Table) -> tuple[Doubles, Indices | None]:
        values, top = scaled_exponentials(self._by_state(X))
        with np.errstate(divide="ignore"):
            return (np.log(values.sum(axis=1)) + top).reshape(len(X), -1), None

    def stats(self, X: Table, R: Matrix) -> MixtureStats:
        K, M = self.weights.shape
        values, _ = scaled_exponentials(self._by_state(X))
        total = values.sum(axis=1, keepdims=True)
        values *= R.reshape(-1, 1) / np.where(total > 0, total, 1.0)
        shares = values.reshape(len(X), K * M)
        sums: Doubles = np.sum(map_parts(lambda lo, hi: shares[lo:hi].sum(axis=0), len(X)), axis=0)
        moments = member_stats(self.family, self.members, X, shares)
        return MixtureStats(sums.reshape(K, M).sum(axis=1), sums.reshape(K, M), moments)

    def maximise(self, stats: MixtureStats) -> Self:
        weights, members = self.weights, self.members
        if "w" in self.learns:
            counts = np.maximum(stats.shares + self.weights_prior, 0.0)
            total = counts.sum(axis=1, keepdims=True)
            weights = np.where(total > 0, counts / np.where(total > 0, total, 1.0), weights)
        if "m" in self.learns or "c" in self.learns:
            members = self._gaussians(refill_empty(stats.moments) + self.prior)
        return replace(self, weights=weights, members=members)

    def _gaussians(self, moments: GroupMoments) -> GaussianMembers:
        mean = moments.mean if "m" in self.learns else self.members.mean
        if "c" not in self.learns:
            return replace(self.members, mean=mean)
        scatter, degrees = moments.scatter + moments._between(moments.count, moments.mean - mean), moments.degrees
        if self.tied:
            K, M = self.weights.shape
            scatter = np.repeat(scatter.reshape(K, M, *scatter.shape[1:]).sum(axis=1), M, axis=0)
            degrees = np.repeat(degrees.reshape(K, M).sum(axis=1), M)
        try:
            return GaussianMembers(mean, self.family.structure.fit(scatter, degrees, self.family.floor))
        except ValueError as error:
            raise CollapseError(
                f"{error}. A component has too few rows, or one row repeated: ask for fewer states or components, or "
                "give a prior (covars_prior, covars_weight)"
            ) from error

    def log_prior(self) -> float:
        known = np.broadcast_to(self.weights_prior, self.weights.shape)[self.weights > 0]
        value = float((known * np.log(self.weights[self.weights > 0])).sum())
        return value + float(self.members.expected_log_prob(self.prior).sum())

    def sample(self, which: Codes, rng: Rng) -> Matrix:
        M = self.weights.shape[1]
        passed = np.cumsum(self.weights, axis=1)[which] < rng.uniform(size=(len(which), 1))
        return self.members.sample(which * M + np.minimum(passed.sum(axis=1), M - 1), rng)

    @property
    def n_parameters(self) -> int:
        K, M = self.weights.shape
        spread = self.members.covariance.n_parameters
        return self.members.mean.size + (spread // M if self.tied else spread) + K * (M - 1)

    def _by_state(self, X: Table) -> Doubles:
        """log c_km N(x | mu_km, Sigma_km), a row per row of X and state (n K, M)."""
        K, M = self.weights.shape
        L: Doubles = self.members.log_prob(X, np.maximum(log_or_minus_inf(self.weights).ravel(), -1e290))
        return np.asarray(L, dtype=np.float64).reshape(len(X) * K, M)
