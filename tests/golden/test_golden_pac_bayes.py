"""PAC-Bayes bounds: values by hand or by quadrature for n = 1000, delta = 0.05 and a complexity of 5 nats."""

import mpmath
import numpy as np
import pytest

from fivefold.theory.concentration import binary_kl
from fivefold.theory.pac_bayes.linear_posteriors import GaussianLinearPosterior, log_probit_loss, probit_loss
from fivefold.theory.pac_bayes.posterior_bounds import (
    from_relative_complexity,
    improved_kl_lower,
    improved_kl_upper,
    kl_form_upper,
    log_moment,
    relative_upper,
    square_root_margin,
)

ERRORS = np.array([0.0, 0.05, 0.1])
CASE = (5.0, 1000, 0.05)


def test_the_square_root_form():
    assert square_root_margin(*CASE) == pytest.approx(0.088311, abs=5e-7)


def test_the_relative_form():
    np.testing.assert_allclose(relative_upper(ERRORS, *CASE), [0.029837, 0.118461, 0.184460], atol=5e-7)


def test_the_kl_form():
    found = kl_form_upper(ERRORS, *CASE)
    np.testing.assert_allclose(found, [0.014808, 0.096721, 0.159608], atol=5e-7)
    assert (found <= relative_upper(ERRORS, *CASE)).all()


def test_the_improved_kl_form_on_both_sides():
    upper, lower = improved_kl_upper(ERRORS, *CASE), improved_kl_lower(ERRORS, *CASE)
    np.testing.assert_allclose(upper, [0.012069, 0.091349, 0.153110], atol=5e-7)
    assert (upper < kl_form_upper(ERRORS, *CASE)).all()
    budget = (5 + np.log(2 * np.sqrt(1000) / 0.05)) / 1000
    for limit in (upper, lower[1:]):
        np.testing.assert_allclose(binary_kl(ERRORS[-len(limit) :], limit), budget, rtol=1e-9)
    assert lower[0] == 0 and (lower <= ERRORS).all()


def test_the_bound_of_l2_linear_classifiers():
    """c = (|mu|^2 + 2 ln(2 sqrt(n) / delta)) / n, |mu|^2 = 10; the last c in e + sqrt(e c) + c is not in the root."""
    c = (10 + 2 * np.log(2 * np.sqrt(1000) / 0.05)) / 1000
    np.testing.assert_allclose(from_relative_complexity(ERRORS, c), [0.024286, 0.109132, 0.173566], atol=5e-7)


def test_the_probit_loss():
    np.testing.assert_allclose(probit_loss([0, 1, 2, -2]), [0.5, 0.158655, 0.022750, 0.977250], atol=5e-7)
    m = np.linspace(-5, 5, 21)
    np.testing.assert_allclose(probit_loss(m) + probit_loss(-m), 1, rtol=1e-15)
    tail = float(mpmath.log(mpmath.erfc(mpmath.mpf(40) / mpmath.sqrt(2)) / 2))
    assert log_probit_loss([40.0])[0] == pytest.approx(tail, rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 7, 50, 400])
def test_the_moment_of_the_improved_form_is_its_sum(n):
    terms = [
        mpmath.binomial(n, k) * (mpmath.mpf(k) / n) ** k * (1 - mpmath.mpf(k) / n) ** (n - k) for k in range(n + 1)
    ]
    assert np.exp(log_moment(n)) == pytest.approx(float(mpmath.fsum(terms)), rel=1e-11)
    assert log_moment(n) <= np.log(2 * np.sqrt(n)) + 1e-12


def test_the_gibbs_error_of_a_gaussian_posterior_is_that_of_draws():
    rng = np.random.RandomState(0)
    mean, F = rng.randn(4) * 1.5, rng.randn(6, 4)
    Q = GaussianLinearPosterior(mean, scale=0.7)
    wins = Q.draw(200_000, rng) @ F.T >= 0  # (draws, n)
    np.testing.assert_allclose(Q.errors(F, np.ones(6, int)), 1 - wins.mean(axis=0), atol=3 * 0.5 / np.sqrt(200_000))
    np.testing.assert_allclose(Q.errors(F, np.zeros(6, int)), 1 - Q.errors(F, np.ones(6, int)), atol=1e-15)
    assert Q.complexity == pytest.approx(mean @ mean / (2 * 0.49))


def test_the_gibbs_error_of_a_vector_per_class_is_that_of_draws():
    rng = np.random.RandomState(1)
    mean, F, codes = rng.randn(3, 4), rng.randn(6, 4), np.array([0, 1, 2, 0, 1, 2])
    Q = GaussianLinearPosterior(mean)
    answers = (Q.draw(100_000, rng) @ F.T).argmax(axis=1)  # (draws, n)
    np.testing.assert_allclose(Q.errors(F, codes), (answers != codes).mean(axis=0), atol=4 * 0.5 / np.sqrt(100_000))
    assert Q.errors(np.zeros((3, 4)), np.arange(3)).tolist() == [0, 1, 1]


def test_the_scale_changes_neither_complexity_nor_error():
    rng = np.random.RandomState(2)
    mean, F, codes = rng.randn(5), rng.randn(8, 5), rng.randint(0, 2, 8)
    for scale in (0.1, 3.0):
        one, two = GaussianLinearPosterior(mean, scale=scale), GaussianLinearPosterior(mean / scale)
        assert one.complexity == pytest.approx(two.complexity, rel=1e-12)
        np.testing.assert_allclose(one.errors(F, codes), two.errors(7 * F, codes), rtol=1e-10)


def test_a_row_without_features_is_answered_plus_one():
    Q = GaussianLinearPosterior(np.ones(2))
    assert Q.errors(np.zeros((2, 2)), np.array([0, 1])).tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((0.1, -1.0, 10, 0.05), "not negative; got -1"),
        ((0.1, 1.0, 1, 0.05), "two rows or more; got n=1"),
        ((0.1, 1.0, 10, 1.5), "delta between 0 and 1 such as 0.05; got n=10, delta=1.5"),
    ],
)
def test_bad_numbers_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        kl_form_upper(*given)
