"""The squared hinge of a dense table in one compiled pass.

Rows beyond their margin add nothing to the gradient and nothing to the Hessian, so both visit only the others:

    g = -2 sum over m_i < 1 of s_i (1 - m_i) y_i z_i      H = 2 sum over m_i < 1 of s_i z_i z_i'      m_i = y_i z_i'x

The Hessian is constant between two points with the same rows inside the margin, so Newton's method ends after finitely
many steps (Mangasarian, 2002).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fivefold.core.compile import FAST, jit
from fivefold.core.parallel import BLOCK, map_parts
from fivefold.optim.objective import Array
from fivefold.optim.risk import Risk


@dataclass(frozen=True)
class MarginRisk(Risk):
    """The risk of a SquaredHinge on a dense design without centre."""

    def both(self, x: Array) -> tuple[float, Array]:
        w, b = self.design.split(x)
        w, X, d = np.ascontiguousarray(w), self.design.X, self.design.X.shape[1]

        def part(lo: int, hi: int) -> tuple[float, Array]:
            g = np.zeros(d + 1)
            return margin_pass(X[lo:hi], self.y[lo:hi], self.s[lo:hi], w, float(b), g), g

        parts, ridge = map_parts(part, len(X)), self.ridge * x
        g = sum((g for _, g in parts), np.zeros(d + 1))[: self.design.size]
        return sum(total for total, _ in parts) + 0.5 * float(x @ ridge), g + ridge

    def hessian(self, x: Array) -> Array:
        X, size, eta = self.design.X, self.design.size, self.design.predictor(x)
        near = self.y * eta < 1

        def part(lo: int, hi: int) -> Array:
            H = np.zeros((size, size))
            for a in range(lo, hi, BLOCK):
                rows = a + np.flatnonzero(near[a : min(a + BLOCK, hi)])
                Z = np.empty((len(rows), size))
                Z[:, : X.shape[1]] = X[rows]
                Z[:, X.shape[1] :] = 1.0
                H += (Z * (2 * self.s[rows])[:, None]).T @ Z
            return H

        H = sum(map_parts(part, len(X)), np.zeros((size, size)))
        H[np.diag_indices_from(H)] += self.ridge
        return H


@jit(fastmath=FAST, error_model="numpy")
def margin_pass(X, y, s, w, b, g):
    """The sum of s (1 - m)^2 over the rows within their margin; its gradient is added to g."""
    n, d = X.shape
    total, some, pull = 0.0, 0.0, 0.0
    for i in range(n):
        if i % 128 == 0:  # sums of sums: a long sum in one place loses the digits a line search lives on
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
