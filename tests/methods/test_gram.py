"""Gram matrices in parts and as a whole, their factors, features of low rank, and text that is no kernel."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.sparse.linalg import cg
from sklearn.gaussian_process import kernels as theirs

from fivefold.core.storage import memory_limits
from fivefold.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Gram,
    Laplace,
    Linear,
    Matern,
    Polynomial,
    WhiteKernel,
    parse,
)
from fivefold.kernels.base import as_kernel
from fivefold.kernels.gram import NotPositiveDefiniteError, cholesky_with_jitter
from fivefold.kernels.low_rank import fourier_map, incomplete_cholesky, nystroem_map

X = np.random.RandomState(2).normal(size=(300, 4))


def test_products_rows_and_the_whole_agree():
    kernel = 2.0 * RBF(1.5) + WhiteKernel(0.1)
    G, K = Gram(kernel, X), kernel(X)
    V = np.random.RandomState(3).normal(size=(300, 2))
    assert_allclose(G @ V, K @ V, rtol=1e-11, atol=1e-11)
    assert_allclose(G.rows([5, 270]), K[[5, 270]])
    assert_array_equal(G.matrix, K)
    assert_allclose(G @ V, K @ V)
    y = V[:, 0]
    x, failed = cg(G.operator(ridge=1.0), y, rtol=1e-10)
    assert failed == 0
    factor = G.factor(ridge=1.0)
    assert_allclose(factor.solve(y), x, rtol=1e-6, atol=1e-9)
    assert factor.log_determinant == pytest.approx(np.linalg.slogdet(K + np.eye(300))[1])
    assert factor.jitter == 0


def test_centring_takes_the_mean_of_the_features_away():
    G = Gram(Linear(), X + 5.0)
    centred = G.centring.centred(G.matrix)
    Z = X - X.mean(axis=0)
    assert_allclose(centred, Z @ Z.T, atol=1e-9)
    assert_allclose(G.centring.centred(Linear()(X[:3] + 6.0, X + 5.0)), (Z[:3] + 1.0) @ Z.T, atol=1e-9)


def test_copies_of_one_point_have_a_factor_and_an_indefinite_matrix_has_words():
    factor = Gram(RBF(), np.ones((300, 2))).factor()
    assert 0 < factor.jitter <= 1e-6
    with pytest.raises(NotPositiveDefiniteError, match="on these objects: its eigenvalues run from -"):
        cholesky_with_jitter(np.array([[1.0, 2.0], [2.0, 1.0]]))
    with pytest.raises(NotPositiveDefiniteError, match="infinite values or NaN"):
        cholesky_with_jitter(np.array([[1.0, np.nan], [np.nan, 1.0]]))


def test_a_matrix_beyond_memory_is_refused_before_it_is_made(monkeypatch):
    monkeypatch.setattr(memory_limits, "SMALL_REQUEST", 0)
    monkeypatch.setattr(memory_limits, "free_memory", lambda: 10**5)
    G = Gram(RBF(), X)
    with pytest.raises(MemoryError, match=r"Gram matrix: 300 rows need about 720 kB for 1 array .*100 kB are free"):
        _ = G.matrix
    assert (G @ np.ones(300)).shape == (300,)


@pytest.mark.parametrize("kernel", [RBF(2.0), Polynomial(2), Matern(9.0)], ids=str)
def test_features_of_low_rank_reach_the_kernel(kernel):
    K = kernel(X)
    found = incomplete_cholesky(kernel, X, tol=1e-3)
    assert_allclose(found.Z @ found.Z.T, K, atol=2e-3 * np.trace(K))
    assert_allclose(found.features(X), found.Z, atol=1e-6)
    assert np.trace(K - found.Z @ found.Z.T) == pytest.approx(found.residual, rel=1e-6, abs=1e-6)
    Z = nystroem_map(kernel, X[found.pivots]).features(X)
    assert_allclose(Z @ Z.T, found.Z @ found.Z.T, atol=1e-5 * np.trace(K))
    assert incomplete_cholesky(kernel, X, rank=7).Z.shape == (300, 7)


@pytest.mark.parametrize("kernel", [RBF([2.0, 1.0, 3.0, 4.0]), Matern(3.0, nu=1.5), Laplace(4.0)], ids=str)
def test_random_fourier_features_have_the_kernel_as_their_mean(kernel):
    Z = fourier_map(kernel, 4, 20_000, np.random.RandomState(0)).features(X[:50])
    assert_allclose(Z @ Z.T, kernel(X[:50]), atol=0.05)
    with pytest.raises(TypeError, match="spectrum"):
        fourier_map(Linear(), 4, 10, np.random.RandomState(0))


def test_sparse_tables_have_the_kernels_of_dense_ones():
    D = np.where(X > 0.5, X, 0.0)[:40]
    for kernel in (
        RBF(0.7),
        RBF([1.0, 2.0, 3.0, 4.0]),
        Linear(),
        Polynomial(2),
        DotProduct(),
        Laplace(),
        Matern(nu=0.5),
    ):
        assert_allclose(kernel(csr_array(D)), kernel(D), atol=1e-12)
        assert_allclose(kernel(csr_array(D), csr_array(D[:7])), kernel(D, D[:7]), atol=1e-12)
        assert_allclose(kernel.diag(csr_array(D)), kernel.diag(D))


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "RBF().__class__",
        "RBF()()",
        "open('x')",
        "[RBF()]",
        "RBF() - RBF()",
        "RBF() / 2",
        "2 ** RBF()",
        "lambda: 1",
        "RBF(*[1])",
        "RBF(**{})",
        "RBF",
        "RBF(1",
        "-1 * RBF()",
        "'a' * 3",
        "rbff()",
        "RBF(lenght=3)",
        "(" * 300 + "RBF()" + ")" * 300,
        "RBF() + " * 2000 + "RBF()",
    ],
)
def test_what_is_no_expression_of_kernels_is_refused(text):
    with pytest.raises((ValueError, TypeError)):
        parse(text)


def test_kernels_of_scikit_learn_are_translated_whole():
    their = 2.0 * theirs.RBF([1.0, 2.0, 1.0, 3.0], (1e-3, 1e3)) ** 2 + theirs.Matern(nu=2.5) * theirs.WhiteKernel(
        0.3, noise_level_bounds="fixed"
    )
    ours = as_kernel(their)
    assert_allclose(ours(X[:20]), their(X[:20]), rtol=1e-10)
    assert_allclose(ours.theta, their.theta)
    assert_allclose(ours.bounds, their.bounds)
    assert [h.name for h in ours.hyperparameters] == [h.name for h in their.hyperparameters]
    _, G = their(X[:20], eval_gradient=True)
    assert_allclose(ours(X[:20], eval_gradient=True)[1], G, rtol=1e-8, atol=1e-12)
    assert ours.get_params().keys() == their.get_params().keys()


def test_parameters_of_a_kernel_are_set_as_in_scikit_learn_and_nothing_else_is():
    kernel = 2.0 * RBF(1.5) + WhiteKernel()
    assert kernel.set_params(k1__k2__length_scale=3.0) is kernel
    assert kernel == 2.0 * RBF(3.0) + WhiteKernel()
    kernel.theta = np.log([1.0, 2.0, 3.0])
    assert kernel == ConstantKernel(1.0) * RBF(2.0) + WhiteKernel(3.0) or np.allclose(np.exp(kernel.theta), [1, 2, 3])
    kernel.k1 = RBF()
    kernel.k1.length_scale = 4.0
    assert kernel.k1 == RBF(4.0) and np.allclose(kernel.theta, np.log([4.0, 3.0]))
    with pytest.raises(AttributeError, match="a kernel is a value: it has no parameter 'width'"):
        kernel.width = 3.0
    kernel.k1 = 2.0 * RBF()
    with pytest.raises(ValueError, match="has no parameter 'width'"):
        kernel.set_params(k2__width=3)
    with pytest.raises(ValueError, match="3 free parameters"):
        kernel.replace([0.0])
