"""Conditional random field on graphs: labels of nodes depend on what is seen there and on labels of neighbours.

    P(y | x) = exp(sum_i x_i.W[:, y_i] + sum over edges (i, j) of sum_q z_q A_q[y_i, y_j]) / Z(x)

    min over (W, A)   sum_g s_g (-ln P(y_g | x_g)) + alpha / 2 |(W, A)|^2

Sums over labellings are exact on graphs with cheap elimination orders (trees, chains, narrow grids), else by loopy
propagation. The pseudo-likelihood in place of the likelihood needs no sums over labellings to learn.

Lafferty, McCallum & Pereira (2001); Besag (1975).
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fivefold.core.admission.targets import admit_weights
from fivefold.core.console.fit_progress import fit_steps, interruptible_fit, warn_kept_best
from fivefold.core.estimators import params
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, NonNegative
from fivefold.core.estimators.supervised_learning import Classifier
from fivefold.core.registry import Card, SearchRange
from fivefold.core.types import Array, Doubles, Table, Target, UserTable, UserTarget, UserWeights, Weights
from fivefold.optim.minimise import minimise
from fivefold.optim.smooth.lbfgs import LBFGS
from fivefold.sequence.graph_labels.graph_likelihood import GraphLikelihood, GraphPseudoLikelihood, LabelledGraphs
from fivefold.sequence.graph_labels.graph_model import GraphInference
from fivefold.sequence.graph_labels.labelled_graphs import GraphBatch, batch_of, holds_graphs
from fivefold.sequence.linear_chain.sequence_input import labels_of, split_by


class GraphCRF(Classifier):
    """Labels of the nodes of graphs, by a conditional random field.

    `X` is a list of graphs (nodes, edges) or (nodes, edges, edge features), `y` a list of lists of labels; a table is
    as many graphs of one node each.

    Parameters
    ----------
    alpha
        strength of the L2 penalty.
    objective
        "likelihood", or "pseudolikelihood": each label given its neighbours', which is much faster to learn.
    inference
        "exact" by junction trees, "loopy" by messages, "auto" exact where that is cheap.
    directed
        do the two ends of an edge play different parts?
    decoding
        "sequence" predicts the best labelling of a graph, "hamming" the best label of each node.
    tol
        stop where no entry of the gradient is larger.
    max_iter
        steps at most.

    Attributes
    ----------
    node_weights_
        (columns and intercept, labels).
    edge_weights_
        (edge features, labels, labels).

    Examples
    --------
    >>> pair = ([[0.1], [2.0]], [[0, 1]])
    >>> GraphCRF(alpha=0.1).fit([pair, ([[-2.0], [-0.2]], [[0, 1]])], [[1, 1], [0, 0]]).predict([pair])
    [[1, 1]]
    """

    card = Card(
        applications=("classification",),
        use="Labels of pixels, atoms or people joined by edges, where neighbours influence each other.",
        steps=(
            "Score the labels of nodes by their rows, and pairs of labels by the edge between them.",
            "Find the probabilities of labels and pairs, exactly or by messages.",
            "Move the weights until expected and observed features differ by the penalty alone.",
        ),
        source="Lafferty, McCallum & Pereira (2001); Besag (1975)",
        see_also=("LinearChainCRF",),
        variants=({"objective": "pseudolikelihood", "decoding": "hamming"},),
        search={"alpha": SearchRange(1e-3, 10.0)},
    )

    alpha: NonNegative = 1.0
    _: KW_ONLY
    objective: Literal["likelihood", "pseudolikelihood"] = "likelihood"
    inference: Literal["auto", "exact", "loopy"] = "auto"
    directed: bool = False
    decoding: Literal["sequence", "hamming"] = "sequence"
    tol: NonNegative = 1e-6
    max_iter: Count = 500

    node_weights_ = learned("node")
    edge_weights_ = learned("edge")

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        data = LabelledGraphs(GraphBatch.of_table(X), y, w, len(self.classes_), self.directed, X.dtype.name)
        self._learn(data)

    def _fit_admitted(self, X: UserTable, y: UserTarget, sample_weight: UserWeights, **extra: Any) -> Self:
        if not holds_graphs(X):
            return super()._fit_admitted(X, y, sample_weight, **extra)
        params.check_params(self)
        self._forget()
        for name in ("n_features_in_", "feature_names_in_"):
            vars(self).pop(name, None)
        w = admit_weights(self, sample_weight, np.empty((len(X), 1)))
        kept = np.flatnonzero(w > 0)
        graphs = batch_of([X[g] for g in kept], type(self).__name__)
        nodes = split_by(range(len(graphs.rows)), graphs.offsets)
        self.classes_, codes = labels_of(nodes, None if y is None else [y[g] for g in kept], type(self).__name__)
        with interruptible_fit(self):
            self._learn(LabelledGraphs(graphs, codes, w[kept], len(self.classes_), self.directed))
        return self

    def _learn(self, data: LabelledGraphs) -> None:
        if self.objective == "likelihood":
            inference = GraphInference(data.graphs, data.n_labels, self.inference)
            risk: Any = GraphLikelihood(data, inference, self.alpha)
        else:
            risk = GraphPseudoLikelihood(data, self.alpha)
        size = sum(int(np.prod(shape)) for shape in data.shapes)
        with fit_steps(self, "step", self.max_iter, None) as monitor:

            def report(x: Array, value: float) -> bool:
                return monitor(lambda: data.model(x), value)

            found = minimise(risk, np.zeros(size), LBFGS(), tol=self.tol, max_iter=self.max_iter, monitor=report)
        self.model_ = data.model(found.x)
        self.history_, self.reason_, self.n_iter_ = found.history, found.reason, max(found.steps, 1)
        if found.reason == "interrupted":
            warn_kept_best(self, found.steps, "step")

    def _graphs(self, X: UserTable) -> tuple[GraphBatch, bool]:
        """X as one batch; is it a table?"""
        check_is_fitted(self)
        d, q = self.model_.node.shape[0] - 1, self.model_.edge.shape[0]
        if holds_graphs(X):
            return batch_of(X, type(self).__name__, d, q), False
        if "n_features_in_" not in vars(self):
            raise ValueError(f"{type(self).__name__} was fitted to graphs: pass a list of (nodes, edges)")
        return GraphBatch.of_table(self._admit(X)), True

    def predict(self, X: UserTable) -> Any:
        """The labels of each graph, a list of lists; of a table, the label of each row."""
        graphs, is_table = self._graphs(X)
        node, edge = self.model_.scores(graphs)
        inference = GraphInference(graphs, node.shape[1], self.inference)
        if self.decoding == "sequence":
            codes = inference.best(node, edge)
        else:
            codes = inference.marginals(node, edge).nodes.argmax(axis=1)
        found = self.classes_[codes]
        return found if is_table else split_by(found.tolist(), graphs.offsets)

    def predict_proba(self, X: UserTable) -> Any:
        """Probability of each label, (n, K) for a table, a list of (nodes, K) for graphs."""
        graphs, is_table = self._graphs(X)
        node, edge = self.model_.scores(graphs)
        P: Doubles = GraphInference(graphs, node.shape[1], self.inference).marginals(node, edge).nodes
        return P.astype(self.model_.dtype, copy=False) if is_table else split_by(P, graphs.offsets)

    def score(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None) -> float:
        """The share of nodes, or of rows of a table, whose label is predicted."""
        if not holds_graphs(X):
            return super().score(X, y, sample_weight)
        right = [np.array([a == b for a, b in zip(p, q, strict=True)]) for p, q in zip(self.predict(X), y, strict=True)]
        w = np.ones(len(right)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        return float(w @ [one.sum() for one in right] / (w @ [len(one) for one in right]))
