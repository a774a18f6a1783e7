"""Variational Bayes for a mixture of Gaussians: a posterior over weights, means and precisions.

    q(z) q(pi) prod_k q(mu_k, Lambda_k)        z_i the component of row i

E-step  log r_ik = E[log pi_k] + E[log N(x_i | mu_k, Lambda_k^-1)] + constant
M-step  q(mu_k, Lambda_k) = normal-Wishart: mean m_k, precision kappa_k of the mean, nu_k degrees, scale (nu_k S_k)^-1
        q(pi) = Dirichlet(alpha_0 + N_k), or, for a Dirichlet process truncated at K components, independent
        Beta(1 + N_k, alpha_0 + N_{k+1} + ... + N_K) for the sticks broken off one after the other

The E-step is that of a mixture whose log weights hold the terms that depend on k alone, so that it is the same compiled
loop. The value that EM increases is the bound on the evidence after the
M-step, without constants of data and prior:

    -sum_ik r_ik log r_ik - sum_k log B(nu_k, S_k) - log C(alpha) - d/2 sum_k log kappa_k

Under tied, diag and spherical covariances the terms are scikit-learn's: those of a Wishart distribution of d columns.

Attias (2000); Blei & Jordan (2006); Bishop (2006), section 10.2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import numpy as np
from scipy.special import betaln, digamma, gammaln

from fivefold.core.types import Array, Matrix, Vector, Weights
from fivefold.distributions.gaussian import Gaussian, GaussianMembers, GroupMoments, Spherical, Tied
from fivefold.mixture.estimation.finite_mixture import FiniteMixture


@dataclass(frozen=True)
class MixturePrior:
    """The prior of all components: normal-Wishart for means and precisions, Dirichlet or its process for weights."""

    process: bool  # whether the weights are those of a Dirichlet process
    concentration: float
    mean: Vector  # (d,)
    mean_precision: float
    degrees: float
    covariance: Array  # (d, d), (d,) or (), by the structure


@dataclass(frozen=True)
class VariationalMixture(FiniteMixture):
    """A mixture of Gaussians whose parameters have a distribution: `weights` and `components` hold expectations."""

    parameters: MixturePrior | None = None
    concentration: Array | None = None  # (K,), or (2, K): both parameters of the beta distributions of the sticks
    mean_precision: Vector | None = None  # (K,)
    degrees: Array | None = None  # (K,), one number for a tied covariance

    def expect(self, X: Matrix, w: Weights) -> tuple[GroupMoments, float]:
        """Moments under the responsibilities, and the bound once the parameters follow them."""
        stats, value = super().expect(X, w)
        joint = stats.weight @ self._log_weights + self.components.expected_log_prob(stats).sum()
        after = self._posterior_of(stats)
        self.__dict__["_ahead"] = stats, after  # the M-step asks for it next
        return stats, float(value - joint) + after.bound_of_parameters

    def maximise(self, stats: GroupMoments) -> VariationalMixture:
        """The posterior of the parameters, from moments of the rows under the responsibilities."""
        known, after = self.__dict__.pop("_ahead", (None, None))
        return after if known is stats else self._posterior_of(stats)

    def _posterior_of(self, stats: GroupMoments) -> VariationalMixture:
        prior, family, N = cast("MixturePrior", self.parameters), cast("Gaussian", self.family), stats.weight
        K, d = stats.mean.shape
        kappa = prior.mean_precision + N
        apart, floor = stats.mean - prior.mean, family.floor * N
        shift = N * prior.mean_precision / kappa  # by which the distance of a mean from that of the prior counts
        degrees = np.asarray(prior.degrees + N)
        if family.structure.by_column:
            spread = stats.scatter + shift[:, None] * apart**2 + floor[:, None]
            spread = spread.mean(axis=1) if isinstance(family.structure, Spherical) else spread
        else:
            spread = stats.scatter + shift[:, None, None] * apart[:, :, None] * apart[:, None, :]
            spread = spread + floor[:, None, None] * np.eye(d)
        if isinstance(family.structure, Tied):
            degrees, spread = np.asarray(prior.degrees + N.sum() / K), spread.mean(axis=0)
        shape = (-1, *(1,) * (spread.ndim - 1)) if degrees.ndim else ()
        covariance = family.structure.from_matrix((prior.covariance + spread) / degrees.reshape(shape), d)
        concentration = prior.concentration + N
        if prior.process:
            later = np.append(N[::-1].cumsum()[-2::-1], 0.0)  # weight of the components after each
            concentration = np.array([1.0 + N, prior.concentration + later])
        return replace(
            self,
            weights=_expected_weights(concentration),
            components=GaussianMembers(prior.mean + (N / kappa)[:, None] * apart, covariance),
            concentration=concentration,
            mean_precision=kappa,
            degrees=degrees,
        )

    @property
    def bound_of_parameters(self) -> float:
        """The part of the bound that does not depend on the responsibilities, without constants."""
        d, K = self.components.mean.shape[1], len(self.weights)
        degrees, concentration = np.broadcast_to(cast("Array", self.degrees), K), cast("Array", self.concentration)
        half_log_det = -0.5 * np.broadcast_to(self.components.covariance.log_det, K) - 0.5 * d * np.log(degrees)
        log_gamma = gammaln(0.5 * (degrees - np.arange(d)[:, None])).sum(axis=0)
        log_wishart = -(degrees * half_log_det + 0.5 * degrees * d * np.log(2.0) + log_gamma)
        if concentration.ndim == 2:
            log_weights = -betaln(*concentration).sum()
        else:
            log_weights = gammaln(concentration.sum()) - gammaln(concentration).sum()
        return float(-log_wishart.sum() - log_weights - 0.5 * d * np.log(cast("Vector", self.mean_precision)).sum())

    @cached_property
    def _log_weights(self) -> Vector:
        """E[log pi_k], and what E[log N(x | mu_k, Lambda_k^-1)] adds to the log density at the expected parameters."""
        concentration, degrees = cast("Array", self.concentration), np.asarray(self.degrees)
        d = self.components.mean.shape[1]
        log_precision = d * np.log(2.0) + digamma(0.5 * (degrees[..., None] - np.arange(d))).sum(axis=-1)
        terms = 0.5 * (log_precision - d * np.log(degrees) - d / cast("Vector", self.mean_precision))
        if concentration.ndim == 1:
            return digamma(concentration) - digamma(concentration.sum()) + terms
        taken, left = digamma(concentration) - digamma(concentration.sum(axis=0))
        return taken + np.append(0.0, left.cumsum()[:-1]) + terms


def _expected_weights(concentration: Array) -> Vector:
    """Weights (K,) whose sum is one."""
    if concentration.ndim == 1:
        return concentration / concentration.sum()
    taken, left = concentration / concentration.sum(axis=0)
    weights = taken * np.append(1.0, left.cumprod()[:-1])
    return np.asarray(weights / weights.sum())
