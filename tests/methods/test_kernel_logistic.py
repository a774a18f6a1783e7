"""What the laws cannot say about logistic regression with kernels."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_ndtr

from fivefold.core.storage import memory_limits
from fivefold.linear_model import LogisticRegression
from fivefold.svm import KernelLogisticRegression


def table(n=80, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(n, 2))
    return X, np.where((X**2).sum(axis=1) + 0.7 * rng.normal(size=n) > 1.5, 1, -1)


def test_a_linear_kernel_gives_logistic_regression():
    X, y = table()
    model = KernelLogisticRegression(kernel="linear", C=2.0).fit(X, y)
    primal = LogisticRegression(C=2.0, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), primal.predict_proba(X), atol=1e-6)


def test_the_coefficients_are_the_slopes_of_the_losses():
    """B-115: alpha = C y P(-y | x), and their sum is zero where there is an intercept."""
    X, y = table()
    model = KernelLogisticRegression(C=3.0, gamma=0.7).fit(X, y)
    f = model.decision_function(X)
    np.testing.assert_allclose(model.dual_coef_[:, 0], 3.0 * y * expit(-y * f), atol=1e-8)
    assert abs(model.dual_coef_.sum()) < 1e-8


def test_the_probit_link_minimises_its_likelihood():
    X, y = table(30)
    model = KernelLogisticRegression(C=2.0, gamma=0.5, link="probit").fit(X, y)
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))

    def risk(z):
        f = K @ z[:-1]
        return 0.5 * z[:-1] @ f - 2.0 * log_ndtr(y * (f + z[-1])).sum()

    z = np.append(model.dual_coef_[:, 0], model.intercept_)
    assert risk(z) <= minimize(risk, np.zeros(31)).fun + 1e-7


def test_more_rows_than_a_gram_matrix_can_have_are_refused_before_memory_is_asked_for(monkeypatch):
    monkeypatch.setattr(memory_limits, "free_memory", lambda: 8 * 2**30)
    X = np.zeros((20_001, 1))
    with pytest.raises(MemoryError, match="20001 rows need about .*Take SVC"):
        KernelLogisticRegression().fit(X, np.arange(20_001) % 2)
