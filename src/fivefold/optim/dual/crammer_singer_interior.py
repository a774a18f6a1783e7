"""The interior point method for the machine of Crammer and Singer: few steps, each a weighted Gram matrix.

With multipliers l_ik = s_i 1[k = y_i] - a_ik >= 0 that sum to s_i over a row, a loss xi_i and slacks
t_ik = xi_i - 1[k != y_i] - w_k'z_i >= 0, the minimum is where l t = mu for mu falling to zero. With D = l / t, P_i the
shares of D_i in its sum and c = (aim - l t) / t, Newton's step is found from a system of the size of W alone:

    (R + sum of |D_i| (diag(P_i) - P_i P_i') x z_i z_i') dW = Z'(P sum of c - c)        dl = c - D (dxi - dW z)

the same Gram matrix as that of multinomial logistic regression. The equations of sums and slacks hold exactly from the
start.
Each step is predicted with mu = 0 first, which says how far mu can fall (Mehrotra, 1992).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fivefold.core.types import Array
from fivefold.optim.dual.crammer_singer import CrammerSingerDual
from fivefold.optim.dual.interior_point import STEP_TO_BOUNDARY, longest_step, ridge_solver
from fivefold.optim.minimise import NoDescentError, Solver, State


class ClassIterate(NamedTuple):
    """Positive multipliers and slacks, and the coefficients of the multipliers."""

    multipliers: Array  # (K, n)
    slacks: Array  # (K, n)
    W: Array  # (K, size)


@dataclass(frozen=True)
class CrammerSingerInterior(Solver):
    """For a design with few columns."""

    accepts = (CrammerSingerDual,)

    def start(self, objective: CrammerSingerDual, x0: Array) -> State:
        multipliers = np.tile(objective.s / objective.classes, (objective.classes, 1))
        W = objective.primal(_signed(objective, multipliers))
        eta = _margin_scores(objective, W)
        return _state(objective, ClassIterate(multipliers, eta.max(axis=0) + 1.0 - eta, W))

    def step(self, objective: CrammerSingerDual, state: State) -> State:
        at: ClassIterate = state.memory
        design, shape = objective.design, at.W.shape
        D = at.multipliers / at.slacks
        total = D.sum(axis=0)
        P = D / total
        G = design.softmax_gram(P, total)
        solve = ridge_solver(G, np.tile(objective.ridge, objective.classes))
        left = objective.ridge * (objective.primal(_signed(objective, at.multipliers)) - at.W)

        def move(aim: float | Array) -> tuple[Array, Array, Array]:
            c = aim / at.slacks - at.multipliers
            slopes = P * c.sum(axis=0) - c
            dW = solve((design.transpose(slopes) + left).ravel()).reshape(shape)
            deta = design.predictor(dW)
            dt = (c.sum(axis=0) + (D * deta).sum(axis=0)) / total - deta
            return c - D * dt, dt, dW

        dl, dt, _ = move(0.0)
        mu = float((at.multipliers * at.slacks).mean())
        far = min(1.0, longest_step((at.multipliers, dl), (at.slacks, dt)))
        guess = float(((at.multipliers + far * dl) * (at.slacks + far * dt)).mean())
        dl, dt, dW = move(mu * (guess / mu) ** 3 - dl * dt)
        step = min(1.0, STEP_TO_BOUNDARY * longest_step((at.multipliers, dl), (at.slacks, dt)))
        if not step > 1e-12:
            raise NoDescentError
        return _state(objective, ClassIterate(at.multipliers + step * dl, at.slacks + step * dt, at.W + step * dW))


def _state(dual: CrammerSingerDual, at: ClassIterate) -> State:
    a = _signed(dual, at.multipliers)
    value = dual.value_at(a, at.W)
    dual.remember_primal(a, at.W)
    return State(a, value, value + dual.primal_value(at.W), at)


def _signed(dual: CrammerSingerDual, multipliers: Array) -> Array:
    """a of the multipliers, row by row."""
    a = -multipliers.T
    a[np.arange(len(dual.y)), dual.y] += dual.s
    return a.ravel()


def _margin_scores(dual: CrammerSingerDual, W: Array) -> Array:
    """eta, plus one for the classes other than the row's own, (K, n)."""
    eta = dual.design.predictor(W) + 1.0
    eta[dual.y, np.arange(len(dual.y))] -= 1.0
    return eta
