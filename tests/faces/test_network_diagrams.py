"""Drawings of networks: every node and every edge is there once, blankets and paths stand out, figures are drawn."""

from collections import Counter

import numpy as np
import pytest
from oracles.networks import random_network

from fivefold.graphical import BayesianNetwork, DirectedGraph, FactorGraph, PartiallyDirectedGraph, active_path
from fivefold.plot import factor_graph, junction_tree, network, random_field
from fivefold.plot.graphical.factor_diagram import random_field_text
from fivefold.plot.graphical.network_diagram import BLANKET_COLOUR, CENTRE_COLOUR
from fivefold.plot.graphical.node_layout import by_forces, layered
from fivefold.plot.style import LIGHT_GREY

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def parts(ax):
    """How many parts of each kind there are, by the names of the artists."""
    return Counter(str(artist.get_gid()).partition(":")[0] for artist in ax.get_children() if artist.get_gid())


def part(ax, name):
    (found,) = (artist for artist in ax.get_children() if artist.get_gid() == name)
    return found


def fill(ax, name):
    from matplotlib.colors import to_hex

    return to_hex(part(ax, f"node:{name}").get_bbox_patch().get_facecolor()).upper()


@pytest.mark.parametrize("seed", range(3))
def test_all_nodes_and_edges_are_drawn(seed):
    model = random_network(seed, nodes=8)
    for graph in (model, model.graph, model.graph.moral_graph(), PartiallyDirectedGraph.from_graph(model.graph)):
        drawn = graph.graph if graph is model else graph
        edges = drawn.skeleton().edges if hasattr(drawn, "skeleton") else drawn.edges
        ax = network(graph)
        assert parts(ax) == {"node": 8, "edge": len(edges)}
        ax.figure.canvas.draw()


def test_arrows_have_heads_only_where_all_members_agree():
    graph = DirectedGraph.from_edges([("a", "b"), ("b", "d"), ("c", "d"), ("d", "e")])
    ax = network(PartiallyDirectedGraph.from_graph(graph))
    names = {artist.get_gid() for artist in ax.get_children() if artist.get_gid()}
    assert {"edge:a-b", "edge:b->d", "edge:c->d", "edge:d->e"} <= names


def test_blanket_path_plates_and_observed_nodes_stand_out():
    graph = DirectedGraph.from_edges([("rain", "wet"), ("sprinkler", "wet"), ("wet", "slippery"), ("x", "y")])
    ax = network(graph, highlighted="rain", observed=["y"], plates={"N": ["x", "y"]}, ax=plt.figure().gca())
    assert fill(ax, "rain") == CENTRE_COLOUR and fill(ax, "y") == LIGHT_GREY
    assert [fill(ax, name) == BLANKET_COLOUR for name in ("wet", "sprinkler", "slippery")] == [True, True, False]
    assert parts(ax)["plate"] == 1
    ax = network(graph, path=active_path(graph, "rain", "sprinkler", "slippery"))
    widths = {edge: part(ax, f"edge:{edge}").arrow_patch.get_linewidth() for edge in ("rain->wet", "wet->slippery")}
    assert widths["rain->wet"] > widths["wet->slippery"]


def test_factor_graphs_and_junction_trees():
    model = random_network(1)
    graph = FactorGraph.from_model(model)
    assert parts(factor_graph(model)) == {"node": 6, "factor": 6, "edge": len(graph.links)}
    ax = junction_tree(model)
    cliques = len(model.junction_tree.tree.cliques)
    assert parts(ax) == {"clique": cliques, "separator": cliques - 1, "edge": 2 * (cliques - 1)}
    assert parts(junction_tree(model.junction_tree.tree))["clique"] == cliques
    alone = BayesianNetwork.from_tables({"a": [0.5, 0.5]})
    assert parts(junction_tree(alone)) == {"clique": 1}


def test_a_random_field_has_a_circle_and_a_dot_per_variable_and_a_line_per_edge_and_datum():
    places = [(i, j) for i in range(3) for j in range(2)]
    edges = [(a, b) for a in range(6) for b in range(a) if np.abs(np.subtract(places[a], places[b])).sum() == 1]
    ax = random_field(edges, places, labels=range(6))
    assert parts(ax) == {"edge": 7, "data": 6, "hidden": 1, "observed": 1}
    assert len(part(ax, "hidden").get_offsets()) == len(part(ax, "observed").get_offsets()) == 6
    assert random_field_text(edges, 6).splitlines()[0] == "o0 - *0; o1, o2"


def test_places_are_different_and_layers_go_down():
    graph = random_network(2, nodes=12).graph
    at = layered(graph.parents, graph.order)
    assert len({tuple(place) for place in at.tolist()}) == 12
    assert all(at[a, 1] > at[b, 1] for a, b in graph.edges)
    free = by_forces(12, graph.edges)
    gaps = np.sqrt(((free[:, None] - free[None]) ** 2).sum(axis=2))[np.triu_indices(12, 1)]
    assert gaps.min() > 0.2 and np.array_equal(free, by_forces(12, graph.edges))


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(TypeError, match="a graph or a network is drawn; got a list"):
        network([("a", "b")])
    with pytest.raises(ValueError, match="has no Markov blanket"):
        network(PartiallyDirectedGraph.from_graph(DirectedGraph.from_edges([("a", "b")])), highlighted="a")
