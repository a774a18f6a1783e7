"""Merging along a graph of neighbours: only clusters that an edge joins may merge."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import paired_distances

from fivefold.cluster.hierarchy import edge_merge_loops
from fivefold.cluster.hierarchy.dendrogram import Dendrogram
from fivefold.core.console.user_warnings import warn
from fivefold.core.types import Indices, Matrix
from fivefold.spatial.search.proximity_graphs import bridges

KINDS = {
    "single": edge_merge_loops.SINGLE,
    "complete": edge_merge_loops.COMPLETE,
    "average": edge_merge_loops.AVERAGE,
    "weighted": edge_merge_loops.WEIGHTED,
    "ward": edge_merge_loops.WARD,
    "centroid": edge_merge_loops.CENTROID,
}
PAIRS_PER_BLOCK = 1 << 18  # edges whose lengths are computed together: bounds the memory they take


def tree_along_graph(X: Matrix, graph: Any, method: str, metric: Any, n_clusters: int | None, owner: str) -> Dendrogram:
    """The merges of the rows of X, or of the rows of a square of distances, that edges of the graph allow.

    With `n_clusters` they end there. A graph of several components is completed: the closest rows of each pair of
    components are joined.
    """
    if method not in KINDS:
        raise ValueError(f"linkage {method!r} is not defined along a graph; there are {', '.join(KINDS)}")
    n = len(X)
    i, j, components = _edges(X, graph, metric, owner)
    lengths = np.empty(0) if method in ("ward", "centroid") else _lengths(X, i, j, metric)
    last = 2 * n - (1 if n_clusters is None else n_clusters)
    children, heights = np.empty((last - n, 2), np.int64), np.empty(last - n)
    rows = np.ascontiguousarray(X, dtype=np.float64)
    edge_merge_loops.merge_along_edges(KINDS[method], rows, i, j, lengths, last, children, heights)
    if method in ("ward", "centroid"):
        heights = np.sqrt(heights * (2.0 if method == "ward" else 1.0))
    return Dendrogram(children, heights, n, components)


def _edges(X: Matrix, graph: Any, metric: Any, owner: str) -> tuple[Indices, Indices, int]:
    """Every edge once, the later row first, and the number of components before they were joined."""
    n = len(X)
    graph = csr_matrix(graph)
    if graph.shape != (n, n):
        raise ValueError(
            f"connectivity has shape {graph.shape}, and there are {n} rows to merge: it must be ({n}, {n}), an entry "
            "that is not zero where two of them are neighbours"
        )
    graph = csr_matrix(graph + graph.T)
    graph.eliminate_zeros()
    count, part = connected_components(graph, directed=False)
    found = graph.tocoo()
    kept = found.row > found.col
    i, j = found.row[kept].astype(np.int64), found.col[kept].astype(np.int64)
    if count > 1:
        warn(
            f"the connectivity graph has {count} components; the closest rows of each two were joined, so that the "
            "tree does not end early"
        )

        def distances_of(rows: Indices) -> Matrix:
            return X[rows] if metric == "precomputed" else pairwise_distances(X[rows], X, metric=metric)

        one, other, _ = bridges(owner, part, distances_of)
        i, j = np.concatenate([i, np.maximum(one, other)]), np.concatenate([j, np.minimum(one, other)])
    return i, j, int(count)


def _lengths(X: Matrix, i: Indices, j: Indices, metric: Any) -> Matrix:
    """Of edges."""
    if metric == "precomputed":
        return np.asarray(X[i, j], dtype=np.float64)
    blocks = [slice(s, s + PAIRS_PER_BLOCK) for s in range(0, len(i), PAIRS_PER_BLOCK)]
    return np.concatenate([np.empty(0), *(paired_distances(X[i[s]], X[j[s]], metric=metric) for s in blocks)])
