"""What the states of a hidden Markov model emit: K members of a family of distributions.

An emission gives log p(x_t | z_t = k) of rows, collects statistics of rows under the probabilities of the states, and
makes a new emission of them. A prior is pseudo-statistics. States may share a member (`TiedEmission`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, TypeAlias, cast

import numpy as np

from fivefold.core.parallel import BLOCK_ROWS, map_parts, scratch
from fivefold.core.types import Codes, Doubles, Indices, Matrix, Rng, Table
from fivefold.distributions.categorical import Categorical, CategoricalMembers, LevelCounts, split_by_column
from fivefold.distributions.family import Accumulator, Family, FamilyMembers, FamilyStats, sum_stats
from fivefold.distributions.gaussian import Gaussian, GaussianMembers, GroupMoments
from fivefold.distributions.statistics.counts import log_or_minus_inf
from fivefold.distributions.statistics.empty_groups import refill_empty
from fivefold.inference.chains.chain import missing_row
from fivefold.inference.em import CollapseError
from fivefold.sequence.hidden_markov.symbol_loops import add_by_symbol

# added to the variances of a singular covariance, for data on a scale of one: hmmlearn adds as much there
SINGULAR_FLOOR = 1e-7
EmissionStats: TypeAlias = Any  # whatever an emission collects; each has a `weight` (K,)


class Emission(Protocol):
    """What the K states emit."""

    def log_rows(self, X: Table) -> tuple[Doubles, Indices | None]:
        """log p(x | k): one row per row of X and None, or one per symbol and the symbol of each row of X."""
        ...

    def stats(self, X: Table, R: Matrix) -> EmissionStats:
        """Statistics of the rows of X under the weights R (n, K)."""
        ...

    def maximise(self, stats: EmissionStats) -> Self:
        """The emission that fits the statistics best."""
        ...

    def log_prior(self) -> float:
        """What a prior adds to the log-likelihood."""
        ...

    def sample(self, which: Codes, rng: Rng) -> Matrix:
        """One row from each of the states `which` (n,)."""
        ...

    @property
    def n_parameters(self) -> int:
        """Free parameters of all states together."""
        ...


@dataclass(frozen=True)
class FamilyEmission:
    """Members of any family; a state without rows gets the distribution of all rows."""

    family: Family
    members: FamilyMembers
    prior: FamilyStats | None = None
    learns: bool = True

    def log_rows(self, X: Table) -> tuple[Doubles, Indices | None]:
        return np.ascontiguousarray(self.members.log_prob(X), dtype=np.float64), None

    def stats(self, X: Table, R: Matrix) -> FamilyStats:
        return member_stats(self.family, self.members, X, R)

    def maximise(self, stats: FamilyStats) -> Self:
        return replace(self, members=self._fitted(refill_empty(stats))) if self.learns else self

    def _fitted(self, stats: FamilyStats) -> FamilyMembers:
        try:
            return self.family.fit(stats, self.prior)
        except ValueError as error:
            listed = ", ".join(f"{weight:.4g}" for weight in stats.weight)
            raise CollapseError(f"{error}. Rows by state, in weight: {listed}") from error

    def log_prior(self) -> float:
        return 0.0 if self.prior is None else float(self.members.expected_log_prob(self.prior).sum())

    def sample(self, which: Codes, rng: Rng) -> Matrix:
        found: Matrix = self.members.sample(which, rng)
        return found

    @property
    def n_parameters(self) -> int:
        return int(self.members.n_parameters)


@dataclass(frozen=True)
class GaussianEmission(FamilyEmission):
    """Gaussians, of which means or covariances may be kept as they are."""

    learns_means: bool = True
    learns_covariances: bool = True

    def _fitted(self, stats: GroupMoments) -> FamilyMembers:
        """The members; where a covariance is singular, with a small floor under all variances."""
        try:
            return self.family.fit(stats, self.prior)
        except ValueError:
            spread = stats.scatter if stats.scatter.ndim == 2 else np.einsum("kii->ki", stats.scatter)
            floor = SINGULAR_FLOOR * (1.0 + float(spread.sum() / max(spread.shape[1] * stats.weight.sum(), 1.0)))
            return replace(self, family=replace(cast("Gaussian", self.family), floor=floor))._checked(stats)

    def _checked(self, stats: GroupMoments) -> FamilyMembers:
        return super()._fitted(stats)

    def maximise(self, stats: GroupMoments) -> Self:
        if not (self.learns_means or self.learns_covariances):
            return self
        stats = refill_empty(stats)
        if not self.learns_means:  # the scatter about the means that stay
            stats = stats if self.prior is None else stats + self.prior
            spread = stats.scatter + stats._between(stats.count, stats.mean - self.members.mean)
            stats = replace(stats, mean=self.members.mean, scatter=spread)
            return replace(self, members=replace(self, prior=None)._fitted(stats))
        members: GaussianMembers = self._fitted(stats)
        if not self.learns_covariances:
            members = replace(members, covariance=self.members.covariance)
        return replace(self, members=members)


@dataclass(frozen=True)
class CategoricalEmission:
    """Symbols: X holds codes 0, 1, ... as whole numbers, and the number of levels of its column where none is known.

    `prior` (K, sum of levels) is added to the counts, less than which none becomes.
    """

    family: Categorical
    members: CategoricalMembers
    prior: Matrix | float = 0.0
    learns: bool = True

    def log_rows(self, X: Codes) -> tuple[Doubles, Indices | None]:
        return symbol_log_rows(log_or_minus_inf(self.members.probability), self.family.levels, X)

    def stats(self, X: Codes, R: Matrix) -> LevelCounts:
        def part(lo: int, hi: int) -> LevelCounts:
            sums = [np.zeros((levels + 1, R.shape[1])) for levels in self.family.levels]
            for j, counts in enumerate(sums):
                add_by_symbol(X, j, R, lo, hi, counts)
            counts = sums[0][:-1] if len(sums) == 1 else np.vstack([counts[:-1] for counts in sums])
            return LevelCounts(sums[0].sum(axis=0), counts.T)

        return sum_stats(map_parts(part, len(X)))

    def maximise(self, stats: LevelCounts) -> Self:
        if not self.learns:
            return self
        stats = refill_empty(stats)
        counts = np.maximum(stats.counts + self.prior, 0.0)
        return replace(self, members=self.family.fit(LevelCounts(stats.weight, counts)))

    def log_prior(self) -> float:
        if isinstance(self.prior, float) and self.prior == 0:
            return 0.0
        p = self.members.probability
        terms = np.broadcast_to(self.prior, p.shape)[p > 0] * np.log(p[p > 0])
        return float(terms.sum())

    def sample(self, which: Codes, rng: Rng) -> Matrix:
        return self.members.sample(which, rng).astype(np.int64)

    @property
    def n_parameters(self) -> int:
        return int(self.members.n_parameters)


@dataclass(frozen=True)
class TiedEmission:
    """States that share members: state k emits what member `groups[k]` of another emission does."""

    emission: Any  # an Emission with as many members as there are groups
    groups: Indices  # (K,)

    @property
    def members(self) -> FamilyMembers:
        return self.emission.members

    def log_rows(self, X: Table) -> tuple[Doubles, Indices | None]:
        L, codes = self.emission.log_rows(X)
        return np.ascontiguousarray(L[:, self.groups]), codes

    def stats(self, X: Table, R: Matrix) -> EmissionStats:
        merged = np.zeros((len(R), int(self.groups.max()) + 1))
        for k, group in enumerate(self.groups):
            merged[:, group] += R[:, k]
        return self.emission.stats(X, merged)

    def maximise(self, stats: EmissionStats) -> Self:
        return replace(self, emission=self.emission.maximise(stats))

    def log_prior(self) -> float:
        return float(self.emission.log_prior())

    def sample(self, which: Codes, rng: Rng) -> Matrix:
        found: Matrix = self.emission.sample(self.groups[which], rng)
        return found

    @property
    def n_parameters(self) -> int:
        return int(self.emission.n_parameters)


def member_stats(family: Family, members: FamilyMembers, X: Table, R: Matrix) -> FamilyStats:
    """Statistics of the rows of X under R (n, K); missing entries count by their expectation under the members."""

    def part(lo: int, hi: int) -> Accumulator:
        sums = family.accumulator(members)
        for start in range(lo, hi, BLOCK_ROWS):
            stop = min(start + BLOCK_ROWS, hi)
            Z, W = scratch("columns", X.shape[1], stop - start), scratch("shares", R.shape[1], stop - start)
            Z[:], W[:] = X[start:stop].T, R[start:stop].T
            sums.add(Z, W)
        return sums

    first, *others = map_parts(part, len(X))
    return first.total(others)


def symbol_log_rows(logs: Matrix, levels: tuple[int, ...], X: Codes) -> tuple[Doubles, Indices | None]:
    """Logs (K, sum of levels) by symbol and the symbol of each row; of several columns, their sum for each row."""
    tables = [missing_row(part.T) for part in split_by_column(logs, levels)]
    if len(tables) == 1:
        return np.asarray(tables[0], dtype=np.float64), X[:, 0]
    return np.sum([table[X[:, j]] for j, table in enumerate(tables)], axis=0, dtype=np.float64), None


def gaussian_members(family: Gaussian, mean: Matrix, covariance: Doubles) -> GaussianMembers:
    """Gaussians with these parameters."""
    return GaussianMembers(mean, family.structure.from_matrix(covariance, mean.shape[1]))
