"""What clusterers by merging share: parameters, the tree, and its cut."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_memory

from fivefold.cluster.hierarchy.connectivity import tree_along_graph
from fivefold.cluster.hierarchy.dendrogram import Dendrogram
from fivefold.cluster.hierarchy.linkage import Monitor, reports_of, tree_of_distances, tree_of_rows
from fivefold.cluster.hierarchy.progress import KeptWhenInterrupted
from fivefold.core._sklearn import ClusterMixin, Tags
from fivefold.core.console.fit_progress import fit_steps
from fivefold.core.estimators.base import Unsupervised, learned, not_fitted_error
from fivefold.core.estimators.params import Count, NonNegative
from fivefold.core.storage.memory_limits import refuse_square
from fivefold.core.types import Codes, Doubles, Matrix

FULL_TREE_CLUSTERS = 100  # along a graph: with fewer clusters than this,
FULL_TREE_SHARE = 0.02  # or than this share of the rows, to merge until one is left costs little more


@dataclass(frozen=True)
class HierarchyModel:
    """The tree of merges and the clusters that were cut from it."""

    tree: Dendrogram
    n_clusters: int
    labels: Codes  # (n,)


class MergingClusterer(ClusterMixin, Unsupervised):
    """Base of clusterers that merge the two closest clusters until few are left.

    Parameters
    ----------
    n_clusters
        number of clusters; None where `distance_threshold` is given.
    metric
        distance between rows: a name, "precomputed" where X holds all distances, or a function of X that returns them.
        Ward, centroid and median take "euclidean" alone.
    memory
        folder, or joblib.Memory, in which the tree is kept for further fits on the same X.
    connectivity
        graph of neighbours (n, n), or a function of X that makes one: only clusters that an edge joins may merge.
    compute_full_tree
        along a graph: merge until one cluster is left, not only until there are n_clusters. "auto" does where it costs
        little more. Without a graph the tree is always complete.
    linkage
        distance between clusters: "ward" (increase of the squared distances to centres), "complete" (of the farthest
        rows), "average" (mean over pairs of rows), "single" (of the closest rows), "weighted" (mean of the distances to
        the two parts), "centroid" (of the centres), "median" (of centres that are halfway between those of the parts).
    distance_threshold
        clusters at this distance or farther apart are not merged.
    compute_distances
        keep `distances_` where no threshold is given.

    Attributes
    ----------
    labels_
        the cluster of each row.
    n_clusters_
        number of clusters found.
    children_
        the two nodes that each merge joins; nodes below n_leaves_ are rows, node n_leaves_ + i is made by merge i.
    distances_
        the height of each merge, with a `distance_threshold` or `compute_distances`.
    n_leaves_
        rows of fit.
    n_connected_components_
        components of the graph of neighbours; one without a graph.
    tree_
        the Dendrogram: it can be cut at any other number of clusters or height, and printed.
    """

    n_clusters: Count | None = 2
    _: KW_ONLY
    metric: str | Callable[..., Any] = "euclidean"
    memory: Any = None
    connectivity: Any = None
    compute_full_tree: Literal["auto"] | bool = "auto"
    linkage: Literal["ward", "complete", "average", "single", "weighted", "centroid", "median"] = "ward"
    distance_threshold: NonNegative | None = None
    compute_distances: bool = False

    tree_ = learned("tree")
    labels_ = learned("labels")
    n_clusters_ = learned("n_clusters")
    children_ = learned("tree.children")
    n_leaves_ = learned("tree.n_leaves")
    n_connected_components_ = learned("tree.n_components")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.metric, str) and self.metric == "precomputed"
        return tags

    @property
    def distances_(self) -> Doubles:
        """The height of each merge."""
        if not self.__sklearn_is_fitted__():
            raise not_fitted_error(self, "distances_")
        if self.distance_threshold is None and not self.compute_distances:
            raise AttributeError(f"{type(self).__name__} keeps 'distances_' with compute_distances=True")
        found: Doubles = self.model_.tree.heights
        return found

    def _merge(self, X: Matrix, things: str) -> HierarchyModel:
        """The model of the rows of X; `things` says what they are."""
        n, name = len(X), type(self).__name__
        graph = self._checked_graph(X, things)
        full = self._wants_full_tree(n)
        build = build_tree if self.memory is None else check_memory(self.memory).cache(build_tree, ignore=["monitor"])
        last = None if full or graph is None else self.n_clusters
        with fit_steps(self, "part", reports_of(n)) as monitor:
            watch = KeptWhenInterrupted(monitor, propagate=self.memory is not None)  # no part of a tree is stored
            tree: Dendrogram = build(X, graph, self.linkage, self.metric, last, name, watch)
        watch.warn(self, "part")
        if self.n_clusters is not None:
            return HierarchyModel(tree, self.n_clusters, tree.cut(self.n_clusters))
        count = tree.clusters_at(float(self.distance_threshold or 0.0))
        return HierarchyModel(tree, count, tree.cut(count))

    def _checked_graph(self, X: Matrix, things: str) -> Any:
        """The graph of neighbours, if any; refuses settings that contradict each other or do not fit X."""
        n, name = len(X), type(self).__name__
        if n < 2:
            word = "n_samples" if things == "rows" else "n_features"
            raise ValueError(f"{name}: {word}={n}; a hierarchy needs at least 2 {things}")
        if (self.n_clusters is None) == (self.distance_threshold is None):
            raise ValueError(
                f"{name}: n_clusters={self.n_clusters} and distance_threshold={self.distance_threshold}; set one of "
                "them, and the other to None"
            )
        if self.distance_threshold is not None and not self.compute_full_tree:
            raise ValueError(f"{name}: a distance_threshold needs compute_full_tree=True or 'auto'")
        if self.n_clusters is not None and self.n_clusters > n:
            raise ValueError(f"{name}: n_clusters={self.n_clusters} is more than the {n} {things}; ask for at most {n}")
        if self.linkage in ("ward", "centroid", "median") and self.metric not in ("euclidean", "l2"):
            raise ValueError(
                f"{name}: linkage={self.linkage!r} is made of centres and takes metric='euclidean'; got {self.metric!r}"
            )
        if self.metric == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(f"{name}: precomputed distances of n {things} are a square (n, n); X is {X.shape}")
        if self.metric == "cosine" and not X.any(axis=1).all():
            raise ValueError(
                f"{name}: the cosine distance of a row of zeros is not defined; row {int(np.argmin(X.any(axis=1)))} is "
                "one. Leave it out, or use another metric"
            )
        return self.connectivity(X) if callable(self.connectivity) else self.connectivity

    def _wants_full_tree(self, n: int) -> bool:
        if self.compute_full_tree != "auto":
            return bool(self.compute_full_tree)
        return self.n_clusters is None or self.n_clusters < max(FULL_TREE_CLUSTERS, FULL_TREE_SHARE * n)


def build_tree(
    X: Matrix, graph: Any, linkage: str, metric: Any, last: int | None, owner: str, monitor: Monitor | None = None
) -> Dendrogram:
    """The merges of the rows of X, along a graph if there is one; `last` is the number of clusters where they end."""
    if graph is not None:
        return tree_along_graph(X, graph, linkage, metric, last, owner)
    if isinstance(metric, str) and metric != "precomputed":
        Z = tree_of_rows(X, linkage, metric, monitor, owner)
    else:
        square = X if isinstance(metric, str) else _given_by(metric, X, owner)
        Z = tree_of_distances(_condensed(square, len(X), owner), len(X), linkage, monitor)
    return Dendrogram(Z[:, :2].astype(np.intp), Z[:, 2].copy(), len(X))


def _given_by(metric: Callable[..., Any], X: Matrix, owner: str) -> Matrix:
    """The distances that a user's function gives, which must be finite."""
    square = np.asarray(metric(X))
    if not (finite := np.isfinite(square)).all():
        place = tuple(int(i) for i in np.argwhere(~finite)[0])
        raise ValueError(
            f"{owner}: the metric gave {square[place]} at {place}; distances must be finite. Leave out rows whose "
            "distances are unknown"
        )
    return square


def _condensed(square: Matrix, n: int, owner: str) -> Doubles:
    """What stands above the diagonal of a square of distances."""
    if square.shape != (n, n):
        raise ValueError(f"{owner}: distances of {n} rows are ({n}, {n}); the metric gave {square.shape}")
    refuse_square(owner, n, 0.5, "Use linkage 'ward' on rows, which keeps no distances, or fewer rows.")
    D, to = np.empty(n * (n - 1) // 2), 0
    for i in range(n - 1):
        D[to : to + n - i - 1] = square[i, i + 1 :]
        to += n - i - 1
    return D
