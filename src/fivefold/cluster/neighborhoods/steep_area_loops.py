"""Compiled search for the clusters of a reachability plot: dents between a steep way down and a steep way up.

A point is steep downward if the next reachability is at least a share xi below its own, steep upward if its own is as
much below the next. A steep area starts and ends with steep points, goes one way only, and has no more than
`min_samples` points in a row that are not steep. A cluster goes from a steep area downward to one upward, is nowhere
between as high as at its ends, and is cut so that both ends are at about the same height.

Ankerst, Breunig, Kriegel & Sander (1999), section 4.3, with the inequality of definition 9 and that of 11.4c turned
around, as they must be; Schubert & Gertz (2018), algorithm 2, for predecessors.
"""

import numpy as np

from fivefold.core.compilation.jit import jit

DOWN, FLAT, UP = -1, 0, 1  # which way the plot goes after a point


@jit(error_model="numpy")
def _ways(r, keep, way, steep):
    """The way that the plot goes after each point, and whether it is steep."""
    for i in range(len(way)):
        ratio = r[i] / r[i + 1]  # of two infinities it is not a number, and neither comparison holds
        way[i] = DOWN if ratio > 1 else UP if ratio < 1 else FLAT
        steep[i] = UP if ratio <= keep else DOWN if ratio >= 1 / keep else FLAT


@jit(error_model="numpy")
def _end_of_area(way, steep, start, kind, min_samples):
    """The last steep point of the steep area from `start` on."""
    end, pause = start, 0
    for i in range(start, len(way)):
        if steep[i] == kind:
            end, pause = i, 0
        elif way[i] == -kind:
            break
        else:
            pause += 1
            if pause > min_samples:
                break
    return end


@jit(error_model="numpy")
def _within_predecessors(r, place, first, last):
    """Shorten a cluster until its last row was reached from a row inside it, or lies below its first; -1 if none is."""
    while first < last:
        if r[first] > r[last] or first <= place[last] < last:
            return last
        last -= 1
    return -1


@jit(error_model="numpy")
def steep_clusters(r, place, xi, min_samples, min_cluster_size, correct):
    """First and last places (K, 2) of the clusters of a plot, smaller ones before those around them.

    r (n + 1,) is the reachability in the order of visits, closed by infinity; place (n,) that of the predecessor.
    """
    n, keep = len(r) - 1, 1 - xi
    way, steep = np.empty(n, np.int64), np.empty(n, np.int64)
    _ways(r, keep, way, steep)
    starts, ends, highs = (
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n),
    )  # areas downward, highest after each
    found, areas, place_now, high = [(0, 0)], 0, 0, 0.0
    for i in range(n):
        if i < place_now or steep[i] == FLAT:
            continue
        for k in range(place_now, i + 1):
            high = max(high, r[k])
        kept = 0
        for k in range(areas):
            if high < np.inf and high <= r[starts[k]] * keep:
                starts[kept], ends[kept], highs[kept] = starts[k], ends[k], max(highs[k], high)
                kept += 1
        areas, last = kept, _end_of_area(way, steep, i, steep[i], min_samples)
        if steep[i] == DOWN:
            starts[areas], ends[areas], highs[areas] = i, last, 0.0
            areas += 1
        else:
            for k in range(areas - 1, -1, -1):  # the shortest first
                a, b, top = starts[k], last, r[starts[k]]
                if r[last + 1] * keep < highs[k]:
                    continue
                if top * keep >= r[last + 1]:
                    while r[a + 1] > r[last + 1] and a < ends[k]:
                        a += 1
                elif r[last + 1] * keep >= top:
                    while r[b - 1] > top and b > i:
                        b -= 1
                if correct:
                    b = _within_predecessors(r, place, a, b)
                if b >= i and b - a + 1 >= min_cluster_size:
                    found.append((a, b))
        place_now, high = last + 1, r[last + 1]
    out = np.empty((len(found) - 1, 2), np.int64)
    for k in range(len(out)):
        out[k, 0], out[k, 1] = found[k + 1]
    return out


@jit(error_model="numpy")
def label_smallest(order, clusters, labels):
    """Number the clusters that hold no other one, in the order in which they end; -1 for rows of none."""
    labels[:] = -1
    count = 0
    for k in range(len(clusters)):
        first, last = clusters[k, 0], clusters[k, 1]
        inside = False
        for t in range(first, last + 1):
            if labels[order[t]] != -1:
                inside = True
                break
        if not inside:
            for t in range(first, last + 1):
                labels[order[t]] = count
            count += 1
