"""Mini-batch k-means: centres that learn from a stream of small batches.

    c_k = c_k + sum_{r_i = k} w_i (x_i - c_k) / N_k        N_k: weight of all points that c_k has won so far

so each centre is the running mean of the points it has won. Idle centres, which win next to nothing, are moved to
points of the batch from time to time. Sculley (2010).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from fivefold.core.types import Array, Matrix, Rng
from fivefold.spatial.centres.lloyd import StopReason, assignment_of
from fivefold.spatial.centres.seeding import distinct_seeds
from fivefold.spatial.points import Points
from fivefold.spatial.row_sampling import RowSampler

SAME_PLACE = 1e-20  # share of the largest squared distance to a centre at which a row is on its own, but for rounding
IDLE_CHECK_POINTS = 10  # points per centre, by weight, from one search for idle centres to the next


@dataclass(frozen=True)
class OnlineCentres:
    """K centres and the weight of the points that each has won."""

    centres: Array  # (K, d)
    counts: Array  # (K,) weight won
    since: float = 0.0  # weight seen since the last search for idle centres

    @classmethod
    def start(cls, centres: Matrix) -> OnlineCentres:
        return cls(np.asarray(centres, dtype=np.float64), np.zeros(len(centres)))

    def learn(self, points: Points, min_share: float, rng: Rng) -> tuple[OnlineCentres, float]:
        """The centres after one batch, and the sum of squared distances to those before it.

        A centre is idle, and is moved, if it has won less than `min_share` of what the most successful one has won.
        """
        K = len(self.centres)
        C, groups = points.centred(self.centres), assignment_of(points, K)
        groups.assign(C)
        inertia = float(points.w @ groups.squared_distances(C))
        counts: Array = self.counts + groups.weight
        won = counts if counts.all() else np.where(counts > 0, counts, 1.0)
        C = C + (groups.sums - groups.weight[:, None] * C) / won[:, None]
        since = self.since + float(points.w.sum())
        if since >= IDLE_CHECK_POINTS * K or not self.counts.all():
            C, counts, since = *_move_idle(C, counts, points, min_share, rng), 0.0
        return OnlineCentres(C + points.origin, counts, since), inertia


def _move_idle(C: Matrix, counts: Array, points: Points, min_share: float, rng: Rng) -> tuple[Matrix, Array]:
    """Idle centres moved to points of the batch, at most half as many as the batch has distinct points.

    Points that a centre is on already stay out: another one there would leave its own rows for nothing.
    """
    if counts.min() >= min_share * counts.max():
        return C, counts
    order = np.argsort(counts, kind="stable")[:-1]
    idle = order[counts[order] < min_share * counts.max()]
    if not len(idle):
        return C, counts
    groups = assignment_of(points, len(C))
    groups.assign(C)
    gaps = groups.squared_distances(C)
    free = replace(points, w=np.where(gaps > SAME_PLACE * gaps.max(), points.w, 0.0))
    idle = idle[: free.n_distinct // 2 if free.w.any() else 0]
    if not len(idle):
        return C, counts
    C, counts = C.copy(), counts.copy()
    C[idle] = points.centred_rows(distinct_seeds(free, len(idle), rng))
    counts[idle] = np.delete(counts, idle).min()  # large enough that they are not moved again at once
    return C, counts


@dataclass(frozen=True)
class StreamResult:
    """Where a stream of batches led."""

    state: OnlineCentres
    steps: int
    value: float  # smoothed sum of squares per unit of weight
    reason: StopReason
    still: bool = False  # converged because the centres stood still, not because the smoothed sum did


def learn_from_batches(
    points: Points,
    state: OnlineCentres,
    batch: int,
    steps: int,
    min_share: float,
    rng: Rng,
    *,
    tol: float = 0.0,
    patience: int | None = 10,
    monitor: Callable[[OnlineCentres, float, float], bool] | None = None,
) -> StreamResult:
    """Learn from batches of rows drawn by weight until the centres, or the smoothed sum of squares, stand still.

    That is, until the squared moves in a batch sum to at most a positive `tol`, or until `patience` batches in a row
    do not make the smoothed sum smaller. `monitor(state, mean square of the batch, smoothed)` may return True to stop.
    """
    sampler, smoothing = RowSampler(points), min(1.0, 2 * batch / (points.n_distinct + 1))
    value = least = np.inf
    waited = step = 0
    reason: StopReason = "max_iter"
    still = False
    try:
        while step < steps:
            last, step = state, step + 1
            state, inertia = last.learn(Points.of(points.table[sampler.draw(batch, rng)]), min_share, rng)
            value = inertia / batch if step <= 2 else (1 - smoothing) * value + smoothing * inertia / batch
            if monitor is not None and monitor(state, inertia / batch, value):
                reason = "stopped"
                break
            if step == 1:  # the first sum depends on the start, not on what was learned
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
    return StreamResult(state=state, steps=step, value=value, reason=reason, still=still)
