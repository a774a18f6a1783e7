"""A distance as a value: coordinates, a compiled rule on them, and the way from what the rule computes to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import numpy as np

from fivefold.core.types import Array, Matrix, Table
from fivefold.spatial.metrics.rule_loops import UNDEFINED, MinkowskiRule, Rule

MAX_ULPS = 64  # steps between floats in which a limit on distances is turned into one on what a rule computes
Finish: TypeAlias = Literal["root", "half", "plain"]  # the p-th root, half of it, or as it is


class Coordinates(Protocol):
    """A map from rows as given to rows as the rule takes them; queries may be told apart from fitted rows."""

    def __call__(self, X: Matrix, queries: bool = False) -> Matrix: ...


@dataclass(frozen=True)
class VectorMetric:
    """A distance between rows of numbers."""

    name: str
    rule: Rule
    coordinates: Coordinates | None = None  # None: rows as they are
    finish: Finish = "plain"
    triangle: bool = True  # does the triangle inequality hold for the root or the value of what the rule computes?
    takes_missing: bool = False

    @property
    def is_euclidean(self) -> bool:
        """Does it order pairs as the Euclidean distance of the coordinates does?"""
        return isinstance(self.rule, MinkowskiRule) and self.rule.p == 2.0

    def rows(self, X: Table, queries: bool = False) -> Matrix:
        """The coordinates of rows, in double precision, row by row in memory."""
        Z = X if self.coordinates is None else self.coordinates(X, queries)
        return np.ascontiguousarray(Z, dtype=np.float64)

    def distances(self, reduced: Array, in_place: bool = False) -> Array:
        """Distances from what the rule computes, which may be overwritten if allowed; NaN where there is none."""
        out = reduced if in_place else None
        if self.finish == "root":
            p = self.rule.p
            return reduced if p in (1.0, np.inf) else np.sqrt(reduced, out) if p == 2.0 else reduced ** (1 / p)
        if self.finish == "half":
            return 0.5 * reduced
        return np.where(reduced >= UNDEFINED, np.nan, reduced) if self.takes_missing else reduced

    def reduced(self, distance: float) -> float:
        """What the rule computes for a pair at this distance."""
        if self.finish == "root":
            p = self.rule.p
            return distance if p in (1.0, np.inf) else float(distance) ** p
        return 2 * distance if self.finish == "half" else distance

    @property
    def inverse_power(self) -> float:
        """One over what the rule computes, to this power, is one over the distance, up to a factor."""
        p = self.rule.p if self.finish == "root" else 1.0
        return 1.0 if p in (1.0, np.inf) else 1 / p

    def limit(self, radius: float) -> float:
        """The largest value of the rule whose distance is at most `radius`."""
        limit = self.reduced(radius)
        if not 0 < limit < np.inf:
            return limit if radius >= 0 else -1.0
        for _ in range(MAX_ULPS):
            if self.distances(np.array(limit)) <= radius:
                break
            limit = float(np.nextafter(limit, 0.0))
        for _ in range(MAX_ULPS):
            more = float(np.nextafter(limit, np.inf))
            if not self.distances(np.array(more)) <= radius:
                break
            limit = more
        return limit
