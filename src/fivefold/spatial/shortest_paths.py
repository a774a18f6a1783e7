"""Shortest paths between all nodes of a graph whose edges carry lengths, and edges that may be shortcuts.

    Dijkstra           a heap from every node, the nodes shared by all cores: O(n (E + n log n)), for sparse graphs
    Floyd, Warshall    D_ij <- min(D_ij, D_il + D_lj) for every l: O(n^3), for small or dense graphs

Nodes without a path are at an infinite distance. Dijkstra (1959); Floyd (1962); Warshall (1962).
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from fivefold.core.parallel import map_items
from fivefold.core.types import Doubles, Indices, Sparse
from fivefold.spatial.search.proximity_graphs import join_both_ways
from fivefold.spatial.shortest_path_loops import detours, group_nodes, paths_from, relax_through, sweep_paths

NODES_PER_GROUP = 64  # nodes whose paths are found together: their lengths fill a few vector registers
NODES_PER_TASK = 64  # nodes whose paths one task finds: enough to be worth a thread
ROWS_PER_TASK = 512  # rows of the matrix that one task relaxes


def undirected(graph: Sparse) -> Sparse:
    """The graph whose edges go both ways, with the shorter of two lengths; a stored zero is an edge."""
    either = join_both_ways(graph.tocsr(), "either")
    back = csr_matrix((np.arange(len(either.data)), either.indices, either.indptr), shape=either.shape).T.tocsr()
    lengths = np.minimum(either.data, either.data[back.data])  # the same places, in the same order
    return csr_matrix((lengths.astype(np.float64), either.indices, either.indptr), shape=either.shape)


def dijkstra(graph: Sparse) -> Doubles:
    """Lengths of the shortest paths between all nodes (n, n) of a graph without negative edges.

    >>> dijkstra(csr_matrix([[0.0, 1.0, 9.0], [1.0, 0.0, 2.0], [9.0, 2.0, 0.0]]))
    array([[0., 1., 3.],
           [1., 0., 2.],
           [3., 2., 0.]])
    """
    n = graph.shape[0]
    edges = _compiled_form(graph)
    out = np.empty((n, n))

    def task(i: int) -> None:
        lo, hi = i * NODES_PER_TASK, min((i + 1) * NODES_PER_TASK, n)
        paths_from(*edges, lo, hi, out[lo:hi])

    map_items(task, -(-n // NODES_PER_TASK))
    return out


def shortest_paths(graph: Sparse) -> Doubles:
    """The same lengths as `dijkstra`, to the last digit, for groups of near nodes together, where edges go both ways.

    Nodes are visited in the order of their distance from one node of the group, there and back until nothing changes:
    lengths of a whole group take few instructions per edge, and no heap.

    >>> shortest_paths(csr_matrix([[0.0, 1.0, 9.0], [1.0, 0.0, 2.0], [9.0, 2.0, 0.0]]))[0]
    array([0., 1., 3.])
    """
    n, edges = graph.shape[0], _compiled_form(graph)
    groups = np.full((-(-n // NODES_PER_GROUP), NODES_PER_GROUP), -1, np.int64)
    count = int(group_nodes(*edges, NODES_PER_GROUP, groups))
    out = np.empty((n, n))

    def task(i: int) -> None:
        sources, centre = groups[i][groups[i] >= 0], int(groups[i, 0])
        length = np.empty((1, n))
        paths_from(*edges, centre, centre + 1, length)
        order = np.argsort(length[0]).astype(np.int32)
        sweep_paths(*edges, order, sources, np.empty((n, len(sources))), out)

    map_items(task, count)
    return out


def floyd_warshall(graph: Sparse) -> Doubles:
    """The same by relaxing all pairs through one node after the other.

    >>> floyd_warshall(csr_matrix([[0.0, 1.0, 9.0], [1.0, 0.0, 2.0], [9.0, 2.0, 0.0]]))[0]
    array([0., 1., 3.])
    """
    n = graph.shape[0]
    D = np.full((n, n), np.inf)
    D[np.repeat(np.arange(n), np.diff(graph.indptr)), graph.indices] = graph.data
    np.fill_diagonal(D, 0.0)
    tasks = -(-n // ROWS_PER_TASK)
    for middle in range(n):

        def task(i: int, middle: int = middle) -> None:
            relax_through(D, middle, i * ROWS_PER_TASK, min((i + 1) * ROWS_PER_TASK, n))

        map_items(task, tasks)
    return D


def shortcut_ratios(graph: Sparse, limit: float) -> tuple[Indices, Doubles]:
    """Edges (m, 2), and how many times longer than each the shortest way around it is; infinite above `limit`.

    In a graph that follows a surface the way around an edge is hardly longer than the edge. A shortcut between two
    parts of the surface has a long way around, or none.
    """
    indptr, indices, weights = _compiled_form(graph)
    n, out = graph.shape[0], np.empty(len(weights))

    def task(i: int) -> None:
        detours(indptr, indices, weights, limit, i * NODES_PER_TASK, min((i + 1) * NODES_PER_TASK, n), out)

    map_items(task, -(-n // NODES_PER_TASK))
    source = np.repeat(np.arange(n), np.diff(indptr))
    once = (indices > source) & (weights > 0)
    return np.column_stack([source[once], indices[once]]), out[once] / weights[once]


def _compiled_form(graph: Sparse) -> tuple[Indices, Indices, Doubles]:
    return graph.indptr.astype(np.int64), graph.indices.astype(np.int32), graph.data.astype(np.float64)
