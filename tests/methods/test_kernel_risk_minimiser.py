"""Any loss with any kernel: the linear case of every loss, the norm, other kernel methods, objects."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from fivefold.kernel_ridge import KernelRidge
from fivefold.kernels.structured import SpectrumKernel
from fivefold.linear_model import RiskMinimiserClassifier, RiskMinimiserRegressor
from fivefold.linear_model.risk_minimiser import CLASSIFIER_LOSSES, REGRESSOR_LOSSES
from fivefold.svm import SVC, KernelLogisticRegression, KernelRiskMinimiserClassifier, KernelRiskMinimiserRegressor


def table(n=60, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] ** 2 + 0.5 * X[:, 1] + 0.3 * rng.normal(size=n)


@pytest.mark.parametrize("loss", [name for name in CLASSIFIER_LOSSES if name != "perceptron"])
def test_a_linear_kernel_gives_the_predictions_of_the_linear_classifier(loss):
    """The perceptron's loss is least at zero: there is nothing to compare."""
    X, t = table()
    y = np.digitize(t, [0.2, 1.0]) if loss == "softmax" else (t > 0.5).astype(int)
    linear = RiskMinimiserClassifier(loss, alpha=0.5).fit(X, y)
    model = KernelRiskMinimiserClassifier(loss, alpha=0.5, kernel="linear").fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), linear.decision_function(X), atol=2e-5)


@pytest.mark.parametrize("loss", REGRESSOR_LOSSES)
def test_a_linear_kernel_gives_the_predictions_of_the_linear_regressor(loss):
    X, t = table()
    y = np.exp(0.3 * t) if loss in ("poisson", "gamma") else t
    linear = RiskMinimiserRegressor(loss, alpha=0.5).fit(X, y)
    model = KernelRiskMinimiserRegressor(loss, alpha=0.5, kernel="linear").fit(X, y)
    np.testing.assert_allclose(model.predict(X), linear.predict(X), atol=2e-5)


def test_the_norm_is_that_of_the_coefficients():
    X, t = table()
    model = KernelRiskMinimiserRegressor("absolute", alpha=0.3, gamma=0.5).fit(X, t)
    K, a = rbf_kernel(X[model.support_], gamma=0.5), model.dual_coef_[0]
    np.testing.assert_allclose(model.squared_norm_, a @ K @ a, rtol=1e-6)


def test_named_losses_are_the_methods_that_have_them():
    X, t = table()
    y = (t > 0.5).astype(int)
    ridge = KernelRidge(0.3, kernel="rbf", gamma=0.5).fit(X, t)
    squared = KernelRiskMinimiserRegressor("squared", alpha=0.3, gamma=0.5, fit_intercept=False).fit(X, t)
    np.testing.assert_allclose(squared.predict(X), ridge.predict(X), atol=1e-6)
    hinge = KernelRiskMinimiserClassifier("hinge", alpha=0.5, gamma=0.5).fit(X, y)
    np.testing.assert_allclose(
        hinge.decision_function(X), SVC(C=2.0, gamma=0.5).fit(X, y).decision_function(X), atol=1e-5
    )
    for loss, link in (("log", "logit"), ("probit", "probit")):
        model = KernelRiskMinimiserClassifier(loss, alpha=0.5, gamma=0.5).fit(X, y)
        newton = KernelLogisticRegression(C=2.0, gamma=0.5, link=link).fit(X, y)
        np.testing.assert_allclose(model.predict_proba(X), newton.predict_proba(X), atol=1e-6)


def test_texts_are_learned_from_their_kernel():
    rng = np.random.RandomState(0)
    texts = ["".join(rng.choice(list(letters), size=12)) for letters in ("abc", "cde") for _ in range(20)]
    y = np.repeat([0, 1], 20)
    model = KernelRiskMinimiserClassifier("squared_hinge", kernel=SpectrumKernel(2)).fit(texts, y)
    assert model.score(texts, y) == 1.0
    assert model.predict(["ababab", "dededede"]).tolist() == [0, 1]


def test_given_kernels_are_taken_and_losses_without_probabilities_say_so():
    X, t = table()
    y, K = (t > 0.5).astype(int), rbf_kernel(X, gamma=0.5)
    named = KernelRiskMinimiserClassifier(gamma=0.5).fit(X, y)
    given = KernelRiskMinimiserClassifier(kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(given.predict_proba(K), named.predict_proba(X), atol=1e-7)
    with pytest.raises(AttributeError, match="predict_proba"):
        KernelRiskMinimiserClassifier("hinge").fit(X, y).predict_proba(X)
