"""Beside python-crfsuite: the same optimum at the same features and penalties.

Its figures are in crfsuite.json, which record_crfsuite.py writes where it is installed.
Values are not negative here: CRFsuite leaves out features whose values add up to less than zero, which we keep.
"""

import json

import pytest
from methods.test_linear_chain_crf import sentences
from numpy.testing import assert_allclose
from rivals.record_crfsuite import ONLINE, PASSES, PATH, SETTINGS, TAGGED, as_one, recorded

from fivefold.sequence import LinearChainCRF


@pytest.mark.parametrize("name", SETTINGS)
def test_the_minimum_and_the_weights_are_those_of_crfsuite(name):
    theirs = recorded(name)
    c1, c2, everything = SETTINGS[name]
    X, y = sentences(40)
    ours = LinearChainCRF(
        c1=c1,
        c2=c2,
        epsilon=1e-9,
        delta=0.0,
        max_iterations=5000,
        all_possible_states=everything,
        all_possible_transitions=everything,
    ).fit(X, y)
    assert_allclose(ours.history_[-1], theirs["loss"], rtol=1e-6)
    if c2 > 0:  # one minimum
        for attribute, label, weight in theirs["state_features"]:
            assert_allclose(ours.state_features_.get((attribute, label), 0.0), weight, atol=2e-3)
    for found, their in zip(ours.predict_marginals(X[:TAGGED]), theirs["marginals"], strict=True):
        expected = [[position[label] for label in ours.classes_] for position in their]
        assert_allclose([list(p.values()) for p in found], expected, atol=2e-3)


@pytest.mark.parametrize("name", ONLINE)
def test_passes_change_the_weights_as_those_of_crfsuite(name):
    theirs, (algorithm, options) = recorded(name, "online"), ONLINE[name]
    settings = {"pa_type" if key == "type" else key: value for key, value in options.items()}
    ours = LinearChainCRF(algorithm, max_iterations=PASSES, **settings).fit(*as_one(*sentences(40)))
    assert_allclose(ours.history_[-1], theirs["loss"], atol=1e-6)  # both in the six decimals of CRFsuite's dump
    for attribute, label, weight in theirs["state_features"]:
        assert_allclose(ours.state_features_[attribute, label], weight, atol=6e-7)
    for before, after, weight in theirs["transitions"]:
        assert_allclose(ours.transition_features_[before, after], weight, atol=6e-7)


def test_stochastic_descent_ends_no_higher_than_that_of_crfsuite():
    X, y = sentences(40)
    ours = LinearChainCRF("l2sgd").fit(X, y)
    least = LinearChainCRF(epsilon=1e-9, delta=0.0).fit(X, y).history_[-1]
    assert least < min(ours.history_) <= json.loads(PATH.read_text())["l2sgd"] < 1.05 * least
