"""The best cut of a node along one score, or along several: the one loop that every search for a question uses.

Rows sorted by their keys cross to the left one after the other, or back where their sign is -1; of the cuts between
different keys the one wins that lowers W I - W_left I_left - W_right I_right most.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.partition.criteria.base import accumulate, impurity, split_gain, total_weight
from fivefold.partition.splitters.base import RELATIVE_TIE, GrowthLimits

KEY_TOLERANCE = 1e-12  # keys that differ by this share of their size are equal: they differ by rounding


class ScoreCut(NamedTuple):
    """The total fall of the impurity, the key to cut at, and which of the scores it is: -inf where none can be cut."""

    gain: float
    threshold: float
    place: int


def best_score_cut(criterion: Any, sums: Any, keys: Any, rules: GrowthLimits, sign: Any = None) -> ScoreCut:
    """The best cut of the rows along one of the scores keys (b, m).

    Rows whose sign (b, m) is -1 are on the left below the cut and leave it above; others the other way round, which is
    what a plain threshold asks: rows with keys at most at it go left.
    """
    m = keys.shape[1]
    if sign is None:
        sign = np.ones((1, m), dtype=np.int8)
    found, work = np.empty((len(keys), 2)), np.empty((2, len(sums)))
    order = np.argsort(keys, axis=1)
    keys = np.take_along_axis(keys, order, axis=1)
    tie = RELATIVE_TIE * float(total_weight(criterion, sums) * impurity(criterion, sums))
    _sweep_each(criterion, keys, order, sign, sums, work, rules.min_leaf, rules.min_weight, tie, found)
    best = found[:, 0].max()
    place = int((found[:, 0] >= best - tie).argmax()) if best > -np.inf else 0
    return ScoreCut(float(found[place, 0]), float(found[place, 1]), place)


@jit(error_model="numpy")
def _sweep_each(c, keys, order, sign, sums, work, min_leaf, min_weight, tie, found):
    for k in range(keys.shape[0]):
        s = k if sign.shape[0] > 1 else 0
        sweep_cuts(c, keys[k], order[k], sign[s], sums, work, min_leaf, min_weight, tie, found[k])


@jit(error_model="numpy")
def sweep_cuts(c, keys, order, sign, sums, work, min_leaf, min_weight, tie, found):
    """Fill `found` with the gain and the threshold of the best cut; keys are sorted, and order names their rows."""
    left, one = work[0], work[1]
    m, q, total = len(keys), len(sums), total_weight(c, sums)
    found[0], found[1] = -np.inf, 0.0
    count = 0
    for a in range(q):
        left[a] = 0.0
    for i in range(m):
        if sign[order[i]] < 0:  # on the left from the start
            count += 1
            accumulate(c, order, i, i + 1, one)
            for a in range(q):
                left[a] += one[a]
    for i in range(m - 1):
        step = sign[order[i]]
        count += step
        accumulate(c, order, i, i + 1, one)
        for a in range(q):
            left[a] += step * one[a]
        low, high = keys[i], keys[i + 1]
        if not high - low > KEY_TOLERANCE * (abs(low) + abs(high)) or min(count, m - count) < min_leaf:
            continue
        weight = total_weight(c, left)
        if min(weight, total - weight) < min_weight:
            continue
        gain = split_gain(c, left, sums)
        if gain > found[0] + tie:
            found[0], found[1] = gain, _midpoint_below(low, high)


@jit
def _midpoint_below(low, high):
    """Halfway, but below the upper key also where they differ little."""
    middle = low / 2 + high / 2
    return low if middle >= high or middle < low else middle
