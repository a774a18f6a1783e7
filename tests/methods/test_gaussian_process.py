"""What Gaussian processes must satisfy by their definitions, and where others fall over."""

from contextlib import nullcontext

import numpy as np
import pytest
from interruption import PressCtrlC
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from fivefold.core.console.fit_progress import InterruptedWarning
from fivefold.core.numerics.cholesky import cholesky, inverse_factor, inverse_from, solve_lower
from fivefold.core.storage import memory_limits
from fivefold.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor, gp_regressor
from fivefold.kernel_ridge import KernelRidge
from fivefold.kernels import RBF, ConstantKernel, DotProduct, WhiteKernel
from fivefold.kernels.base import Kernel


def table(n=40, seed=1):
    rng = np.random.RandomState(seed)
    X = rng.uniform(-3, 3, size=(n, 2))
    return X, np.sin(X[:, 0]) * X[:, 1] + 0.1 * rng.normal(size=n)


def test_the_mean_is_kernel_ridge_with_the_noise_as_penalty():
    """C-129."""
    X, y = table()
    model = GaussianProcessRegressor(RBF(1.2), alpha=0.3, optimizer=None).fit(X, y)
    ridge = KernelRidge(alpha=0.3, kernel=RBF(1.2)).fit(X, y)
    assert_allclose(model.predict(X + 0.1), ridge.predict(X + 0.1), rtol=1e-10)


def test_far_from_the_rows_the_prior_comes_back_and_without_noise_targets_are_met():
    """C-129."""
    X, y = table()
    model = GaussianProcessRegressor(2.0 * RBF(1.0), optimizer=None).fit(X, y)
    mean, std = model.predict([[90.0, 90.0]], return_std=True)
    assert_allclose([mean[0], std[0]], [0.0, np.sqrt(2.0)], atol=1e-12)
    mean, std = model.predict(X, return_std=True)
    assert_allclose(mean, y, atol=1e-6)
    assert_allclose(std, 0.0, atol=1e-3)


def test_evidence_finds_the_parameters_that_made_the_targets():
    """C-130: a draw of the process itself, with signal 2, width 0.5 and noise 0.1."""
    rng = np.random.RandomState(4)
    X = rng.uniform(0, 10, size=(300, 1))
    truth = ConstantKernel(2.0) * RBF(0.5) + WhiteKernel(0.1)
    y = GaussianProcessRegressor(truth).sample_y(X, random_state=5)[:, 0]
    found = GaussianProcessRegressor(ConstantKernel(1.0) * RBF(1.0) + WhiteKernel(1.0)).fit(X, y).kernel_
    assert_allclose(np.exp(found.theta), [2.0, 0.5, 0.1], rtol=0.35)  # about three standard errors


def test_leave_one_out_in_closed_form_is_leave_one_out_by_refits():
    X, y = table(25)
    Y = np.column_stack([y, y**2])
    noise = np.linspace(0.05, 0.4, 25)
    found = GaussianProcessRegressor(RBF(1.0), alpha=noise, normalize_y=False, optimizer=None).fit(X, Y).leave_one_out()
    for i in (0, 7, 24):
        rest = np.arange(25) != i
        model = GaussianProcessRegressor(RBF(1.0), alpha=noise[rest], optimizer=None).fit(X[rest], Y[rest])
        mean, std = model.predict(X[[i]], return_std=True)
        assert_allclose(found.mean[i], mean[0], rtol=1e-9)
        assert_allclose(found.std[i], np.sqrt(std[0] ** 2 + noise[i]), rtol=1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # a constant function has no width
def test_two_thousand_noisy_copies_of_one_point_are_no_obstacle():
    rng = np.random.RandomState(0)
    X, y = np.ones((2000, 3)), 5 + rng.normal(size=2000)
    model = GaussianProcessRegressor(10.0 * RBF(1.0) + WhiteKernel(1.0), normalize_y=True).fit(X, y)
    mean, std = model.predict(X[:1], return_std=True)
    assert_allclose(mean, y.mean(), atol=0.01)
    assert_allclose(std, y.std(), rtol=0.05)  # the kernel's noise is part of it


def test_a_singular_covariance_gets_the_least_jitter_and_a_diagnosis():
    X, y = np.repeat(table(30)[0], 2, axis=0), np.repeat(table(30)[1], 2)
    with pytest.warns(UserWarning, match="30 of 60 rows repeat another row.*was added to every variance.*WhiteKernel"):
        model = GaussianProcessRegressor(1e6 * RBF(2.0), alpha=0.0, optimizer=None).fit(X, y)
    assert 0 < model.jitter_ < 1
    with pytest.warns(UserWarning, match="fewer dimensions than there are rows"):
        GaussianProcessRegressor(DotProduct(), alpha=0.0, optimizer=None).fit(*table(30))


class Indefinite(Kernel):
    """Minus the squared distance: no kernel at all."""

    def _gram(self, X, Y):
        return -np.square(X[:, :1] - (X if Y is None else Y)[:, 0])

    def diag(self, X):
        return np.zeros(len(X))

    def gradient(self, X, Y=None):
        yield from ()

    def is_stationary(self):
        return True

    @property
    def requires_vector_input(self):
        return True


def test_an_indefinite_kernel_is_an_error_in_words():
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite.*take another one"):
        GaussianProcessRegressor(Indefinite()).fit(*table(20))


def test_more_rows_than_memory_holds_are_refused_before_memory_is_asked_for(monkeypatch):
    monkeypatch.setattr(memory_limits, "SMALL_REQUEST", 0)
    monkeypatch.setattr(memory_limits, "free_memory", lambda: 10**6)
    with pytest.raises(
        MemoryError, match="400 rows need about .* for 6 arrays of 400 x 400 .*1 MB are free. Take Sparse"
    ):
        GaussianProcessRegressor().fit(*table(400))


def test_an_optimiser_of_a_user_is_asked_with_and_without_gradients():
    def grid(objective, theta, bounds):
        values = {float(t): objective(np.array([t]), eval_gradient=False) for t in np.linspace(-2, 2, 9)}
        value, gradient = objective(theta)
        assert np.isfinite(value) and gradient.shape == theta.shape and bounds.shape == (1, 2)
        best = min(values, key=values.get)
        return np.array([best]), values[best]

    X, y = table()
    model = GaussianProcessRegressor(RBF(), alpha=0.05, optimizer=grid).fit(X, y)
    exact = GaussianProcessRegressor(RBF(), alpha=0.05).fit(X, y)
    assert abs(model.kernel_.theta[0] - exact.kernel_.theta[0]) <= 0.25
    assert exact.log_marginal_likelihood_value_ >= model.log_marginal_likelihood_value_


def test_a_parameter_at_its_bound_is_named():
    X, y = table()
    with pytest.warns(ConvergenceWarning, match=r"length_scale\[0\] ended at its upper bound, 0.1"):
        GaussianProcessRegressor(RBF(0.05, (0.01, 0.1)), alpha=0.1).fit(X, y)


def test_texts_are_rows_where_the_kernel_takes_them():
    class SharedLetters(Indefinite):
        def _gram(self, X, Y):
            return np.array([[float(len(set(a) & set(b))) for b in (X if Y is None else Y)] for a in X])

        def diag(self, X):
            return np.array([float(len(set(a))) for a in X])

        @property
        def requires_vector_input(self):
            return False

    words, y = ["abc", "abd", "xyz", "xyw"], [1.0, 1.1, -1.0, -1.2]
    model = GaussianProcessRegressor(SharedLetters(), alpha=0.1).fit(words, y)
    assert model.predict(["abq"])[0] > 0 > model.predict(["xyq"])[0]
    labels = GaussianProcessClassifier(SharedLetters()).fit(words, ["first", "first", "last", "last"])
    np.testing.assert_array_equal(labels.predict(["abq", "xyq"]), ["first", "last"])


@pytest.mark.parametrize("n", [5, 383, 384, 700])
def test_factors_by_tiles_are_lapacks(n):
    A = np.random.RandomState(n).normal(size=(n, n))
    A = A @ A.T + n * np.eye(n)
    L = A.copy()
    assert cholesky(L) == 0
    assert_allclose(np.tril(L), np.linalg.cholesky(A), rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(np.triu(L, 1), np.triu(A, 1))
    P = inverse_factor(L)
    assert_allclose(np.tril(inverse_from(P)), np.tril(np.linalg.inv(A)), atol=1e-12)
    B = np.random.RandomState(1).normal(size=(450, n))
    assert_allclose(np.tril(L) @ solve_lower(L, B.copy()).T, B.T, atol=1e-10)
    A[n // 2, n // 2] = -1.0
    assert cholesky(A) == n // 2 + 1


def test_ctrl_c_in_a_search_keeps_the_best_parameters_so_far():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=40)
    kernel = 1.0 * RBF([1.0, 1.0]) + WhiteKernel(1.0)
    whole = GaussianProcessRegressor(kernel, n_restarts_optimizer=2, random_state=0).fit(X, y)
    for after in (1, 6, 25):
        model = GaussianProcessRegressor(kernel, n_restarts_optimizer=2, random_state=0).set_callbacks(
            PressCtrlC(after)
        )
        with pytest.warns(InterruptedWarning, match=f"after {after} evaluation.*the best model so far was kept"):
            model.fit(X, y)
        found = model.log_marginal_likelihood_value_
        assert model.log_marginal_likelihood(kernel.theta) <= found <= whole.log_marginal_likelihood_value_ + 1e-6
    labels = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    classes = GaussianProcessClassifier(1.0 * RBF(1.0)).set_callbacks(PressCtrlC(2))
    with pytest.warns(InterruptedWarning, match="the best model so far was kept"):
        classes.fit(X, labels)
    assert classes.score(X, labels) > 0.5


@pytest.mark.parametrize("width", [1.0, [1.0, 1.0, 1.0]], ids=["one width", "a width per column"])
def test_a_search_begun_on_a_sample_ends_where_one_on_all_rows_ends(width, monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(480, 3))
    y = np.sin(X[:, 0]) + 0.3 * X[:, 1] ** 2 + 0.1 * rng.normal(size=480)
    model, rows = GaussianProcessRegressor(ConstantKernel(1.0) * RBF(width) + WhiteKernel(0.1)), []

    def counted(kernel, X, *more, log_evidence=gp_regressor.log_evidence, **options):
        rows.append(len(X))
        return log_evidence(kernel, X, *more, **options)

    monkeypatch.setattr(gp_regressor, "log_evidence", counted)
    with pytest.warns(ConvergenceWarning) if isinstance(width, list) else nullcontext():  # a width at its bound
        plain, evaluations = model.fit(X, y).log_marginal_likelihood_value_, len(rows)
        rows.clear()
        monkeypatch.setattr(gp_regressor, "COARSE_FROM", 400)
        begun = model.fit(X, y).log_marginal_likelihood_value_
    assert begun >= plain - 1e-4
    assert set(rows) == {120, 480}
    assert rows.count(480) <= 0.7 * evaluations


def test_ctrl_c_on_the_sample_keeps_its_parameters(monkeypatch):
    monkeypatch.setattr(gp_regressor, "COARSE_FROM", 100)
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=200)
    model = GaussianProcessRegressor(ConstantKernel(1.0) * RBF(1.0) + WhiteKernel(0.1))
    with pytest.warns(InterruptedWarning, match="evaluation"):
        model.set_callbacks(PressCtrlC(6)).fit(X, y)
    assert model.X_train_.shape == (200, 2)
    assert model.log_marginal_likelihood_value_ > model.log_marginal_likelihood(model.kernel.theta)
