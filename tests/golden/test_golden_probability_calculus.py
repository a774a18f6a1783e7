"""C-23: marginals, conditionals, independence, the chain rule in any order, and Bayes' rule, on a joint table."""

from itertools import permutations

import numpy as np
import pytest

from fivefold.graphical import DirectedGraph, Posterior, Variables, bayes_rule
from fivefold.graphical.graphs.independence_maps import are_independent, factorised

VARIABLES = Variables(("a", "b", "c"), (("0", "1"), ("x", "y", "z"), ("low", "high")))
JOINT = Posterior(VARIABLES, np.random.default_rng(0).dirichlet(np.ones(12)).reshape(2, 3, 2))


@pytest.mark.parametrize("order", list(permutations(range(3))), ids=str)
def test_the_chain_rule_reproduces_the_joint_in_any_order(order):
    """p(first) p(second | first) p(third | first, second): the factorisation along a complete graph."""
    parents = tuple(tuple(order[: order.index(i)]) for i in range(3))
    found = factorised(DirectedGraph(VARIABLES.nodes, parents), JOINT)
    assert found.max_difference == pytest.approx(0, abs=1e-15)
    assert found.network.query(VARIABLES.nodes).table == pytest.approx(JOINT.table, abs=1e-15)


def test_sum_rule_and_product_rule():
    p = JOINT.table
    assert JOINT.marginal("c", "a").table == pytest.approx(p.sum(axis=1).T, abs=1e-15)
    network = factorised(DirectedGraph(VARIABLES.nodes, ((), (0,), (0, 1))), JOINT).network
    assert network.query("b", given={"c": "high"}).table == pytest.approx(p[:, :, 1].sum(0) / p[:, :, 1].sum())


def test_independence_is_found_where_the_table_is_a_product_and_only_there():
    product = JOINT.marginal("a").table[:, None, None] * JOINT.marginal("b", "c").table
    assert are_independent(Posterior(VARIABLES, product), "a", ("b", "c"))
    assert not are_independent(JOINT, "a", ("b", "c"))


def test_the_parts_of_bayes_rule():
    rule = bayes_rule(JOINT, "b", {"a": "1", "c": "low"})
    assert rule.posterior == pytest.approx(rule.likelihood * rule.prior / rule.evidence, abs=1e-15)
    assert rule.posterior == pytest.approx(JOINT.table[1, :, 0] / JOINT.table[1, :, 0].sum(), abs=1e-15)
    assert rule.evidence == pytest.approx(JOINT.marginal("a", "c")[("1", "low")])
    assert rule.prior == pytest.approx(JOINT.marginal("b").table)


def test_evidence_about_the_hypothesis_and_impossible_evidence_are_refused():
    with pytest.raises(ValueError, match="'b' is the hypothesis"):
        bayes_rule(JOINT, "b", {"b": "x"})
    impossible = JOINT.table.copy()
    impossible[1] = 0
    with pytest.raises(ValueError, match="a=1 has probability zero"):
        bayes_rule(Posterior(VARIABLES, impossible / impossible.sum()), "b", {"a": "1"})
