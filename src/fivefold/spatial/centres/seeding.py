"""Seeds for K centres: rows of the table, drawn as in row_sampling.py, so that the order of the rows does not matter.

Greedy k-means++ (Arthur & Vassilvitskii, 2007): 2 + log K rows are drawn with probability proportional to weight times
squared distance to the nearest seed so far, and the one that leaves the smallest sum of these is kept.
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from fivefold.core.parallel import map_parts
from fivefold.core.types import Array, Indices, Rng, Table, Weights
from fivefold.spatial.centres.tensor_seeding import tensor_distinct_seeds, tensor_plusplus_seeds
from fivefold.spatial.points import Points, rows_per_part
from fivefold.spatial.row_loops import ROW_LANES, SEED_TRIAL_LOOPS
from fivefold.spatial.row_sampling import draw_rows
from fivefold.spatial.tensor_points import AnyPoints, TensorPoints

FARTHEST = float(np.finfo(float).max)  # squared distance to the nearest seed while there is none
TIE_TOLERANCE = 1e-12  # seeds whose sums differ by no more than this share are equally good: the first drawn is taken


def plusplus_rows(X: Table, w: Weights, K: int, rng: Rng, order: Indices | None = None) -> Indices:
    """Rows of X to start K centres from."""
    return plusplus_seeds(Points.of(X, w), K, rng, order)


def plusplus_seeds(points: AnyPoints, K: int, rng: Rng, order: Indices | None = None) -> Indices:
    """K rows far apart, by greedy k-means++."""
    if isinstance(points, TensorPoints):
        return tensor_plusplus_seeds(points, K, rng)
    order = points.order if order is None else order
    n_trials = 2 + int(np.log(K))
    trials = _SeedTrials(points, n_trials)
    chosen, mass = [trials.add_best(draw_rows(order, points.w, rng.uniform(size=1)))], trials.mass
    while len(chosen) < K:
        tried = draw_rows(order, mass if mass.any() else points.w, rng.uniform(size=n_trials))
        chosen.append(trials.add_best(tried))
    return np.array(chosen)


def distinct_seeds(points: AnyPoints, K: int, rng: Rng, order: Indices | None = None) -> Indices:
    """K distinct rows, drawn by weight one after the other; rows repeat only if fewer than K are distinct."""
    if isinstance(points, TensorPoints):
        return tensor_distinct_seeds(points, K, rng)
    order = points.order if order is None else order
    mass = points.w.copy()
    chosen: list[int] = []
    while len(chosen) < K:
        if not mass.any():
            mass = points.w.copy()
        for row in draw_rows(order, mass, rng.uniform(size=K - len(chosen))):
            if mass[row] > 0:
                chosen.append(row)
                mass[points.equal_rows(row)] = 0.0
    return np.array(chosen)


class _SeedTrials:
    """The squared distance of each point to its nearest seed, while seeds are added one by one."""

    def __init__(self, points: Points, n_trials: int) -> None:
        self.points, blocks = points, -(-points.n // ROW_LANES)
        self.w = np.zeros((blocks, ROW_LANES))
        self.w.reshape(-1)[: points.n] = points.w
        self.nearest = np.full((blocks, ROW_LANES), FARTHEST)
        self.after = np.zeros((n_trials, blocks, ROW_LANES))
        self.mass = np.empty(points.n)  # weight times squared distance

    def add_best(self, tried: Indices) -> int:
        """Make a seed of the row, of those tried, that leaves the points nearest to their seeds; return it."""
        points = self.points
        book, loop = points.codebook(points.centred_rows(tried), np.float64), SEED_TRIAL_LOOPS[type(points.rows)]
        C, norms = book.code, book.norms

        def part(lo: int, hi: int) -> Array:
            blocks, potential = (lo // ROW_LANES, -(-hi // ROW_LANES)), np.zeros(len(tried))
            Z, acc = np.zeros((C.shape[1], ROW_LANES)), np.empty(max(ROW_LANES, len(tried)))
            loop(points.rows, *blocks, self.w, self.nearest, C, norms, Z, acc, self.after, potential)
            return potential

        sums = reduce(np.add, map_parts(part, points.n, rows=rows_per_part(points.width)))
        best = int((sums <= sums.min() * (1 + TIE_TOLERANCE)).argmax())
        nearest, after = self.nearest.reshape(-1), self.after[best].reshape(-1)

        def keep(lo: int, hi: int) -> None:
            nearest[lo:hi] = after[lo:hi]
            np.multiply(points.w[lo:hi], nearest[lo:hi], out=self.mass[lo:hi])

        map_parts(keep, points.n)
        return int(tried[best])
