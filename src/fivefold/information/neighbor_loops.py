"""Compiled loops over one or two columns: distances to the k-th neighbour, and counts within a distance.

In the plane, points lie in strips along one coordinate, sorted by the other within each: a walk from a point to both
sides ends where the difference in the sorted coordinate alone exceeds the k-th smallest distance so far, and so does
the visit of further strips.
"""

import numpy as np

from fivefold.core.compilation.jit import jit


@jit
def kth_distances_line(x, k, out):
    """out[i] = distance of the ascending x[i] to its k-th nearest other entry: a window of k + 1 entries slides."""
    n = len(x)
    start = 0
    for i in range(n):
        start = max(start, i - k)
        # the next window is better if its far end is nearer than the near end that it drops
        while start + k + 1 < n and start < i and x[start + k + 1] - x[i] < x[i] - x[start]:
            start += 1
        out[i] = max(x[i] - x[start], x[start + k] - x[i])


@jit
def counts_line(x, radius, which, out):
    """out[which[i]] = entries of the ascending x within radius[which[i]] of x[i], itself included."""
    n = len(x)
    for i in range(n):
        r = radius[which[i]]
        a, b = 0, i  # the first entry within r of x[i] lies in a..b
        while a < b:
            middle = (a + b) // 2
            if x[i] - x[middle] <= r:
                b = middle
            else:
                a = middle + 1
        c, e = i, n - 1  # the last one in c..e
        while c < e:
            middle = (c + e + 1) // 2
            if x[middle] - x[i] <= r:
                c = middle
            else:
                e = middle - 1
        out[which[i]] = c - a + 1


@jit
def first_at_least(y, a, b, value):
    """The first place of the ascending y[a:b] that holds at least this value; b if none does."""
    while a < b:
        middle = (a + b) // 2
        if y[middle] < value:
            a = middle + 1
        else:
            b = middle
    return a


@jit
def walk_strip(x, y, i, a, b, start, k, nearest):
    """Put the distances of point i to the points a..b of a strip, y ascending, among its k nearest ones."""
    left, right = start - 1, start
    while True:
        dl = y[i] - y[left] if left >= a else np.inf
        dr = y[right] - y[i] if right < b else np.inf
        near, other = dl, left
        if dr < dl:
            near, other = dr, right
            right += 1
        else:
            left -= 1
        if not near < nearest[k - 1]:
            return
        distance = max(near, abs(x[other] - x[i]))
        m = k - 1
        if other != i and distance < nearest[m]:
            while m > 0 and nearest[m - 1] > distance:
                nearest[m] = nearest[m - 1]
                m -= 1
            nearest[m] = distance


@jit
def kth_distances_plane(x, y, width, lo, hi, k, nearest, low, high, out):
    """out[i] = distance, in the larger of both coordinates, of point i to its k-th nearest other, for lo <= i < hi.

    Points come in strips of `width`, the strips by ascending x, the points of a strip by ascending y; low and high are
    the least and the largest x of each strip.
    """
    n, strips = len(x), len(low)
    for i in range(lo, hi):
        for m in range(k):
            nearest[m] = np.inf
        own = i // width
        walk_strip(x, y, i, own * width, min(n, (own + 1) * width), i, k, nearest)
        left, right = own - 1, own + 1
        while True:
            dl = x[i] - high[left] if left >= 0 else np.inf
            dr = low[right] - x[i] if right < strips else np.inf
            near, strip = dl, left
            if dr < dl:
                near, strip = dr, right
                right += 1
            else:
                left -= 1
            if not near < nearest[k - 1]:
                break
            a, b = strip * width, min(n, (strip + 1) * width)
            walk_strip(x, y, i, a, b, first_at_least(y, a, b, y[i]), k, nearest)
        out[i] = nearest[k - 1]
