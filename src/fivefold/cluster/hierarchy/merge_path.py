"""Step-wise optimal merging of the clusters of any flat clustering, by any cost.

    l'_1 = l(X, r);  repeat: over all pairs c1 != c2 of labels choose the merge r^{c1=c2} of least cost l(X, r^{c1=c2})

A cost is a function of the rows and of their labels that no renaming of labels changes. The two built-in costs are sums
over clusters, so that a merge changes the increases of one row of pairs only; any other cost is computed for each pair.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fivefold.cluster.hierarchy.dendrogram import Dendrogram
from fivefold.core.types import Codes, Doubles, Indices, Matrix

ClusteringCost = Callable[[Matrix, Codes], float]
Monitor = Callable[[float], bool]  # told of the cost after a merge: is this enough?
MAX_EVALUATIONS = 2_000_000  # of a cost, over all pairs and steps: minutes at a tenth of a millisecond each
MAX_PART_EVALUATIONS = 10_000_000  # of the cost of one cluster


def squared_cost(X: Matrix, r: Codes) -> float:
    """Sum of squared distances of rows to the mean of their cluster: the cost of k-means.

    Examples
    --------
    >>> squared_cost(np.array([[0.0], [1.0], [9.0], [12.0]]), np.array([0, 0, 1, 1]))
    5.0
    """
    return float(sum(_part_squares(X[r == k]) for k in np.unique(r)))


def distance_cost(X: Matrix, r: Codes) -> float:
    """Sum of distances, not squared, of rows to the mean of their cluster.

    Examples
    --------
    >>> distance_cost(np.array([[0.0], [1.0], [9.0], [12.0]]), np.array([0, 0, 1, 1]))
    4.0
    """
    return float(sum(_part_distances(X[r == k]) for k in np.unique(r)))


def _part_squares(rows: Matrix) -> float:
    return float(np.square(rows - rows.mean(axis=0)).sum())


def _part_distances(rows: Matrix) -> float:
    return float(np.sqrt(np.square(rows - rows.mean(axis=0)).sum(axis=1)).sum())


PART_COSTS: dict[Any, Callable[[Matrix], float]] = {squared_cost: _part_squares, distance_cost: _part_distances}


def merge_labels(r: Codes, i: int, j: int) -> Codes:
    """r^{i=j}: rows of cluster i go to cluster j.

    Examples
    --------
    >>> merge_labels(np.array([0, 1, 2, 1]), 1, 2)
    array([0, 2, 2, 2])
    """
    return np.where(r == i, j, r)


@dataclass(frozen=True)
class MergePath:
    """Clusters 0..k-1 and the merges that lead to one."""

    start: Codes  # (n,) labels before the first merge
    merges: Indices  # (k - 1, 2): the first goes to the second, whose label stays
    costs: Doubles  # (k,) before the first merge and after each

    def assignment(self, n_clusters: int) -> Codes:
        """Labels (n,) where this many clusters are left."""
        k = len(self.costs)
        if not 1 <= n_clusters <= k:
            raise ValueError(f"n_clusters={n_clusters}: merging began with {k} clusters, so ask for 1 to {k}")
        r = self.start
        for i, j in self.merges[: k - n_clusters]:
            r = merge_labels(r, i, j)
        return r

    def assignments(self) -> Codes:
        """Labels (k, n): a row before the first merge and after each."""
        return np.stack([self.assignment(q) for q in range(len(self.costs), 0, -1)])

    def tree(self, cumulative: bool = False) -> Dendrogram:
        """The merges as a tree whose leaves are the starting clusters; its heights are the increases of the cost, or
        with `cumulative` the cost less that of the start.
        """
        k = len(self.costs)
        node, children = np.arange(k), np.empty((k - 1, 2), np.int64)
        for step, (i, j) in enumerate(self.merges):
            children[step] = sorted((node[i], node[j]))
            node[j] = k + step
        return Dendrogram(children, self.costs[1:] - self.costs[0] if cumulative else np.diff(self.costs), k)


def merge_stepwise(
    X: Matrix, r: Codes, cost: ClusteringCost = squared_cost, monitor: Monitor | None = None
) -> MergePath:
    """Merge the clusters 0..k-1 of a flat clustering one by one, each time the two whose merge costs least.

    Where the monitor says that this is enough, the others merge in the order of their labels.

    Examples
    --------
    >>> merge_stepwise(np.array([[0.0], [1.0], [9.0], [12.0]]), np.arange(4), distance_cost).costs
    array([ 0.,  1.,  4., 20.])
    """
    k = int(r.max()) + 1
    part_cost = PART_COSTS.get(cost)
    count, allowed = (k * k, MAX_PART_EVALUATIONS) if part_cost else (k * (k * k - 1) // 6, MAX_EVALUATIONS)
    if count > allowed:
        raise ValueError(
            f"merging {k} clusters step by step takes {count:,} evaluations of the cost; at most {allowed:,} are made. "
            "Start from fewer clusters, such as those of KMeans, or use AgglomerativeClustering"
        )
    increases = _PartIncreases(X, r, part_cost) if part_cost else _WholeIncreases(X, r, cost)
    merges, costs = np.empty((k - 1, 2), np.int64), np.empty(k)
    costs[0] = increases.cost
    left, enough = list(range(k)), False
    for step in range(k - 1):
        i, j = (left[1], left[0]) if enough else increases.best()
        merges[step] = i, j
        increases.merge(i, j)
        left.remove(i)
        costs[step + 1] = increases.cost
        enough = enough or (monitor is not None and monitor(float(costs[step + 1])))
    return MergePath(r, merges, costs)


class _PartIncreases:
    """What each merge adds to a cost that is a sum over clusters."""

    def __init__(self, X: Matrix, r: Codes, part_cost: Callable[[Matrix], float]) -> None:
        self.part_cost, k = part_cost, int(r.max()) + 1
        self.rows = [X[r == i] for i in range(k)]
        self.parts = np.array([part_cost(rows) for rows in self.rows])
        self.added = np.full((k, k), np.inf)  # below the diagonal
        for i in range(k):
            for j in range(i):
                self.added[i, j] = self._increase(i, j)

    def _increase(self, i: int, j: int) -> float:
        a, b = self.rows[i], self.rows[j]
        if self.part_cost is _part_squares:  # Ward's formula
            gap = a.mean(axis=0) - b.mean(axis=0)
            return float(len(a) * len(b) / (len(a) + len(b)) * (gap @ gap))
        return self.part_cost(np.concatenate([a, b])) - float(self.parts[i] + self.parts[j])

    @property
    def cost(self) -> float:
        return float(self.parts.sum())

    def best(self) -> tuple[int, int]:
        i, j = np.unravel_index(np.argmin(self.added), self.added.shape)
        return int(i), int(j)

    def merge(self, i: int, j: int) -> None:
        self.rows[j] = np.concatenate([self.rows[i], self.rows[j]])
        self.parts[j], self.parts[i] = self.part_cost(self.rows[j]), 0.0
        self.rows[i] = self.rows[i][:0]
        self.added[i], self.added[:, i] = np.inf, np.inf
        for other in range(len(self.rows)):
            if other != j and len(self.rows[other]):
                self.added[max(other, j), min(other, j)] = self._increase(other, j)


class _WholeIncreases:
    """A cost of which nothing is known: every pair is tried at every step."""

    def __init__(self, X: Matrix, r: Codes, cost: ClusteringCost) -> None:
        self.X, self.r, self.function, self.cost = X, r, cost, float(cost(X, r))

    def best(self) -> tuple[int, int]:
        left = np.unique(self.r).tolist()
        tried = [(float(self.function(self.X, merge_labels(self.r, i, j))), i, j) for i in left for j in left if j < i]
        _, i, j = min(tried)
        return i, j

    def merge(self, i: int, j: int) -> None:
        self.r = merge_labels(self.r, i, j)
        self.cost = float(self.function(self.X, self.r))
