"""Least squares beside scikit-learn's, SciPy's and an exact oracle.

Well-conditioned columns in float64: 1e-10 leaves a few digits to spare. scikit-learn's `tol` cuts singular values off;
1e-14 leaves them in.
"""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracles.least_squares import exact_least_squares
from scipy.sparse import csr_array, random_array
from sklearn import linear_model as theirs

from fivefold.linear_model import LinearRegression, RankWarning

TIGHT = {"rtol": 1e-10, "atol": 1e-10}


def surface(n=80, d=6, outputs=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 3
    y = X @ rng.normal(size=(d,) if outputs is None else (d, outputs))
    return X, y + rng.normal(size=y.shape) + 5


def same(model, rival, X, D=None, **tolerance):
    assert model.coef_.shape == rival.coef_.shape
    assert np.shape(model.intercept_) == np.shape(rival.intercept_)
    assert_allclose(model.coef_, rival.coef_, **(tolerance or TIGHT))
    assert_allclose(model.intercept_, rival.intercept_, **(tolerance or TIGHT))
    said, expected = model.predict(X), rival.predict(X if D is None else D)
    assert said.shape == expected.shape
    assert_allclose(said, expected, **(tolerance or TIGHT))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("outputs", [None, 1, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("positive", [False, True])
def test_coefficients_are_the_same(positive, fit_intercept, outputs, weighted):
    X, y = surface(outputs=outputs)
    w = np.random.default_rng(1).uniform(0.5, 2, len(X)) if weighted else None
    settings = {"positive": positive, "fit_intercept": fit_intercept}
    model = LinearRegression(**settings).fit(X, y, sample_weight=w)
    same(model, theirs.LinearRegression(tol=1e-14, **settings).fit(X, y, sample_weight=w), X)
    if positive:
        assert (model.coef_ >= 0).all() and (model.coef_ == 0).any()


@pytest.mark.parametrize("outputs", [None, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("positive", [False, True])
def test_a_sparse_table_says_the_same_as_a_dense_one(positive, fit_intercept, outputs):
    rng = np.random.default_rng(0)
    X = random_array((150, 20), density=0.2, rng=rng, format="csr")
    y = rng.normal(size=150 if outputs is None else (150, outputs))
    w = rng.uniform(0.5, 2, 150)
    settings = {"positive": positive, "fit_intercept": fit_intercept}
    model = LinearRegression(**settings).fit(X, y, sample_weight=w)
    rival = theirs.LinearRegression(tol=1e-14, **settings).fit(X.toarray(), y, sample_weight=w)
    same(model, rival, X, X.toarray())


def test_a_sparse_table_wider_than_its_moments_is_bidiagonalised(monkeypatch):
    """It stops at a relative residual of 1e-13."""
    from fivefold.linear_model.solvers import least_squares_solver

    rng = np.random.default_rng(0)
    X = random_array((150, 20), density=0.2, rng=rng, format="csr")
    y, w = rng.normal(size=(150, 2)), rng.uniform(0.5, 2, 150)
    direct = LinearRegression().fit(X, y, sample_weight=w)
    monkeypatch.setattr(least_squares_solver, "MAX_MOMENT_COLUMNS", 10)
    model = LinearRegression().fit(X, y, sample_weight=w)
    assert (direct.solver_, model.solver_) == ("cholesky", "lsqr")
    same(model, direct, X, rtol=1e-8, atol=1e-10)


def test_dependent_sparse_columns_too_large_to_fill_in_go_by_eigenvectors(monkeypatch):
    """Half of the digits of the smallest values are lost in the moments: six are left."""
    from fivefold.linear_model.solvers import least_squares_solver

    rng = np.random.default_rng(0)
    X = random_array((150, 10), density=0.3, rng=rng, format="csr").toarray()
    X[:, 9] = X[:, 0] + X[:, 1]
    y = rng.normal(size=150)
    monkeypatch.setattr(least_squares_solver, "MAX_DENSE_ENTRIES", 10)
    with pytest.warns(RankWarning, match="x9 depends on x0, x1"):
        model = LinearRegression().fit(csr_array(X), y)
    assert model.solver_ == "eigen" and model.rank_ == 9
    same(model, theirs.LinearRegression(tol=1e-12).fit(X, y), csr_array(X), X, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("shape", [(40, 6), (4, 6), (6, 6)])
def test_dependent_columns_have_the_shortest_solution(shape, fit_intercept):
    X, y = surface(*shape)
    X[:, 5] = X[:, 0] - 2 * X[:, 1]
    X[:, 3] = 0.1  # its mean is not exact
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)
        model = LinearRegression(fit_intercept=fit_intercept).fit(X, y)
    rival = theirs.LinearRegression(tol=1e-12, fit_intercept=fit_intercept).fit(X, y)
    same(model, rival, X, rtol=1e-8, atol=1e-8)
    assert model.rank_ == rival.rank_
    assert_allclose(model.singular_, rival.singular_, rtol=1e-8, atol=1e-8)


def test_rank_and_singular_values_are_the_same():
    X, y = surface()
    model, rival = LinearRegression().fit(X, y), theirs.LinearRegression(tol=1e-14).fit(X, y)
    assert model.rank_ == rival.rank_
    assert_allclose(model.singular_, rival.singular_, **TIGHT)


@pytest.mark.parametrize("gap", [1e-3, 1e-5, 1e-7])
@pytest.mark.parametrize("n", [300, 30_000])
def test_nearly_dependent_columns_keep_the_digits_their_condition_leaves(n, gap):
    """A condition of 1 / gap leaves 16 + log10(gap) digits at most; two less are asked for."""
    X, y = surface(n)
    X[:, 5] = X[:, 0] + gap * X[:, 5]
    model = LinearRegression().fit(X, y)
    expected = np.linalg.lstsq(X - X.mean(0), y - y.mean(), rcond=None)[0]
    assert_allclose(model.coef_, expected, rtol=1e-14 / gap * 100, atol=0)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_small_nearly_singular_table_is_solved_to_the_last_digit(weighted):
    """Beside rational arithmetic: corrections with twice the digits leave one rounding."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(12, 3)).round(6) + 1000
    X[:, 2] = X[:, 0] + 1e-5 * X[:, 1]
    X[:, 2] += 1e-6 * rng.normal(size=12)
    y = rng.normal(size=12)
    w = rng.integers(1, 5, 12).astype(float) if weighted else None
    model = LinearRegression().fit(X, y, sample_weight=w)
    exact = [float(v) for v in exact_least_squares(X, y, w)]
    assert model.solver_ == "refined"
    assert_allclose([model.intercept_, *model.coef_], exact, rtol=4e-16)


def test_columns_of_any_unit_are_factored():
    """Units from 1e-8 to 1e8 make the normal equations look singular; they are not."""
    X, y = surface()
    units = 10.0 ** np.linspace(-8, 8, 6)
    model = LinearRegression().fit(X * units, y)
    assert_allclose(model.coef_ * units, LinearRegression().fit(X, y).coef_, rtol=1e-9)


def test_far_from_zero_no_digit_is_lost():
    X, y = surface(500)
    far = X + 1e8
    model, near = LinearRegression().fit(far, y), LinearRegression().fit(far - 1e8, y)
    assert_allclose(model.coef_, near.coef_, rtol=1e-8)
    assert_allclose(model.predict(far), near.predict(far - 1e8), atol=1e-7)  # a mean there is known to 1.5e-8


def test_a_constant_target_is_its_constant():
    X, _ = surface()
    model = LinearRegression().fit(X, np.full(len(X), 0.1))
    assert_allclose(model.coef_, 0, atol=1e-14)
    assert_allclose(model.predict(X), 0.1, rtol=1e-14)


def test_float32_stays_float32():
    X, y = surface()
    model = LinearRegression().fit(X.astype(np.float32), y.astype(np.float32))
    assert model.coef_.dtype == model.predict(X.astype(np.float32)).dtype == np.float32
    assert_allclose(model.coef_, LinearRegression().fit(X, y).coef_, rtol=1e-4, atol=1e-5)  # seven digits


def test_no_objective_of_a_rival_is_lower():
    X, y = surface(2000, 20)
    ours, rival = LinearRegression().fit(X, y), theirs.LinearRegression(tol=1e-14).fit(X, y)
    squares = [np.sum((y - model.predict(X)) ** 2) for model in (ours, rival)]
    assert squares[0] <= squares[1] * (1 + 1e-9)
