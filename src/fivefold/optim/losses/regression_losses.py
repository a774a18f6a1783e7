"""Losses of the residual r = y - eta."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from fivefold.core.types import Array, Target
from fivefold.optim.losses.base import Loss


class RegressionLoss(Loss):
    """A loss of r = y - eta: `at(r)`, its derivative `slope_at(r)` and second derivative `curvature_at(r)` in r."""

    @abstractmethod
    def at(self, r: Array) -> Array:
        """The loss at a residual."""

    @abstractmethod
    def slope_at(self, r: Array) -> Array:
        """Its derivative in r."""

    def curvature_at(self, r: Array) -> Array:
        """Its second derivative in r."""
        raise TypeError(f"{type(self).__name__} has no second derivative")

    def value(self, y: Target, eta: Array) -> Array:
        return self.at(y - eta)

    def slope(self, y: Target, eta: Array) -> Array:
        return -self.slope_at(y - eta)

    def curvature(self, y: Target, eta: Array) -> Array:
        return self.curvature_at(y - eta)


@dataclass(frozen=True)
class SquaredLoss(RegressionLoss):
    """(y - eta)^2 / 2."""

    max_curvature = 1.0

    def at(self, r: Array) -> Array:
        return 0.5 * r**2

    def slope_at(self, r: Array) -> Array:
        return r

    def curvature_at(self, r: Array) -> Array:
        return np.ones_like(r)

    def conjugate(self, y: Target, a: Array) -> Array:
        return 0.5 * a**2 + a * y


@dataclass(frozen=True)
class AbsoluteLoss(RegressionLoss):
    """|y - eta|."""

    smooth = False

    def at(self, r: Array) -> Array:
        return np.abs(r)

    def slope_at(self, r: Array) -> Array:
        return np.sign(r)

    def conjugate(self, y: Target, a: Array) -> Array:
        return np.where(np.abs(a) <= 1, a * y, np.inf)


@dataclass(frozen=True)
class QuantileLoss(RegressionLoss):
    """q r above zero, (q - 1) r below: its expected minimum is the q-quantile."""

    q: float = 0.5
    smooth = False

    def at(self, r: Array) -> Array:
        return np.maximum(self.q * r, (self.q - 1) * r)

    def slope_at(self, r: Array) -> Array:
        return np.where(r > 0, self.q, np.where(r < 0, self.q - 1, 0.0))

    def conjugate(self, y: Target, a: Array) -> Array:
        return np.where((a >= -self.q) & (a <= 1 - self.q), a * y, np.inf)


@dataclass(frozen=True)
class HuberLoss(RegressionLoss):
    """r^2 / 2 up to delta, delta (|r| - delta / 2) beyond."""

    delta: float = 1.35
    max_curvature = 1.0

    def at(self, r: Array) -> Array:
        size = np.abs(r)
        return np.where(size <= self.delta, 0.5 * r**2, self.delta * (size - 0.5 * self.delta))

    def slope_at(self, r: Array) -> Array:
        return np.clip(r, -self.delta, self.delta)

    def curvature_at(self, r: Array) -> Array:
        return (np.abs(r) <= self.delta).astype(float)

    def conjugate(self, y: Target, a: Array) -> Array:
        return np.where(np.abs(a) <= self.delta, 0.5 * a**2 + a * y, np.inf)


@dataclass(frozen=True)
class InsensitiveLoss(RegressionLoss):
    """max(0, |r| - epsilon)."""

    epsilon: float = 0.1
    smooth = False

    def at(self, r: Array) -> Array:
        return np.maximum(np.abs(r) - self.epsilon, 0.0)

    def slope_at(self, r: Array) -> Array:
        return np.sign(r) * (np.abs(r) > self.epsilon)

    def conjugate(self, y: Target, a: Array) -> Array:
        return np.where(np.abs(a) <= 1, a * y + self.epsilon * np.abs(a), np.inf)


@dataclass(frozen=True)
class SquaredInsensitiveLoss(RegressionLoss):
    """max(0, |r| - epsilon)^2."""

    epsilon: float = 0.1
    max_curvature = 2.0

    def at(self, r: Array) -> Array:
        return np.maximum(np.abs(r) - self.epsilon, 0.0) ** 2

    def slope_at(self, r: Array) -> Array:
        return 2 * np.sign(r) * np.maximum(np.abs(r) - self.epsilon, 0.0)

    def curvature_at(self, r: Array) -> Array:
        return 2.0 * (np.abs(r) > self.epsilon)

    def conjugate(self, y: Target, a: Array) -> Array:
        return 0.25 * a**2 + a * y + self.epsilon * np.abs(a)
