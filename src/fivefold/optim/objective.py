"""What a solver is given and what it returns.

    SmoothObjective        f with its gradient
    TwiceSmoothObjective   f with its gradient and Hessian
    ResidualObjective      f = half the sum of squares of residuals, with their derivatives
    FiniteSum              f = sum of n terms, with the gradient of a batch of them
    CompositeObjective     smooth f plus a penalty with a prox

Every objective says how far a point is from being a minimum: `violation(x)`, zero exactly at the points where the
first-order conditions hold. It is computed from the objective alone, never from a solver's own records.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fivefold.core.types import Array, Indices
from fivefold.optim.penalties.proximal_operators import Penalty

Reason = Literal["converged", "max_iter", "stuck", "diverged", "stopped", "interrupted"]
Monitor = Callable[[Array, float], bool]  # called with the point and its value after every step; True ends the loop


class Objective(ABC):
    """A function of a vector that says how far a point is from its minimum."""

    @abstractmethod
    def value(self, x: Array) -> float:
        """f(x)."""

    @abstractmethod
    def violation(self, x: Array) -> float:
        """Distance from the first-order conditions of a minimum, in the units of the gradient."""

    def value_and_violation(self, x: Array) -> tuple[float, float]:
        """Value and violation, computed together where that is cheaper."""
        return self.value(x), self.violation(x)


class SmoothObjective(Objective):
    """f with its gradient."""

    @abstractmethod
    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        """f(x) and its gradient, computed together because they share most of their work."""

    def value(self, x: Array) -> float:
        return self.value_and_gradient(x)[0]

    def gradient(self, x: Array) -> Array:
        """The gradient at x."""
        return self.value_and_gradient(x)[1]

    def violation(self, x: Array) -> float:
        return self.value_and_violation(x)[1]

    def value_and_violation(self, x: Array) -> tuple[float, float]:
        value, g = self.value_and_gradient(x)
        return value, float(np.abs(g).max(initial=0.0))


class TwiceSmoothObjective(SmoothObjective):
    """f with gradient and Hessian."""

    @abstractmethod
    def hessian(self, x: Array) -> Array:
        """The matrix of second derivatives at x."""

    def hessian_product(self, x: Array, v: Array) -> Array:
        """The Hessian at x times v; override where the matrix is too large to make."""
        return self.hessian(x) @ v

    def least_squares_model(self, x: Array) -> tuple[Array, Array] | None:
        """Z and y with 1/2 |y - Zu|^2 the quadratic model of f(u) at x, less a constant, if Z is wider than long."""
        return None


class ResidualObjective(SmoothObjective):
    """f = 1/2 |r|^2 of residuals r."""

    @abstractmethod
    def residuals(self, x: Array) -> Array:
        """r (m,) at x."""

    @abstractmethod
    def jacobian(self, x: Array) -> Array:
        """Derivatives (m, d) of the residuals at x."""

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        r = self.residuals(x)
        return 0.5 * float(r @ r), self.jacobian(x).T @ r

    def value(self, x: Array) -> float:
        r = self.residuals(x)
        return 0.5 * float(r @ r)


class FiniteSum(SmoothObjective):
    """f = sum of n terms, any penalty spread evenly over them: what stochastic solvers sample."""

    @property
    @abstractmethod
    def n_terms(self) -> int:
        """The number of terms n."""

    @abstractmethod
    def batch(self, x: Array, rows: Indices) -> Array:
        """n times the mean gradient of the terms of these rows; over random rows its mean is the gradient of f."""


@dataclass(frozen=True)
class CompositeObjective(Objective):
    """f(x) + penalty(x), f smooth and the penalty known by its prox."""

    smooth: SmoothObjective
    penalty: Penalty

    def value(self, x: Array) -> float:
        return self.smooth.value(x) + self.penalty.value(x)

    def violation(self, x: Array) -> float:
        """Length, in the largest coordinate, of a unit proximal-gradient step: zero where 0 is in the subgradient."""
        return self.value_and_violation(x)[1]

    def value_and_violation(self, x: Array) -> tuple[float, float]:
        value, g = self.smooth.value_and_gradient(x)
        return value + self.penalty.value(x), self.violation_at(x, g)

    def violation_at(self, x: Array, gradient: Array) -> float:
        """The violation at x, where the gradient of the smooth part is already known."""
        return float(np.abs(x - self.penalty.prox(x - gradient, 1.0)).max(initial=0.0))


@dataclass(frozen=True)
class Minimum:
    """Where a solver stopped, how far that is from a minimum, and why it stopped.

    `violation` is recomputed from the objective at `x`. `history` holds the value before every step and at the end,
    `path` the points if `record` asked for them. "converged": the violation fell to the tolerance; "stuck": no step
    lowers the value further, which at a minimum is rounding; "diverged": the values grow without bound.
    """

    x: Array
    value: float
    violation: float
    history: tuple[float, ...]
    reason: Reason
    path: tuple[Array, ...] = ()

    @property
    def steps(self) -> int:
        """Number of steps taken."""
        return len(self.history) - 1
