"""Graphs of neighbours: an edge from each row to its k nearest, or to all within a radius; undirected forms.

either     i and j are joined if one is a neighbour of the other
mutual     if each is a neighbour of the other
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from fivefold.core.storage.memory_limits import refuse_square
from fivefold.core.types import Codes, Doubles, Indices, Matrix, Sparse
from fivefold.spatial.search.block_loops import closest_of_parts
from fivefold.spatial.search.neighbor_index import NeighborIndex

Joined = Literal["directed", "either", "mutual"]
BLOCK_DISTANCES = 1 << 22  # distances that are held at once


def nearest_graph(index: NeighborIndex, k: int, joined: Joined = "directed") -> Sparse:
    """Distances of each row to its k nearest others, as a CSR matrix (n, n); a stored zero is an edge too."""
    distances, rows = index.query(None, k)
    ends: Indices = np.arange(0, len(rows) * k + 1, k)
    return join_both_ways(csr_matrix((distances.ravel(), rows.ravel(), ends), shape=(index.n, index.n)), joined)


def radius_graph(index: NeighborIndex, radius: float) -> Sparse:
    """Distances of each row to all others within a radius, which is an undirected graph, as a CSR matrix (n, n)."""
    return index.query_radius(None, radius).matrix(index.n)


def join_both_ways(graph: Sparse, joined: Joined) -> Sparse:
    """A graph whose edges go both ways, where either of two rows, or both, chose the other."""
    if joined == "directed":
        return graph
    n = graph.shape[0]
    of = np.repeat(np.arange(n), np.diff(graph.indptr))
    i, j = np.concatenate([of, graph.indices]), np.concatenate([graph.indices, of])
    keys, first, count = np.unique(i.astype(np.int64) * n + j, return_index=True, return_counts=True)
    kept = first if joined == "either" else first[count == 2]
    keys = keys if joined == "either" else keys[count == 2]
    lengths = np.concatenate([graph.data, graph.data])[kept]
    ends = np.searchsorted(keys, np.arange(n + 1) * n)
    return csr_matrix((lengths, keys % n, ends), shape=graph.shape)


def components(graph: Sparse) -> Codes:
    """The connected component of each row (n,), numbered in the order of their first rows."""
    # stored zeros are edges too, and must not look like none
    edges = csr_matrix((np.ones(len(graph.data)), graph.indices, graph.indptr), shape=graph.shape)
    _, labels = connected_components(edges, directed=False)
    first, place = np.unique(labels, return_index=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(place, kind="stable")] = np.arange(len(first))
    return rank[labels]


def bridges(owner: str, labels: Codes, distances_of: Callable[[Indices], Matrix]) -> tuple[Indices, Indices, Doubles]:
    """The closest two rows of each two parts of a graph, that of the later part first, and their distances.

    `distances_of` gives the distances of some rows to all; every pair of rows is looked at once.
    """
    n, parts = len(labels), int(labels.max()) + 1
    refuse_square(owner, parts, 3, "Join each row with more neighbours, so that there are fewer parts", "parts")
    order, first = np.argsort(labels, kind="stable"), np.unique(labels, return_index=True)[1]
    least = np.full((parts, parts), np.inf)
    ends = np.stack(np.broadcast_arrays(first[:, None], first), axis=2).astype(np.int64)
    later = order[np.searchsorted(labels[order], 1) :]
    step = max(1, BLOCK_DISTANCES // n)
    for at in range(0, len(later), step):
        rows = later[at : at + step]
        closest_of_parts(np.asarray(distances_of(rows), np.float64), rows, labels, least, ends)
    i, j = np.tril_indices(parts, -1)
    return ends[i, j, 0], ends[i, j, 1], least[i, j]
