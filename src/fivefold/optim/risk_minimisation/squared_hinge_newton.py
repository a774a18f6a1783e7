"""The squared hinge of a dense table in one compiled pass.

Rows beyond their margin add nothing to the gradient or the Hessian, so both visit only the others:

    g = -2 sum over m_i < 1 of s_i (1 - m_i) y_i z_i      H = 2 sum over m_i < 1 of s_i z_i z_i'      m_i = y_i z_i'x

The Hessian is constant between two points with the same rows inside the margin, so Newton's method ends after finitely
many steps (Mangasarian, 2002).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fivefold.core.compilation.jit import FAST, jit
from fivefold.core.parallel import BLOCK_ROWS, map_parts
from fivefold.core.types import Array
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.minimise import NoDescentError, Solver, State
from fivefold.optim.smooth.line_search import MAX_TRIALS, SUFFICIENT_SHARE, VALUE_ROUNDING


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


@jit(error_model="numpy")
def newton_step(X, y, s, ridge, x, g, value):
    """The next point, its gradient and its value; the value is infinite where no step lowers it."""
    (n, d), m = X.shape, len(x)
    H = np.zeros((m, m))  # only its lower triangle is filled
    row = np.ones(m)
    for i in range(n):
        eta = x[d] if m > d else 0.0
        for j in range(d):
            row[j] = X[i, j]
            eta += row[j] * x[j]
        if y[i] * eta < 1.0:
            for j in range(m):
                a = 2.0 * s[i] * row[j]
                for k in range(j + 1):
                    H[j, k] += a * row[k]
    p = g.copy()
    for j in range(m):  # H = LL' in place, and the first half of H^-1 g
        H[j, j] += ridge[j]
        for k in range(j):
            H[j, j] -= H[j, k] * H[j, k]
            p[j] -= H[j, k] * p[k]
        if H[j, j] <= 0.0:
            return x, g, np.inf
        H[j, j] = np.sqrt(H[j, j])
        p[j] /= H[j, j]
        for i in range(j + 1, m):
            for k in range(j):
                H[i, j] -= H[i, k] * H[j, k]
            H[i, j] /= H[j, j]
    for j in range(m - 1, -1, -1):
        for k in range(j + 1, m):
            p[j] -= H[k, j] * p[k]
        p[j] /= H[j, j]
    fall, t = np.dot(g, p), 1.0
    steep = np.abs(g).max()
    for _ in range(MAX_TRIALS):
        new, slope = x - t * p, np.zeros(d + 1)
        total = squared_hinge_pass(X, y, s, new[:d], new[d] if m > d else 0.0, slope)
        for j in range(m):
            total += 0.5 * ridge[j] * new[j] * new[j]
            slope[j] += ridge[j] * new[j]
        # near the minimum values are lost in rounding before slopes are
        if total <= value - SUFFICIENT_SHARE * t * fall or (
            total <= value + VALUE_ROUNDING * abs(value) and np.abs(slope[:m]).max() < steep
        ):
            return new, slope[:m], total
        t *= 0.5
    return x, g, np.inf


@jit(fastmath=FAST, error_model="numpy")
def squared_hinge_pass(X, y, s, w, b, g):
    """The sum of s (1 - m)^2 over the rows within their margin; its gradient is added to g."""
    n, d = X.shape
    total, some, pull = 0.0, 0.0, 0.0
    for i in range(n):
        if i % 128 == 0:  # sums of partial sums: one long sum loses the digits that a line search needs
            total += some
            some = 0.0
        z, x = b, X[i]
        for j in range(d):
            z += x[j] * w[j]
        short = 1.0 - y[i] * z
        if short > 0.0:
            some += s[i] * short * short
            r = -2.0 * s[i] * y[i] * short
            pull += r
            for j in range(d):
                g[j] += r * x[j]
    g[d] += pull
    return total + some
