"""Delta rule, online softmax, and units side by side."""

import numpy as np
import pytest
from oracles.sgd import softmax_pass
from scipy.sparse import csr_array
from sklearn.linear_model import LinearRegression

from fivefold.linear_model import DeltaRule, OnlineSoftmax
from fivefold.linear_model.online.delta_rule import initial_coefficients
from fivefold.optim.design import Design
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.losses.likelihood_losses import SoftmaxLoss
from fivefold.optim.minimise import minimise
from fivefold.optim.stochastic.gradient_rules import SGD
from fivefold.optim.stochastic.learning_rates import ConstantRate, InverseTimeDecay

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def rows(n=150, d=3, noise=0.3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X @ np.arange(1.0, d + 1) - 2 + noise * rng.normal(size=n)


def test_the_delta_rule_ends_at_least_squares():
    """E-153, D-273: eta falls; noisy rows, so the last steps leave an error of the size of eta times the noise."""
    X, y = rows()
    model = DeltaRule(eta0=0.1, t0=150.0, max_iter=400, tol=None, random_state=0).fit(X, y)
    exact = LinearRegression().fit(X, y)
    np.testing.assert_allclose(model.coef_, exact.coef_, atol=2e-3)
    np.testing.assert_allclose(model.intercept_, exact.intercept_, atol=2e-3)


def test_an_update_is_rate_times_error_times_input():
    """E-153: dw = eta (r - y) x."""
    X, y = rows(20)
    model = DeltaRule(eta0=0.05, t0=30.0, max_iter=2, tol=None, shuffle=False, random_state=1).fit(X, y)
    w = initial_coefficients(DeltaRule(random_state=1), 1, 4)[0]
    for t in range(1, 41):
        x = np.append(X[(t - 1) % 20], 1)
        w = w + 0.05 / (1 + (t - 1) / 30) * (y[(t - 1) % 20] - w @ x) * x
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), w, rtol=1e-10)


def test_in_one_column_the_unit_is_slope_and_intercept():
    """E-149: y = w x + w0."""
    x = np.linspace(-1, 1, 30)
    model = DeltaRule(tol=1e-14, random_state=0).fit(x[:, None], 3 * x - 1)
    np.testing.assert_allclose((model.coef_[0], model.intercept_), (3, -1), atol=1e-4)


def test_batch_descent_reaches_the_same_least_squares():
    """D-273, C-50: dE/dw = sum of (y - f) (-x)."""
    X, y = rows()
    from fivefold.optim.losses.regression_losses import SquaredLoss

    found = minimise(
        EmpiricalRisk(SquaredLoss(), Design(X), y, np.ones(150)),
        np.zeros(4),
        SGD(ConstantRate(0.3), batch=None),
        tol=1e-9,
        max_iter=2000,
    )
    exact = LinearRegression().fit(X, y)
    assert found.reason == "converged"
    np.testing.assert_allclose(found.x, np.append(exact.coef_, exact.intercept_), atol=1e-10)


def test_outputs_are_units_side_by_side():
    """E-151: y = W x, one row of W for each unit, each as if it were alone."""
    X, y = rows()
    Y = np.column_stack([y, -2 * y])
    both = DeltaRule(max_iter=30, tol=None, shuffle=False, random_state=0).fit(X, Y)
    assert both.coef_.shape == (2, 3) and both.predict(X).shape == (150, 2)
    np.testing.assert_allclose(both.predict(X), X @ both.coef_.T + both.intercept_)
    alone = DeltaRule(max_iter=30, tol=None, shuffle=False, random_state=0).fit(X, y)
    np.testing.assert_allclose(both.coef_[0], alone.coef_)  # the first unit starts from the same numbers


def test_softmax_of_units_is_the_forward_pass():
    """E-151: classes by the largest output, probabilities by softmax."""
    X, y = rows()
    codes = np.digitize(y, [-4, 0])
    model = OnlineSoftmax(max_iter=20, tol=None, random_state=0).fit(X, codes)
    eta = X @ model.coef_.T + model.intercept_
    e = np.exp(eta)
    np.testing.assert_allclose(model.predict_proba(X), e / e.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(model.predict_proba(X)))
    np.testing.assert_array_equal(model.predict(X), eta.argmax(axis=1))


@pytest.mark.parametrize("sparse", [False, True])
def test_softmax_updates_are_the_oracles(sparse):
    """E-154: eta (r - y) x for each class, from within 0.01 of zero."""
    X, y = rows(40)
    codes = np.digitize(y, [-4, 0])
    model = OnlineSoftmax(eta0=0.2, t0=50.0, max_iter=1, tol=None, shuffle=False, random_state=2)
    model.fit(csr_array(X) if sparse else X, codes)
    start = initial_coefficients(OnlineSoftmax(random_state=2), 3, 4)
    assert np.abs(start).max() <= 0.01
    W, b = softmax_pass(X, codes, start[:, :3], start[:, 3], InverseTimeDecay(0.2, 50.0).at, 1)
    np.testing.assert_allclose(model.coef_, W, rtol=1e-10)
    np.testing.assert_allclose(model.intercept_, b, rtol=1e-10)


def test_online_softmax_ends_at_the_optimum_of_the_batch():
    """E-154: the mean loss is within a thousandth of its minimum."""
    X, y = rows(noise=1.5)
    codes = np.digitize(y, [-4, 0])
    model = OnlineSoftmax(eta0=0.3, t0=300.0, max_iter=300, tol=None, random_state=0).fit(X, codes)
    risk = EmpiricalRisk(SoftmaxLoss(), Design(X), codes, np.full(150, 1 / 150), outputs=3)
    best = minimise(risk, np.zeros(12), SGD(ConstantRate(0.5 * 150), batch=None), tol=1e-7, max_iter=20000).value
    found = risk.value(np.column_stack([model.coef_, model.intercept_]).ravel())
    assert best <= found < 1.001 * best


@pytest.mark.parametrize("kind", [DeltaRule, OnlineSoftmax])
def test_parts_in_order_are_a_pass_over_the_whole(kind):
    X, y = rows(60)
    y = y if kind is DeltaRule else np.digitize(y, [-4, 0])
    classes = {} if kind is DeltaRule else {"classes": [0, 1, 2]}
    params = {"eta0": 0.05, "t0": 100.0, "shuffle": False, "random_state": 0}
    whole = kind(**params, max_iter=1, tol=None).fit(X, y)
    parts = kind(**params)
    for some in (slice(0, 25), slice(25, 60)):
        parts.partial_fit(X[some], y[some], **classes)
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-10)
    assert parts.t_ == whole.t_ == 61


def test_a_drifting_target_is_followed():
    """E-155: at a constant rate (t0 large) the unit forgets what no longer holds."""
    rng, model = np.random.default_rng(0), DeltaRule(eta0=0.05, t0=1e12, random_state=0)
    for step in range(40):
        X = rng.normal(size=(50, 2))
        model.partial_fit(X, X @ ([1.0, 0.0] if step < 20 else [0.0, 1.0]))
    np.testing.assert_allclose(model.coef_, [0, 1], atol=1e-6)
