"""The Lagrange dual: lower bounds on a minimum, and the gap between the two.

    dual(lambda, mu) = min over x of  f(x) + lambda'c(x) - mu'g(x)        mu >= 0

For every feasible x and every mu >= 0 the dual is no larger than f(x): its value proves how much is left to gain. It is
concave in the multipliers whatever f is, and for a convex problem with a point inside the constraints its maximum
equals the minimum of f. It is an instance of the minimax inequality, max min <= min max.

Of a quadratic program the dual is a quadratic too. With M the rows of A and G below each other, k = (b, h) and P > 0,

    x(y) = -P^-1 (q + M'y)        dual(y) = -1/2 y'M P^-1 M'y - (k + M P^-1 q)'y - 1/2 q'P^-1 q

and its maximum over y with the multipliers of G not negative is a program of the same kind.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from fivefold.core.types import Array
from fivefold.optim.constrained.constrained_problem import ConstrainedObjective
from fivefold.optim.constrained.quadratic_program import QuadraticProgram, solve_qp
from fivefold.optim.minimise import Solver, minimise
from fivefold.optim.objective import Minimum, SmoothObjective
from fivefold.optim.smooth.lbfgs import LBFGS


@dataclass(frozen=True)
class MinimaxReport:
    """max over columns of the least entry, min over rows of the largest; equal where the matrix has a saddle point."""

    maximin: float
    minimax: float
    saddle: tuple[int, int] | None  # row and column

    @property
    def gap(self) -> float:
        """Never negative."""
        return self.minimax - self.maximin


def minimax(phi: ArrayLike) -> MinimaxReport:
    """max_y min_x phi(x, y) <= min_x max_y phi(x, y) for phi as a matrix, x its row and y its column.

    >>> minimax([[1.0, 4.0], [3.0, 2.0]])
    MinimaxReport(maximin=2.0, minimax=3.0, saddle=None)
    """
    phi = np.asarray(phi, dtype=np.float64)
    least, most = phi.min(axis=0), phi.max(axis=1)
    low, high = float(least.max()), float(most.min())
    return MinimaxReport(low, high, (int(most.argmin()), int(least.argmax())) if low == high else None)


@dataclass(frozen=True)
class QuadraticDual:
    """constant + linear'y - 1/2 y'Q y over multipliers y of the equalities, then of the inequalities (>= 0)."""

    program: QuadraticProgram
    Q: Array
    linear: Array
    constant: float
    factor: tuple[Array, bool]  # of P, as cho_factor returns it

    def value(self, y: ArrayLike) -> float:
        """The dual function: no larger than the program's value at any feasible point, if y is feasible."""
        y = np.asarray(y, dtype=np.float64)
        return float(self.constant + self.linear @ y - 0.5 * y @ self.Q @ y)

    def feasible(self, y: Array, tol: float = 0.0) -> bool:
        """Are the multipliers of the inequalities not negative?"""
        return bool((np.asarray(y)[len(self.program.b) :] >= -tol).all())

    def recover(self, y: Array) -> Array:
        """The x that minimises the Lagrangian for these multipliers."""
        M = np.vstack([self.program.A, self.program.G])
        return -cho_solve(self.factor, self.program.q + np.asarray(y, dtype=np.float64) @ M)

    def solve(self) -> DualityReport:
        """The largest dual value, the x that belongs to it, and the gap to the program's value there."""
        lb = np.append(np.full(len(self.program.b), -np.inf), np.zeros(len(self.program.h)))
        y = solve_qp(self.Q, -self.linear, lb=lb).x
        x = self.recover(y)
        point = self.program.at(x)
        infeasible = max(np.abs(point.equalities).max(initial=0.0), -point.inequalities.min(initial=0.0))
        return DualityReport(point.value, self.value(y), x, y, float(infeasible))


def quadratic_dual(program: QuadraticProgram) -> QuadraticDual:
    """The dual of a quadratic program with positive definite P.

    >>> dual = quadratic_dual(QuadraticProgram.of(2.0, 0.0, G=-1.0, h=-1.0))  # min x^2 with 1 - x <= 0
    >>> dual.linear, dual.Q / 2, dual.constant  # lambda - lambda^2 / 4
    (array([1.]), array([[0.25]]), 0.0)
    >>> found = dual.solve()
    >>> found.multipliers.round(9), round(found.dual, 9), found.x.round(9)
    (array([2.]), 1.0, array([1.]))
    """
    try:
        factor = cho_factor(program.P, lower=True)
    except LinAlgError:
        raise ValueError(
            "the dual of a program is a quadratic where P is positive definite; this P is singular. "
            "Use `lagrangian_bound` with multipliers of solve_qp, or add a multiple of one to P"
        ) from None
    M, k = np.vstack([program.A, program.G]), np.append(program.b, program.h)
    back = cho_solve(factor, np.column_stack([M.T, program.q]))  # (d, p + m + 1)
    linear, constant = -(k + M @ back[:, -1]) + 0.0, -0.5 * float(program.q @ back[:, -1]) + 0.0
    return QuadraticDual(program, M @ back[:, :-1], linear, constant, factor)


@dataclass(frozen=True)
class DualityReport:
    """A value, a lower bound on every value, and the point and multipliers that they belong to."""

    primal: float
    dual: float
    x: Array
    multipliers: Array  # of the equalities, then of the inequalities
    infeasible: float = 0.0  # largest violation of a constraint by x: the gap is a bound only where this is zero

    @property
    def gap(self) -> float:
        """How much the value at x can exceed the minimum."""
        return self.primal - self.dual

    def __str__(self) -> str:
        return (
            f"value {self.primal:.10g}, bound {self.dual:.10g}, gap {self.gap:.3g}; "
            f"constraints hold to {self.infeasible:.3g}"
        )


@dataclass(frozen=True)
class Lagrangian(SmoothObjective):
    """x -> f(x) + lambda'c(x) - mu'g(x) for fixed multipliers, without constraints."""

    problem: ConstrainedObjective
    equality: Array
    inequality: Array

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        point = self.problem.at(x)
        value = point.value + float(self.equality @ point.equalities - self.inequality @ point.inequalities)
        slope = point.gradient + self.equality @ point.equality_jacobian - self.inequality @ point.inequality_jacobian
        return value, slope


def lagrangian_bound(
    problem: ConstrainedObjective,
    equality: ArrayLike,
    inequality: ArrayLike,
    x0: Array,
    solver: Solver | None = None,
    *,
    tol: float = 1e-9,
) -> Minimum:
    """The dual function at these multipliers, by minimising the Lagrangian over x without constraints.

    Its value is a lower bound where the solver finds the global minimum: for convex f, linear c and concave g, any
    minimum is global.
    """
    inequality = np.asarray(inequality, dtype=np.float64)
    if (inequality < 0).any():
        raise ValueError(
            f"multipliers of inequalities must not be negative; number {int(inequality.argmin())} is "
            f"{inequality.min():.6g}"
        )
    lagrangian = Lagrangian(problem, np.asarray(equality, dtype=np.float64), inequality)
    return minimise(lagrangian, x0, LBFGS() if solver is None else solver, tol=tol)


def duality_gap(problem: ConstrainedObjective, z: Array, solver: Solver | None = None) -> DualityReport:
    """What the multipliers in z = (x, lambda, mu), clipped to be feasible, prove about the value at x."""
    x, equality, inequality = problem.split(np.asarray(z, dtype=np.float64))
    inequality = np.maximum(inequality, 0.0)
    bound = lagrangian_bound(problem, equality, inequality, x, solver)
    point = problem.at(x)
    infeasible = max(np.abs(point.equalities).max(initial=0.0), -point.inequalities.min(initial=0.0))
    return DualityReport(point.value, bound.value, x, np.append(equality, inequality), float(infeasible))
