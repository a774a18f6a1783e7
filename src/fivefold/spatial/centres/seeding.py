"""Seeds for centres, drawn from the data as a distribution, not as a list.

Greedy k-means++ (Arthur & Vassilvitskii, 2007): each seed is drawn with probability proportional to
weight times squared distance to the seeds so far, the best of 2 + log K draws is kept. A draw is
a uniform number looked up in the cumulated weights along a canonical order of the rows. Equal rows
stand together in that order, so shuffling rows, or giving a row weight two instead of repeating it,
changes no draw.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fivefold.core.parallel import map_parts
from fivefold.core.types import Array, Indices, Table, Weights
from fivefold.spatial.distances import squared_distances as squared_distances
from fivefold.spatial.points import Points, rows_per_part
from fivefold.spatial.row_loops import ROW_LANES, SEED_TRIAL_LOOPS

RUN_LENGTH = 256  # masses are added up in runs of so many: only the run that a draw falls in is cumulated
FARTHEST = float(np.finfo(float).max)
TIE_TOLERANCE = 1e-12  # seeds that leave the points as near as this are equally good: the first drawn is taken


def canonical_order(X: Table) -> Indices:
    """An order of the rows that depends on their values only: along a fixed random direction."""
    return Points.of(X).order


def draw_rows(order: Indices, mass: Weights, uniforms: Any) -> Indices:
    """Rows at the given quantiles of `mass` (n,) along `order`."""
    n = len(order)
    if n <= RUN_LENGTH:
        return _draw_from_run(order, mass, uniforms)
    runs = np.zeros((-(-n // RUN_LENGTH), RUN_LENGTH))
    runs.reshape(-1)[:n] = mass[order]
    sums = runs.sum(axis=1)
    ends = np.cumsum(sums)
    target = np.asarray(uniforms) * ends[-1]
    run = np.minimum(np.searchsorted(ends, target, side="right"), len(runs) - 1)
    rest = target - (ends[run] - sums[run])
    place = (np.cumsum(runs[run], axis=1) <= rest[:, None]).sum(axis=1)
    return order[np.minimum(run * RUN_LENGTH + place, n - 1)]


def _draw_from_run(order: Indices, mass: Weights, uniforms: Any) -> Indices:
    """The same, to the last bit, where one run holds all: it is filled up with zeros, as sums depend on its length."""
    n, run = len(order), np.zeros(RUN_LENGTH)
    run[:n] = mass[order]
    place = run.cumsum().searchsorted(np.asarray(uniforms) * run.sum(), side="right")
    return order[np.minimum(place, n - 1)]


class RowSampler:
    """Rows to draw from again and again, with probability proportional to their weight."""

    def __init__(self, points: Points) -> None:
        self.order = points.order
        self.ends = np.cumsum(points.w[self.order])

    def draw(self, count: int, rng: np.random.RandomState) -> Indices:
        """So many rows, in order; one may come twice."""
        place = np.searchsorted(self.ends, np.sort(rng.uniform(size=count)) * self.ends[-1], side="right")
        return self.order[np.minimum(place, len(self.order) - 1)]


def plusplus_rows(X: Table, w: Array, K: int, rng: np.random.RandomState, order: Indices | None = None) -> Indices:
    """Rows of X to start K centres from."""
    return plusplus_seeds(Points.of(X, w), K, rng, order)


def plusplus_seeds(points: Points, K: int, rng: np.random.RandomState, order: Indices | None = None) -> Indices:
    """K rows far apart, by greedy k-means++."""
    order = points.order if order is None else order
    trials = 2 + int(np.log(K))
    race = _SeedTrials(points, trials)
    chosen = [race.enter(draw_rows(order, points.w, rng.uniform(size=1)))]
    while len(chosen) < K:
        mass = points.w * race.nearest.reshape(-1)[: points.n]
        chosen.append(race.enter(draw_rows(order, mass if mass.any() else points.w, rng.uniform(size=trials))))
    return np.array(chosen)


def distinct_seeds(points: Points, K: int, rng: np.random.RandomState, order: Indices | None = None) -> Indices:
    """K rows that differ, drawn by weight one after the other; repeated only when there are no more."""
    order = points.order if order is None else order
    mass = points.w.copy()
    chosen: list[int] = []
    while len(chosen) < K:
        if not mass.any():
            mass = points.w.copy()
        for row in draw_rows(order, mass, rng.uniform(size=K - len(chosen))):
            if mass[row] > 0:
                chosen.append(row)
                mass[points.equal(row)] = 0.0
    return np.array(chosen)


class _SeedTrials:
    """The squared distance of each point to its nearest seed, while seeds are added one by one."""

    def __init__(self, points: Points, trials: int) -> None:
        self.points, blocks = points, -(-points.n // ROW_LANES)
        self.w = np.zeros((blocks, ROW_LANES))
        self.w.reshape(-1)[: points.n] = points.w
        self.nearest = np.full((blocks, ROW_LANES), FARTHEST)
        self.after = np.zeros((trials, blocks, ROW_LANES))

    def enter(self, tried: Indices) -> int:
        """Add the row, of those tried, that leaves the points nearest to their seeds."""
        points = self.points
        book, loop = points.codebook(points.take(tried), np.float64), SEED_TRIAL_LOOPS[type(points.rows)]
        C, norms = book.code, book.norms

        def part(lo: int, hi: int) -> Array:
            blocks, potential = (lo // ROW_LANES, -(-hi // ROW_LANES)), np.zeros(len(tried))
            Z, acc = np.zeros((C.shape[1], ROW_LANES)), np.empty(max(ROW_LANES, len(tried)))
            loop(points.rows, *blocks, self.w, self.nearest, C, norms, Z, acc, self.after, potential)
            return potential

        sums = sum(map_parts(part, points.n, rows=rows_per_part(points.width)))
        best = int((sums <= sums.min() * (1 + TIE_TOLERANCE)).argmax())
        self.nearest[:] = self.after[best]
        return int(tried[best])
