"""Every stationary point of a small problem with constraints, by Lagrange multipliers and squared slacks.

    L(x, lambda, mu, eps) = J(x) + lambda'f(x) + sum of mu_i (g_i(x) - eps_i^2)

All partial derivatives are set to zero. That by eps_i reads mu_i eps_i = 0: either the multiplier is zero and the
inequality is left alone, or the slack is zero and it is active, g_i = 0. The 2^m branches are taken one after the
other; each is a square system in x, lambda and the multipliers of its active inequalities, whose roots are sought by
Newton's method from many starts, in complex numbers where the functions allow it. A root is discarded if it is complex,
or if some eps_i^2 = g_i(x) is negative, which makes the slack imaginary. What is left is classified by the Hessian of
the Lagrangian on the tangent space of the active constraints, and by the signs of the multipliers.

Signs are those of fivefold.optim.constrained.constrained_problem: where J is minimised mu_i stands for -mu_i above, so
that multipliers of active inequalities are positive at a solution for either sense.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
from scipy.linalg import null_space

from fivefold.core.numerics.eigenpairs import definiteness
from fivefold.core.types import Array
from fivefold.optim.constrained.constrained_problem import ConstrainedProblem
from fivefold.optim.objective import TwiceSmoothObjective

StationaryKind = Literal["minimum", "maximum", "saddle", "undecided"]

NEWTON_STARTS = 40  # random starts of Newton's method per branch
MAX_NEWTON_STEPS = 100  # per start
ROOT_TOL = 1e-10  # norm of the system at a root, as a share of the largest unknown, or of one
SAME_ROOT_DISTANCE = 1e-6  # roots closer than this are the same
MAX_INEQUALITIES = 12  # each further one doubles the work


@dataclass(frozen=True)
class AnalyticFunction(TwiceSmoothObjective):
    """f with gradient and Hessian, written in operations that take complex numbers as well: hence `Any`."""

    f: Callable[[Any], Any]
    slope: Callable[[Any], Any]
    curvature: Callable[[Any], Any]

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        return self.f(x), np.asarray(self.slope(x))

    def hessian(self, x: Array) -> Array:
        return np.asarray(self.curvature(x))


@dataclass(frozen=True)
class StationaryPoint:
    """A root of one branch. Of a discarded one x or the slack is complex, and `kind` is None."""

    x: Array
    value: complex  # a float where the root is real
    equality: Array
    inequality: Array
    slack: Array  # eps^2 = g(x)
    active: tuple[int, ...]  # inequalities with eps = 0
    kind: StationaryKind | None


@dataclass(frozen=True)
class StationaryPoints:
    """The real feasible roots, best first for the sense of the problem, and those that were discarded."""

    points: tuple[StationaryPoint, ...]
    discarded: tuple[StationaryPoint, ...]

    @property
    def best(self) -> StationaryPoint:
        """The minimum, or maximum, with the best value."""
        if not self.points:
            raise ValueError("no real stationary point satisfies the constraints; try more starts, or a larger spread")
        return self.points[0]


def stationary_points(
    problem: ConstrainedProblem, rng: np.random.RandomState, *, starts: int = NEWTON_STARTS, spread: float = 2.0
) -> StationaryPoints:
    """Roots of every branch from `starts` random points, normal with deviation `spread`.

    A root that no start leads to is missed: more starts make that less likely. Functions must be a
    `TwiceSmoothObjective`; with `AnalyticFunction` complex roots are found too, and listed among the discarded.
    """
    m = len(problem.inequalities)
    if m > MAX_INEQUALITIES:
        raise ValueError(
            f"{m} inequalities make {2**m} branches; at most {MAX_INEQUALITIES} inequalities can be branched on"
        )
    functions = (problem.objective, *problem.equalities, *problem.inequalities)
    complex_ = all(isinstance(f, AnalyticFunction) for f in functions)
    good: list[StationaryPoint] = []
    bad: list[StationaryPoint] = []
    for size in range(m + 1):
        for active in combinations(range(m), size):
            for x, multipliers in _roots(problem, active, rng, starts, spread, complex_):
                point = _classified_root(problem, active, x, multipliers)
                (good if point.kind else bad).append(point)
    wanted = {"min": "minimum", "max": "maximum"}[problem.sense]
    good.sort(key=lambda p: (p.kind != wanted, problem.sign * p.value))
    return StationaryPoints(tuple(good), tuple(bad))


def _roots(
    problem: ConstrainedProblem,
    active: tuple[int, ...],
    rng: np.random.RandomState,
    starts: int,
    spread: float,
    complex_: bool,
) -> Iterator[tuple[Array, Array]]:
    """Distinct roots (x, multipliers of the equalities and of the active inequalities) of one branch."""
    d, p, _ = problem.sizes
    found: list[Array] = []
    for _ in range(starts):
        v = spread * rng.standard_normal(d + p + len(active))
        if complex_:
            v = v + 1j * spread * rng.standard_normal(len(v))
        root = _newton(problem, active, v)
        if root is not None and all(np.abs(root - other).max() > SAME_ROOT_DISTANCE for other in found):
            found.append(root)
            yield root[:d], root[d:]


def _newton(problem: ConstrainedProblem, active: tuple[int, ...], v: Array) -> Array | None:
    F, K = _system(problem, active, v)
    for _ in range(MAX_NEWTON_STEPS):
        size = float(np.linalg.norm(F))
        if not np.isfinite(size):
            return None
        if size <= ROOT_TOL * max(1.0, float(np.abs(v).max())):
            return v
        step = np.linalg.lstsq(K, F, rcond=None)[0]
        for halving in range(12):
            new = v - 0.5**halving * step
            F_new, K_new = _system(problem, active, new)
            if np.linalg.norm(F_new) < size:
                break
        else:
            return None
        v, F, K = new, F_new, K_new
    return None


def _system(problem: ConstrainedProblem, active: tuple[int, ...], v: Array) -> tuple[Array, Array]:
    """grad_x L, f and the active g, and their derivatives in x and the multipliers."""
    d, p, m = problem.sizes
    x, equality, some = v[:d], v[d : d + p], v[d + p :]
    point, chosen = problem.at(x), list(active)
    inequality = np.zeros(m, dtype=v.dtype)
    inequality[chosen] = some
    N = np.vstack([point.equality_jacobian, -point.inequality_jacobian[chosen]])
    slope = point.gradient + np.append(equality, some) @ N
    F = np.concatenate([slope, point.equalities, -point.inequalities[chosen]])
    zero = np.zeros((len(N), len(N)))
    return F, np.block([[problem.curvature(x, equality, inequality), N.T], [N, zero]])


def _classified_root(
    problem: ConstrainedProblem, active: tuple[int, ...], x: Array, multipliers: Array
) -> StationaryPoint:
    """Real and feasible, with its kind; or complex, without."""
    _, p, m = problem.sizes
    inequality = np.zeros(m, dtype=x.dtype)
    inequality[list(active)] = multipliers[p:]
    slack = problem.at(x).inequalities
    slack[list(active)] = 0.0
    real = max(np.abs(v.imag).max(initial=0.0) for v in (x, multipliers)) <= SAME_ROOT_DISTANCE
    sign = problem.sign
    if not real or (slack.real < -SAME_ROOT_DISTANCE).any():
        return StationaryPoint(x, sign * problem.at(x).value, sign * multipliers[:p], inequality, slack, active, None)
    x, multipliers, inequality, slack = x.real, multipliers.real, inequality.real, slack.real
    point = problem.at(x)
    kind = _kind(
        problem, active, x, multipliers[:p], inequality, np.vstack([point.equality_jacobian, point.inequality_jacobian])
    )
    return StationaryPoint(
        x, float(np.real(sign * point.value)), sign * multipliers[:p], inequality, slack, active, kind
    )


def _kind(
    problem: ConstrainedProblem, active: tuple[int, ...], x: Array, equality: Array, inequality: Array, slopes: Array
) -> StationaryKind:
    """By the curvature of the Lagrangian within the active constraints, and by the signs of their multipliers."""
    p, mu = len(equality), inequality[list(active)]
    N = slopes[[*range(p), *(p + i for i in active)]]
    T = null_space(N) if len(N) else np.eye(len(x))
    low = high = 0.0  # where the tangent space is a single point the multipliers decide
    if T.shape[1]:
        values = definiteness(T.T @ np.real(problem.curvature(x, equality, inequality)) @ T).values
        low, high = float(values[-1]), float(values[0])
        if min(abs(low), abs(high)) <= SAME_ROOT_DISTANCE * max(1.0, abs(low), abs(high)):
            return "undecided"
    if T.shape[1] and low < 0 < high:
        return "saddle"
    if (np.abs(mu) <= SAME_ROOT_DISTANCE).any():
        return "undecided"
    names: tuple[StationaryKind, StationaryKind] = (
        ("minimum", "maximum") if problem.sense == "min" else ("maximum", "minimum")
    )
    if low >= 0 and (mu > 0).all():
        return names[0]
    return names[1] if high <= 0 and (mu < 0).all() else "saddle"
