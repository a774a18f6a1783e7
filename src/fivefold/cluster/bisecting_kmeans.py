"""Bisecting k-means: K clusters by K - 1 bisections, each of one cluster into two by k-means.

    while there are fewer than K clusters:
        take the cluster with the largest sum of squares (or the heaviest)
        split it by k-means with two centres

The bisections form a binary tree. A new row goes down it, at each node to the nearer of two centres, so it is compared
with about log K pairs of centres instead of all K. Steinbach, Karypis & Kumar (2000).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Literal

import numpy as np

from fivefold.cluster.centres.prototypes import PrototypeClusterer
from fivefold.cluster.centres.restarts import IMPROVEMENT_RATIO, check_enough_rows, start_rule, warn_empty_clusters
from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.estimators.params import Count, Index, NonNegative, Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Codes, Indices, Matrix, Rng, Table, Vector, Weights
from fivefold.spatial.centres.lloyd import LloydResult, alternate_updates, nearest_centres
from fivefold.spatial.points import Points


@dataclass(frozen=True)
class BisectionModel:
    """The clusters and the tree of bisections that made them; node 0 holds all rows."""

    centres: Matrix  # (K, d) of the leaves, from left to right
    node_centres: Matrix  # (nodes, d) in double precision
    children: Indices  # (nodes, 2); -1 for a leaf
    node_labels: Codes  # (nodes,) the number of a leaf; -1 for a node that was split
    inertia: float  # sum of w |x - c|^2
    n_iter: int  # steps of k-means, over all bisections

    def label(self, X: Table) -> Codes:
        """The leaf that each row comes to."""
        labels, rows = np.empty(X.shape[0], np.int32), {0: np.arange(X.shape[0])}
        while rows:
            node, ids = rows.popitem()
            if self.node_labels[node] >= 0:
                labels[ids] = self.node_labels[node]
            elif len(ids):
                pair = self.children[node]
                side = nearest_centres(X if node == 0 else X[ids], self.node_centres[pair])
                rows[int(pair[0])], rows[int(pair[1])] = ids[side == 0], ids[side == 1]
        return labels


@dataclass(eq=False)
class _Cluster:
    """A node of the tree while it grows; a leaf holds its rows."""

    centre: Vector
    ids: Indices
    points: Any  # Points; None for a node that was split, and where there are no rows
    can_split: bool = True
    parts: list[_Cluster] = field(default_factory=list)

    def leaves(self) -> Iterator[_Cluster]:
        """The leaves below, from left to right."""
        if not self.parts:
            yield self
        for part in self.parts:
            yield from part.leaves()


class BisectingKMeans(PrototypeClusterer):
    """K-means that splits one cluster after the other into two.

    Parameters
    ----------
    init
        how to start each bisection: "k-means++" draws rows far apart, "random" draws distinct rows, a function of the
        rows of the cluster, n_clusters=2 and random_state returns two centres.
    n_init
        runs of k-means in each bisection, of which the one with the smallest inertia is kept.
    max_iter
        maximum number of steps of one run of k-means.
    tol
        a run ends when the squared moves of the two centres sum to less than this share of the mean variance of the
        columns in the cluster, or when no row changes its side.
    verbose
        print the centres of each bisection.
    copy_x
        accepted for compatibility with scikit-learn: X is never changed.
    algorithm
        accepted for compatibility with scikit-learn: every value gives the same result.
    bisecting_strategy
        which cluster to split next: the one with the "biggest_inertia", its sum of squares, or the "largest_cluster",
        that with the largest weight.

    Attributes
    ----------
    n_iter_
        steps of k-means, over all bisections.

    Examples
    --------
    >>> from fivefold.cluster import BisectingKMeans
    >>> X = [[1, 1], [10, 1], [3, 1], [10, 0], [2, 1], [10, 2], [10, 8], [10, 9], [10, 10]]
    >>> model = BisectingKMeans(3, random_state=0).fit(X)
    >>> sorted(model.cluster_centers_.tolist())
    [[2.0, 1.0], [10.0, 1.0], [10.0, 9.0]]
    """

    n_clusters: Count = 8
    _: KW_ONLY
    init: Literal["k-means++", "random"] | Callable[..., Any] = "random"
    n_init: Count = 1
    random_state: Seed = None
    max_iter: Count = 300
    verbose: Index | bool = 0
    tol: NonNegative = 1e-4
    copy_x: bool = True
    algorithm: Literal["lloyd", "elkan"] = "lloyd"
    bisecting_strategy: Literal["biggest_inertia", "largest_cluster"] = "biggest_inertia"

    card = Card(
        applications=("clustering", "quantization"),
        use="Many clusters, or clusters within clusters: the time grows with the logarithm of K where that of KMeans "
        "grows with K, and clusters tend to be of similar size. The inertia is usually above that of KMeans, as a "
        "split is never taken back.",
        steps=(
            "Begin with one cluster of all rows.",
            "Take the cluster with the largest sum of squares, or the heaviest.",
            "Split it in two by k-means.",
            "Repeat until there are K clusters.",
            "A new row goes down the tree of splits, at each to the nearer of two centres.",
        ),
        source="Steinbach, Karypis & Kumar (2000)",
        see_also=("KMeans", "MiniBatchKMeans"),
        variants=({"n_clusters": 3, "bisecting_strategy": "largest_cluster", "init": "k-means++"}, {"n_clusters": 1}),
        search={"n_clusters": (2, 3, 5, 8, 12)},
    )

    def _fit_centres(self, X: Table, w: Weights) -> tuple[BisectionModel, Codes]:
        check_enough_rows(self, X)
        rng, points = check_random_state(self.random_state), Points.of(X, w)
        root = _Cluster(points.mean, np.arange(X.shape[0]), points)
        steps, splits = 0, 0
        try:
            with fit_steps(self, "bisection", self.n_clusters - 1, X) as monitor:
                while splits < self.n_clusters - 1 and (chosen := self._next(root)) is not None:
                    run = self._bisect(chosen, rng)
                    steps += run.n_iter
                    if not chosen.parts:
                        continue
                    splits += 1
                    if run.reason == "interrupted":
                        raise KeyboardInterrupt
                    if monitor(lambda done=steps: _model(root, X, done), run.inertia):
                        break
                else:
                    _fill_up(root, self.n_clusters - 1 - splits)
                    warn_empty_clusters(self, splits + 1)
        except KeyboardInterrupt:
            if not splits:
                raise
            warn_kept_best(self, splits, "bisection")
        labels = np.empty(X.shape[0], np.int32)
        for k, leaf in enumerate(root.leaves()):
            labels[leaf.ids] = k
        return _model(root, X, steps), labels

    def _next(self, root: _Cluster) -> _Cluster | None:
        """The cluster to split next, of nearly equal ones the first; None where no cluster has two distinct rows."""
        best, most = None, 0.0
        for leaf in root.leaves():
            if leaf.can_split and leaf.points is not None:
                by_inertia = self.bisecting_strategy == "biggest_inertia"
                score = leaf.points.scatter if by_inertia else float(leaf.points.w.sum())
                if best is None or score * IMPROVEMENT_RATIO > most:
                    best, most = leaf, score
        return best

    def _bisect(self, cluster: _Cluster, rng: Rng) -> LloydResult:
        """Split a cluster in two by the best of several runs of k-means; it stays whole if its rows are all equal."""
        points = cluster.points
        runs, start = start_rule(self, points.table, self.n_init, n_clusters=2)
        done: list[LloydResult] = []
        while len(done) < runs and not (done and done[-1].reason == "interrupted"):
            done.append(alternate_updates(points, start(points, rng), self.tol * points.variance, self.max_iter))
        best = done[0]
        for run in done[1:]:
            best = run if run.inertia < IMPROVEMENT_RATIO * best.inertia else best
        if best.n_filled < 2:
            cluster.can_split = False
            return best
        if self.verbose:
            print(f"New centroids from bisection: {best.centres}")
        for side in (0, 1):
            mine = best.labels == side
            part = points.subset(mine)
            cluster.parts.append(_Cluster(best.centres[side], cluster.ids[mine], part, can_split=part.n > 1))
        cluster.points = None  # its parts have the rows now
        return replace(best, reason=done[-1].reason)

    def _assign(self, X: Table) -> Codes:
        return self.model_.label(X)


def _fill_up(root: _Cluster, missing: int) -> None:
    """Make clusters without rows, where there are fewer distinct rows than clusters."""
    for _ in range(missing):
        leaf = next(root.leaves())
        none = leaf.ids[:0]
        leaf.parts = [
            _Cluster(leaf.centre, leaf.ids, leaf.points, can_split=False),
            _Cluster(leaf.centre, none, None, can_split=False),
        ]


def _model(root: _Cluster, X: Table, steps: int) -> BisectionModel:
    """The tree as arrays."""
    nodes = [root]
    for node in nodes:  # grows while it is walked: each node before its parts
        nodes.extend(node.parts)
    place = {id(node): i for i, node in enumerate(nodes)}
    children = np.full((len(nodes), 2), -1)
    for i, node in enumerate(nodes):
        children[i, : len(node.parts)] = [place[id(part)] for part in node.parts]
    leaves, labels = list(root.leaves()), np.full(len(nodes), -1, np.int32)
    labels[[place[id(leaf)] for leaf in leaves]] = np.arange(len(leaves))
    inertia = sum(leaf.points.inertia(leaf.centre) for leaf in leaves if leaf.points is not None)
    return BisectionModel(
        centres=np.array([leaf.centre for leaf in leaves]).astype(X.dtype),
        node_centres=np.array([node.centre for node in nodes]),
        children=children,
        node_labels=labels,
        inertia=inertia,
        n_iter=steps,
    )
