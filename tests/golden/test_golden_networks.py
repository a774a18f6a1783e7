"""Networks of the catalogue with printed or derived numbers: sprinkler and wet grass, chains, counting by inference."""

import numpy as np
import pytest

from fivefold.graphical import BayesianNetwork
from fivefold.inference.factors.tree_messages import FactorTree

YES_NO = ("no", "yes")
WET = [[[0.9, 0.1], [0.1, 0.9]], [[0.1, 0.9], [0.05, 0.95]]]  # rain, sprinkler -> wet


def binary_network(tables, parents):
    return BayesianNetwork.from_tables(tables, parents, dict.fromkeys(tables, YES_NO))


@pytest.fixture
def cloudy():
    """Cloudy -> rain, sprinkler (figure 14.3b)."""
    return binary_network(
        {"cloudy": [0.5, 0.5], "rain": [[0.9, 0.1], [0.2, 0.8]], "sprinkler": [[0.5, 0.5], [0.9, 0.1]]},
        {"rain": ("cloudy",), "sprinkler": ("cloudy",)},
    )


@pytest.fixture
def wet_grass():
    """Rain -> wet <- sprinkler (figure 14.4b)."""
    return binary_network({"rain": [0.6, 0.4], "sprinkler": [0.8, 0.2], "wet": WET}, {"wet": ("rain", "sprinkler")})


@pytest.fixture
def four_nodes():
    """Cloudy -> sprinkler, rain -> wet (figure 14.5)."""
    return binary_network(
        {
            "cloudy": [0.5, 0.5],
            "rain": [[0.9, 0.1], [0.2, 0.8]],
            "sprinkler": [[0.5, 0.5], [0.9, 0.1]],
            "wet": WET,
        },
        {"rain": ("cloudy",), "sprinkler": ("cloudy",), "wet": ("rain", "sprinkler")},
    )


VIAS = ["exact", "junction_tree", "case_factor", "enumeration"]


@pytest.mark.parametrize("via", VIAS)
def test_rain_and_sprinkler_under_clouds(cloudy, via):
    def p(name, given=None):
        return cloudy.query(name, given, via=via)["yes"]

    assert p("cloudy", {"rain": "yes"}) == pytest.approx(0.8889, abs=5e-5)
    assert p("rain", {"sprinkler": "yes"}) == pytest.approx(0.2167, abs=5e-5)
    assert p("rain") == pytest.approx(0.45, abs=1e-12)
    assert p("rain", {"sprinkler": "no"}) == pytest.approx(0.55, abs=1e-12)


@pytest.mark.parametrize("via", VIAS)
def test_causal_and_diagnostic_queries_and_explaining_away_on_wet_grass(wet_grass, via):
    def p(name, given=None):
        return wet_grass.query(name, given, via=via)["yes"]

    assert p("wet") == pytest.approx(0.52, abs=1e-12)
    assert p("wet", {"sprinkler": "yes"}) == pytest.approx(0.92, abs=1e-12)
    assert p("wet", {"rain": "yes"}) == pytest.approx(0.91, abs=1e-12)
    assert p("sprinkler", {"wet": "yes"}) == pytest.approx(0.3538, abs=5e-5)
    assert p("sprinkler", {"wet": "yes", "rain": "yes"}) == pytest.approx(0.2088, abs=5e-5)
    assert p("sprinkler", {"wet": "yes", "rain": "no"}) == pytest.approx(0.6923, abs=5e-5)
    assert p("rain", {"wet": "yes"}) == pytest.approx(0.70, abs=1e-12)
    assert p("rain", {"wet": "yes", "sprinkler": "yes"}) == pytest.approx(0.4130, abs=5e-5)


@pytest.mark.parametrize("via", VIAS)
def test_four_nodes_have_nine_parameters_and_the_derived_posteriors(four_nodes, via):
    counts = four_nodes.parameter_counts()
    assert (counts.free, counts.full_joint) == (9, 15)
    assert counts.per_variable == {"cloudy": 1, "rain": 2, "sprinkler": 2, "wet": 4}
    assert four_nodes.query("wet", {"cloudy": "yes"}, via=via)["yes"] == pytest.approx(0.76, abs=1e-12)
    assert four_nodes.query("wet", {"cloudy": "no"}, via=via)["yes"] == pytest.approx(0.5425, abs=1e-12)
    assert four_nodes.query("wet", via=via)["yes"] == pytest.approx(0.65125, abs=1e-12)
    assert four_nodes.query("cloudy", {"wet": "yes"}, via=via)["yes"] == pytest.approx(0.5835, abs=5e-5)


@pytest.mark.parametrize("via", VIAS)
def test_a_chain_forward_and_with_evidence_at_its_end(via):
    step = [[0.7, 0.3], [0.2, 0.8]]
    chain = BayesianNetwork.from_tables({"x1": [0.6, 0.4], "x2": step, "x3": step}, {"x2": ("x1",), "x3": ("x2",)})
    assert chain.query("x2", via=via).table == pytest.approx([0.5, 0.5])
    assert chain.query("x3", via=via).table == pytest.approx([0.45, 0.55])
    answer = chain.query("x1", {"x3": 0}, via=via)
    assert answer.table == pytest.approx([0.733333, 0.266667], abs=5e-7)
    assert np.exp(answer.log_evidence) == pytest.approx(0.45)
    every = chain.marginals({"x3": 0})
    assert [np.exp(found.log_evidence) for found in every.values()] == pytest.approx([0.45] * 3)


def test_messages_on_a_chain_of_tables():
    """Without evidence what comes from behind says nothing, what comes from ahead is the marginal; two per edge."""
    step = [[0.7, 0.3], [0.2, 0.8]]
    tables = {"x1": [0.6, 0.4]} | {f"x{n}": step for n in range(2, 6)}
    chain = BayesianNetwork.from_tables(tables, {f"x{n}": (f"x{n - 1}",) for n in range(2, 6)})
    tree = FactorTree(chain.factors(), chain.variables.cards)
    done = tree.pass_messages()
    for n in range(1, 5):
        backward = done.pairwise_message(n, n - 1)
        assert backward == pytest.approx(np.full(2, backward[0]))
        forward = done.pairwise_message(n - 1, n)
        assert forward / forward.sum() == pytest.approx(chain.query(f"x{n + 1}").table)
        product = forward * backward
        assert product / product.sum() == pytest.approx(done.marginal(n))
    assert done.marginal(1) == pytest.approx([0.5, 0.5]) and done.marginal(2) == pytest.approx([0.45, 0.55])
    assert len(tree.pairwise_events()) == 2 * (5 - 1)
