"""Divisive clustering: all rows begin in one cluster, and the cluster whose parts would lie farthest apart is split.

    two_means    parts of least inertia, by 2-means
    splinter     the row farthest from the others on average leaves, then those nearer to it than to the rest (DIANA)
    exhaustive   of all 2^(m - 1) - 1 ways the one whose parts have the most distant means, for few rows

The distance of two parts is that of their means. Macnaughton-Smith et al. (1964); Kaufman & Rousseeuw (1990).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from sklearn.utils import check_random_state

from fivefold.cluster.hierarchy.dendrogram import Dendrogram
from fivefold.cluster.hierarchy.progress import KeptWhenInterrupted
from fivefold.cluster.kmeans import KMeans
from fivefold.core._sklearn import ClusterMixin
from fivefold.core.console.fit_progress import fit_steps
from fivefold.core.estimators.base import Unsupervised, learned
from fivefold.core.estimators.params import Count, Seed
from fivefold.core.registry import Card
from fivefold.core.storage.memory_limits import refuse_square
from fivefold.core.types import Codes, Indices, Mask, Matrix, Rng, Table, Vector
from fivefold.spatial.distances import squared_distances

MAX_EXHAUSTIVE_ROWS = 18  # 131,071 ways to split
STARTS = 3  # of each 2-means

Split = Callable[[Matrix, Rng], Mask]  # which of at least two rows, not all equal, are in the first part


@dataclass(frozen=True)
class DivisiveModel:
    """The splits, last first, as merges of the clusters that were left."""

    tree: Dendrogram
    labels: Codes  # (n,)


class DivisiveClustering(ClusterMixin, Unsupervised):
    """Hierarchical clustering by splitting.

    Parameters
    ----------
    n_clusters
        number of clusters; as many as rows split every cluster.
    split
        how a cluster is split: "two_means", "splinter" (DIANA; keeps all distances) or "exhaustive" (few rows).
    random_state
        seed of 2-means.

    Attributes
    ----------
    labels_
        the cluster of each row, numbered in the order of their first rows.
    tree_
        the Dendrogram of the splits: its leaves are the clusters, its heights the distances of the means of two parts.

    Examples
    --------
    >>> from fivefold.cluster import DivisiveClustering
    >>> model = DivisiveClustering(3, random_state=0).fit([[0.0], [1.0], [9.0], [12.0], [30.0]])
    >>> model.labels_, model.tree_.heights
    (array([0, 0, 1, 1, 2]), array([10. , 24.5]))
    """

    n_clusters: Count = 2
    _: KW_ONLY
    split: Literal["two_means", "splinter", "exhaustive"] = "two_means"
    random_state: Seed = None

    card = Card(
        applications=("clustering", "data mining"),
        use="A few large groups, whose upper levels matter most: merging decides those last, from its own mistakes. "
        "For a whole tree merging is cheaper.",
        steps=(
            "Begin with all rows in one cluster.",
            "Find the best split of each cluster.",
            "Split the cluster whose two parts lie farthest apart.",
            "Repeat until there are n_clusters.",
        ),
        source="Macnaughton-Smith et al. (1964); Kaufman & Rousseeuw (1990)",
        see_also=("AgglomerativeClustering", "KMeans"),
        variants=({"split": "splinter", "n_clusters": 3},),
        search={"n_clusters": (2, 3, 5, 8, 12)},
    )

    tree_ = learned("tree")
    labels_ = learned("labels")

    def _fit(self, X: Table) -> None:
        n = len(X)
        if self.n_clusters > n:
            raise ValueError(f"DivisiveClustering: n_clusters={self.n_clusters} is more than the {n} rows")
        if self.split == "splinter":
            refuse_square("DivisiveClustering", n, 2, "Use split='two_means', which keeps no distances.")
        if self.split == "exhaustive" and n > MAX_EXHAUSTIVE_ROWS:
            raise ValueError(
                f"DivisiveClustering: {n} rows can be split in 2^{n - 1} - 1 ways; split='exhaustive' takes at most "
                f"{MAX_EXHAUSTIVE_ROWS} rows. Use 'two_means' or 'splinter'"
            )
        rng = check_random_state(self.random_state)
        with fit_steps(self, "split", self.n_clusters, X) as monitor:
            watch = KeptWhenInterrupted(monitor)
            self.model_ = _divide(X.astype(np.float64, copy=False), self.n_clusters, SPLITS[self.split], rng, watch)
        watch.warn(self, "split")


def _divide(
    X: Matrix, n_clusters: int, split: Split, rng: Rng, monitor: Callable[[float], bool] = lambda gap: False
) -> DivisiveModel:
    """Split until there are so many clusters, or the monitor says that there are enough."""
    parts: dict[int, Indices] = {0: np.arange(len(X))}  # by node, in the order in which splits make them
    children: dict[int, tuple[int, int]] = {}
    waiting: list[tuple[float, int, Indices, Indices]] = []

    def plan(node: int) -> None:
        rows = parts[node]
        if len(rows) > 1:
            first = _two_parts(X[rows], split, rng)
            gap = _length(X[rows[first]].mean(axis=0) - X[rows[~first]].mean(axis=0))
            heapq.heappush(waiting, (-gap, node, rows[first], rows[~first]))

    plan(0)
    heights: list[float] = []
    enough = False
    while len(heights) < n_clusters - 1 and not enough:
        gap, node, left, right = heapq.heappop(waiting)
        children[node] = (2 * len(heights) + 1, 2 * len(heights) + 2)
        parts[children[node][0]], parts[children[node][1]] = left, right
        heights.append(-gap)
        enough = monitor(-gap)
        for new in () if enough else children[node]:
            plan(new)
    leaves = sorted((node for node in parts if node not in children), key=lambda node: parts[node].min())
    name = {node: i for i, node in enumerate(leaves)}
    labels = np.empty(len(X), np.int64)
    for node in leaves:
        labels[parts[node]] = name[node]
    merged = np.empty((len(heights), 2), np.int64)
    for i, node in enumerate(reversed(children)):
        merged[i] = sorted(name[child] for child in children[node])
        name[node] = len(leaves) + i
    return DivisiveModel(Dendrogram(merged, np.array(heights[::-1]), len(leaves)), labels)


def _length(x: Vector) -> float:
    """|x|, also where squares would be zero."""
    length, size = float(np.linalg.norm(x)), float(np.abs(x).max())
    return length if length > 0 or size == 0 else size * float(np.linalg.norm(x / size))


def _two_parts(X: Matrix, split: Split, rng: Rng) -> Mask:
    """The first part of a split; of equal rows the first row alone."""
    if len(X) == 2 or (X == X[0]).all():
        return np.arange(len(X)) == 0
    size = float(np.abs(X - X[0]).max())
    return split(X if size * size > 0 else (X - X[0]) / size, rng)  # squares of smaller differences would be zero


def _two_means(X: Matrix, rng: Rng) -> Mask:
    labels = KMeans(2, n_init=STARTS, random_state=rng.randint(2**31 - 1)).fit(X).labels_
    first: Mask = labels == labels[0]
    return first


def _splinter(X: Matrix, rng: Rng) -> Mask:
    """DIANA: rows leave one by one while they are nearer to those that left than to those that stay."""
    D = np.sqrt(squared_distances(X))
    left = np.zeros(len(X), dtype=bool)
    to_stay, to_left = D.sum(axis=1), np.zeros(len(X))
    row = int(np.argmax(to_stay))
    while True:
        left[row] = True
        to_stay -= D[row]
        to_left += D[row]
        stay = len(X) - int(left.sum())
        if stay == 1:
            return left
        gain = np.where(left, -np.inf, to_stay / (stay - 1) - to_left / (len(X) - stay))
        row = int(np.argmax(gain))
        if gain[row] <= 0:
            return left


def _exhaustive(X: Matrix, rng: Rng) -> Mask:
    """The two parts with the most distant means."""
    m = len(X)
    codes = np.arange(1, 2 ** (m - 1))
    inside = (codes[:, None] >> np.arange(m)) & 1 == 1  # the last row is never in the first part
    Z = X - X.mean(axis=0)
    count = inside.sum(axis=1, keepdims=True)
    gaps = inside @ Z * (m / (count * (m - count)))  # means of parts add up to nothing, by their weights
    found: Mask = inside[np.argmax(np.square(gaps).sum(axis=1))]
    return found


SPLITS: dict[str, Split] = {"two_means": _two_means, "splinter": _splinter, "exhaustive": _exhaustive}
