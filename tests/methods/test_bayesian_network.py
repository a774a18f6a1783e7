"""Bayesian networks: construction and its refusals, joint probability, sampling, assignments, queries."""

from itertools import product

import numpy as np
import pytest
from oracles.networks import random_network

from fivefold.core.storage.model_files import load, save
from fivefold.graphical import Assignment, BayesianNetwork
from fivefold.graphical.queries.query_engines import ImpossibleEvidence


def total_assignments(network):
    return Assignment(network.variables).extensions()


@pytest.mark.parametrize("seed", range(5))
def test_the_joint_is_the_product_of_the_tables_and_sums_to_one(seed):
    network = random_network(seed)
    everything = list(total_assignments(network))
    joint = [network.joint_probability(sigma) for sigma in everything]
    assert sum(joint) == pytest.approx(1.0, abs=1e-12)
    codes = np.array([list(sigma.codes.values()) for sigma in everything])
    assert np.exp(network.log_joint(codes)) == pytest.approx(joint)
    assert [network.probability(sigma) for sigma in everything[:5]] == pytest.approx(joint[:5])
    assert network.log_partition() == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_partial_assignments_obey_the_sum_rule_and_the_chain_rule(seed):
    network = random_network(seed)
    names = network.variables.nodes
    rho = network.assignment({names[0]: 0, names[3]: 1})
    wider = rho.extended({names[1]: 1})
    total = sum(network.joint_probability(sigma) for sigma in rho.extensions())
    assert network.probability(rho) == pytest.approx(total)
    assert network.probability(wider) <= network.probability(rho)
    assert network.probability(wider, given=rho) * network.probability(rho) == pytest.approx(network.probability(wider))
    assert wider.extends(rho) and not rho.extends(wider) and wider.restricted(rho) == rho
    assert network.probability({names[0]: 1}, given=rho) == 0.0
    states = range(network.variables.cards[4])
    assert sum(network.probability(rho.extended({names[4]: s})) for s in states) == pytest.approx(total)


@pytest.mark.parametrize("seed", range(6))
def test_all_engines_agree_with_the_sum_over_assignments(seed):
    network = random_network(seed)
    names = network.variables.nodes
    given, soft = {names[2]: 1}, {names[5]: np.linspace(0.2, 1.0, network.variables.cards[5])}
    weights = np.zeros((network.variables.cards[0], network.variables.cards[4]))
    for sigma in total_assignments(network):
        if sigma.extends(given):
            likelihood = soft[names[5]][sigma.codes[5]]
            weights[sigma.codes[0], sigma.codes[4]] += network.joint_probability(sigma) * likelihood
    for via in ("exact", "junction_tree", "case_factor", "enumeration"):
        answer = network.query((names[4], names[0]), given, soft, via=via)
        assert answer.table == pytest.approx(weights.T / weights.sum(), abs=1e-12)
        assert np.exp(answer.log_evidence) == pytest.approx(weights.sum())
    every = network.marginals(given, soft)
    assert every[names[0]].table == pytest.approx(weights.sum(1) / weights.sum(), abs=1e-12)
    assert every[names[2]].table == pytest.approx(np.eye(network.variables.cards[2])[1])


@pytest.mark.parametrize("seed", range(3))
def test_a_full_conditional_needs_the_blanket_only(seed):
    network = random_network(seed)
    for name in network.variables.nodes:
        rest = {other: 1 for other in network.variables.nodes if other != name}
        blanket = dict.fromkeys(network.graph.markov_blanket(name), 1)
        found = network.full_conditional(name, blanket)
        assert found == pytest.approx(network.query(name, rest).table)
        if blanket:
            with pytest.raises(ValueError, match=f"is in the blanket of '{name}'; give its state"):
                network.full_conditional(name, {})


def test_a_network_survives_a_model_file(tmp_path):
    pytest.importorskip("skops")
    network = random_network(0)
    network.marginals()  # a junction tree is made, and not written
    save(network, tmp_path / "network.skops")
    found = load(tmp_path / "network.skops")
    assert found.variables == network.variables and found.parents == network.parents
    assert all(np.array_equal(a, b) for a, b in zip(found.tables, network.tables, strict=True))
    assert found.query("v0").table == pytest.approx(network.query("v0").table)


def test_samples_have_the_exact_marginals_and_seeds_decide_them():
    network = random_network(3)
    codes = network.sample_codes(40_000, 0)
    assert np.array_equal(codes, network.sample_codes(40_000, 0))
    for i, found in enumerate(network.marginals().values()):
        share = np.bincount(codes[:, i], minlength=len(found.table)) / len(codes)
        assert share == pytest.approx(found.table, abs=3 * 0.5 / 200)  # three standard errors
    columns = network.sample(50, 1)
    assert np.array_equal(network.variables.encode(columns), network.sample_codes(50, 1))


def test_a_state_of_probability_zero_is_never_drawn():
    network = BayesianNetwork.from_tables({"a": [0.0, 1 / 3, 2 / 3 - 1e-9, 0.0]})
    assert set(network.sample_codes(2000, 0).ravel()) == {1, 2}


def test_evidence_of_probability_zero_is_named():
    network = BayesianNetwork.from_tables(
        {"a": [0.5, 0.5], "b": [[1.0, 0.0], [0.0, 1.0]], "c": [0.5, 0.5]}, {"b": ["a"]}
    )
    for ask in (lambda: network.query("c", {"c": 0, "a": 1, "b": 0}), lambda: network.marginals({"a": 1, "b": 0})):
        with pytest.raises(ImpossibleEvidence, match="b=0 cannot be given .*a=1"):
            ask()
    with pytest.raises(ImpossibleEvidence, match="soft evidence about b"):
        network.query("c", {"a": 1}, {"b": {0: 1.0}})


def test_improbable_evidence_of_many_nodes_does_not_underflow():
    n = 1500
    tables = {"root": [0.5, 0.5]} | {f"x{i}": [[0.9, 0.1], [0.8, 0.2]] for i in range(n)}
    network = BayesianNetwork.from_tables(tables, {f"x{i}": ["root"] for i in range(n)})
    answer = network.query("root", {f"x{i}": 1 for i in range(n)})
    assert answer.table == pytest.approx([0.0, 1.0])
    assert answer.log_evidence == pytest.approx(n * np.log(0.2) + np.log(0.5))


@pytest.mark.parametrize(
    ("tables", "parents", "states", "message"),
    [
        ({"a": [[0.5, 0.5]] * 2, "b": [[0.5, 0.5]] * 2}, {"a": ["b"], "b": ["a"]}, {}, "cycle"),
        ({"a": [0.5, 0.5], "b": [[0.5, 0.5], [0.5, 0.4]]}, {"b": ["a"]}, {}, "table of 'b', row a=1: sums to 0.9"),
        ({"a": [1.5, -0.5]}, {}, {}, "table of 'a', its only row: holds -0.5"),
        ({"a": [0.5, 0.5], "b": [0.5, 0.5]}, {"b": ["a"]}, {}, "table of 'b' has shape"),
        ({"a": [0.5, 0.5]}, {"a": ["z"]}, {}, "'z' is named"),
        ({"a": [0.5, 0.5]}, {}, {"a": ("x", "x")}, "lists a state twice"),
        ({"a": [np.nan, 1.0]}, {}, {}, "table of 'a'"),
    ],
)
def test_what_is_no_network_is_refused_with_node_and_row(tables, parents, states, message):
    with pytest.raises(ValueError, match=message):
        BayesianNetwork.from_tables(tables, parents, states)


def test_unknown_names_and_states_are_refused_with_what_there_is():
    network = BayesianNetwork.from_tables({"rain": [0.5, 0.5]}, states={"rain": ("no", "yes")})
    with pytest.raises(ValueError, match="no variable 'rian'; did you mean 'rain'"):
        network.query("rian")
    with pytest.raises(ValueError, match="'rain' has no state 'maybe'; it has 'no', 'yes'"):
        network.query("rain", {"rain": "maybe"})
    with pytest.raises(ValueError, match="row 1: variable 'rain' has no state 'perhaps'"):
        network.log_joint({"rain": ["no", "perhaps"]})
    with pytest.raises(ValueError, match="via is one of"):
        network.query("rain", via="magic")


def test_one_state_and_observed_variables_are_answered():
    network = BayesianNetwork.from_tables({"a": [1.0], "b": [[0.3, 0.7]]}, {"b": ["a"]})
    assert network.query("a").table == pytest.approx([1.0])
    both = network.query(("b", "a"), {"b": 1})
    assert both.table == pytest.approx(np.array([[0.0], [1.0]]))
    assert both.mode() == {"b": 1, "a": 0}
    assert list(dict(both.items())) == list(product((0, 1), (0,)))
