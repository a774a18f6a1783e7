"""Probit regression: likelihood, PAC-Bayes loss, and the predicted strength."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import log_ndtr, ndtr
from sklearn.pipeline import make_pipeline

from fivefold.linear_model import ProbitRegression
from fivefold.linear_model.probit import predicted_strength, rms_row_length
from fivefold.preprocessing import Normalizer


def classes(n=150, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X @ np.linspace(1, 2, d) + rng.normal(size=n) > 0).astype(int)


def test_the_likelihood_is_that_of_a_slow_minimiser():
    X, y = classes()
    t = 2.0 * y - 1
    model = ProbitRegression(alpha=0.5, fit_intercept=False).fit(X, y)
    slow = minimize(lambda w: -log_ndtr(t * (X @ w)).sum() + 0.25 * w @ w, np.zeros(4), tol=1e-12)
    assert_allclose(model.coef_[0], slow.x, atol=1e-5)  # the slow one works with finite differences
    assert_allclose(model.predict_proba(X)[:, 1], ndtr(X @ model.coef_[0]), rtol=1e-12)


def gibbs(w, Z, t, strength):
    return ndtr(-t * (Z @ w)).sum() + 0.5 * strength * w @ w


def test_the_pac_bayes_objective_is_stationary_and_the_best_of_many_starts():
    """B-97: unit rows, lambda = 2; no random start ends lower, and no multiple of the solution is better."""
    X, y = classes()
    Z, t = Normalizer().fit_transform(X), 2.0 * y - 1
    model = make_pipeline(Normalizer(), ProbitRegression(loss="gibbs", fit_intercept=False)).fit(X, y)[-1]
    w = model.coef_[0]
    assert model.alpha_ == 2
    gradient = 2 * w - Z.T @ (t * np.exp(-0.5 * (Z @ w) ** 2)) / np.sqrt(2 * np.pi)
    assert np.abs(gradient).max() < 1e-6
    rng, best = np.random.default_rng(1), gibbs(w, Z, t, 2.0)
    ends = [minimize(gibbs, 3 * rng.normal(size=4), args=(Z, t, 2.0)).fun for _ in range(10)]
    assert best <= min(ends) + 1e-6
    assert best <= min(gibbs(c * w, Z, t, 2.0) for c in np.geomspace(0.01, 100, 50)) + 1e-9
    assert model.gibbs_error_ == pytest.approx(ndtr(-t * (Z @ w)).mean(), rel=1e-9)


def test_l1_gives_exact_zeros_and_a_large_strength_nothing_at_all():
    """B-98."""
    X, y = classes(300, 4)
    X = np.hstack([X, np.random.default_rng(3).normal(size=(300, 20))])
    sparse = ProbitRegression(loss="gibbs", penalty="l1", alpha=6.0, fit_intercept=False).fit(X, y).coef_[0]
    assert 0 < np.count_nonzero(sparse) < 15
    nothing = ProbitRegression(loss="gibbs", penalty="l1", alpha=1e3, fit_intercept=False).fit(X, y).coef_[0]
    assert not nothing.any()
    assert ProbitRegression(loss="gibbs", penalty="l1").fit(X, y).alpha_ == 2


def test_the_predicted_strength_is_a_fixed_point():
    """B-99: the lesser of the length of rows and |w|_1 at that very strength."""
    X, y = classes()
    X = X / np.abs(X).max(axis=0)
    model = ProbitRegression(penalty="l1", alpha="predicted", fit_intercept=False).fit(X, y)
    length = rms_row_length(X, np.ones(len(X)))
    assert length == pytest.approx(np.sqrt((X**2).sum(1).mean()))
    again = ProbitRegression(penalty="l1", alpha=model.alpha_, fit_intercept=False).fit(X, y)
    assert model.alpha_ == pytest.approx(min(length, np.abs(again.coef_).sum()), rel=1e-6)
    assert predicted_strength(2.0, lambda s: 1 / s) == pytest.approx(1.0, rel=1e-8)
    with pytest.raises(ValueError, match="penalty='l1'"):
        ProbitRegression(alpha="predicted").fit(X, y)
