"""Scores of structures: values of the catalogue; each test names its rows."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from fivefold.graphical.structure_learning.family_scores import (
    K2Score,
    log_marginal_likelihood,
    sequential_log_probability,
)
from fivefold.graphical.structure_learning.model_averaging import all_structures, structure_posterior
from fivefold.graphical.structure_learning.score_cache import FamilyScores

COIN = [0, 0, 1, 1, 1, 0, 0]  # heads, heads, tails, tails, tails, heads, heads


@pytest.mark.parametrize(
    ("counts", "alpha", "value"),
    [
        ((4, 3), (1, 1), Fraction(1, 280)),
        ((2, 1, 1), (1, 1, 1), Fraction(1, 180)),
        ((4, 3), (0.5, 0.5), 0.00244140625),
    ],
)
def test_marginal_likelihood_of_a_single_node(counts, alpha, value):
    """D-241, C-04: the ratio of gamma functions (the printed denominators lack Gamma)."""
    assert np.exp(log_marginal_likelihood(counts, alpha)) == pytest.approx(float(value), rel=1e-12)


def test_the_order_of_the_data_does_not_matter():
    """D-241, Q23: predictions one after the other multiply to the same number for every order."""
    closed = log_marginal_likelihood([4, 3], [1, 1])
    found = [sequential_log_probability(order, [1, 1]) for order in set(permutations(COIN))]
    assert len(found) == 35
    np.testing.assert_allclose(found, closed, rtol=1e-13)


def test_a_network_of_one_node_has_that_score():
    """D-242: single node = D-241."""
    scores = FamilyScores({"coin": COIN}, K2Score())
    assert np.exp(scores.total([()])) == pytest.approx(1 / 280, rel=1e-12)


def test_the_number_of_directed_acyclic_graphs():
    """D-236: 1, 3, 25, 543, 29281."""
    assert [len(all_structures(d)) for d in range(1, 6)] == [1, 3, 25, 543, 29281]


def test_likelihood_joins_independent_columns_and_the_marginal_likelihood_does_not():
    """C-25, D-239: empirical mutual information is positive, so maximum likelihood takes the edge."""
    joined = []
    for seed in range(100):
        X = (np.random.RandomState(seed).random_sample((2000, 2)) < 0.5).astype(int)
        likelihood, evidence = FamilyScores(X, "likelihood"), FamilyScores(X, "k2")
        assert likelihood.total([(), (0,)]) > likelihood.total([(), ()])
        joined.append(evidence.total([(), (0,)]) > evidence.total([(), ()]))
    # the edge wins where G^2 exceeds about log(2000 / 2 pi) + ...: seldom, and less often with more rows
    assert np.mean(joined) < 0.05


def test_with_one_structure_averaging_is_the_posterior_mean():
    """D-236: one variable has one structure, whose prediction is (N + alpha) / sum."""
    posterior = structure_posterior({"coin": COIN}, K2Score(1.0))
    assert posterior.probability == pytest.approx([1.0])
    np.testing.assert_allclose(np.exp(posterior.log_predictive({"coin": [0, 1]})), [5 / 9, 4 / 9], rtol=1e-12)
