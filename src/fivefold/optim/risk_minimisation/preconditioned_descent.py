"""Descent of a risk in coordinates scaled by its Hessian H (preconditioners.py).

In them L-BFGS takes almost Newton's steps at the cost of a gradient; under an L1 penalty proximal Newton steps use the
whole of H.

H comes from a sample of the rows, whose own minimum is the start. If too many steps are needed H is recomputed, at the
point reached and from more rows, in the end from all: that is Newton's method. With too many coefficients for a matrix
only the diagonal of H is used, and under an L1 penalty only some of the columns at a time (working_columns.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fivefold.core.blas_threads import one_blas_thread
from fivefold.core.numerics.arrays import is_tensor
from fivefold.core.types import Array
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.minimise import NoDescentError, Solver, State, minimise
from fivefold.optim.objective import CompositeObjective, Minimum, Monitor
from fivefold.optim.penalties.proximal_operators import L1
from fivefold.optim.proximal.coordinate_newton import CoordinateNewton
from fivefold.optim.risk_minimisation.preconditioners import (
    MAX_HESSIAN_SIZE,
    CachedObjective,
    DiagonalPreconditioner,
    HessianPreconditioner,
    Preconditioner,
    gradient_tolerance,
    whitening,
)
from fivefold.optim.risk_minimisation.predictor_search import ROUNDING_DECREASE, predictor_step
from fivefold.optim.risk_minimisation.row_span import is_wide, minimise_in_span
from fivefold.optim.risk_minimisation.working_columns import minimise_by_columns
from fivefold.optim.smooth.line_search import Point

MIN_SAMPLE_ROWS, MAX_SAMPLE_ROWS = 2000, 16_000  # rows of a sample, unless it needs more by the next line
ROWS_PER_COEFFICIENT = 10  # rows of a sample per coefficient, at least
SAMPLE_GROWTH = 5  # the second sample has this many times the rows of the first
MAX_HESSIAN_COST = 12  # (sample rows x coefficients) / data rows, up to which a Hessian of the sample saves time
CHEAP_HESSIAN_COST = 2_000_000  # rows x squared coefficients, up to which a Hessian costs less than the calls around it
STEPS_PER_HESSIAN = 6  # steps with one H, where H is not cheap
STEPS_PER_DIAGONAL = 40  # steps with one diagonal
SAMPLE_TOL = 1.0  # in standard errors: minimising a sample more closely than this tells nothing about the data
EXACT_TOL_FACTOR = 1e-3  # factor on tol where every row is in H: there the last digits cost one step
NEWTON_TOL_FACTOR, NEWTON_TOL = 1e-4, 1e-10  # the same where H is taken at every point, down to this tol
# times the root of the value: below this gradient a decrease is lost in rounding, and only Newton steps make progress
ROUNDING_GRADIENT = 3e-8
SINGLE_ROUNDING_GRADIENT = 3e-5  # the same for predictors in float32, as tensors of that type give them

ToleranceRule = Callable[[float], float]


@dataclass(frozen=True)
class WhitenedNewton(Solver):
    """Newton's steps with H recomputed at every point; the violation is the gradient in z, with the H of the step."""

    accepts = (EmpiricalRisk,)

    def start(self, objective: EmpiricalRisk, x0: Array) -> State:
        here, T = Point.at(objective, x0), whitening(objective, x0)
        return State(x0, here.value, _largest(T.to_gradient(here.gradient)), (here, T))

    def step(self, objective: EmpiricalRisk, state: State) -> State:
        here, T = state.memory
        T = whitening(objective, here.x) if T is None else T
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
    if is_tensor(risk.design.X) and _is_cheap(risk, len(x0)):
        risk = risk.on_host()  # where a table this small is worked on sooner
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

            def descend(part: EmpiricalRisk, strength: Array, start: Array, watch: Monitor | None) -> Minimum:
                return _preconditioned(DiagonalPreconditioner(strength), part, start, tol, max_iter, watch)

            return minimise_by_columns(risk, lasso, x0, tol, max_iter, monitor, descend)
        return _preconditioned(DiagonalPreconditioner(lasso), risk, x0, tol, max_iter, monitor)


def _by_newton(risk: EmpiricalRisk, x: Array, tol: float, max_iter: int, monitor: Monitor | None) -> Minimum:
    """Where every H is cheap: the rounds of `_descent_rounds`, of one step each, as one descent."""
    weight = float(risk.s.sum())
    exact = min(tol * EXACT_TOL_FACTOR, max(tol * NEWTON_TOL_FACTOR, NEWTON_TOL))
    goal = gradient_tolerance(weight, weight, len(x), exact)
    return minimise(risk, x, WhitenedNewton(), tol=goal, max_iter=max_iter, monitor=monitor)


def _preconditioned(
    scaling: Preconditioner, risk: EmpiricalRisk, x: Array, tol: float, max_iter: int, monitor: Monitor | None
) -> Minimum:
    weight, stride, metric = float(risk.s.sum()), _stride(risk, len(x)), None
    final_tol, whole = tol * (EXACT_TOL_FACTOR if stride == 1 else 1.0), CachedObjective(risk)
    rounding = 0.0 if stride == 1 and _is_cheap(risk, len(x)) else ROUNDING_GRADIENT
    if is_tensor(risk.design.X) and risk.design.X.element_size() == 4:
        rounding = SINGLE_ROUNDING_GRADIENT
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


def _largest(v: Array) -> float:
    return float(np.abs(v).max(initial=0.0))


def _steps(risk: EmpiricalRisk, metric: Array, stride: int) -> int:
    if metric.ndim == 1:
        return STEPS_PER_DIAGONAL
    return 1 if stride == 1 and _is_cheap(risk, len(metric)) else STEPS_PER_HESSIAN


def _is_cheap(risk: EmpiricalRisk, size: int) -> bool:
    return risk.n_terms * size**2 <= CHEAP_HESSIAN_COST
