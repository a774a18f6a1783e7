"""Search down a tree of rows, by any rule, in double precision; queries in tiles on the threads.

Minkowski's distances are bounded by boxes, also in a ball tree, as boxes are tighter; the others by balls.
"""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import numpy as np

from fivefold.core.parallel import map_items
from fivefold.core.types import Array, Doubles, Indices, Matrix
from fivefold.spatial.metrics.metric import VectorMetric
from fivefold.spatial.metrics.rule_loops import MinkowskiRule
from fivefold.spatial.search.hit_loops import HitList, HitPlaces, arrange_hits
from fivefold.spatial.search.query_tiles import ends_of, gather_tiles, map_tiles
from fivefold.spatial.search.row_votes import RowVotes
from fivefold.spatial.search.tree import RowTree, build_tree, leaves_of
from fivefold.spatial.search.tree_search_loops import (
    BALLS,
    BOXES,
    NOTHING,
    SearchTree,
    ball_radii,
    count_in_tree,
    nearest_in_tree,
    within_in_tree,
)

TreeKind = Literal["kd_tree", "ball_tree"]
TREE_PAIRS = 300  # rows that a query down a tree is compared with, about
TILE = 64, 4096  # queries that a thread takes at once, at least and at most
# rows within a radius, on average over a sample of queries, from which counting them first costs less than memory for
# lists of them
MANY_HITS, SAMPLE_QUERIES = 150, 32
MIN_SORTED_QUERIES = 1024  # queries from which it pays to ask near ones one after the other


class TreeSearch:
    """Rows in a tree whose leaves are on level `depth`."""

    def __init__(self, metric: VectorMetric, coordinates: Matrix, kind: TreeKind, depth: int) -> None:
        self.rule, self.X, self.triangle, self.depth = metric.rule, coordinates, metric.triangle, depth
        self.boxes = isinstance(metric.rule, MinkowskiRule)
        self.visits = np.zeros(3, np.int64)  # nodes passed over, leaves and inner nodes visited, by `nearest`
        if kind == "kd_tree" and not self.boxes:
            raise ValueError(f"a kd-tree takes Minkowski's distances only, and not {metric.name!r}; a ball tree does")

    @cached_property
    def rows(self) -> RowTree:
        """The tree itself."""
        return build_tree(self.X, self.depth)

    @cached_property
    def tree(self) -> SearchTree:
        """The tree as loops see it."""
        rows = self.rows
        bounds = BOXES if self.boxes else BALLS if self.triangle else NOTHING
        centres, radius = self.balls if bounds == BALLS else (np.empty((0, self.X.shape[1], 1)), np.empty(0))
        return SearchTree(bounds, rows.ends, rows.low, rows.high, centres, radius, rows.Z, rows.ids)

    @cached_property
    def balls(self) -> tuple[Doubles, Doubles]:
        """Centres (nodes, d, 1), the means of nodes, and radii (nodes,)."""
        rows = self.rows
        nodes, d = rows.low.shape
        origin, lo, hi = self.X.mean(axis=0), rows.ends[:, 0], rows.ends[:, 1]
        sums = np.zeros((len(self.X) + 1, d))
        np.cumsum(self.X[rows.order] - origin, axis=0, out=sums[1:])
        centres, radius = (
            (origin + (sums[hi] - sums[lo]) / np.maximum(hi - lo, 1)[:, None])[:, :, None],
            np.empty(nodes),
        )
        tree = SearchTree(BALLS, rows.ends, rows.low, rows.high, centres, radius, rows.Z, rows.ids)
        cuts, width = np.linspace(0, nodes, min(nodes, 16) + 1).astype(int), rows.Z.shape[2]
        map_items(lambda i: ball_radii(self.rule, tree, cuts[i], cuts[i + 1], np.empty(width)), len(cuts) - 1)
        return centres, radius

    def nearest(self, Q: Matrix, own: Indices, k: int) -> tuple[Doubles, Indices]:
        """Reduced distances and numbers of the k nearest rows of each query (m, k); row own[i] is left out for i."""
        values, rows, order = np.empty((len(Q), k)), np.empty((len(Q), k), np.int64), self._order(Q)
        tree, visits = self.tree, np.zeros((len(Q), 3), np.int64)

        def tile(a: int, b: int) -> None:
            scratch = (*self._scratch(), visits[a])
            nearest_in_tree(self.rule, tree, Q, own, order[a:b], k, *scratch, values, rows)

        map_tiles(tile, len(Q), TREE_PAIRS, *TILE)
        self.visits += visits.sum(axis=0)
        return values, rows

    def within(
        self, Q: Matrix, own: Indices, limit: float | Array, sort: bool = True
    ) -> tuple[Indices, Indices, Doubles]:
        """Rows at a reduced distance of at most `limit`: ends (m + 1,), numbers of rows, reduced distances."""
        order, tree = self._order(Q), self.tree
        Q, own, limits = Q[order], own[order], np.broadcast_to(np.asarray(limit, np.float64), len(Q))[order]
        some = slice(None, None, max(1, len(Q) // SAMPLE_QUERIES))
        if len(Q) > SAMPLE_QUERIES and (own < 0).all() and self.count(Q[some], limits[some]).mean() > MANY_HITS:
            return self._counted_within(Q, own, limits, order, sort)

        def listed(a: int, b: int, start: int, hits: HitList) -> bool | int:
            work, stack, _ = self._scratch()
            stop = int(within_in_tree(self.rule, tree, Q[a:b], own[a:b], limits[a:b], start, work, stack, hits))
            return stop == b - a or stop

        most = len(self.X) + tree.Z.shape[2]  # no query has more neighbours
        return gather_tiles(listed, len(Q), TREE_PAIRS, *TILE, room=lambda m: most, sort=sort, order=order)

    def _counted_within(
        self, Q: Matrix, own: Indices, limits: Doubles, order: Indices, sort: bool
    ) -> tuple[Indices, Indices, Doubles]:
        """The same for queries in this order, counted first, so that hits are written to where they belong."""
        counts, tree = self.count(Q, limits), self.tree
        given = np.empty_like(counts)
        given[order] = counts
        ends = ends_of(given)
        rows, values = np.empty(ends[-1], np.int64), np.empty(ends[-1])

        def tile(a: int, b: int) -> None:
            work, stack, _ = self._scratch()
            starts, upto = ends[:-1][order[a:b]], ends[1:][order[a:b]]
            places = HitPlaces(upto, rows, values, starts.copy())
            within_in_tree(self.rule, tree, Q[a:b], own[a:b], limits[a:b], 0, work, stack, places)
            if sort:
                arrange_hits(starts, counts[a:b], rows, values)

        map_tiles(tile, len(Q), TREE_PAIRS, *TILE)
        return ends, rows, values

    def sums(self, Q: Matrix, own: Indices, limit: float, votes: RowVotes, power: float) -> Doubles:
        """Sums of the votes of rows at a reduced distance of at most `limit` (m, sums per query)."""
        order, tree, out = self._order(Q), self.tree, np.empty((len(Q), votes.size))
        Q, own, limits = Q[order], own[order], np.full(len(Q), limit, np.float64)
        placed, nodes = votes.in_order(self.rows)

        def tile(a: int, b: int) -> None:
            work, stack, _ = self._scratch()
            found = placed.collector(b - a, len(work), power, nodes)
            within_in_tree(self.rule, tree, Q[a:b], own[a:b], limits[a:b], 0, work, stack, found)
            out[order[a:b]] = found.sums

        map_tiles(tile, len(Q), TREE_PAIRS, *TILE)
        return out

    def count(self, Q: Matrix, limit: float | Array) -> Indices:
        """How many rows are at a reduced distance of at most `limit` of each query (m,)."""
        limits, counts = np.broadcast_to(np.asarray(limit, np.float64), len(Q)).copy(), np.empty(len(Q), np.int64)
        tree = self.tree

        def tile(a: int, b: int) -> None:
            work, stack, _ = self._scratch()
            count_in_tree(self.rule, tree, Q[a:b], limits[a:b], work, stack, counts[a:b])

        map_tiles(tile, len(Q), TREE_PAIRS, *TILE)
        return counts

    def _order(self, Q: Matrix) -> Indices:
        """An order in which near queries follow each other; as they are, where they are few."""
        if len(Q) < MIN_SORTED_QUERIES:
            return np.arange(len(Q))
        return self.rows.order if Q is self.X else np.argsort(leaves_of(self.rows, Q), kind="stable")

    def _scratch(self) -> tuple[Doubles, Indices, Doubles]:
        size = 2 * self.depth + 4
        return np.empty(max(self.rows.Z.shape[2], self.X.shape[1])), np.empty(size, np.int64), np.empty(size)
