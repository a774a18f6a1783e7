"""The hyperplane of a linear discriminant, and distances from it.

    f(x) = w'x + w0            the functional margin of a label y in {-1, +1} is y f(x): it grows with w
    r(x) = f(x) / |w|          signed distance; y r(x) is the geometric margin, which does not change with the scale
    x_p = x - r(x) w / |w|     the nearest point of the hyperplane, f(x_p) = 0
    r_0 = w0 / |w|             signed distance of the origin

w is normal to the hyperplane. sign(0) is -1, so that a point on the hyperplane belongs to the second class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fivefold.core.types import Array, Labels, Table, Target, UserTable, Vector


@dataclass(frozen=True)
class Hyperplane:
    """The points x with w'x + w0 = 0.

    Examples
    --------
    >>> plane = Hyperplane(np.array([3.0, 4.0]), -5.0)
    >>> plane.distance([[3.0, 4.0], [0.0, 0.0]]), plane.origin_distance
    (array([ 4., -1.]), -1.0)
    >>> plane.project([[3.0, 4.0]])
    array([[0.6, 0.8]])
    """

    w: Array  # (d,)
    w0: float

    def __post_init__(self) -> None:
        if not np.linalg.norm(self.w) > 0:
            raise ValueError("w is zero: w'x + w0 = 0 is no hyperplane")

    @classmethod
    def of(cls, model: Any, i: Any = None, j: Any = None) -> Hyperplane:  # a classifier, and labels of any kind
        """That of a fitted classifier of two classes, positive for the second; of more, between classes i and j."""
        coef, intercept = np.atleast_2d(model.coef_), np.ravel(model.intercept_)
        b = np.broadcast_to(intercept, len(coef))
        if len(coef) == 1:
            return cls(coef[0], float(b[0]))
        labels = list(model.classes_)
        if i not in labels or j not in labels:
            raise ValueError(f"name two classes, i and j, of {labels}; got {i!r} and {j!r}")
        a, c = labels.index(i), labels.index(j)
        return cls(coef[a] - coef[c], float(b[a] - b[c]))

    @property
    def normal(self) -> Array:
        """w / |w|."""
        return self.w / np.linalg.norm(self.w)

    @property
    def origin_distance(self) -> float:
        """Signed distance of the origin: negative where the origin lies on the negative side."""
        return float(self.w0 / np.linalg.norm(self.w))

    def value(self, X: Table) -> Vector:
        """f of each row."""
        return np.asarray(X) @ self.w + self.w0

    def side(self, X: Table) -> Array:
        """+1 where f is positive, -1 elsewhere."""
        return np.where(self.value(X) > 0, 1, -1)

    def distance(self, X: Table) -> Array:
        """Signed distance of each row."""
        return self.value(X) / np.linalg.norm(self.w)

    def project(self, X: Table) -> Array:
        """The point of the hyperplane nearest to each row."""
        return np.asarray(X) - self.distance(X)[:, None] * self.normal

    def functional_margin(self, X: Table, y: Target) -> Array:
        """y f(x) for labels y in {-1, +1}."""
        return np.asarray(y) * self.value(X)

    def geometric_margin(self, X: Table, y: Target) -> Array:
        """y r(x) for labels y in {-1, +1}."""
        return np.asarray(y) * self.distance(X)

    @property
    def margin_width(self) -> float:
        """Distance between f = -1 and f = +1."""
        return float(2 / np.linalg.norm(self.w))


class ScoringClassifier(Protocol):
    """A fitted classifier, of any library, that scores classes."""

    classes_: Labels

    def decision_function(self, X: UserTable) -> Any: ...


@dataclass(frozen=True)
class SoftError:
    """How far the rows fall short of a margin of one: xi_i = max(0, 1 - y_i f(x_i))."""

    xi: Array

    @property
    def total(self) -> float:
        """The soft error: the sum of xi."""
        return float(self.xi.sum())

    @property
    def wrong(self) -> int:
        """Rows on the wrong side: xi > 1."""
        return int((self.xi > 1).sum())

    @property
    def inside(self) -> int:
        """Rows on the wrong side or inside the margin: xi > 0."""
        return int((self.xi > 0).sum())


def soft_error(margins: Array) -> SoftError:
    """From functional margins y f(x).

    >>> found = soft_error([2.0, 0.5, -1.0])
    >>> found.total, found.wrong, found.inside
    (2.5, 1, 2)
    """
    return SoftError(np.maximum(1 - np.asarray(margins, dtype=np.float64), 0.0))


def functional_margins(model: ScoringClassifier, X: Table, y: Target) -> Vector:
    """Functional margin of each row under a fitted classifier: the score of its class minus the best other score.

    For two classes that is y f(x) with y = +1 for the second class. Negative where the row is given a wrong class.
    """
    scores, codes = np.asarray(model.decision_function(X)), np.searchsorted(model.classes_, y)
    if scores.ndim == 1:
        return np.where(codes == 1, scores, -scores)
    rows = np.arange(len(scores))
    own, others = scores[rows, codes], scores.copy()
    others[rows, codes] = -np.inf
    return np.asarray(own - others.max(axis=1))
