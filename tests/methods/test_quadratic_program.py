"""What quadratic programs prove about themselves: conditions of a minimum, and certificates that there is none."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from fivefold.optim.constrained.quadratic_program import (
    DualActiveSet,
    InfeasibleError,
    QuadraticProgram,
    UnboundedError,
    solve_qp,
)

I2 = np.eye(2)


@pytest.mark.parametrize("seed", range(40))
def test_the_conditions_of_a_minimum_hold_at_the_solution(seed):
    """D-283: stationarity, feasibility, complementarity; 1e-7 where P is singular, rounding elsewhere."""
    rng = np.random.default_rng(seed)
    d, m = int(rng.integers(1, 15)), int(rng.integers(0, 25))
    p = int(rng.integers(0, max(1, d // 2)))
    singular = seed % 4 == 0
    B = rng.normal(size=(max(1, d // 2) if singular else d, d))
    inside, A, G = rng.normal(size=d), rng.normal(size=(p, d)), rng.normal(size=(m, d))
    h = G @ inside + rng.uniform(0, 1, m) * (rng.random(m) < 0.7)  # some constraints have no room
    found = solve_qp(B.T @ B + (0 if singular else 0.1) * np.eye(d), rng.normal(size=d), A, A @ inside, G, h, -9.0, 9.0)
    worst = found.residuals
    assert (
        max(worst.stationarity, worst.primal_infeasibility, worst.dual_infeasibility, worst.complementarity)
        == found.violation
    )
    assert found.violation <= (1e-7 if singular else 1e-10)


def test_the_solution_is_no_worse_than_any_feasible_point():
    rng = np.random.default_rng(0)
    B, q, G = rng.normal(size=(4, 4)), rng.normal(size=4), rng.normal(size=(6, 4))
    P, h = B.T @ B, rng.uniform(0, 1, 6)
    found = solve_qp(P, q, G=G, h=h)
    X = rng.uniform(-2, 2, size=(20_000, 4))
    X = X[(X @ G.T <= h).all(axis=1)]
    assert len(X) > 100
    assert (0.5 * np.einsum("ij,jk,ik->i", X, P, X) + X @ q >= found.value - 1e-9).all()


def test_a_multiplier_is_what_a_little_room_is_worth():
    """The value falls by mu times the room; curvature is second order, 1e-5 of it remains for a room of 1e-5."""
    arguments = {"P": 2 * I2, "q": [-2.0, -5.0], "G": [[1.0, 1.0]]}
    tight, loose = (solve_qp(**arguments, h=[2.0 + room]) for room in (0.0, 1e-5))
    assert_allclose((tight.value - loose.value) / 1e-5, tight.inequality[0], rtol=1e-4)


def test_constraints_that_contradict_each_other_are_proved_to_do_so():
    G, h = np.array([[1.0, 0.0], [-1.0, -1.0], [0.0, 1.0]]), np.array([1.0, -3.0, 1.0])
    with pytest.raises(InfeasibleError, match="no point satisfies the constraints") as caught:
        solve_qp(I2, [0.0, 0.0], G=G, h=h)
    weights = caught.value.inequality
    assert (weights >= 0).all()
    assert_allclose(weights @ G, 0, atol=1e-12)
    assert weights @ h < 0


def test_equalities_and_bounds_that_contradict_each_other_are_proved_to_do_so():
    A, b = np.array([[1.0, 1.0]]), np.array([5.0])
    with pytest.raises(InfeasibleError) as caught:
        solve_qp(I2, [0.0, 0.0], A, b, lb=0.0, ub=2.0)
    y, mu = caught.value.equality, caught.value.inequality
    rows, right = np.vstack([-I2, I2]), np.array([0.0, 0.0, 2.0, 2.0])
    assert_allclose(y @ A + mu @ rows, 0, atol=1e-12)
    assert y @ b + mu @ right < 0 and (mu >= 0).all()


def test_an_equality_that_another_implies_is_left_out():
    found = solve_qp(I2, [0.0, 0.0], A=[[1.0, 1.0], [2.0, 2.0]], b=[1.0, 2.0])
    assert_allclose(found.x, [0.5, 0.5], atol=1e-14)
    with pytest.raises(InfeasibleError):
        solve_qp(I2, [0.0, 0.0], A=[[1.0, 1.0], [2.0, 2.0]], b=[1.0, 3.0])


def test_a_function_that_falls_without_end_is_proved_to_do_so():
    P, q = np.diag([1.0, 0.0]), np.array([0.0, -1.0])
    with pytest.raises(UnboundedError, match="falls without end") as caught:
        solve_qp(P, q, lb=0.0)
    direction = caught.value.direction
    assert_allclose(P @ direction, 0, atol=1e-9)
    assert q @ direction < 0 and (direction >= -1e-9).all()


@pytest.mark.parametrize("far", [1e2, 1e6])
def test_a_singular_program_finds_a_far_bound(far):
    """Stationarity is exact to the tolerance, which is relative to the largest number given."""
    found = solve_qp(np.diag([1.0, 0.0]), [-3.0, -1.0], ub=far)
    assert_allclose(found.x, [3.0, far], rtol=1e-6)
    assert_allclose(found.upper, [0.0, 1.0], atol=1e-3)
    found = solve_qp(np.zeros((2, 2)), [1.0, -1.0], lb=0.0, ub=100 * far)  # no quadratic part at all
    assert_allclose(found.x, [0.0, 100 * far], rtol=1e-9)


def test_a_saddle_is_refused_with_its_eigenvalue():
    with pytest.raises(ValueError, match="negative eigenvalue -1: the function is not convex"):
        solve_qp([[1.0, 0.0], [0.0, -1.0]], [0.0, 0.0])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"P": [[1.0, 2.0], [0.0, 1.0]]}, "P must be a symmetric matrix"),
        ({"q": [1.0]}, "q must hold 2 finite numbers"),
        ({"G": [[1.0, 1.0]]}, "G and h belong together"),
        ({"A": [[1.0]], "b": [1.0]}, "one column for each of the 2 unknowns"),
        ({"G": [[1.0, 1.0]], "h": [np.nan]}, "h must hold 1 finite numbers"),
    ],
)
def test_arrays_that_do_not_fit_are_refused_by_name(wrong, message):
    with pytest.raises(ValueError, match=message):
        solve_qp(**{"P": I2, "q": [0.0, 0.0], **wrong})


def test_values_rise_from_step_to_step():
    """The dual method comes from below: every value on the way is a lower bound."""
    rng = np.random.default_rng(1)
    found = solve_qp(np.eye(10), rng.normal(size=10), G=rng.normal(size=(20, 10)), h=-rng.uniform(0, 0.1, 20))
    assert found.steps > 3
    assert (np.diff(found.history) >= -1e-12).all()


def test_the_solver_runs_on_the_one_loop_and_its_violation_is_judged_from_outside():
    from fivefold.optim.minimise import minimise

    program = QuadraticProgram.of(2 * I2, [-2.0, -5.0], G=[[1.0, 1.0]], h=[2.0], lb=0.0)
    found = minimise(program, program.with_zero_multipliers([7.0, 7.0]), DualActiveSet(), tol=1e-12)
    assert found.reason == "converged" and found.violation < 1e-12
    assert_allclose(found.x, [0.25, 1.75, 1.5, 0, 0], atol=1e-12)
