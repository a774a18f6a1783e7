"""Networks beside pgmpy and pyAgrum: posteriors, most probable states, tables from data, d-separation, files.

Their figures are in networks.json, which record_networks.py writes where they are installed.
"""

from itertools import combinations

import numpy as np
import pytest
from rivals.record_networks import SEEDS, case, recorded

from fivefold.graphical import PartiallyDirectedGraph, d_separated, fit_tables
from fivefold.graphical.files.bif import parse_bif
from fivefold.graphical.files.uai import parse_uai
from fivefold.graphical.files.xmlbif import parse_xmlbif


@pytest.mark.parametrize("seed", SEEDS)
def test_posteriors_are_those_of_both_rivals(seed):
    network, given, _ = case(seed)
    ours = network.marginals(given)
    lazy = recorded("agrum")[str(seed)]
    for name, table in recorded("pgmpy")[str(seed)]["marginals"].items():
        assert ours[name].table == pytest.approx(table, abs=1e-9)
        assert ours[name].table == pytest.approx(lazy["marginals"][name], abs=1e-6)
    assert network.log_partition(given) == pytest.approx(lazy["log_evidence"], abs=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_most_probable_states_are_those_of_pgmpy(seed):
    network, given, _ = case(seed)
    best = network.most_probable_explanation(given)
    assert {name: str(state) for name, state in best.states.items()} == recorded("pgmpy")[str(seed)]["best"]


@pytest.mark.parametrize("seed", SEEDS)
def test_tables_from_data_are_those_of_pgmpy(seed):
    network, _, codes = case(seed)
    theirs = recorded("pgmpy")[str(seed)]
    for key, options in (("likelihood_tables", {}), ("dirichlet_tables", {"equivalent_sample_size": 5})):
        ours = fit_tables(network, codes, **options).network
        for name, table in theirs[key].items():
            assert ours.table(name) == pytest.approx(np.array(table), abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_active_pairs_are_those_of_pgmpy_and_the_class_that_of_pyagrum(seed):
    network, _, _ = case(seed)
    graph = network.graph
    active = [
        [a, b, list(c)]
        for a, b in combinations(graph.nodes, 2)
        for c in combinations([n for n in graph.nodes if n not in (a, b)], 2)
        if not d_separated(graph, a, b, c)
    ]
    assert active == recorded("pgmpy")[str(seed)]["active"]
    pattern, theirs = PartiallyDirectedGraph.from_graph(graph), recorded("agrum")[str(seed)]
    assert sorted([graph.nodes[a], graph.nodes[b]] for a, b in pattern.directed) == theirs["directed"]
    assert sorted(sorted([graph.nodes[a], graph.nodes[b]]) for a, b in pattern.undirected) == theirs["undirected"]


@pytest.mark.parametrize(
    ("source", "end", "parse"),
    [
        ("pgmpy", "bif", parse_bif),
        ("pgmpy", "xmlbif", parse_xmlbif),
        ("pyAgrum", "bif", parse_bif),
        ("pyAgrum", "bifxml", parse_xmlbif),
        ("pyAgrum", "uai", parse_uai),
    ],
)
def test_their_files_hold_the_same_network(source, end, parse):
    network, _, _ = case(0)
    found = parse((recorded("files") if source == "pgmpy" else recorded("agrum")["0"]["files"])[end])
    for i, name in enumerate(network.variables.nodes):
        family = (*network.parents_of(name), name)
        theirs = family
        if end == "uai":  # which keeps no names; the first parent changes fastest there, in the format the last
            if len(family) > 2:
                continue
            theirs = [f"x{j}" for j in (*network.parents[i], i)]
        assert found.query(theirs).table == pytest.approx(network.query(family).table, abs=1e-5)
