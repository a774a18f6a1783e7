"""Sorting within compiled loops: numbers with what belongs to them."""

from __future__ import annotations

from fivefold.core.compile import jit
from fivefold.partition.splitter import INNER


@jit(**INNER)
def heap_sort(keys, items, lo, hi):
    """Sort keys[lo:hi], and items[lo:hi] with them, upwards; equal keys by their items (Williams, 1964)."""
    begin, end = lo + (hi - lo) // 2, hi
    while end > lo + 1:
        if begin > lo:  # a heap is made first
            begin -= 1
        else:  # then its largest entry goes to the end
            end -= 1
            keys[lo], keys[end] = keys[end], keys[lo]
            items[lo], items[end] = items[end], items[lo]
        at, key, item = begin, keys[begin], items[begin]
        child = 2 * at - lo + 1
        while child < end:
            a = child + 1
            if a < end and (keys[child] < keys[a] or (keys[child] == keys[a] and items[child] < items[a])):
                child = a
            if key > keys[child] or (key == keys[child] and item >= items[child]):
                break
            keys[at], items[at] = keys[child], items[child]
            at, child = child, 2 * child - lo + 1
        keys[at], items[at] = key, item
