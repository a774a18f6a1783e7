"""Sorting within compiled loops: keys, and items that move with them."""

from __future__ import annotations

from fivefold.core.compilation.jit import jit

MAX_INSERTION_RUN = 16  # entries: shorter runs are sorted by insertion


@jit
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


@jit
def quick_sort(keys, items, m, stack):
    """Sort keys[:m], and items[:m] with them, upwards; no key is NaN; `stack` has room for 128 places (Hoare, 1962)."""
    stack[0] = 0
    stack[1] = m - 1
    top = 2
    while top > 0:
        top -= 2
        lo, hi = stack[top], stack[top + 1]
        while hi - lo > MAX_INSERTION_RUN:
            i, j, pivot = lo, hi, keys[(lo + hi) >> 1]
            while i <= j:
                while keys[i] < pivot:
                    i += 1
                while keys[j] > pivot:
                    j -= 1
                if i <= j:
                    key, item = keys[i], items[i]
                    keys[i] = keys[j]
                    items[i] = items[j]
                    keys[j] = key
                    items[j] = item
                    i += 1
                    j -= 1
            if j - lo < hi - i:  # the shorter part first: the stack stays below log2(m)
                stack[top] = i
                stack[top + 1] = hi
                hi = j
            else:
                stack[top] = lo
                stack[top + 1] = j
                lo = i
            top += 2
        for i in range(lo + 1, hi + 1):
            key, item, j = keys[i], items[i], i - 1
            while j >= lo and keys[j] > key:
                keys[j + 1] = keys[j]
                items[j + 1] = items[j]
                j -= 1
            keys[j + 1] = key
            items[j + 1] = item
