"""Values of kernels that texts print, or that follow from their formulas by hand."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from fivefold.kernels import (
    RBF,
    DistanceKernel,
    KernelLimit,
    Linear,
    Mahalanobis,
    MahalanobisLinear,
    Polynomial,
    PowerSeries,
    RankOne,
    Sigmoid,
    check_positive_definite,
    exp,
    gaussian,
    parse,
)
from fivefold.kernels.feature_space import (
    empirical_features,
    expansion_product,
    polynomial_features,
    span_coefficients,
    span_curve,
    span_residuals,
    taylor_features,
    taylor_norm,
)

X = np.random.RandomState(5).normal(size=(9, 3))


def one(kernel, x, y):
    return float(kernel([x], [y])[0, 0])


def test_inner_products_and_polynomials_of_two_points():
    assert one(Linear(), [1, 2], [3, -1]) == 1
    assert one(Polynomial(2), [1, 2], [3, -1]) == 4
    assert one(Polynomial(2, coef0=0.0), [1, 2], [3, 4]) == 121
    assert one(Polynomial(2), [1, 2], [3, 4]) == 144


@pytest.mark.parametrize(("homogeneous", "dimension"), [(True, 3), (False, 6)])
def test_polynomial_kernels_are_products_of_explicit_features(homogeneous, dimension):
    phi = polynomial_features([[1.0, 2.0], [3.0, 4.0], [3.0, -1.0]], 2, homogeneous)
    assert phi.shape[1] == dimension
    kernel = Polynomial(2, coef0=0.0 if homogeneous else 1.0)
    assert_allclose(phi @ phi.T, kernel([[1.0, 2.0], [3.0, 4.0], [3.0, -1.0]]), rtol=1e-13)
    if homogeneous:
        assert_allclose(phi[0], [1, 2 * np.sqrt(2), 4])


def test_the_gaussian_kernel_of_two_points_and_its_limits():
    assert one(gaussian(w=1.0), [1, 2], [3, -1]) == pytest.approx(0.00150344, rel=1e-5)
    assert one(gaussian(gamma=0.5), [1, 2], [3, -1]) == pytest.approx(np.exp(-6.5), rel=1e-14)
    assert_allclose(gaussian(sigma=1e-4)(X), np.eye(9), atol=1e-12)
    assert_allclose(gaussian(sigma=1e7)(X), np.ones((9, 9)), atol=1e-12)
    with pytest.raises(ValueError, match="one of sigma, w, gamma"):
        gaussian(sigma=1.0, gamma=1.0)


def test_a_covariance_gives_every_gaussian_kernel_and_the_linear_one():
    assert_allclose(Mahalanobis(4.0 * np.eye(3))(X), RBF(2.0)(X), rtol=1e-12)
    assert_allclose(Mahalanobis(np.diag([1.0, 4.0, 9.0]))(X), RBF([1.0, 2.0, 3.0])(X), rtol=1e-12)
    S = np.cov(X.T)
    P = np.linalg.inv(S)
    gauge = RankOne(lambda x: np.exp(-0.5 * x @ P @ x))
    L = np.linalg.cholesky(P)
    product = gauge(X) * exp(Linear())(X @ L)  # the factors of the proof that it is a kernel
    assert_allclose(Mahalanobis(S)(X), product, rtol=1e-10)
    assert_allclose(MahalanobisLinear(S)(X), X @ P @ X.T, rtol=1e-9, atol=1e-9)
    assert np.linalg.matrix_rank(gauge(X)) == 1


def test_the_gaussian_kernel_by_the_algebra_of_kernels():
    gauge = RankOne(lambda x: np.exp(-0.5 * x @ x))
    assert_allclose((gauge * exp(Linear()))(X), RBF()(X), rtol=1e-10)


def test_polynomials_and_series_of_kernels():
    K = Linear()(X)
    assert_allclose(PowerSeries(Linear(), [1.0, 3.0, 3.0, 1.0])(X), Polynomial(3)(X), rtol=1e-12)
    assert_allclose(PowerSeries(Linear(), "cosh")(X), np.cosh(K))
    small = 0.9 * Linear().normalised()
    assert_allclose(PowerSeries(small, "geometric")(X), 1 / (1 - small(X)), rtol=1e-12)
    with pytest.raises(ValueError, match=r"needs \|k\| < 1"):
        PowerSeries(Linear().normalised(), "geometric")(X)
    with pytest.raises(ValueError, match="none below 0"):
        PowerSeries(Linear(), [1.0, -2.0])
    with pytest.raises(ValueError, match="-2.0 times a kernel is no kernel"):
        -2.0 * Linear()


def test_features_and_norms_of_taylor_series():
    assert_allclose(
        taylor_features(np.array([0.7]), 25)[0] @ taylor_features(np.array([1.3]), 25)[0], 2.48432, rtol=1e-5
    )
    assert one(exp(Linear()), [0.7], [1.3]) == pytest.approx(2.48432, rel=1e-5)
    assert taylor_norm([1] * 25) == pytest.approx(np.e)
    assert taylor_norm([0, 1, 0, -1] * 6) == pytest.approx(1.1752, rel=1e-4)
    assert taylor_norm([1, 0, -1, 0] * 6) == pytest.approx(1.5431, rel=1e-4)


def test_a_limit_of_kernels():
    limit = KernelLimit(lambda n: (1.0 + (1.0 / n) * Linear()) ** n, tol=1e-6)
    assert_allclose(limit(0.3 * X), exp(Linear())(0.3 * X), rtol=1e-4)
    with pytest.raises(ValueError, match="not settled"):
        KernelLimit(lambda n: n * Linear(), max_terms=100)(X)


def test_composition_with_a_base_kernel():
    assert_allclose(RBF(1.5).of(Linear())(X), RBF(1.5)(X), rtol=1e-10)
    assert_allclose(Polynomial(3).of(Linear())(X), Polynomial(3)(X), rtol=1e-12)
    K = Polynomial(2)(X)
    d = np.diag(K)
    assert_allclose(RBF(2.0).of(Polynomial(2))(X), np.exp(-(d[:, None] - 2 * K + d) / 8), rtol=1e-10)
    N = Polynomial(2).normalised()(X)
    assert_allclose(np.diag(N), 1)
    assert np.abs(N).max() <= 1 + 1e-12
    assert_allclose(Linear().normalised()([[0.0, 0.0], [1.0, 0.0]]), [[0, 0], [0, 1]])


def test_any_distance_gives_a_kernel_that_is_valid_or_not():
    assert_allclose(DistanceKernel("sqeuclidean", 1.3)(X), RBF(1.3)(X), rtol=1e-12)
    fourth = DistanceKernel(lambda x, y: float(np.sum((x - y) ** 2)) ** 2, 1.0)
    line = np.linspace(-1, 1, 15)[:, None]
    assert not check_positive_definite(fourth, line).is_valid


def test_sigmoid_and_minus_the_squared_distance_are_refuted_by_a_sample():
    assert not check_positive_definite(Sigmoid(2.0, 1.0), 0.3 * X).is_valid
    assert not check_positive_definite(Sigmoid(-1.0, 0.0), X).is_valid
    verdict = check_positive_definite(lambda x, y: -float(np.sum((x - y) ** 2)), X)
    assert str(verdict).startswith("not a kernel: a Gram matrix of these 9 objects has the eigenvalue -")
    assert not verdict.is_valid
    K = -np.sum((X[:, None] - X) ** 2, axis=2)
    assert verdict.witness @ K @ verdict.witness < 0
    assert not check_positive_definite(lambda x, y: -float(x @ y), X).is_valid
    for kernel in (Linear(), Polynomial(3), RBF(), RBF() * Polynomial(2) + 0.5 * exp(Linear())):
        found = check_positive_definite(kernel, X)
        assert found.is_valid
        assert "its construction proves it" in str(found) or "by construction" in str(found)
    assert "rank 3" in str(check_positive_definite(Linear(), X))
    assert "differs from" in str(check_positive_definite(lambda x, y: float(x[0] * y[1]), X))


def test_an_expression_has_the_value_of_its_parts():
    kernel = parse("0.5*rbf(sigma=1)+norm(poly(degree=2))")
    assert_allclose(kernel(X), 0.5 * RBF(1.0)(X) + Polynomial(2).normalised()(X), rtol=1e-12)


def test_the_empirical_features_of_a_gram_matrix_have_it_as_their_products():
    K = RBF(2.0)(X)
    Z = empirical_features(K)
    assert_allclose(Z @ Z.T, K, atol=1e-12)


def test_distances_from_the_span_of_a_sample():
    kernel = Polynomial(2)
    assert_allclose(span_residuals(kernel, X[:4], X[:4]), 0, atol=1e-8)
    curve = span_curve(RBF(), X, X, range(1, 10))
    assert np.all(np.diff(curve) <= 1e-9)
    assert curve[-1] == pytest.approx(0, abs=1e-8)
    A = span_coefficients(Linear(), X[:2], X)  # least squares onto the plane of two rows
    assert_allclose(A, X @ np.linalg.pinv(X[:2]), atol=1e-12)
    a, b = np.arange(9.0), np.ones(9)
    assert expansion_product(Linear(), a, X, b, X) == pytest.approx((a @ X) @ (b @ X))
