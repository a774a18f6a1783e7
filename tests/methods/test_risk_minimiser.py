"""Identities of the risk minimisers. Smooth solvers stop at 1e-9 of the first gradient, kinks are solved exactly."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from fivefold.linear_model import (
    LeastSquaresClassifier,
    LinearRegression,
    Ridge,
    RidgeClassifier,
    RiskMinimiserClassifier,
    RiskMinimiserRegressor,
)
from fivefold.optim.design import Design
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.losses import catalogue
from fivefold.optim.losses.margin_losses import MarginLoss
from fivefold.optim.risk_minimisation.kink_smoothing import minimise_kinked


def numbers(n=80, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 1
    return X, X @ rng.normal(size=d) + rng.standard_t(2, size=n)


def classes(n=120, d=5, seed=0):
    X, y = numbers(n, d, seed)
    return X, (y > np.median(y)).astype(int)


def test_squared_loss_is_least_squares_and_with_a_penalty_ridge():
    """A-30, D-291."""
    X, y = numbers()
    plain = RiskMinimiserRegressor(penalty=None).fit(X, y)
    assert_allclose(plain.coef_, LinearRegression().fit(X, y).coef_, rtol=1e-7)
    ridge = RiskMinimiserRegressor(alpha=2.0).fit(X, y)  # squares are halved, and so is the penalty
    assert_allclose(ridge.coef_, Ridge(2.0).fit(X, y).coef_, rtol=1e-7)


def test_squared_margins_are_ridge_on_labels():
    """B-92, B-93: (y - s)^2 = (1 - m)^2 for y = -1, +1."""
    X, y = classes()
    model = RiskMinimiserClassifier("squared", alpha=3.0).fit(X, y)
    ridge = Ridge(3.0).fit(X, 2.0 * y - 1)
    assert_allclose(model.coef_[0], ridge.coef_, rtol=1e-7)
    assert_allclose(model.decision_function(X), ridge.predict(X), atol=1e-7)
    for classifier in (RidgeClassifier(3.0), LeastSquaresClassifier(alpha=3.0)):
        rows = classifier.fit(X, y).decision_function(X)
        assert_allclose(rows, ridge.predict(X), atol=1e-7)
        assert (classifier.predict(X) == (ridge.predict(X) > 0)).all()


def test_log_loss_is_logistic_regression():
    """A-30, B-92."""
    X, y = classes()
    rival = LogisticRegression(C=0.5, tol=1e-10, max_iter=1000).fit(X, y)
    model = RiskMinimiserClassifier("log", alpha=2.0).fit(X, y)
    assert_allclose(model.coef_, rival.coef_, atol=1e-6)
    assert_allclose(model.predict_proba(X), rival.predict_proba(X), atol=1e-6)
    y3 = y + (X[:, 0] > 1.5)
    softmax = RiskMinimiserClassifier("softmax", alpha=2.0).fit(X, y3)
    assert_allclose(
        softmax.predict_proba(X),
        LogisticRegression(C=0.5, tol=1e-10, max_iter=1000).fit(X, y3).predict_proba(X),
        atol=1e-5,
    )


def test_hinge_is_the_support_vector_machine():
    """A-30, B-92: the objective is no higher than liblinear's, which penalises the offset: without one they agree."""
    X, y = classes()
    w = np.random.default_rng(1).integers(1, 4, len(X)).astype(float)
    model = RiskMinimiserClassifier("hinge", fit_intercept=False).fit(X, y, sample_weight=w)
    rival = LinearSVC(loss="hinge", fit_intercept=False, tol=1e-10, max_iter=200_000, random_state=0).fit(
        X, y, sample_weight=w
    )
    risk = EmpiricalRisk(catalogue.HingeLoss(), Design(X, intercept=False), 2.0 * y - 1, w, 1.0)
    assert risk.value(model.coef_[0]) <= risk.value(rival.coef_[0]) * (1 + 1e-9)
    assert_allclose(model.coef_, rival.coef_, atol=1e-5)


def test_one_point_and_the_hinge_in_closed_form():
    """B-92: a point a > 0 of the positive class: w = min(1 / a, a / lambda)."""
    for a, strength in ((0.5, 1.0), (2.0, 1.0), (1.5, 4.0)):
        risk = EmpiricalRisk(
            catalogue.HingeLoss(), Design(np.array([[a]]), intercept=False), np.ones(1), np.ones(1), strength
        )
        assert minimise_kinked(risk, np.zeros(1)).x[0] == pytest.approx(min(1 / a, a / strength), rel=1e-9)


def programme(X, y, s, q, lasso):
    """Least weighted quantile loss by linear programming: y = X(p - m) + u - v, all parts positive."""
    n, d = X.shape
    cost = np.r_[np.full(2 * d, lasso), s * q, s * (1 - q)]
    A = np.hstack([X, -X, np.eye(n), -np.eye(n)])
    return linprog(cost, A_eq=A, b_eq=y, bounds=(0, None)).fun


@pytest.mark.parametrize("lasso", [0.0, 5.0])
@pytest.mark.parametrize(
    ("loss", "q", "times"), [(catalogue.AbsoluteLoss(), 0.5, 2.0), (catalogue.QuantileLoss(0.3), 0.3, 1.0)]
)
@pytest.mark.parametrize("shape", [(60, 3), (20, 30), (300, 8)])
def test_kinks_end_at_the_vertex_that_linear_programming_finds(shape, loss, q, times, lasso):
    """A-30, D-267."""
    X, y = numbers(*shape)
    s = np.random.default_rng(2).integers(1, 4, len(y)).astype(float)
    found = minimise_kinked(EmpiricalRisk(loss, Design(X, intercept=False), y, s), np.zeros(shape[1]), lasso=lasso)
    assert found.reason == "converged"
    # simplex and saddle solve are exact up to rounding of the programme's own 1e-7 feasibility
    assert found.value == pytest.approx(times * programme(X, y, s, q, lasso / times), rel=1e-8, abs=1e-6)


def test_units_do_not_matter_to_least_absolute_deviations():
    X, y = numbers()
    units = 10.0 ** np.linspace(-8, 8, 5)
    near = RiskMinimiserRegressor("absolute", penalty=None).fit(X, y)
    far = RiskMinimiserRegressor("absolute", penalty=None).fit(X * units, y)
    assert_allclose(far.coef_ * units, near.coef_, rtol=1e-7)


@pytest.mark.parametrize(
    ("loss", "strength"), [("log", 20.0), ("squared", 40.0), ("squared_hinge", 80.0), ("hinge", 40.0), ("probit", 30.0)]
)
def test_l1_leaves_gradients_below_its_strength_at_zeros(loss, strength):
    """B-100: |d loss / d w_j| <= lambda where w_j = 0, = lambda elsewhere."""
    X, y = classes(200, 12)
    model = RiskMinimiserClassifier(loss, penalty="l1", alpha=strength).fit(X, y)
    w = model.coef_[0]
    assert 0 < np.count_nonzero(w) < 12
    if loss != "hinge":
        from fivefold.linear_model.risk_minimiser import CLASSIFIER_LOSSES

        t = 2.0 * y - 1
        g = X.T @ CLASSIFIER_LOSSES[loss].slope(t, model.decision_function(X))
        assert np.all(np.abs(g[w == 0]) <= strength * (1 + 1e-6))
        assert_allclose(g[w != 0], -strength * np.sign(w[w != 0]), rtol=1e-5)


@dataclass(frozen=True)
class Cubed(MarginLoss):
    """max(0, 1 - m)^3: smooth, and without a second derivative written down."""

    def at(self, m):
        return np.maximum(1 - m, 0.0) ** 3

    def slope_at(self, m):
        return -3 * np.maximum(1 - m, 0.0) ** 2


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_a_loss_of_ones_own_is_minimised(penalty):
    """B-92, D-267: value and slope are enough."""
    X, y = classes()
    model = RiskMinimiserClassifier(Cubed(), penalty=penalty, tol=1e-8, max_iter=20_000).fit(X, y)
    risk = EmpiricalRisk(Cubed(), Design(X), 2.0 * y - 1, np.ones(len(y)))
    x = np.r_[model.coef_[0], model.intercept_]
    g = risk.gradient(x)[:5]
    expected = -x[:5] if penalty == "l2" else -np.sign(x[:5])
    assert_allclose(g, expected, atol=1e-4)


def test_losses_for_judging_are_refused():
    with pytest.raises(ValueError, match="can only be used to evaluate"):
        RiskMinimiserClassifier(catalogue.ZeroOneLoss()).fit(*classes())
