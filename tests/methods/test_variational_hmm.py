"""Variational hidden Markov models: the bound, states that fall away, and what can be set."""

from copy import deepcopy

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import gammaln

from fivefold.sequence import CategoricalHMM, GaussianHMM, VariationalCategoricalHMM, VariationalGaussianHMM

KINDS = ("full", "tied", "diag", "spherical")


def regimes(n=40, seed=0):
    """Rows of two columns in blocks of ten, of one of three regimes, as sequences."""
    rng = np.random.RandomState(seed)
    states = np.repeat(rng.randint(3, size=n), 10)
    return np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]])[states] + rng.normal(size=(10 * n, 2)), [100] * (n // 10)


@pytest.mark.parametrize("kind", KINDS)
def test_the_bound_never_falls_and_lies_below_the_likelihood_of_the_means(kind):
    X, lengths = regimes()
    model = VariationalGaussianHMM(4, kind, random_state=0, n_iter=60, tol=0.0).fit(X, lengths)
    history = np.asarray(model.monitor_.history)
    assert (np.diff(history) > -1e-8 * np.abs(history[:-1])).all()
    assert history[-1] < model.score(X, lengths)


def test_states_that_are_not_needed_keep_their_priors():
    X = np.array([0, 1, 2] * 30)[:, None]
    fits = {k: VariationalCategoricalHMM(k, random_state=0, n_iter=500).fit(X) for k in (1, 3, 5)}
    used = np.unique(fits[5].predict(X))
    others = np.setdiff1d(np.arange(5), used)
    assert len(used) == 3
    assert_allclose(fits[5].transmat_posterior_[others], 1 / 5, atol=1e-3)
    assert_allclose(fits[5].emissionprob_posterior_[others], 1 / 3, atol=1e-3)
    bounds = {k: fit.monitor_.history[-1] for k, fit in fits.items()}
    assert bounds[3] > max(bounds[1], bounds[5])  # as many states as there are


def test_with_one_state_the_bound_is_the_evidence_of_the_symbols():
    """One state has no path to sum over: the bound of Dirichlet counts is exact."""
    X = np.array([0, 0, 1, 2, 2, 2])[:, None]
    model = VariationalCategoricalHMM(1, emissionprob_prior=0.5, n_iter=5, tol=0.0, random_state=0).fit(X)
    counts, alpha = np.array([2, 1, 3]), 0.5
    evidence = gammaln(3 * alpha) - gammaln(6 + 3 * alpha) + (gammaln(counts + alpha) - gammaln(alpha)).sum()
    assert_allclose(model.monitor_.history[-1], evidence, rtol=1e-10)
    assert_allclose(model.emissionprob_, ((counts + alpha) / (6 + 3 * alpha))[None])


@pytest.mark.parametrize(
    "model", [VariationalGaussianHMM(2, random_state=0), VariationalCategoricalHMM(2, random_state=0)]
)
def test_a_weight_of_a_sequence_means_repetition(model):
    X, lengths = regimes(20)
    rows = X if isinstance(model, VariationalGaussianHMM) else (X[:, :1] > 3).astype(int)
    model.set_params(n_iter=2).fit(rows, lengths=lengths)
    model.set_params(init_params="", n_iter=4)  # from here on both take the same steps
    twice = deepcopy(model).fit(np.concatenate([rows, rows[:100]]), lengths=[*lengths, 100])
    model.fit(rows, lengths=lengths, sample_weight=[2.0, 1.0])
    for name in model.parts.values():
        assert_allclose(getattr(model, name), getattr(twice, name), rtol=1e-8, atol=1e-10)


def test_answers_are_those_of_the_model_of_means():
    X, lengths = regimes()
    model = VariationalGaussianHMM(3, "diag", random_state=0).fit(X, lengths)
    plain = GaussianHMM(3, "diag", random_state=0)
    plain.startprob_, plain.transmat_, plain.means_ = model.startprob_, model.transmat_, model.means_
    plain.covars_ = np.einsum("kii->ki", model.covars_)
    assert_allclose(model.score(X, lengths), plain.score(X, lengths))
    assert (model.predict(X, lengths) == plain.predict(X, lengths)).all()
    assert_allclose(model.get_stationary_distribution(), plain.get_stationary_distribution())
    symbols = (X[:, :1] > 3).astype(int)
    counted = VariationalCategoricalHMM(2, random_state=0).fit(symbols, lengths)
    other = CategoricalHMM(2, random_state=0)
    other.startprob_, other.transmat_, other.emissionprob_ = (
        counted.startprob_,
        counted.transmat_,
        counted.emissionprob_,
    )
    assert_allclose(counted.predict_proba(symbols, lengths), other.predict_proba(symbols, lengths))


def test_known_states_and_missing_symbols_are_taken():
    X, lengths = regimes(20)
    labels = np.full(len(X), -1)
    labels[:30] = (X[:30, 0] > 3).astype(int)
    model = VariationalGaussianHMM(2, random_state=0).fit_labelled(X, labels, lengths)
    assert (model.predict(X, lengths)[:30] == labels[:30]).mean() > 0.9
    symbols = (X[:, :1] > 3).astype(float)
    symbols[::7] = np.nan
    assert VariationalCategoricalHMM(2, random_state=0).fit(symbols, lengths).score(symbols, lengths) < 0


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("startprob_prior_", np.ones(3), r"startprob_prior_ must hold numbers from zero up, of the shape \(2,\)"),
        ("transmat_posterior_", -np.ones((2, 2)), "transmat_posterior_ must hold numbers from zero up"),
        ("means_prior_", np.ones((2, 3)), r"means_prior_ must have the shape \(2, 2\)"),
        ("scale_prior_", np.ones((2, 2)), r"scale_prior_ of the type 'full' must have the shape \(2, 2, 2\)"),
        ("dof_posterior_", np.ones(3), "dof_posterior_ must hold numbers"),
    ],
)
def test_what_does_not_fit_together_is_refused_by_name(name, value, message):
    X, lengths = regimes(20)
    model = VariationalGaussianHMM(2, random_state=0).fit(X, lengths)
    model.init_params = ""
    setattr(model, name, value)
    with pytest.raises(ValueError, match=message):
        model.fit(X, lengths)


def test_means_of_posteriors_cannot_be_set():
    with pytest.raises(ValueError, match="startprob_ is the mean of a posterior .* set startprob_posterior_"):
        VariationalGaussianHMM(2, random_state=0).startprob_ = np.array([0.5, 0.5])
