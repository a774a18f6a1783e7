"""Euclidean search over all rows, most of them ruled out by boxes and by single precision (panel_filter_loops.py).

Queries that end in the same leaf of the tree of rows go together, in tiles; tiles go to the threads.
"""

from __future__ import annotations

import numpy as np

from fivefold.core.types import Doubles, Indices, Matrix
from fivefold.spatial.points import squared_norms
from fivefold.spatial.row_loops import multiple_of_four
from fivefold.spatial.search.hit_loops import HitList
from fivefold.spatial.search.panel_filter_loops import (
    LANE_STEP,
    LANES,
    MAX_SQUARE,
    NO_LIMIT,
    QueryTile,
    RowPanels,
    finish_panels,
    nearest_by_filter,
    within_by_filter,
)
from fivefold.spatial.search.query_tiles import gather_tiles, map_tiles
from fivefold.spatial.search.row_votes import RowVotes
from fivefold.spatial.search.tree import build_tree, leaves_of, tree_depth

TILE = 64, 512  # queries that go through the panels together, at least and at most: each panel is read once for them
MIN_REACH, MAX_REACH = 1e-100, 1e100  # lengths of rows whose squares double precision can hold, with room


class FilteredSearch:
    """Rows in panels of single precision."""

    def __init__(self, X: Matrix) -> None:
        n, d = X.shape
        self.X, self.origin, width = X, X.mean(axis=0), multiple_of_four(d)
        reach = float(np.sqrt(np.square(np.maximum(X.max(axis=0) - self.origin, self.origin - X.min(axis=0))).sum()))
        self.usable = reach == 0 or MIN_REACH < reach < MAX_REACH
        self.scale = 1 / reach if reach > 0 else 1.0
        self.tree = build_tree(
            X, tree_depth(n, LANES), origin=self.origin, scale=self.scale, single=True, width=width, lanes=LANES
        )
        leaves, ids = self.tree.leaves, self.tree.ids
        half = np.empty((leaves, LANES), np.float32)
        finish_panels(self.tree.Z, ids, d, NO_LIMIT, half)
        boxes = ((side[-leaves:] - self.origin) * self.scale for side in (self.tree.low, self.tree.high))
        low, high = (side.astype(np.float32) for side in boxes)
        used = int((ids >= 0).sum(axis=1).max())
        self.panels = RowPanels(
            X=X[self.tree.order],
            starts=np.append(self.tree.ends[-leaves:, 0], n),
            Z=self.tree.Z.reshape(-1),
            half=half.reshape(-1),
            used=-(-used // LANE_STEP) * LANE_STEP,
            ids=ids,
            low=low,
            high=high,
            width=width,
            unit=self.scale**2,
            # sums of four are added in turn; 8 covers the products and the rounding of both factors
            rounding=(width / 4 + 8) * float(np.finfo(np.float32).eps) / 2,
        )

    def nearest(self, Q: Matrix, own: Indices, k: int) -> tuple[Doubles, Indices]:
        """Squared distances and numbers of the k nearest rows of each query (m, k); row own[i] is left out for i."""
        home, order = self._places(Q)
        values, rows = np.empty((len(Q), k)), np.empty((len(Q), k), np.int64)

        def tile(a: int, b: int) -> None:
            some = order[a:b]
            found, numbers = np.empty((b - a, k)), np.empty((b - a, k), np.int64)
            nearest_by_filter(self.panels, self._tile(Q[some], own[some]), home[some[(b - a) // 2]], k, found, numbers)
            values[some], rows[some] = found, numbers

        map_tiles(tile, len(Q), len(self.X), *TILE)
        return values, rows

    def within(self, Q: Matrix, own: Indices, limit: float, sort: bool = True) -> tuple[Indices, Indices, Doubles]:
        """Rows at a squared distance of at most `limit`: ends (m + 1,), numbers of rows, squared distances."""
        _, order = self._places(Q)

        def listed(a: int, b: int, start: int, hits: HitList) -> bool | int:
            some = order[a:b]
            stop = int(within_by_filter(self.panels, self._tile(Q[some], own[some]), limit, start, hits))
            return stop == len(self.panels.ids) or stop

        return gather_tiles(listed, len(Q), len(self.X), *TILE, room=lambda m: m * LANES, sort=sort, order=order)

    def sums(self, Q: Matrix, own: Indices, limit: float, votes: RowVotes, power: float) -> Doubles:
        """Sums of the votes of rows at a squared distance of at most `limit` (m, sums per query)."""
        (_, order), (placed, _), out = self._places(Q), votes.in_order(self.tree), np.empty((len(Q), votes.size))

        def tile(a: int, b: int) -> None:
            some, found = order[a:b], placed.collector(b - a, LANES, power)
            within_by_filter(self.panels, self._tile(Q[some], own[some]), limit, 0, found)
            out[some] = found.sums

        map_tiles(tile, len(Q), len(self.X), *TILE)
        return out

    def _places(self, Q: Matrix) -> tuple[Indices, Indices]:
        """The leaf that each query ends in, and the queries in the order of leaves."""
        home = leaves_of(self.tree, Q)
        return home, np.argsort(home, kind="stable")

    def _tile(self, Q: Matrix, own: Indices) -> QueryTile:
        m, d = Q.shape
        centred = (Q - self.origin) * self.scale
        norms = np.minimum(squared_norms(centred), MAX_SQUARE)
        centred[norms >= MAX_SQUARE] = 0.0  # not looked at
        C = np.zeros((m, self.panels.width), np.float32)
        C[:, :d] = centred
        single = np.empty((3, m), np.float32)
        return QueryTile(
            Q=Q,
            own=own,
            C=C,
            columns=np.ascontiguousarray(C[:, :d].T),
            norms=norms,
            limits=single[0],
            box_limits=single[1],
            bounds=single[2],
            active=np.empty(m, np.int64),
            V=np.empty(4 * LANES, np.float32),
            near=np.empty(LANES, np.int64),
            squares=np.empty(LANES),
        )
