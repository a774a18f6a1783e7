"""The k smallest (distance, row) so far, as a heap with the largest on top; equal distances are ordered by row."""

from fivefold.core.compilation.jit import jit


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
    """Put the first n pairs into ascending order."""
    for start in range(n // 2 - 1, -1, -1):
        _sink(values, rows, start, n, values[start], rows[start])
    sort_heap(values, rows, n)
