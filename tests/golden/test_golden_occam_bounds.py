"""Occam bounds: values of the catalogue, orders between the forms, and inversion against mpmath."""

from itertools import pairwise

import mpmath
import numpy as np
import pytest

from fivefold.information.occam_bounds import (
    PRICE_PER_BIT,
    exact_bound,
    linear_bound,
    occam_rate,
    priced_count,
    root_bound,
    root_margin,
    tight_bound,
)
from fivefold.theory.concentration import hoeffding_margin, relative_right_side, relative_upper
from fivefold.theory.occam import binomial_bound, kl_bound, occam_interval

N, BITS, DELTA = 1000, 20, 0.05


def random_table(seed, size=400):
    """Errors, lengths and a number of rows."""
    rng = np.random.RandomState(seed)
    n = int(rng.randint(20, 5000))
    return rng.randint(0, n + 1, size) * rng.rand(size) ** 3 // 1, rng.randint(0, 300, size).astype(float), n


def test_the_square_root_bound_has_the_printed_margin_and_is_hoeffdings_without_bits():
    """B-32."""
    assert root_margin(BITS, N, DELTA) == pytest.approx(0.093680, abs=5e-7)
    assert root_margin(0, N, DELTA) == pytest.approx(hoeffding_margin(N, DELTA), rel=1e-14)
    low, high = occam_interval(np.array([0, 300, 1000]), BITS, N, DELTA)
    np.testing.assert_allclose(root_bound(np.array([0, 300]), BITS, N, DELTA), high[:2], rtol=1e-14)
    np.testing.assert_allclose(low, [0.0, 0.3 - 0.093680, 1 - 0.093680], atol=5e-7)
    np.testing.assert_allclose(high, [0.093680, 0.393680, 1.0], atol=5e-7)


@pytest.mark.parametrize(
    ("errors", "tight", "root"),
    [(0, 0.03372, 0.09368), (10, 0.06208, 0.10368), (100, 0.19178, 0.19368), (300, 0.43429, 0.39368)],
)
def test_the_tight_bound_has_the_printed_values(errors, tight, root):
    """B-34: n = 1000, 20 bits, delta = 0.05."""
    assert occam_rate(BITS, N, DELTA) == pytest.approx(0.033717, abs=5e-7)
    assert tight_bound(errors, BITS, N, DELTA) == pytest.approx(tight, abs=5e-6)
    assert root_bound(errors, BITS, N, DELTA) == pytest.approx(root, abs=5e-6)
    shared = DELTA * 2.0**-BITS
    exact = exact_bound(errors, BITS, N, DELTA)
    assert exact == pytest.approx(relative_upper(errors / N, N, shared), rel=1e-12)
    assert exact == pytest.approx(relative_right_side(exact, errors / N, N, shared), rel=1e-12)


def test_a_tight_bound_is_at_most_three_times_the_error_that_neither_part_exceeds():
    """B-34: at most 3 e where both the share of errors and c are at most e; never below e + c, nor above 3/2 of it."""
    for seed in range(20):
        errors, bits, n = random_table(seed)
        tight, linear = (f(errors, bits, n, DELTA) for f in (tight_bound, linear_bound))
        rate = occam_rate(bits, n, DELTA)
        assert (tight <= 3 * np.maximum(errors / n, rate) * (1 + 1e-12)).all()
        assert (linear <= tight).all() and (tight <= 1.5 * linear * (1 + 1e-12)).all()


def test_the_forms_of_the_bound_are_ordered():
    """B-34: binomial <= KL <= exact <= tight, and KL <= square root."""
    for seed in range(5):
        errors, bits, n = random_table(seed)
        forms = [f(errors, bits, n, DELTA) for f in (binomial_bound, kl_bound, exact_bound, tight_bound)]
        for smaller, larger in pairwise(forms):
            assert (np.minimum(smaller, 1) <= np.minimum(larger, 1) + 1e-12).all()
        assert (forms[1] <= np.minimum(root_bound(errors, bits, n, DELTA), 1) + 1e-12).all()


@pytest.mark.parametrize(("errors", "bits"), [(0, 20.0), (10, 20.0), (10, 900.0), (300, 55.5), (999, 3.0)])
def test_inverted_forms_solve_their_equations(errors, bits):
    """Against mpmath with 50 digits: KL at the bound is the budget, and the binomial tail is delta 2^-bits."""
    with mpmath.workdps(50):
        e, q = mpmath.mpf(errors) / N, mpmath.mpf(float(kl_bound(errors, bits, N, DELTA)))
        kl = (e * mpmath.log(e / q) if errors else 0) + (1 - e) * mpmath.log((1 - e) / (1 - q))
        assert float(kl * N) == pytest.approx(bits * np.log(2) + np.log(1 / DELTA), rel=1e-9)
        p = mpmath.mpf(float(binomial_bound(errors, bits, N, DELTA)))
        tail = mpmath.fsum(mpmath.binomial(N, k) * p**k * (1 - p) ** (N - k) for k in range(errors + 1))
        assert float(mpmath.log(tail)) == pytest.approx(np.log(DELTA) - bits * np.log(2), rel=1e-9)


def test_beyond_the_range_of_a_double_the_binomial_form_is_the_kl_form():
    assert binomial_bound(10, 2000.0, 5000, DELTA) == kl_bound(10, 2000.0, 5000, DELTA) < 1


def test_the_price_of_a_bit_does_not_depend_on_rows_or_delta():
    """B-37: n (e + c) and errors + 2 ln 2 bits differ by 2 ln(1 / delta), the same for all rules."""
    assert pytest.approx(1.386294, abs=1e-6) == PRICE_PER_BIT
    errors, bits, n = random_table(3)
    for delta in (0.5, 0.05, 1e-9):
        gap = n * linear_bound(errors, bits, n, delta) - priced_count(errors, bits, n, delta)
        np.testing.assert_allclose(gap, 2 * np.log(1 / delta), rtol=1e-9)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((10, 20, 1000, 0.0), "delta is a probability between 0 and 1, such as 0.05; got 0.0"),
        ((10, 20, 0, 0.05), "a bound needs rows; got n=0"),
        ((11, 20, 10, 0.05), "errors lie between 0 and the number of rows; got 11 on 10 rows"),
        ((1, -2, 10, 0.05), "lengths are in bits and not negative; got -2"),
    ],
)
def test_what_no_bound_can_be_computed_from_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        occam_interval(*given)
