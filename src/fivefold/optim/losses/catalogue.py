"""Losses of a linear predictor: value, derivatives, conjugate, inverse link.

A loss sees the target y and the predictor eta = x'w + b of each row, nothing else. Margin losses take y in {-1, +1} and
depend on m = y eta; regression losses depend on y - eta; likelihoods take the target as it is.

    name (each ends in Loss)   value                              name                 value
    Squared                    (y - eta)^2 / 2                    Log                  ln(1 + e^-m)
    Absolute                   |y - eta|                          Hinge                max(0, 1 - m)
    Quantile(q)                max(q r, (q - 1) r), r = y - eta   SquaredHinge         max(0, 1 - m)^2
    Huber(d)                   r^2 / 2, linear beyond d           ModifiedHuber        max(0, 1 - m)^2, -4 m for m < -1
    Insensitive(e)             max(0, |r| - e)                    SquaredMargin        (1 - m)^2 / 2
    SquaredInsensitive(e)      max(0, |r| - e)^2                  Probit               -ln Phi(m)
    Poisson                    e^eta - y eta                      ProbitMargin         Phi(-m), not convex
    Gamma                      y e^-eta + eta                     Exponential          e^-m
    Softmax                    logsumexp(eta) - eta_y             Perceptron           max(0, -m)

To evaluate only, as no solver can minimise them: ZeroOne (m < 0), MarginError (m < 1), Ramp min(1, max(0, 1 - m)).

`slope` at a kink is the derivative from the side where the loss is smaller, so it is zero where zero is a subgradient.
The conjugate is sup over eta of a eta - loss(y, eta), infinite where there is no supremum.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import erfcx, expit, log_ndtr, logsumexp, ndtr, xlogy
from scipy.special import softmax as stable_softmax

from fivefold.core.types import Array, Target
from fivefold.optim.losses.loss_loops import gamma_terms, log_terms, poisson_terms, softmax_terms, squared_hinge_terms

LossKind = Literal["margin", "regression", "likelihood", "classes"]

ROOT_2PI = float(np.sqrt(2 * np.pi))


class Loss(ABC):
    """A function of a target and a predictor, elementwise: arrays of any shape or plain numbers, hence `Any` below."""

    kind: ClassVar[LossKind] = "regression"
    convex: ClassVar[bool] = True
    smooth: ClassVar[bool] = True  # differentiable everywhere, so that solvers of a SmoothObjective accept it
    max_curvature: ClassVar[float] = np.inf  # least upper bound of the second derivative

    @abstractmethod
    def value(self, y: Any, eta: Any) -> Any:
        """The loss of each row."""

    @abstractmethod
    def slope(self, y: Any, eta: Any) -> Any:
        """Its derivative in eta."""

    def curvature(self, y: Any, eta: Any) -> Any:
        """Its second derivative in eta, where there is one."""
        raise TypeError(f"{type(self).__name__} has no second derivative")

    def conjugate(self, y: Target, a: Any) -> Any:
        """sup over eta of a eta - loss(y, eta)."""
        raise TypeError(f"{type(self).__name__} has no conjugate in closed form")

    def inverse_link(self, eta: Any) -> Any:
        """What the predictor predicts: the mean of the target, or a probability."""
        return eta

    def weighted_sum(self, y: Any, eta: Any, s: Any, slope: Any) -> float:
        """sum of s loss(y, eta); fills `slope` with s loss'(y, eta) and may overwrite eta."""
        np.multiply(s, self.slope(y, eta), out=slope)
        return float(np.sum(s * self.value(y, eta)))


class RegressionLoss(Loss):
    """A loss of r = y - eta: `at(r)`, its derivative `slope_at(r)` and second derivative `curvature_at(r)` in r."""

    @abstractmethod
    def at(self, r: Any) -> Any:
        """The loss at a residual."""

    @abstractmethod
    def slope_at(self, r: Array) -> Any:
        """Its derivative in r."""

    def curvature_at(self, r: Array) -> Any:
        """Its second derivative in r."""
        raise TypeError(f"{type(self).__name__} has no second derivative")

    def value(self, y: Any, eta: Any) -> Any:
        return self.at(y - eta)

    def slope(self, y: Any, eta: Any) -> Any:
        return -self.slope_at(y - eta)

    def curvature(self, y: Any, eta: Any) -> Any:
        return self.curvature_at(y - eta)


class MarginLoss(Loss):
    """A loss of m = y eta, y in {-1, +1}: `at(m)` and its derivatives in m."""

    kind = "margin"

    @abstractmethod
    def at(self, m: Any) -> Any:
        """The loss at a margin."""

    @abstractmethod
    def slope_at(self, m: Any) -> Any:
        """Its derivative in m."""

    def curvature_at(self, m: Any) -> Any:
        """Its second derivative in m."""
        raise TypeError(f"{type(self).__name__} has no second derivative")

    def value(self, y: Any, eta: Any) -> Any:
        return self.at(y * eta)

    def slope(self, y: Any, eta: Any) -> Any:
        return y * self.slope_at(y * eta)

    def curvature(self, y: Any, eta: Any) -> Any:
        return self.curvature_at(y * eta)


@dataclass(frozen=True)
class SquaredLoss(RegressionLoss):
    """(y - eta)^2 / 2."""

    max_curvature = 1.0

    def at(self, r: Any) -> Any:
        return 0.5 * r**2

    def slope_at(self, r: Array) -> Any:
        return r

    def curvature_at(self, r: Array) -> Any:
        return np.ones_like(r)

    def conjugate(self, y: Target, a: Any) -> Any:
        return 0.5 * a**2 + a * y


@dataclass(frozen=True)
class AbsoluteLoss(RegressionLoss):
    """|y - eta|."""

    smooth = False

    def at(self, r: Any) -> Any:
        return np.abs(r)

    def slope_at(self, r: Array) -> Any:
        return np.sign(r)

    def conjugate(self, y: Target, a: Any) -> Any:
        return np.where(np.abs(a) <= 1, a * y, np.inf)


@dataclass(frozen=True)
class QuantileLoss(RegressionLoss):
    """q r above zero, (q - 1) r below: its expected minimum is the q-quantile."""

    q: float = 0.5
    smooth = False

    def at(self, r: Any) -> Any:
        return np.maximum(self.q * r, (self.q - 1) * r)

    def slope_at(self, r: Array) -> Any:
        return np.where(r > 0, self.q, np.where(r < 0, self.q - 1, 0.0))

    def conjugate(self, y: Target, a: Any) -> Any:
        return np.where((a >= -self.q) & (a <= 1 - self.q), a * y, np.inf)


@dataclass(frozen=True)
class HuberLoss(RegressionLoss):
    """r^2 / 2 up to delta, delta (|r| - delta / 2) beyond."""

    delta: float = 1.35
    max_curvature = 1.0

    def at(self, r: Any) -> Any:
        size = np.abs(r)
        return np.where(size <= self.delta, 0.5 * r**2, self.delta * (size - 0.5 * self.delta))

    def slope_at(self, r: Array) -> Any:
        return np.clip(r, -self.delta, self.delta)

    def curvature_at(self, r: Array) -> Any:
        return (np.abs(r) <= self.delta).astype(float)

    def conjugate(self, y: Target, a: Any) -> Any:
        return np.where(np.abs(a) <= self.delta, 0.5 * a**2 + a * y, np.inf)


@dataclass(frozen=True)
class InsensitiveLoss(RegressionLoss):
    """max(0, |r| - epsilon)."""

    epsilon: float = 0.1
    smooth = False

    def at(self, r: Any) -> Any:
        return np.maximum(np.abs(r) - self.epsilon, 0.0)

    def slope_at(self, r: Array) -> Any:
        return np.sign(r) * (np.abs(r) > self.epsilon)

    def conjugate(self, y: Target, a: Any) -> Any:
        return np.where(np.abs(a) <= 1, a * y + self.epsilon * np.abs(a), np.inf)


@dataclass(frozen=True)
class SquaredInsensitiveLoss(RegressionLoss):
    """max(0, |r| - epsilon)^2."""

    epsilon: float = 0.1
    max_curvature = 2.0

    def at(self, r: Any) -> Any:
        return np.maximum(np.abs(r) - self.epsilon, 0.0) ** 2

    def slope_at(self, r: Array) -> Any:
        return 2 * np.sign(r) * np.maximum(np.abs(r) - self.epsilon, 0.0)

    def curvature_at(self, r: Array) -> Any:
        return 2.0 * (np.abs(r) > self.epsilon)

    def conjugate(self, y: Target, a: Any) -> Any:
        return 0.25 * a**2 + a * y + self.epsilon * np.abs(a)


@dataclass(frozen=True)
class LogLoss(MarginLoss):
    """ln(1 + e^-m): the negative log-likelihood of logistic regression."""

    max_curvature = 0.25

    def at(self, m: Any) -> Any:
        return np.logaddexp(0.0, -m)

    def slope_at(self, m: Any) -> Any:
        return -expit(-m)

    def curvature_at(self, m: Any) -> Any:
        return expit(m) * expit(-m)

    def conjugate(self, y: Target, a: Any) -> Any:
        b = -a * y
        inside = (b >= 0) & (b <= 1)
        b = np.clip(b, 0.0, 1.0)
        return np.where(inside, xlogy(b, b) + xlogy(1 - b, 1 - b), np.inf)

    def inverse_link(self, eta: Any) -> Any:
        return expit(eta)

    def weighted_sum(self, y: Any, eta: Any, s: Any, slope: Any) -> float:
        return log_terms(y, eta, s, slope)


@dataclass(frozen=True)
class HingeLoss(MarginLoss):
    """max(0, 1 - m)."""

    smooth = False

    def at(self, m: Any) -> Any:
        return np.maximum(1 - m, 0.0)

    def slope_at(self, m: Any) -> Any:
        return np.where(m < 1, -1.0, 0.0)

    def conjugate(self, y: Target, a: Any) -> Any:
        b = -a * y
        return np.where((b >= 0) & (b <= 1), -b, np.inf)


@dataclass(frozen=True)
class SquaredHingeLoss(MarginLoss):
    """max(0, 1 - m)^2."""

    max_curvature = 2.0

    def at(self, m: Any) -> Any:
        return np.maximum(1 - m, 0.0) ** 2

    def slope_at(self, m: Any) -> Any:
        return -2 * np.maximum(1 - m, 0.0)

    def curvature_at(self, m: Any) -> Any:
        return 2.0 * (m < 1)

    def conjugate(self, y: Target, a: Any) -> Any:
        b = -a * y
        return np.where(b >= 0, 0.25 * b**2 - b, np.inf)

    def weighted_sum(self, y: Any, eta: Any, s: Any, slope: Any) -> float:
        return squared_hinge_terms(y, eta, s, slope)


@dataclass(frozen=True)
class ModifiedHuberLoss(MarginLoss):
    """max(0, 1 - m)^2 down to m = -1, the line -4 m below: a squared hinge that is robust to outliers."""

    max_curvature = 2.0

    def at(self, m: Any) -> Any:
        return np.where(np.asarray(m) < -1, -4.0 * m, np.maximum(1 - m, 0.0) ** 2)

    def slope_at(self, m: Any) -> Any:
        return -2 * np.clip(1 - m, 0.0, 2.0)

    def curvature_at(self, m: Any) -> Any:
        return 2.0 * ((m < 1) & (m >= -1))

    def conjugate(self, y: Target, a: Any) -> Any:
        b = -a * y
        return np.where((b >= 0) & (b <= 4), 0.25 * b**2 - b, np.inf)

    def inverse_link(self, eta: Any) -> Any:
        return (np.clip(eta, -1, 1) + 1) / 2


@dataclass(frozen=True)
class SquaredMarginLoss(MarginLoss):
    """(1 - m)^2 / 2, which for labels -1 and +1 is the squared loss."""

    max_curvature = 1.0

    def at(self, m: Any) -> Any:
        return 0.5 * (1 - m) ** 2

    def slope_at(self, m: Any) -> Any:
        return m - 1

    def curvature_at(self, m: Any) -> Any:
        return np.ones_like(m)

    def conjugate(self, y: Target, a: Any) -> Any:
        return 0.5 * a**2 + a * y


@dataclass(frozen=True)
class ProbitLoss(MarginLoss):
    """-ln Phi(m): the negative log-likelihood of probit regression."""

    max_curvature = 1.0

    def at(self, m: Any) -> Any:
        return -log_ndtr(m)

    def slope_at(self, m: Any) -> Any:
        return -_mills(m)

    def curvature_at(self, m: Any) -> Any:
        ratio = _mills(m)
        return ratio * (ratio + m)

    def inverse_link(self, eta: Any) -> Any:
        return ndtr(eta)


@dataclass(frozen=True)
class ProbitMarginLoss(MarginLoss):
    """Phi(-m): the probability that Gaussian noise of unit variance flips the sign of the margin."""

    convex = False
    max_curvature = float(np.exp(-0.5)) / ROOT_2PI

    def at(self, m: Any) -> Any:
        return ndtr(-m)

    def slope_at(self, m: Any) -> Any:
        return -np.exp(-0.5 * m**2) / ROOT_2PI

    def curvature_at(self, m: Any) -> Any:
        return m * np.exp(-0.5 * m**2) / ROOT_2PI

    def inverse_link(self, eta: Any) -> Any:
        return ndtr(eta)


@dataclass(frozen=True)
class ExponentialLoss(MarginLoss):
    """e^-m: the loss that AdaBoost minimises."""

    def at(self, m: Any) -> Any:
        return np.exp(-m)

    def slope_at(self, m: Any) -> Any:
        return -np.exp(-m)

    def curvature_at(self, m: Any) -> Any:
        return np.exp(-m)

    def conjugate(self, y: Target, a: Any) -> Any:
        b = -a * y
        return np.where(b >= 0, xlogy(np.maximum(b, 0), np.maximum(b, 0)) - b, np.inf)

    def inverse_link(self, eta: Any) -> Any:
        return expit(2 * eta)


@dataclass(frozen=True)
class PerceptronLoss(MarginLoss):
    """max(0, -m)."""

    smooth = False

    def at(self, m: Any) -> Any:
        return np.maximum(-m, 0.0)

    def slope_at(self, m: Any) -> Any:
        return np.where(m < 0, -1.0, 0.0)

    def conjugate(self, y: Target, a: Any) -> Any:
        b = -a * y
        return np.where((b >= 0) & (b <= 1), 0.0, np.inf)


@dataclass(frozen=True)
class ZeroOneLoss(MarginLoss):
    """1 where m < 0; m = 0 counts as correct. To evaluate only: its slope is zero."""

    convex = False
    smooth = False

    def at(self, m: Any) -> Any:
        return (np.asarray(m) < 0).astype(float)

    def slope_at(self, m: Any) -> Any:
        return np.zeros_like(m)


@dataclass(frozen=True)
class MarginErrorLoss(MarginLoss):
    """1 where m < 1. To evaluate only."""

    convex = False
    smooth = False

    def at(self, m: Any) -> Any:
        return (np.asarray(m) < 1).astype(float)

    def slope_at(self, m: Any) -> Any:
        return np.zeros_like(m)


@dataclass(frozen=True)
class RampLoss(MarginLoss):
    """min(1, max(0, 1 - m)): the hinge, cut off where it exceeds one."""

    convex = False
    smooth = False

    def at(self, m: Any) -> Any:
        return np.clip(1 - m, 0.0, 1.0)

    def slope_at(self, m: Any) -> Any:
        return np.where((m < 1) & (m > 0), -1.0, 0.0)


@dataclass(frozen=True)
class PoissonLoss(Loss):
    """e^eta - y eta: counts with mean e^eta, up to a constant."""

    kind = "likelihood"

    def value(self, y: Any, eta: Any) -> Any:
        return np.exp(eta) - y * eta

    def slope(self, y: Any, eta: Any) -> Any:
        return np.exp(eta) - y

    def curvature(self, y: Any, eta: Any) -> Any:
        return np.exp(eta)

    def conjugate(self, y: Target, a: Any) -> Any:
        b = a + y
        return np.where(b >= 0, xlogy(np.maximum(b, 0), np.maximum(b, 0)) - b, np.inf)

    def inverse_link(self, eta: Any) -> Any:
        return np.exp(eta)

    def weighted_sum(self, y: Any, eta: Any, s: Any, slope: Any) -> float:
        return poisson_terms(y, eta, s, slope)


@dataclass(frozen=True)
class GammaLoss(Loss):
    """y e^-eta + eta: positive targets with mean e^eta and constant relative spread, up to a constant."""

    kind = "likelihood"

    def value(self, y: Any, eta: Any) -> Any:
        return y * np.exp(-eta) + eta

    def slope(self, y: Any, eta: Any) -> Any:
        return 1 - y * np.exp(-eta)

    def curvature(self, y: Any, eta: Any) -> Any:
        return y * np.exp(-eta)

    def inverse_link(self, eta: Any) -> Any:
        return np.exp(eta)

    def weighted_sum(self, y: Any, eta: Any, s: Any, slope: Any) -> float:
        return gamma_terms(y, eta, s, slope)


@dataclass(frozen=True)
class SoftmaxLoss(Loss):
    """logsumexp(eta) - eta_y for K predictors per row, eta (K, n) and y the codes 0..K-1."""

    kind = "classes"
    max_curvature = 0.5

    def value(self, y: Any, eta: Any) -> Any:
        return logsumexp(eta, axis=0) - eta[y, np.arange(len(y))]

    def slope(self, y: Any, eta: Any) -> Any:
        P = self.inverse_link(eta)
        P[y, np.arange(len(y))] -= 1
        return P

    def curvature(self, y: Any, eta: Any) -> Any:
        """(K, K, n): diag(p) - p p^T of each row."""
        P = self.inverse_link(eta)
        C = -P[:, None] * P
        C[np.arange(len(P)), np.arange(len(P))] += P
        return C

    def inverse_link(self, eta: Any) -> Any:
        return stable_softmax(eta, axis=0)

    def weighted_sum(self, y: Any, eta: Any, s: Any, slope: Any) -> float:
        return softmax_terms(y, eta, s, slope)


# Every loss by name, with its default parameter; models choose from these.
LOSSES: dict[str, Loss] = {
    "squared": SquaredLoss(),
    "absolute": AbsoluteLoss(),
    "quantile": QuantileLoss(),
    "huber": HuberLoss(),
    "insensitive": InsensitiveLoss(),
    "squared_insensitive": SquaredInsensitiveLoss(),
    "poisson": PoissonLoss(),
    "gamma": GammaLoss(),
    "log": LogLoss(),
    "softmax": SoftmaxLoss(),
    "hinge": HingeLoss(),
    "squared_hinge": SquaredHingeLoss(),
    "modified_huber": ModifiedHuberLoss(),
    "squared_margin": SquaredMarginLoss(),
    "probit": ProbitLoss(),
    "probit_margin": ProbitMarginLoss(),
    "exponential": ExponentialLoss(),
    "perceptron": PerceptronLoss(),
    "zero_one": ZeroOneLoss(),
    "margin_error": MarginErrorLoss(),
    "ramp": RampLoss(),
}


def named_loss(loss: str | Loss) -> Loss:
    """The loss of that name; a Loss is returned unchanged.

    >>> named_loss("huber")
    HuberLoss(delta=1.35)
    >>> named_loss("hinge").value(np.array([1.0, -1.0]), np.array([0.25, 0.25]))
    array([0.75, 1.25])
    """
    if isinstance(loss, Loss):
        return loss
    if loss not in LOSSES:
        raise ValueError(f"no loss is called {loss!r}; there are {', '.join(LOSSES)}")
    return LOSSES[loss]


def _mills(m: Any) -> Any:
    """phi(m) / Phi(m), also far to the left where both vanish."""
    return np.sqrt(2 / np.pi) / erfcx(-np.asarray(m) / np.sqrt(2))
