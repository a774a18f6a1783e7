"""Quantile regression beside scikit-learn's linear program, which is exact."""

from inspect import signature

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn import linear_model as theirs

from fivefold.linear_model import HuberRegressor, LeastAbsoluteRegressor, QuantileRegressor
from fivefold.optim.design import Design
from fivefold.optim.dual.frisch_newton import FrischNewton, PiecewiseLinearRisk
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.losses.regression_losses import HuberLoss
from fivefold.optim.minimise import minimise
from fivefold.optim.smooth.lbfgs import LBFGS


def rows(n=120, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 1
    y = X @ rng.normal(size=d) + rng.standard_t(2, size=n) + 5
    return X, y, rng.uniform(0.5, 2, n)


def pinball(model, X, y, w, q, alpha):
    r = y - X @ model.coef_ - model.intercept_
    return float(w @ np.maximum(q * r, (q - 1) * r) / w.sum() + alpha * np.abs(model.coef_).sum())


def test_the_signature_is_the_same():
    mine, rival = (signature(cls).parameters.values() for cls in (QuantileRegressor, theirs.QuantileRegressor))
    assert [(p.name, p.default, p.kind) for p in mine] == [(p.name, p.default, p.kind) for p in rival]


# without a penalty any surface through all rows is a minimum where columns abound
@pytest.mark.parametrize(
    ("shape", "alpha"),
    [
        (shape, alpha)
        for shape in ((120, 4), (25, 40), (300, 12))
        for alpha in (0.0, 0.03, 1.0)
        if shape[0] > 25 or alpha
    ],
)
@pytest.mark.parametrize("q", [0.1, 0.5, 0.83])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_corner_is_the_same(shape, q, alpha, intercept):
    X, y, w = rows(*shape)
    model = QuantileRegressor(quantile=q, alpha=alpha, fit_intercept=intercept).fit(X, y, w)
    rival = theirs.QuantileRegressor(quantile=q, alpha=alpha, fit_intercept=intercept).fit(X, y, w)
    assert pinball(model, X, y, w, q, alpha) <= pinball(rival, X, y, w, q, alpha) * (1 + 1e-9)
    # weights are continuous, so the corner is unique
    assert_allclose(model.coef_, rival.coef_, atol=1e-6)
    assert_allclose(model.intercept_, rival.intercept_, atol=1e-6)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [1e-6, 1e-3, 0.1])
def test_a_wide_table_ends_at_a_proven_corner(alpha, intercept):
    """Weak penalties fit every row; the linear program's own tolerance is 1e-7."""
    X, y, w = rows(40, 150)
    model = QuantileRegressor(quantile=0.3, alpha=alpha, fit_intercept=intercept).fit(X, y, w)
    rival = theirs.QuantileRegressor(quantile=0.3, alpha=alpha, fit_intercept=intercept).fit(X, y, w)
    assert pinball(model, X, y, w, 0.3, alpha) <= pinball(rival, X, y, w, 0.3, alpha) * (1 + 1e-7)
    l1 = np.append(np.full(150, alpha * w.sum()), [0.0] * intercept)
    risk = PiecewiseLinearRisk(Design(X, intercept), y, -0.7 * w, 0.3 * w, l1, np.zeros(len(l1)))
    x = np.append(model.coef_, [model.intercept_] * intercept)
    assert risk.violation(x) < 1e-9 * w.sum()
    assert np.count_nonzero(model.coef_) <= 40
    away = x + 1e-3 * np.random.default_rng(0).normal(size=len(x))
    assert risk.violation(away) > 1e-2 * l1[0]  # no row is on its kink any more, nor is a coefficient zero


def test_sparse_rows_say_the_same():
    X, y, w = rows()
    X[X < 1] = 0
    dense, sparse = (QuantileRegressor(alpha=0.01).fit(given, y, w) for given in (X, sp.csr_array(X)))
    assert_allclose(dense.coef_, sparse.coef_, atol=1e-9)


@pytest.mark.parametrize("q", [0.2, 0.5, 0.9])
def test_a_share_of_the_rows_lies_below(q):
    """As many rows as coefficients are on the surface; the others are split as the quantile says."""
    X, y, _ = rows(400)
    r = y - QuantileRegressor(quantile=q, alpha=0).fit(X, y).predict(X)
    on = np.abs(r) < 1e-9
    assert on.sum() == 5
    assert (r[~on] < 0).sum() <= q * 400 <= (r[~on] < 0).sum() + 5


@pytest.mark.parametrize("ridge", [0.0, 3.0])
def test_least_absolute_deviations_meet_their_conditions(ridge):
    """A-37: signs of the residuals, and numbers between -1 and 1 where they are zero, balance the ridge."""
    X, y, w = rows()
    model = LeastAbsoluteRegressor(ridge=ridge).fit(X, y, w)
    design = Design(X, intercept=True)
    penalty = np.append(np.full(4, ridge), 0.0)
    risk = PiecewiseLinearRisk(design, y, -w, w, np.zeros(5), penalty)
    x = np.append(model.coef_, model.intercept_)
    # a subgradient of zero up to rounding of sums of 120 terms
    assert risk.violation(x) < 1e-10
    for direction in np.random.default_rng(0).normal(size=(20, 5)):
        assert risk.value(x + 1e-3 * direction) >= risk.value(x)


def test_a_small_epsilon_tends_to_least_absolute_deviations():
    """A-37: Huber's loss with a small fixed threshold d, over d, is |r| but for residuals below d."""
    X, y, w = rows()
    exact = LeastAbsoluteRegressor().fit(X, y, w)
    gaps = []
    for delta in (1.0, 0.1, 0.01):
        scaled = _fixed_huber(X, y, w, delta)
        gaps.append(np.abs(scaled - np.append(exact.coef_, exact.intercept_)).max())
    assert gaps[2] < 0.05 and gaps[2] < gaps[0]
    assert HuberRegressor(epsilon=1.0).fit(X, y, w).coef_ == pytest.approx(exact.coef_, abs=0.3)


def _fixed_huber(X, y, w, delta):
    risk = EmpiricalRisk(HuberLoss(delta), Design(X, intercept=True), y, w)
    return minimise(risk, np.zeros(X.shape[1] + 1), LBFGS(), tol=1e-9, max_iter=5000).x


def test_the_interior_point_method_ends_at_a_proven_corner():
    X, y, w = rows(2000, 8)
    risk = PiecewiseLinearRisk(Design(X, True), y, -0.3 * w, 0.7 * w, np.zeros(9), np.zeros(9))
    found = minimise(risk, np.zeros(9), FrischNewton(), tol=0.0, max_iter=100)
    assert found.reason == "converged" and found.steps < 40
    assert found.violation < 1e-9
    assert (np.abs(risk.residual(found.x)) < 1e-9).sum() == 9


def test_more_columns_than_rows_are_fitted_through_every_row():
    X, y, _ = rows(10, 30)
    model = LeastAbsoluteRegressor().fit(X, y)
    assert_allclose(model.predict(X), y, atol=1e-8)


def test_columns_of_any_unit_are_fitted():
    X, y, w = rows()
    units = np.array([1e-8, 1e-3, 1e3, 1e8])
    plain, scaled = LeastAbsoluteRegressor().fit(X, y, w), LeastAbsoluteRegressor().fit(X * units, y, w)
    assert_allclose(scaled.coef_ * units, plain.coef_, rtol=1e-7)


def test_a_constant_target_needs_no_column():
    X, _, w = rows()
    model = QuantileRegressor(alpha=0.1).fit(X, np.full(len(X), 7.0), w)
    assert_allclose(model.predict(X), 7.0, rtol=1e-9)
