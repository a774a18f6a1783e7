"""Compiled searches for the best paths of chains, in logs. Of equals the state with the lowest number wins."""

import numpy as np

from fivefold.core.compilation.jit import jit


@jit(error_model="numpy")
def viterbi(start, steps, emission, rows, offsets, first, last, longest, path, value):
    """The best path of sequences first .. last, and its log weight; `longest` positions at most.

    The way forward keeps the largest weights only, which vectorises; the way back looks up where they came from.
    """
    K = len(start)
    several = len(steps) > 1
    V = np.empty((longest, K))
    for s in range(first, last):
        lo, size = offsets[s], offsets[s + 1] - offsets[s]
        for k in range(K):
            V[0, k] = start[k] + emission[rows[lo], k]
        for t in range(1, size):
            A, b, before, now = steps[lo + t if several else 0], emission[rows[lo + t]], V[t - 1], V[t]
            for k in range(K):
                now[k] = before[0] + A[0, k]
            for i in range(1, K):
                v = before[i]
                for k in range(K):
                    u = v + A[i, k]
                    now[k] = u if u > now[k] else now[k]
            for k in range(K):
                now[k] += b[k]
        end = 0
        for k in range(1, K):
            if V[size - 1, k] > V[size - 1, end]:
                end = k
        value[s] = V[size - 1, end]
        path[lo + size - 1] = end
        for t in range(size - 1, 0, -1):
            A, before, source = steps[lo + t if several else 0], V[t - 1], 0
            for i in range(1, K):
                if before[i] + A[i, end] > before[source] + A[source, end]:
                    source = i
            end = source
            path[lo + t - 1] = end


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
