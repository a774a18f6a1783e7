"""Rows drawn by weight along a canonical order, so that neither their order nor repetition in place of weight matters.

A draw is a uniform number looked up in the cumulated weights along an order of the rows that depends only on their
values. Equal rows are neighbours in that order, so shuffling the rows, or giving a row weight two instead of repeating
it, changes no draw.
"""

from __future__ import annotations

import numpy as np

from fivefold.core.types import Indices, Matrix, Rng, Table, Vector, Weights
from fivefold.spatial.points import Points

RUN_LENGTH = 256  # rows in a run: weights are summed by run, and cumulated only in the run that a draw falls in


def canonical_order(X: Table) -> Indices:
    """An order of the rows that depends only on their values: along a fixed random direction."""
    return Points.of(X).order


def draw_rows(order: Indices, mass: Weights, uniforms: Vector) -> Indices:
    """Rows at the given quantiles of `mass` (n,) along `order`."""
    n = len(order)
    if n <= RUN_LENGTH:
        return _draw_from_run(order, mass, uniforms)
    runs = np.zeros((-(-n // RUN_LENGTH), RUN_LENGTH))
    # straight into the runs: to fill fresh memory takes longer than to gather; with a mode NumPy makes no copy of `out`
    np.asarray(mass, dtype=np.float64).take(order, out=runs.reshape(-1)[:n], mode="clip")
    return draw_from_runs(order, runs, uniforms)


def draw_from_runs(order: Indices, runs: Matrix, uniforms: Vector, sums: Vector | None = None) -> Indices:
    """The same from the masses along the order, (runs, RUN_LENGTH), padded with zeros, and their sums if known."""
    n, sums = len(order), runs.sum(axis=1) if sums is None else sums
    ends = np.cumsum(sums)
    target = np.asarray(uniforms) * ends[-1]
    run = np.minimum(np.searchsorted(ends, target, side="right"), len(runs) - 1)
    rest = target - (ends[run] - sums[run])
    place = (np.cumsum(runs[run], axis=1) <= rest[:, None]).sum(axis=1)
    return order[np.minimum(run * RUN_LENGTH + place, n - 1)]


def _draw_from_run(order: Indices, mass: Weights, uniforms: Vector) -> Indices:
    """The same, to the last bit, if one run holds all rows: padded with zeros, because sums depend on its length."""
    n, run = len(order), np.zeros(RUN_LENGTH)
    run[:n] = mass[order]
    place = run.cumsum().searchsorted(np.asarray(uniforms) * run.sum(), side="right")
    return order[np.minimum(place, n - 1)]


class RowSampler:
    """Rows to draw from again and again, with probability proportional to their weight."""

    def __init__(self, points: Points) -> None:
        self.order = points.order
        self.ends = np.cumsum(points.w[self.order])

    def draw(self, count: int, rng: Rng) -> Indices:
        """`count` rows in canonical order; a row may be drawn more than once."""
        place = np.searchsorted(self.ends, np.sort(rng.uniform(size=count)) * self.ends[-1], side="right")
        return self.order[np.minimum(place, len(self.order) - 1)]
