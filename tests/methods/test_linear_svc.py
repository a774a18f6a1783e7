"""What the laws cannot say about linear support vector machines: the problem they solve, and its optimality."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracles.linear_svc import objective, smooth_minimum
from sklearn.exceptions import ConvergenceWarning

from fivefold.linear_model.geometry.hyperplane import functional_margins, soft_error
from fivefold.optim.design import Design
from fivefold.optim.dual.box_dual import BoxDual, polish
from fivefold.optim.dual.dual_coordinate_descent import DualCoordinateDescent
from fivefold.optim.dual.interior_point import InteriorPoint
from fivefold.optim.dual.projected_newton import ProjectedNewton
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.losses.margin_losses import HingeLoss, SquaredHingeLoss
from fivefold.optim.losses.regression_losses import InsensitiveLoss, SquaredInsensitiveLoss
from fivefold.optim.minimise import minimise
from fivefold.optim.risk_minimisation.linear_svm_solvers import solve_svm
from fivefold.svm import LinearSVC, LinearSVR


def table(n=80, d=3, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(n, d))
    f = X @ rng.normal(size=d)
    return X, np.where(f + rng.normal(size=n) > 0, 1.0, -1.0), f + rng.normal(size=n)


def risk_of(loss):
    X, y, t = table()
    return EmpiricalRisk(loss, Design(X), y if loss.kind == "margin" else t, np.ones(len(X)), np.ones(4))


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("a", [0.2, 0.9, 3.0])
@pytest.mark.parametrize("C", [0.1, 2.0])
def test_one_point_has_the_closed_form(a, C, power):
    """B-87: points +a and -a of two classes, no intercept, lambda = 1 / C: each pulls w to min(1 / a, 2 C a) with the
    hinge, and to 4 C a / (1 + 4 C a^2) with its square."""
    loss = {1: "hinge", 2: "squared_hinge"}[power]
    model = LinearSVC(loss=loss, C=C, fit_intercept=False, random_state=0).fit([[a], [-a]], [1, 0])
    expected = min(1 / a, 2 * C * a) if power == 1 else 4 * C * a / (1 + 4 * C * a * a)
    assert_allclose(model.coef_[0, 0], expected, rtol=1e-9)


def test_the_multipliers_of_the_hinge_meet_the_conditions_of_optimality():
    """B-87, eq 5.19: w = sum a_i z_i with 0 <= y a <= C, y a = C inside the margin and 0 beyond it."""
    dual = BoxDual(risk_of(HingeLoss()))
    a, x = polish(dual, minimise(dual, np.zeros(80), InteriorPoint(), tol=1e-9).x)
    m = dual.risk.y * dual.risk.design.predictor(x)
    own = a * dual.risk.y
    assert_allclose(own[m < 1 - 1e-7], 1.0)
    assert_allclose(own[m > 1 + 1e-7], 0.0)
    assert ((own >= 0) & (own <= 1)).all()
    assert_allclose(x, dual.risk.design.transpose(a), atol=1e-12)


@pytest.mark.parametrize(
    "solver", [InteriorPoint(), DualCoordinateDescent(), ProjectedNewton()], ids=lambda s: type(s).__name__
)
@pytest.mark.parametrize("loss", [HingeLoss(), InsensitiveLoss(0.0), InsensitiveLoss(0.4)], ids=repr)
def test_the_dual_solvers_close_the_gap_of_a_loss_with_a_corner(loss, solver):
    dual = BoxDual(risk_of(loss))
    found = minimise(dual, np.zeros(80), solver, tol=1e-8, max_iter=2000)
    assert found.reason == "converged"
    # recomputed from the conjugates of the loss, which the solvers do not use
    s, y = dual.risk.s, dual.risk.y
    terms = dual.terms
    a = np.clip(found.x, terms.low, terms.high)
    by_hand = 0.5 * dual.primal(a) @ dual.primal(a) + np.sum(s * loss.conjugate(y, -a / s))
    assert 0 <= by_hand + dual.risk.value(dual.primal(a)) <= 2e-8


@pytest.mark.parametrize("kind", ["plain", "shifted", "repeated", "dependent"])
@pytest.mark.parametrize("loss", [HingeLoss(), InsensitiveLoss(0.0), InsensitiveLoss(0.4)], ids=repr)
def test_a_wide_table_has_the_minimum_of_the_interior_point_method(loss, kind):
    """Also where rows repeat or depend on others, and the Gram matrix of the rows is singular."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 90))
    X = {"plain": X, "shifted": X + 10.0, "repeated": X[np.arange(40) % 25], "dependent": X[:, :12] @ X[:12]}[kind]
    t = X @ rng.normal(size=90) / 9 + rng.normal(size=40)
    y = np.where(t > np.median(t), 1.0, -1.0) if loss.kind == "margin" else t
    for C in (1e-3, 0.1, 10.0):
        risk = EmpiricalRisk(loss, Design(X), y, C * rng.uniform(0.5, 2.0, 40), np.ones(91))
        dual = BoxDual(risk)
        _, expected = polish(dual, minimise(dual, np.zeros(40), InteriorPoint(), tol=1e-9 * C).x)
        found = solve_svm(risk, 1e-4, 1000, 0, None)
        assert found.reason == "converged"
        assert risk.value(found.x) <= risk.value(expected) * (1 + 1e-9)
        # both within a gap of 1e-9 of the value at zero, and the penalty makes the minimum unique
        assert_allclose(found.x, expected, atol=2 * np.sqrt(2e-9 * risk.value(np.zeros(91))))


@pytest.mark.parametrize("solver", [DualCoordinateDescent(), ProjectedNewton()], ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("loss", [SquaredHingeLoss(), SquaredInsensitiveLoss(0.2)], ids=repr)
def test_the_dual_solvers_take_squared_losses(loss, solver):
    risk = risk_of(loss)
    dual = BoxDual(risk)
    found = minimise(dual, np.zeros(80), solver, tol=1e-10, max_iter=2000)
    expected = smooth_minimum(risk.value, 4)
    assert_allclose(dual.primal(found.x), expected, atol=1e-4)  # what finite differences leave
    assert found.violation <= 1e-10


@pytest.mark.parametrize("loss", ["squared_hinge"])
def test_the_classifier_is_the_minimum_of_what_is_written_down(loss):
    X, y, _ = table()
    model = LinearSVC(loss=loss, C=0.7, intercept_scaling=2.0, random_state=0).fit(X, y)
    expected = smooth_minimum(lambda v: objective(v[:3], v[3], X, y, 0.7, 2, scaling=2.0), 4)
    assert_allclose([*model.coef_[0], *model.intercept_], expected, atol=1e-5)  # of finite differences


def test_the_fraction_of_negative_margins_is_the_training_error():
    """B-84, and E-262: the soft error and its counts agree with the predictions."""
    X, y, _ = table(300)
    model = LinearSVC(random_state=0).fit(X, y)
    m = functional_margins(model, X, y)
    wrong = model.predict(X) != y
    assert ((m < 0) | ((m == 0) & (y == 1)) == wrong).all()
    found = soft_error(m)
    assert found.wrong == wrong.sum()
    assert found.inside == (m < 1).sum() >= found.wrong
    assert_allclose(found.total, objective(model.coef_, model.intercept_[0], X, y, 1.0, 1) - 0.5 * (
        model.coef_[0] @ model.coef_[0] + model.intercept_[0] ** 2
    ))  # fmt: skip


def test_the_scaled_objective_and_its_subgradient():
    """D-294: lambda / 2 |w|^2 + mean of the hinges is C times smaller than the usual form, lambda = 1 / (C m), and the
    mean of the one-example subgradients is its derivative away from the kinks."""
    X, y, _ = table()
    C, m = 0.5, len(X)
    lam, w = 1 / (C * m), np.array([0.3, -0.2, 0.1])

    def value(w):
        return 0.5 * lam * w @ w + np.mean(HingeLoss().value(y, X @ w))

    assert_allclose(value(w) / lam, 0.5 * w @ w + C * np.sum(np.maximum(1 - y * (X @ w), 0)))
    by_examples = np.mean([lam * w - (yi * (xi @ w) < 1) * yi * xi for xi, yi in zip(X, y, strict=True)], axis=0)
    risk = EmpiricalRisk(HingeLoss(), Design(X, intercept=False), y, np.full(m, 1 / m), lam)
    assert_allclose(risk.gradient(w), by_examples)
    h = 1e-7  # no margin lies within it of one
    differences = [(value(w + h * e) - value(w - h * e)) / (2 * h) for e in np.eye(3)]
    assert_allclose(by_examples, differences, atol=1e-7)


def test_most_coefficients_are_zero_under_the_absolute_penalty():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(200, 30))
    y = (X[:, 0] - X[:, 1] > 0).astype(int)
    model = LinearSVC(penalty="l1", C=0.05, random_state=0).fit(X, y)
    assert set(np.flatnonzero(model.coef_[0])) >= {0, 1}
    assert np.count_nonzero(model.coef_) <= 10


def test_a_few_wild_targets_do_not_bend_the_default_regressor():
    x = np.arange(20.0)[:, None]
    t = 2 * x[:, 0] + 1
    t[[3, 11]] = 500
    model = LinearSVR(C=1000, random_state=0).fit(x, t)
    assert_allclose([model.coef_[0], model.intercept_[0]], [2, 1], atol=1e-4)


def test_too_few_steps_are_said():
    X, y, _ = table(20_000)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=1 steps were not enough for tol=1e-12"):
        LinearSVC(max_iter=1, tol=1e-12, random_state=0).fit(X, y)


def test_the_problem_that_is_not_solved_is_refused():
    with pytest.raises(ValueError, match="squared_hinge"):
        LinearSVC(penalty="l1", loss="hinge", random_state=0).fit([[0.0], [1.0]], [0, 1])


def test_separable_data_and_dependent_columns_have_a_finite_answer():
    X, y, _ = table()
    X = np.column_stack([X, X[:, 0], np.ones(len(X))])
    y = np.where(X[:, 0] > 0, 1, -1)
    for settings in ({}, {"loss": "hinge"}, {"penalty": "l1"}):
        model = LinearSVC(C=1e4, **settings).fit(X, y)
        assert np.isfinite(model.coef_).all()
        assert (model.predict(X) == y).all()
