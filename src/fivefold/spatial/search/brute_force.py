"""Search by comparing each query with every row by any rule, in double precision.

A tile of queries goes through all rows, panel by panel, so that every panel is read once for all its queries.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from fivefold.core.types import Doubles, Indices, Matrix
from fivefold.spatial.metrics.metric import VectorMetric
from fivefold.spatial.search.brute_force_loops import LANES, all_distances, nearest_rows, pack_panels, rows_within
from fivefold.spatial.search.hit_loops import HitList
from fivefold.spatial.search.query_tiles import gather_tiles, map_tiles
from fivefold.spatial.search.row_votes import RowVotes

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

    @cached_property
    def ids(self) -> Indices:
        """The numbers of the rows (n,)."""
        return np.arange(len(self.X))

    def nearest(self, Q: Matrix, own: Indices, k: int) -> tuple[Doubles, Indices]:
        """Reduced distances and numbers of the k nearest rows of each query (m, k); row own[i] is left out for i."""
        values, rows = np.empty((len(Q), k)), np.empty((len(Q), k), np.int64)
        rule, Z, n = self.rule, self.panels, len(self.X)

        def tile(a: int, b: int) -> None:
            nearest_rows(rule, Q[a:b], own[a:b], Z, n, k, np.empty(LANES), values[a:b], rows[a:b])

        map_tiles(tile, len(Q), n, *TILE)
        return values, rows

    def within(self, Q: Matrix, own: Indices, limit: float, sort: bool = True) -> tuple[Indices, Indices, Doubles]:
        """Rows at a reduced distance of at most `limit`: ends (m + 1,), numbers of rows, reduced distances."""
        rule, Z, ids = self.rule, self.panels, self.ids

        def listed(a: int, b: int, start: int, hits: HitList) -> bool | int:
            stop = int(rows_within(rule, Q[a:b], own[a:b], Z, ids, limit, start, np.empty(LANES), hits))
            return stop == len(Z) or stop

        panel = min(LANES, len(ids))
        return gather_tiles(listed, len(Q), len(ids), *TILE, room=lambda m: m * panel, sort=sort)

    def sums(self, Q: Matrix, own: Indices, limit: float, votes: RowVotes, power: float) -> Doubles:
        """Sums of the votes of rows at a reduced distance of at most `limit` (m, sums per query)."""
        rule, Z, ids, out = self.rule, self.panels, self.ids, np.empty((len(Q), votes.size))

        def tile(a: int, b: int) -> None:
            found = votes.collector(b - a, LANES, power)
            rows_within(rule, Q[a:b], own[a:b], Z, ids, limit, 0, np.empty(LANES), found)
            out[a:b] = found.sums

        map_tiles(tile, len(Q), len(ids), *TILE)
        return out

    def distances(self, Q: Matrix) -> Doubles:
        """Reduced distances to all rows (m, n)."""
        rule, Z, n, out = self.rule, self.panels, len(self.X), np.empty((len(Q), len(self.X)))

        def tile(a: int, b: int) -> None:
            all_distances(rule, Q[a:b], Z, n, np.empty(LANES), out[a:b])

        map_tiles(tile, len(Q), n, *TILE)
        return out
