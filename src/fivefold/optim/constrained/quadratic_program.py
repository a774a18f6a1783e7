"""Convex quadratic programs, by a dual active set.

    min over x of  1/2 x'P x + q'x     subject to   A x = b,   G x <= h,   lb <= x <= ub

The minimum without constraints is the start. A step takes the constraint that is violated most and moves towards it,
along the direction that keeps the active ones active, raising its multiplier; an active constraint whose multiplier
would turn negative on the way is dropped first. So the multipliers are never negative, the Lagrangian is always
stationary, the value rises from step to step, and the first point without a violated constraint is the answer. With
P = L L', N the normals of the active constraints and L^-1 N = Q [R; 0], a step costs products with J = L^-T Q, which a
reflection updates when a constraint enters and rotations when one leaves.

If the violated normal is a combination of the active ones, and none of those can be dropped, that combination proves
that no point satisfies the constraints: `InfeasibleError` carries it.

Where P is singular, proximal points are taken: each minimises the function plus delta/2 |x - last|^2, a strictly convex
program. They reach a minimum, or diverge along a direction in which the function falls without end, which
`UnboundedError` carries.

Goldfarb & Idnani (1983); Rockafellar (1976).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgError, cholesky, lapack, solve_triangular

from fivefold.core.blas_threads import one_blas_thread
from fivefold.core.numerics.eigenpairs import eigen
from fivefold.core.types import Array, Indices
from fivefold.optim.constrained.constrained_problem import (
    ConstrainedObjective,
    ConstrainedPoint,
    ConstrainedSolution,
    split_solution,
)
from fivefold.optim.minimise import NoDescentError, Solver, State, minimise

SINGULAR_RCOND = 1e-11  # reciprocal condition of P below which it counts as singular
DEPENDENT_NORMAL = 1e-13  # share of a squared normal outside the span of the active ones: below it, it is in their span
IMPLIED_SLACK = 1e-9  # slack of a dependent equality, as a share of its right side, that counts as zero
DELTA_SHRINK = 0.1  # delta falls by this factor from one proximal point to the next,
MIN_DELTA = 1e-6  # down to this share of the largest diagonal entry of P: the factor of P + delta keeps ten digits
VALUE_ROUNDING = 1e-12  # as a share of the value: a smaller decrease is rounding
INFINITE_BOUND = 1e20  # a bound at least this large is no bound
UNBOUNDED_RESIDUAL = 1e-9  # a direction whose residuals are below this share of its length is one of unbounded descent


class InfeasibleError(ValueError):
    """No point satisfies the constraints.

    `equality` and `inequality` hold weights, the latter not negative: so weighted, the constraints A x = b, G x <= h
    (then the lower bounds as -x <= -lb and the upper ones as x <= ub) add up to 0 <= a negative number.
    """

    def __init__(self, equality: Array, inequality: Array) -> None:
        super().__init__(
            "no point satisfies the constraints: the weights in `equality` and `inequality` of this error add them up "
            "to 0 <= a negative number. Loosen one of the constraints whose weight is not zero"
        )
        self.equality, self.inequality = equality, inequality


class UnboundedError(ValueError):
    """Along `direction` every constraint stays satisfied and the function falls without end."""

    def __init__(self, direction: Array) -> None:
        super().__init__(
            "the function falls without end within the constraints, along `direction` of this error. Bound the "
            "unknowns, or add a multiple of one to P"
        )
        self.direction = direction


@dataclass(frozen=True)
class QuadraticProgram(ConstrainedObjective):
    """Equalities A x = b and inequalities G x <= h, bounds included as rows; made by `of`."""

    P: Array  # (d, d), symmetric
    q: Array  # (d,)
    A: Array  # (p, d)
    b: Array  # (p,)
    G: Array  # (m, d)
    h: Array  # (m,)
    low: Indices  # unknowns bounded from below,
    high: Indices  # and from above: their bounds are the last rows of G

    @classmethod
    def of(
        cls,
        P: ArrayLike,
        q: ArrayLike,
        A: ArrayLike | None = None,
        b: ArrayLike | None = None,
        G: ArrayLike | None = None,
        h: ArrayLike | None = None,
        lb: ArrayLike | None = None,
        ub: ArrayLike | None = None,
    ) -> QuadraticProgram:
        """A program from arrays, or numbers where there is one unknown; arguments left out do not constrain."""
        P = np.atleast_2d(np.asarray(P, dtype=np.float64))
        d = len(P)
        if P.shape != (d, d) or not np.allclose(P, P.T, rtol=1e-10, atol=1e-10 * np.abs(P).max(initial=0.0)):
            raise ValueError(f"P must be a symmetric matrix; got shape {P.shape}")
        A, b = _rows("A", A, "b", b, d)
        G, h = _rows("G", G, "h", h, d)
        lb, ub = (np.broadcast_to(np.asarray(v, dtype=np.float64), d) for v in (_or(lb, -np.inf), _or(ub, np.inf)))
        low, high, unit = np.flatnonzero(lb > -INFINITE_BOUND), np.flatnonzero(ub < INFINITE_BOUND), np.eye(d)
        return cls(
            (P + P.T) / 2, _vector("q", q, d), A, b,
            np.vstack([G, -unit[low], unit[high]]), np.concatenate([h, -lb[low], ub[high]]), low, high,
        )  # fmt: skip

    @property
    def sizes(self) -> tuple[int, int, int]:
        return len(self.q), len(self.b), len(self.h)

    def at(self, x: Array) -> ConstrainedPoint:
        slope = self.P @ x
        value = float(x @ (0.5 * slope + self.q))
        return ConstrainedPoint(value, slope + self.q, self.A @ x - self.b, self.A, self.h - self.G @ x, -self.G)

    def curvature(self, x: Array, equality: Array, inequality: Array) -> Array:
        return self.P

    @property
    def scale(self) -> float:
        """The scale that residuals are compared with."""
        return max(1.0, *(float(np.abs(v).max(initial=0.0)) for v in (self.q, self.b, self.h)))


def solve_qp(
    P: ArrayLike,
    q: ArrayLike,
    A: ArrayLike | None = None,
    b: ArrayLike | None = None,
    G: ArrayLike | None = None,
    h: ArrayLike | None = None,
    lb: ArrayLike | None = None,
    ub: ArrayLike | None = None,
    *,
    tol: float = 1e-10,
    max_iter: int | None = None,
) -> ConstrainedSolution:
    """Minimise 1/2 x'P x + q'x subject to A x = b, G x <= h and lb <= x <= ub.

    P must have no negative eigenvalue. The solution has the multipliers of each kind of constraint and the residuals of
    the conditions of a minimum; constraints that no point satisfies raise `InfeasibleError`, a function that falls
    without end `UnboundedError`, each with its proof.

    >>> found = solve_qp([[2.0, 0.0], [0.0, 2.0]], [-2.0, -5.0], G=[[1.0, 1.0]], h=[2.0], lb=0.0)
    >>> found.x, found.inequality, round(found.value, 9)
    (array([0.25, 1.75]), array([1.5]), -6.125)
    """
    program = QuadraticProgram.of(P, q, A, b, G, h, lb, ub)
    d, p, m = program.sizes
    with one_blas_thread():
        singular = _refuse_saddle(program.P)
        solver: Solver = ProximalPoint() if singular else DualActiveSet()
        found = minimise(
            program, program.with_zero_multipliers(np.zeros(d)), solver, tol=tol * program.scale,
            max_iter=max_iter or (1000 if singular else 20 * (d + p + m) + 100),
        )  # fmt: skip
        whole = split_solution(program, found)
    rows = len(program.h) - len(program.low) - len(program.high)
    mu, lower, upper = whole.inequality, np.zeros(d), np.zeros(d)
    lower[program.low], upper[program.high] = mu[rows : rows + len(program.low)], mu[rows + len(program.low) :]
    return replace(whole, inequality=mu[:rows], lower=lower, upper=upper)


class ActiveSet(NamedTuple):
    """The active constraints in the order they were added, their multipliers, and the factors of their normals."""

    rows: tuple[int, ...]  # equalities are 0..p-1, inequalities follow
    signs: tuple[float, ...]  # an equality may hold from either side
    u: Array
    J: Array  # (d, d): its rows are the columns of L^-T Q
    R: Array  # (d, d): the leading q x q block is upper triangular


class UnitConstraints(NamedTuple):
    """All constraints as n'x >= beta (= for the equalities, which come first), with normals of unit length."""

    N: Array
    beta: Array
    norms: Array  # lengths of the normals as given


@dataclass(frozen=True)
class DualActiveSet(Solver):
    """Goldfarb and Idnani's method, for programs whose P is positive definite; it finds its own start."""

    accepts = (QuadraticProgram,)

    def start(self, objective: QuadraticProgram, x0: Array) -> State:
        d, p, _ = objective.sizes
        L = cholesky(objective.P, lower=True)
        x = -solve_triangular(L, solve_triangular(L, objective.q, lower=True), lower=True, trans=1)
        J = solve_triangular(L, np.eye(d), lower=True)  # row k is column k of L^-T
        N, beta = np.vstack([objective.A, -objective.G]), np.append(objective.b, -objective.h)
        size = np.linalg.norm(N, axis=1)
        size[size == 0] = 1.0
        active = ActiveSet((), (), np.zeros(0), J, np.zeros((d, d)))
        return _dual_state(
            objective, x, active, UnitConstraints(N / size[:, None], beta / size, size), frozenset(range(p))
        )

    def step(self, objective: QuadraticProgram, state: State) -> State:
        x = objective.split(state.x)[0]
        active, sides, slack, waiting = state.memory
        p = len(objective.b)
        if waiting:
            k = min(waiting)
            sign = 1.0 if slack[k] <= 0 else -1.0
        else:
            slack = slack.copy()
            slack[:p] = slack[list(active.rows)] = np.inf
            k, sign = int(slack.argmin()), 1.0
            if not slack[k] < 0:
                raise NoDescentError
        x, active = _add_constraint(objective, x, active, k, sign, sides)
        return _dual_state(objective, x, active, sides, waiting - {k})


def _add_constraint(
    program: QuadraticProgram, x: Array, active: ActiveSet, k: int, sign: float, sides: UnitConstraints
) -> tuple[Array, ActiveSet]:
    """Move until constraint k holds, dropping those in the way; raises InfeasibleError where it cannot hold."""
    p, n, beta, u_new = len(program.b), sign * sides.N[k], sign * float(sides.beta[k]), 0.0
    while True:
        q = len(active.rows)
        d = active.J @ n
        rest = d[q:]
        r = lapack.dtrtrs(active.R[:q, :q], d[:q])[0] if q else np.zeros(0)
        curvature = float(rest @ rest)
        dependent = curvature <= DEPENDENT_NORMAL * float(d @ d)
        slack = float(n @ x) - beta
        if dependent and k < p and abs(slack) <= IMPLIED_SLACK * max(1.0, abs(beta)):
            return x, active  # an equality that the others imply
        falls = (r > 0) & (np.array(active.rows) >= p) if q else np.zeros(0, dtype=bool)
        ratios = np.divide(active.u, r, out=np.full(q, np.inf), where=falls)
        j = int(ratios.argmin()) if q else -1
        t1, t2 = ratios[j] if q else np.inf, np.inf if dependent else max(-slack, 0.0) / curvature
        t = min(t1, t2)
        if t == np.inf:
            raise InfeasibleError(*_infeasibility_proof(program, active, k, sign, r, sides.norms))
        if not dependent:
            x = x + t * (rest @ active.J[q:])
        u_new += t
        active = active._replace(u=active.u - t * r)
        if t2 <= t1:
            return x, _insert_normal(active, k, sign, u_new, d)
        active = _remove_normal(active, j)


def _insert_normal(active: ActiveSet, k: int, sign: float, u: float, d: Array) -> ActiveSet:
    """A reflection of the free columns maps the rest of the new normal onto the first of them."""
    q, J, R = len(active.rows), active.J.copy(), active.R.copy()
    v, size = d[q:].copy(), float(np.linalg.norm(d[q:]))
    first = -size if v[0] > 0 else size
    v[0] -= first
    if (square := float(v @ v)) > 0:
        J[q:] -= np.outer(2.0 / square * v, v @ J[q:])
    R[:q, q], R[q, q] = d[:q], first
    return ActiveSet((*active.rows, k), (*active.signs, sign), np.append(active.u, u), J, R)


def _remove_normal(active: ActiveSet, j: int) -> ActiveSet:
    """Rotations make the factor triangular again after its column j is gone."""
    q, J, R = len(active.rows), active.J.copy(), active.R.copy()
    R[:, j : q - 1] = R[:, j + 1 : q]
    for i in range(j, q - 1):
        c, s, _ = lapack.dlartg(R[i, i], R[i + 1, i])
        turn = np.array([[c, s], [-s, c]])
        R[i : i + 2, i : q - 1] = turn @ R[i : i + 2, i : q - 1]
        J[i : i + 2] = turn @ J[i : i + 2]
    R[:, q - 1] = 0.0
    rows, signs = (tuple(np.delete(v, j).tolist()) for v in (active.rows, active.signs))
    return ActiveSet(rows, signs, np.delete(active.u, j), J, R)


def _dual_state(
    program: QuadraticProgram, x: Array, active: ActiveSet, sides: UnitConstraints, waiting: frozenset[int]
) -> State:
    """The state at x; its violation is that of the constraints, because the other conditions always hold."""
    z = np.append(x, _multipliers(program, active, active.u, sides.norms))
    slack, p = sides.N @ x - sides.beta, len(program.b)
    short = sides.norms * slack
    worst = max(float(np.abs(short[:p]).max(initial=0.0)), -float(short[p:].min(initial=0.0)))
    return State(z, float(x @ (0.5 * (program.P @ x) + program.q)), worst, (active, sides, slack, waiting))


def _multipliers(program: QuadraticProgram, active: ActiveSet, u: Array, size: Array) -> Array:
    """Multipliers of all constraints as they were given, from those of the scaled active ones."""
    _, p, m = program.sizes
    full = np.zeros(p + m)
    rows = list(active.rows)
    full[rows] = np.array(active.signs) * u / size[rows]
    full[:p] *= -1  # n'x >= beta lowers the Lagrangian, A x = b raises it
    return full


def _infeasibility_proof(
    program: QuadraticProgram, active: ActiveSet, k: int, sign: float, r: Array, size: Array
) -> tuple[Array, Array]:
    """Weights under which the constraints contradict each other: one for the new one, -r for the active ones."""
    widened = active._replace(rows=(*active.rows, k), signs=(*active.signs, sign))
    weights = _multipliers(program, widened, np.append(-r, 1.0), size)
    p = len(program.b)
    return weights[:p], np.maximum(weights[p:], 0.0)


@dataclass(frozen=True)
class ProximalPoint(Solver):
    """A singular P made definite around the last point; each step is a program for the dual active set.

    `initial_delta` is the first delta as a share of the largest diagonal entry of P, or of q where P is zero.
    """

    initial_delta: float = 1e-4

    accepts = (QuadraticProgram,)

    def start(self, objective: QuadraticProgram, x0: Array) -> State:
        size = float(objective.P.diagonal().max(initial=0.0)) or float(np.abs(objective.q).max()) or 1.0
        return State(x0, objective.value(x0), objective.violation(x0), (self.initial_delta * size, MIN_DELTA * size))

    def step(self, objective: QuadraticProgram, state: State) -> State:
        x, (delta, least) = objective.split(state.x)[0], state.memory
        d, p, m = objective.sizes
        inner = replace(objective, P=objective.P + delta * np.eye(d), q=objective.q - delta * x)
        found = minimise(inner, state.x, DualActiveSet(), tol=1e-12 * inner.scale, max_iter=20 * (d + p + m) + 100)
        move = objective.split(found.x)[0] - x
        if _falls_without_end(objective, move):
            raise UnboundedError(move / np.linalg.norm(move))
        value, violation = objective.value(found.x), objective.violation(found.x)
        falls = value < state.value - VALUE_ROUNDING * max(1.0, abs(value))
        if delta == least and not violation < state.violation and not falls:
            raise NoDescentError
        return State(found.x, value, violation, (max(DELTA_SHRINK * delta, least), least))


def _falls_without_end(program: QuadraticProgram, move: Array) -> bool:
    """Is the function linear and falling along `move`, and no constraint ever reached?"""
    size = float(np.linalg.norm(move))
    if size == 0:
        return False
    move = move / size
    flat = float(np.abs(program.P @ move).max()) <= UNBOUNDED_RESIDUAL * max(1.0, float(np.abs(program.P).max()))
    free = bool(
        (np.abs(program.A @ move) <= UNBOUNDED_RESIDUAL).all() and (program.G @ move <= UNBOUNDED_RESIDUAL).all()
    )
    return flat and free and float(program.q @ move) < -UNBOUNDED_RESIDUAL * max(1.0, float(np.abs(program.q).max()))


def _refuse_saddle(P: Array) -> bool:
    """Is P singular? It must not have a negative eigenvalue."""
    try:
        factor = cholesky(P, lower=True)
        if lapack.dpocon(factor, np.abs(P).sum(axis=0).max(), uplo="L")[0] > SINGULAR_RCOND:
            return False
    except LinAlgError:
        pass
    values = eigen(P).values
    if values[-1] < -1e-9 * max(float(np.abs(values).max()), np.finfo(np.float64).tiny):
        raise ValueError(
            f"P has the negative eigenvalue {values[-1]:.6g}: the function is not convex, and this method finds the "
            "minimum of convex ones only. Look for local minima with "
            "fivefold.optim.constrained.constrained_problem.minimise_constrained"
        )
    return True


def _rows(name: str, M: ArrayLike | None, right: str, v: ArrayLike | None, d: int) -> tuple[Array, Array]:
    if M is None and v is None:
        return np.zeros((0, d)), np.zeros(0)
    if M is None or v is None:
        raise ValueError(f"{name} and {right} belong together: give both or neither")
    M = np.atleast_2d(np.asarray(M, dtype=np.float64))
    if M.shape[1] != d:
        raise ValueError(f"{name} must have one column for each of the {d} unknowns; got shape {M.shape}")
    return M, _vector(right, v, len(M))


def _vector(name: str, v: ArrayLike, size: int) -> Array:
    v = np.atleast_1d(np.asarray(v, dtype=np.float64))
    if v.shape != (size,) or not np.isfinite(v).all():
        raise ValueError(f"{name} must hold {size} finite numbers; got shape {v.shape}")
    return v


def _or(value: ArrayLike | None, default: float) -> ArrayLike:
    return default if value is None else value
