"""Lagrange multipliers and duality: the worked examples of the catalogue."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from fivefold.optim.constrained.constrained_problem import (
    AugmentedLagrangian,
    ConstrainedProblem,
    PenaltyMethod,
    minimise_constrained,
)
from fivefold.optim.constrained.lagrange_dual import quadratic_dual
from fivefold.optim.constrained.lagrange_multipliers import AnalyticFunction, stationary_points
from fivefold.optim.constrained.quadratic_program import QuadraticProgram, solve_qp
from fivefold.optim.functions import Function
from fivefold.optim.smooth.newton import Newton

ROOT = np.sqrt(0.5)
NONE = np.zeros((2, 2))
TOTAL = AnalyticFunction(lambda x: x[0] + x[1], lambda x: np.ones(2), lambda x: NONE)
CIRCLE = AnalyticFunction(lambda x: x @ x - 1, lambda x: 2 * x, lambda x: 2 * np.eye(2))
LEFT = AnalyticFunction(lambda x: 2 - x[0], lambda x: np.array([-1.0, 0.0]), lambda x: NONE)


def example(sense="max"):
    """Maximise x + y on the unit circle, with 2 - x >= 0."""
    return ConstrainedProblem(TOTAL, 2, (CIRCLE,), (LEFT,), sense)


def test_stationary_points_of_the_sum_on_the_circle():
    """C-38, C.1-3: x = y = +-1/sqrt(2), lambda = -+1/sqrt(2), eps^2 = 1.292893, 2.707107; x = 2 has complex y."""
    found = stationary_points(example(), np.random.RandomState(0))
    high, low = found.points
    assert_allclose(high.x, [ROOT, ROOT], atol=1e-9)
    assert_allclose(low.x, [-ROOT, -ROOT], atol=1e-9)
    assert (high.kind, low.kind) == ("maximum", "minimum")
    assert_allclose([high.value, low.value], [np.sqrt(2), -np.sqrt(2)], rtol=1e-9)
    assert_allclose([high.equality[0], low.equality[0]], [-ROOT, ROOT], rtol=1e-9)
    assert_allclose([high.slack[0], low.slack[0]], [1.292893, 2.707107], atol=1e-6)
    assert high.active == low.active == () and found.best is high
    complex_ = sorted(found.discarded, key=lambda point: point.x[1].imag)
    assert [point.active for point in complex_] == [(0,), (0,)]
    assert_allclose([point.x for point in complex_], [[2, -1j * np.sqrt(3)], [2, 1j * np.sqrt(3)]], atol=1e-8)


def test_an_active_inequality_is_marked_and_has_a_positive_multiplier():
    """C-38: on the part of the circle with x <= 0 the maximum of x + y is at (0, 1), where the inequality binds."""
    wall = AnalyticFunction(lambda x: -x[0], lambda x: np.array([-1.0, 0.0]), lambda x: NONE)
    found = stationary_points(ConstrainedProblem(TOTAL, 2, (CIRCLE,), (wall,), "max"), np.random.RandomState(0))
    assert_allclose(found.best.x, [0, 1], atol=1e-9)
    assert found.best.active == (0,) and found.best.kind == "maximum" and found.best.inequality[0] > 0
    assert any((point.slack.real < 0).any() for point in found.discarded)  # (1, 1)/sqrt(2) has an imaginary slack


def test_functions_of_real_numbers_only_lose_the_complex_roots():
    """C-38: with derivatives by differences, 1e-6."""
    parts = (Function(lambda x: x[0] + x[1]), Function(lambda x: x @ x - 1), Function(lambda x: 2 - x[0]))
    found = stationary_points(
        ConstrainedProblem(parts[0], 2, parts[1:2], parts[2:], "max"), np.random.RandomState(0), starts=8
    )
    assert_allclose(found.best.x, [ROOT, ROOT], atol=1e-6)
    assert found.discarded == ()


@pytest.mark.parametrize(
    "solver", [AugmentedLagrangian(), AugmentedLagrangian(inner=Newton()), PenaltyMethod()], ids=str
)
def test_the_iterative_methods_reach_the_maximum_of_the_example(solver):
    """C-38, D-283: within the tolerance asked for; the penalty method stops a little short of it."""
    found = minimise_constrained(example(), [0.8, 0.3], solver, tol=1e-7)
    assert_allclose(found.x, [ROOT, ROOT], atol=1e-5)
    assert_allclose(found.value, np.sqrt(2), rtol=1e-5)
    assert_allclose(found.equality, [-ROOT], atol=1e-4)
    assert found.violation < 1e-4


def test_the_least_of_minus_f_is_the_largest_of_f():
    """C-34: one container, either sense."""
    minus = ConstrainedProblem(Function(lambda x: -(x[0] + x[1])), 2, (CIRCLE,), (LEFT,))
    least, largest = minimise_constrained(minus, [0.8, 0.3]), minimise_constrained(example("max"), [0.8, 0.3])
    assert_allclose(least.x, largest.x, atol=1e-6)
    assert_allclose(-least.value, largest.value, rtol=1e-6)


def test_dual_of_the_square_above_one():
    """A-127: min x^2 with 1 - x <= 0 has the dual lambda - lambda^2 / 4, largest at lambda = 2, where it is 1."""
    program = QuadraticProgram.of(2.0, 0.0, G=-1.0, h=-1.0)
    dual = quadratic_dual(program)
    for multiplier in (0.0, 0.5, 2.0, 3.0):
        assert dual.value([multiplier]) == pytest.approx(multiplier - multiplier**2 / 4)
    found = dual.solve()
    assert_allclose([found.multipliers[0], found.dual, found.primal, found.x[0]], [2, 1, 1, 1], atol=1e-9)
    assert abs(found.gap) < 1e-9 and found.infeasible < 1e-9
    assert_allclose(solve_qp(2.0, 0.0, G=-1.0, h=-1.0).inequality, [2.0], atol=1e-12)
