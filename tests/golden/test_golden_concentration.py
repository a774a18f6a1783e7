"""Numbers for the concentration of a mean, from the catalogue; each test names its rows."""

from math import comb

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from fivefold.distributions.estimation.limit_theorems import average_experiment
from fivefold.theory import certify_holdout
from fivefold.theory.concentration import (
    approximate_density,
    approximate_gaussian_tail,
    approximate_interval,
    approximate_margin,
    approximate_tail,
    bernstein_upper,
    binary_kl,
    binary_kl_below,
    binomial_tail,
    binomial_upper,
    cantelli_margin,
    cantelli_tail,
    chebyshev_upper,
    deviation_upper,
    empirical_bernstein_margin,
    empirical_bernstein_upper,
    empirical_chebyshev_upper,
    hoeffding_interval,
    hoeffding_margin,
    hoeffding_rows,
    hoeffding_tail,
    kl_largest,
    kl_moment,
    kl_smallest,
    kl_tail,
    kl_upper,
    largest_variance,
    markov_tail,
    markov_upper,
    relative_right_side,
    relative_tail,
    relative_upper,
    relative_upper_simple,
    simultaneous,
    split_by_length,
    split_evenly,
    tail_expectation,
)

GRID = np.linspace(0, 1, 41)


@pytest.mark.parametrize(
    ("n", "delta", "margin"),
    [
        (100, 0.05, 0.13581),
        (100, 0.01, 0.16276),
        (1000, 0.05, 0.042947),
        (1000, 0.01, 0.051470),
        (10000, 0.05, 0.013581),
        (10000, 0.01, 0.016276),
    ],
)
def test_hoeffding_margins(n, delta, margin):
    """B-03."""
    assert hoeffding_margin(n, delta) == pytest.approx(margin, rel=5e-5)  # five digits


def test_hoeffding_interval_of_a_coin():
    """B-03: a level of 99% costs a fifth more width than 95%; the interval is cut to [0, 1] unless told otherwise."""
    assert hoeffding_margin(500, 0.01) / hoeffding_margin(500, 0.05) == pytest.approx(1.20, abs=5e-3)
    assert hoeffding_interval(0.5, 1000, 0.05) == pytest.approx((0.457053, 0.542947), abs=1e-6)
    assert hoeffding_interval(0.01, 100, 0.05) == pytest.approx((0.0, 0.14581), abs=1e-5)
    assert hoeffding_interval(0.01, 100, 0.05, clip=False) == pytest.approx((-0.12581, 0.14581), abs=1e-5)
    assert 2 * hoeffding_tail(1000, hoeffding_margin(1000, 0.05)) == pytest.approx(0.05, rel=1e-12)


@pytest.mark.parametrize("margin", [0.1, 0.03, 0.01])
def test_hoeffding_rows_are_just_enough(margin):
    """B-03: the inverse."""
    n = hoeffding_rows(margin, 0.05)
    assert hoeffding_margin(n, 0.05) <= margin < hoeffding_margin(n - 1, 0.05)


def test_the_union_bound_shares_delta_out():
    """B-04: evenly, or by code length; lengths that no code has are refused (Kraft)."""
    assert split_evenly(0.05, 10).sum() == pytest.approx(0.05)
    assert_allclose(split_by_length(0.05, [1, 2, 3, 3]), [0.025, 0.0125, 0.00625, 0.00625])
    assert split_by_length(0.05, [1, 2, 5]).sum() <= 0.05
    with pytest.raises(ValueError, match=r"sum to 1\.25.*Kraft"):
        split_by_length(0.05, [1, 1, 2])


def test_the_union_bound_with_hoeffding_is_the_square_root_occam_bound():
    """B-04: margin sqrt((ln 2 len + ln(2 / delta)) / (2 n)); n = 1000, len = 20, delta = 0.05 gives 0.093680."""
    (low, high), *_ = simultaneous([0.3, 0.4], 1000, split_by_length(0.05, [20, 3]))
    assert (high - low) / 2 == pytest.approx(0.093680, abs=5e-7)
    assert (high - low) / 2 == pytest.approx(np.sqrt((20 * np.log(2) + np.log(2 / 0.05)) / 2000), rel=1e-12)


def test_the_variance_of_bounded_values():
    """B-05: mu (1 - mu) is that of values 0 and 1, at most 1/4 and at most mu; no sample in [0, 1] has more."""
    for mu in GRID:
        assert largest_variance(mu) == pytest.approx(mu * (1 - mu) ** 2 + (1 - mu) * mu**2)
        assert largest_variance(mu) <= min(0.25, mu) + 1e-15
    rng = np.random.default_rng(0)
    for a, b in rng.uniform(0.1, 3, (50, 2)):
        x = rng.beta(a, b, 20)
        assert x.var() <= largest_variance(x.mean())


def test_lower_tails_from_loose_to_exact():
    """B-06, B-09: n = 100, mu = 0.1, e = 0.05: 0.05758 <= 0.18812 <= 0.28650 <= 0.60653."""
    tails = (
        binomial_tail(100, 5, 0.1),
        kl_tail(100, 0.05, 0.1),
        relative_tail(100, 0.1, 0.05),
        hoeffding_tail(100, 0.05),
    )
    assert tails == pytest.approx((0.05758, 0.18812, 0.28650, 0.60653), abs=6e-6)


def test_the_relative_tail_is_better_below_a_quarter():
    """B-06."""
    for mu in GRID[1:-1]:
        better = relative_tail(100, mu, mu / 2) < hoeffding_tail(100, mu / 2)
        assert better == (mu < 0.25)


def test_three_forms_of_the_relative_bound():
    """B-07: n = 1000, delta = 0.05, mean 0.01: 0.021296 is where the implicit form holds with equality; 0.023732."""
    exact, simple = relative_upper(0.01, 1000, 0.05), relative_upper_simple(0.01, 1000, 0.05)
    assert (exact, simple) == pytest.approx((0.021296, 0.023732), abs=5e-7)
    assert relative_right_side(exact, 0.01, 1000, 0.05) == pytest.approx(exact, rel=1e-12)
    assert relative_right_side(1.01 * exact, 0.01, 1000, 0.05) < 1.01 * exact  # above it the form excludes mu
    for mean in GRID:
        assert relative_upper(mean, 50, 0.05) <= relative_upper_simple(mean, 50, 0.05) + 1e-15


def test_the_simple_form_is_at_most_three_times_both_parts():
    """B-07: if mean <= e and c <= e then the bound is <= 3 e."""
    n = 500
    e = 2 * np.log(1 / 0.05) / n
    assert relative_upper_simple(e, n, 0.05) == pytest.approx(3 * e, rel=1e-12)


def test_binary_kl():
    """B-08: at least (q - p)^2 / (2 q) for p <= q; zero just for p = q; 0 ln 0 = 0; infinite where q excludes p."""
    P, Q = np.meshgrid(GRID, GRID[1:-1], indexing="ij")
    D = binary_kl(P, Q)
    below = P <= Q
    assert (D[below] >= (Q - P)[below] ** 2 / (2 * Q[below]) - 1e-15).all()
    assert (D >= -1e-15).all()
    assert_allclose(D[P == Q], 0.0, atol=1e-15)
    assert (D[np.abs(P - Q) > 1e-9] > 0).all()
    assert_allclose(binary_kl_below(P, Q), np.where(P < Q, D, 0.0))
    assert binary_kl(0.0, 0.3) == pytest.approx(-np.log(0.7))
    assert binary_kl([0.5, 0.0, 1.0], [1.0, 0.0, 1.0]).tolist() == [np.inf, 0.0, 0.0]
    assert binary_kl(0.25, 0.5) == pytest.approx(0.25 * np.log(0.5) + 0.75 * np.log(1.5), rel=1e-12)


def test_the_inverses_of_binary_kl():
    """B-08: inverse and function undo each other; the largest q of p is one less the smallest of 1 - p."""
    for p in GRID:
        for budget in (1e-6, 0.01, 0.3, 2.0):
            high, low = kl_largest(p, budget), kl_smallest(p, budget)
            assert low <= p <= high
            assert low == pytest.approx(1 - kl_largest(1 - p, budget), abs=1e-9)
            for q in (low, high):
                if 0 < q < 1:
                    step = (1 - p) / (1 - q) * np.spacing(q)  # from one number to the next, near 1
                    assert binary_kl(p, q) == pytest.approx(budget, rel=1e-9, abs=step + 1e-15)
        assert kl_largest(p, 0.0) == pytest.approx(p, abs=1e-12)
    assert (kl_largest(1.0, 0.1), kl_smallest(0.0, 0.1)) == (1.0, 0.0)
    assert kl_largest(0.0, 0.1) == pytest.approx(1 - np.exp(-0.1), rel=1e-12)
    with pytest.raises(ValueError, match="budget is not negative"):
        kl_largest(0.5, -1)


def test_the_kl_bound_is_better_than_both_others():
    """B-09: and the exact binomial one better than it."""
    for n in (10, 100, 1000):
        for errors in {0, 1, n // 10, n // 2, n - 1, n}:
            bound = kl_upper(errors / n, n, 0.05)
            assert binomial_upper(errors, n, 0.05) <= bound + 1e-12
            assert (
                bound
                <= min(relative_upper(errors / n, n, 0.05), errors / n + hoeffding_margin(n, 0.05, sides=1)) + 1e-12
            )
            assert np.exp(-n * binary_kl(errors / n, bound)) == pytest.approx(0.05, rel=1e-6) or bound == 1.0


def test_a_certificate_puts_them_side_by_side():
    """B-07, B-09: the bound is the smallest, and that for a reason that holds beforehand."""
    found = certify_holdout(10, 1000, 0.05)
    assert found.risk == 0.01
    assert found.parts["relative Chernoff"] == pytest.approx(0.021296, abs=5e-7)
    assert found.parts["relative Chernoff, simple"] == pytest.approx(0.023732, abs=5e-7)
    assert found.bound == found.parts["binomial inversion"] == min(found.parts.values())
    assert binomial_tail(1000, 10, found.bound) == pytest.approx(0.05, rel=1e-9)
    assert all(text in str(found) for text in (*found.parts, *found.assumptions))


def test_the_gaussian_tail_with_the_largest_variance_is_hoeffdings():
    """B-01: n = 100, e = 0.1, variance 1/4 gives e^-2 = 0.1353 for both; the mean narrows like 1 / sqrt n."""
    assert approximate_tail(100, 0.1, 0.25) == pytest.approx(0.1353, abs=5e-5)
    assert approximate_tail(100, 0.1, 0.25) == pytest.approx(hoeffding_tail(100, 0.1), rel=1e-14)
    assert approximate_gaussian_tail(100, 0.1, 0.25) == pytest.approx(norm.cdf(-2.0), rel=1e-12)
    assert approximate_margin(0.25, 100, 0.05) / approximate_margin(0.25, 1000, 0.05) == pytest.approx(np.sqrt(10))
    assert approximate_interval(0.5, 0.25, 100, 0.05) == pytest.approx((0.402, 0.598), abs=1e-3)
    assert_allclose(approximate_density([170.0, 171.0], 170.0, 49.0, 100), norm.pdf([170, 171], 170, 0.7), rtol=1e-12)
    assert binomial_tail(20, 14, 0.95) > 100 * approximate_tail(20, 0.25, 0.0475)  # no guarantee


def test_heights_gather_about_their_mean():
    """B-01: means of 100 and of 1,000 heights; their spread shrinks by sqrt(10), their density is the Gaussian one."""
    hundred, thousand = average_experiment(
        lambda rng, shape: rng.gamma(590.0, 0.288, shape), 590 * 0.288, 590 * 0.288**2, sizes=(100, 1000), repeats=2000
    )
    assert hundred.means.std() / thousand.means.std() == pytest.approx(np.sqrt(10), rel=0.06)  # 4 standard errors
    edges = np.linspace(169.0, 171.0, 9)
    found = np.histogram(thousand.means, edges)[0] / 2000
    middles = (edges[1:] + edges[:-1]) / 2
    expected = approximate_density(middles, thousand.mu, thousand.variance, 1000) * np.diff(edges)
    assert_allclose(found, expected, atol=4 * np.sqrt(0.3 / 2000))


@pytest.mark.parametrize("mu", [0.1, 0.5])
def test_hoeffding_is_not_exceeded_and_symmetric(mu):
    """B-02: by simulation of values that are not 0 and 1; 1 - x turns the lower tail into the upper one."""
    n, trials = 40, 4000
    x = np.random.default_rng(0).beta(2 * mu, 2 * (1 - mu), (trials, n))
    for epsilon in (0.02, 0.05, 0.1):
        bound = hoeffding_tail(n, epsilon)
        for means, expected in ((x.mean(axis=1), mu), ((1 - x).mean(axis=1), 1 - mu)):
            assert np.mean(means <= expected - epsilon) <= bound + 3 * np.sqrt(bound / trials)
    assert hoeffding_tail(n, hoeffding_margin(n, 0.05, sides=1)) == pytest.approx(0.05, rel=1e-12)
    assert hoeffding_tail(hoeffding_rows(0.03, 0.05, sides=1), 0.03) <= 0.05


@pytest.mark.parametrize(
    ("n", "mu", "moment"), [(10, 0.3, 1.9564), (20, 0.3, 2.4885), (50, 0.1, 2.5230), (100, 0.5, 5.3961)]
)
def test_the_exponential_moment_of_kl(n, mu, moment):
    """B-10: never above n; by a sum of plain products too."""
    assert kl_moment(n, mu) == pytest.approx(moment, abs=5e-5)
    plain = sum(
        comb(n, k) * mu**k * (1 - mu) ** (n - k) * np.exp((n - 1) * float(binary_kl_below(k / n, mu)))
        for k in range(n + 1)
    )
    assert kl_moment(n, mu) == pytest.approx(plain, rel=1e-10)
    assert all(kl_moment(n, mean) <= n * (1 + 1e-12) for mean in GRID)


def test_markov_is_exact_for_two_values():
    """B-11: x = 1 / delta with probability delta, otherwise 0, has the mean 1; a little below, the bound fails."""
    delta = 0.05
    assert markov_upper(1.0, delta) == pytest.approx(1 / delta)
    assert markov_tail(1.0, 1 / delta) == pytest.approx(delta)  # P(x >= 1 / delta) is delta
    x = np.random.default_rng(0).exponential(3.0, 20_000)
    assert np.mean(x > markov_upper(3.0, delta)) <= delta
    assert np.mean(x > markov_upper(3.0, 0.9)) <= 0.9


def test_a_mean_is_the_integral_of_the_tail():
    """B-11: E[x] is the integral of P(x >= v); for the values of a sample it is their mean."""
    assert tail_expectation(lambda v: np.exp(-v / 3)) == pytest.approx(3.0, rel=1e-9)
    assert tail_expectation(lambda v: 1 - v, 1.0) == pytest.approx(0.5, rel=1e-12)
    x = np.random.default_rng(0).exponential(size=50)
    steps = np.diff(np.sort(x), prepend=0.0)
    assert (steps * np.arange(50, 0, -1) / 50).sum() == pytest.approx(x.mean())


def test_kl_is_jointly_convex():
    """B-64: E KL<(x, y) >= KL<(E x, E y) for random pairs and weights; equal if all pairs are the same."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        x, y = rng.beta(0.5, 0.5, (2, 8))
        w = rng.dirichlet(np.ones(8))
        assert w @ binary_kl_below(x, y) >= binary_kl_below(w @ x, w @ y) - 1e-14
        assert w @ binary_kl(x, y) >= binary_kl(w @ x, w @ y) - 1e-14
    assert binary_kl_below(np.full(3, 0.2), np.full(3, 0.4)).mean() == pytest.approx(float(binary_kl_below(0.2, 0.4)))


def test_chebyshev_is_exact_for_two_values():
    """Cantelli: values 0 and 1 with P(0) = delta are at the lower end with probability delta, not less."""
    delta = 0.2
    assert cantelli_margin(largest_variance(1 - delta), 1, delta) == pytest.approx(1 - delta)
    assert cantelli_tail(largest_variance(1 - delta), 1 - delta) == pytest.approx(delta)
    assert chebyshev_upper(0.0, 1, delta) == pytest.approx(1 - delta)
    assert cantelli_tail(0.25, 0.1, 100) == pytest.approx(0.2)


def test_bernstein_and_its_empirical_form():
    """n = 1000, delta = 0.05, written out; a variance of zero leaves the term in 1 / n."""
    log = np.log(40)
    assert empirical_bernstein_margin(0.09, 1000, 0.05) == pytest.approx(np.sqrt(0.18 * log / 1000) + 7 * log / 2997)
    assert empirical_bernstein_upper(0.2, 0.0, 1000, 0.05) == pytest.approx(0.2 + 7 * log / 2997)
    assert bernstein_upper(0.1, 0.09, 1000, 0.05) == pytest.approx(
        0.1 + np.sqrt(0.18 * np.log(20) / 1000) + np.log(20) / 3000
    )
    assert deviation_upper(0.01, 1001, 0.05) == pytest.approx(0.1 + np.sqrt(2 * np.log(20) / 1000))
    assert (empirical_bernstein_upper(0.1, 0.0, 1, 0.05), empirical_chebyshev_upper(0.1, 0.0, 1, 0.05)) == (1.0, 1.0)
