"""Numbers of twice the digits, beside fractions."""

from fractions import Fraction

import numpy as np
import pytest

from fivefold.core.numerics.double_double import to_double_double, two_product, two_sum


def numbers(seed, n=200):
    rng = np.random.default_rng(seed)
    return rng.normal(size=n) * 10.0 ** rng.integers(-12, 12, n)


@pytest.mark.parametrize("seed", range(3))
def test_sums_and_products_lose_nothing(seed):
    a, b = numbers(seed), numbers(seed + 10)
    for exact, pair in ((lambda x, y: x + y, two_sum(a, b)), (lambda x, y: x * y, two_product(a, b))):
        for x, y, hi, lo in zip(a, b, *pair, strict=True):
            assert Fraction(hi) + Fraction(lo) == exact(Fraction(x), Fraction(y))


@pytest.mark.parametrize("n", [1, 2, 7, 64, 101])
def test_a_long_sum_of_products_has_thirty_digits(n):
    """Beside fractions; the numbers cancel, so the error is relative to the sum of their sizes."""
    a, b = numbers(1, n), numbers(2, n)
    found = to_double_double(a).times(b).sum()
    exact = sum(Fraction(x) * Fraction(y) for x, y in zip(a, b, strict=True))
    size = sum(abs(Fraction(x) * Fraction(y)) for x, y in zip(a, b, strict=True))
    assert abs(Fraction(float(found.hi)) + Fraction(float(found.lo)) - exact) <= Fraction(1, 10**29) * size


def test_differences_keep_what_plain_numbers_lose():
    x = to_double_double(np.array([1.0])) + to_double_double(np.array([1e-20]))
    assert (x - to_double_double(np.array([1.0]))).rounded() == 1e-20
