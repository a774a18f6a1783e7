"""Laplace's approximation for logistic regression."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from fivefold.linear_model import BayesianLogisticRegression


def classes(n=120, d=3, K=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    score = X @ rng.normal(size=(d, K)) + rng.gumbel(size=(n, K))
    return X, score.argmax(axis=1)


@pytest.mark.parametrize("K", [2, 3])
def test_a_prior_that_says_nothing_gives_maximum_likelihood(K):
    """C-158."""
    X, y = classes(K=K)
    model = BayesianLogisticRegression(alpha=1e-9).fit(X, y)
    rival = LogisticRegression(C=np.inf, tol=1e-10, max_iter=2000).fit(X, y)
    assert_allclose(model.predict_at_mode(X), rival.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("K", [2, 3])
def test_probabilities_are_less_sure_than_at_the_mode_and_more_so_far_away(K):
    """C-158."""
    X, y = classes(40, K=K)
    model = BayesianLogisticRegression(alpha=1.0).fit(X, y)
    far = 20 * X[:5]
    assert np.all(model.predict_proba(far).max(1) < model.predict_at_mode(far).max(1))
    assert_allclose(model.predict_proba(far).sum(1), 1)


def test_kappa_is_close_to_the_integral_it_stands_for():
    """Over a Gaussian predictor the mean sigmoid is within 0.02 of sigma(kappa mu): MacKay's approximation."""
    X, y = classes(30)
    model = BayesianLogisticRegression(alpha=1.0).fit(X, y)
    at = np.array([[2.0, -1.0, 0.5]])
    z = np.append(at[0] - X.mean(0), 1.0)
    mu, s = float(at[0] @ model.coef_[0] + model.intercept_[0]), float(np.sqrt(z @ model.covariance_[0] @ z))
    exact = quad(lambda u: expit(mu + s * u) * np.exp(-u * u / 2) / np.sqrt(2 * np.pi), -8, 8)[0]
    assert model.predict_proba(at)[0, 1] == pytest.approx(exact, abs=0.02)


def test_the_covariance_is_the_inverse_hessian():
    X, y = classes()
    model = BayesianLogisticRegression(alpha=2.0).fit(X, y)
    Z = np.column_stack([X - X.mean(0), np.ones(len(X))])
    p = model.predict_at_mode(X)[:, 1]
    H = (Z * (p * (1 - p))[:, None]).T @ Z + np.diag([2.0, 2.0, 2.0, 0.0])
    assert_allclose(model.covariance_[0], np.linalg.inv(H), rtol=1e-6)


def test_the_chosen_precision_balances_and_has_high_evidence():
    X, y = classes()
    model = BayesianLogisticRegression().fit(X, y)
    gamma = 3 - model.alpha_ * np.trace(model.covariance_[0][:3, :3])
    assert model.alpha_ * float(model.coef_[0] @ model.coef_[0]) == pytest.approx(gamma, rel=1e-6)
    for times in (0.1, 10.0):
        assert BayesianLogisticRegression(alpha=times * model.alpha_).fit(X, y).evidence_ < model.evidence_


def test_separable_classes_have_a_finite_answer():
    X = np.linspace(-1, 1, 20)[:, None]
    model = BayesianLogisticRegression().fit(X, (X[:, 0] > 0).astype(int))
    assert np.isfinite(model.coef_).all() and model.score(X, X[:, 0] > 0) == 1
