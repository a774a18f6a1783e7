"""The objective of large-margin metrics, and the target neighbours that it pulls near.

    (1 - mu) sum_ij t_ij D_ij  +  mu sum_ijl t_ij [1 + D_ij - D_il]_+      i, j of one class, l of another

t_ij counts how often j is among the k nearest rows of the class of i; a row l of another class that comes nearer to i
than a target j and a margin of one pays the difference. In M = L' L the objective is convex.
"""

from __future__ import annotations

import numpy as np

from fivefold.core.types import Codes, Doubles, Indices, Weights
from fivefold.neighbors.learned_metrics.pair_objective import PairObjective
from fivefold.spatial.search import NeighborIndex


class LargeMargin(PairObjective):
    """The objective for rows that stand in the order of their classes; the hinge is a parabola on [0, `curve`]."""

    def __init__(self, X: Doubles, y: Codes, w: Weights, targets: Indices, counts: Doubles, mu: float) -> None:
        super().__init__(X)
        self.y, self.w, self.targets, self.counts, self.mu = y, w, targets, counts, mu
        self.bounds = np.searchsorted(y, np.arange(int(y[-1]) + 2))
        self.curve = 0.0

    def row_terms(self, D: Doubles, rows: Indices, Z: Doubles) -> tuple[float, Doubles]:
        m = np.arange(len(rows))
        D[m, rows] = 0.0
        targets, counts, own = self.targets[rows], self.counts[rows], self.w[rows]
        T = D[m[:, None], targets]  # (m, k + 1)
        reach = np.where(counts > 0, T, 0.0).max(axis=1) + 1.0
        near = D < reach[:, None]
        for c in range(int(self.y[rows[0]]), int(self.y[rows[-1]]) + 1):
            lo, hi = self.bounds[c], self.bounds[c + 1]
            near[max(lo - rows[0], 0) : max(hi - rows[0], 0), lo:hi] = False
        i, other = np.divmod(np.flatnonzero(near), D.shape[1])
        excess = np.maximum(1.0 + T[i] - D[i, other][:, None], 0.0)  # (pairs, k + 1)
        strength = self.mu * (own[i] * self.w[other])[:, None] * counts[i]
        if self.curve > 0:
            slope = strength * np.minimum(excess / self.curve, 1.0)
            loss = strength * np.where(excess < self.curve, excess**2 / (2 * self.curve), excess - self.curve / 2)
        else:
            slope, loss = strength * (excess > 0), strength * excess
        pull = (1 - self.mu) * own[:, None] * counts
        C = D
        C.fill(0.0)
        C[i, other] = -slope.sum(axis=1)
        for j in range(targets.shape[1]):  # targets of a row differ, except where their count is zero
            C[m, targets[:, j]] += pull[:, j] + np.bincount(i, slope[:, j], len(rows))
        return float((pull * T).sum() + loss.sum()), C


def target_neighbors(X: Doubles, y: Codes, w: Weights, k: int) -> tuple[Indices, Doubles]:
    """The rows of its class nearest to each row (n, k + 1), itself first, and how often each counts among k.

    A row of weight w has w - 1 copies of itself before all others, and a neighbour counts as often as its weight says,
    until k are found or the class ends.
    """
    n = len(y)
    rows, counts = np.tile(np.arange(n)[:, None], k + 1), np.zeros((n, k + 1))
    counts[:, 0] = np.clip(w - 1, 0.0, k)
    for c in np.unique(y):
        members = np.flatnonzero(y == c)
        near = min(k, len(members) - 1)
        if near > 0:
            found = members[NeighborIndex(X[members]).query(None, near)[1]]
            rows[members, 1 : near + 1] = found
            counts[members, 1 : near + 1] = w[found]
    room = k - np.cumsum(counts, axis=1) + counts  # what is left before each neighbour
    return rows, np.clip(np.minimum(counts, room), 0.0, None)
