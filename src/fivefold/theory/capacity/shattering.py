"""Shattering: can a family of classifiers give a set of points every one of its 2^n labels?

    realised(points, labels)  is asked for every labelling; by a linear program for hyperplanes, which proves either
    answer, and for other families by fitting a model, which proves only that a labelling can be had.

A set of h points that is shattered shows that the VC dimension is h or more. That it is not more is shown by no
search: every larger set would have to fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from fivefold.core.types import Array, Codes
from fivefold.evaluation.protocols import Model
from fivefold.linear_model.geometry.separability import separate_sets

MAX_POINTS = 16  # 65,536 labellings
Realises = Callable[[Array, Codes], bool]  # points (n, d) and labels 0, 1 (n,) -> can the family have them?


@dataclass(frozen=True)
class Shattering:
    """Which labellings of a set of points a family realises."""

    points: int
    realised: int
    missed: Codes  # (labellings, n) those that it cannot have

    @property
    def shattered(self) -> bool:
        """Are all of them realised?"""
        return self.realised == 2**self.points

    def __bool__(self) -> bool:
        return self.shattered


def hyperplane_realises(points: Array, labels: Codes) -> bool:
    """Does a hyperplane divide the points so?

    Examples
    --------
    >>> hyperplane_realises([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])  # exclusive or
    False
    """
    P, on = np.asarray(points, dtype=float), np.asarray(labels) == 1
    return bool(on.all() or not on.any() or separate_sets(P[on], P[~on]))


def fitted_realises(estimator: Model) -> Realises:
    """Does a fitted copy of the estimator have no error? A labelling that it misses may still be possible."""

    def realises(points: Array, labels: Codes) -> bool:
        if len(np.unique(labels)) == 1:
            return True  # a constant answer, which any family here can have
        return bool(np.array_equal(clone(estimator).fit(points, labels).predict(points), labels))

    return realises


def shatter(points: ArrayLike, realises: Realises = hyperplane_realises) -> Shattering:
    """Ask for every labelling of the points; of two that are opposite only one is asked of hyperplanes.

    Examples
    --------
    >>> bool(shatter([[0, 0], [0, 1], [1, 0]])), shatter([[0, 0], [0, 1], [1, 0], [1, 1]]).realised
    (True, 14)
    """
    P = np.asarray(points, dtype=float)
    P = P[:, None] if P.ndim == 1 else P
    _refuse_many(len(P))
    answers = dict[tuple[int, ...], bool]()
    for labels in _labellings(len(P)):
        opposite = tuple((1 - labels).tolist())
        known = answers.get(opposite) if realises is hyperplane_realises else None
        answers[tuple(labels.tolist())] = realises(P, labels) if known is None else known
    missed = [labels for labels, can in answers.items() if not can]
    return Shattering(len(P), len(answers) - len(missed), np.array(missed, dtype=int).reshape(-1, len(P)))


def empirical_vc_dimension(points: ArrayLike, realises: Realises = hyperplane_realises) -> int:
    """The size of the largest subset of the points that is shattered: a lower bound of the VC dimension.

    Examples
    --------
    >>> empirical_vc_dimension([[0, 0], [0, 1], [1, 0], [1, 1]])
    3
    """
    P = np.asarray(points, dtype=float)
    P = P[:, None] if P.ndim == 1 else P
    _refuse_many(len(P))
    size = 0  # subsets of a shattered set are shattered, so sizes are tried from below
    while size < len(P) and any(shatter(P[list(some)], realises) for some in combinations(range(len(P)), size + 1)):
        size += 1
    return size


def _labellings(n: int) -> Iterator[Codes]:
    for code in range(2**n):
        yield (code >> np.arange(n)) & 1


def _refuse_many(n: int) -> None:
    if n > MAX_POINTS:
        raise ValueError(f"{n} points have 2^{n} labellings; {MAX_POINTS} points are the most that are tried")
