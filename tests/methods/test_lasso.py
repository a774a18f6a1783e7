"""Coordinate descent and the lasso family: what the laws cannot say."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from oracles.coordinate import centred, objective, slow_net
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression

from fivefold.linear_model import ElasticNet, Lasso, MultiTaskLasso, Ridge, enet_path, lasso_path
from fivefold.linear_model.solvers.lasso_path import prepare_columns
from fivefold.optim.minimise import minimise
from fivefold.optim.proximal.coordinate_descent import CoordinateDescent, ElasticNetObjective
from fivefold.optim.proximal.quadratic_net import FactorQuadratic, GramQuadratic, solve_quadratic_net


def rows(n=60, d=20, seed=0, rho=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.sqrt(1 - rho) + np.sqrt(rho) * rng.normal(size=(n, 1)) + 1
    y = X[:, :4] @ np.array([2.0, -1.0, 0.5, 1.0]) + rng.normal(size=n)
    return X, y, rng.uniform(0.5, 2, n)


@pytest.mark.parametrize("shape", [(60, 20), (25, 40), (12, 260)])
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("ratio", [1.0, 0.4])
def test_the_fit_is_that_of_plain_coordinate_descent(shape, positive, ratio):
    X, y, w = rows(*shape)
    model = ElasticNet(0.1, l1_ratio=ratio, positive=positive).fit(X, y, w)
    slow = slow_net(X, y, w, 0.1, ratio, positive=positive)
    # both stop where steps are rounding; their objectives agree to the last digits
    fast, other = (objective(X, y, w, c, 0.1, ratio) for c in (model.coef_, slow))
    assert fast <= other * (1 + 1e-12)
    assert_allclose(model.coef_, slow, atol=1e-8)


@pytest.mark.parametrize("shape", [(200, 20), (40, 600)])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("rho", [0.0, 0.95])
def test_no_column_at_zero_pulls_more_than_the_penalty(shape, sparse, rho):
    """B-100: |d loss / d w_j| <= lambda where w_j = 0, and equal to it elsewhere, against the sign; along a path."""
    X, y, w = rows(*shape, rho=rho)
    Z, t = centred(X, y, w)
    for alpha in np.abs(Z.T @ t).max() / w.sum() * np.array([0.5, 0.1, 0.02]):
        model = Lasso(alpha).fit(sp.csr_array(X) if sparse else X, y, w)
        pull = Z.T @ (t - Z @ model.coef_) / w.sum()
        on = model.coef_ != 0
        assert on.any() and not on.all()
        assert (np.abs(pull[~on]) <= alpha * (1 + 1e-8)).all()
        assert_allclose(pull[on], alpha * np.sign(model.coef_[on]), rtol=1e-7)
        assert model.dual_gap_ <= 1e-11 * (t @ t) / w.sum()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("l2", [0.0, 3.0])
def test_a_working_set_too_large_for_a_gram_matrix_is_solved_through_the_residual(sparse, l2):
    X, y, w = rows(40, 400)
    data = prepare_columns(sp.csr_array(X) if sparse else X, y[:, None], w, centred=True).problems[0]
    net = ElasticNetObjective(data, 2.0, l2)
    gram, residual = (
        minimise(net, np.zeros(400), CoordinateDescent(limit=limit), tol=1e-9 * data.target_square)
        for limit in (4096, 10)
    )
    assert residual.reason == "converged"
    assert residual.value == pytest.approx(gram.value, rel=1e-8)


@pytest.mark.parametrize("shape", [(200, 20), (40, 300)])
def test_the_gap_bounds_the_distance_to_the_minimum_from_any_point(shape):
    X, y, w = rows(*shape)
    data = prepare_columns(X, y[:, None], w, centred=True).problems[0]
    rng = np.random.default_rng(0)
    for l1, l2 in ((5.0, 0.0), (5.0, 2.0), (0.0, 2.0)):
        net = ElasticNetObjective(data, l1, l2)
        best = minimise(net, np.zeros(shape[1]), CoordinateDescent(), tol=1e-11 * data.target_square)
        for scale in (0.0, 0.01, 1.0):
            x = best.x + scale * rng.normal(size=shape[1]) * (rng.random(shape[1]) < 0.1)
            assert net.value(x) - best.value <= net.violation(x) + 1e-10 * data.target_square


def test_a_quadratic_model_has_strengths_of_its_own_for_each_coordinate():
    """The intercept of a proximal Newton step has no penalty: its gradient vanishes, that of the others is held."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(50, 12))
    G, q, l1 = A.T @ A, A.T @ rng.normal(size=50), np.append(np.full(11, 3.0), 0.0)
    x = solve_quadratic_net(GramQuadratic(G, q), l1, 0.5, np.zeros(12))
    g = q - G @ x - 0.5 * x
    assert_allclose(g[x != 0], l1[x != 0] * np.sign(x[x != 0]), atol=1e-10)
    assert (np.abs(g[x == 0]) <= 3.0 + 1e-10).all() and x[-1] != 0 and (x == 0).any()


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize(("l1", "l2"), [(3.0, 0.0), (1e-6, 0.0), (1e-6, 1e-6), (1e-3, 2.0)])
def test_a_wide_quadratic_has_the_same_minimum_through_its_columns_and_its_gram_matrix(l1, l2, positive):
    rng = np.random.default_rng(0)
    A, y = rng.normal(size=(30, 90)), rng.normal(size=30)
    through_columns = FactorQuadratic(np.ascontiguousarray(A.T), y)
    for quadratic in (through_columns, GramQuadratic(A.T @ A, A.T @ y)):
        x = solve_quadratic_net(quadratic, l1, l2, np.zeros(90), positive=positive)
        g = A.T @ (y - A @ x) - l2 * x
        # rounding of sums of 30 terms; a weak penalty holds no gradient far from zero
        assert_allclose(g[x != 0], l1 * np.sign(x[x != 0]), atol=1e-10)
        assert (g if positive else np.abs(g))[x == 0].max(initial=0.0) <= l1 + 1e-10
        assert not positive or x.min() >= 0


def test_copies_of_a_column_share_no_more_than_the_one_would_have():
    X, y, w = rows()
    double = np.column_stack([X, X[:, :4]])
    one, two = Lasso(0.1).fit(X, y, w), Lasso(0.1).fit(double, y, w)
    assert_allclose(one.predict(X), two.predict(double), atol=1e-6)
    mine, other = objective(X, y, w, one.coef_, 0.1, 1.0), objective(double, y, w, two.coef_, 0.1, 1.0)
    assert other == pytest.approx(mine, rel=1e-10)


def test_without_the_lasso_it_is_ridge_and_without_any_penalty_least_squares():
    X, y, w = rows()
    ridge = Ridge(0.3 * w.sum()).fit(X, y, w)
    assert_allclose(ElasticNet(0.3, l1_ratio=0.0).fit(X, y, w).coef_, ridge.coef_, rtol=1e-8)
    assert_allclose(Lasso(0.0).fit(X, y, w).coef_, LinearRegression().fit(X, y, w).coef_, rtol=1e-8)


def test_columns_of_any_unit_and_far_from_zero_are_fitted():
    """With the unit of the column the coefficient changes, and so does its penalty: weak enough, nothing else does."""
    X, y, w = rows(200, 5)
    units = np.array([1e-8, 1e-4, 1.0, 1e4, 1e8])
    model = Lasso(1e-16).fit(X * units, y, w)
    assert_allclose(model.coef_ * units, LinearRegression().fit(X, y, w).coef_, rtol=1e-4)
    near, far = Lasso(0.1).fit(X, y, w), Lasso(0.1).fit(X + 1e8, y, w)
    # columns at 1e8 are known to 1.5e-8
    assert_allclose(near.coef_, far.coef_, atol=1e-6)


def test_a_constant_target_needs_no_column():
    X, _, w = rows()
    model = Lasso(0.1).fit(X, np.full(len(X), 7.0), w)
    assert not model.coef_.any() and model.intercept_ == pytest.approx(7.0)


def test_a_warm_start_goes_on_from_what_was_found():
    X, y, w = rows(40, 600)
    model = Lasso(0.1, warm_start=True).fit(X, y, w)
    first = model.coef_
    again = model.fit(X, y, w)
    assert again.n_iter_ == 1
    assert_allclose(again.coef_, first, atol=1e-10)


def test_too_few_steps_are_warned_of():
    X, y, w = rows(300, 2000, rho=0.5)
    with pytest.warns(ConvergenceWarning, match=r"duality gap is .* after 1 steps.*raise max_iter"):
        Lasso(1e-3, max_iter=1).fit(X, y, w)


def test_from_the_largest_strength_on_every_coefficient_is_zero():
    X, y, _ = rows()
    X, y = X - X.mean(axis=0), y - y.mean()
    alphas, coefs, _ = lasso_path(X, y, alphas=5)
    assert alphas[0] == pytest.approx(np.abs(X.T @ y).max() / len(y))
    assert not coefs[:, 0].any() and coefs[:, 1].any()
    alphas, coefs, _ = enet_path(X, y, l1_ratio=0.5, alphas=5, positive=True)
    assert (coefs >= 0).all() and coefs.any() and not coefs[:, 0].any()


def test_float32_stays_float32():
    X, y, w = rows()
    model = Lasso(0.1).fit(X.astype(np.float32), y, w)
    assert model.coef_.dtype == model.predict(X.astype(np.float32)).dtype == np.float32
    assert_allclose(model.sparse_coef_.toarray()[0], model.coef_)


def test_one_target_is_refused_where_several_share():
    X, y, _ = rows()
    with pytest.raises(ValueError, match=r"For mono-task outputs, use Lasso"):
        MultiTaskLasso().fit(X, y)
    with pytest.raises(ValueError, match="positive=True is not allowed with several targets"):
        lasso_path(X, np.column_stack([y, y]), positive=True)
