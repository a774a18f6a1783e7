"""Geometric medians of groups: the centres with the smallest sum of distances, not of squared distances.

    c_k = argmin_c sum_{r_i = k} w_i |x_i - c|

Weiszfeld's step (1937) is the mean under weights w_i / |x_i - c|. Where c sits on a point of weight e,
with R = sum over the others of w_i (x_i - c) / |x_i - c|, it goes the share max(0, 1 - e / |R|) of the way
to that mean (Vardi & Zhang, 2000): so c leaves a point unless that point is the median. No step increases the sum.
"""

from __future__ import annotations

import numpy as np

from fivefold.core.compilation.jit import FAST, jit
from fivefold.core.parallel import map_parts
from fivefold.core.types import Array, Indices, Matrix
from fivefold.spatial.centres.lloyd import ClusterAssignment
from fivefold.spatial.centres.lloyd_loops import HUGE
from fivefold.spatial.points import squared_norms
from fivefold.spatial.row_loops import squared_distance, transfer_row

FORCE_ROUNDING = 1e-12  # relative rounding error of the force on a point
MAX_WEISZFELD_STEPS = 30  # Weiszfeld steps at most before the points are assigned again
SETTLED_RATIO = 1e-6  # a centre is at its median if it moves less than this share of the harmonic mean of its distances
COINCIDENCE_RATIO = 1e-24  # a point is at its centre if its squared distance is below this share of the total variance


@jit(fastmath=FAST, error_model="numpy")
def _add_pull(rows, w, labels, C, norms, on, lo, hi, weight, sums, held, least, who):
    """Add w / |x - c| to weight, x under these weights to sums, and to held the w of points at their centre.

    who receives the point nearest to each centre, least its squared distance. Returns the sum of w |x - c|.
    """
    cost = 0.0
    for i in range(lo, hi):
        k = np.int64(labels[i])
        s = squared_distance(rows, i, C, norms, k)
        if s < least[k]:
            least[k] = s
            who[k] = i
        if s <= on:
            held[k] += w[i]
        else:
            v = w[i] / np.sqrt(s)
            cost += v * s
            weight[k] += v
            transfer_row(rows, i, v, sums, k, len(held))
    return cost


def median_update(groups: ClusterAssignment, C: Matrix) -> tuple[Matrix, float, bool]:
    """The geometric median of each group, the sum of distances before the last step, and whether it was short."""
    filled = groups.members > 0
    for _ in range(MAX_WEISZFELD_STEPS):
        step, nearest, cost, settled = _weiszfeld_step(groups, C)
        C = C + step
        if settled:
            break
    # steps towards a median that is one of the points grow ever shorter, so the nearest points themselves are tried
    on = C.copy()
    on[filled] = groups.points.centred_rows(nearest[filled])
    is_median = ~_weiszfeld_step(groups, on)[0].any(axis=1)
    C[is_median] = on[is_median]
    C[~filled] = C[groups.weight.argmax()]
    return C, cost, settled


def _weiszfeld_step(groups: ClusterAssignment, C: Matrix) -> tuple[Matrix, Indices, float, bool]:
    """A step from C (K, d), the point of each group nearest to its centre, the sum of distances to C, and is it short?

    Short means beside the harmonic mean of the distances, which a few far points do not make large.
    """
    points, K = groups.points, len(C)
    norms, on = squared_norms(C), COINCIDENCE_RATIO * points.variance * points.width

    def part(lo: int, hi: int) -> tuple[Array | Indices, ...]:
        weight, sums, held = np.zeros(K), np.zeros((K + 1, points.width)), np.zeros(K)
        least, who = np.full(K, HUGE), np.zeros(K, np.int64)
        cost = _add_pull(points.rows, points.w, groups.labels, C, norms, on, lo, hi, weight, sums, held, least, who)
        return np.array(cost), weight, sums[:K], held, least, who

    found = zip(*map_parts(part, points.n, rows=groups.part_rows), strict=True)
    costs, weights, sums, helds, least, who = map(np.array, found)  # first axis: parts
    weight, held = weights.sum(axis=0), helds.sum(axis=0)
    pull = sums.sum(axis=0) - weight[:, None] * C  # R of each group
    force = np.sqrt(squared_norms(pull))
    free = force > held * (1 + FORCE_ROUNDING)
    share = np.where(free, 1.0 - held / np.where(free, force, 1.0), 0.0)
    step = pull * (share / np.where(weight > 0, weight, 1.0))[:, None]
    short = np.sqrt(squared_norms(step)) * weight <= SETTLED_RATIO * groups.weight
    return step, who[least.argmin(axis=0), np.arange(K)], float(costs.sum()), bool(short.all())
