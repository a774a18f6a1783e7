"""Search by comparing each query with every row by any rule, in double precision.

A tile of queries goes through all rows, panel by panel, so that every panel is read once for all its queries.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from fivefold.core.types import Doubles, Indices, Matrix
from fivefold.spatial.metrics.metric import VectorMetric
from fivefold.spatial.search.brute_force_loops import LANES, nearest_rows, pack_panels, rows_within
from fivefold.spatial.search.query_tiles import gather_tiles, map_tiles

TILE = 16, 128  # queries that go through the rows together, at least and at most


class BruteForce:
    """Rows that are compared with every query."""

    def __init__(self, metric: VectorMetric, coordinates: Matrix) -> None:
        self.rule, self.X = metric.rule, coordinates

    @cached_property
    def panels(self) -> Doubles:
        """Rows by column (panels, d, LANES)."""
        n, d = self.X.shape
        Z = np.empty((-(-n // LANES), d, LANES))
        pack_panels(self.X, Z)
        return Z

    def nearest(self, Q: Matrix, own: Indices, k: int) -> tuple[Doubles, Indices]:
        """Reduced distances and numbers of the k nearest rows of each query (m, k); row own[i] is left out for i."""
        values, rows = np.empty((len(Q), k)), np.empty((len(Q), k), np.int64)
        rule, Z, n = self.rule, self.panels, len(self.X)

        def tile(a: int, b: int) -> None:
            nearest_rows(rule, Q[a:b], own[a:b], Z, n, k, np.empty(LANES), values[a:b], rows[a:b])

        map_tiles(tile, len(Q), n, *TILE)
        return values, rows

    def within(self, Q: Matrix, own: Indices, limit: float) -> tuple[Indices, Indices, Doubles]:
        """Rows at a reduced distance of at most `limit`: ends (m + 1,), numbers of rows, reduced distances."""
        rule, Z, n = self.rule, self.panels, len(self.X)

        def listed(a: int, b: int, *out: Any) -> int:
            return int(rows_within(rule, Q[a:b], own[a:b], Z, n, limit, np.empty(LANES), *out))

        return gather_tiles(listed, len(Q), n, *TILE)
