"""Queries in tiles on the threads, and rows within a radius gathered from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fivefold.core.parallel import map_items
from fivefold.core.types import Doubles, Indices
from fivefold.spatial.search.brute_force_loops import arrange_hits

TILES = 32  # tiles that are enough for all threads
SMALL_WORK = 1 << 17  # pairs of a query and a row that are not worth several threads
FIRST_HITS = 1 << 16  # places for rows within a radius, per tile, at most: where they are too few, it is searched again


def map_tiles(tile: Callable[[int, int], None], m: int, n: int, least: int, most: int) -> None:
    """tile(a, b) for all tiles of range(m) on the threads, of `least` to `most` queries that meet up to n rows."""
    size = m if m * n <= SMALL_WORK else max(least, min(m // TILES, most))
    if m <= size:
        if m:
            tile(0, m)
        return
    map_items(lambda i: tile(i * size, min((i + 1) * size, m)), -(-m // size))


def gather_tiles(listed: Callable[..., int], m: int, n: int, least: int, most: int) -> tuple[Indices, Indices, Doubles]:
    """Ends (m + 1,), rows and distances from `listed(a, b, hits, found, counts)`, which lists those of a tile."""
    parts: list[Any] = []

    def tile(a: int, b: int) -> None:
        counts, room = np.empty(b - a, np.int64), min(FIRST_HITS, (b - a) * n)
        while True:
            hits, found = np.empty((room, 2), np.int64), np.empty(room)
            total = int(listed(a, b, hits, found, counts))
            if total <= room:
                break
            room = total
        ends = _ends(counts)
        values, rows = np.empty(total), np.empty(total, np.int64)
        arrange_hits(hits, found, total, ends, values, rows)
        parts.append((a, counts, rows, values))

    map_tiles(tile, m, n, least, most)
    return join_parts(parts)


def join_parts(parts: list[Any]) -> tuple[Indices, Indices, Doubles]:
    """Ends, rows and distances of all queries from (first query, counts, rows, distances) of tiles."""
    if not parts:
        return np.zeros(1, np.int64), np.empty(0, np.int64), np.empty(0)
    _, counts, rows, values = zip(*sorted(parts, key=lambda part: part[0]), strict=True)
    if len(parts) == 1:
        return _ends(counts[0]), rows[0], values[0]
    return _ends(np.concatenate(counts)), np.concatenate(rows), np.concatenate(values)


def _ends(counts: Indices) -> Indices:
    ends = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=ends[1:])
    return ends


def reorder(ends: Indices, rows: Indices, values: Doubles, order: Indices) -> tuple[Indices, Indices, Doubles]:
    """Neighbours of queries that were asked in this order, in the order in which they were given."""
    counts = np.diff(ends)
    given = np.empty_like(counts)
    given[order] = counts
    new = _ends(given)
    place = np.repeat(new[:-1][order] - ends[:-1], counts) + np.arange(len(rows))
    out_rows, out_values = np.empty_like(rows), np.empty_like(values)
    out_rows[place], out_values[place] = rows, values
    return new, out_rows, out_values
