"""Gaussian processes beside scikit-learn's: the same evidence, gradient, predictions and parameters."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import gaussian_process as rival
from sklearn.gaussian_process import kernels as their

from fivefold import gaussian_process as ours
from fivefold.gaussian_process import kernels as our

SEVERAL = {
    "isotropic": lambda k: k.ConstantKernel(1.3) * k.RBF(0.8) + k.WhiteKernel(0.2),
    "a width per column": lambda k: 2.0 * k.RBF([0.7, 1.5, 3.0]) + k.WhiteKernel(0.1),
    "Matern": lambda k: k.Matern([1.0, 2.0, 0.5], nu=2.5) + k.WhiteKernel(0.1),
    "rational quadratic": lambda k: k.RationalQuadratic(1.2, 0.7) * k.ConstantKernel(0.5) + k.WhiteKernel(0.3),
    "periodic and linear": lambda k: k.ExpSineSquared(1.1, 2.0) + k.DotProduct(0.5) + k.WhiteKernel(0.1),
}


def table(n=60, d=3, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(X[:, 0]) + 0.5 * X[:, -1] ** 2 + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize("kind", SEVERAL)
def test_evidence_and_gradient_are_scikit_learns_and_those_of_finite_differences(kind):
    X, y = table(d=1 if kind.startswith("periodic") else 3)
    peer = rival.GaussianProcessRegressor(SEVERAL[kind](their), optimizer=None).fit(X, y)
    model = ours.GaussianProcessRegressor(SEVERAL[kind](our), optimizer=None).fit(X, y)
    theta = peer.kernel_.theta + 0.1
    value, gradient = model.log_marginal_likelihood(theta, eval_gradient=True)
    want, slope = peer.log_marginal_likelihood(theta, eval_gradient=True)
    assert_allclose(value, want, rtol=1e-10)
    assert_allclose(gradient, slope, rtol=1e-8, atol=1e-8 * np.abs(slope).max())
    step = 2e-4  # of a quotient of four points: its error is the fourth power of the step, and rounding over the step

    def at(j, times):
        return model.log_marginal_likelihood(theta + times * step * np.eye(len(theta))[j])

    quotients = [(8 * (at(j, 1) - at(j, -1)) - (at(j, 2) - at(j, -2))) / (12 * step) for j in range(len(theta))]
    assert_allclose(gradient, quotients, rtol=1e-8, atol=1e-8 * np.abs(slope).max())


@pytest.mark.parametrize("normalize_y", [False, True])
def test_predictions_deviations_and_covariances_are_scikit_learns(normalize_y):
    X, y = table()
    Y = np.column_stack([y, X[:, 0] - y])
    noise = np.linspace(0.01, 0.2, len(X))  # one per row
    options = {"alpha": noise, "normalize_y": normalize_y}
    peer = rival.GaussianProcessRegressor(1.0 * their.RBF(), **options).fit(X, Y)
    model = ours.GaussianProcessRegressor(1.0 * our.RBF(), **options).fit(X, Y)
    new = X[:7] + 0.3
    assert_allclose(model.kernel_.theta, peer.kernel_.theta, rtol=1e-5)
    for kind in ("return_std", "return_cov"):
        for mine, theirs in zip(model.predict(new, **{kind: True}), peer.predict(new, **{kind: True}), strict=True):
            assert_allclose(mine, theirs, rtol=1e-5, atol=1e-7)
    assert_allclose(model.sample_y(new, 3, 7), peer.sample_y(new, 3, 7), atol=1e-4)
    assert_allclose(model.log_marginal_likelihood_value_, peer.log_marginal_likelihood_value_, rtol=1e-8)


def test_kernels_of_scikit_learn_are_taken_and_given_back_in_kind():
    X, y = table()
    model = ours.GaussianProcessRegressor(1.0 * their.RBF() + their.WhiteKernel()).fit(X, y)
    assert isinstance(model.kernel_, their.Sum)
    twin = ours.GaussianProcessRegressor(1.0 * our.RBF() + our.WhiteKernel()).fit(X, y)
    assert_allclose(model.kernel_.theta, twin.kernel_.theta, rtol=1e-10)


def test_a_class_of_a_user_with_scikit_learns_methods_is_a_kernel():
    class Doubled(their.RBF):
        def __call__(self, X, Y=None, eval_gradient=False):
            found = super().__call__(X, Y, eval_gradient)
            return tuple(2 * part for part in found) if eval_gradient else 2 * found

        def diag(self, X):
            return 2 * super().diag(X)

    X, y = table()
    model = ours.GaussianProcessRegressor(Doubled(1.0), alpha=0.05).fit(X, y)
    twin = ours.GaussianProcessRegressor(our.ConstantKernel(2.0, "fixed") * our.RBF(1.0), alpha=0.05).fit(X, y)
    assert_allclose(model.predict(X, return_std=True), twin.predict(X, return_std=True), rtol=1e-4)


def test_two_classes_have_scikit_learns_evidence_gradient_and_probabilities():
    X, y = table()
    labels = np.where(y > np.median(y), "high", "low")
    kernels = 1.0 * their.RBF([1.0, 1.0, 1.0]), 1.0 * our.RBF([1.0, 1.0, 1.0])
    peer = rival.GaussianProcessClassifier(kernels[0], optimizer=None).fit(X, labels)
    model = ours.GaussianProcessClassifier(kernels[1], optimizer=None).fit(X, labels)
    theta = kernels[0].theta + 0.2
    value, gradient = model.log_marginal_likelihood(theta, eval_gradient=True)
    want, slope = peer.log_marginal_likelihood(theta, eval_gradient=True)
    assert_allclose(value, want, rtol=1e-9)
    assert_allclose(gradient, slope, rtol=1e-6, atol=1e-8)
    assert_allclose(model.predict_proba(X + 0.1), peer.predict_proba(X + 0.1), atol=1e-7)
    for mine, theirs in zip(model.latent_mean_and_variance(X), peer.latent_mean_and_variance(X), strict=True):
        assert_allclose(mine, theirs, atol=1e-7)


@pytest.mark.parametrize("mode", ["one_vs_rest", "one_vs_one"])
def test_many_classes_are_predicted_as_scikit_learn_predicts_them(mode):
    X, y = table(90)
    labels = np.digitize(y, np.quantile(y, [0.33, 0.66]))
    peer = rival.GaussianProcessClassifier(1.0 * their.RBF(1.0), multi_class=mode).fit(X, labels)
    model = ours.GaussianProcessClassifier(1.0 * our.RBF(1.0), multi_class=mode).fit(X, labels)
    np.testing.assert_array_equal(model.predict(X), peer.predict(X))
    assert_allclose(model.log_marginal_likelihood_value_, peer.log_marginal_likelihood_value_, rtol=1e-6)
    assert_allclose(model.kernel_.theta, peer.kernel_.theta, atol=1e-3)
    if mode == "one_vs_rest":
        assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-4)
