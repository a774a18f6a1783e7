"""What every kernel must satisfy: symmetry, positive eigenvalues, its diagonal, its derivatives, its text, its type."""

import numpy as np
import pandas as pd
import pytest
from kernel_samples import ANY, VALID, X, Y
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from fivefold.kernels import (
    RBF,
    ChiSquared,
    ConstantKernel,
    ExpSineSquared,
    FunctionKernel,
    Gram,
    Laplace,
    Linear,
    Matern,
    Polynomial,
    PowerSeries,
    RationalQuadratic,
    WhiteKernel,
    exp,
    parse,
    tensor_product,
)


@pytest.mark.parametrize("kernel", ANY, ids=str)
def test_a_gram_matrix_is_symmetric_and_has_its_diagonal_and_rows(kernel):
    K = kernel(X)
    assert_array_equal(K, K.T)
    assert_allclose(kernel.diag(X), np.diag(K), rtol=1e-12, atol=1e-14)
    rows = np.array([4, 0, 9])
    assert_allclose(kernel.rows(X, rows), K[rows], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kernel", VALID, ids=str)
def test_valid_kernels_are_positive_semi_definite(kernel):
    values = np.linalg.eigvalsh(kernel(X))
    assert values[0] >= -1e-12 * values[-1]


@pytest.mark.parametrize("kernel", ANY, ids=str)
def test_derivatives_are_those_of_differences(kernel):
    step, theta = 1e-5, kernel.theta
    cases = [
        (list(kernel.gradient(X)), lambda k: k(X)),
        (list(kernel.gradient(X, Y)), lambda k: k(X, Y)),
        (list(kernel.diag_gradient(X)), lambda k: k.diag(X)),
    ]
    for found, value in cases:
        assert len(found) == len(theta) == kernel.n_dims == len(kernel.bounds)
        for j, D in enumerate(found):
            shift = step * (np.arange(len(theta)) == j)
            numeric = (value(kernel.replace(theta + shift)) - value(kernel.replace(theta - shift))) / (2 * step)
            assert_allclose(D, numeric, rtol=1e-6, atol=1e-8 * max(1.0, np.abs(value(kernel)).max()))


@pytest.mark.parametrize("kernel", ANY, ids=str)
def test_pullbacks_are_sums_over_the_derivatives(kernel):
    for other in (None, Y):
        K, pull = kernel.pullback(X, other)
        assert_allclose(K, kernel(X, other), rtol=1e-13)
        W = np.random.RandomState(3).normal(size=K.shape)
        wanted = [np.sum(W * D) for D in kernel.gradient(X, other)]
        assert_allclose(pull(W), wanted, rtol=1e-9, atol=1e-9 * np.abs(K).sum())
    d, pull = kernel.diag_pullback(X)
    w = np.random.RandomState(4).normal(size=len(X))
    assert_allclose(d, kernel.diag(X))
    assert_allclose(pull(w), [w @ D for D in kernel.diag_gradient(X)], atol=1e-12)


@pytest.mark.parametrize("kernel", ANY, ids=str)
def test_a_kernel_is_the_value_of_what_it_prints(kernel):
    assert parse(repr(kernel)) == kernel
    assert hash(parse(repr(kernel))) == hash(kernel)
    assert clone(kernel) == kernel
    assert kernel.replace(kernel.theta + 0.1) != kernel or not kernel.n_dims


@pytest.mark.parametrize("kernel", ANY, ids=str)
def test_float32_stays_float32(kernel):
    single = X.astype(np.float32)
    assert kernel(single).dtype == kernel.diag(single).dtype == kernel(single, single).dtype == np.float32
    assert_allclose(kernel(single), kernel(X), rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("a", [RBF(2.0), Polynomial(2), WhiteKernel(0.5)], ids=str)
@pytest.mark.parametrize("b", [Matern(), Linear(), ConstantKernel(2.0)], ids=str)
def test_algebra_of_kernels_is_arithmetic_of_matrices(a, b):
    A, B = a(X), b(X)
    assert_allclose((a + b)(X), A + B)
    assert_allclose((a * b)(X), A * B)
    assert_allclose((a + 1.5)(X), A + 1.5)
    assert_allclose((0.5 * a)(X), 0.5 * A)
    assert_allclose((a**3)(X), A**3)
    assert_allclose(exp(a)(X), np.exp(A))
    assert_allclose(PowerSeries(a, [1.0, 2.0, 0.5])(X), 1 + 2 * A + 0.5 * A**2)


def test_stationary_kernels_see_differences_and_radial_ones_distances():
    turn = np.linalg.qr(np.random.RandomState(9).normal(size=(3, 3)))[0]
    for kernel in (RBF(0.7), Matern(nu=2.5), RationalQuadratic(), Laplace(2.0), ExpSineSquared(2.0, 3.0)):
        assert kernel.is_stationary()
        assert_allclose(kernel(X + 1.5), kernel(X), rtol=1e-10)
        assert isinstance(kernel, Laplace) or np.allclose(kernel(X @ turn), kernel(X))
    assert not (RBF() + Linear()).is_stationary()


def test_a_tensor_product_is_the_kernel_of_products_of_features():
    kernel = tensor_product([(Linear(), [0, 1]), (Polynomial(1), [2])])
    phi = np.einsum("ia,ib->iab", X[:, :2], np.column_stack([np.ones(len(X)), X[:, 2]])).reshape(len(X), -1)
    assert_allclose(kernel(X), phi @ phi.T)
    both = Linear().on([0, 1]) + Linear().on([2])
    assert_allclose(both(X), X @ X.T)
    records = [("ab", 1.0), ("ab", 2.0), ("c", 3.0)]
    letters = FunctionKernel(lambda x, y: float(x == y)).on(0)
    assert_allclose((letters * FunctionKernel(lambda x, y: x * y).on(1))(records), [[1, 2, 0], [2, 4, 0], [0, 0, 9]])
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    assert_allclose(RBF().on(["a", "c"])(frame), RBF()(X[:, [0, 2]]))
    assert_allclose(RBF().on("b")(frame), RBF()(X[:, [1]]))


@pytest.mark.parametrize(
    "kernel",
    [RBF([0.5] * 6), Matern(), Polynomial(), ChiSquared(), 2.0 * RBF() + WhiteKernel(), exp(Linear())],
    ids=str,
)
def test_the_number_of_threads_changes_no_byte_of_a_kernel(kernel, monkeypatch):
    draws = np.random.RandomState(8)
    Z, W = draws.uniform(size=(700, 6)), draws.normal(size=(700, 700))
    found = []
    for threads in (1, 2):
        monkeypatch.setenv("OMP_NUM_THREADS", str(threads))
        with threadpool_limits(threads, "blas"):
            K, pull = kernel.pullback(Z)
            parts = (
                kernel(Z),
                K,
                pull(W),
                kernel(Z, Z[:30]),
                Gram(kernel, Z) @ W[0],
                Gram(kernel, Z).factor(0.1).solve(W[0]),
            )
        found.append([part.tobytes() for part in parts])
    assert found[0] == found[1]
