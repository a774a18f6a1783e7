"""Search by distances that come in blocks: from functions of objects, from sparse rows, or from a table of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fivefold.core.parallel import map_items
from fivefold.core.types import Doubles, Indices, Matrix
from fivefold.spatial.search.block_loops import nearest_in_block, within_in_block
from fivefold.spatial.search.query_tiles import join_parts

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

    def within(self, Q: Any, own: Indices, limit: float) -> tuple[Indices, Indices, Doubles]:
        """Objects at a distance of at most `limit`: ends (m + 1,), their numbers, distances."""
        m = len(own)
        parts: list[Any] = []

        def tile(a: int, b: int) -> None:
            D, counts = self._distances(Q, a, b), np.empty(b - a, np.int64)
            total = int((limit >= D).sum())
            values, rows = np.empty(total), np.empty(total, np.int64)
            within_in_block(D, own[a:b], limit, counts, values, rows)
            total = int(counts.sum())
            parts.append((a, counts, rows[:total], values[:total]))

        self._map_blocks(tile, m)
        return join_parts(parts)

    def _distances(self, Q: Any, a: int, b: int) -> Doubles:
        return np.ascontiguousarray(self.block(Q, a, b), dtype=np.float64)

    def _map_blocks(self, tile: Callable[[int, int], None], m: int) -> None:
        size = max(1, BLOCK_NUMBERS // max(self.n, 1))
        map_items(lambda i: tile(i * size, min((i + 1) * size, m)), -(-m // size))
