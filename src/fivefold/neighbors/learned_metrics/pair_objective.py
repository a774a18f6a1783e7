"""Objectives of a linear map that depend on the squared distances of all pairs of mapped rows.

    f(L) = sum over i of t_i(D_i1 .. D_in),    D_ij = |L x_i - L x_j|^2
    gradient = 2 Z' (diag(S 1) - S) X,          S = C + C',  C_ij = df / dD_ij,  Z = X L'

What tells one objective from another is the term of a row and its derivatives C_i; distances, products and threads are
the same for all. Distances and derivatives exist for one block of rows at a time: memory grows with n, not with n^2.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from fivefold.core.numerics.products import product
from fivefold.core.parallel import map_items
from fivefold.core.types import Array, Doubles, Indices
from fivefold.optim.objective import SmoothObjective
from fivefold.spatial.points import squared_norms

BLOCK_NUMBERS = 1 << 16  # distances that a thread holds at a time: with their derivatives they stay in its cache
MAX_PARTS = 16  # parts of the rows, each with a sum (n, k) of its own: enough for 16 threads


class PairObjective(SmoothObjective):
    """A function of L (k, d), as one vector, by the distances between mapped rows."""

    def __init__(self, X: Doubles) -> None:
        self.X = np.ascontiguousarray(X, dtype=np.float64)
        self.X = self.X - self.X.mean(axis=0)  # distances do not change, and lose fewer digits

    @abstractmethod
    def row_terms(self, D: Doubles, rows: Indices, Z: Doubles) -> tuple[float, Doubles]:
        """The sum of the terms of some rows, from distances D (m, n), and its derivatives (m, n); D may be reused."""

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        X = self.X
        n, d = X.shape
        Z = product(X, np.ascontiguousarray(x.reshape(-1, d).T))  # (n, k)
        norms = squared_norms(Z)
        step = max(1, BLOCK_NUMBERS // n)
        parts = max(1, min(MAX_PARTS, n // step))  # by the rows alone: the same sums for any number of threads
        cuts = [n * i // parts for i in range(parts + 1)]

        def part(i: int) -> tuple[float, Doubles]:
            value, S = 0.0, np.zeros_like(Z)
            for a in range(cuts[i], cuts[i + 1], step):
                b = min(a + step, cuts[i + 1])
                D = Z[a:b] @ (-2 * Z.T)
                D += norms
                D += norms[a:b, None]
                np.maximum(D, 0.0, out=D)
                term, C = self.row_terms(D, np.arange(a, b), Z)
                value += term
                S += C.sum(axis=0)[:, None] * Z
                S -= C.T @ Z[a:b]
                S[a:b] += C.sum(axis=1)[:, None] * Z[a:b] - C @ Z
            return value, S

        values, sums = zip(*map_items(part, parts), strict=True)
        return float(sum(values)), 2 * np.ravel(np.sum(sums, axis=0).T @ X)
