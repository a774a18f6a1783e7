"""Exponential families of numbers with independent columns, each with a few sufficient statistics.

    log p(x) = sum_j sum_r eta_jr u_r(x_j) - sum_j A(eta_j)

A table becomes the table of its statistics (n, r d), of which sums are kept (counts.Totals), and whose product with
the natural parameters is the log density. Missing entries are left out. Values on the edge of the support, where a
statistic may be infinite, and beyond it are looked at one by one.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.numerics.arrays import is_tensor, namespace, to_device_of, to_numpy
from fivefold.core.numerics.tensors import row_cuts
from fivefold.core.parallel import map_parts
from fivefold.core.types import Array, Matrix, Table, Vector
from fivefold.distributions.family import (
    ExponentialForm,
    Family,
    Marginals,
    Members,
    RowWeights,
    sum_stats,
)
from fivefold.distributions.statistics.counts import Totals, affine_log_density, count_totals, pooled_share


@dataclass(frozen=True)
class ExponentialColumns(ExponentialForm, Marginals, Members):
    """K members whose columns are independent; every field is a parameter (K, d)."""

    @staticmethod
    @abstractmethod
    def statistics(X: Table) -> tuple[Table, ...]:
        """The tables u_r(X), each (n, d), NaN where X is."""

    @staticmethod
    @abstractmethod
    def inside(X: Table) -> Table:
        """Where every statistic is finite: within the support, and not on an edge at which one is infinite."""

    @property
    @abstractmethod
    def column_parameters(self) -> tuple[Matrix, ...]:
        """The natural parameters eta_r, each (K, d)."""

    @property
    @abstractmethod
    def column_means(self) -> tuple[Matrix, ...]:
        """E u_r, each (K, d)."""

    @staticmethod
    @abstractmethod
    def column_normaliser(*eta: Matrix) -> Matrix:
        """A(eta_j) (K, d)."""

    @classmethod
    @abstractmethod
    def from_columns(cls, *eta: Matrix) -> Self:
        """The members with these natural parameters."""

    @abstractmethod
    def edge_log_prob(self, x: Array) -> Array:
        """Log density of each entry of x (..., 1, d), (..., K, d): what the statistics cannot give."""

    def log_prob(self, X: Table) -> Table:
        """Log density (n, K) of the known entries; -inf beyond the support."""
        if is_tensor(X):
            cuts = row_cuts(X, 3 * X.shape[1] + len(self._theta))
            return namespace(X).concat([self._log_prob(X[a:b]) for a, b in cuts])
        return np.concatenate(map_parts(lambda lo, hi: self._log_prob(X[lo:hi]), len(X)))

    def _log_prob(self, X: Table) -> Table:
        xp = namespace(X)
        odd = ~(self.inside(X) | xp.isnan(X))
        rows = xp.any(odd, axis=1)
        edges = bool(xp.any(rows))
        U = xp.concat(self.statistics(xp.where(odd, xp.nan, X) if edges else X), axis=1)
        out = affine_log_density(U, *self._theta)
        if edges:
            there = np.asarray(to_numpy(X[rows]), dtype=np.float64)[:, None, :]
            extra = np.where(to_numpy(odd[rows])[:, None, :], self.edge_log_prob(there), 0.0).sum(axis=2)
            out[rows] += to_device_of(extra, X).to(out.dtype) if is_tensor(X) else extra
        return out

    @cached_property
    def _theta(self) -> tuple[Matrix, Matrix]:
        """Natural parameters and constants (K, r d): -A stands with the first statistic."""
        eta = self.column_parameters
        constant = [-self.column_normaliser(*eta), *(0.0 * e for e in eta[1:])]
        return np.hstack(eta), np.hstack(constant)

    def expected_log_prob(self, stats: Totals) -> Vector:
        theta, constant = self._theta
        return (theta * stats.total + constant * stats.observed).sum(axis=1)

    @property
    def n_parameters(self) -> int:
        return sum(int(getattr(self, f.name).size) for f in fields(self))

    @property
    def natural_parameters(self) -> Matrix:
        return np.hstack(self.column_parameters)

    @property
    def mean_statistics(self) -> Matrix:
        return np.hstack(self.column_means)

    def sufficient_statistics(self, X: Table) -> Matrix:
        return np.hstack(self.statistics(np.asarray(to_numpy(X))))

    def log_normaliser(self, eta: Matrix) -> Vector:
        return self.column_normaliser(*self._split(eta)).sum(axis=1)

    def from_natural(self, eta: Matrix) -> Self:
        return self.from_columns(*self._split(eta))

    def _split(self, eta: Matrix) -> list[Matrix]:
        return np.split(eta, len(self.column_parameters), axis=1)

    def cdf(self, X: ArrayLike) -> Matrix:
        """P(x_1 <= X_i1, ..., x_d <= X_id) (n, K)."""
        return self.marginal_cdf(X).prod(axis=2)


@dataclass(frozen=True)
class ExponentialColumnFamily(Family):
    """A family whose members are `ExponentialColumns`; its statistics are sums of theirs."""

    @property
    @abstractmethod
    def kind(self) -> type[ExponentialColumns]:
        """The class of the members."""

    @abstractmethod
    def solve(self, *means: Matrix) -> ExponentialColumns:
        """The members whose statistics have these means, each (K, d): maximum likelihood."""

    @abstractmethod
    def refuse(self, X: Table) -> None:
        """Refuse values that have no statistics, in words."""

    def stats(self, X: Table, R: RowWeights) -> Totals:
        self.refuse(X)
        xp, statistics = namespace(X), self.kind.statistics
        if is_tensor(X):
            cuts = row_cuts(X, 4 * X.shape[1] + R.shape[1])
            return sum_stats([count_totals(xp.concat(statistics(X[a:b]), axis=1), R[a:b]) for a, b in cuts])
        return sum_stats(map_parts(lambda lo, hi: count_totals(np.hstack(statistics(X[lo:hi])), R[lo:hi]), len(X)))

    def fit(self, stats: Totals, prior: Totals | None = None) -> Any:  # members of its kind
        stats = stats if prior is None else stats + prior
        means = pooled_share(stats.total, stats.observed)
        r = len(self.kind.statistics(np.full((1, 1), 0.5)))
        return self.solve(*np.split(means, r, axis=1))

    def prior(self, *means: ArrayLike, rows: ArrayLike) -> Totals:
        """A conjugate prior: as if this many more rows had been seen, whose statistics have these means."""
        each = [np.atleast_2d(np.asarray(mean, dtype=np.float64)) for mean in means]
        count = np.broadcast_to(np.atleast_2d(np.asarray(rows, dtype=np.float64)), each[0].shape)
        return Totals(np.zeros(1), np.hstack([count] * len(each)), np.hstack([count * mean for mean in each]))
