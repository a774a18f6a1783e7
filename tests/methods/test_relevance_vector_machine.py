"""Relevance vector machines: the evidence and its maximum, sparseness, error bars, kernels of all kinds."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.linear_model import ARDRegression
from sklearn.metrics.pairwise import rbf_kernel

from fivefold.inference.sparse_bayes import BernoulliTargets, NormalTargets, maximise_sparse_evidence
from fivefold.kernels import RBF
from fivefold.svm import RVC, RVR, SVC


def curve(n=80, seed=0):
    rng = np.random.RandomState(seed)
    X = np.sort(rng.uniform(-8, 8, size=n))[:, None]
    return X, np.sinc(X[:, 0] / 2) + 0.1 * rng.normal(size=n)


def rings(n=250, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(n, 2))
    return X, ((X**2).sum(axis=1) + 0.7 * rng.normal(size=n) > 1.4).astype(int)


@pytest.fixture(scope="module")
def found():
    X, y = curve()
    K = rbf_kernel(X, gamma=0.5)
    Phi, t = K - K.mean(axis=0), y - y.mean()
    return Phi, t, maximise_sparse_evidence(NormalTargets.of(Phi, t, np.ones(len(t))), 1e-10, 2000)


def log_density(Phi, t, posterior, beta):
    """The evidence, written out: targets are normal with covariance I / beta + Phi A^-1 Phi'."""
    active = Phi[:, posterior.columns]
    return multivariate_normal(cov=np.eye(len(t)) / beta + (active / posterior.alpha) @ active.T).logpdf(t)


def test_the_evidence_is_the_density_of_the_targets_and_never_falls(found):
    Phi, t, fit = found
    expected = log_density(Phi, t, fit.posterior, fit.likelihood.beta)
    np.testing.assert_allclose(fit.posterior.log_evidence, expected, rtol=1e-9)
    assert np.diff(fit.history).min() >= 0
    assert fit.reason == "converged"


def test_precisions_and_noise_are_where_the_updates_of_the_evidence_rest(found):
    """alpha = gamma / w^2 and 1 / beta = |t - Phi w|^2 / (n - sum of gamma)."""
    Phi, t, fit = found
    p = fit.posterior
    np.testing.assert_allclose(p.alpha, p.determination / p.mean**2, rtol=1e-4)
    error = ((t - Phi[:, p.columns] @ p.mean) ** 2).sum()
    np.testing.assert_allclose(1 / fit.likelihood.beta, error / (len(t) - p.determination.sum()), rtol=1e-4)


def test_no_single_precision_could_be_better(found):
    Phi, _, fit = found
    for m in range(0, Phi.shape[1], 5):
        for alpha in (1e-2, 1.0, 100.0):
            columns = np.union1d(fit.posterior.columns, [m])
            alphas = np.full(len(columns), alpha)
            at = np.searchsorted(columns, fit.posterior.columns)
            inside = m in fit.posterior.columns
            alphas[at] = fit.posterior.alpha
            if inside:
                alphas[np.searchsorted(columns, m)] = alpha
            other = fit.likelihood.posterior(columns, alphas, np.zeros(len(columns)))
            assert other.log_evidence <= fit.posterior.log_evidence + 1e-6


def test_the_evidence_is_no_lower_than_at_the_precisions_of_scikit_learn():
    X, y = curve()
    K = rbf_kernel(X, gamma=0.5)
    theirs = ARDRegression(threshold_lambda=1e8, max_iter=500).fit(K, y)
    ours = RVR(gamma=0.5).fit(X, y)
    Phi, t = K - K.mean(axis=0), y - y.mean()
    spread = np.eye(len(t)) / theirs.alpha_ + (Phi / theirs.lambda_) @ Phi.T
    assert ours.scores_[-1] >= multivariate_normal(cov=spread).logpdf(t) - 1e-3
    assert len(ours.relevance_) < np.count_nonzero(theirs.lambda_ < 1e4)


def test_predictions_have_the_variance_of_the_weights_and_of_the_noise():
    X, y = curve()
    model = RVR(gamma=0.5).fit(X, y)
    mean, std = model.predict(X[:7], return_std=True)
    np.testing.assert_allclose(mean, model.predict(X[:7]))
    Z = rbf_kernel(X[:7], model.relevance_vectors_, gamma=0.5) - rbf_kernel(
        X, model.relevance_vectors_, gamma=0.5
    ).mean(axis=0)
    variance = 1 / model.noise_precision_ + np.einsum("ij,jk,ik->i", Z, model.sigma_, Z)
    np.testing.assert_allclose(std, np.sqrt(variance), rtol=1e-10)
    assert 0.07 < model.noise_precision_**-0.5 < 0.13  # the noise has a standard deviation of 0.1


def test_a_constant_target_needs_no_kernels():
    model = RVR().fit([[0.0], [1.0], [2.0]], [3.0, 3.0, 3.0])
    assert len(model.relevance_) == 0
    mean, std = model.predict([[5.0]], return_std=True)
    assert mean == 3.0
    assert std == 0.0


def test_relevance_vectors_are_fewer_than_support_vectors_where_classes_overlap():
    X, y = rings()
    ours, theirs = RVC().fit(X, y), SVC().fit(X, y)
    assert len(ours.relevance_) < len(theirs.support_) / 5
    assert ours.score(X, y) > theirs.score(X, y) - 0.03
    assert np.diff(ours.scores_).min() >= 0


def test_the_mode_of_the_weights_has_no_slope():
    X, y = rings(100)
    Phi = np.column_stack([rbf_kernel(X, gamma=0.5), np.ones(100)])
    likelihood = BernoulliTargets(Phi, y.astype(float), np.ones(100))
    p = maximise_sparse_evidence(likelihood, 1e-6, 500).posterior
    active = Phi[:, p.columns]
    probability = 1 / (1 + np.exp(-active @ p.mean))
    np.testing.assert_allclose(active.T @ (y - probability), p.alpha * p.mean, atol=1e-5)


@pytest.mark.parametrize("kind", ["regressor", "classifier"])
def test_every_kind_of_kernel_gives_the_same_machine(kind):
    X, y = curve() if kind == "regressor" else rings(120)
    made = RVR if kind == "regressor" else RVC
    named = made(gamma=0.5).fit(X, y)
    K = rbf_kernel(X, gamma=0.5)
    given = made(kernel="precomputed").fit(K, y)
    value = made(kernel=RBF(1.0)).fit(list(X), y) if kind == "classifier" else made(kernel=RBF(1.0)).fit(X, y)
    function = made(kernel=lambda A, B: rbf_kernel(A, B, gamma=0.5)).fit(X, y)
    expected = named.predict(X[:9])
    for model, rows in ((given, K[:9]), (value, X[:9]), (function, X[:9])):
        np.testing.assert_allclose(model.predict(rows), expected, rtol=1e-6)
        np.testing.assert_array_equal(model.relevance_, named.relevance_)


def test_each_of_several_classes_has_its_probability():
    rng = np.random.RandomState(1)
    y = np.repeat([0, 1, 2], 40)
    X = rng.normal(size=(120, 2)) + 4 * np.array([[0, 0], [1, 0], [0, 1]])[y]
    model = RVC().fit(X, y)
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert model.score(X, y) > 0.95
    assert model.dual_coef_.shape == (3, len(model.relevance_))
    assert len(model.scores_) == 3
