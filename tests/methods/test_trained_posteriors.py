"""Posteriors that are trained by their PAC-Bayes bound: the bound, the optimum, what the certificate may depend on."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import norm
from sklearn.datasets import load_breast_cancer, load_digits, load_iris

from fivefold.linear_model import ProbitRegression
from fivefold.optim.derivative_checks import jacobian_by_differences
from fivefold.svm.support.expansion import KernelChoice
from fivefold.theory import PACBayesKernelProbit, PACBayesProbit, certify
from fivefold.theory.concentration import kl_largest
from fivefold.theory.pac_bayes.fixed_rate import best_rate, fixed_rate_upper
from fivefold.theory.pac_bayes.learned_prior import logistic_regression
from fivefold.theory.pac_bayes.posterior_rules import KernelSpace, Scaling
from fivefold.theory.pac_bayes.posterior_training import (
    FAMILIES,
    FixedRateObjective,
    GaussianFamily,
    train_at_rate,
    train_by_kl_form,
)

FOLDER = Path(__file__).parents[1] / "bound_simulations"


def unit_rows(n, p, seed=0):
    Z = np.random.default_rng(seed).normal(size=(n, p))
    return Z / np.linalg.norm(Z, axis=1, keepdims=True)


def digits(first, second):
    X, y = load_digits(return_X_y=True)
    kept = (y == first) | (y == second)
    return X[kept], y[kept]


# The bound at a fixed rate


@pytest.mark.parametrize("error", [0.001, 0.03, 0.2, 0.45])
@pytest.mark.parametrize("complexity", [0.0, 4.0])
def test_the_best_rate_gives_the_inverse_of_the_kl_divergence_and_no_rate_gives_less(error, complexity):
    n, delta = 300, 0.05
    least = kl_largest(error, (complexity + np.log(1 / delta)) / n)
    rate = best_rate(error, complexity, n, delta)
    assert fixed_rate_upper(error, complexity, n, delta, rate) == pytest.approx(least, rel=1e-10)
    for other in rate * np.array([0.3, 0.8, 1.2, 3.0]):
        assert fixed_rate_upper(error, complexity, n, delta, other) >= least - 1e-12


def test_the_exponential_moment_behind_the_bound_is_one_for_a_single_rule():
    """E exp(n D(e, err)) = 1 for errors that are 0 or 1: the rate costs nothing beyond Chernoff's bound."""
    from scipy.stats import binom

    n, p, rate = 40, 0.13, 0.9
    k = np.arange(n + 1)
    moment = binom.pmf(k, n, p) @ np.exp(-n * np.log1p(-p * -np.expm1(-rate)) - rate * k)
    assert moment == pytest.approx(1.0, rel=1e-12)


def test_a_fixed_rate_bound_for_twice_as_many_rows_is_caught_by_its_simulation():
    spec = importlib.util.spec_from_file_location("trained_posteriors", FOLDER / "trained_posteriors.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rng = np.random.default_rng(5)
    bound, error = np.array([module.bound_of_one_rule(rng, 60) for _ in range(2000)]).T
    assert np.mean(error > bound) > 0.05 + 3 * np.sqrt(0.05 * 0.95 / 2000)


@pytest.mark.parametrize("given", [{"n": 0}, {"delta": 0.0}, {"delta": 1.0}, {"rate": 0.0}])
def test_a_bound_without_rows_delta_or_rate_is_refused(given):
    with pytest.raises(ValueError, match=next(iter(given)) + "="):
        fixed_rate_upper(0.1, 1.0, **{"n": 10, "delta": 0.05, "rate": 1.0} | given)


# Training


@pytest.mark.parametrize("family", ["gaussian", "laplace"])
@pytest.mark.parametrize("K", [2, 4])
def test_the_gradient_of_the_objective_is_that_of_differences(family, K):
    Z, columns = unit_rows(30, 3), 1 if K == 2 else K
    codes = np.arange(30) % K
    prior = np.random.default_rng(1).normal(size=(columns, 3))
    objective = FixedRateObjective(FAMILIES[family], Z, codes, prior, 0.8)
    x = np.random.default_rng(2).normal(size=columns * 3)
    slow = jacobian_by_differences(lambda v: np.array([objective.value(v)]), x)[0]
    np.testing.assert_allclose(objective.gradient(x), slow, atol=1e-6)


def test_shares_of_three_classes_are_those_of_an_integral_and_of_draws():
    S = np.array([[0.3, -1.0, 0.8], [4.0, 0.0, -3.0]])
    shares = np.exp(GaussianFamily().log_shares(np.empty((2, 0)), S))
    for i, k in np.ndindex(2, 3):
        others = np.delete(S[i], k)
        slow = quad(lambda t, i=i, k=k, others=others: norm.pdf(t) * ndtr(t + S[i, k] - others).prod(), -9, 9)[0]
        assert shares[i, k] == pytest.approx(slow, abs=1e-9)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)
    drawn = (S[0] + np.random.default_rng(3).normal(size=(200_000, 3))).argmax(axis=1)
    np.testing.assert_allclose(np.bincount(drawn) / 200_000, shares[0], atol=4 * 0.5 / np.sqrt(200_000))


def test_the_trained_posterior_is_stationary_and_its_bound_is_never_above_that_of_the_prior():
    Z, rate = unit_rows(120, 4), 0.7
    codes = (Z[:, 0] + 0.2 * Z[:, 1] > 0).astype(int)
    prior = 3.0 * np.array([[1.0, 0.3, 0.2, 0.0]])
    found = train_at_rate(GaussianFamily(), Z, codes, prior, rate)
    objective = FixedRateObjective(GaussianFamily(), Z, codes, prior, rate)
    assert np.abs(objective.gradient(found.mean.ravel())).max() < 1e-5
    start = GaussianFamily().errors(Z, Z @ prior.T, codes).mean()
    assert rate * 120 * found.error + found.complexity < rate * 120 * start
    assert found.complexity == pytest.approx(0.5 * ((found.mean - prior) ** 2).sum())


def test_the_kl_form_is_minimised_as_well_as_by_a_grid_of_scales_and_directions():
    Z = unit_rows(80, 2)
    codes = (Z[:, 0] > 0.1).astype(int)
    found = train_by_kl_form(GaussianFamily(), Z, codes, np.zeros((1, 2)), [np.array([[4.0, 0.0]])], 0.05)

    def bound(mean):
        error = GaussianFamily().errors(Z, Z @ mean[:, None], codes).mean()
        from fivefold.theory.pac_bayes.posterior_bounds import improved_kl_upper

        return float(improved_kl_upper(error, 0.5 * mean @ mean, 80, 0.05, exact_moment=True))

    grid = [
        bound(r * np.array([np.cos(a), np.sin(a)])) for r in np.linspace(0, 8, 25) for a in np.linspace(-0.6, 0.6, 25)
    ]
    assert bound(found.mean[0]) <= min(grid) + 1e-9


def test_errors_with_a_row_left_out_are_close_to_those_of_fits_without_it():
    Z = unit_rows(40, 3, seed=4)
    t = np.where(Z[:, 0] + 0.3 * np.random.default_rng(5).normal(size=40) > 0, 1.0, -1.0)
    _, left_out = logistic_regression(Z, t, 0.5, np.zeros(3))
    slow = [
        Z[i] @ logistic_regression(np.delete(Z, i, axis=0), np.delete(t, i), 0.5, np.zeros(3))[0] for i in range(40)
    ]
    np.testing.assert_allclose(left_out, slow, atol=0.02)  # one Newton step towards each


# Estimators


def test_kernel_probit_with_the_linear_kernel_is_probit_regression_and_its_bound_is_above_the_held_out_error():
    """At a rate of 1/2 the objective from the zero prior is half of sum Phi(-m) + |mu|^2."""
    X, y = digits(3, 8)
    X, y, new, true = X[::2], (y[::2] == 8).astype(int), X[1::2], (y[1::2] == 8).astype(int)
    space = KernelSpace.of(X, Scaling.none(64), KernelChoice("linear"))
    rows = X / np.linalg.norm(X, axis=1, keepdims=True)
    known = ProbitRegression(loss="gibbs", alpha=2.0, fit_intercept=False, tol=1e-8).fit(rows, y)
    found = train_at_rate(GaussianFamily(), space.Z, y, np.zeros((1, space.Z.shape[1])), 0.5)
    np.testing.assert_allclose(space.rule(found.mean).scores(X)[:, 0], known.decision_function(rows), atol=1e-3)
    assert found.error == pytest.approx(known.gibbs_error_, abs=1e-5)
    model = PACBayesKernelProbit("zero", kernel="linear", random_state=0).fit(X, y)
    held_out = model.predict_proba(new)[np.arange(len(new)), 1 - true].mean()
    assert held_out <= model.certificate_.bound


def test_the_linear_kernel_with_a_constant_column_is_the_linear_model():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:120, :4] / np.array([10.0, 10.0, 100.0, 1000.0]), y[:120]
    linear = PACBayesProbit("zero", random_state=0).fit(X, y)
    kernel = PACBayesKernelProbit("zero", kernel="linear", random_state=0).fit(np.column_stack([X, np.ones(120)]), y)
    assert kernel.certificate_.bound == pytest.approx(linear.certificate_.bound, rel=1e-5)
    new = np.column_stack([X[:9], np.ones(9)])
    np.testing.assert_allclose(kernel.predict_proba(new), linear.predict_proba(X[:9]), atol=1e-3)


# The figures of docs/certificates.md are means over ten orders; here is one of each.
@pytest.mark.parametrize(
    ("name", "model", "limit"),
    [
        ("breast cancer", PACBayesProbit(random_state=0), 0.09),
        ("digits 3 and 8", PACBayesKernelProbit(random_state=0), 0.055),
        ("digits 4 and 9", PACBayesKernelProbit(random_state=0), 0.047),
        ("digits even and odd", PACBayesKernelProbit(n_divisions=1, random_state=0), 0.13),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_certificates_without_test_rows_meet_their_targets(name, model, limit):
    if name == "breast cancer":
        X, y = load_breast_cancer(return_X_y=True)
    elif name == "digits even and odd":
        X, y = load_digits(return_X_y=True)
        y = y % 2
    else:
        X, y = digits(*(int(word) for word in name.split() if word.isdigit()))
    model.fit(X, y)
    assert model.certificate_.bound <= limit


def test_the_certificate_is_that_of_the_gibbs_classifier_and_twice_that_of_the_vote():
    X, y = digits(3, 8)
    model = PACBayesKernelProbit(random_state=0).fit(X, y)
    gibbs, vote = model.certificate_, model.vote_certificate_
    assert gibbs.bound == pytest.approx(
        float(fixed_rate_upper(model.gibbs_error_, model.complexity_, gibbs.n, 0.05, model.rate_))
    )
    assert vote.bound == pytest.approx(2 * gibbs.bound)
    assert vote.risk == pytest.approx(np.mean(model.predict(X) != y))
    assert certify(model, X, y).bound == pytest.approx(vote.bound)
    assert gibbs.n == len(X) - round(0.5 * len(X))
    drawn = np.mean([model.predict_gibbs(X, random_state=seed) != y for seed in range(200)])
    expected = 1 - model.predict_proba(X)[np.arange(len(X)), (y == 8).astype(int)].mean()
    assert drawn == pytest.approx(expected, abs=4 * np.sqrt(0.25 / (200 * len(X))))


def test_what_a_prior_needs_comes_from_its_own_rows_alone():
    """Labels of the other rows change the posterior; the scaling, the rate and the prior's kernel stay."""
    X, y = load_breast_cancer(return_X_y=True)
    size = round(0.5 * len(X))
    order = np.random.RandomState(0).permutation(len(X))
    other, moved = y.copy(), X.copy()
    other[order[size:]] = 1 - y[order[size:]]
    moved[order[size:]] *= 3.0
    for kind, settings in ((PACBayesProbit, {}), (PACBayesKernelProbit, {"standardize": True})):
        models = [
            kind(n_divisions=1, random_state=0, **settings).fit(A, b) for A, b in ((X, y), (X, other), (moved, y))
        ]
        assert len({model.rate_ for model in models}) == 1
        scalings = [model.model_.rules[0].scaling for model in models]
        for scaling in scalings[1:]:
            np.testing.assert_array_equal(scaling.centre, scalings[0].centre)
            np.testing.assert_array_equal(scaling.scale, scalings[0].scale)
        assert models[1].certificate_.bound > 0.5  # a prior that is wrong on the other rows is found out


def test_the_bound_holds_for_the_share_of_fits_it_promises():
    """Fits to rows from eight points on a circle, whose true Gibbs error is a sum of eight terms."""
    angles = np.arange(8) * np.pi / 4 + 0.3
    points = np.column_stack([np.cos(angles), np.sin(angles)])
    second = np.array([0.9, 0.9, 0.8, 0.2, 0.1, 0.1, 0.3, 0.9])
    rng, broken, trials, delta = np.random.default_rng(11), 0, 60, 0.2
    for _ in range(trials):
        at = rng.integers(8, size=60)
        y = (rng.uniform(size=60) < second[at]).astype(int)
        model = PACBayesProbit(n_divisions=2, delta=delta, random_state=0).fit(points[at], y)
        share = model.predict_proba(points)[:, 1]
        broken += np.mean(second * (1 - share) + (1 - second) * share) > model.certificate_.bound
    assert broken / trials <= delta + 3 * np.sqrt(delta * (1 - delta) / trials)


def test_three_classes_have_one_certificate():
    X, y = load_iris(return_X_y=True)
    model = PACBayesProbit(random_state=0).fit(X, y)
    assert model.certificate_.bound < 0.2
    assert model.score(X, y) > 0.93
    assert set(model.predict_gibbs(X[:5], random_state=0)) <= {0, 1, 2}


def test_a_laplace_posterior_has_an_exact_certificate_and_takes_two_classes():
    X, y = load_breast_cancer(return_X_y=True)
    model = PACBayesProbit(posterior="laplace", n_divisions=1, random_state=0).fit(X, y)
    assert model.certificate_.bound < 0.09
    np.testing.assert_array_equal(model.predict_proba(X[:20]).argmax(axis=1), model.predict(X[:20]))
    with pytest.raises(ValueError, match='y holds 3. Take posterior="gaussian"'):
        PACBayesProbit(posterior="laplace", random_state=0).fit(*load_iris(return_X_y=True))


def test_too_few_rows_for_two_parts_are_refused_with_a_cure():
    with pytest.raises(ValueError, match='prior_fraction=0.1 of 4 rows leaves 0 for the prior.*prior="zero"'):
        PACBayesProbit(prior_fraction=0.1, random_state=0).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
