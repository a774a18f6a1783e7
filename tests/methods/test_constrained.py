"""Constrained problems with general functions, and the framework of penalised losses as programs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.datasets import make_classification
from sklearn.linear_model import Ridge

from fivefold.optim.constrained.constrained_problem import (
    AugmentedLagrangian,
    ConstrainedProblem,
    PenaltyMethod,
    kkt_residuals,
    minimise_constrained,
)
from fivefold.optim.constrained.quadratic_program import QuadraticProgram, solve_qp
from fivefold.optim.design import Design
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.functions import Function
from fivefold.optim.losses.margin_losses import HingeLoss
from fivefold.optim.losses.regression_losses import SquaredLoss
from fivefold.optim.minimise import minimise
from fivefold.optim.smooth.lbfgs import LBFGS
from fivefold.optim.smooth.newton import Newton

SOLVERS = [AugmentedLagrangian(), AugmentedLagrangian(inner=Newton()), PenaltyMethod(), PenaltyMethod(inner=Newton())]


def curved():
    """A convex function within a disc and above a parabola's chord: the disc binds."""
    goal = Function(lambda x: (x[0] - 2) ** 2 + (x[1] - 1) ** 2 + 0.1 * (x[0] * x[1]) ** 2)
    disc, line = Function(lambda x: 1 - x @ x), Function(lambda x: x[0] - x[1] + 0.2)
    return ConstrainedProblem(goal, 2, (), (disc, line))


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
def test_every_method_reaches_the_conditions_of_a_minimum(solver):
    """D-283: derivatives by differences leave 1e-5."""
    problem = curved()
    found = minimise_constrained(problem, [0.1, 0.2], solver, tol=1e-6)
    rival = minimize(
        problem.objective.value, [0.1, 0.2], method="SLSQP", options={"ftol": 1e-14},
        constraints=[{"type": "ineq", "fun": f.value} for f in problem.inequalities],
    )  # fmt: skip
    assert_allclose(found.x, rival.x, atol=1e-4)
    assert found.violation < 1e-4
    again = kkt_residuals(problem.at(found.x), found.equality, found.inequality)
    assert again == found.residuals
    assert found.inequality[0] > 0.1  # the disc binds


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
def test_the_iterative_methods_agree_with_the_active_set(solver):
    rng = np.random.default_rng(3)
    B, G, A = rng.normal(size=(6, 6)), rng.normal(size=(8, 6)), rng.normal(size=(2, 6))
    program = QuadraticProgram.of(B.T @ B + np.eye(6), rng.normal(size=6), A, 0.1 * A[:, 0], G, rng.uniform(0, 1, 8))
    exact = solve_qp(program.P, program.q, program.A, program.b, program.G, program.h)
    found = minimise_constrained(program, np.zeros(6), solver, tol=1e-7)
    assert_allclose(found.x, exact.x, atol=1e-5)
    assert_allclose(found.inequality, exact.inequality, atol=1e-3)


def test_the_checker_finds_each_condition_that_fails():
    """D-283: min x^2 with x >= 1; the solution is x = 1, mu = 2."""
    program = QuadraticProgram.of(2.0, 0.0, G=-1.0, h=-1.0)

    def failing(x, mu):
        point = program.residuals(np.array([x, mu]))
        names = "stationarity", "primal_infeasibility", "dual_infeasibility", "complementarity"
        return [name.split("_")[0] for name in names if getattr(point, name) > 1e-12]

    assert failing(1.0, 2.0) == []
    assert failing(1.0, 1.0) == ["stationarity"]
    assert failing(0.5, 1.0) == ["primal", "complementarity"]
    assert failing(-1.0, -2.0) == ["primal", "dual", "complementarity"]
    assert failing(2.0, 4.0) == ["complementarity"]


def test_paths_values_and_wrong_starts():
    program = QuadraticProgram.of(2.0, 0.0, G=-1.0, h=-1.0)
    found = minimise_constrained(program, [5.0], record=True)
    assert len(found.path) == found.steps + 1 and found.path[0].tolist() == [5.0]
    with pytest.raises(ValueError, match=r"1 unknowns; the start has shape \(2,\)"):
        minimise_constrained(program, [1.0, 2.0])


def test_second_derivatives_that_are_missing_are_named():
    from fivefold.optim.objective import SmoothObjective

    class Rough(SmoothObjective):
        def value_and_gradient(self, x):
            return float(x @ x), 2 * x

    with pytest.raises(TypeError, match="a Rough has none"):
        minimise_constrained(
            ConstrainedProblem(Rough(), 1, (), (Function(lambda x: x[0] - 1),)), [3.0], AugmentedLagrangian(Newton())
        )


def risk(loss, C=0.5):
    X, y = make_classification(60, 4, flip_y=0.2, class_sep=0.5, random_state=0)
    t = 2.0 * y - 1
    return EmpiricalRisk(loss, Design(X), t, np.full(60, C), np.array([1.0, 1, 1, 1, 0])), X, t


def test_the_hinge_in_the_framework_reproduces_the_program_of_the_machine():
    """D-291: 1/2 |w|^2 + C sum of hinges, as a program with slacks; its multipliers prove that no value is lower."""
    whole, X, t = risk(HingeLoss())
    n, d = X.shape
    P = np.diag(np.append(np.ones(d), np.zeros(1 + n)))
    q = np.append(np.zeros(d + 1), whole.s)
    G = np.hstack([-t[:, None] * np.column_stack([X, np.ones(n)]), -np.eye(n)])
    lb = np.append(np.full(d + 1, -np.inf), np.zeros(n))
    found = solve_qp(P, q, G=G, h=-np.ones(n), lb=lb)
    w = found.x[: d + 1]
    assert_allclose(whole.value(w), found.value, rtol=1e-8)
    a = found.inequality  # dual: -1/2 |sum a t x|^2 + sum a, with sum a t = 0
    assert_allclose(a @ t, 0, atol=1e-7)
    assert_allclose(a.sum() - 0.5 * np.sum(((a * t) @ X) ** 2), found.value, rtol=1e-7)


def test_the_squared_loss_in_the_framework_is_ridge_regression():
    """D-291."""
    whole, X, t = risk(SquaredLoss(), C=1.0)
    found = minimise(whole, np.zeros(5), LBFGS(), tol=1e-9)
    rival = Ridge(alpha=1.0).fit(X, t)
    assert_allclose(found.x, np.append(rival.coef_, rival.intercept_), atol=1e-8)
