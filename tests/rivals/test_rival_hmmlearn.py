"""Hidden Markov models beside hmmlearn: the same numbers after the same steps."""

import numpy as np
import pytest

from fivefold import sequence

pytestmark = pytest.mark.may_skip("hmmlearn is not installed with the tests")


@pytest.fixture(scope="module")
def hmm():
    return pytest.importorskip("hmmlearn.hmm")


def assert_equal_models(ours, theirs, names, X, lengths, rtol=1e-8):
    for name in names:
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=rtol, atol=1e-9, err_msg=name)
    np.testing.assert_allclose(list(ours.monitor_.history), list(theirs.monitor_.history), rtol=1e-9)
    assert ours.score(X, lengths) == pytest.approx(theirs.score(X, lengths))
    np.testing.assert_allclose(ours.predict_proba(X, lengths), theirs.predict_proba(X, lengths), atol=1e-7)
    assert ours.decode(X, lengths)[0] == pytest.approx(theirs.decode(X, lengths)[0])
    assert ours.aic(X, lengths) == pytest.approx(theirs.aic(X, lengths))
    assert ours.bic(X, lengths) == pytest.approx(theirs.bic(X, lengths))
    np.testing.assert_allclose(
        ours.get_stationary_distribution(), np.real(theirs.get_stationary_distribution()), atol=1e-8
    )


@pytest.mark.parametrize("implementation", ["log", "scaling"])
def test_categorical_models_are_equal_from_a_seed(hmm, implementation):
    X, lengths = np.random.RandomState(0).randint(5, size=(400, 1)), [100, 250, 1, 49]
    settings = {"random_state": 3, "n_iter": 8, "implementation": implementation, "emissionprob_prior": 1.2}
    ours, theirs = (m.CategoricalHMM(3, **settings).fit(X, lengths) for m in (sequence, hmm))
    names = ("startprob_", "transmat_", "emissionprob_")
    for name in names:
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-7, atol=1e-9, err_msg=name)
    assert ours.score(X, lengths) == pytest.approx(theirs.score(X, lengths))


def test_without_a_prior_everything_is_equal(hmm):
    X, lengths = np.random.RandomState(0).randint(5, size=(400, 1)), [100, 250, 1, 49]
    ours, theirs = (m.CategoricalHMM(3, random_state=3, n_iter=8).fit(X, lengths) for m in (sequence, hmm))
    assert_equal_models(ours, theirs, ("startprob_", "transmat_", "emissionprob_"), X, lengths)


def test_poisson_and_multinomial_models_are_equal_from_a_seed(hmm):
    rng = np.random.RandomState(1)
    X, lengths = rng.poisson([1.0, 6.0], size=(300, 2)), [100, 200]
    ours, theirs = (m.PoissonHMM(2, random_state=0).fit(X, lengths) for m in (sequence, hmm))
    assert_equal_models(ours, theirs, ("startprob_", "transmat_", "lambdas_"), X, lengths)
    X = rng.multinomial(9, [0.2, 0.3, 0.5], size=300)
    ours, theirs = (m.MultinomialHMM(2, n_trials=9, random_state=0).fit(X, lengths) for m in (sequence, hmm))
    assert_equal_models(ours, theirs, ("startprob_", "transmat_", "emissionprob_"), X, lengths)


@pytest.mark.parametrize("priors", [{}, {"means_prior": 1.0, "means_weight": 2.0, "covars_weight": 6.0}])
@pytest.mark.parametrize("params", ["stmc", "mc", "m"])
@pytest.mark.parametrize("kind", ["spherical", "diag", "full", "tied"])
def test_gaussian_models_are_equal_from_the_same_start(hmm, kind, params, priors):
    rng = np.random.RandomState(2)
    X, lengths = np.repeat(rng.normal(size=(30, 3)), 10, axis=0) + rng.normal(size=(300, 3)), [120, 180]
    start = {
        "startprob_": np.full(2, 0.5),
        "transmat_": np.array([[0.8, 0.2], [0.3, 0.7]]),
        "means_": X[[0, 200]],
        "covars_": {"spherical": np.ones(2), "diag": np.ones((2, 3)), "full": np.tile(np.eye(3), (2, 1, 1))}.get(
            kind, np.eye(3)
        ),
    }
    fitted = []
    for module in (sequence, hmm):
        model = module.GaussianHMM(2, kind, init_params="", params=params, n_iter=6, tol=0.0, **priors)
        for name, value in start.items():
            setattr(model, name, value.copy())
        fitted.append(model.fit(X, lengths))
    ours, theirs = fitted
    for name in ("startprob_", "transmat_", "means_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-7, err_msg=name)
    if kind != "spherical":  # hmmlearn gives one matrix per state and column there
        np.testing.assert_allclose(ours.covars_, theirs.covars_, rtol=1e-7)
    assert ours.score(X, lengths) == pytest.approx(theirs.score(X, lengths))


@pytest.mark.parametrize("kind", ["diag", "full", "tied"])
def test_mixtures_of_states_score_and_decode_alike(hmm, kind):
    rng = np.random.RandomState(3)
    X = np.repeat(5 * rng.randint(2, size=(30, 1)), 10, axis=0) + rng.normal(size=(300, 2))
    ours = sequence.GMMHMM(2, 2, covariance_type=kind, random_state=0).fit(X)
    theirs = hmm.GMMHMM(2, 2, covariance_type=kind)
    for name in ours.parts.values():
        setattr(theirs, name, np.array(getattr(ours, name)))
    assert ours.score(X) == pytest.approx(theirs.score(X))
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-8)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("name", ["CategoricalHMM", "GaussianHMM", "GMMHMM", "PoissonHMM", "MultinomialHMM"])
def test_constructors_and_public_names_are_hmmlearns(hmm, name):
    from inspect import signature

    ours, theirs = (signature(getattr(m, name)).parameters for m in (sequence, hmm))
    assert list(ours)[: len(theirs)] == list(theirs)
    for parameter in theirs:
        assert ours[parameter].default == theirs[parameter].default, parameter
        assert ours[parameter].kind == theirs[parameter].kind, parameter
    public = {method for method in dir(getattr(hmm, name)) if not method.startswith("_")}
    assert public - set(dir(getattr(sequence, name))) == set()
