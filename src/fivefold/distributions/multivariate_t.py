"""Multivariate Student t rows: Gaussian rows, each with a precision of its own.

    p(x) = Gamma((nu+d)/2) / (Gamma(nu/2) (nu pi)^(d/2) |S|^(1/2)) (1 + (x-m)' S^-1 (x-m) / nu)^(-(nu+d)/2)

covariance S nu / (nu - 2) for nu > 2. The predictive distribution of a Gaussian with unknown mean and precision is of
this kind. Missing entries are integrated out. The likelihood is maximised by EM (statistics/student_t_fit.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma

from fivefold.core.numerics.arrays import like, namespace, to_numpy
from fivefold.core.types import Array, Codes, Indices, Matrix, Rng, Table, Vector
from fivefold.distributions.covariances.covariance_matrices import FullCovariance, mahalanobis_squares
from fivefold.distributions.family import Family, Marginals, Members
from fivefold.distributions.statistics.distinct_rows import DistinctRowFamily, DistinctRows
from fivefold.distributions.statistics.student_t_fit import fit_student_t, patterns, t_level
from fivefold.distributions.student_t import StudentTMembers


@dataclass(frozen=True)
class MultivariateTMembers(Marginals, Members):
    """K members, each with location, scale matrix and degrees of freedom."""

    location: Matrix  # (K, d)
    scale: FullCovariance
    dof: Vector  # (K,)
    known_dof: bool = False  # whether the degrees of freedom were given and not fitted

    @classmethod
    def of(cls, location: ArrayLike, scale: ArrayLike, dof: ArrayLike) -> MultivariateTMembers:
        """From locations (K, d), scale matrices (K, d, d) and degrees of freedom (K,)."""
        matrices = FullCovariance.from_matrix(np.asarray(scale, dtype=np.float64))
        centres = np.atleast_2d(np.asarray(location, dtype=np.float64))
        return cls(centres, matrices, np.broadcast_to(np.asarray(dof, dtype=np.float64), len(centres)))

    def log_prob(self, X: Table) -> Table:
        """Log density (n, K); missing entries are integrated out."""
        xp = namespace(X)
        if bool(xp.any(xp.isnan(X))):
            return like(self._log_prob_of_known(np.asarray(to_numpy(X), dtype=np.float64)), X)
        return self._density(mahalanobis_squares(self.scale, X, self.location), X.shape[1], self.scale.log_det)

    def _density(self, q: Table, d: int, log_det: Vector) -> Table:
        xp = namespace(q)
        level, power = like(t_level(self.dof, d, log_det), q), like((self.dof + d) / 2, q)
        return level - power * xp.log1p(q / like(self.dof, q))

    def _log_prob_of_known(self, X: Matrix) -> Matrix:
        out = np.zeros((len(X), len(self.dof)))
        for group in patterns(X):
            if len(group.known):
                out[group.rows] = self.marginal(group.known).log_prob(X[np.ix_(group.rows, group.known)])
        return out

    def sample(self, which: Codes, rng: Rng) -> Matrix:
        E = rng.standard_normal((len(which), self.location.shape[1]))
        stretch = np.sqrt(self.dof[which] / rng.chisquare(self.dof[which]))
        out = self.location[which].copy()
        for k in np.unique(which):
            rows = which == k
            out[rows] += stretch[rows, None] * self.scale.unwhiten(E[rows], int(k))
        return out

    def expected_log_prob(self, stats: DistinctRows) -> Vector:
        return stats.expected(self.log_prob(stats.rows))

    @property
    def n_parameters(self) -> int:
        return int(self.location.size + self.scale.n_parameters + (0 if self.known_dof else self.dof.size))

    def marginal(self, kept: Indices | int) -> MultivariateTMembers:
        """The distribution of some columns."""
        columns = np.atleast_1d(np.asarray(kept))
        return MultivariateTMembers(self.location[:, columns], self.scale.marginal(columns), self.dof, self.known_dof)

    def conditional(self, given: Indices | int, values: Array) -> MultivariateTMembers:
        """The distribution of the other columns when the columns `given` have these values.

        Location and shape are those of the Gaussian; the scale grows with the distance of the values from their own
        location, and there are as many degrees of freedom more as columns given.
        """
        b = np.atleast_1d(np.asarray(given))
        a = np.setdiff1d(np.arange(self.location.shape[1]), b)
        S, away = self.scale.matrix, np.asarray(values, dtype=np.float64) - self.location[:, b]
        B = np.linalg.solve(S[:, b[:, None], b], S[:, b[:, None], a]).transpose(0, 2, 1)
        rest = S[:, a[:, None], a] - B @ S[:, b[:, None], a]
        q = np.einsum("kb,kb->k", away, np.linalg.solve(S[:, b[:, None], b], away[:, :, None])[:, :, 0])
        wider = (self.dof + q) / (self.dof + len(b))
        scale = wider[:, None, None] * (rest + rest.transpose(0, 2, 1)) / 2
        return MultivariateTMembers.of(self.location[:, a] + np.einsum("kab,kb->ka", B, away), scale, self.dof + len(b))

    @property
    def columns(self) -> StudentTMembers:
        """Every column alone."""
        scale = np.sqrt(np.einsum("kii->ki", self.scale.matrix))
        return StudentTMembers(self.location, scale, np.repeat(self.dof[:, None], scale.shape[1], axis=1), True)

    @property
    def mean(self) -> Matrix:
        return self.columns.mean

    @property
    def variance(self) -> Matrix:
        return self.columns.variance

    @property
    def covariance(self) -> Array:
        """(K, d, d); infinite unless there are more than two degrees of freedom."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(self.dof > 2, self.dof / (self.dof - 2), np.inf)
            return ratio[:, None, None] * self.scale.matrix

    @property
    def entropy(self) -> Vector:
        """E[-log p] (K,), in nats."""
        nu, d = self.dof, self.location.shape[1]
        return (nu + d) / 2 * (digamma((nu + d) / 2) - digamma(nu / 2)) - t_level(nu, d, self.scale.log_det)

    def marginal_cdf(self, X: ArrayLike) -> Array:
        return self.columns.marginal_cdf(X)

    def marginal_quantile(self, q: ArrayLike) -> Array:
        return self.columns.marginal_quantile(q)


@dataclass(frozen=True)
class MultivariateT(DistinctRowFamily):
    """Rows of correlated numbers with outliers; `dof` are the degrees of freedom, or None to fit them."""

    dof: float | None = None

    def fit(self, stats: DistinctRows, prior: DistinctRows | None = None) -> MultivariateTMembers:
        stats = stats if prior is None else stats + prior
        if not stats.weights.any():
            raise ValueError("MultivariateT: no row has weight; check the weights, or give a prior")
        found = [
            fit_student_t(stats.rows, w if w.any() else stats.weights.sum(axis=0), self.dof) for w in stats.weights
        ]
        location, scale, dof = (np.stack([np.asarray(part[i]) for part in found]) for i in range(3))
        return MultivariateTMembers(location, FullCovariance.from_matrix(scale), dof, self.dof is not None)

    @classmethod
    def examples(cls, rng: Rng) -> Iterator[tuple[Family, Matrix]]:
        E = rng.standard_normal((200, 2)) @ np.array([[2.0, 0.5], [0.0, 1.0]])
        X = np.array([1.0, -3.0]) + E * np.sqrt(5 / rng.chisquare(5, size=(200, 1)))
        yield cls(), X
        yield cls(4.0), X
