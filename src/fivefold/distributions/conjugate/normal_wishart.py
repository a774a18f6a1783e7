"""Normal-Wishart distribution of the mean and the precision matrix of a Gaussian.

    NW(mu, Lambda | m, k, nu, T) = N(mu | m, (k Lambda)^-1) Wi(Lambda | nu, scale T^-1)

T, the inverse of the scale, is a sum of squares about the mean: it grows by the scatter of the rows. The marginal of mu
is multivariate t with nu - p + 1 degrees of freedom, location m and scale T / (k (nu - p + 1)). A row holds mu and then
the lower triangle of Lambda. One column is a normal-gamma distribution with a = nu / 2, b = T / 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fivefold.core.types import Array, Codes, Matrix, Rng, Table, Vector
from fivefold.distributions.conjugate.wishart import (
    WishartMembers,
    from_triangle_pairing,
    log_dets,
    matrices_of,
    rows_of,
    triangle_pairing,
    wishart_normaliser,
)
from fivefold.distributions.covariances.gaussian_loops import LOG_2PI
from fivefold.distributions.covariances.inverses import spd_inverse
from fivefold.distributions.family import Distributions, ExponentialForm
from fivefold.distributions.multivariate_t import MultivariateTMembers


@dataclass(frozen=True)
class NormalWishartMembers(ExponentialForm, Distributions):
    """K distributions of a mean and a precision matrix."""

    location: Matrix  # (K, p) m
    strength: Vector  # (K,) k: as if the mean of this many rows had been seen
    dof: Vector  # (K,) nu
    inverse_scale: Array  # (K, p, p) T

    @property
    def precision(self) -> WishartMembers:
        """The marginal distribution of the precision matrices."""
        return WishartMembers(self.dof, spd_inverse(self.inverse_scale))

    @property
    def means(self) -> MultivariateTMembers:
        """The marginal distribution of the means."""
        dof = self.dof - self.location.shape[1] + 1
        return MultivariateTMembers.of(self.location, self.inverse_scale / (self.strength * dof)[:, None, None], dof)

    def log_prob(self, X: Table) -> Table:
        """Log density (n, K) of rows (mean, lower triangle of the precision)."""
        good = np.isfinite(log_dets(self._parts(X)[1]))
        out = np.full((len(good), len(self.dof)), -np.inf)
        eta = self.natural_parameters
        out[good] = self.sufficient_statistics(np.asarray(X)[good]) @ eta.T - self.log_normaliser(eta)
        return out

    def _parts(self, X: Table) -> tuple[Matrix, Array]:
        rows, p = np.atleast_2d(np.asarray(X, dtype=np.float64)), self.location.shape[1]
        return rows[:, :p], matrices_of(rows[:, p:])

    def sample(self, which: Codes, rng: Rng) -> Matrix:
        precision = self.precision.sample_matrices(which, rng)
        E = rng.standard_normal((len(which), self.location.shape[1]))
        L = np.linalg.cholesky(precision)
        away = np.linalg.solve(L.transpose(0, 2, 1), E[:, :, None])[:, :, 0]
        return np.hstack([self.location[which] + away / np.sqrt(self.strength[which])[:, None], rows_of(precision)])

    @property
    def natural_parameters(self) -> Matrix:
        m, k = self.location, self.strength[:, None]
        squares = self.inverse_scale + k[:, :, None] * m[:, :, None] * m[:, None, :]
        return np.hstack([k * m, -k / 2, -triangle_pairing(squares) / 2, (self.dof[:, None] - m.shape[1]) / 2])

    @property
    def mean_statistics(self) -> Matrix:
        mean = self.precision.mean
        pull = np.einsum("kab,kb->ka", mean, self.location)
        square = self.location.shape[1] / self.strength + (pull * self.location).sum(axis=1)
        return np.hstack([pull, square[:, None], rows_of(mean), self.precision.mean_log_det[:, None]])

    def sufficient_statistics(self, X: Table) -> Matrix:
        """(Lambda mu, mu' Lambda mu, Lambda, log |Lambda|)."""
        mu, precision = self._parts(X)
        pull = np.einsum("nab,nb->na", precision, mu)
        square = (pull * mu).sum(axis=1)
        return np.hstack([pull, square[:, None], rows_of(precision), log_dets(precision)[:, None]])

    def log_normaliser(self, eta: Matrix) -> Vector:
        found, p = self.from_natural(eta), self.location.shape[1]
        wishart = wishart_normaliser(found.dof, -log_dets(found.inverse_scale), p)
        return wishart + 0.5 * p * (LOG_2PI - np.log(found.strength))

    def from_natural(self, eta: Matrix) -> NormalWishartMembers:
        p = self.location.shape[1]
        strength, pull = -2 * eta[:, p], eta[:, :p]
        m = pull / strength[:, None]
        squares = -2 * from_triangle_pairing(eta[:, p + 1 : -1])
        inverse_scale = squares - strength[:, None, None] * m[:, :, None] * m[:, None, :]
        return NormalWishartMembers(m, strength, 2 * eta[:, -1] + p, inverse_scale)
