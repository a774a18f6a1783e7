"""Compiled searches for the best paths of chains, in logs. Of equals the state with the lowest number wins."""

import numpy as np

from fivefold.core.compilation.jit import jit

WITH_INFINITY = frozenset({"nnan", "nsz"})  # logs may be minus infinity, and are never NaN


@jit(fastmath=WITH_INFINITY, error_model="numpy")
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
            _step(V[t - 1], steps[lo + t if several else 0], emission[rows[lo + t]], V[t])
        end = 0
        for k in range(1, K):
            if V[size - 1, k] > V[size - 1, end]:
                end = k
        value[s] = V[size - 1, end]
        path[lo + size - 1] = end
        for t in range(size - 1, 0, -1):
            A, before = steps[lo + t if several else 0], V[t - 1]
            source, best = 0, before[0] + A[0, end]
            for i in range(1, K):
                u = before[i] + A[i, end]
                source = i if u > best else source
                best = u if u > best else best
            end = source
            path[lo + t - 1] = end


@jit(fastmath=WITH_INFINITY, error_model="numpy")
def _step(before, A, b, now):
    """now = b + max over i of before[i] + A[i]: four columns at a time, whose maxima stay in registers."""
    K = len(before)
    fours = K // 4 * 4
    for k in range(0, fours, 4):
        v = before[0]
        m0, m1, m2, m3 = v + A[0, k], v + A[0, k + 1], v + A[0, k + 2], v + A[0, k + 3]
        for i in range(1, K):
            v = before[i]
            m0, m1 = max(m0, v + A[i, k]), max(m1, v + A[i, k + 1])
            m2, m3 = max(m2, v + A[i, k + 2]), max(m3, v + A[i, k + 3])
        now[k], now[k + 1], now[k + 2], now[k + 3] = m0 + b[k], m1 + b[k + 1], m2 + b[k + 2], m3 + b[k + 3]
    for k in range(fours, K):
        m = before[0] + A[0, k]
        for i in range(1, K):
            m = max(m, before[i] + A[i, k])
        now[k] = m + b[k]


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
