"""Seeds for K centres: rows of the table, drawn as in row_sampling.py, so that the order of the rows does not matter.

Greedy k-means++ (Arthur & Vassilvitskii, 2007): 2 + log K rows are drawn with probability proportional to weight times
squared distance to the nearest seed so far, and the one that leaves the smallest sum of these is kept.
"""

from __future__ import annotations

import numpy as np

from fivefold.core.parallel import BLOCK_ROWS, aligned, row_parts, run_team, team_size, whole_lines
from fivefold.core.types import Array, Indices, Rng, Table, Weights
from fivefold.spatial.centres.seeding_loops import SeedTrial, add_best_seed
from fivefold.spatial.centres.tensor_seeding import tensor_distinct_seeds, tensor_plusplus_seeds
from fivefold.spatial.points import Points
from fivefold.spatial.row_loops import ROW_LANES
from fivefold.spatial.row_sampling import RUN_LENGTH, draw_from_runs, draw_rows
from fivefold.spatial.tensor_points import AnyPoints, TensorPoints

FARTHEST = float(np.finfo(float).max)  # squared distance to the nearest seed while there is none
SECONDS_PER_DIFFERENCE = 4e-10  # time per coordinate of a row and of a row tried: what decides how many threads pay


def plusplus_rows(X: Table, w: Weights, K: int, rng: Rng, order: Indices | None = None) -> Indices:
    """Rows of X to start K centres from."""
    return plusplus_seeds(Points.of(X, w), K, rng, order)


def plusplus_seeds(points: AnyPoints, K: int, rng: Rng, order: Indices | None = None) -> Indices:
    """K rows far apart, by greedy k-means++."""
    if isinstance(points, TensorPoints):
        return tensor_plusplus_seeds(points, K, rng)
    order = points.order if order is None else order
    n_trials = 2 + int(np.log(K))
    trials = _SeedTrials(points, order, n_trials)
    chosen = [trials.add_best(draw_rows(order, points.w, rng.uniform(size=1)))]
    while len(chosen) < K:
        chosen.append(trials.add_best(trials.draw(rng.uniform(size=n_trials))))
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

    def __init__(self, points: Points, order: Indices, n_trials: int) -> None:
        n, d, blocks = points.n, points.width, -(-points.n // ROW_LANES)
        self.points, self.total = points, 0.0  # `total`: of weight times squared distance
        cut = row_parts(n, BLOCK_ROWS)
        self.team_size = min(len(cut), team_size(n * n_trials * d * SECONDS_PER_DIFFERENCE))
        w = np.zeros((blocks, ROW_LANES))
        w.reshape(-1)[:n] = points.w
        book = points.codebook(np.zeros((1, d)), np.float64)
        Z = aligned((self.team_size, book.code.shape[1], ROW_LANES))
        Z[:] = 0.0
        self.state = SeedTrial(
            rows=points.rows,
            ends=np.array([0, *(-(-hi // ROW_LANES) for _, hi in cut)]),
            order=np.ascontiguousarray(order, dtype=np.int64),
            w=w,
            nearest=np.full((blocks, ROW_LANES), FARTHEST),
            after=np.zeros((n_trials, blocks, ROW_LANES)),
            mass=np.empty(n),
            arranged=np.zeros(-(-n // RUN_LENGTH) * RUN_LENGTH),
            run_sums=np.empty(-(-n // RUN_LENGTH)),
            C=book.code,
            norms=book.norms,
            potential=aligned((len(cut), whole_lines(n_trials))),
            Z=Z,
            acc=aligned((self.team_size, whole_lines(max(ROW_LANES, n_trials)))),
            best=np.zeros(1, dtype=np.int64),
        )

    def draw(self, uniforms: Array) -> Indices:
        """Rows at these quantiles of weight times squared distance; of weight where all distances are zero."""
        order, runs = self.state.order, self.state.arranged.reshape(-1, RUN_LENGTH)
        if self.total > 0:
            return draw_from_runs(order, runs, uniforms, self.state.run_sums)
        return draw_rows(order, self.points.w, uniforms)

    def add_best(self, tried: Indices) -> int:
        """Make a seed of the row, of those tried, that leaves the points nearest to their seeds; return it."""
        points = self.points
        book = points.codebook(points.centred_rows(tried), np.float64)
        state = self.state._replace(C=book.code, norms=book.norms)
        best = run_team(add_best_seed, state, size=self.team_size)
        self.total = float(state.potential[0, best])
        return int(tried[best])
