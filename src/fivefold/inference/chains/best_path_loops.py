"""Compiled searches for the best paths of chains, in logs. Of equals the state with the lowest number wins."""

import numpy as np

from fivefold.core.compilation.jit import jit


@jit(error_model="numpy")
def viterbi(start, steps, emission, rows, offsets, first, last, longest, path, value):
    """The best path of sequences first .. last, and its log weight; `longest` positions at most."""
    K = len(start)
    several = len(steps) > 1
    before = np.empty((longest, K), dtype=np.int16)
    now, best, source = np.empty(K), np.empty(K), np.empty(K, dtype=np.int64)
    for s in range(first, last):
        lo, size = offsets[s], offsets[s + 1] - offsets[s]
        for k in range(K):
            now[k] = start[k] + emission[rows[lo], k]
        for t in range(1, size):
            A, b = steps[lo + t if several else 0], emission[rows[lo + t]]
            for k in range(K):
                best[k] = -np.inf
                source[k] = 0
            for i in range(K):
                v = now[i]
                for k in range(K):
                    u = v + A[i, k]
                    better = u > best[k]
                    best[k] = u if better else best[k]
                    source[k] = i if better else source[k]
            for k in range(K):
                before[t, k] = source[k]
                now[k] = best[k] + b[k]
        end = 0
        for k in range(1, K):
            if now[k] > now[end]:
                end = k
        value[s] = now[end]
        for t in range(size - 1, -1, -1):
            path[lo + t] = end
            end = before[t, end] if t > 0 else 0


@jit(error_model="numpy")
def best_paths(start, steps, emission, rows, lo, hi, paths, values):
    """The best len(paths) paths of positions lo .. hi, best first; the log weight of one that does not exist is -inf.

    Each state keeps a sorted list of the best paths that end in it: their weights, and where each came from (the state
    before times the length of a list, plus the place in its list).
    """
    K, count, size = len(start), len(paths), hi - lo
    several = len(steps) > 1
    source = np.zeros((size, K, count), dtype=np.int64)
    now, new = np.full((K, count), -np.inf), np.empty((K, count))
    for k in range(K):
        now[k, 0] = start[k] + emission[rows[lo], k]
    for t in range(1, size):
        A = steps[lo + t if several else 0]
        new[:] = -np.inf
        for k in range(K):
            for i in range(K):
                for j in range(count):
                    if not _insert(new[k], source[t, k], now[i, j] + A[i, k], i * count + j):
                        break
            for j in range(count):
                new[k, j] += emission[rows[lo + t], k]
        now, new = new, now
    ends = np.zeros(count, dtype=np.int64)
    for k in range(K):
        for j in range(count):
            if not _insert(values, ends, now[k, j], k * count + j):
                break
    for c in range(count):
        at = ends[c]
        for t in range(size - 1, -1, -1):
            paths[c, t] = at // count
            at = source[t, at // count, at % count]


@jit(error_model="numpy")
def _insert(values, labels, value, label):
    """Put a value into a sorted list, after its equals, if it belongs there; does it?"""
    at = len(values) - 1
    if not value > values[at]:
        return False
    while at > 0 and value > values[at - 1]:
        values[at], labels[at] = values[at - 1], labels[at - 1]
        at -= 1
    values[at], labels[at] = value, label
    return True
