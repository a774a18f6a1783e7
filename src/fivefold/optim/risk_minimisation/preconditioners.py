"""Coordinates scaled by the Hessian of a risk.

    x = origin + T z,   T T' = H^-1,   H near the Hessian

In z the Hessian is near the identity, and half the squared length of the gradient is near the decrease still possible,
whatever the units of the columns. Under an L1 penalty T comes from the diagonal of H only, which keeps the axes. With
too many coefficients for a matrix T is a diagonal as well.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri, dtrtrs

from fivefold.core.types import Array
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.minimise import Solver
from fivefold.optim.objective import CompositeObjective, Objective, SmoothObjective, TwiceSmoothObjective
from fivefold.optim.penalties.proximal_operators import L1
from fivefold.optim.proximal.proximal_newton import ProximalNewton
from fivefold.optim.smooth.lbfgs import LBFGS
from fivefold.optim.smooth.line_search import Armijo

MAX_HESSIAN_SIZE = 1500  # coefficients, up to which the whole Hessian is formed
GAP_SHARE = 1 / 6  # the allowed remaining decrease is half of this x tol^2 x the scale of the risk
MIN_SCALE = 1e-4  # per unit of weight: the smallest scale assumed for a risk
DIAGONAL_JITTER = 1e-10  # added to the scaled diagonal of H: a sample may lack a direction of the data


@dataclass(frozen=True)
class CachedObjective(SmoothObjective):
    """An objective that remembers its last result."""

    objective: SmoothObjective
    last: dict[str, Any] = field(default_factory=dict)

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        if "x" not in self.last or not np.array_equal(self.last["x"], x):
            self.last.update(x=x.copy(), answer=self.objective.value_and_gradient(x))
        return self.last["answer"]


@dataclass(frozen=True)
class WhitenedObjective(SmoothObjective):
    """An objective of z, x = origin + T z; T is a matrix, or a vector for a diagonal."""

    objective: SmoothObjective
    origin: Array
    T: Array

    def at(self, z: Array) -> Array:
        """The point x of z."""
        return self.origin + (self.T @ z if self.T.ndim == 2 else self.T * z)

    def value_and_gradient(self, z: Array) -> tuple[float, Array]:
        value, g = self.objective.value_and_gradient(self.at(z))
        return value, g @ self.T if self.T.ndim == 2 else self.T * g


@dataclass(frozen=True)
class ScaledObjective(TwiceSmoothObjective):
    """An objective of z, x = t z, with the same Hessian everywhere."""

    objective: SmoothObjective
    t: Array
    H: Array  # in z

    def value_and_gradient(self, z: Array) -> tuple[float, Array]:
        value, g = self.objective.value_and_gradient(self.t * z)
        return value, self.t * g

    def hessian(self, z: Array) -> Array:
        return self.H


class ScaledFactor(NamedTuple):
    """T = scale U^-1 with T T' = H^-1, never formed: U is the upper Cholesky factor of H in units of `scale`."""

    scale: Array
    U: Array | None  # None for the identity: H holds NaN, and each axis is scaled only

    def to_gradient(self, g: Array) -> Array:
        """T'g, the gradient in z."""
        return self.scale * g if self.U is None else dtrtrs(self.U, self.scale * g, trans=1)[0]

    def to_step(self, z: Array) -> Array:
        """T z."""
        return self.scale * (z if self.U is None else dtrtrs(self.U, z)[0])


@dataclass(frozen=True)
class TransformedProblem:
    """A problem in z, its starting point, and the map from z to x."""

    problem: Objective
    start: Array
    at: Callable[[Array], Array]


class Preconditioner(ABC):
    """How a risk is scaled: `metric` is taken from H at a point, `transform` gives the problem in its coordinates."""

    solver: Solver

    @abstractmethod
    def metric(self, risk: EmpiricalRisk, x: Array) -> Array:
        """T, or H, at x."""

    @abstractmethod
    def transform(self, objective: CachedObjective, x: Array, metric: Array) -> TransformedProblem:
        """The problem about x."""

    @abstractmethod
    def penalty_value(self, x: Array) -> float:
        """The penalty that is added to the risk."""


@dataclass(frozen=True)
class HessianPreconditioner(Preconditioner):
    """Whitens: the Hessian becomes the identity."""

    solver = LBFGS(memory=10, inverse=lambda g: g, search=Armijo())

    def metric(self, risk: EmpiricalRisk, x: Array) -> Array:
        if len(x) > MAX_HESSIAN_SIZE:
            diagonal = risk.hessian_diagonal(x)
            return 1 / np.sqrt(
                np.maximum(diagonal, DIAGONAL_JITTER * max(float(diagonal.mean()), np.finfo(np.float64).tiny))
            )
        return inverse_root(risk.hessian(x) + _shared_curvature(risk, risk.ridge))

    def transform(self, objective: CachedObjective, x: Array, metric: Array) -> TransformedProblem:
        white = WhitenedObjective(objective, x, metric)
        return TransformedProblem(white, np.zeros(len(x)), white.at)

    def penalty_value(self, x: Array) -> float:
        return 0.0


@dataclass(frozen=True)
class DiagonalPreconditioner(Preconditioner):
    """Scales each axis, under which an L1 penalty stays one."""

    lasso: Array
    solver = ProximalNewton()

    def metric(self, risk: EmpiricalRisk, x: Array) -> Array:
        H = risk.hessian(x) + _shared_curvature(risk, self.lasso)
        diagonal = H.diagonal()
        H[np.diag_indices_from(H)] += np.where(diagonal > 0, DIAGONAL_JITTER * diagonal, 1.0)
        return H

    def transform(self, objective: CachedObjective, x: Array, metric: Array) -> TransformedProblem:
        t = 1 / np.sqrt(metric.diagonal())
        scaled = ScaledObjective(objective, t, metric * t * t[:, None])
        return TransformedProblem(CompositeObjective(scaled, L1(self.lasso * t)), x / t, lambda z: t * z)

    def penalty_value(self, x: Array) -> float:
        return float(self.lasso @ np.abs(x))


def gradient_tolerance(value: float, weight: float, size: int, tol: float) -> float:
    """The largest entry a gradient in z may have in the end."""
    return tol * float(np.sqrt(np.clip(abs(value), MIN_SCALE * weight, weight) * GAP_SHARE / size))


def scaled_factor(H: Array) -> ScaledFactor:
    """The factor of H, whose diagonal is increased until it has one."""
    diagonal = H.diagonal()
    scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    C, jitter = H * scale * scale[:, None], DIAGONAL_JITTER
    while jitter < 1e10:
        shifted = C.copy()
        shifted.reshape(-1)[:: len(C) + 1] += jitter
        U, failed = dpotrf(shifted.T)  # symmetric: the transpose is in the order of LAPACK
        if not failed:
            return ScaledFactor(scale, U)
        jitter *= 100
    return ScaledFactor(scale, None)


def inverse_root(H: Array) -> Array:
    """T with T T' = H^-1, or the diagonal of one where H holds NaN."""
    scale, U = scaled_factor(H)
    return scale if U is None else scale[:, None] * dtrtri(U)[0]


def whitening(risk: EmpiricalRisk, x: Array) -> ScaledFactor:
    """The factor of H at x."""
    return scaled_factor(risk.hessian(x) + _shared_curvature(risk, risk.ridge))


def _shared_curvature(risk: EmpiricalRisk, penalty: float | Array) -> float | Array:
    """Curvature along what all classes share, where the loss is flat, for coefficients without a penalty."""
    if not risk.outputs or risk.reference is not None:
        return 0.0
    K, m = risk.outputs, risk.design.size
    free = np.broadcast_to(risk.ridge + penalty, K * m)[:m] == 0
    return np.kron(np.full((K, K), 1 / K**2), np.diag(np.where(free, risk.design.gram_diagonal(risk.s), 0.0)))
