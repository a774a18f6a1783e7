"""Negative log-likelihoods of counts, of positive targets and of classes, up to what does not depend on eta."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax as stable_softmax

from fivefold.core.numerics.arrays import AnyArray, is_tensor, logsumexp
from fivefold.core.types import Array, Codes, Target, Weights
from fivefold.optim.losses.base import Loss
from fivefold.optim.losses.elementwise import library, xlogy
from fivefold.optim.losses.loss_loops import gamma_terms, poisson_terms, softmax_terms


@dataclass(frozen=True)
class PoissonLoss(Loss):
    """e^eta - y eta: counts with mean e^eta, up to a constant."""

    kind = "likelihood"

    def value(self, y: Target, eta: Array) -> Array:
        return library(eta).exp(eta) - y * eta

    def slope(self, y: Target, eta: Array) -> Array:
        return library(eta).exp(eta) - y

    def curvature(self, y: Target, eta: Array) -> Array:
        return library(eta).exp(eta)

    def conjugate(self, y: Target, a: Array) -> Array:
        b = a + y
        return np.where(b >= 0, xlogy(np.maximum(b, 0), np.maximum(b, 0)) - b, np.inf)

    def inverse_link(self, eta: Array) -> Array:
        return library(eta).exp(eta)

    def weighted_sum(self, y: Target, eta: Array, s: Weights, slope: Array) -> float:
        return poisson_terms(y, eta, s, slope)


@dataclass(frozen=True)
class GammaLoss(Loss):
    """y e^-eta + eta: positive targets with mean e^eta and constant relative spread, up to a constant."""

    kind = "likelihood"

    def value(self, y: Target, eta: Array) -> Array:
        return y * library(eta).exp(-eta) + eta

    def slope(self, y: Target, eta: Array) -> Array:
        return 1 - y * library(eta).exp(-eta)

    def curvature(self, y: Target, eta: Array) -> Array:
        return y * library(eta).exp(-eta)

    def inverse_link(self, eta: Array) -> Array:
        return library(eta).exp(eta)

    def weighted_sum(self, y: Target, eta: Array, s: Weights, slope: Array) -> float:
        return gamma_terms(y, eta, s, slope)


@dataclass(frozen=True)
class SoftmaxLoss(Loss):
    """logsumexp(eta) - eta_y for K predictors per row, eta (K, n) and y the codes 0..K-1."""

    kind = "classes"
    max_curvature = 0.5

    def value(self, y: Codes, eta: Array) -> Array:
        return logsumexp(eta, axis=0) - eta[y, np.arange(len(y))]

    def slope(self, y: Codes, eta: Array) -> Array:
        P = self.inverse_link(eta)
        P[y, np.arange(len(y))] -= 1
        return P

    def curvature(self, y: Codes, eta: Array) -> Array:
        """(K, K, n): diag(p) - p p^T of each row."""
        P = self.inverse_link(eta)
        C = -P[:, None] * P
        C[np.arange(len(P)), np.arange(len(P))] += P
        return C

    def inverse_link(self, eta: Array) -> Array:
        return eta.softmax(dim=0) if is_tensor(eta) else stable_softmax(eta, axis=0)

    def tensor_terms(self, y: AnyArray, eta: AnyArray) -> tuple[AnyArray, AnyArray]:
        """Losses (m, 1) and slopes (m, K) of codes (m,) and predictors (m, K)."""
        logs, right = eta.log_softmax(dim=1), y[:, None]
        value = -logs.gather(1, right)
        slope = logs.exp_()
        return value, slope.scatter_(1, right, slope.gather(1, right) - 1)

    def weighted_sum(self, y: Codes, eta: Array, s: Weights, slope: Array) -> float:
        return softmax_terms(y, eta, s, slope)
