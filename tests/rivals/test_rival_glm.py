"""Generalized linear models beside scikit-learn and figures of statsmodels (recorded.json)."""

import warnings

import numpy as np
import pytest
import sklearn.linear_model
from rivals.record import recorded
from scipy.sparse import csr_array

import fivefold.linear_model
from fivefold.linear_model import GeneralizedLinearRegressor, LogisticRegression


def targets(seed=0, n=400):
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(n, 5))
    eta = 0.3 * X @ rng.normal(size=5) + 0.4
    shares = (rng.uniform(size=n) < 1 / (1 + np.exp(-eta))).astype(float)
    return X, {"poisson": rng.poisson(np.exp(eta)), "gamma": rng.gamma(2, np.exp(eta) / 2), "binomial": shares}


def repetitions(X):
    return np.random.RandomState(1).randint(1, 4, size=len(X))


DROP_INS = [
    ("PoissonRegressor", "poisson", {}),
    ("PoissonRegressor", "poisson", {"alpha": 0.0}),
    ("PoissonRegressor", "poisson", {"fit_intercept": False}),
    ("GammaRegressor", "gamma", {"alpha": 0.1}),
    ("TweedieRegressor", "gamma", {"power": 1.5}),
    ("TweedieRegressor", "poisson", {"power": 1.2, "alpha": 0.01}),
    ("TweedieRegressor", "gamma", {"power": 0}),
    ("TweedieRegressor", "gamma", {"power": 3, "alpha": 0.1}),
]


@pytest.mark.parametrize(("name", "target", "settings"), DROP_INS)
def test_coefficients_and_scores_are_scikit_learns(name, target, settings):
    """Newton's steps to 1e-10 on their side, a share of 1e-17 of the objective on ours: 1e-6 between them."""
    X, y = targets()
    y, w = y[target], repetitions(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # their solver changes itself on some families
        rival = getattr(sklearn.linear_model, name)(solver="newton-cholesky", tol=1e-10, max_iter=1000, **settings)
        rival.fit(X, y, w)
    ours = getattr(fivefold.linear_model, name)(**settings).fit(X, y, w)
    np.testing.assert_allclose(ours.coef_, rival.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.intercept_, rival.intercept_, atol=1e-6)
    np.testing.assert_allclose(ours.score(X, y, w), rival.score(X, y, w), atol=1e-6)


STATS = [
    ("poisson", "canonical", "poisson", "Poisson", None),
    ("poisson", "root", "poisson", "Poisson", "Sqrt"),
    ("gamma", "log", "gamma", "Gamma", "Log"),
    ("binomial", "canonical", "binomial", "Binomial", None),
    ("binomial", "probit", "binomial", "Binomial", "Probit"),
    ("binomial", "cloglog", "binomial", "Binomial", "CLogLog"),
    ("inverse gaussian", "log", "gamma", "InverseGaussian", "Log"),
    ("normal", "canonical", "gamma", "Gaussian", None),
]


@pytest.mark.parametrize(("family", "link", "target"), [case[:3] for case in STATS])
def test_standard_errors_are_those_of_statsmodels(family, link, target):
    """E-140. Fisher's information at the same maximum, weights as repetitions; the dispersion is Pearson's statistic
    over n - p, n the sum of the weights: over n it would be 0.7 % less, where 1e-8 is allowed."""
    X, y = targets()
    theirs = recorded("glm")[f"{family}, {link}"]
    ours = GeneralizedLinearRegressor(family=family, link=link).fit(X, y[target], repetitions(X)).summary()
    for name in ("estimate", "standard_error", "covariance"):
        np.testing.assert_allclose(getattr(ours, name), theirs[name], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(ours.facts["dispersion"], theirs["dispersion"], rtol=1e-8)


def test_the_binomial_family_with_its_canonical_link_is_logistic_regression():
    """E-140, E-130."""
    X, y = targets()
    model = GeneralizedLinearRegressor(family="binomial").fit(X, y["binomial"])
    classifier = LogisticRegression(C=np.inf).fit(X, y["binomial"])
    np.testing.assert_allclose(model.coef_, classifier.coef_[0], atol=1e-8)
    np.testing.assert_allclose(model.predict(X), classifier.predict_proba(X)[:, 1], atol=1e-8)


def test_the_canonical_link_of_the_gamma_family_needs_a_positive_predictor_and_gets_it():
    """The moment conditions of a canonical link: Z'(y - mu) = 0."""
    X, y = targets()
    model = GeneralizedLinearRegressor(family="gamma").fit(X, y["gamma"])
    rest = y["gamma"] - model.predict(X)
    assert (model.predict(X) > 0).all()
    np.testing.assert_allclose(np.column_stack([X, np.ones(len(X))]).T @ rest, 0, atol=1e-5)


def test_a_sparse_table_and_many_rows_have_the_same_coefficients():
    X, y = targets(n=30_000)
    X[np.abs(X) < 0.3] = 0
    dense = fivefold.linear_model.PoissonRegressor(alpha=0.1, tol=1e-7).fit(X, y["poisson"])
    sparse = fivefold.linear_model.PoissonRegressor(alpha=0.1, tol=1e-7).fit(csr_array(X), y["poisson"])
    rival = sklearn.linear_model.PoissonRegressor(alpha=0.1, solver="newton-cholesky", tol=1e-12).fit(X, y["poisson"])
    np.testing.assert_allclose(dense.coef_, rival.coef_, atol=1e-7)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-7)


def test_targets_that_the_family_cannot_give_are_refused_with_their_row():
    X, y = targets()
    y["poisson"][7] = -1
    with pytest.raises(ValueError, match=r"out of the valid range \[0, inf\].*-1 in row 7"):
        fivefold.linear_model.PoissonRegressor().fit(X, y["poisson"])
    with pytest.raises(ValueError, match=r"alpha=1\.0.*fit with alpha=0"):
        fivefold.linear_model.GammaRegressor().fit(X, y["gamma"]).summary()
