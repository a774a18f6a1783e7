"""Localized multiple kernel learning: the slope of the gates, constant gates, regions with kernels of their own."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.svm import SVC

from fivefold.kernels import RBF
from fivefold.svm import LocalizedMKLClassifier
from fivefold.svm.localized_mkl import GatedMachine


def halves(n=150, seed=0):
    """A straight boundary on the left, a wavy one on the right."""
    X = np.random.RandomState(seed).uniform(-3, 3, size=(n, 2))
    return X, np.where(X[:, 0] < 0, X[:, 1] > 0, np.sin(4 * X[:, 0]) > X[:, 1]).astype(int)


def gated_kernel(A, B, eta, etb, gamma):
    grams = linear_kernel(A, B), rbf_kernel(A, B, gamma=gamma)
    return sum(eta[:, [m]] * K * etb[:, m] for m, K in enumerate(grams))


def test_the_slope_of_the_gates_is_that_of_finite_differences():
    X, y = halves(40)
    rng = np.random.RandomState(1)
    Z = np.column_stack([X, np.ones(40)])
    machine = GatedMachine(
        (linear_kernel(X), rbf_kernel(X, gamma=1.0)), Z, 2.0 * y - 1, rng.uniform(0.5, 2, 40), 3.0, 0.7
    )
    v = 0.3 * rng.normal(size=6)
    g = machine.gradient(v)
    step = 1e-5 * np.eye(6)
    rough = [(machine.value(v + e) - machine.value(v - e)) / 2e-5 for e in step]
    np.testing.assert_allclose(g, rough, rtol=1e-4, atol=1e-5)


def test_the_machine_is_that_of_its_gated_kernel():
    X, y = halves()
    model = LocalizedMKLClassifier(C=10.0, gamma=2.0, max_iter=5).fit(X, y)
    eta = model.gate_weights(X)[0]
    np.testing.assert_allclose(eta.sum(axis=1), 1)
    K = gated_kernel(X, X, eta, eta, 2.0)
    theirs = SVC(kernel="precomputed", C=10.0, tol=1e-8, random_state=0).fit(K, y)
    np.testing.assert_allclose(model.decision_function(X), theirs.decision_function(K), atol=1e-5)
    new, _ = halves(20, seed=3)
    between = gated_kernel(new, X, model.gate_weights(new)[0], eta, 2.0)
    np.testing.assert_allclose(model.decision_function(new), theirs.decision_function(between), atol=1e-5)


def test_constant_gates_are_weights_of_kernels():
    X, y = halves()
    model = LocalizedMKLClassifier(C=10.0, gamma=2.0, gating="constant").fit(X, y)
    eta = model.gate_weights(X[:2])[0]
    np.testing.assert_allclose(eta[0], eta[1])
    K = eta[0, 0] ** 2 * linear_kernel(X) + eta[0, 1] ** 2 * rbf_kernel(X, gamma=2.0)
    theirs = SVC(kernel="precomputed", C=10.0, tol=1e-8, random_state=0).fit(K, y)
    np.testing.assert_allclose(model.decision_function(X), theirs.decision_function(K), atol=1e-5)


def test_gates_lower_the_objective_and_the_wavy_kernel_is_used_where_the_boundary_is_wavy():
    X, y = halves(250)
    model = LocalizedMKLClassifier(C=10.0, gamma=2.0, alpha=1e-5).fit(X, y)
    assert np.diff(model.model_.history[0]).max() <= 0
    constant = LocalizedMKLClassifier(C=10.0, gamma=2.0, gating="constant").fit(X, y)
    assert model.objective_[0] < constant.objective_[0]
    wavy = model.gate_weights(X)[0][:, 1]
    assert wavy[X[:, 0] > 1].mean() > wavy[X[:, 0] < -1].mean() + 0.2


def test_kernels_are_names_or_values_and_others_are_refused():
    X, y = halves(80)
    named = LocalizedMKLClassifier(kernels=["rbf", "linear"], gamma=0.5, max_iter=3).fit(X, y)
    value = LocalizedMKLClassifier(kernels=[RBF(1.0), "linear"], gamma=0.5, max_iter=3).fit(X, y)
    np.testing.assert_allclose(value.decision_function(X), named.decision_function(X), atol=1e-6)
    with pytest.raises(ValueError, match="got 'cosine'"):
        LocalizedMKLClassifier(kernels=["cosine"]).fit(X, y)
    with pytest.raises(ValueError, match="empty"):
        LocalizedMKLClassifier(kernels=[]).fit(X, y)
