"""Basis functions, and the linear models on them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline

from fivefold.datasets import course_datasets
from fivefold.linear_model import LinearRegression, LogisticRegression, Ridge
from fivefold.preprocessing import BasisExpansion, PolynomialFeatures
from fivefold.preprocessing.basis_functions import (
    Bumps,
    Fourier,
    Functions,
    Gaussians,
    HalfPlanes,
    Kernels,
    LegendrePolynomials,
    Logs,
    Powers,
    Sigmoids,
    Thresholds,
)

x = np.linspace(-2, 2, 9)[:, None]


def test_a_cubic_is_recovered_exactly():
    """A-45, A-100: x = -2..2, y = x^3 - 2x + 1 gives (1, -2, 0, 1)."""
    t = np.arange(-2.0, 3.0)[:, None]
    model = make_pipeline(BasisExpansion(Powers(3), include_bias=False), LinearRegression()).fit(
        t, t[:, 0] ** 3 - 2 * t[:, 0] + 1
    )
    assert_allclose([model[-1].intercept_, *model[-1].coef_], [1, -2, 0, 1], atol=1e-12)
    assert_allclose(BasisExpansion(Powers(2)).fit_transform([[3.0]]), [[1, 3, 9]])  # C-121


def test_the_identity_is_linear_regression():
    """C-120."""
    X = np.random.default_rng(0).normal(size=(30, 3))
    y = X @ [1.0, 2.0, 3.0] + np.sin(X[:, 0])
    model = make_pipeline(BasisExpansion(Powers(1), include_bias=False), LinearRegression()).fit(X, y)
    assert_allclose(model.predict(X), LinearRegression().fit(X, y).predict(X), rtol=1e-10)


def test_one_kernel_a_row_with_its_own_penalty_is_kernel_ridge():
    """A-46: penalty a'Ka."""
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = np.sin(X[:, 0]) + 0.1 * X[:, 1]
    model = make_pipeline(BasisExpansion(Kernels(rbf_kernel), include_bias=False), Ridge(0.3, fit_intercept=False)).fit(
        X, y
    )
    at = np.random.default_rng(1).normal(size=(10, 2))
    assert_allclose(model.predict(at), KernelRidge(alpha=0.3, kernel="rbf", gamma=0.5).fit(X, y).predict(at), rtol=1e-6)
    assert BasisExpansion(Kernels(rbf_kernel, whitened=False)).fit(X).n_features_out_ == 41


def test_orthogonal_polynomials_stay_well_conditioned():
    """C-121: degree 20 on [-4, 7]; raw powers lose every digit."""
    t = np.linspace(-4, 7, 200)[:, None]
    raw, good = (np.linalg.cond(BasisExpansion(b(20)).fit_transform(t)) for b in (Powers, LegendrePolynomials))
    assert raw > 1e15 and good < 100


def test_every_function_of_the_library_is_what_its_name_says():
    """E-121."""
    X = np.array([[0.5, 2.0], [1.5, 3.0]])
    cases = [
        (Gaussians(2.0, [[1.0, 1.0]]), np.exp(-((X - 1) ** 2).sum(1) / 8)[:, None]),
        (Bumps(2.0, [1.0]), np.exp(-((X - 1) ** 2) / 8)),
        (Sigmoids(2.0, [1.0]), 1 / (1 + np.exp(-(X - 1) / 2))),
        (Fourier(1, 4.0), np.column_stack([f(np.pi / 2 * c) for c in X.T for f in (np.sin, np.cos)])),
        (Logs(), np.log(X)),
        (Thresholds([1.0]), (X > 1).astype(float)),
        (HalfPlanes([[1.0, 1.0]], [3.0]), (X.sum(1) > 3).astype(float)[:, None]),
        (Functions((lambda Z: Z[:, 0] * Z[:, 1],)), X.prod(1)[:, None]),
    ]
    for basis, expected in cases:
        model = BasisExpansion(basis, include_bias=False).fit(X)
        assert_allclose(model.transform(X), expected, rtol=1e-12, err_msg=type(basis).__name__)
        assert len(model.get_feature_names_out()) == expected.shape[1] == model.n_features_out_


def test_a_logarithm_of_what_is_not_positive_is_refused_with_its_place():
    """E-121: the domain."""
    with pytest.raises(ValueError, match=r"column 1 holds -2 in row 1; a logarithm needs numbers above zero"):
        BasisExpansion("log").fit([[1.0, 2.0], [3.0, -2.0]])
    assert BasisExpansion(Logs((0,))).fit([[1.0, 2.0], [3.0, -2.0]]).n_features_out_ == 2
    with pytest.raises(ValueError, match="'waves' is not a basis"):
        BasisExpansion(["waves"]).fit(x)


def test_products_and_squares_separate_what_lines_cannot():
    """C-155: XOR with the product, the ring of C.1-15 with the squared radius."""
    X, y = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 1, 1, 0])
    rule = LogisticRegression(C=1e4)
    assert make_pipeline(PolynomialFeatures(2), rule).fit(X, y).score(X, y) == 1
    X, y = course_datasets().disc
    radius = Functions((lambda Z: ((Z - 3) ** 2).sum(axis=1),))
    assert make_pipeline(BasisExpansion(radius), LogisticRegression(C=1e6, max_iter=10_000)).fit(X, y).score(X, y) == 1
    assert LogisticRegression().fit(X, y).score(X, y) < 0.8


def test_a_line_in_the_products_is_a_quadric_in_the_columns():
    """E-120: linear in z = quadratic in x."""
    X = np.random.default_rng(0).normal(size=(50, 2))
    y = 1 + X[:, 0] * X[:, 1] - 2 * X[:, 1] ** 2
    model = make_pipeline(PolynomialFeatures(2, include_bias=False), LinearRegression()).fit(X, y)
    assert_allclose(model.predict(X), y, atol=1e-12)
