"""Lower bounds by duality, and the minimax inequality."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from fivefold.optim.constrained.constrained_problem import ConstrainedProblem, minimise_constrained
from fivefold.optim.constrained.lagrange_dual import duality_gap, lagrangian_bound, minimax, quadratic_dual
from fivefold.optim.constrained.quadratic_program import QuadraticProgram, solve_qp
from fivefold.optim.functions import Function


def program(seed, d=5, m=7):
    rng = np.random.default_rng(seed)
    B, inside, G, A = rng.normal(size=(d, d)), rng.normal(size=d), rng.normal(size=(m, d)), rng.normal(size=(1, d))
    h = G @ inside + rng.uniform(0, 0.5, m)
    return QuadraticProgram.of(B.T @ B + 0.1 * np.eye(d), rng.normal(size=d), A, A @ inside, G, h), inside


@pytest.mark.parametrize("seed", range(5))
def test_max_min_is_never_above_min_max(seed):
    """C-39: on random matrices, and equal where there is a saddle point."""
    rng = np.random.default_rng(seed)
    found = minimax(rng.normal(size=(6, 9)))
    assert found.maximin <= found.minimax and found.gap >= 0
    x, y = rng.normal(size=6), rng.normal(size=9)
    saddle = minimax(x[:, None] ** 2 - y**2)
    assert saddle.gap == 0
    assert saddle.saddle == (int((x**2).argmin()), int((y**2).argmin()))


@pytest.mark.parametrize("seed", range(5))
def test_every_feasible_multiplier_bounds_every_feasible_value(seed):
    """A-127, C-39: weak duality; 1e-9 for rounding."""
    qp, inside = program(seed)
    rng = np.random.default_rng(seed + 100)
    dual, least = quadratic_dual(qp), solve_qp(qp.P, qp.q, qp.A, qp.b, qp.G, qp.h)
    for _ in range(50):
        y = np.append(rng.normal(size=1), rng.exponential(size=7))
        assert dual.feasible(y)
        assert dual.value(y) <= least.value + 1e-9 <= qp.at(inside).value + 2e-9
        assert dual.value(y) == pytest.approx(lagrangian_bound(qp, y[:1], y[1:], np.zeros(5)).value, rel=1e-7)
        told = duality_gap(qp, np.concatenate([inside, y]))
        assert told.dual == pytest.approx(dual.value(y), rel=1e-7) and told.gap >= -1e-9
        assert minimax(rng.normal(size=(6, 4))).gap >= 0


@pytest.mark.parametrize("seed", range(5))
def test_the_gap_of_a_convex_program_is_zero(seed):
    """A-127, C-39: with more constraints than unknowns the dual is singular, and its solution good to 1e-6."""
    qp, _ = program(seed)
    least, found = solve_qp(qp.P, qp.q, qp.A, qp.b, qp.G, qp.h), quadratic_dual(qp).solve()
    assert_allclose(found.dual, least.value, rtol=1e-7)
    assert_allclose(found.x, least.x, atol=1e-5)
    assert abs(found.gap) < 1e-5
    z = np.concatenate([least.x, least.equality, least.inequality])
    assert abs(duality_gap(qp, z).gap) < 1e-9


def test_the_gap_of_a_support_vector_machine_is_zero():
    """C-39: the program of the hard margin; its multipliers prove the length of w."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(15, 2)) - 3, rng.normal(size=(15, 2)) + 3])
    y = np.repeat([-1.0, 1.0], 15)
    G = -y[:, None] * np.column_stack([X, np.ones(30)])
    P = np.diag([1.0, 1.0, 0.0])
    primal = solve_qp(P, np.zeros(3), G=G, h=-np.ones(30))
    K = (y[:, None] * X) @ (y[:, None] * X).T
    dual = solve_qp(K, -np.ones(30), A=y[None], b=[0.0], lb=0.0)
    assert_allclose(primal.value, -dual.value, rtol=1e-8)
    assert_allclose((dual.x * y) @ X, primal.x[:2], atol=1e-6)


def test_a_smooth_convex_problem_has_no_gap_and_a_nonconvex_one_can_have_one():
    """C-39: e^x + e^-2x with x >= 1; and x^4 - 3 x^2 + x on the line x = 0, whose Lagrangian has other minima."""
    convex = ConstrainedProblem(
        Function(lambda x: np.exp(x[0]) + np.exp(-2 * x[0])), 1, (), (Function(lambda x: x[0] - 1),)
    )
    found = minimise_constrained(convex, [2.0], tol=1e-7)
    report = duality_gap(convex, np.concatenate([found.x, found.equality, found.inequality]))
    assert abs(report.gap) < 1e-6 and "gap" in str(report)
    bent = ConstrainedProblem(Function(lambda x: x[0] ** 4 - 3 * x[0] ** 2 + x[0]), 1, (Function(lambda x: x[0]),))
    multiplier = -1.0  # stationary at zero, where the function bends down
    assert lagrangian_bound(bent, [multiplier], [], [0.5]).value < bent.at(np.zeros(1)).value - 1


def test_negative_multipliers_are_refused():
    qp, _ = program(0)
    with pytest.raises(ValueError, match="must not be negative; number 2 is -1"):
        lagrangian_bound(qp, [0.0], [0, 0, -1, 0, 0, 0, 0], np.zeros(5))


def test_a_singular_program_has_no_quadratic_dual():
    with pytest.raises(ValueError, match="this P is singular"):
        quadratic_dual(QuadraticProgram.of([[1.0, 0.0], [0.0, 0.0]], [0.0, 0.0]))
