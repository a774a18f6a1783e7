"""The distance at which the rows around a query have a given weight: neighbours, where a row of weight two is two.

Where that distance is zero, because rows repeat, the next one that is not takes its place, with the weight within it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from fivefold.core.types import Doubles, Indices, Matrix, Table, Vector
from fivefold.spatial.search import NeighborIndex


@dataclass(frozen=True)
class WeightedNeighbors:
    """Weighted rows that are searched for neighbours."""

    points: Table  # (n, d)
    weights: Vector  # (n,)
    metric: str = "euclidean"

    @cached_property
    def index(self) -> NeighborIndex:
        """The rows, ready for a search."""
        return NeighborIndex(self.points, self.metric)

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def within(self, Q: Matrix | None, k: int, codes: Indices | None = None, K: int = 1) -> tuple[Doubles, Doubles]:
        """The positive distance (m,) within which lies weight k or more, and the weight within it by group (m, K).

        Without Q: of each row, of which one copy is left out. Groups of the rows are `codes` (n,), one by default.
        Exactly k are counted at that distance, of rows as near as the last one by their order; where the distance of
        the k-th is zero, all are counted up to the first that is not, and one copy of it.
        """
        n = len(self.points)
        m = n if Q is None else len(Q)
        groups = np.zeros(n, dtype=np.int64) if codes is None else codes
        radius, mass = np.zeros(m), np.zeros((m, K))
        left, most = np.arange(m), min(k if Q is not None else k + 1, n)
        while len(left):
            queries = self.points[left] if Q is None else Q[left]
            distances, rows = self.index.query(queries, most)
            distances = np.asarray(distances, dtype=np.float64)
            w = self.weights[rows].astype(np.float64)
            if Q is None:  # a row with many copies may not be among its own neighbours: then all are at distance zero
                w -= (rows == left[:, None]) * np.minimum(self.weights[left], 1.0)[:, None]
            sums = np.cumsum(w, axis=1)
            reached = (sums >= k * (1 - 1e-12)) & (distances > 0)
            found = reached.any(axis=1) | (most == n)
            last = np.where(reached.any(axis=1), reached.argmax(axis=1), most - 1)
            here = np.arange(len(left))
            radius[left] = distances[here, last]
            part = np.where(np.arange(most) <= last[:, None], w, 0.0)
            before = sums[here, last] - w[here, last]
            # of the last row what makes k, and one copy where k are at distance zero
            part[here, last] -= np.maximum(np.where(before < k, sums[here, last] - k, w[here, last] - 1.0), 0.0)
            cells = here[:, None] * K + groups[rows]
            mass[left] = np.bincount(cells.ravel(), weights=part.ravel(), minlength=len(left) * K).reshape(-1, K)
            left, most = left[~found], min(2 * most, n)
        return radius, mass
