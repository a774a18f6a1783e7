"""Hidden Markov models: numbers that can be worked out by hand."""

from itertools import product

import numpy as np
import pytest

from fivefold.inference.chains.chain import Chain
from fivefold.inference.chains.forward_backward import forward_backward
from fivefold.sequence import CategoricalHMM


def two_states(switch, wrong, **settings):
    """Two states that stay with probability 1 - switch and emit their own number with probability 1 - wrong."""
    model = CategoricalHMM(2, **settings, random_state=0)
    model.startprob_ = [0.5, 0.5]
    model.transmat_ = [[1 - switch, switch], [switch, 1 - switch]]
    model.emissionprob_ = [[1 - wrong, wrong], [wrong, 1 - wrong]]
    return model


@pytest.mark.parametrize(
    ("switch", "wrong", "n", "likelihood", "posterior"),
    [
        (0.1, 0.2, 5, 0.1169012, [0.963781, 0.986184, 0.990388, 0.986184, 0.963781]),
        (0.1, 0.2, 10, 0.0230721, None),
        (0.3, 0.1, 4, 0.129956, [0.950306, 0.973576, 0.973576, 0.950306]),
    ],
)
def test_the_symmetric_model_has_the_published_likelihood_and_posteriors(switch, wrong, n, likelihood, posterior):
    """C-07."""
    model, X = two_states(switch, wrong), np.zeros((n, 1), dtype=int)
    assert np.exp(model.score(X)) == pytest.approx(likelihood, abs=5e-8)
    if posterior is not None:
        np.testing.assert_allclose(model.predict_proba(X)[:, 0], posterior, atol=5e-7)


def test_forward_and_backward_messages_are_the_textbooks():
    """C-07: F excludes the observation of its position and B includes it; their products sum to p(x) everywhere."""
    A, b = np.array([[0.9, 0.1], [0.1, 0.9]]), np.array([0.8, 0.2])
    F, B = np.empty((5, 2)), np.empty((5, 2))
    F[0], B[4] = 0.5, b
    for t in range(4):
        F[t + 1] = (F[t] * b) @ A
        B[3 - t] = b * (A @ B[4 - t])
    np.testing.assert_allclose(F[:, 0], [0.5, 0.37, 0.269, 0.19474, 0.140834], atol=5e-7)
    np.testing.assert_allclose(F[:, 1], [0.5, 0.13, 0.053, 0.03106, 0.02117], atol=5e-7)
    np.testing.assert_allclose(B[:, 0], [0.2253344, 0.311584, 0.4304, 0.592, 0.8], atol=5e-7)
    np.testing.assert_allclose(B[:, 1], [0.008468, 0.012424, 0.0212, 0.052, 0.2], atol=5e-7)
    np.testing.assert_allclose((F * B).sum(axis=1), 0.1169012, atol=5e-8)
    chain = Chain(np.log([0.5, 0.5]), np.log(A), np.log(np.tile(b, (5, 1))), np.array([0, 5]))
    np.testing.assert_allclose(forward_backward(chain).marginals, F * B / 0.1169012, atol=1e-6)


def test_a_step_of_baum_welch_is_the_textbooks():
    """B-161: columns of A as the textbook writes it sum to one; with the misprinted backward term they would not."""
    model = two_states(0.1, 0.2, init_params="", n_iter=1).fit(np.zeros((5, 1), dtype=int))
    np.testing.assert_allclose(model.transmat_.T, [[0.98832, 0.62406], [0.01168, 0.37594]], atol=5e-6)


def test_joint_probabilities_sum_to_one():
    """B-135: over all states and observations of a length."""
    model = two_states(0.1, 0.2)
    total = sum(np.exp(model.score(np.array(x)[:, None])) for x in product(range(2), repeat=4))
    assert total == pytest.approx(1)


def test_marginal_decoding_may_choose_an_impossible_path_where_viterbi_does_not():
    """C-06: a hundred states; the first goes to any other, and all others go back to it."""
    K = 100
    model = CategoricalHMM(K, random_state=0)
    model.startprob_ = np.r_[1 / 3, np.full(K - 1, 2 / 3 / (K - 1))]
    A = np.zeros((K, K))
    A[0, 1:], A[1:, 0] = 1 / (K - 1), 1.0
    model.transmat_, model.emissionprob_ = A, np.ones((K, 1))
    X = np.zeros((3, 1), dtype=int)
    np.testing.assert_allclose(model.predict_proba(X)[:, 0], [1 / 3, 2 / 3, 1 / 3])
    value, path = model.decode(X, algorithm="map")
    assert path.tolist() == [0, 0, 0]
    assert value == -np.inf
    value, path = model.decode(X, algorithm="viterbi")
    assert path.tolist() == [0, 1, 0]
    assert np.exp(value) == pytest.approx(1 / 297)


def test_each_decoder_minimises_the_expectation_of_its_loss():
    """B-142: among all guesses of the states."""
    model, X = two_states(0.35, 0.4), np.array([[0], [1], [1], [0]])
    guesses = [np.array(z) for z in product(range(2), repeat=4)]
    for loss in ("zero_one", "hamming"):
        chosen = model.decode(X, loss=loss)[1]
        least = min(float(model.expected_loss(X, z, loss=loss)[0]) for z in guesses)
        assert model.expected_loss(X, chosen, loss=loss)[0] == pytest.approx(least)


def test_rainy_and_sunny_days():
    model = CategoricalHMM(2, random_state=0)
    model.startprob_, model.transmat_ = [0.6, 0.4], [[0.7, 0.3], [0.4, 0.6]]
    model.emissionprob_ = [[0.1, 0.4, 0.5], [0.6, 0.3, 0.1]]
    value, path = model.decode([[0], [1], [2]])
    assert np.exp(value) == pytest.approx(0.01344)
    assert path.tolist() == [1, 0, 0]
