"""Search by distances that come in blocks: from functions of objects, from sparse rows, or from a table of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fivefold.core.parallel import map_items
from fivefold.core.types import Doubles, Indices, Matrix
from fivefold.spatial.search.block_loops import nearest_in_block, within_in_block
from fivefold.spatial.search.hit_loops import HitList
from fivefold.spatial.search.query_tiles import gather_tiles
from fivefold.spatial.search.row_votes import RowVotes

BLOCK_NUMBERS = 1 << 22  # distances per block: 32 MB


class BlockRows:
    """Objects whose distances to queries a..b come as a block (b - a, n)."""

    def __init__(self, block: Callable[[Any, int, int], Matrix], n: int) -> None:
        self.block, self.n = block, n

    def nearest(self, Q: Any, own: Indices, k: int) -> tuple[Doubles, Indices]:
        """Distances and numbers of the k nearest objects of each query (m, k); own[i] is left out for query i."""
        m = len(own)
        values, rows = np.empty((m, k)), np.empty((m, k), np.int64)

        def tile(a: int, b: int) -> None:
            nearest_in_block(self._distances(Q, a, b), own[a:b], k, values[a:b], rows[a:b])

        self._map_blocks(tile, m)
        return values, rows

    def within(self, Q: Any, own: Indices, limit: float, sort: bool = True) -> tuple[Indices, Indices, Doubles]:
        """Objects at a distance of at most `limit`: ends (m + 1,), their numbers, distances."""
        m, ids = len(own), np.arange(self.n)
        size = max(1, BLOCK_NUMBERS // max(self.n, 1))

        def listed(a: int, b: int, start: int, hits: HitList) -> bool | int:
            within_in_block(self._distances(Q, a, b), own[a:b], ids, limit, start, hits)
            return True

        return gather_tiles(listed, m, self.n, size, size, room=lambda m: m * self.n, sort=sort)

    def sums(self, Q: Any, own: Indices, limit: float, votes: RowVotes, power: float) -> Doubles:
        """Sums of the votes of objects at a distance of at most `limit` (m, sums per query)."""
        out, ids = np.empty((len(own), votes.size)), np.arange(self.n)

        def tile(a: int, b: int) -> None:
            found = votes.collector(b - a, self.n, power)
            within_in_block(self._distances(Q, a, b), own[a:b], ids, limit, 0, found)
            out[a:b] = found.sums

        self._map_blocks(tile, len(own))
        return out

    def distances(self, Q: Any, m: int) -> Doubles:
        """All distances (m, n)."""
        out = np.empty((m, self.n))

        def tile(a: int, b: int) -> None:
            out[a:b] = self.block(Q, a, b)

        self._map_blocks(tile, m)
        return out

    def _distances(self, Q: Any, a: int, b: int) -> Doubles:
        return np.ascontiguousarray(self.block(Q, a, b), dtype=np.float64)

    def _map_blocks(self, tile: Callable[[int, int], None], m: int) -> None:
        size = max(1, BLOCK_NUMBERS // max(self.n, 1))
        map_items(lambda i: tile(i * size, min((i + 1) * size, m)), -(-m // size))
