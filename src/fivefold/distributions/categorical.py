"""Categorical columns, independent: one of a few levels, coded 0, 1, ...

    p(x) = prod_j p_j,x_j,   sum over the levels of each column = 1

Likelihood is greatest at the relative frequencies. The levels of all columns stand side by side in one row of
`sum(levels)` numbers, so columns with many levels cost the others nothing. A Dirichlet(a) prior adds a - 1 of each
level. Entries that are missing are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.special import logsumexp, softmax, xlogy

from fivefold.core.numerics.arrays import is_tensor, like, to_numpy
from fivefold.core.parallel import map_parts
from fivefold.core.types import Array, Codes, Matrix, Table
from fivefold.distributions.family import ExponentialForm, Family, GroupWeights, Members, Stats, sum_stats
from fivefold.distributions.statistics.counts import pooled_share


@dataclass(frozen=True)
class LevelCounts(Stats):
    """Weight of the rows of K groups, and of each level of each column."""

    counts: Array  # (K, sum of levels)


@dataclass(frozen=True)
class CategoricalMembers(ExponentialForm, Members):
    """K members, each with a probability a level."""

    probability: Array  # (K, sum of levels)
    levels: tuple[int, ...]

    def log_prob(self, X: Table) -> Any:
        """Log probability (n, K) of the known entries."""
        logs = _log(self.probability)
        table = np.ascontiguousarray(np.column_stack([logs, np.zeros(len(logs))]).T)  # (levels + 1, K); last: missing
        place = _places(X, self.levels)
        out = np.concatenate(map_parts(lambda lo, hi: _indicator(place[lo:hi], len(table)) @ table, len(place)))
        return like(out, X) if is_tensor(X) else out

    def sample(self, which: Codes, rng: np.random.RandomState) -> Array:
        X = np.empty((len(which), len(self.levels)))
        for j, p in enumerate(self.columns):
            steps = np.cumsum(p, axis=1)[which]
            X[:, j] = (rng.uniform(size=(len(which), 1)) * steps[:, -1:] > steps[:, :-1]).sum(axis=1)
        return X

    def expected(self, stats: LevelCounts) -> Array:
        return xlogy(stats.counts, self.probability).sum(axis=1)

    @property
    def n_parameters(self) -> int:
        return len(self.probability) * (sum(self.levels) - len(self.levels))

    @property
    def columns(self) -> list[Array]:
        """The probabilities of the levels of each column (K, levels)."""
        return split_by_column(self.probability, self.levels)

    @property
    def natural(self) -> Array:
        return _log(self.probability)

    @property
    def mean_sufficient(self) -> Array:
        return self.probability

    def sufficient(self, X: Table) -> Array:
        return _indicator(_places(X, self.levels), sum(self.levels)).toarray()

    def log_normaliser(self, eta: Array) -> Array:
        return np.sum([logsumexp(part, axis=1) for part in split_by_column(eta, self.levels)], axis=0)

    def from_natural(self, eta: Array) -> CategoricalMembers:
        return CategoricalMembers(
            np.hstack([softmax(part, axis=1) for part in split_by_column(eta, self.levels)]), self.levels
        )


@dataclass(frozen=True)
class Categorical(Family):
    """Columns of codes 0 .. levels - 1, with a number of levels a column."""

    levels: tuple[int, ...]

    def stats(self, X: Any, R: Any) -> LevelCounts:
        place, size = _places(X, self.levels), sum(self.levels)
        R = (
            GroupWeights(to_numpy(R.codes), to_numpy(R.weights), R.count)
            if isinstance(R, GroupWeights)
            else to_numpy(R)
        )
        return sum_stats(map_parts(lambda lo, hi: _level_counts(place[lo:hi], R[lo:hi], size), len(place)))

    def fit(self, stats: LevelCounts, prior: LevelCounts | None = None) -> CategoricalMembers:
        stats = stats if prior is None else stats + prior
        known = np.add.reduceat(stats.counts, _starts(self.levels), axis=1)  # (K, d)
        if (unseen := known.sum(axis=0) <= 0).any():
            raise ValueError(f"no value of column {int(unseen.argmax())} was seen: give a prior, or drop that column")
        return CategoricalMembers(pooled_share(stats.counts, np.repeat(known, self.levels, axis=1)), self.levels)

    def prior(self, counts: Any) -> LevelCounts:
        """A Dirichlet(1 + counts) prior: as if so many more of each level had been seen, in every column."""
        return LevelCounts(np.zeros(1), np.broadcast_to(np.asarray(counts, dtype=float), (1, sum(self.levels))))

    @classmethod
    def examples(cls, rng: np.random.RandomState) -> Iterator[tuple[Family, Array]]:
        levels = (2, 3, 5)
        yield cls(levels), np.column_stack([rng.randint(0, m, size=200) for m in levels]) * 1.0


def _places(X: Any, levels: tuple[int, ...]) -> Codes:
    """Where each entry stands among the levels of all columns (n, d); the place after the last for missing ones."""
    X = np.asarray(to_numpy(X))
    missing = np.isnan(X)
    with np.errstate(invalid="ignore"):  # a number beyond integers is another one then, and bad
        codes = np.where(missing, 0, X).astype(np.int64)
    bad = ~missing & ((codes != X) | (codes < 0) | (codes >= np.asarray(levels)))
    if bad.any():
        j = int(bad.any(axis=0).argmax())
        i = int(bad[:, j].argmax())
        raise ValueError(
            f"Categorical: column {j} holds {X[i, j]:g} in row {i}, which is not among its {levels[j]} levels "
            f"0 .. {levels[j] - 1}. Map it to one of them or to a missing value, or fit again with more levels"
        )
    return np.where(missing, sum(levels), codes + _starts(levels))


def split_by_column(flat: Array, levels: tuple[int, ...]) -> list[Array]:
    """Columns (K, sum of levels) as one matrix (K, levels) per categorical column."""
    return np.split(flat, np.cumsum(levels)[:-1], axis=1)


def _log(p: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.log(p)


def _starts(levels: tuple[int, ...]) -> Codes:
    return np.cumsum((0, *levels[:-1]))


def _level_counts(place: Codes, R: Matrix, size: int) -> LevelCounts:
    """Counts of a block of rows."""
    d, K = place.shape[1], R.shape[1]
    if isinstance(R, GroupWeights):
        joint = (R.codes[:, None] * (size + 1) + place).ravel()
        counts = np.bincount(joint, np.repeat(R.weights, d), minlength=K * (size + 1)).astype(np.float64)
        weight = np.bincount(R.codes, R.weights, minlength=K).astype(np.float64)
        return LevelCounts(weight, counts.reshape(K, size + 1)[:, :size])
    return LevelCounts(R.sum(axis=0), (_indicator(place, size + 1).T @ R).T[:, :size])


def _indicator(place: Codes, size: int) -> Any:
    """A one at each place of each row (n, size), sparse."""
    n, d = place.shape
    return csr_array((np.ones(n * d), place.ravel(), np.arange(0, n * d + 1, d)), shape=(n, size))
