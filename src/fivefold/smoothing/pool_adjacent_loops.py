"""Pool adjacent violators: the monotone sequence closest to a weighted one, in one pass."""

from __future__ import annotations

from fivefold.core.compilation.jit import jit


@jit(error_model="numpy")
def merge_ties(x, y, w, tolerance):
    """Sorted x that differ by less than `tolerance` from the first of their run become one, with the mean y and the
    sum of w; returns how many are left, at the front of each array.
    """
    m = 0
    total = y[0] * w[0]
    for i in range(1, len(x)):
        if x[i] - x[m] >= tolerance and x[i] > x[m]:
            y[m] = total / w[m]
            m += 1
            x[m] = x[i]
            w[m] = w[i]
            total = y[i] * w[i]
        else:
            w[m] += w[i]
            total += y[i] * w[i]
    y[m] = total / w[m]
    return m + 1


@jit(error_model="numpy")
def pool_adjacent_violators(y, w, ends, m):
    """Replace y[:m] by the closest increasing sequence under the weights w; w and `ends` are overwritten.

    Blocks are kept at the front: the mean of each in y, its weight in w, and where it ends in `ends`. A new entry that
    is not above the last block is merged into it, and the result with blocks before, as long as they do not rise.
    """
    blocks = 0
    for i in range(m):
        mean, weight = y[i], w[i]
        while blocks > 0 and y[blocks - 1] >= mean:
            blocks -= 1
            weight += w[blocks]
            mean += (y[blocks] - mean) * (w[blocks] / weight)
        y[blocks] = mean
        w[blocks] = weight
        ends[blocks] = i + 1
        blocks += 1
    stop = m
    for block in range(blocks - 1, -1, -1):
        start = ends[block - 1] if block > 0 else 0
        mean = y[block]
        for i in range(start, stop):
            y[i] = mean
        stop = start
