"""Minima under constraints, and how far a point is from being one.

    min (or max) over x of  J(x)     subject to   f(x) = 0,   g(x) >= 0

With J replaced by -J for a maximum, and one multiplier per constraint, the Lagrangian and the conditions of Karush,
Kuhn and Tucker are

    L(x, lambda, mu) = J(x) + lambda'f(x) - mu'g(x)
    stationarity  grad_x L = 0        primal  f = 0, g >= 0        dual  mu >= 0        complementarity  mu_i g_i = 0

The unknown of a solver is the point with its multipliers, z = (x, lambda, mu), so that the largest residual of the
conditions is the violation of the problem, computed from the problem alone, and `minimise` serves here too. A step of

    PenaltyMethod         minimises J + rho/2 (|f|^2 + |min(g, 0)|^2), then raises rho
    AugmentedLagrangian   minimises J + rho/2 (|f + lambda/rho|^2 + |min(g - mu/rho, 0)|^2), then takes
                          lambda + rho f and max(mu - rho g, 0) for the new multipliers

with any solver of smooth functions. The multipliers let rho stay where it is, so that the inner problems stay well
conditioned.

Karush (1939); Kuhn & Tucker (1951); Hestenes (1969); Powell (1969); Rockafellar (1973).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from fivefold.core.types import Array
from fivefold.optim.minimise import NoDescentError, Solver, State, minimise
from fivefold.optim.objective import Minimum, Monitor, Objective, Reason, SmoothObjective, TwiceSmoothObjective
from fivefold.optim.smooth.lbfgs import LBFGS

FEASIBILITY_SHARE = 0.25  # a round that leaves more than this share of the infeasibility needs a larger rho
MAX_RHO = 1e12  # beyond this rho the inner problem is dominated by rounding
INNER_TOL_SHARE = 0.1  # an inner problem is solved to this share of the present violation
MIN_INNER_TOL = 1e-12  # but never more closely than this
INNER_SOLVER = LBFGS()  # minimises the smooth inner problems


@dataclass(frozen=True)
class KKTResiduals:
    """Largest violations of the conditions of Karush, Kuhn and Tucker; zero at a solution."""

    stationarity: float
    primal_infeasibility: float
    dual_infeasibility: float
    complementarity: float

    @property
    def largest(self) -> float:
        """The worst of the four."""
        return max(self.stationarity, self.primal_infeasibility, self.dual_infeasibility, self.complementarity)


class ConstrainedPoint(NamedTuple):
    """A problem at a point: the function to minimise, its gradient, the constraints and their derivatives."""

    value: float
    gradient: Array  # (d,)
    equalities: Array  # f, (p,)
    equality_jacobian: Array  # (p, d)
    inequalities: Array  # g, (m,)
    inequality_jacobian: Array  # (m, d)


class ConstrainedObjective(Objective):
    """A problem with p equalities and m inequalities over x (d,); a solver moves z = (x, lambda, mu)."""

    @property
    @abstractmethod
    def sizes(self) -> tuple[int, int, int]:
        """d, p, m."""

    @abstractmethod
    def at(self, x: Array) -> ConstrainedPoint:
        """Values and first derivatives at x."""

    @abstractmethod
    def curvature(self, x: Array, equality: Array, inequality: Array) -> Array:
        """The Hessian in x of the Lagrangian."""

    def split(self, z: Array) -> tuple[Array, Array, Array]:
        """x, lambda and mu."""
        d, p, _ = self.sizes
        return z[:d], z[d : d + p], z[d + p :]

    def with_zero_multipliers(self, x: Array) -> Array:
        """x with multipliers zero."""
        d, p, m = self.sizes
        x = np.asarray(x, dtype=np.float64)
        if x.shape != (d,):
            raise ValueError(f"the problem has {d} unknowns; the start has shape {x.shape}")
        return np.append(x, np.zeros(p + m))

    def residuals(self, z: Array) -> KKTResiduals:
        """How far z is from satisfying the conditions of a minimum."""
        x, equality, inequality = self.split(z)
        return kkt_residuals(self.at(x), equality, inequality)

    def value(self, z: Array) -> float:
        return self.at(self.split(z)[0]).value

    def violation(self, z: Array) -> float:
        return self.residuals(z).largest


def kkt_residuals(point: ConstrainedPoint, equality: Array, inequality: Array) -> KKTResiduals:
    """The residuals of any problem whose first derivatives at x are in `point`, for multipliers of its constraints."""
    slope = point.gradient + equality @ point.equality_jacobian - inequality @ point.inequality_jacobian
    return KKTResiduals(
        _largest(slope),
        max(_largest(point.equalities), _largest(np.minimum(point.inequalities, 0.0))),
        _largest(np.minimum(inequality, 0.0)),
        _largest(inequality * point.inequalities),
    )


@dataclass(frozen=True)
class ConstrainedProblem(ConstrainedObjective):
    """`objective` under `equalities` = 0 and `inequalities` >= 0, each a smooth function of x; sense "min" or "max"."""

    objective: SmoothObjective
    n_unknowns: int
    equalities: Sequence[SmoothObjective] = ()
    inequalities: Sequence[SmoothObjective] = ()
    sense: Literal["min", "max"] = "min"

    @property
    def sign(self) -> float:
        """The factor that makes the objective one to minimise."""
        return {"min": 1.0, "max": -1.0}[self.sense]

    @property
    def sizes(self) -> tuple[int, int, int]:
        return self.n_unknowns, len(self.equalities), len(self.inequalities)

    def at(self, x: Array) -> ConstrainedPoint:
        value, gradient = self.objective.value_and_gradient(x)
        return ConstrainedPoint(
            self.sign * value, self.sign * gradient, *_stacked(self.equalities, x), *_stacked(self.inequalities, x)
        )

    def curvature(self, x: Array, equality: Array, inequality: Array) -> Array:
        parts = [(self.sign, self.objective)]
        parts += list(zip(equality, self.equalities, strict=True))
        parts += list(zip(-inequality, self.inequalities, strict=True))
        H = np.zeros((len(x), len(x)), dtype=x.dtype)
        for weight, function in parts:
            if not isinstance(function, TwiceSmoothObjective):
                raise TypeError(f"second derivatives are needed, and a {type(function).__name__} has none")
            H = H + weight * function.hessian(x)
        return H


@dataclass(frozen=True)
class ConstrainedSolution:
    """A point with its multipliers, how well it satisfies the conditions of a minimum, and why the solver stopped.

    `value` is that of the objective as it was given. `inequality` holds the multipliers of the inequalities, none
    negative; `lower` and `upper` those of bounds on the unknowns, where there are bounds.
    """

    x: Array
    value: float
    equality: Array
    inequality: Array
    residuals: KKTResiduals
    reason: Reason
    history: tuple[float, ...]
    lower: Array | None = None
    upper: Array | None = None
    path: tuple[Array, ...] = ()

    @property
    def violation(self) -> float:
        """The largest residual."""
        return self.residuals.largest

    @property
    def steps(self) -> int:
        """Number of steps taken."""
        return len(self.history) - 1


@dataclass(frozen=True)
class AugmentedFunction(TwiceSmoothObjective):
    """f + rho/2 (|c + lambda/rho|^2 + |min(g - mu/rho, 0)|^2), less what does not depend on x."""

    problem: ConstrainedObjective
    equality: Array
    inequality: Array
    rho: float

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        point = self.problem.at(x)
        equality, inequality = self.multipliers(point)
        squares = float(equality @ equality + inequality @ inequality)
        before = float(self.equality @ self.equality + self.inequality @ self.inequality)
        slope = point.gradient + equality @ point.equality_jacobian - inequality @ point.inequality_jacobian
        return point.value + (squares - before) / (2 * self.rho), slope

    def hessian(self, x: Array) -> Array:
        point = self.problem.at(x)
        equality, inequality = self.multipliers(point)
        E, N = point.equality_jacobian, point.inequality_jacobian[inequality > 0]
        return self.problem.curvature(x, equality, inequality) + self.rho * (E.T @ E + N.T @ N)

    def multipliers(self, point: ConstrainedPoint) -> tuple[Array, Array]:
        """lambda + rho f and max(mu - rho g, 0): at the minimum they make the Lagrangian stationary."""
        return self.equality + self.rho * point.equalities, np.maximum(
            self.inequality - self.rho * point.inequalities, 0.0
        )


@dataclass(frozen=True)
class _PenaltySequence(Solver):
    """Smooth problems without constraints, one per step, each minimised by `inner`; a step remembers rho."""

    inner: Solver = INNER_SOLVER
    rho: float = 10.0
    growth: float = 10.0
    inner_steps: int = 1000

    accepts = (ConstrainedObjective,)

    def start(self, objective: ConstrainedObjective, x0: Array) -> State:
        return State(x0, objective.value(x0), objective.violation(x0), self.rho)


@dataclass(frozen=True)
class AugmentedLagrangian(_PenaltySequence):
    """The method of multipliers; `inner` minimises smooth functions, `rho` grows where feasibility is slow."""

    def step(self, objective: ConstrainedObjective, state: State) -> State:
        _, equality, inequality = objective.split(state.x)
        return _inner_minimum(self, objective, state, equality, inequality, state.memory, stays=FEASIBILITY_SHARE)


@dataclass(frozen=True)
class PenaltyMethod(_PenaltySequence):
    """Squared penalties that grow without end; their slopes are the multipliers."""

    rho: float = 1.0
    growth: float = 4.0

    convergent = False  # the error falls as 1 / rho, and rho has a limit

    def step(self, objective: ConstrainedObjective, state: State) -> State:
        _, p, m = objective.sizes
        return _inner_minimum(self, objective, state, np.zeros(p), np.zeros(m), state.memory, stays=0.0)


def _inner_minimum(
    solver: _PenaltySequence,
    problem: ConstrainedObjective,
    state: State,
    equality: Array,
    inequality: Array,
    rho: float,
    *,
    stays: float,
) -> State:
    """Minimise with rho and these multipliers; rho stays where the infeasibility falls to the share `stays`."""
    if rho > MAX_RHO:
        raise NoDescentError
    x, *_ = problem.split(state.x)
    before = kkt_residuals(problem.at(x), equality, inequality).primal_infeasibility
    smooth = AugmentedFunction(problem, equality, inequality, rho)
    tol = max(MIN_INNER_TOL, INNER_TOL_SHARE * min(state.violation, smooth.violation(x)))
    found = minimise(smooth, x, solver.inner, tol=tol, max_iter=solver.inner_steps)
    point = problem.at(found.x)
    equality, inequality = smooth.multipliers(point)
    residuals = kkt_residuals(point, equality, inequality)
    settled = residuals.primal_infeasibility <= stays * before or residuals.primal_infeasibility <= MIN_INNER_TOL
    z = np.concatenate([found.x, equality, inequality])
    if np.array_equal(z, state.x) and settled:
        raise NoDescentError
    return State(z, point.value, residuals.largest, rho if settled and stays else rho * solver.growth)


def minimise_constrained(
    problem: ConstrainedObjective,
    x0: Array,
    solver: Solver | None = None,
    *,
    tol: float = 1e-8,
    max_iter: int = 100,
    record: bool = False,
    monitor: Monitor | None = None,
) -> ConstrainedSolution:
    """Solve a constrained problem from x0, by the method of multipliers unless another solver is given.

    >>> from fivefold.optim.constrained.quadratic_program import QuadraticProgram
    >>> nearest = QuadraticProgram.of(2.0, 0.0, G=-1.0, h=-1.0)  # min x^2 with x >= 1
    >>> found = minimise_constrained(nearest, [5.0])
    >>> found.x.round(6), found.inequality.round(6)
    (array([1.]), array([2.]))
    """
    solver = AugmentedLagrangian() if solver is None else solver
    found = minimise(
        problem, problem.with_zero_multipliers(x0), solver, tol=tol, max_iter=max_iter, record=record, monitor=monitor
    )
    return split_solution(problem, found)


def split_solution(problem: ConstrainedObjective, found: Minimum) -> ConstrainedSolution:
    """A solver's result split into point and multipliers; for a maximum, with value and equality multipliers of J."""
    x, equality, inequality = problem.split(found.x)
    plain = ConstrainedSolution(
        x, found.value, equality, inequality, problem.residuals(found.x), found.reason, found.history,
        path=tuple(problem.split(z)[0] for z in found.path),
    )  # fmt: skip
    if isinstance(problem, ConstrainedProblem) and problem.sense == "max":
        history = tuple(-value for value in found.history)
        return replace(plain, value=-found.value, equality=-equality, history=history)
    return plain


def _stacked(functions: Sequence[SmoothObjective], x: Array) -> tuple[Array, Array]:
    """Values (m,) and slopes (m, d) of several functions."""
    pairs = [function.value_and_gradient(x) for function in functions]
    values = np.array([value for value, _ in pairs], dtype=x.dtype)
    return values, np.array([slope for _, slope in pairs], dtype=x.dtype).reshape(len(pairs), len(x))


def _largest(v: Array) -> float:
    return float(np.abs(v).max(initial=0.0))
