"""K medoids from a table of distances: rows of the table that lie near all the others.

    min over medoids m_1..m_K of  sum_i w_i min_k d(x_i, m_k)

FasterPAM: for a candidate j, one pass over the points gives the change of the sum for the swap of j with every medoid,
from the distances of each point to its nearest and its second nearest medoid; the best swap is made at once if it
lowers the sum. It ends where no single swap does, in the same kind of optimum as PAM, at 1/K of the time.
Kaufman & Rousseeuw (1990); Schubert & Rousseeuw (2021).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fivefold.core.types import Codes, Doubles, Indices, Matrix, Rng, Vector, Weights
from fivefold.spatial.centres.medoid_loops import best_addition, swap_pass, two_nearest
from fivefold.spatial.row_sampling import draw_rows

Monitor = Callable[[Indices, float], bool]


@dataclass(frozen=True)
class Medoids:
    """K medoids, how near the points are to them, and how they were found."""

    rows: Indices  # (K,)
    labels: Codes  # (n,) int32
    cost: float  # sum of w d
    n_iter: int  # passes over the candidates
    n_swaps: int
    reason: Literal["converged", "max_iter", "stopped", "interrupted"]


def nearest_medoids(D: Matrix, medoids: Indices | None = None) -> tuple[Codes, Doubles, Doubles]:
    """The nearest medoid of each point, the distance to it, and to the second nearest; D is (candidates, n)."""
    near, first, second = np.empty(D.shape[1], np.int32), np.empty(D.shape[1]), np.empty(D.shape[1])
    two_nearest(D, np.arange(len(D)) if medoids is None else medoids, near, first, second)
    return near, first, second


def drawn_medoids(D: Matrix, w: Weights, K: int, order: Indices, rng: Rng) -> Indices:
    """K rows drawn by weight along `order`; rows at distance zero repeat only if there are not enough others."""
    mass, chosen = np.array(w, dtype=np.float64), np.empty(0, np.int64)
    while len(chosen) < K:
        if not mass.any():
            mass = np.array(w, dtype=np.float64)
            mass[chosen] = 0.0
        row = draw_rows(order, mass, rng.uniform(size=1))
        chosen = np.append(chosen, row)
        mass[row], mass[D[row[0]] == 0] = 0.0, 0.0
    return chosen


def built_medoids(D: Matrix, w: Weights, K: int, order: Indices) -> Indices:
    """The row with the smallest sum of distances, and K - 1 more that each lower the sum most: PAM's BUILD."""
    farthest = np.full(D.shape[1], float(D.max()) + 1.0)
    chosen = [best_addition(D, w, order, farthest)]
    while len(chosen) < K:
        _, first, _ = nearest_medoids(D, np.array(chosen))
        left = order[~np.isin(order, chosen)]
        chosen.append(best_addition(D, w, left, first))
    return np.array(chosen)


def swap_medoids(
    D: Matrix, w: Weights, start: Indices, order: Indices, max_iter: int, monitor: Monitor | None = None
) -> Medoids:
    """Swap medoids with other rows, tried along `order`, until no swap lowers the sum of distances.

    `monitor(medoids, cost)` may return True to stop; after Ctrl-C the last complete pass is kept.
    """
    medoids, calm, swaps, passes = start.copy(), 0, 0, 0
    near, first, second = nearest_medoids(D, medoids)
    reason: Literal["converged", "max_iter", "stopped", "interrupted"] = "max_iter"
    if len(medoids) == 1:  # no second medoid to fall back on: the best row is known at once
        medoids, max_iter, reason = built_medoids(D, w, 1, order), 0, "converged"
        near, first, second = nearest_medoids(D, medoids)
    while passes < max_iter:
        _, calm, made = swap_pass(D, w, order, 0, calm, medoids, near, first, second)
        passes, swaps = passes + 1, swaps + made
        if calm >= len(order):
            reason = "converged"
            break
        try:
            if monitor is not None and monitor(medoids.copy(), _cost(w, first)):
                reason = "stopped"
                break
        except KeyboardInterrupt:
            reason = "interrupted"
            break
    return Medoids(medoids, near, _cost(w, first), passes, swaps, reason)


def _cost(w: Weights, first: Vector) -> float:
    return float(w @ first)
