"""Rates and stochastic rules of optim: their formulas, their special cases, and where they end."""

import numpy as np
import pytest

from fivefold.optim.design import Design
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.losses.margin_losses import HingeLoss, LogLoss
from fivefold.optim.losses.regression_losses import SquaredLoss
from fivefold.optim.minimise import minimise
from fivefold.optim.stochastic.gradient_rules import SGD, Adadelta, Adagrad, Adam, Nesterov, RMSProp, running_average
from fivefold.optim.stochastic.learning_rates import (
    AdaptiveRate,
    ConstantRate,
    InverseScalingRate,
    InverseTimeDecay,
    optimal_rate,
    reciprocal_rate,
    robbins_monro,
)

EVERY = [SGD, Nesterov, Adagrad, RMSProp, Adadelta, Adam]


def least_squares(n=60, d=3, noise=0.0, seed=0):
    rng = np.random.default_rng(seed)
    X, truth = rng.normal(size=(n, d)), rng.normal(size=d + 1)
    y = X @ truth[:d] + truth[d] + noise * rng.normal(size=n)
    exact = np.linalg.lstsq(np.column_stack([X, np.ones(n)]), y, rcond=None)[0]
    return EmpiricalRisk(SquaredLoss(), Design(X), y, np.ones(n)), exact


@pytest.mark.parametrize(
    ("rate", "travels", "settles"),
    [
        (ConstantRate(0.1), True, False),
        (AdaptiveRate(0.1), True, False),
        (InverseTimeDecay(0.5, 20.0), True, True),
        (InverseScalingRate(0.1, 0.25), True, False),
        (InverseScalingRate(0.1, 0.75), True, True),
        (InverseScalingRate(0.1, 1.5), False, True),
        (reciprocal_rate(0.01), True, True),
        (optimal_rate(1e-4), True, True),
        (lambda t: 1 / (3 + t), True, True),
        (lambda t: t**-0.5, True, False),
        (lambda t: 2.0**-t if t < 1000 else 0.0, False, True),
    ],
)
def test_the_conditions_of_robbins_and_monro_are_told_apart(rate, travels, settles):
    """C-41: sum of rates infinite, sum of squares finite."""
    found = robbins_monro(rate)
    assert (found.travels, found.settles, found.holds) == (travels, settles, travels and settles)


def test_rates_follow_their_formulas():
    t = np.arange(1, 6)
    np.testing.assert_array_equal(ConstantRate(0.3).at(t), [0.3] * 5)
    np.testing.assert_allclose(InverseTimeDecay(0.5, 4.0).at(t), 0.5 / (1 + (t - 1) / 4))
    np.testing.assert_allclose(InverseScalingRate(0.5, 0.25).at(t), 0.5 / t**0.25)
    np.testing.assert_allclose(reciprocal_rate(0.1).at(t), 1 / (0.1 * t))
    assert AdaptiveRate(0.5).lowered(0.5) == 0.1 and AdaptiveRate(0.5).lowered(1e-7) is None


def test_a_batch_of_all_rows_is_gradient_descent():
    """C-50, C-52: k = n steps along the mean gradient of all rows."""
    risk, _ = least_squares(noise=0.3)
    found = minimise(risk, np.zeros(4), SGD(rate=ConstantRate(0.1), batch=None), tol=0.0, max_iter=7)
    x = np.zeros(4)
    for _ in range(7):
        x = x - 0.1 * risk.gradient(x) / risk.n_terms
    np.testing.assert_allclose(found.x, x, rtol=1e-12)  # rounding: rows are added in another order


def test_a_batch_of_one_row_is_stochastic_gradient_descent():
    """C-51, C-52: k = 1 visits every row once an epoch, one step each."""
    risk, _ = least_squares(noise=0.3)
    rule = SGD(rate=InverseTimeDecay(0.1, 50.0), batch=1, shuffle=False)
    found = minimise(risk, np.zeros(4), rule, tol=0.0, max_iter=2)
    x, Z = np.zeros(4), np.column_stack([risk.design.X, np.ones(60)])
    for t in range(1, 121):
        i = (t - 1) % 60
        x = x - 0.1 / (1 + (t - 1) / 50) * (Z[i] @ x - risk.y[i]) * Z[i]
    np.testing.assert_allclose(found.x, x, rtol=1e-11)


def test_a_step_may_be_a_batch_and_the_points_are_the_same():
    risk, _ = least_squares(noise=0.3)
    rule = {"rate": ConstantRate(0.05), "batch": 20, "seed": 4}
    whole = minimise(risk, np.zeros(4), SGD(**rule), tol=0.0, max_iter=3)
    parts = minimise(risk, np.zeros(4), SGD(**rule, epoch=False), tol=0.0, max_iter=9)
    np.testing.assert_array_equal(whole.x, parts.x)


def test_an_epoch_visits_every_row_once_and_the_seed_decides_the_order():
    rule = SGD(batch=7, seed=3)
    batches = rule._batches(40, 0)
    assert sorted(np.concatenate(batches)) == list(range(40))
    assert max(map(len, batches)) == 7
    assert not np.array_equal(np.concatenate(batches), np.concatenate(rule._batches(40, 1)))
    np.testing.assert_array_equal(np.concatenate(batches), np.concatenate(SGD(batch=7, seed=3)._batches(40, 0)))


def test_sgd_with_a_falling_rate_ends_at_least_squares_and_with_a_constant_one_keeps_moving():
    """C-51, E-155: noisy rows. The error of a settled rule is a hundredth of the constant rule's."""
    risk, exact = least_squares(n=60, noise=0.5)
    gaps = {}
    for name, rate in (("falls", InverseTimeDecay(0.1, 100.0)), ("stays", ConstantRate(0.1))):
        gaps[name] = np.abs(minimise(risk, np.zeros(4), SGD(rate=rate), tol=0.0, max_iter=150).x - exact).max()
    assert gaps["falls"] < 2e-3 < 2e-2 < gaps["stays"]


def test_sgd_without_noise_converges():
    """E-155: on a convex problem that every row agrees on, a decreasing rate ends at the minimum."""
    risk, exact = least_squares()
    found = minimise(risk, np.zeros(4), SGD(rate=InverseTimeDecay(0.1, 1000.0)), tol=1e-8, max_iter=200)
    assert found.reason == "converged"
    np.testing.assert_allclose(found.x, exact, atol=1e-8)


def test_the_expected_step_is_the_gradient():
    """B-96: the mean over rows of the step is -(eta / n) times the gradient of the sum."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(30, 3)), rng.choice([-1.0, 1.0], size=30)
    risk, x = EmpiricalRisk(HingeLoss(), Design(X, intercept=False), y, np.ones(30), ridge=2.0), rng.normal(size=3)
    rule, still = SGD(rate=ConstantRate(0.1)), (np.zeros(3),)
    step = [rule.advance(lambda x, i=i: risk.batch(x, np.array([i])) / 30, x, still, 0.1, 1)[0] - x for i in range(30)]
    np.testing.assert_allclose(np.mean(step, axis=0), -0.1 / 30 * risk.gradient(x), rtol=1e-12)


def test_sgd_on_a_margin_loss_approaches_the_batch_optimum_for_any_number_of_rows():
    """B-96: rate eta0 / (1 + t / t0), penalty lambda / n a row; more rows at the same time are no worse."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=4)
    gaps = []
    for n in (500, 2000):
        X = rng.normal(size=(n, 4))
        y = np.where(X @ truth + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
        risk = EmpiricalRisk(LogLoss(), Design(X, intercept=False), y, np.full(n, 1 / n), ridge=0.01)
        best = minimise(risk, np.zeros(4), SGD(rate=ConstantRate(1.0 * n), batch=None), tol=1e-9, max_iter=5000).value
        steps = 4000 // n  # the same number of rows seen
        found = minimise(risk, np.zeros(4), SGD(rate=InverseTimeDecay(n * 1.0, 100.0)), tol=0.0, max_iter=steps)
        gaps.append(found.value / best - 1)
    assert max(gaps) < 0.01


@pytest.mark.parametrize("rule", [SGD(momentum=0.0), SGD(momentum=0.0, form="classic"), Nesterov(momentum=0.0)])
def test_no_momentum_is_plain_descent(rule):
    """C-54."""
    risk, _ = least_squares(noise=0.2)
    plain = minimise(risk, np.zeros(4), SGD(), tol=0.0, max_iter=3)
    np.testing.assert_array_equal(minimise(risk, np.zeros(4), rule, tol=0.0, max_iter=3).x, plain.x)


def test_momentum_of_the_text_is_a_running_mean_of_gradients():
    """C-54: M <- gamma M + (1 - gamma) g from zero; the classic form is the same at a rate 1 / (1 - gamma) as large."""
    risk, _ = least_squares(noise=0.2)
    text = minimise(risk, np.zeros(4), SGD(rate=ConstantRate(0.1), momentum=0.8), tol=0.0, max_iter=3)
    classic = SGD(rate=ConstantRate(0.02), momentum=0.8, form="classic")
    np.testing.assert_allclose(minimise(risk, np.zeros(4), classic, tol=0.0, max_iter=3).x, text.x, rtol=1e-10)


@pytest.mark.parametrize("inside", [True, False])
def test_rmsprop_does_not_see_the_scale_of_gradients(inside):
    """C-55: with eps -> 0 the steps stay the same when each coordinate of the gradient is scaled."""
    rule, scale = RMSProp(eps=1e-300, eps_inside_root=inside), np.array([1e-3, 1.0, 1e3])
    x, y, moments, scaled = np.zeros(3), np.zeros(3), (np.zeros(3),), (np.zeros(3),)
    rng = np.random.default_rng(0)
    for t in range(1, 6):
        g = rng.normal(size=3)
        x, moments = rule.advance(lambda x, g=g: g, x, moments, 0.01, t)
        y, scaled = rule.advance(lambda x, g=g: scale * g, y, scaled, 0.01, t)
    np.testing.assert_allclose(x, y, rtol=1e-12)


def test_the_eps_of_rmsprop_stands_where_it_is_put():
    """C-55: alpha / sqrt(V + eps), or alpha / (sqrt(V) + eps)."""
    g = np.array([2.0])
    for inside, size in ((True, np.sqrt(0.4 + 0.25)), (False, np.sqrt(0.4) + 0.25)):
        x, (V,) = RMSProp(decay=0.9, eps=0.25, eps_inside_root=inside).advance(
            lambda x: g, np.zeros(1), (np.zeros(1),), 0.1, 1
        )
        np.testing.assert_allclose((V[0], x[0]), (0.4, -0.1 * 2 / size))


def test_rates_of_adagrad_never_rise():
    """C-56: eta / sqrt(V) with V a sum of squares; Adadelta's rise and fall, by the text's formula."""
    rng, x, moments, sizes = np.random.default_rng(0), np.zeros(2), (np.zeros(2),), []
    for t in range(1, 30):
        g = rng.normal(size=2)
        x, moments = Adagrad().advance(lambda x, g=g: g, x, moments, 0.1, t)
        sizes.append(0.1 / np.sqrt(moments[0]))
    assert (np.diff(sizes, axis=0) <= 0).all()
    x, moments, V, U, by_hand = np.zeros(2), (np.zeros(2),) * 2, 0.0, 0.0, np.zeros(2)
    for t in range(1, 30):
        g = rng.normal(size=2)
        x, moments = Adadelta().advance(lambda x, g=g: g, x, moments, 1.0, t)
        V = 0.95 * V + 0.05 * g**2
        step = np.sqrt(U + 1e-6) / np.sqrt(V + 1e-6) * g
        U, by_hand = 0.95 * U + 0.05 * step**2, by_hand - step
        np.testing.assert_allclose(x, by_hand, rtol=1e-12)


def test_adadelta_steps_in_the_units_of_x():
    """C-56: the first step is sqrt(eps) / sqrt((1 - gamma) g^2 + eps) g; no rate is asked for."""
    g = np.array([3.0])
    x, (V, U) = Adadelta().advance(lambda x: g, np.zeros(1), (np.zeros(1),) * 2, 1.0, 1)
    step = np.sqrt(1e-6) / np.sqrt(0.05 * 9 + 1e-6) * 3
    np.testing.assert_allclose((x[0], V[0], U[0]), (-step, 0.45, 0.05 * step**2))


def test_adam_starts_with_a_step_of_its_rate_and_its_means_are_without_bias():
    """C-57: a constant gradient: both corrected means equal it, so every step is the rate."""
    g, x, moments = np.array([0.3, -40.0]), np.zeros(2), (np.zeros(2),) * 3
    for t in range(1, 8):
        x, moments = Adam().advance(lambda x: g, x, moments, 0.01, t)
        np.testing.assert_allclose(moments[0] / (1 - 0.9**t), g, rtol=1e-12)
        np.testing.assert_allclose(moments[1] / (1 - 0.999**t), g**2, rtol=1e-12)
        np.testing.assert_allclose(x, -0.01 * t * np.sign(g), rtol=1e-6)  # eps under the root: 1e-8 / 0.09


def test_amsgrad_never_lets_the_size_fall():
    rng, x, moments, sizes = np.random.default_rng(0), np.zeros(1), (np.zeros(1),) * 3, []
    for t in range(1, 50):
        g = rng.normal(size=1) * (10 if t == 5 else 1)
        x, moments = Adam(amsgrad=True, decay=0.5).advance(lambda x, g=g: g, x, moments, 0.01, t)
        sizes.append(moments[2][0])
    assert (np.diff(sizes) >= 0).all()


@pytest.mark.parametrize("kind", EVERY)
def test_every_rule_lowers_a_convex_risk_most_of_the_way(kind):
    risk, exact = least_squares(noise=0.1)
    rate = {SGD: InverseTimeDecay(0.1, 100.0), Nesterov: InverseTimeDecay(0.02, 100.0), Adagrad: ConstantRate(0.5)}.get(
        kind
    )
    rule = kind(batch=10) if rate is None else kind(batch=10, rate=rate)
    least = risk.value(exact)
    found = minimise(risk, np.zeros(4), rule, tol=0.0, max_iter=150)
    assert found.value - least < 0.15 * (found.history[0] - least)


def test_the_mean_of_the_points_is_steadier_than_the_last():
    """Polyak & Juditsky: at a constant rate the last point keeps its noise, the mean loses it."""
    risk, exact = least_squares(n=100, noise=1.0)
    last, mean = (
        minimise(risk, np.zeros(4), SGD(rate=ConstantRate(0.1), average=average), tol=0.0, max_iter=30).x
        for average in (False, True)
    )
    assert np.linalg.norm(mean - exact) < 0.5 * np.linalg.norm(last - exact)


def test_a_rate_too_large_is_reported_as_divergence():
    risk, _ = least_squares()
    found = minimise(risk, np.zeros(4), SGD(rate=ConstantRate(10.0)), tol=1e-9, max_iter=500)
    assert found.reason == "diverged" and np.isfinite(found.x).all()


def test_running_averages_are_geometric_and_arithmetic_means():
    """C-53: mbar = gamma mbar + (1 - gamma) m."""
    m = np.random.default_rng(0).normal(size=(12, 2))
    np.testing.assert_allclose(running_average(m), np.cumsum(m, axis=0) / np.arange(1, 13)[:, None], rtol=1e-12)
    k = np.arange(12)
    direct = [(0.3 * 0.7 ** (i - k[: i + 1]))[:, None] * m[: i + 1] for i in k]
    np.testing.assert_allclose(running_average(m, 0.7), [part.sum(axis=0) for part in direct], rtol=1e-12)
