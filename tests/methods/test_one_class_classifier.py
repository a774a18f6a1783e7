"""One region per class: densities by the machines, Bayes' rule, rows that belong to no class."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from fivefold.kernels import RBF
from fivefold.svm import OneClassSVM, OneClassSVMClassifier


@pytest.fixture(scope="module")
def clusters():
    rng = np.random.RandomState(0)
    y = np.repeat([0, 1, 2], (60, 30, 30))
    return rng.normal(size=(120, 2)) + 6 * np.array([[0, 0], [1, 0], [0, 1]])[y], y


def test_each_class_has_the_region_of_its_own_one_class_machine(clusters):
    X, y = clusters
    model = OneClassSVMClassifier(nu=0.2, gamma=0.5).fit(X, y)
    for k in range(3):
        alone = OneClassSVM(nu=0.2, gamma=0.5).fit(X[y == k])
        np.testing.assert_array_equal(model.claims(X)[:, k], alone.decision_function(X) >= 0)
        density = alone.dual_coef_[0] / alone.dual_coef_.sum()
        expected = rbf_kernel(X, alone.support_vectors_, gamma=0.5) @ density
        np.testing.assert_allclose(model.decision_function(X)[:, k], expected / 3, atol=1e-8)


def test_coefficients_of_a_class_sum_to_one_and_priors_are_shares(clusters):
    X, y = clusters
    model = OneClassSVMClassifier(prior="frequency").fit(X, y)
    np.testing.assert_allclose(model.dual_coef_.sum(axis=1), 1)
    np.testing.assert_allclose(model.model_.prior, [0.5, 0.25, 0.25])
    assert model.score(X, y) > 0.97
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_rows_far_from_all_classes_are_rejected_and_most_of_the_others_are_not(clusters):
    X, y = clusters
    model = OneClassSVMClassifier(nu=0.05, gamma=0.2).fit(X, y)
    far = np.array([[20.0, 20.0], [-15.0, 3.0], [3.0, -12.0]])
    assert (model.predict_or_reject(far, reject=-1) == -1).all()
    assert np.mean(model.predict_or_reject(X, reject=-1) == -1) < 0.1
    assert not model.claims(far).any()


def test_every_kind_of_kernel_gives_the_same_regions(clusters):
    X, y = clusters
    K = rbf_kernel(X, gamma=0.5)
    named = OneClassSVMClassifier(gamma=0.5).fit(X, y).decision_function(X)
    np.testing.assert_allclose(
        OneClassSVMClassifier(kernel="precomputed").fit(K, y).decision_function(K), named, atol=1e-8
    )
    objects = list(X)
    value = OneClassSVMClassifier(kernel=RBF(1.0)).fit(objects, y)
    np.testing.assert_allclose(value.decision_function(objects), named, atol=1e-8)
