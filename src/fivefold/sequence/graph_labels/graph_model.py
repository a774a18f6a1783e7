"""Scores of the labels of graphs, and marginals and best labels under them.

    score(y | x) = sum over nodes i of x_i.W[:, y_i] + sum over edges (i, j) and their numbers z of z_q A_q[y_i, y_j]

Graphs whose elimination order is cheap are summed exactly, by a junction tree; others by loopy propagation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fivefold.core.types import Codes, Doubles, Indices
from fivefold.inference.approximate.loopy_propagation import loopy_propagation
from fivefold.inference.factors.configurations import most_probable
from fivefold.inference.factors.elimination_order import elimination_order
from fivefold.inference.factors.factor import Factor
from fivefold.inference.factors.junction_tree import JunctionTree
from fivefold.sequence.graph_labels.labelled_graphs import GraphBatch

Inference = Literal["auto", "exact", "loopy"]
MAX_EXACT_CELLS = 2**20  # cells of the tables of an elimination that "auto" still does exactly


@dataclass(frozen=True)
class GraphModel:
    """Weights of nodes and edges."""

    node: Doubles  # (d + 1, K)
    edge: Doubles  # (q, K, K), symmetric where edges have no direction
    dtype: str = "float64"

    def scores(self, graphs: GraphBatch) -> tuple[Doubles, Doubles]:
        """Of labels of nodes (n, K) and of pairs of labels of edges (m, K, K)."""
        return graphs.rows @ self.node, np.tensordot(graphs.edge_rows, self.edge, axes=1)

    def check_arrays(self, columns: int) -> None:
        """Refuse weights that do not fit together."""
        K = self.node.shape[1]
        if self.edge.ndim != 3 or self.edge.shape[1:] != (K, K):
            raise ValueError("the weights of edges do not fit to those of nodes")


@dataclass(frozen=True)
class GraphMarginals:
    """What is known of the labels of all graphs."""

    log_partition: Doubles  # (graphs,)
    nodes: Doubles  # (n, K)
    edges: Doubles  # (m, K, K)


class GraphInference:
    """Marginals of graphs, whose structure is looked at once."""

    def __init__(self, graphs: GraphBatch, n_labels: int, inference: Inference) -> None:
        self.graphs, self.K = graphs, n_labels
        joined = np.flatnonzero(np.diff(graphs.edge_offsets) > 0)
        self.parts: list[tuple[int, JunctionTree | None]] = []
        for g in joined.tolist():
            scopes, cards = self._scopes(g), [n_labels] * int(np.diff(graphs.offsets)[g])
            exact = inference == "exact" or (
                inference == "auto" and elimination_order(scopes, cards).cost <= MAX_EXACT_CELLS
            )
            self.parts.append((g, JunctionTree(scopes, cards) if exact else None))

    def marginals(self, node: Doubles, edge: Doubles) -> GraphMarginals:
        """Marginals and log partition functions under these scores."""
        top = node.max(axis=1)
        P = np.exp(node - top[:, None])
        total = P.sum(axis=1)
        log_Z = np.add.reduceat(top + np.log(total), self.graphs.offsets[:-1])
        P /= total[:, None]
        Q = np.empty_like(edge)
        for g, tree in self.parts:
            nodes, edges, factors, level = self._factors(g, node, edge)
            n = nodes.stop - nodes.start
            found = tree.calibrate(factors) if tree else loopy_propagation(factors, [self.K] * n, max_passes=200)
            log_Z[g] = found.log_partition + level
            P[nodes] = [found.marginal(v) for v in range(n)]
            Q[edges] = [found.factor_marginal(n + e).table for e in range(edges.stop - edges.start)]
        return GraphMarginals(log_Z, P, Q)

    def best(self, node: Doubles, edge: Doubles) -> Codes:
        """The best label of every node; by loopy propagation a good one."""
        found = node.argmax(axis=1)
        for g, tree in self.parts:
            nodes, _, factors, _ = self._factors(g, node, edge)
            cards = [self.K] * (nodes.stop - nodes.start)
            if tree is None:
                found[nodes] = loopy_propagation(factors, cards, maximum=True, damping=0.2, max_passes=200).assignment
            else:
                states = most_probable(factors, cards).states
                found[nodes] = [states[v] for v in range(len(cards))]
        return found

    def _scopes(self, g: int) -> list[tuple[int, ...]]:
        n = int(np.diff(self.graphs.offsets)[g])
        return [*((v,) for v in range(n)), *map(tuple, self._edges(g).tolist())]

    def _edges(self, g: int) -> Indices:
        lo, hi = self.graphs.edge_offsets[g : g + 2]
        return self.graphs.edges[lo:hi] - self.graphs.offsets[g]

    def _factors(self, g: int, node: Doubles, edge: Doubles) -> tuple[slice, slice, Sequence[Factor], float]:
        """The tables of a graph, each divided by its largest entry, and the sum of the logs of these."""
        nodes, edges = slice(*self.graphs.offsets[g : g + 2]), slice(*self.graphs.edge_offsets[g : g + 2])
        U, T = node[nodes], edge[edges]
        top, steep = U.max(axis=1), T.max(axis=(1, 2))
        tables = [*np.exp(U - top[:, None]), *np.exp(T - steep[:, None, None])]
        factors = [Factor(scope, table) for scope, table in zip(self._scopes(g), tables, strict=True)]
        return nodes, edges, factors, float(top.sum() + steep.sum())
