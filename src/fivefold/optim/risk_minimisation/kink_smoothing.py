"""Exact minima of losses that are straight lines joined at kinks: absolute, quantile, insensitive, hinge, perceptron.

    F(x) = sum s loss(y, eta) + sum lasso |x| + 1/2 sum ridge x^2,       eta = design x

Every kink is rounded by a parabola of half width h, which makes F smooth, and Newton's method minimises it; h shrinks,
each minimisation starting from the last minimum. The rows within h of a kink are those on which a minimum of F itself
may rest. With these held at their kinks, a linear system gives the minimum and the multipliers; if the multipliers lie
between the slopes on either side and no other row changed sides, the point is the minimum of F, up to rounding.

Madsen & Nielsen (1993) for absolute values; Chen, Pinar (1998).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import singledispatch
from typing import NamedTuple

import numpy as np
from scipy.optimize import lsq_linear

from fivefold.core.types import Array, Target
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.losses.base import Loss
from fivefold.optim.losses.margin_losses import HingeLoss, PerceptronLoss
from fivefold.optim.losses.regression_losses import AbsoluteLoss, InsensitiveLoss, QuantileLoss
from fivefold.optim.minimise import Solver, minimise
from fivefold.optim.objective import CompositeObjective, Minimum, Monitor, Objective
from fivefold.optim.penalties.proximal_operators import L1
from fivefold.optim.proximal.proximal_newton import ProximalNewton
from fivefold.optim.risk_minimisation.convexified_hessian import ConvexifiedObjective
from fivefold.optim.smooth.newton import Newton

WIDTH_FACTOR = 0.2  # h shrinks by this factor from one level to the next
RIDGE_NUDGE = 1e-10  # x total weight: a temporary ridge that leads to the shortest of many minima
MAX_LEVELS = 20  # values of h
MIN_LEVELS = 9  # levels before a value that no longer falls ends the search
GRADIENT_TOL = 1e-11  # x total weight: a smaller gradient of the smoothed risk counts as zero
SECANT_SHARE = 1e-3  # away from a kink the curvature is this share of the secant's
KINK_ROWS_PER_COEF = 3  # with more rows at kinks per coefficient than this h is still too wide,
MAX_DEGENERATE_ROWS = 300  # but this many are accepted anyway: where many rows agree, many may rest on kinks
ROUNDING_SLACK = 1e-10  # x total weight: a smaller gradient, or distance of a row from its kink, is rounding


class LossKinks(NamedTuple):
    """Slope of each row far to the left (n,); predictors (k, n) at which the slope jumps, and by how much (k,)."""

    left: Array
    at: Array
    jump: Array


@singledispatch
def loss_kinks(loss: Loss, y: Array) -> LossKinks:
    """The kinks of the loss of each row. Register a function for a loss of your own."""
    raise TypeError(
        f"{type(loss).__name__} is not smooth and its kinks are not known: register them with "
        "fivefold.optim.risk_minimisation.kink_smoothing.loss_kinks"
    )


@loss_kinks.register
def _(loss: AbsoluteLoss, y: Array) -> LossKinks:
    return LossKinks(np.full(len(y), -1.0), y[None], np.array([2.0]))


@loss_kinks.register
def _(loss: QuantileLoss, y: Array) -> LossKinks:
    return LossKinks(np.full(len(y), -loss.q), y[None], np.array([1.0]))


@loss_kinks.register
def _(loss: InsensitiveLoss, y: Array) -> LossKinks:
    return LossKinks(np.full(len(y), -1.0), np.stack([y - loss.epsilon, y + loss.epsilon]), np.array([1.0, 1.0]))


@loss_kinks.register
def _(loss: HingeLoss, y: Array) -> LossKinks:
    return LossKinks(-(y > 0).astype(float), y[None].astype(float), np.array([1.0]))


@loss_kinks.register
def _(loss: PerceptronLoss, y: Array) -> LossKinks:
    return LossKinks(-(y > 0).astype(float), np.zeros((1, len(y))), np.array([1.0]))


@dataclass(frozen=True)
class SmoothedLoss(Loss):
    """A loss whose kinks are parabolas of half width h."""

    sharp: Loss
    h: float

    def value(self, y: Target, eta: Array) -> Array:
        _, at, jump = loss_kinks(self.sharp, y)
        return self.sharp.value(y, eta) + jump @ np.maximum(self.h - np.abs(eta - at), 0.0) ** 2 / (4 * self.h)

    def slope(self, y: Target, eta: Array) -> Array:
        left, at, jump = loss_kinks(self.sharp, y)
        return left + jump @ np.clip((eta - at) / (2 * self.h) + 0.5, 0.0, 1.0)

    def curvature(self, y: Target, eta: Array) -> Array:
        """Outside the parabolas it is zero; a share of the secant's curvature there keeps every step bounded."""
        _, at, jump = loss_kinks(self.sharp, y)
        away = np.abs(eta - at)
        return jump @ np.where(away < self.h, 0.5 / self.h, SECANT_SHARE / np.maximum(away, self.h))


def minimise_kinked(
    risk: EmpiricalRisk,
    x0: Array,
    *,
    lasso: float | Array = 0.0,
    max_iter: int = 200,
    monitor: Monitor | None = None,
) -> Minimum:
    """The minimum of a risk whose loss has kinks, plus sum of lasso |x|.

    The reason is "converged" where the multipliers prove it, "stuck" where rounding or a flat valley prevents that.
    """
    size = np.sqrt(risk.design.gram(risk.s).diagonal() / risk.s.sum())
    size = np.where(size > 0, size, 1.0)
    found = _by_continuation(
        _in_units(risk, size), np.broadcast_to(lasso, x0.shape) / size, x0 * size, max_iter, monitor
    )
    x = found.x / size
    return replace(found, x=x, value=_value(risk, np.broadcast_to(lasso, x.shape), x))


def _in_units(risk: EmpiricalRisk, size: Array) -> EmpiricalRisk:
    """The same risk with columns of unit size."""
    design, d = risk.design, risk.design.X.shape[1]
    X = design.X.multiply(1 / size[:d]).tocsr() if design.sparse else design.X / size[:d]
    centre = None if design.centre is None else design.centre / size[:d]
    ridge = np.broadcast_to(risk.ridge / size**2, size.shape)
    return replace(risk, design=replace(design, X=X, centre=centre), ridge=ridge)


def _by_continuation(risk: EmpiricalRisk, lasso: Array, x0: Array, max_iter: int, monitor: Monitor | None) -> Minimum:
    away = np.abs(risk.design.predictor(x0) - loss_kinks(risk.loss, risk.y).at)
    h = float((away @ risk.s).mean() / risk.s.sum()) or 1.0
    tol = GRADIENT_TOL * float(risk.s.sum())
    x, history = x0, [_value(risk, lasso, x0)]
    best, lowest = x0, history[0]
    for _ in range(MAX_LEVELS):
        soft = replace(risk, loss=SmoothedLoss(risk.loss, h), ridge=np.maximum(risk.ridge, RIDGE_NUDGE * risk.s.sum()))
        objective: Objective = CompositeObjective(ConvexifiedObjective(soft), L1(lasso)) if lasso.any() else soft
        solver: Solver = ProximalNewton() if lasso.any() else Newton()
        found = minimise(objective, x, solver, tol=tol, max_iter=max_iter, monitor=monitor)
        x = found.x
        history.append(_value(risk, lasso, x))
        if history[-1] < lowest:
            best, lowest = x, history[-1]
        if found.reason in ("interrupted", "stopped", "diverged"):
            return Minimum(best, lowest, found.violation, tuple(history), found.reason)
        exact = _minimum_on_kinks(risk, lasso, x, h)
        if exact is not None and (value := _value(risk, lasso, exact.x)) <= lowest + ROUNDING_SLACK * abs(lowest):
            return Minimum(exact.x, value, exact.violation, (*history, value), "converged")
        if len(history) > MIN_LEVELS and abs(history[-2] - history[-1]) <= 1e-13 * abs(history[-1]):
            break
        h *= WIDTH_FACTOR
    return Minimum(best, lowest, found.violation, tuple(history), "stuck")


def _value(risk: EmpiricalRisk, lasso: Array, x: Array) -> float:
    return risk.value(x) + float(lasso @ np.abs(x))


class KinkMinimum(NamedTuple):
    """A minimum, and the largest entry of the least subgradient there."""

    x: Array
    violation: float


def _minimum_on_kinks(risk: EmpiricalRisk, lasso: Array, x: Array, h: float) -> KinkMinimum | None:
    """The minimum that rests on the kinks within h of x, if there is one."""
    (left, at, jump), ridge = loss_kinks(risk.loss, risk.y), np.broadcast_to(risk.ridge, x.shape)
    design, s, z = risk.design, risk.s, risk.design.predictor(x) - at  # (k, n)
    near = np.abs(z) < h
    if np.count_nonzero(near) > max(KINK_ROWS_PER_COEF * len(x), MAX_DEGENERATE_ROWS):
        return None
    beyond = (z > 0) & ~near
    kind, row = np.nonzero(near)
    D, most = design.rows(row), s[row] * jump[kind]  # (p, m), (p,)
    a = most * np.clip(z[near] / (2 * h) + 0.5, 0.0, 1.0)
    free = (lasso == 0) | (x != 0)
    outside = design.transpose(s * (left + jump @ beyond)) + lasso * np.sign(x)
    # without a ridge every x with these rows at their kinks is as good: take the shortest, not the nearest
    there = x if ridge[free].any() else np.zeros_like(x)
    r = -(outside + ridge * there + D.T @ a)[free]
    dx, da = _saddle(D[:, free], ridge[free], r, at[near] - D @ there)
    there, a = there.copy(), a + da
    there[free] += dx
    if ((a < 0) | (a > most)).any():  # many multipliers may balance, and the shortest need not be in range
        a = lsq_linear(D[:, free].T, -(outside + ridge * there)[free], (0.0, most), method="bvls", tol=1e-14).x
    g = outside + ridge * there + D.T @ np.clip(a, 0.0, most)
    # at zero the L1 term can offset this much of the gradient
    g = np.where(free, g, np.sign(g) * np.maximum(np.abs(g) - lasso, 0.0))
    z = design.predictor(there) - at
    proven = (
        np.array_equal((z > 0) & ~near, beyond)
        and bool(np.all(np.abs(z[near]) <= ROUNDING_SLACK * (h + np.abs(at[near]))))
        and bool(np.all((lasso == 0) | (x * there >= 0)))
        and bool(np.all(np.abs(g) <= ROUNDING_SLACK * (s.sum() + lasso)))
    )
    return KinkMinimum(there, float(np.abs(g).max(initial=0.0))) if proven else None


def _saddle(D: Array, ridge: Array, r: Array, c: Array) -> tuple[Array, Array]:
    """The shortest dx, da with ridge dx + D'da = r and D dx = c."""
    m = len(ridge)
    A = np.block([[np.diag(ridge), D.T], [D, np.zeros((len(D),) * 2)]])
    solution = np.linalg.lstsq(A, np.append(r, c))[0]
    return solution[:m], solution[m:]
