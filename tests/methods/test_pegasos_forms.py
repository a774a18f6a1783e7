"""Pegasos: both forms, its oracle, its optimum."""

import numpy as np
import pytest
from oracles.sgd import pegasos
from scipy.sparse import csr_array

from fivefold.linear_model import Pegasos
from fivefold.linear_model.online.pegasos import PegasosDual, PegasosPrimal
from fivefold.optim.design import Design
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.losses.margin_losses import HingeLoss
from fivefold.optim.minimise import minimise


def problem(n=80, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X @ rng.normal(size=d) + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    return X, y, rng.integers(n, size=500)


def risk_of(X, y, strength, intercept=False):
    return EmpiricalRisk(HingeLoss(), Design(X, intercept), y, np.full(len(y), 1 / len(y)), ridge=strength)


def test_the_subgradient_of_the_objective_is_its_derivative_off_the_kink():
    """D-294: lambda/2 |w|^2 + mean hinge; finite differences, central, error of order 1e-9."""
    X, y, _ = problem()
    risk, w = risk_of(X, y, 0.1), np.array([0.3, -0.2, 0.5, 0.1])
    numeric = [(risk.value(w + e) - risk.value(w - e)) / 2e-6 for e in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(risk.gradient(w), numeric, atol=1e-8)
    one = risk_of(X[:1], y[:1], 0.1)
    wrong = y[0] * (w @ X[0]) < 1
    np.testing.assert_allclose(one.gradient(w), 0.1 * w - wrong * y[0] * X[0])


@pytest.mark.parametrize("sparse", [False, True])
def test_the_primal_form_is_the_oracle_step_by_step(sparse):
    """D-296: eta = 1 / (lambda t); w_{t+1} is the sum of violating y x over lambda t."""
    X, y, draws = problem()
    path = pegasos(X, y, 0.05, draws)
    risk = risk_of(csr_array(X) if sparse else X, y, 0.05)
    found = minimise(risk, np.zeros(4), PegasosPrimal(draws, batch=1), tol=0.0, max_iter=500, record=True)
    np.testing.assert_allclose(np.array(found.path[1:]), path, rtol=1e-9, atol=1e-12)
    mean = minimise(risk, np.zeros(4), PegasosPrimal(draws, average=True, batch=100), tol=0.0, max_iter=5)
    np.testing.assert_allclose(mean.x, path[250:].mean(axis=0), rtol=1e-9)


@pytest.mark.parametrize("intercept", [False, True])
def test_the_dual_form_gives_the_same_coefficients(intercept):
    """D-297 and worked example C-35 of catalogue D: the same draws, scale 1 / (lambda (t - 1)) inside the test."""
    X, y, draws = problem()
    risk = risk_of(X, y, 0.05, intercept)
    size = 4 + intercept
    a, b = (
        minimise(risk, np.zeros(size), rule(draws, batch=7), tol=0.0, max_iter=80, record=True).path
        for rule in (PegasosPrimal, PegasosDual)
    )
    np.testing.assert_allclose(np.array(b), np.array(a), rtol=1e-9, atol=1e-12)


def test_the_printed_scale_is_only_close():
    """D-297: with 1 / (lambda t) inside the test other rows are counted."""
    X, y, draws = problem()
    G, a = X @ X.T, np.zeros(80)
    for t, i in enumerate(draws, start=1):
        a[i] += y[i] * (G[i] @ (a * y)) / (0.05 * t) < 1
    printed = (a * y) @ X / (0.05 * len(draws))
    exact = pegasos(X, y, 0.05, draws)[-1]
    gap = np.linalg.norm(printed - exact) / np.linalg.norm(exact)
    assert 0 < gap < 0.2


def test_the_estimator_is_the_same_in_both_forms():
    X, y, _ = problem()
    a, b = (Pegasos(form=form, n_draws=2000, random_state=3).fit(X, y) for form in ("primal", "dual"))
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-9)
    np.testing.assert_allclose(a.intercept_, b.intercept_, rtol=1e-9)


def test_the_objective_approaches_that_of_the_quadratic_program():
    """D-296: within a percent of the optimum that scikit-learn's dual solver finds for the penalised intercept."""
    from sklearn.svm import LinearSVC

    X, y, _ = problem(400)
    strength = 0.01
    exact = LinearSVC(
        loss="hinge", C=1 / (strength * 400), intercept_scaling=1.0, tol=1e-8, max_iter=10**6, random_state=0
    ).fit(X, y)
    risk = risk_of(X, y, strength, intercept=True)
    best = risk.value(np.append(exact.coef_, exact.intercept_))
    for average in (False, True):
        model = Pegasos(alpha=strength, n_draws=200_000, average=average, random_state=0).fit(X, y)
        assert best * (1 - 1e-6) <= risk.value(np.append(model.coef_, model.intercept_)) < 1.01 * best


def test_too_many_rows_for_the_dual_are_refused_with_the_cure():
    with pytest.raises(ValueError, match="takes at most 8000 rows; X has 8001. form='primal' gives the same answer"):
        Pegasos(form="dual", random_state=0).fit(np.zeros((8001, 1)), np.arange(8001) % 2)
    with pytest.raises(ValueError, match="average=True goes with form='primal'"):
        Pegasos(form="dual", average=True, random_state=0).fit(np.eye(2), [0, 1])
