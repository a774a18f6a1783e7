"""Worked examples of messages on trees: normalised messages, their order, marginals and partition functions."""

import numpy as np
import pytest
from oracles import factors as oracle

from fivefold.inference.factors.configurations import most_probable
from fivefold.inference.factors.factor import Factor
from fivefold.inference.factors.junction_tree import JunctionTree
from fivefold.inference.factors.semirings import LOG_SUM_EXP, MAX_PRODUCT, MAX_SUM
from fivefold.inference.factors.tree_messages import FactorTree

PAIR = np.array([[2.0, 1.0], [1.0, 2.0]])


@pytest.fixture
def six_node_tree():
    """Latent 1 to 6 with evidence functions, edges 1-3, 2-3, 3-4, 4-5, 4-6."""
    evidence = {1: (0.9, 0.1), 2: (0.6, 0.4), 3: (0.5, 0.5), 4: (0.5, 0.5), 5: (0.2, 0.8), 6: (0.3, 0.7)}
    edges = [(1, 3), (2, 3), (3, 4), (4, 5), (4, 6)]
    factors = [Factor((v,), np.array(p)) for v, p in evidence.items()] + [Factor(edge, PAIR) for edge in edges]
    return FactorTree(factors, dict.fromkeys(evidence, 2))


EVENTS = [(1, 3), (2, 3), (5, 4), (6, 4), (3, 4), (4, 3), (4, 5), (4, 6), (3, 1), (3, 2)]


def test_leaves_send_first_and_every_edge_carries_a_message_each_way(six_node_tree):
    assert six_node_tree.pairwise_events(start=[1, 2, 5, 6]) == EVENTS


def test_messages_and_marginals_of_the_six_node_tree(six_node_tree):
    done = six_node_tree.pass_messages(schedule=six_node_tree.expand(EVENTS))
    first = [0.633333, 0.533333, 0.4, 0.433333, 0.554585, 0.445887, 0.495913, 0.484524, 0.493023, 0.527192]
    found = [done.pairwise_message(i, j)[0] for i, j in EVENTS]
    np.testing.assert_allclose(found, first, atol=5e-7)
    marginals = [done.marginal(v)[0] for v in range(1, 7)]
    np.testing.assert_allclose(marginals, [0.897460, 0.625823, 0.613672, 0.388288, 0.197397, 0.287159], atol=5e-7)
    assert np.exp(done.log_partition()) == pytest.approx(7.6536, rel=1e-12)


@pytest.mark.parametrize("start", [[6, 5, 2, 1], [2, 6, 1, 5]])
def test_the_order_of_the_leaves_changes_no_result(six_node_tree, start):
    events = six_node_tree.pairwise_events(start=start)
    assert sorted(events) == sorted(EVENTS)
    done = six_node_tree.pass_messages(schedule=six_node_tree.expand(events))
    for v in range(1, 7):
        np.testing.assert_array_equal(done.marginal(v), six_node_tree.pass_messages().marginal(v))


@pytest.mark.parametrize("root", [1, 3, 4, 6])
def test_two_passes_from_any_root_give_the_same_marginals(six_node_tree, root):
    done = six_node_tree.pass_messages(schedule=six_node_tree.from_root(root))
    assert len(done.schedule) == 2 * 16  # six evidence functions, five edges of two ends
    for v in range(1, 7):
        np.testing.assert_allclose(done.marginal(v), six_node_tree.pass_messages().marginal(v), rtol=1e-14)
    for number in range(6, 11):
        scope = six_node_tree.factors[number].variables
        expected = oracle.marginal(six_node_tree.factors, six_node_tree.cards, scope)
        np.testing.assert_allclose(done.factor_marginal(number).table, expected, rtol=1e-12)


def test_a_message_is_numbered_after_all_that_it_depends_on(six_node_tree):
    number = {edge: i for i, edge in enumerate(six_node_tree.events())}
    assert len(number) == sum(map(len, six_node_tree.neighbours.values()))
    for (a, b), own in number.items():
        assert all(number[other, a] < own for other in six_node_tree.neighbours[a] if other != b)


@pytest.fixture
def five_node_chain():
    """Three states; the table of nodes 2 and 3 is not symmetric, which shows a forgotten transpose."""
    table = np.array([[3, 1, 0.5], [1, 2, 1], [0.5, 1, 4]])
    skew = np.arange(1.0, 10.0).reshape(3, 3)
    evidence = [(0.7, 0.2, 0.1), (1, 1, 1), (0.2, 0.5, 0.3), (1, 1, 1), (0.1, 0.1, 0.8)]
    factors = [Factor((v,), np.array(p, dtype=float)) for v, p in enumerate(evidence, 1)]
    return [*factors, Factor((1, 2), table), Factor((2, 3), skew), Factor((3, 4), table), Factor((4, 5), table)]


def test_marginals_of_the_asymmetric_chain(five_node_chain):
    cards = dict.fromkeys(range(1, 6), 3)
    tree = FactorTree(five_node_chain, cards)
    assert tree.pairwise_events(target=3) == [(1, 2), (5, 4), (2, 3), (4, 3)]
    expected = [
        (0.584965, 0.214961, 0.200074),
        (0.280366, 0.322441, 0.397193),
        (0.081944, 0.333345, 0.584711),
        (0.095696, 0.176074, 0.728230),
        (0.062762, 0.065714, 0.871524),
    ]
    one_way = tree.pass_messages(schedule=tree.expand(tree.pairwise_events(target=3)))
    np.testing.assert_allclose(one_way.marginal(3), expected[2], atol=5e-7)
    calibration = JunctionTree([f.variables for f in five_node_chain], cards).calibrate(five_node_chain)
    done = tree.pass_messages()
    for v, marginal in enumerate(expected, 1):
        np.testing.assert_allclose(done.marginal(v), marginal, atol=5e-7)
        np.testing.assert_allclose(calibration.marginal(v), marginal, atol=5e-7)


def test_chain_of_three_with_one_factor():
    factors = [Factor((0,), np.array([3.0, 1.0])), Factor((0, 1), PAIR), Factor((1, 2), PAIR)]
    done = FactorTree(factors, [2, 2, 2]).pass_messages()
    assert np.exp(done.log_partition()) == pytest.approx(36, rel=1e-12)
    np.testing.assert_allclose([done.marginal(v)[0] for v in range(3)], [0.75, 0.58333, 0.52778], atol=5e-6)
    triangle = [*factors, Factor((0, 2), PAIR)]
    calibration = JunctionTree([f.variables for f in triangle], [2, 2, 2]).calibrate(triangle)
    assert np.exp(calibration.log_partition) == pytest.approx(56, rel=1e-12)
    np.testing.assert_allclose([calibration.marginal(v)[0] for v in range(3)], [0.75, 0.60714, 0.60714], atol=5e-6)
    with pytest.raises(ValueError, match="cycle"):
        FactorTree(triangle, [2, 2, 2]).pass_messages()


@pytest.fixture
def markov_chain():
    transition = np.array([[0.7, 0.3], [0.2, 0.8]])
    return [Factor((0,), np.array([0.6, 0.4])), Factor((0, 1), transition), Factor((1, 2), transition)]


def test_evidence_on_a_chain_of_conditional_tables(markov_chain):
    tree = FactorTree(markov_chain, [2, 2, 2])
    done = tree.pass_messages({2: 0})
    np.testing.assert_allclose(done.marginal(0), [0.733333, 0.266667], atol=5e-7)
    assert np.exp(done.log_partition()) == pytest.approx(0.45, rel=1e-12)
    for v in range(3):  # the normaliser is the probability of the evidence at every node
        assert np.exp(done.belief(v).log_scale) == pytest.approx(0.45, rel=1e-12)
    np.testing.assert_allclose(tree.pass_messages().marginal(2), [0.45, 0.55], rtol=1e-12)


def test_pi_and_lambda_of_a_chain(markov_chain):
    """pi is the prediction from above, lambda the likelihood of what is observed below; their product the posterior."""
    done = FactorTree(markov_chain, [2, 2, 2]).pass_messages({2: 0})
    np.testing.assert_allclose(done.pi(1, own=1), [0.5, 0.5], rtol=1e-12)
    np.testing.assert_allclose(done.lambda_(1, own=1), np.array([0.7, 0.2]) / 0.9, rtol=1e-12)
    posterior = done.pi(0, own=0) * done.lambda_(0, own=0)
    np.testing.assert_allclose(posterior / posterior.sum(), done.marginal(0), rtol=1e-12)


def test_the_best_configuration_of_the_chain(markov_chain):
    best = most_probable(markov_chain, [2, 2, 2])
    assert best.states == {0: 0, 1: 0, 2: 0}
    assert np.exp(best.log_value) == pytest.approx(0.294, rel=1e-12)
    maxima = FactorTree(markov_chain, [2, 2, 2]).pass_messages(semiring=MAX_PRODUCT)
    for v in range(3):
        assert np.exp(maxima.belief(v).log_scale) == pytest.approx(0.294, rel=1e-12)


def test_the_jointly_best_states_are_not_the_best_states_one_by_one():
    joint = Factor((0, 1), np.array([[0.3, 0.4], [0.3, 0.0]]))
    marginals = [FactorTree([joint], [2, 2]).pass_messages().marginal(v).argmax() for v in range(2)]
    assert marginals == [0, 0]
    assert most_probable([joint], [2, 2]).states == {0: 0, 1: 1}


def test_a_chain_of_ten_thousand_nodes_does_not_underflow():
    n, rng = 10_000, np.random.RandomState(0)
    steps = rng.uniform(0.001, 0.01, (n - 1, 2, 2))
    factors = [Factor((0,), np.array([0.01, 0.02])), *(Factor((i, i + 1), steps[i]) for i in range(n - 1))]
    logs = [Factor(f.variables, np.log(f.table)) for f in factors]
    cards = [2] * n
    forward = np.array([0.01, 0.02])
    log_sum = 0.0
    for step in steps:
        forward = forward @ step
        log_sum += np.log(forward.sum())
        forward /= forward.sum()
    tree = FactorTree(factors, cards)
    towards = tree.towards(n - 1)
    done = tree.pass_messages(schedule=towards)
    np.testing.assert_allclose(done.marginal(n - 1), forward, rtol=1e-9)
    assert done.belief(n - 1).log_scale == pytest.approx(log_sum, rel=1e-12)
    in_logs = FactorTree(logs, cards).pass_messages(semiring=LOG_SUM_EXP, schedule=towards)
    assert in_logs.belief(n - 1).log_scale == pytest.approx(log_sum, rel=1e-12)
    calibration = JunctionTree([f.variables for f in factors], cards).calibrate(factors)
    assert calibration.log_partition == pytest.approx(log_sum, rel=1e-12)
    np.testing.assert_allclose(calibration.marginal(n - 1), forward, rtol=1e-9)
    best = most_probable(factors, cards)
    at = sum(float(f.table[tuple(best.states[v] for v in f.variables)]) for f in logs)
    assert best.log_value == pytest.approx(at, rel=1e-12)
    maxima = FactorTree(logs, cards).pass_messages(semiring=MAX_SUM, schedule=towards)
    assert maxima.belief(n - 1).log_scale == pytest.approx(best.log_value, rel=1e-12)
