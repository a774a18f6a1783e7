"""Gaussian processes through inducing points: exact with all rows, a bound with fewer, with the right gradient."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from fivefold.gaussian_process import GaussianProcessRegressor, SparseGaussianProcessRegressor
from fivefold.gaussian_process.posterior.sparse_evidence import sparse_evidence
from fivefold.kernels import RBF, ConstantKernel, DotProduct


def table(n=50, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.uniform(-3, 3, size=(n, 2))
    return X, np.sin(X[:, 0]) * X[:, 1] + 0.2 * rng.normal(size=n)


@pytest.mark.parametrize("approximation", ["vfe", "fitc"])
def test_with_the_rows_as_inducing_points_it_is_the_full_process(approximation):
    """C-131."""
    X, y = table()
    kernel = 2.0 * RBF(1.0)
    options = {"optimizer": None, "normalize_y": False}
    full = GaussianProcessRegressor(kernel, alpha=0.04, **options).fit(X, y)
    sparse = SparseGaussianProcessRegressor(
        kernel, inducing_points=X, noise_variance=0.04, approximation=approximation, **options
    ).fit(X, y)
    for mine, theirs in zip(
        sparse.predict(X + 0.3, return_std=True), full.predict(X + 0.3, return_std=True), strict=True
    ):
        assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)
    assert_allclose(sparse.log_marginal_likelihood_value_, full.log_marginal_likelihood_value_, rtol=1e-5)


def test_the_bound_lies_below_the_evidence_and_rises_with_the_points():
    X, y = table(120)
    kernel, noise = 2.0 * RBF(1.0), np.full(120, 0.04)
    full = GaussianProcessRegressor(kernel, alpha=0.04, optimizer=None).fit(X, y).log_marginal_likelihood_value_
    bounds = [sparse_evidence(kernel, X, X[:m], y[:, None], noise, "vfe").value for m in (5, 20, 60, 120)]
    assert (np.diff(bounds) > 0).all() and bounds[-1] <= full + 1e-3
    assert full - bounds[-1] < 0.01


@pytest.mark.parametrize("approximation", ["vfe", "fitc"])
@pytest.mark.parametrize("kernel", [1.5 * RBF([0.8, 1.7]), ConstantKernel(0.7) * RBF(1.2) + DotProduct(0.6)])
def test_the_gradient_is_that_of_finite_differences(approximation, kernel):
    X, y = table(40)
    Y, Z, noise = np.column_stack([y, y**2]), X[:7] + 0.1, 0.05

    def value(at):
        return sparse_evidence(kernel.replace(at[:-1]), X, Z, Y, np.full(40, np.exp(at[-1])), approximation).value

    at = np.append(kernel.theta, np.log(noise))
    found = sparse_evidence(kernel, X, Z, Y, np.full(40, noise), approximation, gradient=True).gradient
    step = 1e-4
    quotients = [
        (8 * (value(at + e) - value(at - e)) - (value(at + 2 * e) - value(at - 2 * e))) / (12 * step)
        for e in step * np.eye(len(at))
    ]
    assert_allclose(found, quotients, rtol=1e-6, atol=1e-7 * np.abs(quotients).max())


def test_many_rows_are_learned_from_few_points_with_the_noise_that_made_them():
    X, y = table(3000, seed=1)
    model = SparseGaussianProcessRegressor(1.0 * RBF([1.0, 1.0]), n_inducing=60).fit(X, y)
    new, _ = table(400, seed=2)
    truth = np.sin(new[:, 0]) * new[:, 1]
    mean, std = model.predict(new, return_std=True)
    assert np.sqrt(np.mean((mean - truth) ** 2)) < 0.06
    assert_allclose(np.sqrt(model.noise_variance_) * y.std(), 0.2, rtol=0.1)
    wide = model.predict(new, return_noise=True)[1]
    assert (wide > std).all()


def test_noise_per_row_is_kept_and_bad_points_are_refused():
    X, y = table()
    noise = np.linspace(0.01, 0.5, len(X))
    model = SparseGaussianProcessRegressor(noise_variance=noise, n_inducing=20).fit(X, y)
    np.testing.assert_array_equal(model.noise_variance_, noise)
    with pytest.raises(ValueError, match="noise of a new row is not known"):
        model.predict(X, return_noise=True)
    with pytest.raises(ValueError, match="2 columns of X"):
        SparseGaussianProcessRegressor(inducing_points=np.ones((3, 5))).fit(X, y)
