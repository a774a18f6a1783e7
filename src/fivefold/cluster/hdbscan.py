"""HDBSCAN: the clusters of DBSCAN for all radii at once, of which the most lasting are chosen.

    core_i      = distance of row i to its min_samples-th nearest row, itself the first
    reach(i, j) = max(core_i, core_j, d(i, j) / alpha)

The smallest spanning tree of reach gives single linkage, whose merges are condensed: a cluster lives on while only
parts of fewer than min_cluster_size rows leave it. Its stability is the sum over its rows of 1 / distance, from where
the cluster begins to where the row leaves it; clusters that do not overlap are chosen for the largest sum.

Campello, Moulavi & Sander (2013); Malzer & Baum (2020), cluster_selection_epsilon.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
from scipy.sparse import issparse

from fivefold.cluster.neighborhoods.base import Algorithm, DistanceTakes, Metric, NeighborhoodClusterer
from fivefold.cluster.neighborhoods.condensed_tree import (
    condensed_tree,
    labels_of,
    stable_clusters,
    widened_clusters,
)
from fivefold.cluster.neighborhoods.reachability import reduced_core_distances, visit_rows
from fivefold.cluster.neighborhoods.reachability_loops import Reach
from fivefold.cluster.neighborhoods.spanning_tree_loops import cut_merges, merge_edges, tree_of_distances
from fivefold.core.admission.takes import Takes
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, NonNegative, Positive, Range
from fivefold.core.registry import Card
from fivefold.core.storage.memory_limits import refuse_square
from fivefold.core.types import Codes, Doubles, Indices, Table
from fivefold.spatial.metrics.metric import VectorMetric
from fivefold.spatial.search import NeighborIndex
from fivefold.spatial.search.object_rows import BlockRows

INFINITE, MISSING = -2, -3  # labels of rows with infinite and with missing values
ROW_FINISHES = ("root", "plain")  # of metrics whose distances the loop over rows computes itself


@dataclass(frozen=True)
class DensityHierarchy:
    """Labels of the rows of fit, and the tree that they were cut from."""

    labels: Codes  # (n,), -1 for noise, INFINITE and MISSING for rows that have no place
    strengths: Doubles  # (n,)
    merges: Indices  # (n - 1, 2): clusters that are joined; rows that have a place are 0..n - 1, merge i makes n + i
    heights: Doubles  # (n - 1,)
    centroids: Any = None  # (K, d)
    medoids: Any = None  # (K, d)


class _stored_centres(learned):
    """Centres of clusters, where they were asked for."""

    def _read(self, estimator: object) -> Any:
        found = super()._read(estimator)
        if found is None:
            raise AttributeError(f"{self._name} is there if store_centers asks for it")
        return found


class PlacedRows(DistanceTakes):
    """What is taken: given distances are not missing, though they may be infinite."""

    def __get__(self, estimator: object, owner: type | None = None) -> Takes:
        found = super().__get__(estimator, owner)
        return replace(found, missing=False) if found.positive else found


class HDBSCAN(NeighborhoodClusterer):
    """Clusters of any form and of different densities; rows between them are noise.

    Parameters
    ----------
    min_cluster_size
        rows of a cluster, at least.
    min_samples
        rows within the core distance of a row, itself included; None for min_cluster_size.
    cluster_selection_epsilon
        clusters that begin below this distance are joined to larger ones.
    max_cluster_size
        rows of a cluster, at most; None for any number.
    alpha
        distances are divided by this.
    cluster_selection_method
        "eom" chooses the most lasting clusters, "leaf" those that do not split.
    allow_single_cluster
        whether all rows may be one cluster.
    store_centers
        keep the "centroid", the "medoid", or "both", of each cluster.
    copy
        accepted for compatibility with scikit-learn: X is never changed.

    Attributes
    ----------
    labels_
        the cluster of each row, -1 for noise; -2 for rows with infinite values and -3 for rows with missing ones, which
        are left out.
    probabilities_
        how strongly each row belongs to its cluster: the level at which it leaves, as a share of the highest; 0 for
        noise and for rows with infinite values, NaN for rows with missing ones.
    centroids_, medoids_
        centres of the clusters, where `store_centers` asks for them.

    Examples
    --------
    >>> from fivefold.cluster import HDBSCAN
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.2], [5.4], [5.6], [20.0]]
    >>> HDBSCAN(min_cluster_size=3).fit_predict(X)
    array([ 0,  0,  0,  1,  1,  1,  1, -1])
    """

    min_cluster_size: Annotated[int, Range(2)] = 5
    min_samples: Count | None = None
    cluster_selection_epsilon: NonNegative = 0.0
    max_cluster_size: Count | None = None
    metric: Metric = "euclidean"
    metric_params: dict[Any, Any] | None = None
    alpha: Positive = 1.0
    algorithm: Algorithm = "auto"
    leaf_size: Count = 40
    n_jobs: int | None = None
    cluster_selection_method: Literal["eom", "leaf"] = "eom"
    allow_single_cluster: bool = False
    store_centers: Literal["centroid", "medoid", "both"] | None = None
    copy: bool | Literal["warn"] = "warn"

    card = Card(
        applications=("clustering", "outlier detection"),
        use="Clusters of any form, number and density, with noise between them, in few columns of like scale; "
        "min_cluster_size is the only choice. Time grows with the square of the rows; DBSCAN is faster where all "
        "clusters are about equally dense.",
        steps=(
            "Find the distance of each row to its min_samples-th nearest.",
            "Join rows along the smallest spanning tree of distances that are at least these.",
            "Condense the merges to clusters with min_cluster_size rows or more.",
            "Choose the clusters that last longest; the rest is noise.",
        ),
        source="Campello, Moulavi & Sander (2013)",
        see_also=("DBSCAN", "OPTICS", "MeanShift"),
        given={"copy": True},
        variants=({"min_cluster_size": 8, "cluster_selection_method": "leaf", "metric": "manhattan"},),
        growth=2.0,
    )

    takes = PlacedRows(Takes(sparse=True, missing=True, empty=False, infinite=True))

    probabilities_ = learned("strengths")
    centroids_ = _stored_centres("centroids")
    medoids_ = _stored_centres("medoids")

    def _fit(self, X: Table) -> None:
        if self.metric == "precomputed":
            self.model_ = self._hierarchy(X)
            return
        with np.errstate(invalid="ignore"):
            sums = np.asarray(X.sum(axis=1), dtype=np.float64).ravel()
        placed = np.isfinite(sums)
        if placed.all():
            self.model_ = self._hierarchy(X)
            return
        if not placed.any():
            raise ValueError("HDBSCAN: every row has missing or infinite values. Impute them, or leave out columns")
        model = self._hierarchy(X[np.flatnonzero(placed)])
        labels = np.where(np.isnan(sums), MISSING, INFINITE)
        strengths = np.where(np.isnan(sums), np.nan, 0.0)
        labels[placed], strengths[placed] = model.labels, model.strengths
        self.model_ = replace(model, labels=labels, strengths=strengths)

    def _hierarchy(self, X: Table) -> DensityHierarchy:
        """The clusters of rows that are all finite."""
        n = X.shape[0]
        least = int(self.min_cluster_size if self.min_samples is None else self.min_samples)
        if n == 1:
            raise ValueError("HDBSCAN: n_samples=1 while HDBSCAN requires more than one sample")
        if least > n:
            raise ValueError(
                f"HDBSCAN: min_samples ({least}) must be at most the number of samples in X ({n}). Set min_samples, or "
                "min_cluster_size, to less"
            )
        if self.metric == "precomputed" and self.store_centers is not None:
            raise ValueError(
                "HDBSCAN: Cannot store centers when using a precomputed distance matrix. Set store_centers=None"
            )
        index = self._index(X, self.algorithm, int(self.leaf_size))
        edges, lengths = self._spanning_tree(index, least)
        order = np.argsort(lengths)
        merges, sizes = np.empty((n - 1, 2), np.int64), np.empty(2 * n - 1, np.int64)
        merge_edges(edges[order], merges, sizes)
        heights, root, epsilon = lengths[order], self.allow_single_cluster, float(self.cluster_selection_epsilon)
        tree = condensed_tree(merges, heights, sizes, int(self.min_cluster_size))
        if self.cluster_selection_method == "leaf":
            clusters = tree.leaves()
        else:
            clusters = stable_clusters(tree, self.max_cluster_size or np.inf, root)
        if epsilon > 0 and clusters != [0]:
            clusters = widened_clusters(tree, clusters, epsilon, root)
        labels, strengths = labels_of(tree, clusters, epsilon, root)
        model = DensityHierarchy(labels, strengths, merges, heights)
        return model if self.store_centers is None else self._with_centres(model, X)

    def _spanning_tree(self, index: NeighborIndex, least: int) -> tuple[Indices, Doubles]:
        """Edges (n - 1, 2) of the tree of mutual reachability, and their lengths."""
        n, alpha = index.n, float(self.alpha)
        if (
            not isinstance(index.searcher, BlockRows)
            and isinstance(index.measure, VectorMetric)
            and index.measure.finish in ROW_FINISHES
        ):
            search = index.searcher
            scale, core = float(index.measure.reduced(1 / alpha)), reduced_core_distances(search, least)
            visits = visit_rows(search.tree, Reach(core, mutual=True, scale=scale, limit=np.inf, tens=0.0))
            later = visits.order[1:]
            return np.column_stack([visits.source[later], later]), np.asarray(
                index.measure.distances(visits.lengths[later]), np.float64
            )
        refuse_square("HDBSCAN", n, 2, "Use a metric of rows of numbers, which keeps no distances, or fewer rows")
        D = _stored_distances(index.X) if issparse(index.X) and self.metric == "precomputed" else index.distances()
        if self.metric == "precomputed" and not issparse(index.X) and not np.allclose(D, D.T):
            i, j = (int(part[0]) for part in np.nonzero(~np.isclose(D, D.T)))
            raise ValueError(
                f"HDBSCAN: The precomputed distance matrix is expected to be symmetric, however its values of rows {i} "
                f"and {j} are {D[i, j]:g} one way and {D[j, i]:g} the other. Give (D + D.T) / 2, say"
            )
        edges, lengths = np.empty((n - 1, 2), np.int64), np.empty(n - 1)
        core = np.partition(D, least - 1, axis=1)[:, least - 1].astype(np.float64, copy=False)
        tree_of_distances(np.ascontiguousarray(D, dtype=np.float64), core, alpha, edges, lengths)
        if not np.isfinite(lengths).all() and not issparse(index.X):
            warn("HDBSCAN: some rows are connected to others by infinite distances only, and join them last")
        elif not np.isfinite(lengths).all():
            raise ValueError(
                f"HDBSCAN: the distances that are stored do not connect all rows, or some row has fewer than "
                f"min_samples={least} of them. Store more neighbours of each row, or set min_samples to less"
            )
        return edges, lengths

    def _with_centres(self, model: DensityHierarchy, X: Table) -> DensityHierarchy:
        """The model with the centres that were asked for."""
        rows, count = (X.toarray() if issparse(X) else X), int(model.labels.max()) + 1
        centroids, medoids = np.empty((count, rows.shape[1])), np.empty((count, rows.shape[1]))
        for k in range(count):
            own, strength = rows[model.labels == k], model.strengths[model.labels == k]
            centroids[k] = np.average(own, weights=strength, axis=0)
            if self.store_centers != "centroid":
                D = self._index(own, self.algorithm, int(self.leaf_size)).distances()
                medoids[k] = own[np.argmin((D * strength).sum(axis=1))]
        kept = self.store_centers
        return DensityHierarchy(
            labels=model.labels, strengths=model.strengths, merges=model.merges, heights=model.heights,
            centroids=centroids if kept != "medoid" else None, medoids=medoids if kept != "centroid" else None,
        )  # fmt: skip

    def dbscan_clustering(self, cut_distance: float, min_cluster_size: int = 5) -> Codes:
        """The clusters of DBSCAN at this radius, without rows that are not dense themselves; smaller ones are noise."""
        model: DensityHierarchy = self.model_
        placed = model.labels > INFINITE
        roots = np.empty(len(model.merges) + 1, np.int64)
        cut_merges(model.merges, model.heights, float(cut_distance), roots)
        _, place, counts = np.unique(roots, return_inverse=True, return_counts=True)
        large = counts >= min_cluster_size
        labels = model.labels.copy()
        labels[placed] = np.where(large, np.cumsum(large) - 1, -1)[place]
        return labels


def _stored_distances(X: Table) -> Doubles:
    """A sparse matrix of distances with infinity where none is stored, and zero from each row to itself."""
    D = np.full(X.shape, np.inf)
    stored = X.tocoo()
    D[stored.row, stored.col] = stored.data
    np.fill_diagonal(D, 0.0)
    return np.minimum(D, D.T)
