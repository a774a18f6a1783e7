"""Descent of a risk in coordinates scaled by its Hessian.

    x = origin + T z,   T T' = H^-1,   H near the Hessian

In z the Hessian is near the identity: L-BFGS takes almost Newton's steps at the cost of a gradient, and half the
squared length of the gradient is near the decrease still possible, whatever the units of the columns. Under an L1
penalty T comes from the diagonal of H only, which keeps the axes, and proximal Newton steps use the whole of H.

H comes from a sample of the rows, whose own minimum is the start. If too many steps are needed H is recomputed, at the
point reached and from more rows, in the end from all: that is Newton's method. With too many coefficients for a matrix
T is a diagonal, and under an L1 penalty only the columns that it does not hold at zero take part.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri, dtrtrs

from fivefold.core.blas_threads import one_blas_thread
from fivefold.core.types import Array, Indices
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.minimise import NoDescentError, Solver, State, minimise
from fivefold.optim.objective import (
    CompositeObjective,
    Minimum,
    Monitor,
    Objective,
    SmoothObjective,
    TwiceSmoothObjective,
)
from fivefold.optim.penalties.proximal_operators import L1
from fivefold.optim.proximal.coordinate_newton import CoordinateNewton
from fivefold.optim.proximal.proximal_newton import ProximalNewton
from fivefold.optim.proximal.working_set import full_monitor, full_vector, restricted, working_set
from fivefold.optim.risk_minimisation.predictor_search import predictor_step
from fivefold.optim.risk_minimisation.row_span import is_wide, minimise_in_span
from fivefold.optim.smooth.lbfgs import LBFGS
from fivefold.optim.smooth.line_search import Armijo, Point

MIN_SAMPLE_ROWS, MAX_SAMPLE_ROWS = 2000, 16_000  # rows of a sample, unless it needs more by the next line
ROWS_PER_COEFFICIENT = 10  # rows of a sample per coefficient, at least
SAMPLE_GROWTH = 5  # the second sample has this many times the rows of the first
MAX_HESSIAN_COST = 12  # (sample rows x coefficients) / data rows, up to which a Hessian of the sample saves time
CHEAP_HESSIAN_COST = 2_000_000  # rows x squared coefficients, up to which a Hessian costs less than the calls around it
STEPS_PER_HESSIAN = 6  # steps with one H, where H is not cheap
STEPS_PER_DIAGONAL = 40  # steps with one diagonal
MIN_NEW_COLUMNS = 100  # columns that may join a working set at a time, at least
MAX_HESSIAN_SIZE = 1500  # coefficients, up to which the whole Hessian is formed
SAMPLE_TOL = 1.0  # in standard errors: minimising a sample more closely than this tells nothing about the data
GAP_SHARE = 1 / 6  # the allowed remaining decrease is half of this x tol^2 x the scale of the risk
ROUNDING_DECREASE = 1e-13  # per unit of weight: a decrease of the risk that rounding may hide
EXACT_TOL_FACTOR = 1e-3  # factor on tol where every row is in H: there the last digits cost one step
# times the root of the value: below this gradient a decrease is lost in rounding, and only Newton steps make progress
ROUNDING_GRADIENT = 3e-8
MIN_SCALE = 1e-4  # per unit of weight: the smallest scale assumed for a risk
DIAGONAL_JITTER = 1e-10  # added to the scaled diagonal of H: a sample may lack a direction of the data

ToleranceRule = Callable[[float], float]


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


@dataclass(frozen=True)
class WhitenedNewton(Solver):
    """Newton's steps with H recomputed at every point; the violation is the gradient in z, with the H of the step."""

    accepts = (EmpiricalRisk,)

    def start(self, objective: EmpiricalRisk, x0: Array) -> State:
        here, T = Point.at(objective, x0), _whitening(objective, x0)
        return State(x0, here.value, _largest(T.to_gradient(here.gradient)), (here, T))

    def step(self, objective: EmpiricalRisk, state: State) -> State:
        here, T = state.memory
        T = _whitening(objective, here.x) if T is None else T
        slope = T.to_gradient(here.gradient)
        direction = -T.to_step(slope)
        try:
            there = predictor_step(objective, here, direction)
        except NoDescentError:
            # Losses of rows far from the boundary are small differences of large scores, lost in their rounding.
            there = Point.at(objective, here.x + direction)
            if slope @ slope > ROUNDING_DECREASE * float(objective.s.sum()) or 2 * _largest(
                T.to_gradient(there.gradient)
            ) > _largest(slope):
                raise
        return State(there.x, there.value, _largest(T.to_gradient(there.gradient)), (there, None))


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


def minimise_risk(
    risk: EmpiricalRisk,
    x0: Array,
    *,
    lasso: Array | None = None,
    tol: float = 1e-4,
    max_iter: int = 100,
    monitor: Monitor | None = None,
) -> Minimum:
    """The minimum of a smooth risk, plus sum of lasso |x| where given, one strength per coefficient.

    The value exceeds the minimum by at most a share of about tol^2 / 10, as far as H tells; the share is of the value,
    clipped to between 1e-4 and 1 per unit of weight. A step is a pass over the rows; `violation` is in standard errors.
    """
    x0 = np.array(x0, dtype=np.float64)
    with one_blas_thread():
        if lasso is None and is_wide(risk):
            return minimise_in_span(
                risk,
                x0,
                monitor,
                lambda part, v, watch: minimise_risk(part, v, tol=tol, max_iter=max_iter, monitor=watch),
            )
        if lasso is None and _stride(risk, len(x0)) == 1 and _is_cheap(risk, len(x0)):
            return _by_newton(risk, x0, tol, max_iter, monitor)
        if lasso is None:
            return _preconditioned(HessianPreconditioner(), risk, x0, tol, max_iter, monitor)
        if (
            len(x0) > MAX_HESSIAN_SIZE
            and not risk.outputs
            and risk.design.centre is None
            and np.isfinite(risk.loss.max_curvature)
        ):
            goal = gradient_tolerance(risk.value(x0), float(risk.s.sum()), len(x0), tol)
            composite = CompositeObjective(risk, L1(lasso))
            return minimise(composite, x0, CoordinateNewton(), tol=goal, max_iter=max_iter, monitor=monitor)
        if len(x0) > min(MAX_HESSIAN_SIZE, 3 * risk.n_terms):
            return _by_columns(risk, lasso, x0, tol, max_iter, monitor)
        return _preconditioned(DiagonalPreconditioner(lasso), risk, x0, tol, max_iter, monitor)


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


def _whitening(risk: EmpiricalRisk, x: Array) -> ScaledFactor:
    return scaled_factor(risk.hessian(x) + _shared_curvature(risk, risk.ridge))


def _by_newton(risk: EmpiricalRisk, x: Array, tol: float, max_iter: int, monitor: Monitor | None) -> Minimum:
    """Where every H is cheap: the rounds of `_descent_rounds`, of one step each, as one descent."""
    weight = float(risk.s.sum())
    goal = gradient_tolerance(weight, weight, len(x), tol * EXACT_TOL_FACTOR)
    return minimise(risk, x, WhitenedNewton(), tol=goal, max_iter=max_iter, monitor=monitor)


def _preconditioned(
    scaling: Preconditioner, risk: EmpiricalRisk, x: Array, tol: float, max_iter: int, monitor: Monitor | None
) -> Minimum:
    weight, stride, metric = float(risk.s.sum()), _stride(risk, len(x)), None
    final_tol, whole = tol * (EXACT_TOL_FACTOR if stride == 1 else 1.0), CachedObjective(risk)
    rounding = 0.0 if stride == 1 and _is_cheap(risk, len(x)) else ROUNDING_GRADIENT
    if stride > 1:
        sample_minimum, value_before, metric, stride = _from_samples(scaling, risk, x, stride)
        if whole.value(sample_minimum) + scaling.penalty_value(sample_minimum) <= value_before:
            x = sample_minimum
        else:  # a sample that lacks a class, or a column, can mislead
            metric = None

    def goal(value: float) -> float:
        return max(gradient_tolerance(value, weight, len(x), final_tol), rounding * float(np.sqrt(abs(value))))

    return _descent_rounds(
        scaling, whole, risk, x, metric=metric, stride=stride, goal=goal, max_iter=max_iter, monitor=monitor
    )[0]


def _from_samples(
    scaling: Preconditioner, risk: EmpiricalRisk, x: Array, stride: int
) -> tuple[Array, float, Array, int]:
    """The minimum of a larger sample, from that of a small one; the small one's value at x; H, and its stride."""
    part = risk.subsample(stride)
    sample = CachedObjective(part)
    value_before = sample.value(x) + scaling.penalty_value(x)
    found, metric = _descent_rounds(
        scaling, sample, part, x, metric=None, stride=1, goal=lambda _: SAMPLE_TOL, max_iter=30, monitor=None
    )
    finer = _prime(max(stride // SAMPLE_GROWTH, 1))
    if finer > 1:
        part = risk.subsample(finer)
        found, metric = _descent_rounds(
            scaling,
            CachedObjective(part),
            part,
            found.x,
            metric=metric,
            stride=stride // finer,
            goal=lambda _: SAMPLE_TOL,
            max_iter=STEPS_PER_HESSIAN,
            monitor=None,
        )
        if part.n_terms * len(x) <= MAX_HESSIAN_COST * risk.n_terms:
            return found.x, value_before, scaling.metric(part, found.x), finer
    return found.x, value_before, metric, stride


def _monitor_at(monitor: Monitor, at: Callable[[Array], Array]) -> Monitor:
    """The monitor for a descent in other coordinates: `at` leads back to those of the risk."""
    return lambda z, value: monitor(at(z), value)


def _descent_rounds(
    scaling: Preconditioner,
    objective: CachedObjective,
    risk: EmpiricalRisk,
    x: Array,
    *,
    metric: Array | None,
    stride: int,
    goal: ToleranceRule,
    max_iter: int,
    monitor: Monitor | None,
) -> tuple[Minimum, Array]:
    """Descend with one H after the other, the first given or taken from every stride-th row."""
    history = [objective.value(x) + scaling.penalty_value(x)]
    while True:
        if metric is None:
            metric = scaling.metric(risk.subsample(stride) if stride > 1 else risk, x)
        view = scaling.transform(objective, x, metric)
        found = minimise(
            view.problem,
            view.start,
            scaling.solver,
            tol=goal(history[-1]),
            max_iter=min(_steps(risk, metric, stride), max_iter - len(history) + 1),
            monitor=None if monitor is None else _monitor_at(monitor, view.at),
        )
        x = view.at(found.x)
        history += found.history[1:]
        spent = len(history) > max_iter
        goes_on = (found.reason == "max_iter" and not spent) or (found.reason == "stuck" and stride > 1)
        if not goes_on:
            return Minimum(x, found.value, found.violation, tuple(history), found.reason), metric
        stride, metric = max(1, stride // 4), None


def _by_columns(
    risk: EmpiricalRisk, lasso: Array, x: Array, tol: float, max_iter: int, monitor: Monitor | None
) -> Minimum:
    """An L1 penalty with many columns: only those that are not zero, or would not stay zero, take part."""
    m, d = risk.design.size, risk.design.X.shape[1]
    K = len(x) // m
    history: list[float] = []
    weight = float(risk.s.sum())
    while True:
        value, g = risk.value_and_gradient(x)
        excess = (np.abs(g) - lasso).reshape(K, m)[:, :d].max(axis=0)
        inside = (x.reshape(K, m)[:, :d] != 0).any(axis=0)
        scale = np.sqrt(
            np.maximum(risk.hessian_diagonal(x).reshape(K, m)[:, :d].max(axis=0), np.finfo(np.float64).tiny)
        )
        excess /= scale
        value += float(lasso @ np.abs(x))
        history.append(value)
        worst = float(excess[~inside].max(initial=0.0))
        if history[1:] and (worst <= gradient_tolerance(value, weight, len(x), tol) or len(history) > max_iter):
            return Minimum(x, value, worst, tuple(history), "converged" if len(history) <= max_iter else "max_iter")
        chosen = working_set(excess, inside, max(MIN_NEW_COLUMNS, int(inside.sum())))
        kept = _entries(chosen, K, m, d, risk.design.intercept)
        part = restricted(risk, chosen, kept, intercept=risk.design.intercept)
        found = _preconditioned(
            DiagonalPreconditioner(lasso[kept]), part, x[kept], tol, max_iter, full_monitor(monitor, kept, len(x))
        )
        x = full_vector(found.x, kept, len(x))
        if found.reason == "interrupted":
            return replace(found, x=x)


def _entries(chosen: Indices, K: int, m: int, d: int, intercept: bool) -> Indices:
    """Indices, among all coefficients, of those of these columns and of the intercepts."""
    columns = np.append(chosen, d) if intercept else chosen
    return (m * np.arange(K)[:, None] + columns).ravel()


def _stride(risk: EmpiricalRisk, size: int) -> int:
    """The stride of a sample whose H costs little beside a pass and is still close to that of the data; a prime, or 1.

    A prime stride meets every phase of rows that alternate.
    """
    n = risk.n_terms
    rows = max(
        min(max(2 * n // size, MIN_SAMPLE_ROWS), MAX_SAMPLE_ROWS), ROWS_PER_COEFFICIENT * min(size, MAX_HESSIAN_SIZE)
    )
    return 1 if n < 4 * rows else _prime(n // rows)


def _prime(low: int) -> int:
    """The first prime from `low` on; 1 for 1."""
    return next(p for p in range(low, 2 * low + 1) if all(p % q for q in range(2, int(p**0.5) + 1)))


def _shared_curvature(risk: EmpiricalRisk, penalty: float | Array) -> float | Array:
    """Curvature along what all classes share, where the loss is flat, for coefficients without a penalty."""
    if not risk.outputs or risk.reference is not None:
        return 0.0
    K, m = risk.outputs, risk.design.size
    free = np.broadcast_to(risk.ridge + penalty, K * m)[:m] == 0
    return np.kron(np.full((K, K), 1 / K**2), np.diag(np.where(free, risk.design.gram_diagonal(risk.s), 0.0)))


def _largest(v: Array) -> float:
    return float(np.abs(v).max(initial=0.0))


def _steps(risk: EmpiricalRisk, metric: Array, stride: int) -> int:
    if metric.ndim == 1:
        return STEPS_PER_DIAGONAL
    return 1 if stride == 1 and _is_cheap(risk, len(metric)) else STEPS_PER_HESSIAN


def _is_cheap(risk: EmpiricalRisk, size: int) -> bool:
    return risk.n_terms * size**2 <= CHEAP_HESSIAN_COST
