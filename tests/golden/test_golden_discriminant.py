"""Discriminants and boundaries of Gaussian classes, with values from the texts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from scipy.stats import multivariate_normal
from sklearn.datasets import load_iris

from fivefold.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis


def crosses(*classes):
    """Rows with exactly these (mean, standard deviations): four points a class in the plane, on its axes."""
    unit = np.sqrt(2) * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
    X = np.vstack([np.asarray(mean) + unit * np.asarray(sd) for mean, sd in classes])
    return X, np.repeat(np.arange(len(classes)), 4)


@pytest.fixture
def iris():
    return load_iris(return_X_y=True)


def test_discriminants_decide_as_bayes_rule_with_gaussian_densities(iris):
    """D-139: the posterior is that of the densities times the priors; the constant d/2 ln 2 pi drops out."""
    X, y = iris
    model = QuadraticDiscriminantAnalysis(store_covariance=True, priors=[0.5, 0.2, 0.3]).fit(X, y)
    parts = zip(model.means_, model.covariance_, model.priors_, strict=True)
    joint = np.column_stack([p * multivariate_normal(m, S).pdf(X) for m, S, p in parts])
    assert_allclose(model.predict_proba(X), joint / joint.sum(axis=1, keepdims=True), rtol=1e-8, atol=1e-12)
    assert_array_equal(model.predict(X), joint.argmax(axis=1))


def test_an_isotropic_shared_covariance_and_equal_priors_give_the_nearest_mean(iris):
    """D-140: shrinkage=1 is Sigma = sigma^2 I; w_i = mu_i / sigma^2, w_i0 = -|mu_i|^2 / (2 sigma^2) + ln P_i."""
    X, y = iris
    model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=1.0, priors=[1 / 3] * 3).fit(X, y)
    variance = model.covariance_[0, 0]
    assert_allclose(model.covariance_, variance * np.eye(4), atol=1e-12)
    assert_allclose(model.coef_, model.means_ / variance, rtol=1e-10)
    assert_allclose(model.intercept_, -(model.means_**2).sum(1) / (2 * variance) - np.log(3), rtol=1e-10)
    distance = ((X[:, None] - model.means_) ** 2).sum(axis=2)
    assert_array_equal(model.predict(X), distance.argmin(axis=1))


def test_the_boundary_moves_away_from_the_likelier_mean():
    """D-141: means (0,0) and (4,0), sigma = 1, priors 0.8 and 0.2: x0 = (2.346574, 0), w along the means."""
    X, y = crosses(([0, 0], 1), ([4, 0], 1))
    model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=1.0, priors=[0.8, 0.2]).fit(X, y)
    plane = model.hyperplane(0, 1)
    assert_allclose(plane.x0, [2.346574, 0], atol=1e-6)  # six printed digits
    assert_allclose(plane.w, [-4, 0], atol=1e-10)
    assert_allclose(LinearDiscriminantAnalysis(priors=[0.5, 0.5]).fit(X, y).hyperplane(0, 1).x0, [2, 0], atol=1e-10)


def test_a_shared_covariance_gives_linear_discriminants(iris):
    """D-142: w_i = S^-1 mu_i, w_i0 = -mu_i' S^-1 mu_i / 2 + ln P_i, S pooled; S = sigma^2 I is D-140."""
    X, y = iris
    model = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    pooled = sum(np.cov(X[y == k].T, ddof=0) for k in range(3)) / 3
    assert_allclose(model.covariance_, pooled, rtol=1e-10)
    W = np.linalg.solve(pooled, model.means_.T).T
    assert_allclose(model.coef_, W, rtol=1e-8)
    assert_allclose(model.intercept_, -0.5 * (model.means_ * W).sum(1) - np.log(3), rtol=1e-8)


@pytest.mark.parametrize("solver", ["svd", "lsqr", "eigen"])
def test_both_discriminants_are_equal_on_the_hyperplane(iris, solver):
    """D-143: g_i(x0) = g_j(x0), and w.(x - x0) is the log odds; w need not point along the means."""
    X, y = iris
    model = LinearDiscriminantAnalysis(solver=solver, priors=[0.2, 0.3, 0.5]).fit(X, y)
    plane = model.hyperplane(2, 1)
    g = model.decision_function(np.vstack([plane.x0, X]))
    assert_allclose(g[0, 2], g[0, 1], atol=1e-9)
    assert_allclose((X - plane.x0) @ plane.w, g[1:, 2] - g[1:, 1], atol=1e-8)
    apart = model.means_[2] - model.means_[1]
    assert abs(plane.w @ apart) < 0.9 * np.linalg.norm(plane.w) * np.linalg.norm(apart)


def test_covariances_of_their_own_give_quadratic_discriminants(iris):
    """D-144: g_i = x' W_i x + w_i' x + w_i0 with W_i = -S_i^-1 / 2, w_i = S_i^-1 mu_i."""
    X, y = iris
    model = QuadraticDiscriminantAnalysis(store_covariance=True).fit(X, y)
    for k, (mean, S, prior) in enumerate(zip(model.means_, model.covariance_, model.priors_, strict=True)):
        inverse = np.linalg.inv(S)
        level = -0.5 * mean @ inverse @ mean - 0.5 * np.linalg.slogdet(S)[1] + np.log(prior)
        g = -0.5 * np.einsum("ni,ij,nj->n", X, inverse, X) + X @ inverse @ mean + level
        assert_allclose(model.decision_function(X)[:, k], g, rtol=1e-8, atol=1e-8)


def test_equal_covariances_make_quadratic_discriminants_linear():
    """D-144: rows with the same scatter in each class; the two methods then agree."""
    X, y = crosses(([0, 0], [1, 2]), ([4, 1], [1, 2]), ([-1, 5], [1, 2]))
    new = np.random.default_rng(0).normal(size=(50, 2)) * 4
    linear, quadratic = LinearDiscriminantAnalysis().fit(X, y), QuadraticDiscriminantAnalysis().fit(X, y)
    assert_allclose(quadratic.predict_proba(new), linear.predict_proba(new), rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize(
    ("classes", "kind"),
    [
        ([([0, 0], 1), ([0, 0], 2)], "hypersphere"),
        ([([0, 0], [1, 2]), ([3, 1], [1, 2])], "hyperplane"),
        ([([0, 0], [1, 1.5]), ([1, 0], [2, 2.5])], "hyperellipsoid"),
        ([([0, 0], [1, 1]), ([0, 0], [2, 1])], "pair of hyperplanes"),
        ([([0, 0], [1, 1]), ([0, 3], [2, 1])], "hyperparaboloid"),
        ([([0, 0], [1, 2]), ([1, 1], [3, 1])], "hyperhyperboloid"),
        ([([0, 0], [1, 2]), ([0, 0], [2, 1])], "pair of hyperplanes"),
        ([([0, 0], 1), ([0, 0], 1)], "everywhere"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_signs_of_the_curvatures_tell_the_boundary(classes, kind):
    """D-145: concentric isotropic classes give a hypersphere, equal covariances a hyperplane."""
    model = QuadraticDiscriminantAnalysis().fit(*crosses(*classes))
    assert model.quadric(0, 1).kind == kind


def test_the_quadric_is_the_log_odds(iris):
    """D-145: x' A x + b' x + c, positive on the side of the first class."""
    X, y = iris
    model = QuadraticDiscriminantAnalysis().fit(X, y)
    quadric, g = model.quadric(1, 2), model.decision_function(X)
    value = np.einsum("ni,ij,nj->n", X, quadric.A, X) + X @ quadric.b + quadric.c
    assert_allclose(value, g[:, 1] - g[:, 2], rtol=1e-8, atol=1e-8)


def test_two_classes_have_a_sigmoid_posterior(iris):
    """E-124: w = S^-1 (m1 - m2), w0 = -(m1 + m2)' S^-1 (m1 - m2) / 2 + log P1/P2; Bayes' rule by the sigmoid."""
    X, y = iris
    X, y = X[y > 0], y[y > 0]
    model = LinearDiscriminantAnalysis(solver="lsqr", priors=[0.3, 0.7]).fit(X, y)
    apart, total = model.means_[1] - model.means_[0], model.means_[1] + model.means_[0]
    w = np.linalg.solve(model.covariance_, apart)
    assert_allclose(model.coef_[0], w, rtol=1e-8)
    assert_allclose(model.intercept_, -0.5 * total @ w + np.log(0.7 / 0.3), rtol=1e-8)
    densities = [
        multivariate_normal(m, model.covariance_).pdf(X) * p for m, p in zip(model.means_, [0.3, 0.7], strict=True)
    ]
    assert_allclose(model.predict_proba(X)[:, 1], densities[1] / sum(densities), rtol=1e-8, atol=1e-12)
    assert_allclose(model.predict_proba(X)[:, 1], expit(model.decision_function(X)), rtol=1e-10)
