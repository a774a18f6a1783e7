"""A start and a curvature from a sample of the rows.

Every k-th row, weighted to the total of all rows, has nearly the Hessian and nearly the minimum of the whole. A few
Newton steps on it cost as much as one pass over the data, and give a point to start from and a factor that makes the
steps of L-BFGS almost Newton's.
"""

from __future__ import annotations

from collections.abc import Callable

from fivefold.core.types import Array
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.smooth.newton import inverse_solver

MAX_NEWTON_STEPS = 8  # on the sample
DECREMENT_TOL = 1e-3  # Newton decrement on the sample, in units of its stride, below which all rows are needed
DIAGONAL_JITTER = 1e-10  # added to the scaled diagonal of the Hessian: a sample may lack a direction of the data


def start_from_subsample(risk: EmpiricalRisk, x0: Array, rows: int = 8000) -> tuple[Array, Callable[[Array], Array]]:
    """A point near the minimum of the risk, and the inverse of a matrix near its Hessian there, as a function."""
    part = risk.subsample(max(1, risk.n_terms // rows))
    x, value, solve = x0, part.value(x0), inverse_solver(part.hessian(x0), DIAGONAL_JITTER)
    for _ in range(MAX_NEWTON_STEPS):
        g = part.gradient(x)
        step = solve(g)
        t, fall = 1.0, float(g @ step)
        while t > 1e-3 and not part.value(x - t * step) <= value - 1e-4 * t * fall:
            t *= 0.5
        if t <= 1e-3:
            break
        x = x - t * step
        value, solve = part.value(x), inverse_solver(part.hessian(x), DIAGONAL_JITTER)
        if fall < DECREMENT_TOL * (risk.n_terms / part.n_terms):
            break
    return x, solve
