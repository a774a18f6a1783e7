"""Quadratic programs beside SciPy's SLSQP and NNLS, and figures of OSQP (recorded.json).

Ours is exact to rounding; tolerances are those of the rivals: SLSQP and OSQP stop at 1e-9 or so in the value, and the
value is flat at a minimum, so points agree to its root.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from rivals.record import recorded
from scipy.optimize import linprog, minimize, nnls

from fivefold.optim.constrained.quadratic_program import solve_qp

SEEDS = range(6)


def program(seed, rank=None):
    rng = np.random.default_rng(seed)
    d, m, p = 7, 12, 2
    B = rng.normal(size=(rank or d, d))
    inside, A, G = rng.normal(size=d), rng.normal(size=(p, d)), rng.normal(size=(m, d))
    P = B.T @ B + (0.1 * np.eye(d) if rank is None else 0)
    return {
        "P": P, "q": 3 * rng.normal(size=d), "A": A, "b": A @ inside, "G": G, "h": G @ inside + rng.uniform(0, 0.5, m),
        "lb": inside - rng.uniform(0, 1, d), "ub": inside + 1.0,
    }  # fmt: skip


@pytest.mark.parametrize("rank", [None, 3])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_value_is_no_higher_than_that_of_slsqp(seed, rank):
    c = program(seed, rank)
    ours = solve_qp(**c)
    rival = minimize(
        lambda x: 0.5 * x @ c["P"] @ x + c["q"] @ x, np.zeros(7), jac=lambda x: c["P"] @ x + c["q"], method="SLSQP",
        bounds=list(zip(c["lb"], c["ub"], strict=True)), options={"ftol": 1e-14, "maxiter": 1000},
        constraints=[
            {"type": "eq", "fun": lambda x: c["A"] @ x - c["b"]},
            {"type": "ineq", "fun": lambda x: c["h"] - c["G"] @ x},
        ],
    )  # fmt: skip
    assert ours.violation < 1e-7
    assert_allclose(ours.value, rival.fun, rtol=1e-6)
    if rank is None:
        assert_allclose(ours.x, rival.x, atol=1e-5)


@pytest.mark.parametrize("seed", SEEDS)
def test_points_and_multipliers_are_those_of_osqp(seed):
    ours, theirs = solve_qp(**program(seed)), recorded("quadratic_programs")[str(seed)]
    assert_allclose(ours.x, theirs["x"], atol=1e-6)
    multipliers = np.concatenate([ours.equality, ours.inequality, ours.upper - ours.lower])
    assert_allclose(multipliers, theirs["multipliers"], atol=1e-5)


def test_least_squares_without_negative_coefficients_is_that_of_scipy():
    rng = np.random.default_rng(0)
    Z, t = rng.normal(size=(40, 8)), rng.normal(size=40)
    assert_allclose(solve_qp(Z.T @ Z, -Z.T @ t, lb=0.0).x, nnls(Z, t)[0], atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_without_a_quadratic_part_it_is_a_linear_program(seed):
    rng = np.random.default_rng(seed)
    c, G, h = rng.normal(size=5), rng.normal(size=(6, 5)), rng.uniform(0.5, 1, 6)
    rival = linprog(c, A_ub=G, b_ub=h, bounds=[(-2, 3)] * 5)
    ours = solve_qp(np.zeros((5, 5)), c, G=G, h=h, lb=-2.0, ub=3.0)
    assert_allclose(ours.value, rival.fun, rtol=1e-8)
    assert_allclose(ours.inequality, -rival.ineqlin.marginals, atol=1e-8)
