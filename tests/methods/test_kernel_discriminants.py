"""Kernel discriminants and kernel canonical correlations beside their linear forms."""

import numpy as np
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

from fivefold.cross_decomposition import CCA, KernelCCA
from fivefold.decomposition import KernelLDA
from fivefold.discriminant_analysis import LinearDiscriminantAnalysis


def test_the_linear_kernel_without_a_penalty_gives_the_directions_of_linear_discriminants():
    """E-307."""
    X, y = load_iris(return_X_y=True)
    w = np.random.RandomState(0).randint(1, 4, size=len(X)).astype(float)
    linear = LinearDiscriminantAnalysis(solver="svd").fit(X, y, sample_weight=w)
    kernel = KernelLDA(kernel="linear", alpha=0.0).fit(X, y, sample_weight=w)
    ours, theirs = X.T @ kernel.dual_coef_, linear.scalings_[:, :2]
    for a, b in zip(ours.T, theirs.T, strict=True):
        assert_allclose(abs(a @ b) / np.linalg.norm(a) / np.linalg.norm(b), 1.0, rtol=1e-8)
    np.testing.assert_array_equal(kernel.predict(X), linear.predict(X))


def test_axes_have_unit_spread_within_classes_and_ratios_are_sorted():
    X, y = load_iris(return_X_y=True)
    model = KernelLDA(kernel="poly", degree=2, alpha=0.0).fit(X, y)
    Z = model.transform(X)
    means = np.array([Z[y == k].mean(axis=0) for k in range(3)])
    within = np.mean([np.cov(Z[y == k].T, bias=True) for k in range(3)], axis=0)
    assert_allclose(within, np.eye(2), atol=1e-4)
    assert_allclose(((means - Z.mean(axis=0)) ** 2).mean(axis=0), model.separation_, rtol=1e-4)
    assert model.separation_[0] > model.separation_[1] > 0


def test_linear_kernels_without_a_penalty_give_canonical_correlations():
    """B-133, with kernels."""
    rng = np.random.RandomState(1)
    latent = rng.normal(size=(80, 2))
    X, Y = (latent @ rng.normal(size=(2, k)) + rng.normal(size=(80, k)) for k in (4, 3))
    linear, kernel = CCA(3).fit(X, Y), KernelCCA(3, kernel="linear", y_kernel="linear", alpha=0.0).fit(X, Y)
    assert_allclose(kernel.correlations_, linear.correlations(X, Y), rtol=1e-8)
    for mine, theirs in zip(kernel.transform(X, Y), linear.transform(X, Y), strict=True):
        assert_allclose(np.abs(np.corrcoef(mine.T, theirs.T)[:3, 3:]), np.eye(3), atol=1e-6)


def test_a_curved_relation_is_found_on_rows_that_were_held_out():
    rng = np.random.RandomState(2)
    angle = rng.uniform(0, 2 * np.pi, size=300)
    X = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.1 * rng.normal(size=(300, 2))
    Y = (np.cos(2 * angle) + 0.1 * rng.normal(size=300))[:, None]
    model = KernelCCA(1, alpha=0.01).fit(X[:200], Y[:200])
    t, u = model.transform(X[200:], Y[200:])
    assert np.corrcoef(t[:, 0], u[:, 0])[0, 1] > 0.9
    flat = CCA(1).fit(X[:200], Y[:200])
    assert flat.correlations(X[200:], Y[200:])[0] < 0.4
