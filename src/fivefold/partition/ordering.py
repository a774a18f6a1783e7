"""Sorting within compiled loops: numbers with what belongs to them."""

from __future__ import annotations

from fivefold.core.compile import jit
from fivefold.partition.splitter import INNER


@jit(**INNER)
def heap_sort(keys, items, lo, hi):
    """Sort keys[lo:hi], and items[lo:hi] with them, upwards; equal keys by their items (Williams, 1964)."""
    m = hi - lo
    for root in range(m // 2 - 1, -1, -1):
        _sift(keys, items, lo, root, m)
    for last in range(m - 1, 0, -1):
        keys[lo], keys[lo + last] = keys[lo + last], keys[lo]
        items[lo], items[lo + last] = items[lo + last], items[lo]
        _sift(keys, items, lo, 0, last)


@jit(**INNER)
def _sift(keys, items, lo, root, m):
    """Let the entry at `root` sink below those that are larger."""
    key, item = keys[lo + root], items[lo + root]
    child = 2 * root + 1
    while child < m:
        a = lo + child
        if child + 1 < m and (keys[a] < keys[a + 1] or (keys[a] == keys[a + 1] and items[a] < items[a + 1])):
            child += 1
            a += 1
        if not (key < keys[a] or (key == keys[a] and item < items[a])):
            break
        keys[lo + root], items[lo + root] = keys[a], items[a]
        root, child = child, 2 * child + 1
    keys[lo + root], items[lo + root] = key, item
