"""Learning rates as values: the size of step t = 1, 2, ... of a stochastic rule.

    ConstantRate         eta0
    InverseTimeDecay     eta0 / (1 + (t - 1) / t0)
    InverseScalingRate   eta0 / t^exponent
    AdaptiveRate         eta0, divided by `factor` each time progress stops

A rule that follows noisy gradients converges to the minimum almost surely if (Robbins & Monro, 1951)

    sum of eta_t = infinity       it can travel any distance,
    sum of eta_t^2 < infinity     and the accumulated noise is bounded.

For a rate that falls like t^-p these say p <= 1 and p > 1/2.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fivefold.core.types import Array

PROBE_STEP = 2.0**40  # the power of an unknown rate is measured between this step and twice this step
POWER_SLACK = 1e-6  # a measured power within this distance of 1/2 or 1 is taken to be exactly that


class LearningRate(ABC):
    """The size of each step. Compiled loops take it as `code`, `eta0` and `shape`."""

    code: ClassVar[int]
    eta0: float

    @abstractmethod
    def at(self, t: float | Array) -> float | Array:
        """The rate of step t, the first being 1; of several steps, where t is an array."""

    @property
    @abstractmethod
    def power(self) -> float:
        """p where the rate falls like t^-p."""

    @property
    def shape(self) -> float:
        """The number besides eta0 that a compiled loop needs."""
        return 0.0


@dataclass(frozen=True)
class ConstantRate(LearningRate):
    """The same at every step: never settles, but follows a drifting minimum."""

    eta0: float = 0.01
    code = 0
    power = 0.0

    def at(self, t: float | Array) -> float | Array:
        return self.eta0 * np.ones_like(t, dtype=float)[()]


@dataclass(frozen=True)
class InverseTimeDecay(LearningRate):
    """eta0 / (1 + (t - 1) / t0): nearly constant for t0 steps, then like t0 eta0 / t."""

    eta0: float = 0.01
    t0: float = 100.0
    code = 1
    power = 1.0

    def at(self, t: float | Array) -> float | Array:
        return self.eta0 / (1 + (t - 1) / self.t0)

    @property
    def shape(self) -> float:
        return self.t0


@dataclass(frozen=True)
class InverseScalingRate(LearningRate):
    """eta0 / t^exponent."""

    eta0: float = 0.01
    exponent: float = 0.25
    code = 2

    def at(self, t: float | Array) -> float | Array:
        return self.eta0 / t**self.exponent

    @property
    def power(self) -> float:
        return self.exponent

    @property
    def shape(self) -> float:
        return self.exponent


@dataclass(frozen=True)
class AdaptiveRate(LearningRate):
    """eta0 until progress stops, then divided by `factor`, and so on down to `floor`."""

    eta0: float = 0.01
    factor: float = 5.0
    floor: float = 1e-6
    code = 0
    power = 0.0

    def at(self, t: float | Array) -> float | Array:
        return self.eta0 * np.ones_like(t, dtype=float)[()]

    def lowered(self, eta: float) -> float | None:
        """The next rate after eta, or None where eta is at the floor."""
        return eta / self.factor if eta > self.floor else None


def reciprocal_rate(strength: float, start: float = 1.0) -> InverseTimeDecay:
    """1 / (strength (t - 1 + start)): the rate of strongly convex problems; Pegasos takes start = 1."""
    return InverseTimeDecay(1 / (strength * start), start)


def optimal_rate(alpha: float) -> InverseTimeDecay:
    """1 / (alpha (t - 1 + t0)), t0 such that the first step suits coefficients of the size alpha^(-1/4) (Bottou)."""
    typical = alpha**-0.25
    return reciprocal_rate(alpha, 1 / (typical * alpha))


@dataclass(frozen=True)
class RobbinsMonro:
    """Whether a rate falls slowly enough to arrive and fast enough to settle, and the power that says so."""

    power: float
    travels: bool  # the sum of rates is infinite
    settles: bool  # the sum of their squares is finite

    @property
    def holds(self) -> bool:
        """Both conditions."""
        return self.travels and self.settles


def robbins_monro(rate: LearningRate | Callable[[float], float]) -> RobbinsMonro:
    """The two conditions for a rate, or for any function of t that falls like a power in the end.

    >>> robbins_monro(InverseTimeDecay(0.1, 10.0)).holds, robbins_monro(ConstantRate(0.1)).holds
    (True, False)
    """
    if isinstance(rate, LearningRate):
        power = rate.power
        return RobbinsMonro(power, power <= 1, power > 0.5)
    near, far = float(rate(PROBE_STEP)), float(rate(2 * PROBE_STEP))
    if not (near > 0 and far > 0):  # the rate vanishes: its sum is finite
        return RobbinsMonro(np.inf, False, True)
    power = float(np.log2(near / far))
    return RobbinsMonro(power, power <= 1 + POWER_SLACK, power > 0.5 + POWER_SLACK)
