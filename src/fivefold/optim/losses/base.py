"""What every loss of a linear predictor can tell: value, derivatives, conjugate, inverse link."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Literal

import numpy as np

from fivefold.core.numerics.arrays import AnyArray
from fivefold.core.types import Array, Target, Weights

LossKind = Literal["margin", "regression", "likelihood", "classes"]

ROOT_2PI = float(np.sqrt(2 * np.pi))


class Loss(ABC):
    """A function of a target and a predictor, elementwise: arrays of any shape or plain numbers, hence `Any` below."""

    kind: ClassVar[LossKind] = "regression"
    convex: ClassVar[bool] = True
    smooth: ClassVar[bool] = True  # differentiable everywhere, so that solvers of a SmoothObjective accept it
    max_curvature: ClassVar[float] = np.inf  # least upper bound of the second derivative

    @abstractmethod
    def value(self, y: Target, eta: Array) -> Array:
        """The loss of each row."""

    @abstractmethod
    def slope(self, y: Target, eta: Array) -> Array:
        """Its derivative in eta."""

    def curvature(self, y: Target, eta: Array) -> Array:
        """Its second derivative in eta, where there is one."""
        raise TypeError(f"{type(self).__name__} has no second derivative")

    def conjugate(self, y: Target, a: Array) -> Array:
        """sup over eta of a eta - loss(y, eta)."""
        raise TypeError(f"{type(self).__name__} has no conjugate in closed form")

    def inverse_link(self, eta: Array) -> Array:
        """What the predictor predicts: the mean of the target, or a probability."""
        return eta

    def tensor_terms(self, y: AnyArray, eta: AnyArray) -> tuple[AnyArray, AnyArray]:
        """Losses and slopes (m, 1) of targets (m,) and predictors (m, 1), all tensors; in float64, as for arrays."""
        y, exact = y[:, None].double(), eta.double()
        slope: AnyArray = self.slope(y, exact)
        return self.value(y, exact), slope.to(eta.dtype)

    def weighted_sum(self, y: Target, eta: Array, s: Weights, slope: Array) -> float:
        """sum of s loss(y, eta); fills `slope` with s loss'(y, eta) and may overwrite eta."""
        np.multiply(s, self.slope(y, eta), out=slope)
        return float(np.sum(s * self.value(y, eta)))
