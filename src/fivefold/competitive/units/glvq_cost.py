"""The cost of generalised learning vector quantisation, and its gradient.

    E = sum_i w_i f(mu_i),    mu = (d+ - d-) / (d+ + d-),    d = (x - m)' W'W (x - m)

d+ is the squared distance to the nearest unit of the row's class, d- that to the nearest of another class, so mu is
negative exactly for rows that are classified right. f(mu) = 1 / (1 + exp(-s mu)), or mu itself for s = 0.
"""

from __future__ import annotations

import numpy as np

from fivefold.core.numerics.products import cross_product, product
from fivefold.core.types import Array, Codes, Doubles, Mask, Weights
from fivefold.optim.objective import SmoothObjective
from fivefold.spatial.distances import squared_distances

TINY = 1e-150  # least d+ + d-, where a row is on units of two classes: its square is still a number


class RelativeDistances(SmoothObjective):
    """E as a function of the units (P, d) and, if it is learned, of the map W (m, d) behind them, as one vector."""

    def __init__(self, X: Doubles, y: Codes, w: Weights, owners: Codes, slope: float, map_rows: int = 0) -> None:
        self.X, self.w, self.owners, self.slope, self.map_rows = X, w / w.sum(), owners, slope, map_rows
        self.own: Mask = y[:, None] == owners  # (n, P)

    def split(self, x: Array) -> tuple[Array, Array | None]:
        """Units, and the map scaled to a squared norm of one: only its direction matters."""
        d, P = self.X.shape[1], len(self.owners)
        M = x[: P * d].reshape(P, d)
        return M, x[P * d :].reshape(self.map_rows, d) if self.map_rows else None

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        M, W = self.split(x)
        Z, C = (self.X, M) if W is None else (product(self.X, np.ascontiguousarray(W.T)), M @ W.T)
        D, rows = squared_distances(Z, C), np.arange(len(self.X))
        good, bad = np.where(self.own, D, np.inf).argmin(axis=1), np.where(self.own, np.inf, D).argmin(axis=1)
        near, far = D[rows, good], D[rows, bad]
        total = np.maximum(near + far, TINY)
        mu = (near - far) / total
        f, slope = (mu, np.ones_like(mu)) if self.slope == 0 else _sigmoid(mu, self.slope)
        factor = 2 * self.w * slope / (total * total)
        pulls = np.zeros(self.own.shape)  # dE / dD (n, P): two entries per row
        pulls[rows, good] = factor * far
        pulls[rows, bad] = -factor * near
        units = 2 * (pulls.sum(axis=0)[:, None] * M - cross_product(pulls, self.X))  # before the map
        if W is None:
            return float(self.w @ f), units.ravel()
        # dE/dW = 2 W sum of pulls (x - m)(x - m)'
        A, B = cross_product(self.X, pulls.sum(axis=1)[:, None] * self.X), cross_product(pulls, self.X).T @ M
        scatter = A - B - B.T + (M * pulls.sum(axis=0)[:, None]).T @ M
        return float(self.w @ f), np.concatenate([(units @ W.T @ W).ravel(), (2 * W @ scatter).ravel()])


def _sigmoid(mu: Array, s: float) -> tuple[Array, Array]:
    f = 1 / (1 + np.exp(-s * mu))
    return f, s * f * (1 - f)
