"""Newton's method: each step goes to the minimum of the quadratic model of f.

    d = -H^-1 g,  x <- x + t d          t = 1 solves a quadratic in one step; t < 1 is damped Newton

Where H is not positive definite d may go uphill; `modify` replaces H by H + tau D, D the absolute diagonal of H and tau
the first of a geometric ladder that suffices. As tau grows the step becomes a short one down the scaled gradient. A
trust region bounds the length of the step instead: min g'd + d'Hd / 2 over |d| <= radius, by conjugate gradients that
stop at the border or where the curvature turns negative (Steihaug, 1983), so only products with H are needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from fivefold.core.blas_threads import one_blas_thread
from fivefold.core.console.user_warnings import warn
from fivefold.core.types import Array
from fivefold.optim.minimise import NoDescentError, Solver, State
from fivefold.optim.objective import TwiceSmoothObjective
from fivefold.optim.smooth.line_search import Armijo, LineSearch, Point, point_state, within_rounding

SHIFT_LADDER = 1e-10, 10.0  # the first tau and the factor from one tau to the next
RADIUS_SHRINK, RADIUS_GROW = 0.25, 2.0  # factors of the trust radius after a bad and after a very good step
BAD_FIT, GOOD_FIT = 0.1, 0.75  # bounds of a bad and a very good step: actual over predicted decrease


@dataclass(frozen=True)
class Newton(Solver):
    """`search` starts from a trial of one; FixedStep(1.0) is the pure method, FixedStep(a) the damped one."""

    search: LineSearch = field(default=Armijo())
    modify: bool = True

    accepts = (TwiceSmoothObjective,)

    def start(self, objective: TwiceSmoothObjective, x0: Array) -> State:
        return point_state(Point.at(objective, x0), 0)

    def step(self, objective: TwiceSmoothObjective, state: State) -> State:
        here, iteration = state.memory
        H = objective.hessian(here.x)
        direction = -(inverse_solver(H)(here.gradient) if self.modify else _plain(H, here.gradient, iteration))
        _, there = self.search.find_step(objective, here, direction, 1.0, iteration)
        return point_state(there, iteration + 1)


@dataclass(frozen=True)
class TrustRegion(Solver):
    """Newton's step within a radius that grows where the quadratic model fits f and shrinks where it does not."""

    radius: float = 1.0
    largest: float = 1e6

    accepts = (TwiceSmoothObjective,)

    def start(self, objective: TwiceSmoothObjective, x0: Array) -> State:
        return point_state(Point.at(objective, x0), self.radius)

    def step(self, objective: TwiceSmoothObjective, state: State) -> State:
        here, radius = state.memory
        while radius > 1e-15 * (1 + float(np.linalg.norm(here.x))):
            d, fall = _within(objective, here, radius)
            there = Point.at(objective, here.x + d)
            kept = (here.value - there.value) / fall if fall > 0 else -np.inf
            edge = float(np.linalg.norm(d)) > 0.99 * radius
            if within_rounding(here, there):  # then the ratio is rounding too
                kept = max(kept, BAD_FIT)
            if kept >= BAD_FIT:
                radius = min(radius * RADIUS_GROW, self.largest) if edge and kept > GOOD_FIT else radius
                return point_state(there, radius)
            radius = RADIUS_SHRINK * min(radius, float(np.linalg.norm(d)))
        raise NoDescentError


def inverse_solver(H: Array, jitter: float = 0.0) -> Callable[[Array], Array]:
    """b -> (H + tau D)^-1 b by a Cholesky factor; tau is the first of `jitter` and the ladder that has one."""
    size = np.abs(H.diagonal())
    scale = 1 / np.sqrt(np.where(size > 0, size, 1.0))
    C = H * scale * scale[:, None]
    with one_blas_thread():
        while True:
            try:
                factor = cho_factor(C + jitter * np.eye(len(C)), check_finite=False)
                return lambda b: scale * cho_solve(factor, scale * b, check_finite=False)
            except LinAlgError:
                jitter = max(jitter * SHIFT_LADDER[1], SHIFT_LADDER[0])
                if not jitter < 1e100:
                    raise NoDescentError from None


def _plain(H: Array, g: Array, iteration: int) -> Array:
    """H^-1 g, with a warning where H is not positive definite."""
    try:
        return cho_solve(cho_factor(H), g)
    except LinAlgError:
        least = np.linalg.eigvalsh(H)[0]
        warn(
            f"Newton, step {iteration + 1}: the Hessian is not positive definite (least eigenvalue {least:.3g}), so "
            "the step may go uphill. Use modify=True",
            RuntimeWarning,
        )
        return np.linalg.solve(H, g)


def _within(objective: TwiceSmoothObjective, here: Point, radius: float) -> tuple[Array, float]:
    """A step no longer than the radius, and the decrease of the value it predicts."""
    d, r = np.zeros_like(here.x), here.gradient
    p, length = -r, float(np.linalg.norm(r))
    Hd = np.zeros_like(d)
    goal = min(0.1, length**0.5) * length
    for _ in range(2 * len(d) + 2):
        Hp = objective.hessian_product(here.x, p)
        curvature, square = float(p @ Hp), float(r @ r)
        t = square / curvature if curvature > 0 else np.inf
        if not curvature > 0 or np.linalg.norm(d + t * p) >= radius:
            t = _to_border(d, p, radius)
            d, Hd = d + t * p, Hd + t * Hp
            break
        d, Hd, r = d + t * p, Hd + t * Hp, r + t * Hp
        if np.linalg.norm(r) <= goal:
            break
        p = -r + (float(r @ r) / square) * p
    return d, -float(here.gradient @ d + 0.5 * d @ Hd)


def _to_border(d: Array, p: Array, radius: float) -> float:
    """t >= 0 with |d + t p| = radius."""
    a, b, c = float(p @ p), float(d @ p), float(d @ d) - radius**2
    return (-b + float(np.sqrt(max(b * b - a * c, 0.0)))) / a
