"""What graph models are fitted to: the likelihood of all labels, or the pseudo-likelihood of each given its neighbours.

    likelihood          sum_g w_g (ln Z_g - score(y_g | x_g)) + alpha / 2 |weights|^2
    pseudo-likelihood   sum_g w_g sum_i -ln P(y_i | labels of its neighbours, x) + alpha / 2 |weights|^2

Both gradients are expected less observed features. The pseudo-likelihood needs no sums over labellings, and finds the
same weights as data grow (Besag, 1975).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from fivefold.core.types import Array, Codes, Doubles, Weights
from fivefold.optim.objective import SmoothObjective
from fivefold.sequence.graph_labels.graph_model import GraphInference, GraphModel
from fivefold.sequence.graph_labels.labelled_graphs import GraphBatch


@dataclass(frozen=True)
class LabelledGraphs:
    """Graphs, their labels and their weights."""

    graphs: GraphBatch
    codes: Codes  # (nodes,)
    w: Weights  # (graphs,)
    n_labels: int
    directed: bool
    dtype: str = "float64"

    @property
    def shapes(self) -> tuple[tuple[int, int], tuple[int, int, int]]:
        """Shapes of the weights of nodes and of edges."""
        K = self.n_labels
        return (self.graphs.rows.shape[1], K), (self.graphs.edge_rows.shape[1], K, K)

    def model(self, x: Array) -> GraphModel:
        """The model with these weights."""
        first, second = self.shapes
        weights: Doubles = np.asarray(x, dtype=np.float64)
        cut = first[0] * first[1]
        return GraphModel(weights[:cut].reshape(first), self._even(weights[cut:].reshape(second)), self.dtype)

    def gradient(self, nodes: Doubles, edges: Doubles) -> Doubles:
        """The weights' gradient from residuals of the labels of nodes (n, K) and of pairs of edges (m, K, K)."""
        by_edge = np.tensordot(self.graphs.edge_rows.T, edges, axes=1)
        return np.concatenate([(self.graphs.rows.T @ nodes).ravel(), self._even(by_edge).ravel()])

    def _even(self, A: Doubles) -> Doubles:
        return A if self.directed else (A + A.transpose(0, 2, 1)) / 2


@dataclass(frozen=True)
class GraphLikelihood(SmoothObjective):
    """Minus the log-likelihood of all labels, by exact or loopy marginals."""

    data: LabelledGraphs
    inference: GraphInference
    alpha: float

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        data, (of_node, of_edge) = self.data, self.data.graphs.owners()
        node, edge = data.model(x).scores(data.graphs)
        found = self.inference.marginals(node, edge)
        a, b = data.codes[data.graphs.edges].T
        w, v = data.w[of_node], data.w[of_edge]
        n, m = np.arange(len(node)), np.arange(len(edge))
        value = float(data.w @ found.log_partition) - float(w @ node[n, data.codes]) - float(v @ edge[m, a, b])
        R, S = found.nodes, found.edges
        R[n, data.codes] -= 1.0
        S[m, a, b] -= 1.0
        g = data.gradient(w[:, None] * R, v[:, None, None] * S)
        return value + self.alpha / 2 * float(x @ x), g + self.alpha * x


@dataclass(frozen=True)
class GraphPseudoLikelihood(SmoothObjective):
    """Minus the log probabilities of labels, each given those of its neighbours."""

    data: LabelledGraphs
    alpha: float

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        data, (of_node, _) = self.data, self.data.graphs.owners()
        node, edge = data.model(x).scores(data.graphs)
        i, j = data.graphs.edges.T
        a, b = data.codes[i], data.codes[j]
        m = np.arange(len(edge))
        scores = node.copy()
        np.add.at(scores, i, edge[m, :, b])
        np.add.at(scores, j, edge[m, a, :])
        n, w = np.arange(len(node)), data.w[of_node]
        log_Z = logsumexp(scores, axis=1)
        R = w[:, None] * np.exp(scores - log_Z[:, None])
        R[n, data.codes] -= w
        S = np.zeros_like(edge)
        S[m, :, b] += R[i]
        S[m, a, :] += R[j]
        value = float(w @ (log_Z - scores[n, data.codes])) + self.alpha / 2 * float(x @ x)
        return value, data.gradient(R, S) + self.alpha * x
