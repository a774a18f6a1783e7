"""d-separation, Bayes ball, blankets, I-maps and equivalence classes, beside definitions taken one path at a time."""

from collections import defaultdict
from itertools import combinations

import numpy as np
import pytest
from oracles.networks import all_graphs, random_network, separated_by_paths, tables_for

from fivefold.graphical import BayesianNetwork, DirectedGraph, PartiallyDirectedGraph, UndirectedGraph
from fivefold.graphical.graphs.d_separation import (
    active_path,
    bayes_ball,
    connection,
    d_separated,
    global_independences,
)
from fivefold.graphical.graphs.independence_maps import (
    are_independent,
    factorised,
    failed_independences,
    independence_gap,
    is_independence_map,
    is_minimal,
    minimal_independence_map,
    perfect_map,
)
from fivefold.graphical.graphs.partially_directed_graph import are_equivalent


def statements(names):
    for a, b in combinations(names, 2):
        others = [name for name in names if name not in (a, b)]
        for size in range(len(others) + 1):
            for given in combinations(others, size):
                yield a, b, given


@pytest.mark.parametrize("seed", range(6))
def test_the_bayes_ball_decides_as_paths_and_numbers_do(seed):
    network = random_network(seed, nodes=6)
    graph = network.graph
    for a, b, given in statements(graph.nodes):
        separated = separated_by_paths(graph, a, b, given)
        assert d_separated(graph, a, b, given) == separated
        assert (active_path(graph, a, b, given) is None) == separated
        if seed == 0:
            assert are_independent(network, a, b, given) == separated


def test_a_ball_says_which_tables_and_which_evidence_a_query_needs():
    graph = DirectedGraph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("e", "c"), ("f", "e"), ("d", "g")])
    found = bayes_ball(graph, "d", given=("c", "f"))
    assert found.dependent == ("g",) and found.irrelevant == ("a", "b", "e")
    assert found.requisite_tables == ("d",) and found.requisite_evidence == ("c",)


CASES = [  # edges between a, c, b (and d below c), type, dependent without evidence, dependent given c
    ([("c", "a"), ("c", "b")], "tail-to-tail", True, False),
    ([("a", "c"), ("c", "b")], "head-to-tail", True, False),
    ([("a", "c"), ("b", "c")], "head-to-head", False, True),
]


@pytest.mark.parametrize(("edges", "kind", "before", "after"), CASES, ids=lambda value: str(value))
def test_the_three_connections_in_the_graph_and_in_numbers(edges, kind, before, after):
    graph = DirectedGraph.from_edges([*edges, ("c", "d")], "abcd")
    network = tables_for(graph, 4)
    assert connection(graph, "a", "c", "b") == kind
    for given, dependent in (((), before), (("c",), after)):
        assert d_separated(graph, "a", "b", given) != dependent
        assert are_independent(network, "a", "b", given) != dependent
    below = kind == "head-to-head" or before
    assert d_separated(graph, "a", "b", "d") != below and are_independent(network, "a", "b", "d") != below


def test_exclusive_or_and_a_copy_of_one_input():
    """X -> Z <- Y -> W with Z = X xor Y, W = Y: X and W are independent, and dependent given Z."""
    xor = np.eye(2)[[[0, 1], [1, 0]]]
    network = BayesianNetwork.from_tables(
        {"x": [0.5, 0.5], "y": [0.5, 0.5], "z": xor, "w": np.eye(2)}, {"z": ["x", "y"], "w": ["y"]}
    )
    assert d_separated(network.graph, "x", "w") and are_independent(network, "x", "w")
    assert not d_separated(network.graph, "x", "w", "z") and independence_gap(network, "x", "w", "z") == 0.25
    path = active_path(network.graph, "x", "w", "z")
    assert path.nodes == ("x", "z", "y", "w") and path.directions == ("->", "<-", "->")
    assert "head-to-head at z, which is observed" in str(path)


@pytest.mark.parametrize("seed", range(4))
def test_a_blanket_separates_and_no_member_of_it_can_be_left_out(seed):
    graph = random_network(seed, nodes=7).graph
    for name in graph.nodes:
        blanket = set(graph.markov_blanket(name))
        rest = set(graph.nodes) - blanket - {name}
        assert d_separated(graph, name, rest, blanket)
        for member in blanket:
            assert not d_separated(graph, name, rest | {member}, blanket - {member})
        assert set(graph.moral_graph().markov_blanket(name)) == blanket


@pytest.mark.parametrize("seed", range(4))
def test_local_independences_are_global_ones_and_hold_in_numbers(seed):
    network = random_network(seed, nodes=5)
    order = network.graph.topological_order()
    assert all(order.index(a) < order.index(b) for a, b in network.graph.named_edges())
    everything = set(global_independences(network.graph))
    for found in network.graph.local_independences():
        assert d_separated(network.graph, *found) and are_independent(network, *found)
        for other in found.b:
            pair = sorted([found.a[0], other], key=network.graph.nodes.index)
            assert ((pair[0],), (pair[1],), found.given) in everything


@pytest.mark.parametrize(("nodes", "graphs", "classes"), [(3, 25, 11), (4, 543, 185)])
def test_skeleton_and_immoralities_decide_the_class_of_every_small_graph(nodes, graphs, classes):
    by_pattern, by_statements = defaultdict(list), defaultdict(set)
    for graph in all_graphs(nodes):
        pattern = PartiallyDirectedGraph.from_graph(graph)
        by_pattern[pattern].append(graph)
        by_statements[frozenset(global_independences(graph))].add(pattern)
    assert sum(map(len, by_pattern.values())) == graphs
    assert len(by_pattern) == len(by_statements) == classes
    assert all(len(found) == 1 for found in by_statements.values())
    for pattern, members in by_pattern.items():

        def edge_sets(found):
            return {frozenset(graph.named_edges()) for graph in found}

        assert edge_sets(pattern.members()) == edge_sets(members)
        assert frozenset(pattern.extension().named_edges()) in edge_sets(members)
        assert all(are_equivalent(members[0], graph) for graph in members)
        # A direction is given iff all members agree on it.
        common = frozenset.intersection(*(frozenset(graph.edges) for graph in members))
        assert pattern.directed == common


def test_a_complete_graph_has_no_immorality_and_a_pattern_without_members_is_refused():
    complete = DirectedGraph.from_edges(combinations("abcd", 2))
    assert complete.immoralities() == ()
    square = PartiallyDirectedGraph(tuple("abcd"), frozenset(), frozenset({(0, 1), (1, 2), (2, 3), (0, 3)}))
    with pytest.raises(ValueError, match="no extension"):
        square.extension()


def test_a_graph_is_an_i_map_iff_the_distribution_factorises_over_it():
    network = random_network(2, nodes=5)
    joint = network.query(network.variables.nodes)
    for graph in (network.graph, DirectedGraph.from_edges(combinations(network.variables.nodes, 2))):
        assert is_independence_map(graph, joint)
        assert factorised(graph, network).max_difference < 1e-12
    empty = DirectedGraph.from_edges([], network.variables.nodes)
    assert failed_independences(empty, joint) and factorised(empty, joint).max_difference > 1e-3


def test_minimal_i_maps_depend_on_the_order():
    network = tables_for(DirectedGraph.from_edges([("a", "c"), ("b", "c")], "abc"), 0)
    good, bad = minimal_independence_map(network, "abc"), minimal_independence_map(network, "cab")
    assert set(good.named_edges()) == {("a", "c"), ("b", "c")} and len(bad.edges) == 3
    assert is_minimal(good, network) and is_minimal(bad, network)
    assert not is_minimal(DirectedGraph.from_edges(combinations("abc", 2)), network)
    assert not is_minimal(DirectedGraph.from_edges([], "abc"), network)


@pytest.mark.parametrize("seed", range(3))
def test_a_perfect_map_is_found_from_independences_alone(seed):
    names = "abcde"
    rng = np.random.RandomState(seed)
    edges = [edge for edge in combinations(names, 2) if rng.random_sample() < 0.4]
    graph = DirectedGraph.from_edges(edges, names)
    found = perfect_map(tables_for(graph, seed))
    assert found.graph == PartiallyDirectedGraph.from_graph(graph)


def test_exclusive_or_has_no_perfect_map():
    noisy_xor = np.where(np.eye(2, dtype=bool)[[[0, 1], [1, 0]]], 0.9, 0.1)
    network = BayesianNetwork.from_tables({"x": [0.5, 0.5], "y": [0.5, 0.5], "z": noisy_xor}, {"z": ["x", "y"]})
    found = perfect_map(network)
    assert found.graph is None and "no graph has these independences" in found.reason


def test_separation_and_components_of_undirected_graphs():
    graph = UndirectedGraph.from_edges([("a", "b"), ("b", "c"), ("d", "e")], "abcdef")
    assert graph.connected_components() == (("a", "b", "c"), ("d", "e"), ("f",))
    assert graph.separated("a", "c", "b") and not graph.separated("a", "c") and graph.separated("a", "e")
    assert graph.is_forest() and not UndirectedGraph.from_edges(combinations("abc", 2)).is_forest()
    with pytest.raises(ValueError, match="joins 'a' with itself"):
        UndirectedGraph.from_edges([("a", "a")])
