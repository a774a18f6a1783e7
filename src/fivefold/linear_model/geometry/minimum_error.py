"""The linear classifier with the fewest training errors, found by trying every one that differs.

    min over v of   sum of s_i [ y_i z_i'v <= 0 ]        z = (x, 1), v = (w, b), y in {-1, +1}

The v that put every row on the same sides form a cone, and the edges of the cone are where r - 1 independent rows lie
on the hyperplane, r the rank of the rows. So it is enough to try the hyperplanes through r - 1 rows. A small turn takes
the rows on it to any sides that they could have by themselves: to all if they are independent, and otherwise that is
the same question among them alone, with a smaller rank. The number of hyperplanes grows as n^(r - 1), and the problem
is NP-hard when the number of columns is not fixed, so large tables are refused.

Johnson & Preparata (1978).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, islice
from math import comb
from typing import Any

import numpy as np

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count
from fivefold.core.registry import Card
from fivefold.core.types import Array, Indices, Mask, Matrix, Table, Target, Vector, Weights
from fivefold.linear_model.base import LinearClassifier, LinearModel

TOUCHING_DISTANCE = 1e-9  # a smaller distance, as a share of the size of the points, counts as touching
PLANES_PER_CHUNK = 4096  # hyperplanes tried at a time


@dataclass(frozen=True)
class MinimumErrorPlane(LinearModel):
    """A hyperplane, and the weight of the rows on its wrong side."""

    error: float = 0.0


class MinimumErrorClassifier(LinearClassifier):
    """Two classes by the hyperplane with the fewest training errors, exactly: for small problems only.

    Parameters
    ----------
    max_planes
        maximum number of hyperplanes to try; a table that needs more is refused.

    Attributes
    ----------
    coef_, intercept_
        of the hyperplane; positive for the second class.
    error_
        weight of the rows on the wrong side.
    classes_
        the two labels.

    Examples
    --------
    >>> from fivefold.linear_model.geometry.minimum_error import MinimumErrorClassifier
    >>> X, y = [[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]  # exclusive or: one row must be wrong
    >>> MinimumErrorClassifier().fit(X, y).error_
    1.0
    """

    max_planes: Count = 1_000_000

    takes = Takes(one_class=False)
    card = Card(
        applications=("classification",),
        use="To see how far hinge and logistic losses are from the fewest errors possible, on tens of rows and a few "
        "columns. For anything larger take one of these.",
        steps=(
            "Try the hyperplane through every d points.",
            "Points on it go to the best sides that a small turn can give them.",
            "Keep the one with the fewest errors.",
        ),
        source="Johnson & Preparata (1978)",
        see_also=("LinearSVC",),
        growth=4.0,
    )

    error_ = learned("error")

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        if len(self.classes_) > 2:
            raise ValueError(
                f"MinimumErrorClassifier takes two classes; y holds {len(self.classes_)}. Only binary classification "
                "is supported. The type of the target is multiclass; wrap it in OneVsRestClassifier"
            )
        centre = X.mean(axis=0, dtype=np.float64)
        size = np.abs(X - centre).max(axis=0)
        size = np.where(size > 0, size, 1.0)
        Z = np.column_stack([(X - centre) / size, np.ones(len(X))])
        planes = comb(len(Z), int(np.linalg.matrix_rank(Z)) - 1)
        if planes > self.max_planes:
            raise ValueError(
                f"MinimumErrorClassifier: {len(X)} rows of {X.shape[1]} columns have {planes:.3g} hyperplanes to try; "
                f"max_planes={self.max_planes} are allowed. Take fewer rows or columns, or a LinearSVC"
            )
        error, v = fewest_errors(Z, np.where(y == 1, 1.0, -1.0), w)
        coef = v[:-1] / size
        intercept = np.array([v[-1] - coef @ centre])
        self.model_ = MinimumErrorPlane(coef[None].astype(X.dtype), intercept.astype(X.dtype), error=error)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def fewest_errors(Z: Array, y: Array, s: Array) -> tuple[float, Array]:
    """The least weight of rows with y_i z_i'v <= 0, and a v that has it and touches no row."""
    _, sigma, Vt = np.linalg.svd(Z, full_matrices=False)
    basis = Vt[sigma > TOUCHING_DISTANCE * sigma[0]]  # (r, size)
    P = Z @ basis.T  # the rows in coordinates of their own
    r = len(basis)
    best: tuple[float, Array] = (np.inf, np.zeros(r))
    if r == 1:
        wrong = float(s @ (y * P[:, 0] < 0))
        v = np.ones(1) if wrong <= s.sum() - wrong else -np.ones(1)
        return min(wrong, float(s.sum()) - wrong), v @ basis
    for rows in _chunks(combinations(range(len(P)), r - 1)):
        _, spread, turns = np.linalg.svd(P[rows])  # (m, r - 1, r)
        planes = turns[spread[:, -1] > TOUCHING_DISTANCE, -1]  # (m, r), normals of independent rows
        heights = planes @ P.T
        clear = np.abs(heights) > TOUCHING_DISTANCE  # rows that are not on the plane
        wrong = clear & (heights * y < 0)
        errors = np.concatenate([wrong @ s, (clear & ~wrong) @ s])
        for k in np.argsort(errors, kind="stable"):
            if not errors[k] < best[0]:
                break
            sign, at = (1.0, k) if k < len(planes) else (-1.0, k - len(planes))
            best = min(best, _tilted(P, y, s, sign * planes[at], clear[at], float(errors[k])), key=lambda pair: pair[0])
    return best[0], best[1] @ basis


def _tilted(P: Matrix, y: Vector, s: Weights, v: Vector, clear: Mask, error: float) -> tuple[float, Vector]:
    """The fewest errors with the rows on v on their best sides, and v tilted so little that the others keep theirs."""
    inner, turn = fewest_errors(P[~clear], y[~clear], s[~clear])
    reach = np.abs(P[clear] @ turn).max(initial=0.0)
    room = np.abs(P[clear] @ v).min(initial=np.inf)
    step = min(1.0, 0.5 * room / reach) if reach > 0 else 1.0
    return error + inner, v + step * turn


def _chunks(every: Iterator[tuple[int, ...]]) -> Iterator[Indices]:
    while rows := list(islice(every, PLANES_PER_CHUNK)):
        yield np.array(rows)
