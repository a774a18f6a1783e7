"""The interior point method for the dual of a linear machine: few steps, each a weighted Gram matrix.

Split a = a+ - a- where the loss is insensitive, so that the terms are linear: c'a over low <= a <= high, each a_i with
the sign of its row in Z'a. With multipliers u, v of the bounds and mu falling to zero

    sign z'x - c - u + v = 0        (a - low) u = mu        (high - a) v = mu        R x = Z'(sign a)

and Newton's step is found from a system of the size of x alone, r = Z'(sign a) - R x being the residual of the last
equation:

    t = u / (a - low) + v / (high - a)    (R + Z' diag(1/t) Z) dx = Z'(sign b / t) + r    da = (b - sign z'dx) / t

x is a separate variable: where columns differ in scale by as many digits as a number has, it cannot be computed from a,
as a difference of sums far larger than itself. Each step is predicted with mu = 0 first, which says how far mu can fall
(Mehrotra, 1992). The scale of the columns does not matter to the number of steps.

Ferris & Munson (2002).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from fivefold.core.blas_threads import one_blas_thread
from fivefold.core.types import Array
from fivefold.optim.dual.box_dual import BoxDual
from fivefold.optim.minimise import NoDescentError, Solver, State

STEP_TO_BOUNDARY = 0.995  # share of the way to the nearest bound that a step goes
MIN_SLACK_SHARE = 1e-17  # as a share of the distance between the bounds: a smaller slack is rounding
DIAGONAL_SHARES = 1e-15 * 16.0 ** np.arange(6)  # added to a diagonal of ones until its factor exists


class InteriorIterate(NamedTuple):
    """A point strictly inside the bounds; arrays (1, n), or (2, n) where a was split."""

    a: Array
    u: Array
    v: Array
    x: Array  # (size,)
    eta: Array  # (n,)


@dataclass(frozen=True)
class InteriorPoint(Solver):
    """For a HingeLoss or InsensitiveLoss and a design with few columns."""

    accepts = (BoxDual,)

    def start(self, objective: BoxDual, x0: Array) -> State:
        _, c, low, high = _split_terms(objective)
        a = low + 0.5 * (high - low) * np.ones_like(c)
        x, eta = np.zeros(objective.risk.design.size), np.zeros(c.shape[1])
        margin = np.abs(c).mean() or 1.0
        return _state(objective, InteriorIterate(a, np.maximum(-c, 0) + margin, np.maximum(c, 0) + margin, x, eta))

    def step(self, objective: BoxDual, state: State) -> State:
        at: InteriorIterate = state.memory
        sign, c, low, high = _split_terms(objective)
        design, ridge = objective.risk.design, 1.0 / objective.inverse_ridge
        least = MIN_SLACK_SHARE * (high - low)  # where rounding left no slack
        below, above = np.maximum(at.a - low, least), np.maximum(high - at.a, least)
        t = at.u / below + at.v / above
        solve = ridge_solver(design.gram((1.0 / t).sum(axis=0)), ridge)
        slack = c - sign * at.eta  # minus the gradient
        left = design.transpose((sign * at.a).sum(axis=0)) - ridge * at.x

        def move(up: float | Array, down: float | Array) -> tuple[Array, Array, Array, Array, Array]:
            b = slack + up / below - down / above
            dx = solve(design.transpose((sign * b / t).sum(axis=0)) + left)
            deta = design.predictor(dx)
            da = (b - sign * deta) / t
            return da, (up - at.u * da) / below - at.u, (down + at.v * da) / above - at.v, dx, deta

        da, du, dv, _, _ = move(0.0, 0.0)
        mu = _complementarity(below, at.u, above, at.v)
        far = min(1.0, longest_step((below, da), (above, -da), (at.u, du), (at.v, dv)))
        guess = _complementarity(below + far * da, at.u + far * du, above - far * da, at.v + far * dv)
        aim = mu * (guess / mu) ** 3
        da, du, dv, dx, deta = move(aim - da * du, aim + da * dv)
        step = STEP_TO_BOUNDARY * min(1.0, longest_step((below, da), (above, -da), (at.u, du), (at.v, dv)))
        if not step > 1e-12:
            raise NoDescentError
        new = InteriorIterate(
            at.a + step * da, at.u + step * du, at.v + step * dv, at.x + step * dx, at.eta + step * deta
        )
        return _state(objective, new)


def _state(dual: BoxDual, at: InteriorIterate) -> State:
    a = (_split_terms(dual)[0] * at.a).sum(axis=0)
    value = dual.value(a)
    dual.remember_primal(a, at.x)
    return State(a, value, value + dual.primal_value(at.x, at.eta), at)


def _split_terms(dual: BoxDual) -> tuple[Array, Array, Array, Array]:
    """sign, c, low and high of the split multipliers, all (1, n) or (2, n)."""
    y, terms = dual.risk.y, dual.terms
    if not terms.tube_width:
        return np.ones((1, len(y))), y[None], terms.low[None], terms.high[None]
    sign = np.array([[1.0], [-1.0]])
    return sign, sign * y - terms.tube_width, np.zeros((2, 1)), np.stack([terms.high, -terms.low])


def ridge_solver(G: Array, ridge: Array) -> Callable[[Array], Array]:
    """b -> (G + diag(ridge))^-1 b.

    Near the minimum a few rows weigh far more than others, and G may be singular to the last digit where these rows say
    nothing; a larger diagonal then shortens the step in those directions, which costs steps but no exactness.
    """
    G[np.diag_indices_from(G)] += ridge
    scale = 1 / np.sqrt(G.diagonal())
    G = G * scale * scale[:, None]
    for more in DIAGONAL_SHARES:
        with suppress(LinAlgError), one_blas_thread():
            factor = cho_factor(G + more * np.eye(len(G)), check_finite=False)
            return lambda b: scale * cho_solve(factor, scale * b, check_finite=False)
    raise NoDescentError


def _complementarity(below: Array, u: Array, above: Array, v: Array) -> float:
    """The mean product of slack and multiplier."""
    return float((below * u).sum() + (above * v).sum()) / (2 * u.size)


def longest_step(*pairs: tuple[Array, Array]) -> float:
    """The longest step that keeps positive vectors positive, each given with its change; infinite if none shrinks."""
    rate = max(float((-change / vector).max(initial=0.0)) for vector, change in pairs)
    return 1.0 / rate if rate > 0 else np.inf
