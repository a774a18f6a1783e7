"""Mini-batch k-means: centres that learn from a stream of small batches.

    c_k = c_k + sum_{r_i = k} w_i (x_i - c_k) / N_k        N_k: weight of all points that c_k has won so far

so each centre is the running mean of what it has won. Centres that win next to nothing are moved, now and then, to
points of the batch. Sculley (2010).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fivefold.core.types import Array, Matrix
from fivefold.spatial.centres.lloyd import ClusterAssignment, StopReason
from fivefold.spatial.centres.seeding import RowSampler, distinct_seeds
from fivefold.spatial.points import Points

IDLE_CHECK_POINTS = 10  # idle centres are looked for each time so many points a centre have been seen


@dataclass(frozen=True)
class OnlineCentres:
    """K centres and what each has won."""

    centres: Array  # (K, d)
    counts: Array  # (K,) weight won
    since: float = 0.0  # weight seen since idle centres were looked for

    @classmethod
    def start(cls, centres: Matrix) -> OnlineCentres:
        return cls(np.asarray(centres, dtype=np.float64), np.zeros(len(centres)))

    def learn(self, points: Points, idle: float, rng: np.random.RandomState) -> tuple[OnlineCentres, float]:
        """The centres after one batch, and the sum of squares about those before it.

        Centres that won less than the share `idle` of the most successful one are moved.
        """
        K = len(self.centres)
        C, groups = points.shifted(self.centres), ClusterAssignment(points, K)
        groups.assign(C)
        inertia = float(points.w @ groups.squares(C))
        counts: Array = self.counts + groups.weight
        won = counts if counts.all() else np.where(counts > 0, counts, 1.0)
        C = C + (groups.sums - groups.weight[:, None] * C) / won[:, None]
        since = self.since + float(points.w.sum())
        if since >= IDLE_CHECK_POINTS * K or not self.counts.all():
            C, counts, since = *_move_idle(C, counts, points, idle, rng), 0.0
        return OnlineCentres(C + points.origin, counts, since), inertia


def _move_idle(C: Array, counts: Array, points: Points, idle: float, rng: np.random.RandomState) -> tuple[Array, Array]:
    """Idle centres moved to points of the batch, at most half as many as there are different ones."""
    if counts.min() >= idle * counts.max():
        return C, counts
    order = np.argsort(counts, kind="stable")[:-1]
    lazy = order[counts[order] < idle * counts.max()]
    if len(lazy):
        lazy = lazy[: points.different // 2]
    if not len(lazy):
        return C, counts
    C, counts = C.copy(), counts.copy()
    C[lazy] = points.take(distinct_seeds(points, len(lazy), rng))
    counts[lazy] = np.delete(counts, lazy).min()  # not too small, or they would be moved again at once
    return C, counts


@dataclass(frozen=True)
class StreamResult:
    """Where a stream of batches led."""

    state: OnlineCentres
    steps: int
    value: float  # smoothed sum of squares of a unit of weight
    reason: StopReason
    still: bool = False  # did the centres stand still, not the smoothed sum?


def learn_from_batches(
    points: Points,
    state: OnlineCentres,
    batch: int,
    steps: int,
    idle: float,
    rng: np.random.RandomState,
    *,
    tol: float = 0.0,
    patience: int | None = 10,
    monitor: Callable[[OnlineCentres, float, float], bool] | None = None,
) -> StreamResult:
    """Learn from batches drawn by weight, until the centres or the smoothed sum of squares stand still.

    That is, until the squared moves in a batch sum to no more than a positive `tol`, or until `patience` batches in a
    row bring no smaller smoothed sum. `monitor(state, mean square of the batch, smoothed)` may return True to stop.
    """
    urn, share = RowSampler(points), min(1.0, 2 * batch / (points.different + 1))
    value = least = np.inf
    waited = step = 0
    reason: StopReason = "max_iter"
    still = False
    try:
        while step < steps:
            last, step = state, step + 1
            state, inertia = last.learn(Points.of(points.table[urn.draw(batch, rng)]), idle, rng)
            value = inertia / batch if step <= 2 else (1 - share) * value + share * inertia / batch
            if monitor is not None and monitor(state, inertia / batch, value):
                reason = "stopped"
                break
            if step == 1:  # the start, not what was learned, decides the first sum
                continue
            waited = 0 if value < least else waited + 1
            least = min(least, value)
            still = tol > 0 and float(((state.centres - last.centres) ** 2).sum()) <= tol
            if still or (patience is not None and waited >= patience):
                reason = "converged"
                break
    except KeyboardInterrupt:
        if not step:
            raise
        reason = "interrupted"
    return StreamResult(state, step, value, reason, still)
