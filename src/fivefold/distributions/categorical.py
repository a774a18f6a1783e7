"""Independent categorical columns: one of a few levels, coded 0, 1, ...

    p(x) = prod_j p_j,x_j,   sum over the levels of each column = 1

The likelihood is greatest at the relative frequencies. The levels of all columns are laid end to end in one row of
`sum(levels)` numbers, so that a column with many levels costs the others nothing. A Dirichlet(a) prior adds a - 1 of
each level. Missing entries are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.special import entr, logsumexp, rel_entr, softmax, xlogy

from fivefold.core.numerics.arrays import AnyArray, is_tensor, like, namespace, to_numpy
from fivefold.core.numerics.tensors import cross_sums, on_host, one_hot, row_cuts
from fivefold.core.parallel import map_parts
from fivefold.core.types import Codes, Indices, Matrix, Rng, Sparse, Table, Vector
from fivefold.distributions.family import (
    ExponentialForm,
    Family,
    GroupWeights,
    Members,
    RowWeights,
    Stats,
    sum_stats,
)
from fivefold.distributions.statistics.counts import group_matrix, log_or_minus_inf, pooled_share


@dataclass(frozen=True)
class LevelCounts(Stats):
    """Weight of the rows of K groups, and of each level of each column."""

    counts: Matrix  # (K, sum of levels)


@dataclass(frozen=True)
class CategoricalMembers(ExponentialForm, Members):
    """K members, each with one probability per level."""

    probability: Matrix  # (K, sum of levels)
    levels: tuple[int, ...]

    def log_prob(self, X: Table) -> Table:
        """Log probability (n, K) of the known entries."""
        logs = log_or_minus_inf(self.probability)
        if is_tensor(X):
            return _log_prob_of_tensor(X, logs, self.levels)
        table = np.ascontiguousarray(np.column_stack([logs, np.zeros(len(logs))]).T)  # (levels + 1, K); last: missing
        place = _places(X, self.levels)
        return np.concatenate(map_parts(lambda lo, hi: _indicator(place[lo:hi], len(table)) @ table, len(place)))

    def sample(self, which: Codes, rng: Rng) -> Matrix:
        X = np.empty((len(which), len(self.levels)))
        for j, p in enumerate(self.columns):
            steps = np.cumsum(p, axis=1)[which]
            X[:, j] = (rng.uniform(size=(len(which), 1)) * steps[:, -1:] > steps[:, :-1]).sum(axis=1)
        return X

    def expected_log_prob(self, stats: LevelCounts) -> Vector:
        return xlogy(stats.counts, self.probability).sum(axis=1)

    @property
    def n_parameters(self) -> int:
        return len(self.probability) * (sum(self.levels) - len(self.levels))

    @property
    def columns(self) -> list[Matrix]:
        """For each column the probabilities of its levels (K, levels)."""
        return split_by_column(self.probability, self.levels)

    @property
    def entropy(self) -> Vector:
        return entr(self.probability).sum(axis=1)

    def kl_divergence(self, other: Self) -> Vector:
        return rel_entr(self.probability, other.probability).sum(axis=1)

    @property
    def natural_parameters(self) -> Matrix:
        return log_or_minus_inf(self.probability)

    @property
    def mean_statistics(self) -> Matrix:
        return self.probability

    def sufficient_statistics(self, X: Table) -> Matrix:
        """One-hot rows (n, sum of levels): a one for the level of each column; zeros where an entry is missing."""
        return _indicator(_places(X, self.levels), sum(self.levels) + 1).toarray()[:, :-1]

    def log_normaliser(self, eta: Matrix) -> Vector:
        return np.sum([logsumexp(part, axis=1) for part in split_by_column(eta, self.levels)], axis=0)

    def from_natural(self, eta: Matrix) -> CategoricalMembers:
        return CategoricalMembers(
            np.hstack([softmax(part, axis=1) for part in split_by_column(eta, self.levels)]), self.levels
        )


@dataclass(frozen=True)
class Categorical(Family):
    """Columns of codes 0 .. levels - 1; `levels` has one number per column."""

    levels: tuple[int, ...]

    def stats(self, X: Table, R: RowWeights) -> LevelCounts:
        if is_tensor(X):
            return _tensor_counts(X, R, self.levels)
        place, size = _places(X, self.levels), sum(self.levels)
        return sum_stats(map_parts(lambda lo, hi: _level_counts(place[lo:hi], R[lo:hi], size), len(place)))

    def fit(self, stats: LevelCounts, prior: LevelCounts | None = None) -> CategoricalMembers:
        stats = stats if prior is None else stats + prior
        known = np.add.reduceat(stats.counts, _starts(self.levels), axis=1)  # (K, d)
        if (unseen := known.sum(axis=0) <= 0).any():
            raise ValueError(f"no value of column {int(unseen.argmax())} was seen: give a prior, or drop that column")
        return CategoricalMembers(pooled_share(stats.counts, np.repeat(known, self.levels, axis=1)), self.levels)

    def prior(self, counts: ArrayLike) -> LevelCounts:
        """A Dirichlet(1 + counts) prior: as if this many more of each level had been observed in every column."""
        return LevelCounts(np.zeros(1), np.broadcast_to(np.asarray(counts, dtype=float), (1, sum(self.levels))))

    @classmethod
    def examples(cls, rng: Rng) -> Iterator[tuple[Family, Matrix]]:
        levels = (2, 3, 5)
        yield cls(levels), np.column_stack([rng.randint(0, m, size=200) for m in levels]) * 1.0


def _tensor_counts(X: AnyArray, R: RowWeights, levels: tuple[int, ...]) -> LevelCounts:
    """Counts on the device of X: one column after the other, by one product with the indicator of its levels."""
    _refuse_unknown_levels(X, levels)
    R = R if isinstance(R, GroupWeights) else like(R, X)
    weight, counts = 0.0, [0.0] * len(levels)
    for a, b in row_cuts(X, R.shape[1] + max(levels)):
        W = group_matrix(R[a:b], X)
        weight = weight + W.sum(dim=0, dtype=namespace(X).float64)
        for j, m in enumerate(levels):
            counts[j] = counts[j] + cross_sums(W, one_hot(X[a:b, j], m, X))  # a missing entry equals no level
    return LevelCounts(on_host(weight), np.hstack([on_host(part) for part in counts]))


def _log_prob_of_tensor(X: AnyArray, logs: Matrix, levels: tuple[int, ...]) -> AnyArray:
    """Log probability (n, K) on the device of X; a missing entry adds nothing."""
    _refuse_unknown_levels(X, levels)
    out = namespace(X).zeros((len(X), len(logs)), dtype=X.dtype, device=X.device)
    for j, part in enumerate(split_by_column(logs, levels)):
        table = like(np.vstack([part.T, np.zeros(len(part))]), X)  # (levels + 1, K); last: missing
        out += table[X[:, j].nan_to_num(nan=float(levels[j])).long()]
    return out


def _refuse_unknown_levels(X: AnyArray, levels: tuple[int, ...]) -> None:
    """Refuse entries that are no level of their column; what they are is found on the host."""
    known = (X.trunc() == X) & (X >= 0) & (X < like(np.asarray(levels), X))
    if not bool((known | X.isnan()).all()):
        _places(X, levels)


def _places(X: Table, levels: tuple[int, ...]) -> Indices:
    """The place of each entry among the levels of all columns (n, d); the place after the last for a missing one."""
    X = np.asarray(to_numpy(X))
    missing = np.isnan(X)
    with np.errstate(invalid="ignore"):  # a number too large for an integer becomes another one, and is refused
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


def split_by_column(flat: Matrix, levels: tuple[int, ...]) -> list[Matrix]:
    """Columns (K, sum of levels) as one matrix (K, levels) per categorical column."""
    return np.split(flat, np.cumsum(levels)[:-1], axis=1)


def _starts(levels: tuple[int, ...]) -> Indices:
    return np.cumsum((0, *levels[:-1]))


def _level_counts(place: Indices, R: RowWeights, size: int) -> LevelCounts:
    """Counts of a block of rows."""
    d, K = place.shape[1], R.shape[1]
    if isinstance(R, GroupWeights):
        joint = (R.codes[:, None] * (size + 1) + place).ravel()
        counts = np.bincount(joint, np.repeat(R.weights, d), minlength=K * (size + 1)).astype(np.float64)
        weight = np.bincount(R.codes, R.weights, minlength=K).astype(np.float64)
        return LevelCounts(weight, counts.reshape(K, size + 1)[:, :size])
    return LevelCounts(R.sum(axis=0), (_indicator(place, size + 1).T @ R).T[:, :size])


def _indicator(place: Indices, size: int) -> Sparse:
    """A one at each place of each row (n, size), sparse."""
    n, d = place.shape
    return csr_array((np.ones(n * d), place.ravel(), np.arange(0, n * d + 1, d)), shape=(n, size))
