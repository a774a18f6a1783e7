"""Convex quadratic programs beside SciPy's general solver of constrained problems."""

import numpy as np
from scipy.optimize import minimize

from benchmarks.harness import OURS, Case, Data, function, no_worse
from fivefold.optim.constrained.quadratic_program import solve_qp


def program(d, seed=0):
    """A random strictly convex program of d unknowns with 2 d inequalities and bounds, a point inside them known."""
    rng = np.random.default_rng(seed)
    B, inside, G = rng.normal(size=(d, d)), rng.normal(size=d), rng.normal(size=(2 * d, d))
    given = {"q": 3 * rng.normal(size=d), "G": G, "h": G @ inside + rng.uniform(0, 1, 2 * d), "bound": 3.0}
    return Data(B.T @ B / d + 0.1 * np.eye(d), given=given)


def ours(data):
    q, G, h, bound = data.given.values()
    return solve_qp(data.X, q, G=G, h=h, lb=-bound, ub=bound).x


def theirs(data):
    P, (q, G, h, bound) = data.X, data.given.values()
    return minimize(
        lambda x: 0.5 * x @ P @ x + q @ x, np.zeros(len(q)), jac=lambda x: P @ x + q, method="SLSQP",
        bounds=[(-bound, bound)] * len(q), options={"ftol": 1e-12, "maxiter": 1000},
        constraints={"type": "ineq", "fun": lambda x: h - G @ x, "jac": lambda x: -G},
    ).x  # fmt: skip


def value(data, x):
    """The function at the point, plus a large multiple of what the worst constraint lacks."""
    q, G, h, bound = data.given.values()
    lack = max(float((G @ x - h).max()), float(np.abs(x).max()) - bound, 0.0)
    return float(0.5 * x @ data.X @ x + q @ x) + 1e3 * lack


CASES = (
    Case(
        "Quadratic program",
        program,
        100,
        {"SciPy": function(theirs), OURS: function(ours)},
        no_worse(value, 1e-8),
        5.0,
        "200 inequalities and bounds on 100 unknowns; beside SLSQP",
    ),
)
