"""Graphs with a row of numbers per node: many graphs as one, with edges numbered through.

A graph is (nodes, edges) or (nodes, edges, edge features): rows (n, d), pairs of nodes (m, 2), rows (m, q).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fivefold.core.types import Doubles, Indices, Matrix, UserTable
from fivefold.sequence.features.attribute_encoder import starts

NAMES = ("nodes", "edges", "edge_features")


@dataclass(frozen=True)
class GraphBatch:
    """Nodes and edges of several graphs; nodes of graph g are offsets[g]..offsets[g + 1], its edges likewise."""

    rows: Doubles  # (nodes, d + 1): the last column is one
    offsets: Indices
    edges: Indices  # (edges, 2)
    edge_rows: Doubles  # (edges, q)
    edge_offsets: Indices

    @classmethod
    def of_table(cls, X: Matrix) -> GraphBatch:
        """Each row is a graph of one node."""
        n = len(X)
        rows = np.column_stack([X, np.ones(n)]).astype(np.float64)
        return cls(rows, np.arange(n + 1), np.empty((0, 2), dtype=np.int64), np.ones((0, 1)), np.zeros(n + 1, np.int64))

    @property
    def n_graphs(self) -> int:
        """The number of graphs."""
        return len(self.offsets) - 1

    def owners(self) -> tuple[Indices, Indices]:
        """The graph of each node, and of each edge."""
        graphs = np.arange(self.n_graphs)
        return np.repeat(graphs, np.diff(self.offsets)), np.repeat(graphs, np.diff(self.edge_offsets))


def holds_graphs(X: UserTable) -> bool:
    """Is X a list of graphs, not a table?"""
    return isinstance(X, Sequence) and not isinstance(X, str) and len(X) > 0 and _is_graph(X[0])


def _is_graph(one: Any) -> bool:
    if isinstance(one, Mapping):
        return "nodes" in one
    return isinstance(one, tuple) and len(one) in (2, 3) and np.ndim(one[0]) == 2


def batch_of(X: Sequence[Any], name: str, d: int | None = None, q: int | None = None) -> GraphBatch:
    """Graphs as one batch; d and q are the numbers per node and per edge that fit saw."""
    nodes, edges, edge_rows = [], [], []
    for g, graph in enumerate(X):
        parts = [graph.get(key) for key in NAMES] if isinstance(graph, Mapping) else [*graph, None][:3]
        if parts[0] is None or parts[1] is None:
            raise ValueError(f"{name}: graph {g} must be (nodes, edges) or (nodes, edges, edge features)")
        Z, E = np.asarray(parts[0], dtype=np.float64), np.asarray(parts[1], dtype=np.int64).reshape(-1, 2)
        F = np.ones((len(E), 1)) if parts[2] is None else np.asarray(parts[2], dtype=np.float64)
        _check(name, g, Z, E, F, d, q)
        d, q = Z.shape[1], F.shape[1]
        nodes.append(Z)
        edges.append(E)
        edge_rows.append(F)
    offsets, edge_offsets = starts([len(Z) for Z in nodes]), starts([len(E) for E in edges])
    rows = np.concatenate(nodes)
    shifted = np.concatenate([E + lo for E, lo in zip(edges, offsets[:-1], strict=True)])
    ones = np.ones(len(rows))
    return GraphBatch(np.column_stack([rows, ones]), offsets, shifted, np.concatenate(edge_rows), edge_offsets)


def _check(name: str, g: int, Z: Doubles, E: Indices, F: Doubles, d: int | None, q: int | None) -> None:
    if Z.ndim != 2 or not len(Z) or not np.isfinite(Z).all():
        raise ValueError(f"{name}: graph {g} needs one node or more, each a row of finite numbers")
    if d is not None and Z.shape[1] != d:
        raise ValueError(f"{name}: the nodes of graph {g} have {Z.shape[1]} numbers, those before had {d}")
    if len(E) and not (0 <= E.min() and E.max() < len(Z)):
        raise ValueError(
            f"{name}: graph {g} has {len(Z)} nodes, but an edge to node {E.max() if E.min() >= 0 else E.min()}"
        )
    if len(loops := np.flatnonzero(E[:, 0] == E[:, 1])):
        raise ValueError(f"{name}: edge {loops[0]} of graph {g} joins node {E[loops[0], 0]} to itself")
    if F.ndim != 2 or len(F) != len(E) or not np.isfinite(F).all():
        raise ValueError(
            f"{name}: graph {g} has {len(E)} edges; its edge features must be as many rows of finite numbers"
        )
    if q is not None and F.shape[1] != q:
        raise ValueError(f"{name}: the edges of graph {g} have {F.shape[1]} numbers, those before had {q}")
