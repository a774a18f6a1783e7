"""Penalties on coefficients: value, proximal map, and what the dual needs.

The prox of a penalty g with step t is argmin_u g(u) + |u - x|^2 / (2 t). All act coordinate by
coordinate except GroupLassoPenalty. A strength is one number for all coordinates or a vector, zero where a coordinate
(an intercept) is not penalised.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fivefold.core.types import Array


class Penalty(ABC):
    """g with its prox."""

    @abstractmethod
    def value(self, x: Array) -> float:
        """g(x)."""

    @abstractmethod
    def prox(self, x: Array, step: float | Array) -> Array:
        """argmin over u of g(u) + |u - x|^2 / (2 step); `step` is a number, or one per coordinate."""


@dataclass(frozen=True)
class NoPenalty(Penalty):
    """Zero everywhere."""

    def value(self, x: Array) -> float:
        return 0.0

    def prox(self, x: Array, step: float | Array) -> Array:
        return x


@dataclass(frozen=True)
class L2(Penalty):
    """sum of strength / 2 x^2."""

    strength: float | Array = 1.0

    def value(self, x: Array) -> float:
        return 0.5 * float(np.sum(self.strength * x**2))

    def prox(self, x: Array, step: float | Array) -> Array:
        return x / (1.0 + step * self.strength)


@dataclass(frozen=True)
class L1(Penalty):
    """sum of strength |x|."""

    strength: float | Array = 1.0

    def value(self, x: Array) -> float:
        return float(np.sum(self.strength * np.abs(x)))

    def prox(self, x: Array, step: float | Array) -> Array:
        return np.sign(x) * np.maximum(np.abs(x) - step * self.strength, 0.0)


@dataclass(frozen=True)
class ElasticNetPenalty(Penalty):
    """sum of lasso |x| + ridge / 2 x^2."""

    lasso: float | Array = 1.0
    ridge: float | Array = 1.0

    def value(self, x: Array) -> float:
        return float(np.sum(self.lasso * np.abs(x) + 0.5 * self.ridge * x**2))

    def prox(self, x: Array, step: float | Array) -> Array:
        return np.sign(x) * np.maximum(np.abs(x) - step * self.lasso, 0.0) / (1.0 + step * self.ridge)


@dataclass(frozen=True)
class GroupLassoPenalty(Penalty):
    """sum over groups of strength |x_group|: a group is zero as a whole or not at all.

    `groups` gives each coordinate the number of its group; a negative number leaves it free.
    """

    groups: NDArray[np.int64]
    strength: float | Array = 1.0

    def value(self, x: Array) -> float:
        return float(np.sum(self.strength * self._lengths(x)))

    def prox(self, x: Array, step: float | Array) -> Array:
        length = self._lengths(x)
        keep = np.maximum(
            1.0 - np.divide(step * self.strength, length, out=np.ones_like(length), where=length > 0), 0.0
        )
        return np.where(self.groups < 0, x, x * keep[self.groups])

    def _lengths(self, x: Array) -> Array:
        inside = self.groups >= 0
        return np.sqrt(np.bincount(self.groups[inside], weights=x[inside] ** 2, minlength=1))


@dataclass(frozen=True)
class BoxIndicator(Penalty):
    """Zero for low <= x <= high, infinite outside."""

    low: float | Array = -np.inf
    high: float | Array = np.inf

    def value(self, x: Array) -> float:
        return 0.0 if bool(np.all((x >= self.low) & (x <= self.high))) else float("inf")

    def prox(self, x: Array, step: float | Array) -> Array:
        return np.clip(x, self.low, self.high)
