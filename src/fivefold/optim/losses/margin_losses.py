"""Losses of the margin m = y eta, y in {-1, +1}."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

from fivefold.core.types import Array, Target, Weights
from fivefold.optim.losses.base import ROOT_2PI, Loss
from fivefold.optim.losses.elementwise import at_least, expit, log_one_plus_exp, xlogy
from fivefold.optim.losses.loss_loops import log_terms, squared_hinge_terms


class MarginLoss(Loss):
    """A loss of m = y eta, y in {-1, +1}: `at(m)` and its derivatives in m."""

    kind = "margin"

    @abstractmethod
    def at(self, m: Array) -> Array:
        """The loss at a margin."""

    @abstractmethod
    def slope_at(self, m: Array) -> Array:
        """Its derivative in m."""

    def curvature_at(self, m: Array) -> Array:
        """Its second derivative in m."""
        raise TypeError(f"{type(self).__name__} has no second derivative")

    def value(self, y: Target, eta: Array) -> Array:
        return self.at(y * eta)

    def slope(self, y: Target, eta: Array) -> Array:
        return y * self.slope_at(y * eta)

    def curvature(self, y: Target, eta: Array) -> Array:
        return self.curvature_at(y * eta)


@dataclass(frozen=True)
class LogLoss(MarginLoss):
    """ln(1 + e^-m): the negative log-likelihood of logistic regression."""

    max_curvature = 0.25

    def at(self, m: Array) -> Array:
        return log_one_plus_exp(-m)

    def slope_at(self, m: Array) -> Array:
        return -expit(-m)

    def curvature_at(self, m: Array) -> Array:
        return expit(m) * expit(-m)

    def conjugate(self, y: Target, a: Array) -> Array:
        b = -a * y
        inside = (b >= 0) & (b <= 1)
        b = np.clip(b, 0.0, 1.0)
        return np.where(inside, xlogy(b, b) + xlogy(1 - b, 1 - b), np.inf)

    def inverse_link(self, eta: Array) -> Array:
        return expit(eta)

    def weighted_sum(self, y: Target, eta: Array, s: Weights, slope: Array) -> float:
        return log_terms(y, eta, s, slope)


@dataclass(frozen=True)
class HingeLoss(MarginLoss):
    """max(0, 1 - m)."""

    smooth = False

    def at(self, m: Array) -> Array:
        return np.maximum(1 - m, 0.0)

    def slope_at(self, m: Array) -> Array:
        return np.where(m < 1, -1.0, 0.0)

    def conjugate(self, y: Target, a: Array) -> Array:
        b = -a * y
        return np.where((b >= 0) & (b <= 1), -b, np.inf)


@dataclass(frozen=True)
class SquaredHingeLoss(MarginLoss):
    """max(0, 1 - m)^2."""

    max_curvature = 2.0

    def at(self, m: Array) -> Array:
        return at_least(1 - m, 0.0) ** 2

    def slope_at(self, m: Array) -> Array:
        return -2 * at_least(1 - m, 0.0)

    def curvature_at(self, m: Array) -> Array:
        return 2.0 * (m < 1)

    def conjugate(self, y: Target, a: Array) -> Array:
        b = -a * y
        return np.where(b >= 0, 0.25 * b**2 - b, np.inf)

    def weighted_sum(self, y: Target, eta: Array, s: Weights, slope: Array) -> float:
        return squared_hinge_terms(y, eta, s, slope)


@dataclass(frozen=True)
class ModifiedHuberLoss(MarginLoss):
    """max(0, 1 - m)^2 down to m = -1, the line -4 m below: a squared hinge that is robust to outliers."""

    max_curvature = 2.0

    def at(self, m: Array) -> Array:
        return np.where(np.asarray(m) < -1, -4.0 * m, np.maximum(1 - m, 0.0) ** 2)

    def slope_at(self, m: Array) -> Array:
        return -2 * np.clip(1 - m, 0.0, 2.0)

    def curvature_at(self, m: Array) -> Array:
        return 2.0 * ((m < 1) & (m >= -1))

    def conjugate(self, y: Target, a: Array) -> Array:
        b = -a * y
        return np.where((b >= 0) & (b <= 4), 0.25 * b**2 - b, np.inf)

    def inverse_link(self, eta: Array) -> Array:
        return (np.clip(eta, -1, 1) + 1) / 2


@dataclass(frozen=True)
class SquaredMarginLoss(MarginLoss):
    """(1 - m)^2 / 2, which for labels -1 and +1 is the squared loss."""

    max_curvature = 1.0

    def at(self, m: Array) -> Array:
        return 0.5 * (1 - m) ** 2

    def slope_at(self, m: Array) -> Array:
        return m - 1

    def curvature_at(self, m: Array) -> Array:
        return np.ones_like(m)

    def conjugate(self, y: Target, a: Array) -> Array:
        return 0.5 * a**2 + a * y


@dataclass(frozen=True)
class ProbitLoss(MarginLoss):
    """-ln Phi(m): the negative log-likelihood of probit regression."""

    max_curvature = 1.0

    def at(self, m: Array) -> Array:
        return -log_ndtr(m)

    def slope_at(self, m: Array) -> Array:
        return -_mills(m)

    def curvature_at(self, m: Array) -> Array:
        ratio = _mills(m)
        return ratio * (ratio + m)

    def inverse_link(self, eta: Array) -> Array:
        return ndtr(eta)


@dataclass(frozen=True)
class ProbitMarginLoss(MarginLoss):
    """Phi(-m): the probability that Gaussian noise of unit variance flips the sign of the margin."""

    convex = False
    max_curvature = float(np.exp(-0.5)) / ROOT_2PI

    def at(self, m: Array) -> Array:
        return ndtr(-m)

    def slope_at(self, m: Array) -> Array:
        return -np.exp(-0.5 * m**2) / ROOT_2PI

    def curvature_at(self, m: Array) -> Array:
        return m * np.exp(-0.5 * m**2) / ROOT_2PI

    def inverse_link(self, eta: Array) -> Array:
        return ndtr(eta)


@dataclass(frozen=True)
class ExponentialLoss(MarginLoss):
    """e^-m: the loss that AdaBoost minimises."""

    def at(self, m: Array) -> Array:
        return np.exp(-m)

    def slope_at(self, m: Array) -> Array:
        return -np.exp(-m)

    def curvature_at(self, m: Array) -> Array:
        return np.exp(-m)

    def conjugate(self, y: Target, a: Array) -> Array:
        b = -a * y
        return np.where(b >= 0, xlogy(np.maximum(b, 0), np.maximum(b, 0)) - b, np.inf)

    def inverse_link(self, eta: Array) -> Array:
        return expit(2 * eta)


@dataclass(frozen=True)
class PerceptronLoss(MarginLoss):
    """max(0, -m)."""

    smooth = False

    def at(self, m: Array) -> Array:
        return np.maximum(-m, 0.0)

    def slope_at(self, m: Array) -> Array:
        return np.where(m < 0, -1.0, 0.0)

    def conjugate(self, y: Target, a: Array) -> Array:
        b = -a * y
        return np.where((b >= 0) & (b <= 1), 0.0, np.inf)


@dataclass(frozen=True)
class ZeroOneLoss(MarginLoss):
    """1 where m < 0; m = 0 counts as correct. To evaluate only: its slope is zero."""

    convex = False
    smooth = False

    def at(self, m: Array) -> Array:
        return (np.asarray(m) < 0).astype(float)

    def slope_at(self, m: Array) -> Array:
        return np.zeros_like(m)


@dataclass(frozen=True)
class MarginErrorLoss(MarginLoss):
    """1 where m < 1. To evaluate only."""

    convex = False
    smooth = False

    def at(self, m: Array) -> Array:
        return (np.asarray(m) < 1).astype(float)

    def slope_at(self, m: Array) -> Array:
        return np.zeros_like(m)


@dataclass(frozen=True)
class RampLoss(MarginLoss):
    """min(1, max(0, 1 - m)): the hinge, cut off where it exceeds one."""

    convex = False
    smooth = False

    def at(self, m: Array) -> Array:
        return np.clip(1 - m, 0.0, 1.0)

    def slope_at(self, m: Array) -> Array:
        return np.where((m < 1) & (m > 0), -1.0, 0.0)


def _mills(m: Array) -> Array:
    """phi(m) / Phi(m), also far to the left where both vanish."""
    return np.sqrt(2 / np.pi) / erfcx(-np.asarray(m) / np.sqrt(2))
