"""Queries in tiles on the threads, and rows within a radius gathered from them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fivefold.core.parallel import map_items
from fivefold.core.types import Doubles, Indices
from fivefold.spatial.search.hit_loops import HitList, arrange_hits, place_hits

TILES = 32  # tiles that are enough for all threads
SMALL_WORK = 1 << 17  # pairs of a query and a row that are not worth several threads
FIRST_HITS, MORE_HITS = 1 << 16, 1 << 19  # places in the first list of rows within a radius of a tile, and in others


def map_tiles(tile: Callable[[int, int], None], m: int, n: int, least: int, most: int) -> None:
    """tile(a, b) for all tiles of range(m) on the threads, of `least` to `most` queries that meet up to n rows."""
    size = m if m * n <= SMALL_WORK else max(least, min(m // TILES, most))
    if m <= size:
        if m:
            tile(0, m)
        return
    map_items(lambda i: tile(i * size, min((i + 1) * size, m)), -(-m // size))


def gather_tiles(
    listed: Callable[[int, int, int, HitList], int],
    m: int,
    n: int,
    least: int,
    most: int,
    *,
    room: Callable[[int], int],
    sort: bool,
    order: Indices | None = None,
) -> tuple[Indices, Indices, Doubles]:
    """Ends (m + 1,), rows and reduced distances of all queries, in the order of distances if asked for.

    `listed(a, b, start, hits)` lists hits of the tile a..b, of queries that are asked in this order, from a step of its
    own on, at first 0: True when it is through, or the step to go on with in another list, as this one is full.
    `room`: hits that a list must have room for, by the number of queries in a tile.
    """
    parts: list[tuple[int, Indices, list[HitList]]] = []

    def tile(a: int, b: int) -> None:
        counts, lists, step = np.zeros(b - a, np.int64), list[HitList](), 0
        size = max(least_room := room(b - a), min(FIRST_HITS, (b - a) * n))
        while step is not True:
            hits = HitList(
                np.empty(size, np.int32), np.empty(size, np.int64), np.empty(size), counts, np.zeros(1, np.int64)
            )
            step = listed(a, b, step, hits)
            lists.append(hits)
            size = max(least_room, MORE_HITS)
        parts.append((a, counts, lists))

    map_tiles(tile, m, n, least, most)
    asked, given = np.empty(m, np.int64), np.empty(m, np.int64)
    for a, counts, _ in parts:
        asked[a : a + len(counts)] = counts
    given[slice(None) if order is None else order] = asked
    ends = ends_of(given)
    rows, values = np.empty(ends[-1], np.int64), np.empty(ends[-1])

    def place(i: int) -> None:
        a, counts, lists = parts[i]
        starts = ends[a : a + len(counts)] if order is None else ends[order[a : a + len(counts)]]
        cursor = starts.copy()
        while lists:
            hits = lists.pop(0)
            size = hits.size[0]
            place_hits(hits.queries[:size], hits.rows[:size], hits.values[:size], cursor, rows, values)
        if sort:
            arrange_hits(starts, counts, rows, values)

    if len(parts) == 1:
        place(0)
    else:
        map_items(place, len(parts))
    return ends, rows, values


def ends_of(counts: Indices) -> Indices:
    """Where the entries of each query begin and end, if they follow each other (m + 1,)."""
    ends = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=ends[1:])
    return ends
