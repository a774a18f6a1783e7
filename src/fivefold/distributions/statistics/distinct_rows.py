"""The distinct rows of a table and the weight of each: statistics of families that have no smaller ones.

The Laplace and Student t distributions have no sufficient statistics but the rows themselves, in any order. So rows
stand in lexicographic order, each once, with its weight in each group; tables add by merging. Missing entries are kept.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.numerics.arrays import is_tensor, like, namespace, to_numpy
from fivefold.core.parallel import map_parts
from fivefold.core.types import Array, Matrix, Table, Vector
from fivefold.distributions.family import Accumulator, Family, GroupWeights, Marginals, Members, RowWeights, Stats

ROUNDING = 1e-12  # share of its weight that a row may keep by rounding when all of it is taken out


@dataclass(frozen=True)
class DistinctRows(Stats):
    """Distinct rows, and their weights in K groups."""

    weights: Matrix  # (K, m)
    values: Array  # (K, m, d): the same rows for every group, one table seen K times

    @classmethod
    def of(cls, X: Matrix, R: Matrix) -> Self:
        """The rows of X (n, d), float64, under the weights R (n, K); rows without weight are dropped."""
        kept = (R != 0).any(axis=1)
        order = np.lexsort(X[kept].T[::-1])
        rows, W = X[kept][order], np.asarray(R[kept][order], dtype=np.float64)
        same = (rows[1:] == rows[:-1]) | (np.isnan(rows[1:]) & np.isnan(rows[:-1]))
        starts = np.flatnonzero(np.concatenate([[True], ~same.all(axis=1)])[: len(rows)])
        weights = np.add.reduceat(W, starts, axis=0) if len(rows) else W
        return cls._seen(rows[starts], weights.T)

    @classmethod
    def _seen(cls, rows: Matrix, weights: Matrix) -> Self:
        seen = np.broadcast_to(rows, (len(weights), *rows.shape))
        return cls(weights.sum(axis=1), np.ascontiguousarray(weights), seen)

    @property
    def rows(self) -> Matrix:
        """The distinct rows (m, d)."""
        return self.values[0]

    @classmethod
    def merged(cls, parts: Iterable[Self]) -> Self:
        """The sum of several."""
        several = list(parts)
        K = max(len(part.weights) for part in several)
        weights = [np.broadcast_to(part.weights, (K, part.weights.shape[1])) for part in several]
        return cls.of(np.concatenate([part.rows for part in several]), np.hstack(weights).T)

    def __add__(self, other: Self) -> Self:
        return type(self).merged([self, other])

    def __sub__(self, other: Self) -> Self:
        """What is left when `other`, some of the same rows, is taken out."""
        whole = type(self).merged([self, -1.0 * other])
        gone = type(self).merged([self, other])
        least = ROUNDING * gone.weights.max(initial=0.0)
        return type(self)._seen(*_without(whole, least))

    def __mul__(self, scale: float) -> Self:
        return type(self)(self.weight * scale, self.weights * scale, self.values)

    __rmul__ = __mul__

    def expected(self, log_prob: Matrix) -> Vector:
        """sum over the rows of weight times log density (m, K), (K,)."""
        return np.where(self.weights > 0, self.weights * np.where(self.weights > 0, log_prob.T, 0.0), 0.0).sum(axis=1)


def _without(stats: DistinctRows, least: float) -> tuple[Matrix, Matrix]:
    """The rows and weights of which some weight is above `least`."""
    kept = (np.abs(stats.weights) > least).any(axis=0)
    return stats.rows[kept], stats.weights[:, kept]


class RowsAccumulator(Accumulator):
    """Keeps the blocks, and sorts them once at the end."""

    def __init__(self) -> None:
        self._blocks: list[tuple[Matrix, Matrix]] = []

    def add(self, Z: Matrix, R: Matrix) -> None:
        self._blocks.append((np.array(Z.T, dtype=np.float64, order="C"), np.array(R.T, order="C")))

    def stats(self) -> DistinctRows:
        return self.total([])

    def total(self, others: Iterable[RowsAccumulator]) -> DistinctRows:
        blocks = [*self._blocks, *(block for other in others for block in other._blocks)]
        X, R = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
        return DistinctRows.of(X, R)


@dataclass(frozen=True)
class DistinctRowFamily(Family):
    """A family whose statistics are the distinct rows."""

    def stats(self, X: Table, R: RowWeights) -> DistinctRows:
        W = R.to_matrix() if isinstance(R, GroupWeights) else R
        table = np.asarray(to_numpy(X), dtype=np.float64)
        if np.isinf(table).any():
            j = int(np.isinf(table).any(axis=0).argmax())
            raise ValueError(
                f"{type(self).__name__}: column {j} holds an infinite value; replace it, or mark it missing"
            )
        return DistinctRows.of(table, np.asarray(to_numpy(W), dtype=np.float64))

    def accumulator(self, members: Members) -> Accumulator:
        return RowsAccumulator()

    def prior(self, rows: ArrayLike, weight: float = 1.0) -> DistinctRows:
        """As if each of these rows had been seen this many times more."""
        X = np.atleast_2d(np.asarray(rows, dtype=np.float64))
        return DistinctRows.of(X, np.full((len(X), 1), float(weight)))


@dataclass(frozen=True)
class LocationScaleColumns(Marginals, Members):
    """K members whose columns are independent, and differ by location and scale."""

    location: Matrix  # (K, d)
    scale: Matrix  # (K, d)

    @abstractmethod
    def standard_log_prob(self, z: Table, k: int) -> Table:
        """Log density of the entries of z (n, d) = (x - location_k) / scale_k, for scale one."""

    def log_prob(self, X: Table) -> Table:
        """Log density (n, K) of the known entries."""
        if is_tensor(X):
            return self._log_prob(X)
        return np.concatenate(map_parts(lambda lo, hi: self._log_prob(X[lo:hi]), len(X)))

    def _log_prob(self, X: Table) -> Table:
        xp = namespace(X)
        missing = xp.isnan(X)
        gaps = bool(xp.any(missing))
        out = []
        for k, (location, scale) in enumerate(zip(self.location, self.scale, strict=True)):
            entry = self.standard_log_prob((X - like(location, X)) / like(scale, X), k) - like(np.log(scale), X)
            out.append(xp.sum(xp.where(missing, xp.zeros_like(entry), entry) if gaps else entry, axis=1))
        return xp.stack(out, axis=1)

    def expected_log_prob(self, stats: DistinctRows) -> Vector:
        return stats.expected(self.log_prob(stats.rows))

    def cdf(self, X: ArrayLike) -> Matrix:
        """P(x_1 <= X_i1, ..., x_d <= X_id) (n, K)."""
        return self.marginal_cdf(X).prod(axis=2)


def weighted_median(x: Vector, W: Matrix) -> Vector:
    """A number with at most half of the weight on either side, for each row of W (K, m)."""
    order = np.argsort(x, kind="stable")
    below = np.cumsum(W[:, order], axis=1)
    half = below[:, -1:] / 2
    first = (below >= half).argmax(axis=1)
    second = (below > half).argmax(axis=1)
    return (x[order][first] + x[order][second]) / 2
