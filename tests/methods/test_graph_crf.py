"""Conditional random fields on graphs."""

import numpy as np
import pytest
from methods.test_linear_chain_crf import sentences
from numpy.testing import assert_allclose
from oracles.chain_labels import enumerated

from fivefold.sequence import GraphCRF, LinearChainCRF
from fivefold.sequence.graph_labels.graph_likelihood import GraphLikelihood, GraphPseudoLikelihood, LabelledGraphs
from fivefold.sequence.graph_labels.graph_model import GraphInference, GraphModel
from fivefold.sequence.graph_labels.labelled_graphs import batch_of


def cycles(n=20, seed=0, nodes=10, d=2):
    """Rings of nodes whose labels are alike, seen under noise."""
    rng = np.random.RandomState(seed)
    X, y = [], []
    for _ in range(n):
        labels = np.repeat(rng.randint(2, size=2), [4, nodes - 4])
        edges = np.array([(i, (i + 1) % nodes) for i in range(nodes)])
        X.append((np.column_stack([labels + rng.normal(size=nodes), *rng.normal(size=(d - 1, nodes))]), edges))
        y.append(labels.tolist())
    return X, y


def chains(n=15, seed=0):
    rng = np.random.RandomState(seed)
    X = [rng.normal(size=(rng.randint(2, 6), 3)) for _ in range(n)]
    y = [np.argmax(Z + 0.5 * rng.normal(size=Z.shape), axis=1).tolist() for Z in X]
    graphs = [(Z, np.column_stack([np.arange(len(Z) - 1), np.arange(1, len(Z))])) for Z in X]
    return X, graphs, y


def test_a_graph_that_is_a_chain_is_a_linear_chain():
    X, graphs, y = chains()
    linear = LinearChainCRF(c2=0.5, all_possible_states=True, all_possible_transitions=True, delta=0.0, epsilon=1e-9)
    linear.fit(X, y)
    graph = GraphCRF(alpha=1.0, directed=True, tol=1e-9).fit(graphs, y)
    assert_allclose(graph.edge_weights_[0], linear.model_.transition, atol=1e-5)
    assert_allclose(np.concatenate(graph.predict_proba(graphs)), np.concatenate(linear.predict_proba(X)), atol=1e-5)
    assert graph.predict(graphs) == linear.predict(X)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("kind", ["likelihood", "pseudolikelihood"])
def test_the_gradients_are_those_of_finite_differences(kind, directed):
    X, y = cycles(6)
    X = [(Z, E, np.column_stack([np.ones(len(E)), np.arange(len(E))])) for Z, E in X]
    batch = batch_of(X, "test")
    data = LabelledGraphs(batch, np.concatenate(y), np.arange(1.0, 7.0), 2, directed)
    if kind == "likelihood":
        objective = GraphLikelihood(data, GraphInference(batch, 2, "exact"), 0.3)
    else:
        objective = GraphPseudoLikelihood(data, 0.3)
    x = np.random.RandomState(0).normal(size=3 * 2 + 2 * 4)
    g, steps = objective.gradient(x), 1e-5 * np.eye(len(x))
    slopes = [(objective.value(x + s) - objective.value(x - s)) / 2e-5 for s in steps]
    assert_allclose(g, slopes, rtol=1e-6, atol=1e-6)


def test_exact_marginals_on_a_chain_are_those_of_enumeration():
    _, graphs, _ = chains(1)
    rng = np.random.RandomState(3)
    model = GraphModel(rng.normal(size=(4, 3)), rng.normal(size=(1, 3, 3)))
    batch = batch_of(graphs, "test")
    node, edge = model.scores(batch)
    found = GraphInference(batch, 3, "exact").marginals(node, edge)
    log_Z, P, path = enumerated(node, model.edge[0])
    assert_allclose(found.log_partition, [log_Z])
    assert_allclose(found.nodes, P, atol=1e-12)
    assert tuple(GraphInference(batch, 3, "exact").best(node, edge)) == path


def test_neighbours_help_on_graphs_with_cycles_by_every_way_to_learn_and_to_sum():
    X, y = cycles(60)
    new, truth = cycles(60, seed=1)
    alone = GraphCRF().fit(np.concatenate([Z for Z, _ in X]), np.concatenate(y))
    single = np.mean(alone.predict(np.concatenate([Z for Z, _ in new])) == np.concatenate(truth))
    for settings in ({}, {"inference": "loopy"}, {"objective": "pseudolikelihood"}, {"decoding": "hamming"}):
        assert GraphCRF(**settings).fit(X, y).score(new, truth) > single + 0.03, settings


def test_a_weight_means_repetition_of_a_graph():
    X, y = cycles(8)
    w = np.arange(8) % 3
    weighted = GraphCRF().fit(X, y, sample_weight=w)
    copies = np.arange(8).repeat(w)
    repeated = GraphCRF().fit([X[i] for i in copies], [y[i] for i in copies])
    assert_allclose(weighted.node_weights_, repeated.node_weights_, atol=1e-5)


@pytest.mark.parametrize(
    ("graph", "words"),
    [
        (([[1.0]], [[0, 1]]), "has 1 nodes, but an edge to node 1"),
        (([[1.0]], [[0, 0]]), "joins node 0 to itself"),
        (([[1.0], [np.nan]], [[0, 1]]), "finite numbers"),
        (([[1.0], [2.0]], [[0, 1]], [[1.0], [2.0]]), "its edge features must be as many rows"),
    ],
)
def test_bad_graphs_are_refused_in_words(graph, words):
    with pytest.raises(ValueError, match=words):
        GraphCRF().fit([graph], [[0] * len(graph[0])])


def test_sentences_are_lists_of_sequences_not_graphs():
    X, y = sentences(3)
    with pytest.raises((ValueError, TypeError)):
        GraphCRF().fit(X, y)
