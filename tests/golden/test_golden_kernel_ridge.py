"""Kernel ridge regression, smoothing splines and processes with the catalogue's numbers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.interpolate import RBFInterpolator, make_smoothing_spline
from sklearn.model_selection import LeaveOneOut, cross_val_predict

from fivefold.decomposition import PCA, KernelPCA
from fivefold.gaussian_process import GaussianProcessRegressor
from fivefold.kernel_approximation import Nystroem
from fivefold.kernel_ridge import KernelRidge, KernelRidgeClassifier
from fivefold.kernels import RBF, Gram, gaussian
from fivefold.linear_model import Ridge
from fivefold.smoothing import SmoothingSpline

LINE, STEPS = np.array([[1.0], [2.0], [3.0]]), np.array([1.0, 2.0, 2.0])
rng = np.random.default_rng(112)
X = rng.normal(size=(60, 3))
Y = np.sin(X[:, 0]) + X[:, 1]


def test_three_points_by_a_gaussian_kernel_of_width_one():
    """A-112, A-114, A-115, B-114: coefficients, fit, leave-one-out and effective degrees of freedom."""
    model = KernelRidge(0.5, kernel=gaussian(w=1.0)).fit(LINE, STEPS)
    assert_allclose(model.dual_coef_, [0.237448, 0.845004, 0.970229], atol=1e-6)
    assert_allclose(model.predict(LINE), [0.881276, 1.577498, 1.514885], atol=1e-6)
    assert_allclose(model.dual_coef_, (STEPS - model.predict(LINE)) / 0.5, rtol=1e-12)
    path = model.path(LINE, STEPS, [0.01, 0.1, 0.5, 1.0, 10.0])
    assert_allclose(path.loo_errors, [0.235147, 0.350856, 0.778048, 1.158123, 2.557872], atol=1e-6)
    by_refits = cross_val_predict(model, LINE, STEPS, cv=LeaveOneOut())
    assert_allclose(path.loo_predictions[2], by_refits, atol=1e-10)
    K = gaussian(w=1.0)(LINE)
    S = K @ np.linalg.inv(K + 0.5 * np.eye(3))
    assert_allclose(np.diag(S), [0.598432, 0.523849, 0.598432], atol=1e-6)
    assert_allclose(np.trace(S), 1.720712, atol=1e-6)
    assert_allclose((STEPS - model.predict(LINE)) / (1 - np.diag(S)), STEPS - by_refits, atol=1e-10)


def test_a_small_penalty_interpolates_and_the_linear_kernel_is_ridge():
    """A-112, B-114."""
    assert_allclose(KernelRidge(1e-10, kernel=gaussian(w=1.0)).fit(LINE, STEPS).predict(LINE), STEPS, atol=1e-8)
    twin = Ridge(0.7, fit_intercept=False).fit(X, Y)
    assert_allclose(KernelRidge(0.7, kernel="linear").fit(X, Y).predict(X), twin.predict(X), rtol=1e-10)


def test_a_tiny_width_learns_the_rows_by_heart():
    """A-113."""
    labels = np.where(Y > 0, 1, -1)
    model = KernelRidgeClassifier(0.1, kernel=RBF(1e-3), fit_intercept=False).fit(X, labels)
    assert model.score(X, labels) == 1.0
    assert_allclose(model.decision_function(X + 1.0), 0.0, atol=1e-12)


def test_conjugate_gradients_find_what_the_factor_finds_in_at_most_n_steps():
    """A-116: and Nystroem features of all rows are exact."""
    direct = KernelRidge(0.3, kernel="rbf", solver="cholesky").fit(X, Y)
    steps = KernelRidge(0.3, kernel="rbf", solver="cg").fit(X, Y)
    assert steps.n_iter_ <= len(X)
    assert_allclose(steps.predict(X), direct.predict(X), rtol=1e-6)
    Z = Nystroem("rbf", gamma=1 / 3, n_components=60, random_state=0).fit_transform(X)
    assert_allclose(Z @ Z.T, RBF(np.sqrt(1.5))(X), atol=1e-8)


def test_no_strength_is_zero_unless_it_is_asked_for_and_the_path_chooses_one():
    """A-117: without a penalty an infinite feature space repeats the noise."""
    assert KernelRidge().alpha > 0 and KernelRidgeClassifier().alpha > 0
    noisy, clean = np.sin(X[:, 0]) + 0.5 * rng.normal(size=60), np.sin(X[:, 0])
    kernel = KernelRidge(kernel="rbf", gamma=0.5)
    path = kernel.path(X, noisy, np.logspace(-8, 2, 21))
    assert 1e-8 < path.best_alpha < 1e2
    error = {a: np.mean((KernelRidge(a, kernel="rbf", gamma=0.5).fit(X, noisy).predict(X) - clean) ** 2)
             for a in (1e-8, path.best_alpha)}  # fmt: skip
    assert error[path.best_alpha] < 0.5 * error[1e-8]


def test_the_linear_kernel_has_the_scores_of_principal_components_up_to_signs():
    """A-57."""
    ours, twin = KernelPCA(2, kernel="linear").fit_transform(X), PCA(2).fit_transform(X)
    assert_allclose(np.abs(ours), np.abs(twin), rtol=1e-6, atol=1e-8)


def test_a_process_with_unit_noise_has_the_mean_of_kernel_ridge():
    """B-42, E-357: prior variance 1 / lambda and noise 1 give the penalty lambda."""
    process = GaussianProcessRegressor(0.25 * RBF(1.3), alpha=1.0, optimizer=None).fit(X, Y)
    ridge = KernelRidge(4.0, kernel=RBF(1.3)).fit(X, Y)
    assert_allclose(process.predict(X + 0.2), ridge.predict(X + 0.2), rtol=1e-9)


def test_a_gram_matrix_is_symmetric_and_semidefinite_and_a_ridge_makes_it_regular():
    """C-128."""
    rows = np.vstack([X, X[:5]])  # copies: singular
    G = Gram(RBF(1.0), rows)
    assert_array_equal(G.matrix, G.matrix.T)
    assert np.linalg.eigvalsh(G.matrix)[0] >= -1e-10
    assert_allclose(G.factor(0.1).solve((G.matrix + 0.1 * np.eye(65)) @ np.ones(65)), 1.0, rtol=1e-8)


def test_smoothing_splines_run_from_the_targets_to_the_least_squares_line():
    """C-206: in one column the natural cubic spline, as SciPy computes it from its basis; in several a surface."""
    x = np.sort(rng.uniform(0, 8, 25))
    y = np.sin(x) + 0.2 * rng.normal(size=25)
    w = rng.uniform(0.5, 2.0, 25)
    model = SmoothingSpline(1e-3).fit(x[:, None], y, w)
    grid = np.linspace(0, 8, 90)
    theirs = make_smoothing_spline(x, y, w, lam=model.penalty_)
    inside = (grid >= x[0]) & (grid <= x[-1])
    assert_allclose(model.predict(grid[inside, None]), theirs(grid[inside]), rtol=1e-6, atol=1e-8)
    assert_allclose(SmoothingSpline(1e-13).fit(x[:, None], y).predict(x[:, None]), y, atol=1e-4)
    line = np.polynomial.Polynomial.fit(x, y, 1, w=np.sqrt(w))
    assert_allclose(SmoothingSpline(1e9).fit(x[:, None], y, w).predict(grid[:, None]), line(grid), atol=1e-6)
    plane = np.linalg.lstsq(np.column_stack([np.ones(60), X]), Y, rcond=None)[0]
    assert_allclose(SmoothingSpline(1e9).fit(X, Y).predict(X), plane[0] + X @ plane[1:], atol=1e-6)
    assert_allclose(SmoothingSpline(1e-12).fit(X, Y).predict(X), Y, atol=1e-6)
    surface = SmoothingSpline(0.1).fit(X, Y)
    cubes = RBFInterpolator(X, Y, kernel="cubic", degree=1, smoothing=12 * surface.penalty_)
    assert_allclose(surface.predict(X + 0.1), cubes(X + 0.1), rtol=1e-8)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_the_unit_of_the_columns_changes_no_spline(unit):
    ours = SmoothingSpline(0.1).fit(unit * X, Y).predict(unit * X)
    assert_allclose(ours, SmoothingSpline(0.1).fit(X, Y).predict(X), rtol=1e-8, atol=1e-10)
