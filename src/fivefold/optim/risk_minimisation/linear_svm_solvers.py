"""Solvers of linear support vector machines, chosen by loss, penalty and shape of the table.

min over x of   1/2 x'R x + sum of s_i loss(y_i, z_i'x)        or with sqrt(R) |x| in place of the square

smooth loss, few columns    Newton's method on a sample of the rows, then L-BFGS with the sample's Hessian; the
                            squared hinge on a small table by Newton's method alone, in compiled steps
kinked loss, few columns    the interior point method on the dual, then an exact solution for rows on the margin
kinked loss, few rows       the projected Newton method on the dual, from the Gram matrix of the rows
many columns                dual coordinate descent; fewer rows than columns: within the span of the rows
L1 penalty                  proximal Newton steps by coordinate descent
Crammer and Singer          the interior point method for few coefficients, dual coordinate descent for more
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg.lapack import dpotrf

from fivefold.core.blas_threads import one_blas_thread
from fivefold.core.chunks.chunked_array import is_chunked
from fivefold.core.numerics.arrays import is_tensor
from fivefold.core.types import Array, Indices
from fivefold.optim.dual.box_dual import BoxDual, polish
from fivefold.optim.dual.crammer_singer import CrammerSingerCoordinate, CrammerSingerDual
from fivefold.optim.dual.crammer_singer_interior import CrammerSingerInterior
from fivefold.optim.dual.dual_coordinate_descent import DualCoordinateDescent
from fivefold.optim.dual.interior_point import InteriorPoint
from fivefold.optim.dual.projected_newton import ProjectedNewton
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.losses.margin_losses import SquaredHingeLoss
from fivefold.optim.minimise import Solver, minimise
from fivefold.optim.objective import CompositeObjective, Minimum, Monitor
from fivefold.optim.penalties.proximal_operators import L1
from fivefold.optim.proximal.proximal_newton import ProximalNewton
from fivefold.optim.proximal.working_set import full_monitor, full_vector, restricted, working_set
from fivefold.optim.risk_minimisation.row_span import is_wide, minimise_in_span
from fivefold.optim.risk_minimisation.squared_hinge_newton import SquaredHingeNewton, SquaredHingeRisk
from fivefold.optim.risk_minimisation.subsample_start import start_from_subsample
from fivefold.optim.smooth.lbfgs import LBFGS

COLUMNS_PER_ROUND = 200  # columns added to the working set at a time, where there are many
MAX_NEWTON_COST = 1_000_000  # rows x squared coefficients, up to which Newton steps are the fastest route
MAX_COORDINATE_COST = 20_000  # rows x coefficients, up to which dual coordinate descent is tried first,
ROUGH_FACTOR, ROUGH_STEPS = 1e4, 2  # with this many times the tolerance, for at most this many steps
EXACT_TOL_FACTOR = 1e-5  # factor on the tolerance of Newton's method, whose last digits cost one step
MAX_GRAM_SIZE = 2000  # coefficients, up to which their Gram matrix is formed and factored
MAX_ROWS_GRAM = 300  # rows of a wide table, up to which the Gram matrix of the rows is factored in compiled loops
DEPENDENT_ROW = 1e-10  # as a share of its square: what is left of a row, without the rows before it, is rounding
SLOPE_SHARE = 1e-3  # tol x this is the share of the gradient at zero that may be left
MAX_CLASS_GRAM_SIZE = 400  # coefficients of all classes together, up to which the interior point method is used
CLASS_GAP_SHARE = 1e-2  # as GAP_SHARE, for dual coordinate descent on one margin between all classes
GAP_SHARE = 1e-5  # tol x this is the share of the value at zero allowed as duality gap


def solve_svm(risk: EmpiricalRisk, tol: float, max_iter: int, seed: int, monitor: Monitor | None) -> Minimum:
    """The coefficients, by the solver that suits the loss and the shape of the table."""
    if is_tensor(risk.design.X) and risk.n_terms * risk.design.size**2 <= MAX_NEWTON_COST:
        risk = risk.on_host()  # where a table this small is worked on sooner
    with one_blas_thread():  # on matrices of this size the threads of BLAS spin longer than they work
        if is_wide(risk):
            if not risk.loss.smooth and risk.n_terms <= MAX_ROWS_GRAM:
                found = _by_row_products(risk, tol, monitor)
                if found is not None:
                    return found
            zero = np.zeros(risk.design.size)
            return minimise_in_span(
                risk, zero, monitor, lambda part, _, watch: solve_svm(part, tol, max_iter, seed, watch)
            )
        if risk.design.size > MAX_GRAM_SIZE:
            return _by_rows(risk, tol, max_iter, seed, monitor)
        if risk.loss.smooth:
            return _by_newton(risk, tol, max_iter, monitor)
        return _by_interior(risk, tol, max_iter, seed, monitor)


def _by_row_products(risk: EmpiricalRisk, tol: float, monitor: Monitor | None) -> Minimum | None:
    """The minimum if one step of the projected Newton method finds it, as it usually does."""
    dual = BoxDual(risk)
    if risk.loss.kind == "regression" and _rows_depend(dual.row_products):
        return None  # most rows are then at a bound, and which of them takes many steps to find
    found = _in_primal(dual, _on_dual(dual, ProjectedNewton(), _gap_tolerance(risk, tol), 1, monitor))
    return None if found.reason in ("stuck", "max_iter") else found


def _rows_depend(K: Array) -> bool:
    factor, failed = dpotrf(K)
    return bool(failed) or bool((factor.diagonal() ** 2 <= DEPENDENT_ROW * K.diagonal()).any())


def _by_newton(risk: EmpiricalRisk, tol: float, max_iter: int, monitor: Monitor | None) -> Minimum:
    risk = _fused(risk)
    zero = np.zeros(risk.design.size)
    tolerance = SLOPE_SHARE * tol * risk.violation(zero)
    if isinstance(risk, SquaredHingeRisk) and risk.n_terms * len(zero) ** 2 <= MAX_NEWTON_COST:
        return minimise(
            risk, zero, SquaredHingeNewton(), tol=EXACT_TOL_FACTOR * tolerance, max_iter=max_iter, monitor=monitor
        )
    x0, inverse = start_from_subsample(risk, zero)
    return minimise(risk, x0, LBFGS(inverse=inverse), tol=tolerance, max_iter=max_iter, monitor=monitor)


def _fused(risk: EmpiricalRisk) -> EmpiricalRisk:
    """The same risk, with value and gradient in one compiled pass where there is one."""
    whole = risk.design.sparse or is_chunked(risk) or is_tensor(risk.design.X)
    if not isinstance(risk.loss, SquaredHingeLoss) or whole:
        return risk
    return SquaredHingeRisk(risk.loss, risk.design, risk.y, risk.s, risk.ridge)


def _by_interior(risk: EmpiricalRisk, tol: float, max_iter: int, seed: int, monitor: Monitor | None) -> Minimum:
    dual, tolerance = BoxDual(risk), _gap_tolerance(risk, tol)
    if risk.n_terms * risk.design.size <= MAX_COORDINATE_COST:
        # passes cost next to nothing, and often show which multipliers rest at a bound
        found = _polished(
            dual,
            _on_dual(dual, DualCoordinateDescent(seed), ROUGH_FACTOR * tolerance, min(ROUGH_STEPS, max_iter), monitor),
        )
        if found.reason in ("interrupted", "stopped"):
            return found
        if found.violation <= tolerance:
            return replace(found, reason="converged")
    return _polished(dual, _on_dual(dual, InteriorPoint(), tolerance, max_iter, monitor))


def _polished(dual: BoxDual, found: Minimum) -> Minimum:
    a, x = polish(dual, found.x)
    value = dual.primal_value(x, dual.predictor(x))
    return replace(found, x=x, value=value, violation=value + dual.value_at(a, x))


def _by_rows(risk: EmpiricalRisk, tol: float, max_iter: int, seed: int, monitor: Monitor | None) -> Minimum:
    dual = BoxDual(risk)
    return _in_primal(dual, _on_dual(dual, DualCoordinateDescent(seed), _gap_tolerance(risk, tol), max_iter, monitor))


def _in_primal(dual: BoxDual, found: Minimum) -> Minimum:
    return replace(found, x=dual.primal(found.x), value=found.violation - found.value)


def _on_dual(dual: BoxDual, solver: Solver, tolerance: float, max_iter: int, monitor: Monitor | None) -> Minimum:
    watch = None if monitor is None else (lambda a, value: monitor(dual.primal(a), -value))
    return minimise(dual, np.zeros(dual.risk.n_terms), solver, tol=tolerance, max_iter=max_iter, monitor=watch)


def solve_crammer_singer(
    dual: CrammerSingerDual, tol: float, max_iter: int, seed: int, monitor: Monitor | None
) -> Minimum:
    """The coefficients of all classes (K, size), with one margin between them."""
    few = dual.classes * dual.design.size <= MAX_CLASS_GRAM_SIZE
    solver, gap = (CrammerSingerInterior(), GAP_SHARE) if few else (CrammerSingerCoordinate(seed), CLASS_GAP_SHARE)
    watch = None if monitor is None else (lambda a, value: monitor(dual.primal(a), -value))
    zero = np.zeros(len(dual.y) * dual.classes)
    with one_blas_thread():
        found = minimise(dual, zero, solver, tol=gap * tol * dual.s.sum(), max_iter=max_iter, monitor=watch)
        return replace(found, x=dual.primal(found.x), value=found.violation - found.value)


def _gap_tolerance(risk: EmpiricalRisk, tol: float) -> float:
    """The largest duality gap allowed."""
    return GAP_SHARE * tol * float(risk.s @ risk.loss.value(risk.y, np.zeros(len(risk.y))))


def solve_l1_svm(risk: EmpiricalRisk, tol: float, max_iter: int, seed: int, monitor: Monitor | None) -> Minimum:
    """With sqrt(R) |x| in place of the square, as scikit-learn scales the penalty of an intercept."""
    strength, smooth = np.sqrt(risk.ridge), _fused(replace(risk, ridge=0.0))
    zero = np.zeros(risk.design.size)
    tolerance = SLOPE_SHARE * tol * risk.violation(zero)
    with one_blas_thread():
        if len(zero) > MAX_GRAM_SIZE:
            return _by_columns(smooth, strength, tolerance, max_iter, monitor)
        whole = CompositeObjective(smooth, L1(strength))
        return minimise(whole, zero, ProximalNewton(), tol=tolerance, max_iter=max_iter, monitor=monitor)


def _by_columns(
    risk: EmpiricalRisk, strength: Array, tolerance: float, max_iter: int, monitor: Monitor | None
) -> Minimum:
    """Over a few columns first; columns whose slope exceeds the penalty are added until there is none."""
    d = risk.design.X.shape[1]
    x: Array = np.zeros(risk.design.size)
    whole = CompositeObjective(risk, L1(strength))
    done: list[tuple[Indices, Minimum]] = []
    while True:
        g = risk.gradient(x)
        excess = np.abs(g) - (strength + tolerance)
        W = working_set(excess, x != 0, COLUMNS_PER_ROUND + int(np.count_nonzero(x)))
        if done and (set(W) <= set(done[-1][0]) or done[-1][1].reason in ("interrupted", "stopped", "max_iter")):
            break
        part = restricted(risk, W[W < d], W, intercept=bool(len(W)) and W[-1] == d)
        narrow, watch = CompositeObjective(part, L1(strength[W])), full_monitor(monitor, W, len(x))
        found = minimise(narrow, x[W], ProximalNewton(), tol=tolerance, max_iter=max_iter, monitor=watch)
        x = full_vector(found.x, W, len(x))
        done.append((W, found))
    history = tuple(value for _, found in done for value in found.history[1:])
    reason = done[-1][1].reason if done else "converged"
    return Minimum(x, whole.value(x), whole.violation(x), (whole.value(np.zeros_like(x)), *history), reason)
