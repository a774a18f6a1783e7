"""Kernel ridge regression: the same numbers by every route, leave-one-out and the path of strengths."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import kernel_ridge as rival
from sklearn.metrics.pairwise import pairwise_kernels

from fivefold.core.storage import memory_limits
from fivefold.datasets import course_datasets
from fivefold.kernel_ridge import KernelRidge, KernelRidgeClassifier
from fivefold.kernels import RBF, gaussian
from fivefold.linear_model import Ridge, RidgeClassifier

KERNELS = ("linear", "poly", "rbf", "laplacian", "sigmoid", "cosine", "chi2")


def table(n=50, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.uniform(0, 2, size=(n, 3))
    return X, np.sin(3 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=n), rng.randint(1, 4, size=n).astype(float)


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_by_name_is_scikit_learns(kernel):
    X, y, w = table()
    gamma = {"sigmoid": 0.01, "chi2": 1.0}.get(kernel)  # a wide sigmoid is indefinite, and scikit-learn's chi2 asks
    peer, model = (
        library(alpha=0.5, kernel=kernel, gamma=gamma).fit(X, y, sample_weight=w)
        for library in (rival.KernelRidge, KernelRidge)
    )
    assert_allclose(model.dual_coef_, peer.dual_coef_, rtol=1e-8, atol=1e-10)
    assert_allclose(model.predict(X + 0.05), peer.predict(X + 0.05), rtol=1e-8, atol=1e-10)


def test_the_linear_kernel_is_ridge_regression():
    """C-127."""
    X, y, w = table()
    dual = KernelRidge(alpha=0.7).fit(X, y, sample_weight=w)
    primal = Ridge(alpha=0.7, fit_intercept=False).fit(X, y, sample_weight=w)
    assert_allclose(dual.predict(X), primal.predict(X), rtol=1e-9)
    assert_allclose(X.T @ dual.dual_coef_, primal.coef_, rtol=1e-9)


@pytest.mark.parametrize("solver", ["eigen", "cg"])
def test_every_solver_finds_the_same_coefficients(solver):
    X, y, w = table()
    Y = np.column_stack([y, y**2])
    want = KernelRidge([0.1, 2.0], kernel="rbf", solver="cholesky").fit(X, Y, w)
    found = KernelRidge([0.1, 2.0], kernel="rbf", solver=solver).fit(X, Y, w)
    assert (want.solver_, found.solver_) == ("cholesky", solver)
    assert_allclose(found.dual_coef_, want.dual_coef_, rtol=1e-6, atol=1e-8)
    given = KernelRidge([0.1, 2.0], kernel="precomputed", solver=solver).fit(RBF(np.sqrt(1.5))(X), Y, w)
    assert_allclose(given.dual_coef_, want.dual_coef_, rtol=1e-6, atol=1e-8)


def test_without_memory_for_the_matrix_products_are_taken(monkeypatch):
    X, y, _ = table(300)
    want = KernelRidge(0.1, kernel="rbf").fit(X, y)
    monkeypatch.setattr(memory_limits, "SMALL_REQUEST", 0)
    monkeypatch.setattr(memory_limits, "free_memory", lambda: 10**5)
    found = KernelRidge(0.1, kernel="rbf").fit(X, y)
    assert found.solver_ == "cg" and found.n_iter_ < 60
    assert_allclose(found.predict(X), want.predict(X), rtol=1e-6)
    with pytest.raises(MemoryError, match='300 rows need about .*Take solver="cg"'):
        KernelRidge(0.1, kernel="rbf", solver="cholesky").fit(X, y)


def test_leave_one_out_is_that_of_refits_and_the_path_is_that_of_fits():
    X, y, w = table(30)
    model = KernelRidge(0.3, kernel="rbf")
    left = model.leave_one_out(X, y, sample_weight=w)
    for i in (0, 11, 29):
        rest = np.arange(30) != i
        assert_allclose(left[i], model.fit(X[rest], y[rest], w[rest]).predict(X[[i]])[0], rtol=1e-9)
    path = model.path(X, y, [1e-3, 0.3, 10.0], sample_weight=w)
    for alpha, dual in zip(path.alphas, path.dual_coefs, strict=True):
        assert_allclose(dual, KernelRidge(alpha, kernel="rbf").fit(X, y, w).dual_coef_, rtol=1e-7)
    assert_allclose(path.loo_predictions[1], left, rtol=1e-12)
    assert_allclose(path.loo_errors[1], np.average((y - left) ** 2, weights=w), rtol=1e-12)
    assert path.best_alpha == path.alphas[path.loo_errors.argmin()]


def test_a_singular_system_gets_the_shortest_solution_and_says_so():
    X, y, _ = table(20)
    with pytest.warns(UserWarning, match="singular to rounding.*Raise alpha"):
        model = KernelRidge(0.0).fit(X, y)
    assert_allclose(X.T @ model.dual_coef_, np.linalg.lstsq(X, y, rcond=None)[0], rtol=1e-8)


def test_rows_of_weight_zero_have_no_coefficient_in_precomputed_kernels():
    X, y, w = table(20)
    w[3] = 0.0
    model = KernelRidge(0.5, kernel="precomputed").fit(pairwise_kernels(X, metric="rbf"), y, w)
    kept = w > 0
    assert model.dual_coef_[3] == 0
    assert_allclose(model.dual_coef_[kept], KernelRidge(0.5, kernel="rbf").fit(X[kept], y[kept], w[kept]).dual_coef_)


def test_a_function_of_two_rows_is_a_kernel():
    X, y, _ = table(15)
    model = KernelRidge(0.5, kernel=lambda a, b, power: float(a @ b) ** power, kernel_params={"power": 2}).fit(X, y)
    want = KernelRidge(0.5, kernel="poly", degree=2, gamma=1.0, coef0=0.0).fit(X, y)
    assert_allclose(model.predict(X), want.predict(X), rtol=1e-8)


def test_the_classifier_with_a_linear_kernel_is_the_ridge_classifier_without_an_intercept():
    X, y, w = table(60)
    X = X - X.mean(axis=0)
    for cuts in ([0.5], [0.33, 0.66]):
        labels = np.digitize(y, np.quantile(y, cuts))
        ours = KernelRidgeClassifier(0.4, kernel="linear", fit_intercept=False).fit(X, labels, w)
        twin = RidgeClassifier(0.4, fit_intercept=False).fit(X, labels, w)
        assert_allclose(ours.decision_function(X), twin.decision_function(X), rtol=1e-7, atol=1e-9)
        np.testing.assert_array_equal(ours.predict(X), twin.predict(X))


def test_far_from_all_rows_the_classifier_predicts_the_class_of_the_largest_weight():
    X, labels = np.array([[0.0], [1.0], [2.0]]), np.array(["a", "b", "b"])
    far = [[1e3]]
    assert KernelRidgeClassifier().fit(X, labels).predict(far) == ["b"]
    heavy = KernelRidgeClassifier().fit(X, labels, [5.0, 1.0, 1.0])
    assert heavy.predict(far) == ["a"]
    assert heavy.decision_function(far) == pytest.approx((2 - 5) / 7)


def test_the_two_widths_of_the_noisy_curve_have_the_errors_of_the_catalogue():
    """C-127: figures 9.9 and 9.10, training error and error to the curve itself."""
    X, y = course_datasets().noisy_curve
    grid = np.arange(-4, 6.95, 0.1)
    curve = np.sin(grid) / (1 + np.exp(-grid))
    for width, training, true in ((0.01, 0.010003, 0.546744), (1.0, 0.380041, 1.121240)):
        model = KernelRidge(0.01, kernel=gaussian(w=width)).fit(X, y)
        assert np.sqrt(np.mean((model.predict(X) - y) ** 2)) == pytest.approx(training, abs=1e-6)
        assert np.sqrt(np.mean((model.predict(grid[:, None]) - curve) ** 2)) == pytest.approx(true, abs=1e-6)
