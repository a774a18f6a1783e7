"""Kernel machines beside scikit-learn's LIBSVM at a tight tolerance: the same answers, objectives no higher."""

import numpy as np
import pytest
from sklearn import svm
from sklearn.datasets import make_classification, make_friedman1

from fivefold import svm as ours

KERNELS = ({}, {"kernel": "linear"}, {"kernel": "poly", "coef0": 1.0, "degree": 2}, {"kernel": "rbf", "gamma": 0.05})


def table(n=240, classes=3):
    return make_classification(n, 6, n_informative=5, n_redundant=0, n_classes=classes, flip_y=0.1, random_state=0)


@pytest.mark.parametrize("settings", KERNELS)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_svc(settings, classes, shape):
    X, y = table(classes=classes)
    theirs = svm.SVC(tol=1e-7, decision_function_shape=shape, **settings).fit(X, y)
    model = ours.SVC(decision_function_shape=shape, **settings).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), theirs.predict(X))
    np.testing.assert_allclose(model.decision_function(X), theirs.decision_function(X), atol=2e-4)
    np.testing.assert_array_equal(model.n_support_, theirs.n_support_)
    np.testing.assert_array_equal(model.support_, theirs.support_)
    np.testing.assert_allclose(model.intercept_, theirs.intercept_, atol=2e-4)
    assert (model.duality_gap_ < 1e-9).all()


@pytest.mark.parametrize("settings", KERNELS)
def test_svr_and_nu_svr(settings):
    X, t = make_friedman1(200, noise=0.5, random_state=0)
    t = (t - t.mean()) / t.std()
    for name in ("SVR", "NuSVR"):
        theirs, model = getattr(svm, name)(tol=1e-7, **settings).fit(X, t), getattr(ours, name)(**settings).fit(X, t)
        np.testing.assert_allclose(model.predict(X), theirs.predict(X), atol=2e-4, err_msg=name)
        np.testing.assert_allclose(model.intercept_, theirs.intercept_, atol=2e-4, err_msg=name)


def test_nu_svc_one_class_and_weights():
    X, y = table(classes=2)
    w = np.random.RandomState(0).randint(1, 4, size=len(y)).astype(float)
    for cls in ("SVC", "NuSVC"):
        theirs = getattr(svm, cls)(gamma=0.1, tol=1e-7).fit(X, y, sample_weight=w)
        model = getattr(ours, cls)(gamma=0.1).fit(X, y, sample_weight=w)
        np.testing.assert_allclose(model.decision_function(X), theirs.decision_function(X), atol=2e-4, err_msg=cls)
    theirs = svm.OneClassSVM(gamma=0.1, nu=0.2, tol=1e-9).fit(X, sample_weight=w)
    model = ours.OneClassSVM(gamma=0.1, nu=0.2).fit(X, sample_weight=w)
    np.testing.assert_allclose(model.decision_function(X), theirs.decision_function(X), atol=1e-5)
    np.testing.assert_allclose(model.offset_, theirs.offset_, atol=1e-5)
    np.testing.assert_allclose(model.score_samples(X), theirs.score_samples(X), atol=1e-5)


@pytest.mark.parametrize("C", [1.0, 50.0])
def test_the_objective_of_a_larger_machine_is_libsvms(C):
    """With shrinking; LIBSVM at a tolerance of 1e-6."""
    X, y = make_classification(2500, 8, n_informative=6, flip_y=0.05, random_state=1)
    theirs = svm.SVC(C=C, gamma=0.1, tol=1e-6, random_state=0).fit(X, y)
    model = ours.SVC(C=C, gamma=0.1, tol=1e-5, random_state=0).fit(X, y)

    def objective(fitted):
        c, Z = fitted.dual_coef_[0], fitted.support_vectors_
        K = np.exp(-0.1 * ((Z[:, None] - Z[None]) ** 2).sum(axis=2))
        return 0.5 * c @ K @ c - np.abs(c).sum()

    assert abs(model.dual_coef_.sum()) < 1e-9 and np.abs(model.dual_coef_).max() <= C
    assert objective(model) == pytest.approx(objective(theirs), rel=1e-6)
    assert model.objective_[0] == pytest.approx(objective(model), rel=1e-6)
    assert model.duality_gap_[0] <= 1e-5 * abs(model.objective_[0])


def test_probabilities_are_close_to_libsvms():
    """The folds are others."""
    X, y = table(600)
    with pytest.warns(FutureWarning):
        theirs = svm.SVC(probability=True, random_state=0).fit(X, y).predict_proba(X)
    assert np.abs(ours.SVC(probability=True, random_state=0).fit(X, y).predict_proba(X) - theirs).mean() < 0.03
