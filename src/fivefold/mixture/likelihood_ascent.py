"""Gradient ascent on the log-likelihood of a Gaussian mixture, for comparison with expectation-maximisation.

    pi = softmax(a)                             weights, for any a
    sigma = e^s, or Sigma = L L', L_jj = e^s_j  deviations and covariances, for any s

The parameters have no constraints, so any solver of `optim.minimise` can find the maximum. The gradient of log p(x) is
that of the expected log-likelihood under the posterior (Fisher's identity), so the statistics of an E-step give it,

    d/da_k = N_k - n pi_k      d/dmu_k = Sigma_k^-1 N_k (m_k - mu_k)
    d/dL_k = (Sigma_k^-1 V_k Sigma_k^-1 - N_k Sigma_k^-1) L_k

with N_k, m_k the weight and mean of component k's share of the rows and V_k its scatter about mu_k.

EM is preferable: it needs no step length, never decreases the likelihood, and solves for all parameters given the
posterior, whereas here each slope depends on all the others through the posterior, and plain gradient ascent takes many
steps. Both stop at the same kind of point: where the gradient is zero, an EM step changes nothing. From a start near
such a point both end there; from a start between two they may end at different ones. Redner & Walker (1984) compare
them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import cast

import numpy as np
from scipy.special import softmax
from sklearn.base import clone

from fivefold.core.admission.tables import admit
from fivefold.core.admission.targets import admit_weights, keep_positive
from fivefold.core.estimators import params
from fivefold.core.random_state import check_random_state
from fivefold.core.types import Array, Matrix, UserTable, UserWeights, Vector, Weights
from fivefold.distributions.covariances.covariance_matrices import Covariance
from fivefold.distributions.covariances.structures import CovarianceStructure, Fixed, Spherical, Tied
from fivefold.distributions.gaussian import Gaussian, GaussianMembers
from fivefold.inference.em import EMResult, em
from fivefold.mixture.estimation.finite_mixture import FiniteMixture
from fivefold.mixture.gaussian_mixture import GaussianMixture
from fivefold.optim.minimise import Solver, minimise
from fivefold.optim.objective import Minimum, SmoothObjective
from fivefold.optim.smooth.lbfgs import LBFGS

SAME_POINT_DEVIATIONS = 1e-3  # two ends at most this many standard deviations apart are the same stationary point


@dataclass(frozen=True)
class NegativeLogLikelihood(SmoothObjective):
    """-log p(X) per unit of weight, as a function of the unconstrained parameters of a mixture of Gaussians."""

    start: FiniteMixture  # its arrays have the shapes of the parameters
    X: Matrix
    w: Weights

    def pack(self, model: FiniteMixture) -> Vector:
        """The parameters of a mixture as one vector."""
        mean = (model.components.mean - self._centre) / self._unit
        return np.concatenate([np.log(model.weights), mean.ravel(), self._spread(model).ravel()])

    def unpack(self, theta: Vector) -> FiniteMixture:
        """The mixture with the parameters theta."""
        K, d = self.start.components.mean.shape
        mean = self._centre + self._unit * theta[K : K + K * d].reshape(K, d)
        covariance = self._covariance(theta[K + K * d :])
        return replace(self.start, weights=softmax(theta[:K]), components=GaussianMembers(mean, covariance))

    def value_and_gradient(self, theta: Vector) -> tuple[float, Vector]:
        model = self.unpack(theta)
        stats, value = model.expect(self.X, self.w)
        stats, n = stats.to_host(), float(np.sum(self.w))
        K, d = model.components.mean.shape
        delta = stats.mean - model.components.mean
        if self._structure.by_column:
            variance = np.broadcast_to(np.reshape(model.components.covariance.matrix, (K, -1)), (K, d))
            slope = stats.count * delta / variance
            spread = (stats.scatter + stats.count * delta**2) / variance - stats.count
            spread = spread.sum(axis=1) if isinstance(self._structure, Spherical) else spread
        else:
            P = np.linalg.inv(np.broadcast_to(model.components.covariance.dense(d), (K, d, d)))
            count = stats.count[:, None, None]
            slope = np.einsum("k,kab,kb->ka", stats.count, P, delta)
            about = stats.scatter + count * delta[:, :, None] * delta[:, None, :]
            spread = self._packed_slope(P @ about @ P - count * P, theta[K + K * d :])
        g = np.concatenate([stats.weight - n * model.weights, (slope * self._unit).ravel(), spread.ravel()])
        return -value / n, -g / n

    @property
    def _structure(self) -> CovarianceStructure:
        return cast("Gaussian", self.start.family).structure

    @cached_property
    def _centre(self) -> Array:
        return np.asarray(np.average(self.X, axis=0, weights=self.w), dtype=np.float64)

    @cached_property
    def _unit(self) -> Array:
        """Standard deviations of the columns, the units of the parameters: a step means the same in every column."""
        unit = np.sqrt(np.average((self.X - self._centre) ** 2, axis=0, weights=self.w))
        return np.where(unit > 0, unit, 1.0)

    def _spread(self, model: FiniteMixture) -> Array:
        """Logarithms of deviations, or factors L with logarithms on their diagonals."""
        covariance, d = model.components.covariance, model.components.mean.shape[1]
        if isinstance(self._structure, Fixed):
            return np.empty(0)
        if self._structure.by_column:
            return 0.5 * np.log(covariance.matrix)
        L = np.linalg.cholesky(covariance.dense(d)) / self._unit[:, None]
        rows, columns = np.tril_indices(d)
        return np.where(rows == columns, np.log(np.abs(L[:, rows, columns])), L[:, rows, columns])

    def _factor(self, packed: Array) -> Array:
        """L (m, d, d) in the units of the columns."""
        d = len(self._unit)
        rows, columns = np.tril_indices(d)
        entries = packed.reshape(-1, len(rows))
        L = np.zeros((len(entries), d, d))
        L[:, rows, columns] = np.where(rows == columns, np.exp(np.where(rows == columns, entries, 0.0)), entries)
        return L

    def _covariance(self, packed: Vector) -> Covariance:
        d = len(self._unit)
        if isinstance(self._structure, Fixed):
            return cast("GaussianMembers", self.start.components).covariance
        if self._structure.by_column:
            shape = self.start.components.covariance.matrix.shape
            return self._structure.from_matrix(np.exp(2 * packed.reshape(shape)), d)
        L = self._unit[:, None] * self._factor(packed)
        sigma = L @ L.transpose(0, 2, 1)
        return self._structure.from_matrix(sigma[0] if isinstance(self._structure, Tied) else sigma, d)

    def _packed_slope(self, G: Array, packed: Array) -> Array:
        """d/dL from twice d/dSigma (K, d, d), in the order of the parameters."""
        if isinstance(self._structure, Fixed):
            return np.empty(0)
        if isinstance(self._structure, Tied):
            G = G.sum(axis=0, keepdims=True)
        rows, columns = np.tril_indices(len(self._unit))
        L = self._factor(packed)
        slope = (G @ (self._unit[:, None] * L) * self._unit[:, None])[:, rows, columns]
        return np.where(rows == columns, slope * L[:, rows, columns], slope)


@dataclass(frozen=True)
class AscentResult:
    """The mixture that was reached, its log-likelihood at every step, and how the solver ended."""

    model: FiniteMixture
    history: tuple[float, ...]
    minimum: Minimum


@dataclass(frozen=True)
class EMComparison:
    """EM and gradient ascent from one start."""

    start: FiniteMixture
    em: EMResult[FiniteMixture]
    ascent: AscentResult

    @property
    def gap(self) -> float:
        """Largest difference of weights, or of means in standard deviations of their component."""
        ours, other = self.ascent.model, self.em.model
        d = other.components.mean.shape[1]
        deviation = np.sqrt(np.diagonal(other.components.covariance.dense(d), axis1=1, axis2=2))
        means = np.abs(ours.components.mean - other.components.mean) / deviation
        return max(float(np.abs(ours.weights - other.weights).max()), float(means.max()))

    def __str__(self) -> str:
        lines = [
            f"{name:<16} log-likelihood {values[-1]:.6f} after {len(values) - 1} steps ({reason})"
            for name, values, reason in (
                ("EM", self.em.history, self.em.reason),
                ("gradient ascent", self.ascent.history, self.ascent.minimum.reason),
            )
        ]
        apart = "; they are different stationary points" if self.gap > SAME_POINT_DEVIATIONS else ""
        return "\n".join([*lines, f"the two ends differ by {self.gap:.2g} deviations{apart}"])


def gradient_ascent(
    start: FiniteMixture,
    X: Matrix,
    w: Weights | None = None,
    *,
    solver: Solver | None = None,
    tol: float = 1e-8,
    max_iter: int = 10_000,
) -> AscentResult:
    """Maximise the log-likelihood of a mixture of Gaussians from `start` by its gradient.

    Parameters
    ----------
    start
        A fitted mixture, such as `GaussianMixture(...).fit(X).model_`.
    X, w
        Rows, without missing entries, and their weights.
    solver
        Any solver of `optim` for smooth objectives; by default L-BFGS. `SteepestDescent` is the textbook method.
    tol, max_iter
        Stop where no slope, per row and in standard deviations of the columns, exceeds `tol`; or after `max_iter`
        steps.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [9.0], [10.0]])
    >>> start = GaussianMixture(2, tol=1.0, random_state=0).fit(X).model_
    >>> found = gradient_ascent(start, X)
    >>> np.sort(found.model.components.mean.ravel()).round(3)
    array([0.5, 9.5])
    """
    X = np.asarray(X, dtype=np.float64)
    if not np.isfinite(X).all():
        raise ValueError("gradient_ascent: X must be finite; fill missing entries, or use EM, which takes them")
    if not isinstance(start.family, Gaussian) or start.components is None or start.prior is not None or start.share:
        raise ValueError("gradient_ascent: start must be a fitted mixture of Gaussians without a prior")
    w = np.ones(len(X)) if w is None else np.asarray(w, dtype=np.float64)
    objective = NegativeLogLikelihood(start, X, w)
    found = minimise(objective, objective.pack(start), solver or LBFGS(), tol=tol, max_iter=max_iter)
    n = float(w.sum())
    return AscentResult(objective.unpack(found.x), tuple(-n * value for value in found.history), found)


def compare_with_em(
    mixture: GaussianMixture,
    X: UserTable,
    sample_weight: UserWeights = None,
    *,
    solver: Solver | None = None,
    tol: float = 1e-8,
    max_iter: int = 10_000,
) -> EMComparison:
    """EM and gradient ascent from the same start, that of the mixture's first run.

    Both maximise the log-likelihood itself: reg_covar is left out, and a prior is refused.

    Parameters
    ----------
    mixture
        What to fit: number of components, covariance type, start.
    X, sample_weight
        Rows and their weights.
    solver, tol, max_iter
        As for `gradient_ascent`; EM stops where a step gains less than 1e-14 per row.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 1, (60, 1)), rng.normal(6, 1, (40, 1))])
    >>> found = compare_with_em(GaussianMixture(2, random_state=0), X)
    >>> print(found)
    EM               log-likelihood ... (converged)
    gradient ascent  log-likelihood ... (converged)
    the two ends differ by ... deviations
    >>> found.gap < 1e-5
    True
    """
    mixture = clone(mixture)
    params.check_params(mixture)
    X = admit(mixture, X, fitting=True)
    X, w = keep_positive(admit_weights(mixture, sample_weight, X), X)
    X, w = np.asarray(X, dtype=np.float64), np.asarray(w, dtype=np.float64)
    unfitted = mixture._unfitted(X, w)
    unfitted = replace(unfitted, family=replace(cast("Gaussian", unfitted.family), floor=0.0))
    start = next(islice(mixture._starts(unfitted, X, w, check_random_state(mixture.random_state)), 1))
    by_em = em(start, X, w, tol=1e-14, max_iter=max_iter)
    return EMComparison(start, by_em, gradient_ascent(start, X, w, solver=solver, tol=tol, max_iter=max_iter))
