"""Maximum likelihood for the multivariate Student t distribution, with missing entries.

A t row is Gaussian with a precision of its own, drawn from a gamma distribution. Given location, scale and degrees of
freedom nu, a row with d_o known entries at squared distance q has expected precision u = (nu + d_o) / (nu + q), and
its missing entries have their Gaussian regression on the known ones. Location and scale are then moments under the
weights u, divided by the sum of u and not of ones, which converges far faster (Liu, Rubin & Wu 1998). nu, where it is
not given, takes a step of Newton's method on the likelihood itself (Liu & Rubin 1995).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import digamma, gammaln, polygamma

from fivefold.core.blas_threads import one_blas_thread
from fivefold.core.types import Array, Indices, Matrix, Vector
from fivefold.distributions.statistics.distinct_rows import weighted_median

MIN_DOF, MAX_DOF = 0.05, 1e7  # nearly flat tails; beyond, t and normal densities agree to seven digits
START_DOF = 5.0  # degrees of freedom to start from: between heavy tails and normal ones
MAX_STEPS = 5000  # steps of EM: a hundred are usual
MAX_DISTANCE = 1e200  # squared distance in widths: beyond it the scale has shrunk onto a point, and sums may overflow
GAIN = 1e-13  # share of the log-likelihood that a step must gain


@dataclass(frozen=True)
class TPattern:
    """Rows that have the same entries known."""

    rows: Indices
    known: Indices  # columns
    missing: Indices


def patterns(X: Matrix) -> Iterator[TPattern]:
    """The rows of X by their known entries."""
    gaps = np.isnan(X)
    if not gaps.any():
        yield TPattern(np.arange(len(X)), np.arange(X.shape[1]), np.arange(0))
        return
    kinds, which = np.unique(gaps, axis=0, return_inverse=True)
    for i, kind in enumerate(kinds):
        yield TPattern(np.flatnonzero(which.ravel() == i), np.flatnonzero(~kind), np.flatnonzero(kind))


def t_level(dof: float | Array, d: int | Array, log_det: float | Array) -> Array:
    """Log density at the location, for d columns and a scale matrix with this log determinant."""
    return gammaln((dof + d) / 2) - gammaln(dof / 2) - 0.5 * (d * np.log(dof * np.pi) + log_det)


def fit_student_t(X: Matrix, w: Vector, dof: float | None) -> tuple[Vector, Matrix, float]:
    """Location (d,), scale matrix (d, d) and degrees of freedom of rows X (m, d) under the weights w (m,)."""
    groups = [group for group in patterns(X) if len(group.known)]
    origin = np.array([_median(x, w) for x in X.T])
    Z = X - origin
    filled = np.where(np.isnan(Z), 0.0, Z)
    nu, before = START_DOF if dof is None else float(dof), -np.inf
    with one_blas_thread():
        mu: Vector = np.zeros(X.shape[1])
        sigma = (w[:, None] * filled).T @ filled / w.sum()
        for _ in range(MAX_STEPS):
            step = _Expectation(Z, w, groups, mu, sigma, nu)
            if step.value - before <= GAIN * abs(step.value):
                break
            before = step.value
            nu = step.next_dof() if dof is None else nu
            mu, sigma = step.moments(nu)
    return origin + mu, sigma, nu


class _Expectation:
    """Distances of the known entries, and regressions of the missing ones, under one t distribution."""

    def __init__(self, Z: Matrix, w: Vector, groups: list[TPattern], mu: Vector, sigma: Matrix, nu: float) -> None:
        self._nu, self._sizes, self._q = nu, np.zeros(len(Z)), np.zeros(len(Z))
        self._filled = Z if len(groups) == 1 and not len(groups[0].missing) else np.where(np.isnan(Z), 0.0, Z)
        self._residual = np.zeros(sigma.shape)  # expected scatter of the missing entries about their regression
        self._groups = []  # weight, number of known entries, log determinant
        for group in groups:
            rows, a, b = group.rows, group.known, group.missing
            L = _cholesky(sigma[np.ix_(a, a)])
            D = (Z if len(rows) == len(Z) and not len(b) else Z[np.ix_(rows, a)]) - mu[a]
            E = D.T / L[0, 0] if len(a) == 1 else solve_triangular(L, D.T, lower=True)
            if np.abs(E).max() > MAX_DISTANCE**0.5:
                raise _singular()
            self._q[rows], self._sizes[rows] = (E**2).sum(axis=0), len(a)
            self._groups.append((w[rows].sum(), len(a), 2 * np.log(np.diag(L)).sum()))
            if len(b):
                B = solve_triangular(L, sigma[np.ix_(a, b)], lower=True)
                self._filled[np.ix_(rows, b)] = mu[b] + E.T @ B
                self._residual[np.ix_(b, b)] += w[rows].sum() * (sigma[np.ix_(b, b)] - B.T @ B)
        self._w = w if self._sizes.all() else np.where(self._sizes > 0, w, 0.0)
        self._logs = np.log1p(self._q / nu)
        self.value = self._log_likelihood(nu, self._logs)

    def _log_likelihood(self, nu: float, logs: Vector) -> float:
        levels = sum(float(weight * t_level(nu, d, log_det)) for weight, d, log_det in self._groups)
        return levels - 0.5 * float(((nu + self._sizes) * self._w) @ logs)

    def moments(self, nu: float) -> tuple[Vector, Matrix]:
        """The next location and scale."""
        u = self._w * (nu + self._sizes) / (nu + self._q)
        mu = u @ self._filled / u.sum()
        D = self._filled - mu
        return mu, ((u[:, None] * D).T @ D + self._residual) / u.sum()

    def next_dof(self) -> float:
        """A step of Newton's method on log nu, halved until the likelihood does not fall."""
        nu, d, q, w = self._nu, self._sizes, self._q, self._w
        r = q / (nu + q)  # between 0 and 1, however far a row is
        slope = w @ ((nu + d) / nu * r - self._logs)
        curve = w @ (2 * r / nu - (nu + d) / nu**2 * r * (2 - r))
        for weight, size, _ in self._groups:
            slope += weight * (digamma((nu + size) / 2) - digamma(nu / 2) - size / nu)
            curve += weight * (0.5 * (polygamma(1, (nu + size) / 2) - polygamma(1, nu / 2)) + size / nu**2)
        bend = nu * curve + slope  # of the slope by log nu, over nu
        step = float(np.clip(-slope / bend if bend < 0 else np.sign(slope), -2.0, 2.0))
        for _ in range(20):
            there = float(np.clip(nu * np.exp(step), MIN_DOF, MAX_DOF))
            if self._log_likelihood(there, np.log1p(q / there)) >= self.value:
                return there
            step /= 2
        return nu


def _cholesky(sigma: Matrix) -> Matrix:
    try:
        return np.linalg.cholesky(sigma)
    except np.linalg.LinAlgError:
        raise _singular() from None


def _singular() -> ValueError:
    return ValueError(
        "Student t: a scale matrix became singular: the points lie in a subspace, or most of them are one point. "
        "Give a prior, ask for fewer members, or drop such columns"
    )


def _median(x: Vector, w: Vector) -> float:
    known = ~np.isnan(x)
    if not w[known].any():
        return 0.0
    return float(weighted_median(x[known], w[None, known])[0])
