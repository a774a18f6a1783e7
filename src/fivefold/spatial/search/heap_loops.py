"""The k smallest (distance, row) so far, as a heap with the largest on top; equal distances are ordered by row."""

import numpy as np

from fivefold.core.compilation.jit import jit

SHORT_RUN = 16  # pairs that are sorted by insertion
MAX_OPEN_RUNS = 64  # runs that wait to be sorted: the shorter one goes first, so that this is enough for 2^64 pairs


@jit(error_model="numpy")
def push_smaller(values, rows, k, value, row):
    """Put (value, row) in place of the largest of the heap, if it is smaller."""
    if value < values[0] or (value == values[0] and row < rows[0]):
        _sink(values, rows, 0, k, value, row)


@jit(error_model="numpy")
def _sink(values, rows, i, size, value, row):
    """Put (value, row) at place i of a heap of this size, and move it down to where it belongs."""
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size and (
            values[child + 1] > values[child] or (values[child + 1] == values[child] and rows[child + 1] > rows[child])
        ):
            child += 1
        if values[child] < value or (values[child] == value and rows[child] < row):
            break
        values[i], rows[i] = values[child], rows[child]
        i = child
    values[i], rows[i] = value, row


@jit(error_model="numpy")
def sort_heap(values, rows, k):
    """Turn a heap of k pairs into ascending order."""
    for size in range(k - 1, 0, -1):
        value, row = values[size], rows[size]
        values[size], rows[size] = values[0], rows[0]
        _sink(values, rows, 0, size, value, row)


@jit(error_model="numpy")
def sort_pairs(values, rows, n):
    """Put the first n pairs into ascending order, by cuts in two (Hoare); by a heap where many cuts are of no use."""
    lows, highs = np.empty(MAX_OPEN_RUNS, np.int64), np.empty(MAX_OPEN_RUNS, np.int64)
    lows[0], highs[0], size, cuts = 0, n - 1, 1, 0
    while size > 0:
        size -= 1
        lo, hi = lows[size], highs[size]
        while hi - lo >= SHORT_RUN:
            cuts += hi - lo
            if cuts > 4 * n * np.log2(n):
                for start in range(n // 2 - 1, -1, -1):
                    _sink(values, rows, start, n, values[start], rows[start])
                sort_heap(values, rows, n)
                return
            middle = _cut(values, rows, lo, hi)
            if middle - lo < hi - middle:  # the longer part waits: no more than log2(n) do
                lows[size], highs[size], hi = middle + 1, hi, middle
            else:
                lows[size], highs[size], lo = lo, middle, middle + 1
            size += 1
        for i in range(lo + 1, hi + 1):
            value, row, j = values[i], rows[i], i - 1
            while j >= lo and (values[j] > value or (values[j] == value and rows[j] > row)):
                values[j + 1], rows[j + 1] = values[j], rows[j]
                j -= 1
            values[j + 1], rows[j + 1] = value, row


@jit(error_model="numpy")
def _cut(values, rows, lo, hi):
    """Rearrange places lo..hi, ends included, so that no pair up to the place that is returned is after a later one."""
    a, b, c = values[lo], values[(lo + hi) // 2], values[hi]
    pivot = max(min(a, b), min(max(a, b), c))
    row = rows[lo] if pivot == a else rows[(lo + hi) // 2] if pivot == b else rows[hi]
    i, j = lo - 1, hi + 1
    while True:
        i += 1
        while values[i] < pivot or (values[i] == pivot and rows[i] < row):
            i += 1
        j -= 1
        while values[j] > pivot or (values[j] == pivot and rows[j] > row):
            j -= 1
        if i >= j:
            return j
        values[i], values[j] = values[j], values[i]
        rows[i], rows[j] = rows[j], rows[i]
