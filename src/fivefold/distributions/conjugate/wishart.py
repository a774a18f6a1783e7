"""Wishart and inverse Wishart distributions of positive definite matrices.

    Wi(X | nu, V)  = |X|^((nu-p-1)/2) exp(-tr(V^-1 X) / 2) / (2^(nu p/2) |V|^(nu/2) Gamma_p(nu/2)),   nu > p - 1
    E X = nu V,   Var X_ab = nu (V_ab^2 + V_aa V_bb)

A matrix stands in a row by its lower triangle, row by row: p (p + 1) / 2 columns, of which this is the density. A
Wishart matrix is L A A' L' with V = L L', A lower triangular, A_ii^2 chi-square with nu - i + 1 degrees of freedom and
standard normal numbers below (Bartlett 1933). Its inverse has the inverse Wishart distribution with scale V^-1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, multigammaln

from fivefold.core.types import Array, Codes, Matrix, Rng, Table, Vector
from fivefold.distributions.covariances.inverses import spd_inverse
from fivefold.distributions.family import Distributions, ExponentialForm


@dataclass(frozen=True)
class WishartMembers(ExponentialForm, Distributions):
    """K Wishart distributions."""

    dof: Vector  # (K,)
    scale: Array  # (K, p, p)

    def __post_init__(self) -> None:
        if not (np.asarray(self.dof) > self.scale.shape[1] - 1).all():
            raise ValueError(
                f"a Wishart distribution of {self.scale.shape[1]} x {self.scale.shape[1]} matrices needs more than "
                f"{self.scale.shape[1] - 1} degrees of freedom; got {np.asarray(self.dof).tolist()}"
            )

    @property
    def inverse_scale(self) -> Array:
        """V^-1 (K, p, p): as a prior of a precision, a sum of squares."""
        return spd_inverse(self.scale)

    def log_prob(self, X: Table) -> Table:
        """Log density (n, K) of matrices as rows; -inf where one is not positive definite."""
        log_det = log_dets(matrices_of(X))
        finite = np.where(np.isfinite(log_det), log_det, 0.0)
        eta = self.natural_parameters
        out = np.asarray(X) @ eta[:, :-1].T + finite[:, None] * eta[:, -1] - self.log_normaliser(eta)
        return np.where(np.isfinite(log_det)[:, None], out, -np.inf)

    def sample(self, which: Codes, rng: Rng) -> Matrix:
        return rows_of(self.sample_matrices(which, rng))

    def sample_matrices(self, which: Codes, rng: Rng) -> Array:
        """One matrix (n, p, p) from each of the members `which` (n,)."""
        p = self.scale.shape[1]
        A = np.tril(rng.standard_normal((len(which), p, p)), -1)
        i = np.arange(p)
        A[:, i, i] = np.sqrt(rng.chisquare(self.dof[which][:, None] - i))
        F = np.linalg.cholesky(self.scale)[which] @ A
        return F @ F.transpose(0, 2, 1)

    @property
    def mean(self) -> Array:
        """(K, p, p)."""
        return self.dof[:, None, None] * self.scale

    @property
    def variance(self) -> Array:
        """Of each entry (K, p, p)."""
        diagonal = np.einsum("kii->ki", self.scale)
        return self.dof[:, None, None] * (self.scale**2 + diagonal[:, :, None] * diagonal[:, None, :])

    @property
    def mode(self) -> Array:
        """Where the density is greatest (K, p, p); NaN for fewer than p + 1 degrees of freedom."""
        spare = self.dof - self.scale.shape[1] - 1
        return np.where(spare >= 0, spare, np.nan)[:, None, None] * self.scale

    @property
    def mean_log_det(self) -> Vector:
        """E log |X| (K,)."""
        p = self.scale.shape[1]
        terms = digamma((self.dof[:, None] - np.arange(p)) / 2).sum(axis=1)
        return terms + p * np.log(2) + log_dets(self.scale)

    @property
    def natural_parameters(self) -> Matrix:
        return np.hstack([-triangle_pairing(self.inverse_scale) / 2, self._power[:, None]])

    @property
    def _power(self) -> Vector:
        return (self.dof - self.scale.shape[1] - 1) / 2

    @property
    def mean_statistics(self) -> Matrix:
        return np.hstack([rows_of(self.mean), self.mean_log_det[:, None]])

    def sufficient_statistics(self, X: Table) -> Matrix:
        return np.hstack([X, log_dets(matrices_of(X))[:, None]])

    def log_normaliser(self, eta: Matrix) -> Vector:
        dof, precision = self._from(eta)
        return wishart_normaliser(dof, -log_dets(precision), precision.shape[1])

    def from_natural(self, eta: Matrix) -> WishartMembers:
        dof, precision = self._from(eta)
        return WishartMembers(dof, spd_inverse(precision))

    def _from(self, eta: Matrix) -> tuple[Vector, Array]:
        p = self.scale.shape[1]
        return 2 * eta[:, -1] + p + 1, -2 * from_triangle_pairing(eta[:, :-1])


@dataclass(frozen=True)
class InverseWishartMembers(Distributions):
    """K inverse Wishart distributions: of the inverses of Wishart matrices with scale matrices `scale`^-1."""

    dof: Vector  # (K,)
    scale: Array  # (K, p, p)

    @property
    def precision(self) -> WishartMembers:
        """The distribution of the inverse matrix."""
        return WishartMembers(self.dof, spd_inverse(self.scale))

    def log_prob(self, X: Table) -> Table:
        """Log density (n, K) of matrices as rows; -inf where one is not positive definite."""
        matrices = matrices_of(X)
        log_det = log_dets(matrices)
        good = np.isfinite(log_det)
        out = np.full((len(matrices), len(self.dof)), -np.inf)
        inverses = rows_of(spd_inverse(matrices[good]))
        p = self.scale.shape[1]
        out[good] = self.precision.log_prob(inverses) - (p + 1) * log_det[good, None]
        return out

    def sample(self, which: Codes, rng: Rng) -> Matrix:
        return rows_of(spd_inverse(self.precision.sample_matrices(which, rng)))

    @property
    def mean(self) -> Array:
        """(K, p, p); NaN unless there are more than p + 1 degrees of freedom."""
        spare = self.dof - self.scale.shape[1] - 1
        return self.scale / np.where(spare > 0, spare, np.nan)[:, None, None]

    @property
    def mode(self) -> Array:
        """Where the density is greatest (K, p, p)."""
        return self.scale / (self.dof + self.scale.shape[1] + 1)[:, None, None]

    @property
    def entropy(self) -> Vector:
        """E[-log p] (K,), in nats: that of the precision, and the change of volume by inversion."""
        p = self.scale.shape[1]
        return self.precision.entropy - (p + 1) * self.precision.mean_log_det

    def kl_divergence(self, other: InverseWishartMembers) -> Vector:
        """KL(p_k || q_k) (K,), in nats: that of the precisions."""
        return self.precision.kl_divergence(other.precision)


def wishart_normaliser(dof: Vector, log_det_scale: Vector, p: int) -> Vector:
    """log (2^(nu p/2) |V|^(nu/2) Gamma_p(nu/2)) (K,)."""
    return dof / 2 * (p * np.log(2) + log_det_scale) + multigammaln(dof / 2, p)


def rows_of(matrices: Array) -> Matrix:
    """The lower triangles of symmetric matrices (n, p, p), as rows."""
    a, b = np.tril_indices(matrices.shape[1])
    return matrices[:, a, b]


def matrices_of(X: Table) -> Array:
    """Symmetric matrices (n, p, p) from rows of their lower triangles."""
    rows = np.atleast_2d(np.asarray(X, dtype=np.float64))
    p = round((float(np.sqrt(8 * rows.shape[1] + 1)) - 1) / 2)
    if p * (p + 1) // 2 != rows.shape[1]:
        raise ValueError(f"a row of {rows.shape[1]} numbers is no lower triangle of a matrix: 1, 3, 6, 10, ... are")
    a, b = np.tril_indices(p)
    out = np.empty((len(rows), p, p))
    out[:, a, b] = out[:, b, a] = rows
    return out


def triangle_pairing(matrices: Array) -> Matrix:
    """Rows t with t . rows_of(X) = tr(A X): entries below the diagonal count twice."""
    a, b = np.tril_indices(matrices.shape[1])
    return np.where(a == b, 1.0, 2.0) * matrices[:, a, b]


def from_triangle_pairing(rows: Matrix) -> Array:
    """The symmetric matrices of `triangle_pairing`."""
    p = round((float(np.sqrt(8 * rows.shape[1] + 1)) - 1) / 2)
    a, b = np.tril_indices(p)
    return matrices_of(rows / np.where(a == b, 1.0, 2.0))


def log_dets(matrices: Array) -> Vector:
    """log |A| of symmetric matrices (n,); -inf unless positive definite."""
    values = np.linalg.eigvalsh(matrices)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(values[:, 0] > 0, np.log(np.where(values > 0, values, 1.0)).sum(axis=1), -np.inf)
