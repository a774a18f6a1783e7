"""Hidden Markov models beside hmmlearn: the same numbers after the same steps.

Its figures are in hmmlearn.json, which record_hmmlearn.py writes where it is installed.
"""

import numpy as np
import pytest
from rivals.record_hmmlearn import (
    COUNTS,
    KINDS,
    MIXTURE_KINDS,
    MODELS,
    PARAMS,
    PRIORS,
    STEP,
    VARIATIONAL,
    counts,
    gaussian,
    mixture,
    parameters,
    recorded,
    variational_rows,
    variational_symbols,
)

from fivefold import sequence


def assert_equal_parts(ours, theirs, rtol, atol=0.0):
    for name, value in theirs["parts"].items():
        np.testing.assert_allclose(getattr(ours, name), value, rtol=rtol, atol=atol, err_msg=name)


@pytest.mark.parametrize("name", COUNTS)
def test_models_of_counts_are_equal_from_a_seed(name):
    theirs = recorded("counts")[name]
    ours, X, lengths = counts(sequence, name)
    assert_equal_parts(ours, theirs, rtol=1e-7 if "emissionprob_prior" in COUNTS[name][1] else 1e-8, atol=1e-9)
    np.testing.assert_allclose(list(ours.monitor_.history), theirs["history"], rtol=1e-9)
    assert ours.score(X, lengths) == pytest.approx(theirs["score"])
    np.testing.assert_allclose(ours.predict_proba(X, lengths)[::STEP], theirs["probabilities"], atol=1e-7)
    assert ours.decode(X, lengths)[0] == pytest.approx(theirs["decoded"])
    assert ours.aic(X, lengths) == pytest.approx(theirs["aic"])
    assert ours.bic(X, lengths) == pytest.approx(theirs["bic"])
    np.testing.assert_allclose(ours.get_stationary_distribution(), theirs["stationary"], atol=1e-8)


@pytest.mark.parametrize("priors", PRIORS)
@pytest.mark.parametrize("params", PARAMS)
@pytest.mark.parametrize("kind", KINDS)
def test_gaussian_models_are_equal_from_the_same_start(kind, params, priors):
    theirs = recorded("gaussian")[f"{kind}, {params}, {priors}"]
    ours, X, lengths = gaussian(sequence, kind, params, priors)
    assert_equal_parts(ours, theirs, rtol=1e-7)
    assert ours.score(X, lengths) == pytest.approx(theirs["score"])


@pytest.mark.parametrize("kind", MIXTURE_KINDS)
def test_mixtures_of_states_score_and_decode_alike(kind):
    theirs = recorded("mixture")[kind]
    ours, X = mixture(sequence, kind)
    assert ours.score(X) == pytest.approx(theirs["score"])
    np.testing.assert_allclose(ours.predict_proba(X)[::STEP], theirs["probabilities"], atol=1e-8)
    np.testing.assert_array_equal(ours.predict(X), [int(state) for state in theirs["states"]])


@pytest.mark.parametrize("case", ["symbols", *KINDS])
def test_posteriors_of_variational_models_are_equal_from_the_same_start(case):
    theirs = recorded("variational")[case]
    ours, X, lengths = variational_symbols(sequence) if case == "symbols" else variational_rows(sequence, case)
    assert_equal_parts(ours, theirs, rtol=1e-9, atol=1e-9)
    assert ours.score(X, lengths) == pytest.approx(theirs["score"])
    constant = 0.0 if case == "symbols" else X.size / 2 * np.log(2 * np.pi)  # hmmlearn leaves it out of the bound
    np.testing.assert_allclose(np.asarray(ours.monitor_.history) + constant, theirs["history"], rtol=1e-9)


@pytest.mark.parametrize("name", [*MODELS, *VARIATIONAL])
def test_constructors_and_public_names_are_hmmlearns(name):
    theirs, model = recorded("names")[name], getattr(sequence, name)
    assert parameters(model)[: len(theirs["parameters"])] == theirs["parameters"]
    assert set(theirs["public"]) - set(dir(model)) == set()
