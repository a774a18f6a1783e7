"""Most probable states, explaining away, sensitivity, kinds of queries; Markov networks and factor graphs."""

from itertools import product

import numpy as np
import pytest
from oracles.networks import random_network

from fivefold.graphical import (
    BayesianNetwork,
    FactorGraph,
    MarkovNetwork,
    explaining_away,
    query_kind,
    sensitivity,
)
from fivefold.graphical.graphs.independence_maps import are_independent
from fivefold.graphical.queries.query_engines import ImpossibleEvidence

AGREE = np.array([[2.0, 1.0], [1.0, 2.0]])


def random_potentials(seed, nodes=5):
    rng = np.random.RandomState(seed)
    cards = rng.randint(2, 4, nodes)
    scopes = [(i, (i + 1) % nodes) for i in range(nodes)] + [(0, 1, 2), (3,)]
    return {tuple(f"v{i}" for i in scope): rng.gamma(1.0, size=[cards[i] for i in scope]) for scope in scopes}


@pytest.mark.parametrize("seed", range(5))
def test_the_most_probable_states_are_those_of_the_joint_table(seed):
    network = random_network(seed)
    names = network.variables.nodes
    given, soft = {names[1]: 0}, {names[0]: np.linspace(1.0, 0.3, network.variables.cards[0])}
    free = [name for name in names if name not in given]
    joint = network.query(free, given, soft)
    best = network.most_probable_explanation(given, soft)
    assert best.states == joint.mode() and best.probability == pytest.approx(joint.table.max())
    top = network.most_probable_explanations(3, given, soft)
    assert [found.probability for found in top] == pytest.approx(np.sort(joint.table.ravel())[::-1][:3])
    some = (names[5], names[2])
    expected = network.query(some, given, soft)
    found = network.marginal_map(some, given, soft)
    assert found.states == dict(sorted(expected.mode().items()))
    assert found.probability == pytest.approx(expected.table.max())


def test_most_probable_states_of_impossible_evidence_are_refused():
    network = BayesianNetwork.from_tables({"a": [1.0, 0.0], "b": [[0.5, 0.5], [0.5, 0.5]]}, {"b": ["a"]})
    with pytest.raises(ImpossibleEvidence, match="a=1 cannot be"):
        network.most_probable_explanation({"a": 1})
    assert network.most_probable_explanation()["a"] == 0


def test_rain_explains_the_sprinkler_away():
    wet = [[[0.9, 0.1], [0.1, 0.9]], [[0.1, 0.9], [0.05, 0.95]]]
    network = BayesianNetwork.from_tables(
        {"rain": [0.6, 0.4], "sprinkler": [0.8, 0.2], "wet": wet}, {"wet": ("rain", "sprinkler")}
    )
    found = explaining_away(network, {"sprinkler": 1}, "rain", {"wet": 1})
    assert (found.prior, found.given_effect) == pytest.approx((0.2, 0.3538), abs=5e-5)
    assert found.given_both == pytest.approx({0: 0.6923, 1: 0.2088}, abs=5e-5)
    assert "rain=1) = 0.2088: explained away" in str(found) and "rain=0) = 0.6923: more probable" in str(found)
    assert found.path.nodes == ("sprinkler", "wet", "rain")
    assert query_kind(network, "wet", "rain") == "causal"
    assert query_kind(network, "rain", "wet") == "diagnostic"
    assert query_kind(network, "rain", ("wet", "sprinkler")) == "intercausal"
    assert query_kind(network, "rain", ()) == "prior"


@pytest.mark.parametrize("seed", range(3))
def test_a_query_is_a_ratio_of_linear_functions_of_an_entry(seed):
    network = random_network(seed, nodes=5)
    names = network.variables.nodes
    node = max(names, key=lambda name: len(network.parents_of(name)))
    row = dict.fromkeys(network.parents_of(node), 0)
    found = sensitivity(network, {names[0]: 0}, {names[3]: 1}, node, 1, row)
    at = (0,) * len(row)
    assert found.value == pytest.approx(network.query(names[0], {names[3]: 1})[0])
    for t in (0.1, 0.5, 0.9):
        table = network.table(node).copy()
        rest = np.delete(table[at], 1)
        table[at] = np.insert(rest / rest.sum() * (1 - t), 1, t)
        assert network.replaced({node: table}).query(names[0], {names[3]: 1})[0] == pytest.approx(found(t))
    step = 1e-6
    slope = (found(found.entry + step) - found(found.entry - step)) / (2 * step)
    assert found.derivative == pytest.approx(slope, abs=1e-6)


@pytest.mark.parametrize("model", [FactorGraph, MarkovNetwork])
@pytest.mark.parametrize("seed", range(3))
def test_partition_function_and_queries_of_potentials_equal_sums_over_assignments(model, seed):
    network = model.from_tables(random_potentials(seed))
    codes = np.array(list(product(*map(range, network.variables.cards))))
    weights = np.exp(network.log_score(codes))
    assert np.exp(network.log_partition()) == pytest.approx(weights.sum())
    where = codes[:, 2] == 1
    assert np.exp(network.log_partition({"v2": 1})) == pytest.approx(weights[where].sum())
    by_state = [np.exp(network.log_partition({"v2": x})) for x in range(network.variables.cards[2])]
    assert sum(by_state) == pytest.approx(weights.sum())
    answer = network.query("v4", {"v2": 1})
    expected = np.bincount(codes[where, 4], weights[where]) / weights[where].sum()
    assert answer.table == pytest.approx(expected)
    assert network.marginals({"v2": 1})["v4"].table == pytest.approx(expected)
    best = network.most_probable_explanation({"v2": 1})
    top = codes[where][weights[where].argmax()]
    assert {**best.states, "v2": 1} == {f"v{i}": code for i, code in enumerate(top)}


def test_a_network_as_a_factor_graph_has_partition_function_one():
    network = random_network(1)
    graph = FactorGraph.from_model(network)
    assert graph.log_partition() == pytest.approx(0.0, abs=1e-12)
    codes = network.sample_codes(20, 0)
    assert graph.log_score(codes) == pytest.approx(network.log_joint(codes))
    assert MarkovNetwork.from_bayesian_network(network).graph == network.graph.moral_graph()
    assert len(graph.links) == sum(table.ndim for table in network.tables)


def test_trees_and_loops_of_factor_graphs():
    chain = FactorGraph.from_tables({("a",): [3, 1], ("a", "b"): AGREE, ("b", "c"): AGREE})
    triangle = FactorGraph.from_tables({("a",): [3, 1], ("a", "b"): AGREE, ("b", "c"): AGREE, ("a", "c"): AGREE})
    assert chain.is_tree() and not triangle.is_tree()
    assert [chain.query(name)[0] for name in "abc"] == pytest.approx([0.75, 0.58333, 0.52778], abs=5e-6)
    assert np.exp(chain.log_partition()) == pytest.approx(36) and np.exp(triangle.log_partition()) == pytest.approx(56)
    assert [triangle.query(name)[0] for name in "abc"] == pytest.approx([0.75, 0.60714, 0.60714], abs=5e-6)
    assert chain.to_text() == "[f1] -- a\n[f2] -- a, b\n[f3] -- b, c"


def test_energies_and_a_factor_that_makes_its_variables_dependent():
    states = {"x1": (-1, 1), "x2": (-1, 1)}
    network = MarkovNetwork.from_tables({("x1", "x2"): [[-1, 1], [1, -1]]}, states, energies=True)
    assert network.probability({"x1": 1, "x2": 1}) == pytest.approx(0.440399, abs=5e-7)
    assert not are_independent(network, "x1", "x2")
    parents = BayesianNetwork.from_tables(
        {"x1": [0.5, 0.5], "x2": [0.5, 0.5], "x3": np.full((2, 2, 2), 0.5)}, {"x3": ["x1", "x2"]}
    )
    assert are_independent(parents, "x1", "x2")


def test_bad_potentials_are_refused_and_a_variable_without_factors_is_uniform():
    with pytest.raises(ValueError, match="factor f1 is -1.0 at"):
        FactorGraph.from_tables({("a",): [1, -1]})
    with pytest.raises(ValueError, match="2 states of 'a', which has 3"):
        FactorGraph.from_tables({("a",): [1, 2, 3], ("a", "b"): AGREE})
    alone = MarkovNetwork.from_tables({("a",): [1, 3]}, {"a": (0, 1), "b": (0, 1, 2)})
    assert alone.query("b").table == pytest.approx(np.full(3, 1 / 3))
    assert alone.to_text() == "a -- (alone)\nb -- (alone)"


@pytest.mark.parametrize(
    ("via", "options", "atol"),
    [
        ("loopy", {}, 0.02),
        ("mean_field", {}, 0.15),
        ("gibbs", {"draws": 5000, "seed": 0}, 0.02),
        ("likelihood_weighting", {"draws": 20_000, "random_state": 0}, 0.02),
        ("rejection", {"draws": 40_000, "random_state": 0}, 0.02),
    ],
)
def test_approximations_come_near_the_exact_answer(via, options, atol):
    network = random_network(7)
    names = network.variables.nodes
    given, soft = {names[2]: 1}, {names[5]: np.linspace(0.5, 1.0, network.variables.cards[5])}
    exact = network.query(names[0], given, soft)
    found = network.query(names[0], given, soft, via=via, **options)
    assert found.table == pytest.approx(exact.table, abs=atol) and found.table.sum() == pytest.approx(1)
    if via in ("likelihood_weighting", "rejection"):
        assert found.log_evidence == pytest.approx(exact.log_evidence, abs=0.05)
    child = next(name for name in names if network.parents_of(name) and name not in given)
    pair = tuple(name for name in (child, network.parents_of(child)[0]) if name not in given)
    joint = network.query(pair, given, soft, via=via, **options)
    assert joint.table == pytest.approx(network.query(pair, given, soft).table, abs=atol)


def test_loopy_propagation_is_exact_on_a_tree_and_refuses_what_no_table_holds():
    chain = FactorGraph.from_tables({("a",): [3, 1], ("a", "b"): AGREE, ("b", "c"): AGREE})
    assert chain.query("c", via="loopy").table == pytest.approx(chain.query("c").table)
    assert chain.query(("c", "b"), {"a": 1}, via="loopy").table == pytest.approx(
        chain.query(("c", "b"), {"a": 1}).table
    )
    with pytest.raises(ValueError, match="several that one table of the model holds"):
        chain.query(("a", "c"), via="loopy")
    with pytest.raises(TypeError, match="via='exact' takes no options; got draws"):
        chain.query("a", draws=10)
    with pytest.raises(ValueError, match="via is one of"):
        chain.query("a", via="magic")


def test_a_network_of_great_width_is_refused_with_its_size_and_answered_approximately():
    """Nodes of a square, each with the nodes above and to the left as parents: width 40 at least."""
    side, rng = 40, np.random.RandomState(0)
    tables, parents = {}, {}
    for i in range(side):
        for j in range(side):
            above = [f"{a},{b}" for a, b in ((i - 1, j), (i, j - 1)) if a >= 0 and b >= 0]
            parents[f"{i},{j}"] = above
            tables[f"{i},{j}"] = rng.dirichlet((5.0, 5.0), size=(2,) * len(above))
    network = BayesianNetwork.from_tables(tables, parents)
    given = {"39,39": 1}
    with pytest.raises(ValueError, match="too large here: the best order found has width .* approximate inference"):
        network.query("20,20", given)
    exact = network.query("0,0", {"0,1": 1})  # two tables answer this
    assert exact.table == pytest.approx(network.query("0,0", {"0,1": 1}, via="loopy").table, abs=1e-6)
    assert network.query("20,20", given, via="loopy").table.sum() == pytest.approx(1)
