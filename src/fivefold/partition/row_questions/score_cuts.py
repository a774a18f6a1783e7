"""The best cut of a node along one score, or along several: the loop that every search for a question uses.

Rows in the order of their keys cross to the left one by one, or back to the right where their sign is -1; of the cuts
between different keys the one wins that lowers the impurity, W I - W_left I_left - W_right I_right, most.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.core.types import Array, Codes, Matrix
from fivefold.partition.criteria.base import Criterion, accumulate, impurity, split_gain, total_weight
from fivefold.partition.splitters.base import RELATIVE_TIE, GrowthLimits

KEY_TOLERANCE = 1e-12  # relative difference of keys that counts as rounding: such keys are equal


class ScoreCut(NamedTuple):
    """The best cut along some scores."""

    gain: float  # total fall of the impurity; -inf where no score can be cut
    threshold: float
    place: int  # which of the scores is cut


def best_score_cut(
    criterion: Criterion, sums: Array | Codes, keys: Matrix, rules: GrowthLimits, sign: Codes | None = None
) -> ScoreCut:
    """The best cut of the rows along one of the scores keys (b, m).

    Rows with keys up to the threshold go left, the others right; for rows whose sign (b, m) is -1 it is the other way
    round.
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
    """Fill `found` with the gain and the threshold of the best cut; keys are sorted, and `order` holds their rows."""
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
    """The midpoint, kept below the upper key even where the two differ only by rounding."""
    middle = low / 2 + high / 2
    return low if middle >= high or middle < low else middle
