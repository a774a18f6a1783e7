"""Discrete distributions: tables and identities of the catalogue; each test names its rows."""

import numpy as np
import pytest
from oracles import discrete
from scipy.special import expit, logit
from scipy.stats import binom, multinomial

from fivefold.distributions.bernoulli import Bernoulli
from fivefold.distributions.binomial import Binomial, BinomialMembers
from fivefold.distributions.categorical import Categorical, CategoricalMembers
from fivefold.distributions.multinomial import Multinomial, MultinomialMembers
from fivefold.distributions.poisson import Poisson, PoissonMembers
from fivefold.distributions.uniform import UniformBox, UniformMembers

COUNTS = np.arange(11.0)[:, None]
ONE = np.ones((1, 1))


def pmf(members, X):
    return np.exp(members.log_prob(np.asarray(X, dtype=float))[:, 0])


def test_binomial_probabilities_of_ten_trials():
    """C-16, C.1-1: Bin(m; 10, 0.25)."""
    printed = [
        0.056314,
        0.187712,
        0.281568,
        0.250282,
        0.145998,
        0.058399,
        0.016222,
        0.003090,
        0.000386,
        0.000029,
        0.000001,
    ]
    np.testing.assert_allclose(pmf(BinomialMembers(ONE / 4, 10), COUNTS), printed, atol=5e-7)


def test_poisson_probabilities_of_rate_five():
    """C-19, C.1-1: p(m; 5)."""
    printed = [
        0.006738,
        0.033690,
        0.084224,
        0.140374,
        0.175467,
        0.175467,
        0.146223,
        0.104445,
        0.065278,
        0.036266,
        0.018133,
    ]
    np.testing.assert_allclose(pmf(PoissonMembers(5 * ONE), COUNTS), printed, atol=5e-7)


def test_the_poisson_is_the_limit_of_the_binomial():
    """C-19: the largest difference to Bin(N, 5 / N) falls like 1 / N."""
    grid = np.arange(30.0)[:, None]
    gaps = [
        np.abs(pmf(PoissonMembers(5 * ONE), grid) - pmf(BinomialMembers(ONE * 5 / N, N), grid)).max()
        for N in (100, 1000, 10000)
    ]
    np.testing.assert_allclose(np.array(gaps[:-1]) / gaps[1:], 10.0, rtol=0.1)


def test_one_trial_is_bernoulli_and_two_outcomes_are_binomial():
    """D-73, C-17, C-18, D-76: the reductions between the families."""
    p, x = 0.3, np.array([[0.0], [1.0]])
    np.testing.assert_allclose(pmf(BinomialMembers(ONE * p), x), [1 - p, p], rtol=1e-14)
    np.testing.assert_allclose(pmf(BinomialMembers(ONE * p, 1), x), binom.pmf([0, 1], 1, p), rtol=1e-14)
    np.testing.assert_allclose(pmf(CategoricalMembers(np.array([[1 - p, p]]), (2,)), x), [1 - p, p], rtol=1e-14)
    pairs = np.c_[COUNTS, 10 - COUNTS]
    np.testing.assert_allclose(
        pmf(MultinomialMembers(np.array([[p, 1 - p]]), 10 * ONE[0]), pairs), binom.pmf(COUNTS[:, 0], 10, p)
    )


def test_a_sum_of_bernoullis_is_binomial():
    """C-16, D-73: by convolution."""
    single, total = pmf(BinomialMembers(ONE * 0.25), [[0], [1]]), np.ones(1)
    for _ in range(10):
        total = np.convolve(total, single)
    np.testing.assert_allclose(total, pmf(BinomialMembers(ONE / 4, 10), COUNTS), rtol=1e-12)


def test_moments_of_the_discrete_families_are_the_formulas():
    """C-15, C-16, C-18, C-19, D-72, D-73, D-76: exact sums over the support."""
    p = 0.3
    for members, support, mean, variance in (
        (BinomialMembers(ONE * p), np.arange(2.0), p, p * (1 - p)),
        (BinomialMembers(ONE * p, 10), np.arange(11.0), 10 * p, 10 * p * (1 - p)),
        (PoissonMembers(5 * ONE), np.arange(80.0), 5.0, 5.0),
    ):
        mass = pmf(members, support[:, None])
        assert mass.sum() == pytest.approx(1.0, abs=1e-12)
        assert mass @ support == pytest.approx(mean) == members.mean[0, 0]
        assert mass @ (support - mean) ** 2 == pytest.approx(variance) == members.variance[0, 0]
    q = np.array([0.2, 0.3, 0.5])
    rows = np.array([[i, j, 4 - i - j] for i in range(5) for j in range(5 - i)], dtype=float)
    members = MultinomialMembers(q[None], 4 * ONE[0])
    mass = pmf(members, rows)
    np.testing.assert_allclose(mass, multinomial.pmf(rows, 4, q))
    centred = rows - mass @ rows
    np.testing.assert_allclose(mass @ rows, members.mean[0])
    np.testing.assert_allclose((centred * mass[:, None]).T @ centred, members.covariance[0], atol=1e-12)
    np.testing.assert_allclose(members.covariance[0].sum(axis=1), 0.0, atol=1e-15)
    np.testing.assert_allclose(members.covariance[0, 0, 1], -4 * q[0] * q[1])


def test_the_variance_of_a_bernoulli_is_largest_at_one_half():
    """C-15."""
    p = np.linspace(0, 1, 101)
    assert p[BinomialMembers(p[None]).variance[0].argmax()] == 0.5


def test_the_likeliest_parameters_are_relative_frequencies():
    """C-15, D-171, D-72: N_k / N, sum 1."""
    word = np.array([[0.0]] * 16 + [[1.0]] * 4)  # aaaaaaaabbabbaaaaaaa
    ones = np.ones((20, 1))
    assert Bernoulli().fit(Bernoulli().stats(word, ones)).probability == 0.2
    found = Categorical((3,)).fit(Categorical((3,)).stats(word, ones)).probability
    np.testing.assert_allclose(found, [[0.8, 0.2, 0.0]], rtol=1e-15)
    assert found.sum() == 1.0


def test_conjugate_priors_add_what_was_not_seen():
    """D-72, D-76, C-19: the mode of the Beta, Dirichlet and Gamma posteriors."""
    X, ones = np.array([[1.0], [0.0], [1.0]]), np.ones((3, 1))
    bernoulli = Bernoulli()
    a, b = 3.0, 2.0  # Beta(a, b): mode (a + 1) / (a + b + 1) after two ones and a zero
    found = bernoulli.fit(bernoulli.stats(X, ones), bernoulli.prior(a - 1, b - 1)).probability
    np.testing.assert_allclose(found, (2 + a - 1) / (3 + a + b - 2))
    poisson = Poisson()
    shape, rate = 4.0, 2.0  # Gamma(shape + sum x, rate + n)
    found = poisson.fit(poisson.stats(X, ones), poisson.prior(shape - 1, rate)).rate
    np.testing.assert_allclose(found, (shape + 2 - 1) / (rate + 3))
    counts = np.array([[3.0, 0.0, 1.0]])
    found = Multinomial().fit(Multinomial().stats(counts, ONE), Multinomial().prior([1.0, 1.0, 1.0])).probability
    np.testing.assert_allclose(found, [[4 / 7, 1 / 7, 2 / 7]])
    found = Categorical((2,)).fit(Categorical((2,)).stats(X, ones), Categorical((2,)).prior(0.5)).probability
    np.testing.assert_allclose(found, [[1.5 / 4, 2.5 / 4]])
    found = Binomial(4).fit(Binomial(4).stats(X, ones), Binomial(4).prior(1.0, 1.0)).probability
    np.testing.assert_allclose(found, 3 / 14)


def test_a_uniform_box_has_height_one_over_its_size():
    """C-14: 1 / size inside, 0 outside; mean at the middle; the likeliest box is the smallest."""
    box = UniformMembers(np.array([[0.0, 0.0]]), np.array([[2.0, 1.0]]))
    np.testing.assert_allclose(pmf(box, [[1, 0.5], [0, 1], [2.01, 0.5], [1, -0.01]]), [0.5, 0.5, 0, 0])
    np.testing.assert_allclose(box.mean, [[1.0, 0.5]])
    np.testing.assert_allclose(box.variance, [[1 / 3, 1 / 12]])
    X = np.random.RandomState(0).uniform([0, 0], [2, 1], (50, 2))
    found = UniformBox().fit(UniformBox().stats(X, np.ones((50, 1))))
    np.testing.assert_array_equal(found.low[0], X.min(axis=0))
    np.testing.assert_array_equal(found.high[0], X.max(axis=0))


def test_the_bernoulli_in_exponential_form():
    """C-29, C-28: eta = logit p, p = sigmoid eta, h = 1, g = sigmoid(-eta), u(x) = x."""
    members, x = BinomialMembers(ONE * 0.3), np.array([[0.0], [1.0]])
    eta = members.natural_parameters
    np.testing.assert_allclose(eta, np.log(0.3 / 0.7))
    np.testing.assert_allclose(np.exp(-members.log_normaliser(eta)), expit(-eta).ravel())
    np.testing.assert_allclose(pmf(members, x), (expit(-eta) * np.exp(eta * x)).ravel())
    np.testing.assert_array_equal(members.log_base_measure(x), 0.0)
    np.testing.assert_allclose(members.from_natural(eta).probability, 0.3)


def test_sigmoid_and_logit_are_inverse_and_do_not_overflow():
    """C-31: sigma(-a) = 1 - sigma(a), derivative sigma (1 - sigma)."""
    a = np.array([-800.0, -30.0, -1.0, 0.0, 2.0, 30.0, 800.0])
    assert np.isfinite(expit(a)).all()
    np.testing.assert_allclose(expit(-a), 1 - expit(a), atol=1e-15)
    np.testing.assert_allclose(logit(expit(a[1:5])), a[1:5], rtol=1e-12)
    h = 1e-6
    np.testing.assert_allclose((expit(a + h) - expit(a - h)) / (2 * h), expit(a) * (1 - expit(a)), atol=1e-9)


def test_matching_sufficient_statistics_is_maximum_likelihood():
    """C-28: the gradient of the log-normaliser at the estimate is the mean of u."""
    rng = np.random.RandomState(0)
    ones = np.ones((300, 1))
    for family, X in (
        (Bernoulli(), rng.binomial(1, 0.3, (300, 2)) * 1.0),
        (Poisson(), rng.poisson(4.0, (300, 2)) * 1.0),
        (Categorical((3, 2)), np.c_[rng.randint(0, 3, 300), rng.randint(0, 2, 300)] * 1.0),
        (Multinomial(), rng.multinomial(6, [0.2, 0.3, 0.5], 300) * 1.0),
    ):
        members = family.fit(family.stats(X, ones))
        np.testing.assert_allclose(
            members.mean_statistics[0], members.sufficient_statistics(X).mean(axis=0), rtol=1e-12
        )


def test_log_probabilities_are_those_of_the_slow_way_with_gaps_and_weights():
    """C-15 to C-19, D-171: against one entry at a time."""
    rng = np.random.RandomState(3)
    R = rng.uniform(size=(80, 3))
    for family, X, oracle in (
        (Bernoulli(), rng.binomial(1, 0.3, (80, 4)) * 1.0, lambda X, m: discrete.bernoulli(X, m.probability)),
        (Binomial(6), rng.binomial(6, 0.3, (80, 4)) * 1.0, lambda X, m: discrete.binomial(X, m.probability, 6)),
        (Poisson(), rng.poisson(3, (80, 4)) * 1.0, lambda X, m: discrete.poisson(X, m.rate)),
        (Categorical((3, 3, 3, 3)), rng.randint(0, 3, (80, 4)) * 1.0, lambda X, m: discrete.categorical(X, m.columns)),
    ):
        X[rng.uniform(size=X.shape) < 0.2] = np.nan
        members = family.fit(family.stats(X, R))
        np.testing.assert_allclose(members.log_prob(X), oracle(X, members), rtol=1e-10)
        if not isinstance(members, CategoricalMembers):
            np.testing.assert_allclose(members.mean, discrete.shares(X, R), rtol=1e-12)
    X = rng.multinomial(5, [0.2, 0.3, 0.5], 80) * 1.0
    members = Multinomial().fit(Multinomial().stats(X, R))
    np.testing.assert_allclose(members.log_prob(X), discrete.multinomial(X, members.probability), rtol=1e-10)
