"""SMACOF: places whose distances come close to given ones, by steps that never raise the stress.

    stress(Y) = sum_{i<j} (D_ij - |y_i - y_j|)^2
    Guttman's transform    y_i <- (1/n) sum_j (D_ij / |y_i - y_j|) (y_i - y_j)

majorises the stress by a parabola and goes to its minimum. Without a metric only the order of the D_ij counts: before
each step D is replaced by the increasing function of it that is closest to the distances of the places.

de Leeuw (1977); Kruskal (1964); Borg & Groenen (2005), Modern Multidimensional Scaling.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fivefold.core.parallel import map_items
from fivefold.core.types import Doubles, Indices
from fivefold.manifold.embeddings.stress_loops import guttman_rows
from fivefold.smoothing.pool_adjacent_loops import pool_adjacent_violators

PAIRS_PER_TASK = 1 << 17  # pairs of rows that are worth a thread


class Places(NamedTuple):
    """What a run ends at."""

    embedding: Doubles  # (n, k)
    stress: float
    normalized: float  # Kruskal's stress-1, sqrt(stress / sum of squared distances)
    steps: int


def by_rows(loop: Callable[[int, int], None], n: int) -> None:
    """loop(lo, hi) for runs of rows that meet all n rows, on the threads."""
    rows = max(1, min(n, PAIRS_PER_TASK // max(1, n)))
    map_items(lambda i: loop(i * rows, min((i + 1) * rows, n)), -(-n // rows))


class MonotoneDisparities:
    """The increasing function of given distances that is closest to those of places; zeros are unknown distances."""

    def __init__(self, D: Doubles) -> None:
        self.n = len(D)
        i, j = np.triu_indices(self.n, 1)
        known = D[i, j] != 0
        self.i, self.j = i[known], j[known]
        order = np.argsort(D[self.i, self.j], kind="stable")
        self.i, self.j = self.i[order], self.j[order]
        self.given = D[self.i, self.j]
        fresh = np.concatenate([[True], np.diff(self.given) > 0]) if len(order) else np.zeros(0, bool)
        self.group: Indices = np.cumsum(fresh) - 1  # equal distances stay equal
        self.counts = np.bincount(self.group).astype(np.float64)

    def first(self) -> Doubles:
        """Before the first step: the given distances."""
        return self._matrix(self.given)

    def closest(self, Y: Doubles) -> Doubles:
        """To the distances of places."""
        found = np.sqrt(np.square(Y[self.i] - Y[self.j]).sum(axis=1))
        heights = np.bincount(self.group, weights=found) / self.counts
        pool_adjacent_violators(heights, self.counts.copy(), np.empty(len(heights), np.int64), len(heights))
        return self._matrix(heights[self.group])

    def _matrix(self, values: Doubles) -> Doubles:
        """(n, n), scaled so that squares are one on average: otherwise zero would fit best."""
        out = np.zeros((self.n, self.n))
        squares = float(values @ values)
        pairs = self.n * (self.n - 1) / 2
        out[self.i, self.j] = out[self.j, self.i] = values * np.sqrt(pairs / squares) if squares > 0 else 0.0
        return out


def descend(
    D: Doubles, start: Doubles, metric: bool, max_iter: int, eps: float, monitor: Callable[[Doubles, float], bool]
) -> Places:
    """Steps from `start` until one gains less than eps of the sum of squared distances, or the monitor ends them."""
    rule = None if metric else MonotoneDisparities(D)
    Y = np.ascontiguousarray(start.T, dtype=np.float64)
    wanted = D if rule is None else rule.first()
    moved, _, _ = _transformed(Y, wanted)
    last, step = np.inf, 0
    best = Y
    for step in range(1, max_iter + 1):
        Y = moved
        moved, stress, squares = _transformed(Y, wanted)
        best = Y
        small = (last - stress) / squares < eps if squares > 0 else True
        if monitor(Y.T, stress) or (step > 1 and small):
            break
        last = stress
        if rule is not None and step < max_iter:
            wanted = rule.closest(Y.T)
            moved, _, _ = _transformed(Y, wanted)
    return Places(best.T.copy(), stress, float(np.sqrt(stress / squares)) if squares > 0 else 0.0, step)


def _transformed(Y: Doubles, D: Doubles) -> tuple[Doubles, float, float]:
    """Guttman's transform of places (k, n), their stress, and the sum of their squared distances, each pair once."""
    moved, sums = np.empty_like(Y), np.empty((Y.shape[1], 2))
    by_rows(lambda lo, hi: guttman_rows(Y, D, lo, hi, moved, sums), Y.shape[1])
    stress, squares = sums.sum(axis=0) / 2
    return moved, float(stress), float(squares)
