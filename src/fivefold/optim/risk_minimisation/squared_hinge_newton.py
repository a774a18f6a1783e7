"""The squared hinge of a dense table in one compiled pass.

Rows beyond their margin add nothing to the gradient or the Hessian, so both visit only the others:

    g = -2 sum over m_i < 1 of s_i (1 - m_i) y_i z_i      H = 2 sum over m_i < 1 of s_i z_i z_i'      m_i = y_i z_i'x

The Hessian is constant between two points with the same rows inside the margin, so Newton's method ends after finitely
many steps (Mangasarian, 2002).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fivefold.core.parallel import BLOCK_ROWS, map_parts
from fivefold.core.types import Array
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.minimise import NoDescentError, Solver, State
from fivefold.optim.risk_minimisation.squared_hinge_loops import newton_step, squared_hinge_pass


@dataclass(frozen=True)
class SquaredHingeRisk(EmpiricalRisk):
    """The risk of a SquaredHingeLoss on a dense design without centre."""

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        w, b = self.design.split(x)
        w, X, d = np.ascontiguousarray(w), self.design.X, self.design.X.shape[1]

        def part(lo: int, hi: int) -> tuple[float, Array]:
            g = np.zeros(d + 1)
            return squared_hinge_pass(X[lo:hi], self.y[lo:hi], self.s[lo:hi], w, float(b), g), g

        parts, ridge = map_parts(part, len(X)), self.ridge * x
        g = sum((g for _, g in parts), np.zeros(d + 1))[: self.design.size]
        return sum(total for total, _ in parts) + 0.5 * float(x @ ridge), g + ridge

    def hessian(self, x: Array) -> Array:
        X, size, eta = self.design.X, self.design.size, self.design.predictor(x)
        near = self.y * eta < 1

        def part(lo: int, hi: int) -> Array:
            H = np.zeros((size, size))
            for a in range(lo, hi, BLOCK_ROWS):
                rows = a + np.flatnonzero(near[a : min(a + BLOCK_ROWS, hi)])
                Z = np.empty((len(rows), size))
                Z[:, : X.shape[1]] = X[rows]
                Z[:, X.shape[1] :] = 1.0
                H += (Z * (2 * self.s[rows])[:, None]).T @ Z
            return H

        H = sum(map_parts(part, len(X)), np.zeros((size, size)))
        H[np.diag_indices_from(H)] += self.ridge
        return H


@dataclass(frozen=True)
class SquaredHingeNewton(Solver):
    """Newton's method for a SquaredHingeRisk on a small table, each step one compiled call."""

    accepts = (SquaredHingeRisk,)

    def start(self, objective: SquaredHingeRisk, x0: Array) -> State:
        value, g = objective.value_and_gradient(x0)
        return State(x0, value, float(np.abs(g).max()), g)

    def step(self, objective: SquaredHingeRisk, state: State) -> State:
        ridge = objective.ridge + np.zeros(len(state.x))
        rows = objective.design.X, objective.y, objective.s
        x, g, value = newton_step(*rows, ridge, state.x, state.memory, state.value)
        if value == np.inf:
            raise NoDescentError
        return State(x, value, float(np.abs(g).max()), g)
