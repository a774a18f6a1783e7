"""Bounds on a mean: digits of the KL inversion, arrays, refusals."""

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom

from fivefold.theory.concentration import (
    LIMIT_FAMILIES,
    bernstein_upper,
    betting_interval,
    betting_upper,
    binary_kl,
    binomial_interval,
    binomial_tail,
    binomial_upper,
    cantelli_margin,
    chebyshev_upper,
    compare_limits,
    empirical_bernstein_upper,
    empirical_chebyshev_upper,
    hoeffding_interval,
    hoeffding_margin,
    hoeffding_rows,
    hoeffding_tail,
    hoeffding_upper,
    kl_largest,
    kl_lower,
    kl_smallest,
    kl_tail,
    kl_upper,
    markov_tail,
    markov_upper,
    measure_coverage,
    relative_tail,
    relative_upper,
    relative_upper_simple,
    simulate_coverage,
)

BETA_VARIANCE = 0.4 * 2.0 / (2.4**2 * 3.4)  # of the losses drawn below

# A bracket of each result is checked with this many digits: terms of 1 cancel to budgets of 1e-20, known to 1e-12.
DIGITS = 80
MEANS = np.unique(
    np.r_[
        0.0, 1.0, 5e-324, 1e-310, 10.0 ** np.arange(-300, 0, 13), 10.0 ** np.arange(-16, 0), np.linspace(0.05, 0.95, 19)
    ]
)
MEANS = np.unique(np.r_[MEANS, 1 - MEANS])
BUDGETS = np.r_[10.0 ** np.arange(-20, 4), 0.3, 0.7, 2.5, 30.0, 700.0, np.inf]


def exact_kl(p, q):
    """KL(p, q) of numbers of any precision; infinite where q leaves (0, 1) and p allows the outcome."""
    p = mpmath.mpf(p)
    parts = ((p, q), (1 - p, 1 - q))
    if any(a > 0 and b <= 0 for a, b in parts):
        return mpmath.inf
    return mpmath.fsum(a * mpmath.log(a / b) for a, b in parts if a > 0)


@pytest.mark.parametrize("inverse", [kl_largest, kl_smallest], ids=["largest", "smallest"])
def test_kl_inversion_is_right_to_twelve_digits_over_the_whole_range(inverse):
    """Relative to the smaller of the limit and its distance from 1, or to the spacing of numbers where that is larger.

    The divergence grows away from p, so a point that is a little nearer has to be below the budget, one a little
    further above it.
    """
    P, B = (values.ravel() for values in np.meshgrid(MEANS, BUDGETS, indexing="ij"))
    outward = 1 if inverse is kl_largest else -1
    Q = inverse(P, B)
    assert ((Q - P) * outward >= 0).all() and ((Q >= 0) & (Q <= 1)).all()
    assert_allclose([inverse(p, b) for p, b in zip(P, B, strict=True)], Q, rtol=1e-14)  # one by one: not compiled
    with mpmath.workdps(DIGITS):
        for p, budget, q in zip(P, B, Q, strict=True):
            slack = 1e-12 * min(q, 1 - q) + float(np.spacing(q))
            near, far = mpmath.mpf(q) - outward * slack, mpmath.mpf(q) + outward * slack
            assert (near - mpmath.mpf(p)) * outward <= 0 or exact_kl(p, near) <= budget, (p, budget, q)
            assert exact_kl(p, far) >= budget or p == q == (1 + outward) / 2, (p, budget, q)


def test_binary_kl_keeps_its_digits():
    """For numbers near each other, near 0 and near 1, where terms cancel; relative to the divergence itself."""
    rng = np.random.default_rng(0)
    p = np.r_[rng.random(200), 10.0 ** rng.uniform(-40, -1, 200), 1 - 10.0 ** rng.uniform(-12, -1, 200), 0.0, 1.0]
    q = (p * (1 + rng.choice([-1, 1], p.size) * 10.0 ** rng.uniform(-14, 0, p.size))).clip(0, 1)
    q = np.where(rng.random(p.size) < 0.2, rng.random(p.size), q)
    with mpmath.workdps(120):
        exact = np.array([float(exact_kl(a, mpmath.mpf(b))) for a, b in zip(p, q, strict=True)])
    assert_allclose(binary_kl(p, q), exact, rtol=1e-14)
    assert (binary_kl(p, q) >= 0).all()


@pytest.mark.parametrize("inverse", [kl_largest, kl_smallest], ids=["largest", "smallest"])
def test_no_budget_leads_nowhere_and_a_larger_one_further(inverse):
    assert inverse(MEANS, 0.0).tolist() == MEANS.tolist()
    steps = np.diff(inverse(MEANS[:, None], np.sort(BUDGETS)), axis=1)
    assert ((steps >= 0) if inverse is kl_largest else (steps <= 0)).all()


@pytest.mark.parametrize("name", LIMIT_FAMILIES)
@pytest.mark.parametrize("n", [1, 2, 30, 400])
def test_a_rigorous_limit_fails_with_probability_delta_at_most(name, n):
    """Summed over the binomial, at risks just above every limit, where failing is likeliest."""
    family = LIMIT_FAMILIES[name]
    for delta in (0.01, 0.1, 0.6):
        means = np.arange(n + 1) / n
        limits = np.asarray(family.upper(means, n, delta))
        risks = limits[limits < 1 - 1e-9] + 1e-10
        failing = np.array([binom.pmf(np.arange(n + 1), n, risk)[limits < risk].sum() for risk in risks])
        assert (failing <= delta + 1e-6).all() == family.rigorous or (not family.rigorous and n == 400 and delta == 0.6)


@pytest.mark.parametrize("name", [name for name, family in LIMIT_FAMILIES.items() if family.tail and family.rigorous])
def test_no_tail_is_below_the_binomial_one(name):
    n = 50
    for mu in (0.02, 0.3, 0.5, 0.9):
        q = np.arange(int(n * mu) + 1) / n
        q = q[q <= mu]
        assert (LIMIT_FAMILIES[name].tail(n, q, mu) >= binomial_tail(n, np.rint(q * n), mu) - 1e-12).all()


def test_the_order_of_widths_for_small_errors():
    """B-12: KL <= relative Chernoff <= Hoeffding; coverage 1 - delta for all but the approximation."""
    found = compare_limits(200, 0.02, 0.05, trials=5000, seed=0)
    order = [found.widths[name] for name in ("binomial inversion", "KL inversion", "relative Chernoff", "Hoeffding")]
    assert order == sorted(order)
    assert [name for name, coverage in found.coverages.items() if not coverage.holds] == ["Gaussian approximation"]
    assert "Gaussian approximation" in str(found) and "too low" in str(found)


def test_the_coverage_of_a_limit_is_that_of_the_binomial():
    """B-12: the simulated share against the exact one, within four standard errors."""
    n, mu, delta, trials = 60, 0.13, 0.1, 20_000
    exact = binom.pmf(np.arange(n + 1), n, mu)[kl_upper(np.arange(n + 1) / n, n, delta) < mu].sum()
    share = compare_limits(n, mu, delta, trials=trials, seed=1).coverages["KL inversion"].share
    assert share == pytest.approx(exact, abs=4 * np.sqrt(exact / trials))
    assert 0 < exact


def test_a_simulation_counts_violations():
    found = simulate_coverage(lambda x, delta: x, lambda rng: rng.random(), 0.25, delta=0.2, trials=4000, seed=0)
    assert found.share == pytest.approx(0.25, abs=0.03) and not found.holds
    assert found.mean_width == pytest.approx(0.25, abs=0.03)
    learned = simulate_coverage(lambda x, delta: x + 0.1, lambda rng: rng.random(), lambda x: x, trials=50, seed=0)
    assert (learned.violations, learned.holds) == (0, True) and "of 50 samples" in str(learned)
    with pytest.raises(ValueError, match="got 0 trials"):
        measure_coverage(lambda rng: (1.0, 0.0), 0.05, trials=0)
    with pytest.raises(ValueError, match="trial 0 gave NaN"):
        measure_coverage(lambda rng: (np.nan, 0.0), 0.05, trials=5)


def losses(rng, trials, n):
    """Losses between 0 and 1 of mean 1/6, many of them near 0."""
    return rng.beta(0.4, 2.0, (trials, n))


@pytest.mark.parametrize(
    "upper",
    [
        pytest.param(betting_upper, id="betting"),
        pytest.param(
            lambda x, delta: empirical_bernstein_upper(x.mean(axis=1), x.var(axis=1, ddof=1), x.shape[1], delta),
            id="empirical Bernstein",
        ),
        pytest.param(
            lambda x, delta: empirical_chebyshev_upper(x.mean(axis=1), x.var(axis=1, ddof=1), x.shape[1], delta),
            id="empirical Chebyshev",
        ),
        pytest.param(
            lambda x, delta: bernstein_upper(x.mean(axis=1), BETA_VARIANCE, x.shape[1], delta), id="Bernstein"
        ),
        pytest.param(
            lambda x, delta: x.mean(axis=1) + cantelli_margin(BETA_VARIANCE, x.shape[1], delta), id="Cantelli"
        ),
    ],
)
@pytest.mark.parametrize("delta", [0.05, 0.4])
def test_limits_of_losses_hold(upper, delta):
    trials = 2000
    limits = upper(losses(np.random.default_rng(0), trials, 60), delta)
    assert limits.shape == (trials,)
    assert np.mean(limits < 1 / 6) <= delta + 3 * np.sqrt(delta * (1 - delta) / trials)


def test_betting_adapts_to_the_variance():
    """Half the width of Hoeffding's for losses of little variance, and near the KL form for values 0 and 1."""
    rng = np.random.default_rng(0)
    quiet = 0.5 + 0.02 * rng.standard_normal(500).clip(-4, 4)
    assert betting_upper(quiet, 0.05) - 0.5 < 0.5 * hoeffding_margin(500, 0.05, sides=1)
    coins = (rng.random((200, 400)) < 0.1).astype(float)
    widths = [
        np.mean(limit - coins.mean(axis=1))
        for limit in (betting_upper(coins, 0.05), kl_upper(coins.mean(axis=1), 400, 0.05))
    ]
    assert widths[0] < 1.15 * widths[1]
    low, high = betting_interval(coins[0], 0.1)
    assert 0 <= low < coins[0].mean() < high <= 1 and high == betting_upper(coins[0], 0.05)


def test_the_order_of_bets_is_the_order_of_values():
    """A capital process written out, value by value."""
    x, delta = np.random.default_rng(3).random(30), 0.1
    limit = betting_upper(x, delta)

    def richest(mu):
        capital, most, squares, total = 1.0, 0.0, 0.25, 0.5
        for i, value in enumerate(x):
            variance = squares / (i + 1)
            capital *= 1 - min(0.75, np.sqrt(2 * np.log(1 / delta) / (30 * variance))) * (value - mu)
            most, total = max(most, capital), total + value
            squares += (value - total / (i + 2)) ** 2
        return most

    assert richest(limit - 1e-9) < 1 / delta < richest(limit + 1e-9)


def test_bounds_take_arrays():
    """Entry by entry what numbers give; one axis against another."""
    means, sizes, deltas = np.array([0.0, 0.1, 0.5]), np.array([[10.0], [300.0]]), 0.05
    for upper in (relative_upper, relative_upper_simple, kl_upper, kl_lower, chebyshev_upper, hoeffding_upper):
        found = upper(means, sizes, deltas)
        assert found.shape == (2, 3)
        assert_allclose(found, [[upper(m, n, deltas) for m in means] for n in (10, 300)], rtol=1e-13)
        assert type(upper(0.1, 10, 0.05)) is float
    for tail in (relative_tail, kl_tail):
        assert tail(10, means, 0.2).shape == (3,)
    low, high = binomial_interval([0, 3, 10], 10, 0.05)
    assert (low[0], high[2]) == (0.0, 1.0) and (low < high).all()


def test_ranges_other_than_the_unit_are_scaled():
    """B-02: values in [a, b] are a + (b - a) x; and x -> 1 - x turns one side into the other."""
    assert hoeffding_margin(50, 0.1, limits=(-1, 3)) == pytest.approx(4 * hoeffding_margin(50, 0.1))
    assert hoeffding_tail(50, 0.8, limits=(-1, 3)) == pytest.approx(hoeffding_tail(50, 0.2))
    assert hoeffding_interval(2.9, 50, 0.1, limits=(-1, 3))[1] == 3.0
    low, high = hoeffding_interval(0.3, 50, 0.1)
    assert hoeffding_interval(0.7, 50, 0.1) == pytest.approx((1 - high, 1 - low))
    assert hoeffding_rows(0.4, 0.05, limits=(-1, 3)) == hoeffding_rows(0.1, 0.05)


def test_binomial_limits_keep_their_digits():
    """At a delta of 1e-30, as a union bound asks for, and for a billion rows; against the definition."""
    for errors, n, delta in ((0, 10**9, 0.05), (3, 1000, 1e-30), (999, 1000, 0.01), (50, 100, 1e-200)):
        limit = binomial_upper(errors, n, delta)
        if errors == 0:
            assert limit == pytest.approx(-np.expm1(np.log(delta) / n), rel=1e-12)
        with mpmath.workdps(60):
            p = mpmath.mpf(limit)
            tail = mpmath.fsum(mpmath.binomial(n, k) * p**k * (1 - p) ** (n - k) for k in range(errors + 1))
        assert float(mpmath.log(tail / delta)) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: kl_largest([0.5, 1.5], 0.1), "p lies in"),
        (lambda: kl_largest(np.nan, 0.1), "p lies in"),
        (lambda: kl_upper(0.5, 0, 0.05), "needs rows"),
        (lambda: kl_upper(0.5, 10, [0.05, 0.0]), "delta between 0 and 1"),
        (lambda: hoeffding_margin(10, 1.0), "delta between 0 and 1"),
        (lambda: hoeffding_margin(10, 0.1, limits=(1, 0)), "low < high"),
        (lambda: hoeffding_rows(0.0, 0.1), "above 0"),
        (lambda: binomial_upper(11, 10, 0.05), "between 0 and the number of rows"),
        (lambda: betting_upper([0.2, 1.7], 0.05), "every value lies between 0 and 1"),
        (lambda: empirical_bernstein_upper(0.1, -1.0, 10, 0.05), "a variance is not negative"),
        (lambda: markov_upper(-1.0, 0.05), "never negative"),
        (lambda: markov_tail(1.0, 0.0), "levels above 0"),
        (lambda: compare_limits(10, 1.2), "mu lies between 0 and 1"),
    ],
    ids=range(13),
)
def test_what_makes_no_sense_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
