"""Printed and derived numbers of pairwise fields, loopy propagation and finite Markov chains."""

import numpy as np
import pytest

from fivefold.graphical.fields.image_segmentation import segment_image
from fivefold.graphical.fields.pairwise_field import PairwiseField
from fivefold.graphical.fields.potentials import potts
from fivefold.inference.approximate.loopy_propagation import loopy_propagation
from fivefold.inference.approximate.markov_chain import MarkovChain
from fivefold.inference.factors.factor import Factor
from fivefold.inference.factors.junction_tree import JunctionTree

AGREE = np.array([[2.0, 1.0], [1.0, 2.0]])
TREE = [(0, 2), (1, 2), (2, 3), (3, 4), (3, 5)]
TREE_EVIDENCE = [(0.9, 0.1), (0.6, 0.4), (0.5, 0.5), (0.5, 0.5), (0.2, 0.8), (0.3, 0.7)]
TRIANGLE = [(0, 1), (1, 2), (0, 2)]


@pytest.mark.parametrize("method", ["auto", "brute_force", "tree", "exact", "loopy"])
def test_the_tree_of_six_variables(method):
    found = PairwiseField.tree(TREE_EVIDENCE, TREE, AGREE).marginals(method)
    expected = [0.897460, 0.625823, 0.613672, 0.388288, 0.197397, 0.287159]
    np.testing.assert_allclose([p[0] for p in found.marginals], expected, atol=5e-7)
    assert np.exp(found.log_partition) == pytest.approx(7.6536, rel=1e-9)
    assert found.exact


def test_the_unnormalised_product_is_that_of_the_potentials():
    field = PairwiseField.tree(TREE_EVIDENCE, TREE, AGREE)
    assert field.score([0, 0, 0, 1, 1, 1]) == pytest.approx(0.9 * 0.6 * 0.5 * 0.5 * 0.8 * 0.7 * 2 * 2 * 1 * 2 * 2)


@pytest.mark.parametrize("method", ["auto", "tree", "exact", "loopy"])
def test_the_chain_with_an_asymmetric_table(method):
    psi = [[3, 1, 0.5], [1, 2, 1], [0.5, 1, 4]]
    evidence = [(0.7, 0.2, 0.1), (1, 1, 1), (0.2, 0.5, 0.3), (1, 1, 1), (0.1, 0.1, 0.8)]
    field = PairwiseField.chain(evidence, [psi, np.arange(1.0, 10.0).reshape(3, 3), psi, psi])
    expected = [
        (0.584965, 0.214961, 0.200074),
        (0.280366, 0.322441, 0.397193),
        (0.081944, 0.333345, 0.584711),
        (0.095696, 0.176074, 0.728230),
        (0.062762, 0.065714, 0.871524),
    ]
    np.testing.assert_allclose(field.marginals(method).marginals, expected, atol=5e-7)


def test_the_triangle_of_loopy_propagation():
    field = PairwiseField([(0.7, 0.3), (0.5, 0.5), (0.5, 0.5)], TRIANGLE, AGREE)
    exact, loopy = field.marginals("exact"), field.marginals("loopy", schedule="flooding", tol=1e-12)
    np.testing.assert_allclose(exact.marginals[0], [0.7, 0.3], atol=1e-9)
    np.testing.assert_allclose(exact.marginals[1], [0.585714, 0.414286], atol=5e-7)
    np.testing.assert_allclose(loopy.marginals[0], [0.712683, 0.287317], atol=5e-7)
    np.testing.assert_allclose(loopy.marginals[2], [0.591150, 0.408850], atol=5e-7)
    assert loopy.report.passes in (22, 23)
    assert loopy.report.converged


@pytest.mark.parametrize("division", [False, True])
def test_tree_and_loop_of_three_nodes(division):
    chain, triangle = ([Factor((0,), np.array([3.0, 1.0])), *(Factor(e, AGREE) for e in TRIANGLE[:k])] for k in (2, 3))
    found = loopy_propagation(chain, (2, 2, 2), division=division)
    assert np.exp(found.log_partition) == pytest.approx(36.0)
    np.testing.assert_allclose([p[0] for p in found.marginals], [0.75, 0.58333, 0.52778], atol=5e-6)
    exact = JunctionTree([f.variables for f in triangle], (2, 2, 2)).calibrate(triangle)
    assert np.exp(exact.log_partition) == pytest.approx(56.0)
    np.testing.assert_allclose([exact.marginal(v)[0] for v in range(3)], [0.75, 0.60714, 0.60714], atol=5e-6)
    loopy = loopy_propagation(triangle, (2, 2, 2), tol=1e-13, division=division)
    np.testing.assert_allclose([p[0] for p in loopy.marginals], [0.76401, 0.61315, 0.61315], atol=5e-6)
    assert loopy.passes == pytest.approx(25, abs=1)


def test_messages_on_cycles_of_three_and_four_beside_the_junction_tree():
    """Where neighbours must differ around an odd cycle, messages do not settle unless they are damped."""
    for n in (3, 4):
        edges = [Factor((i, (i + 1) % n), AGREE) for i in range(n)]
        factors = [Factor((0,), np.array([0.9, 0.1])), *edges]
        loopy = loopy_propagation(factors, (2,) * n)
        exact = JunctionTree([f.variables for f in factors], (2,) * n).calibrate(factors)
        gap = max(np.abs(loopy.marginal(v) - exact.marginal(v)).max() for v in range(n))
        assert loopy.converged
        assert 1e-4 < gap < 0.05
        assert loopy.marginal(0)[0] > exact.marginal(0)[0]  # evidence that comes back round the cycle is counted twice
    repel = np.array([[0.05, 1.0], [1.0, 0.05]])
    odd = [Factor((i, j), repel) for i in range(4) for j in range(i)] + [Factor((0,), np.array([0.6, 0.4]))]
    free, damped = (loopy_propagation(odd, (2,) * 4, damping=d) for d in (0.0, 0.5))
    assert not free.converged
    assert "still change after 500 passes" in free.reason
    assert damped.converged


@pytest.mark.parametrize(
    ("neighbours", "weight", "energy", "image"),
    [
        (4, 0.0, 0.0, [10, 12, 200, 202]),
        (4, 0.5, 4.0, [10, 12, 200, 202]),
        (4, 1.0, 8.0, None),  # a tie
        (4, 2.0, 12.0, [11, 11, 201, 201]),
        (4, 20_000.0, 36_104.0, [106] * 4),
        ("diagonal", 2.0, 8.0, [10, 12, 200, 202]),
        ("diagonal", 5000.0, 20_000.0, [10, 12, 200, 202]),
        ("diagonal", 20_000.0, 36_104.0, [106] * 4),
    ],
)
def test_the_segmentation_of_four_pixels(neighbours, weight, energy, image):
    found = segment_image([[10, 12], [200, 202]], weight, neighbours=neighbours, both_ways=True)
    assert found.energy == energy
    if image is not None:
        assert found.image.ravel().tolist() == image


def test_costs_are_known_beforehand():
    six, fifty = PairwiseField.tree(TREE_EVIDENCE, TREE, AGREE), PairwiseField.chain(np.ones((50, 10)), potts(10, 2, 1))
    assert (six.cost.brute_terms, six.cost.message_terms, six.cost.method) == (32, 40, "brute_force")
    assert (fifty.cost.brute_terms, fifty.cost.message_terms, fifty.cost.method) == (10**49, 9800, "tree")


def test_the_stationary_distribution_of_two_states():
    np.testing.assert_allclose(MarkovChain([[0.7, 0.3], [0.2, 0.8]]).stationary, [0.4, 0.6])
    flip = MarkovChain([[0.0, 1.0], [1.0, 0.0]])
    assert not flip.is_regular
    assert MarkovChain([[0.1, 0.9], [0.9, 0.1]]).is_surely_regular
