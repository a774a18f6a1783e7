"""Two groups of classes, so that a discriminant of two classes can learn a node with two branches.

    two-means     Lloyd's algorithm on the class means, from the two means that are farthest apart; a class counts by
                  its weight
    guo-gelfand   exchange: begin with the two farthest classes and assign every other one to the nearer; move the
                  class whose move raises the gain of the question most; end when no move raises it
    exhaustive    all 2^(K-1) - 1 groupings; the one of largest gain

Every class belongs wholly to one group; the question learned from the groups may then divide its rows. `gain` learns
the question of a grouping and returns its gain. The first class is always in the first group.

Loh & Shih (1997); Guo & Gelfand (1992); Yildiz & Alpaydin (2005), Linear discriminant trees.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np

from fivefold.core.types import Array, Mask
from fivefold.spatial.centres.lloyd import lloyd

MAX_CLASSES_EXHAUSTIVE = 10  # classes of an exhaustive search, at most: 511 questions
GAIN_TOLERANCE = 1e-9  # gains that differ by a smaller share are equal: the first grouping is kept

Gain = Callable[[Mask], float]  # of the question learned with these classes (a mask) in the second group


def two_means(weight: Array, means: Array, gain: Gain) -> Mask:
    """The clusters of the class means (K, d)."""
    labels = lloyd(means, weight, means[list(farthest_pair(means))], 0.0, 100).labels
    return _first_class_first(labels == 1)


def exchange_classes(weight: Array, means: Array, gain: Gain) -> Mask:
    """From the two farthest classes, one class moved at a time while that raises the gain."""
    a, b = farthest_pair(means)
    upper = _first_class_first(_squares(means, means[b]) < _squares(means, means[a]))
    if len(upper) == 2:
        return upper
    best = gain(upper)
    while True:
        moved = upper ^ np.eye(len(upper), dtype=bool)
        moved = moved[moved.any(axis=1) & ~moved.all(axis=1)]
        gains = [gain(each) for each in moved]
        at = _largest(gains)
        if not gains[at] > best + GAIN_TOLERANCE * abs(best):
            return _first_class_first(upper)
        upper, best = moved[at], gains[at]


def exhaustive_groups(weight: Array, means: Array, gain: Gain) -> Mask:
    """The best of all groupings."""
    K = len(means)
    if K > MAX_CLASSES_EXHAUSTIVE:
        raise ValueError(
            f"grouping='exhaustive' learns a question for each of the {2 ** (K - 1) - 1} groupings of {K} classes; it "
            f"takes {MAX_CLASSES_EXHAUSTIVE} classes at most. Choose 'guo-gelfand' or 'two-means'"
        )
    every = [np.array([False, *rest]) for rest in product([False, True], repeat=K - 1) if any(rest)]
    return every[_largest([gain(upper) for upper in every])] if K > 2 else every[0]


GROUPINGS: dict[str, Callable[[Array, Array, Gain], Mask]] = {
    "guo-gelfand": exchange_classes,
    "two-means": two_means,
    "exhaustive": exhaustive_groups,
}


def farthest_pair(means: Array) -> tuple[int, int]:
    """The two classes whose means are farthest apart, the first of equally far ones; they differ."""
    K = len(means)
    pairs = [(i, j) for i in range(K) for j in range(i + 1, K)]
    return pairs[_largest([float(_squares(means[i], means[j])) for i, j in pairs])]


def _squares(A: Array, b: Array) -> Array:
    return ((A - b) ** 2).sum(axis=-1)


def _largest(values: list[float]) -> int:
    top = max(values)
    return next(i for i, value in enumerate(values) if value >= top - GAIN_TOLERANCE * abs(top))


def _first_class_first(upper: Mask) -> Mask:
    """The same groups, that of the first class first; where all are in one, the last class is apart."""
    if upper.all() or not upper.any():
        return np.arange(len(upper)) == len(upper) - 1
    return upper ^ upper[0]
