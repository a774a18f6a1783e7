"""Code lengths in bits: what it costs to write a rule down.

    integer k >= 1                 P(k) = 1 / (k (k + 1))       log2 k (k + 1)
    dyadic fraction of L digits    halve with probability 1/2   2 L - 1
    number in a range (a, b)       a + (b - a) x, x dyadic      2 L - 1

A length is equivalent to a prior probability 2^-length: the lengths satisfy Kraft's inequality.

Rissanen (1983), A universal prior for integers and estimation by minimum description length.
"""

from __future__ import annotations

from math import floor, lgamma, log, log2

MAX_DIGITS = 52  # binary digits of the finest dyadic fraction: those of a double


def integer_bits(k: int) -> float:
    """Length of a positive integer.

    >>> [round(integer_bits(k), 3) for k in (1, 2, 3, 8)]
    [1.0, 2.585, 3.585, 6.17]
    """
    return log2(k * (k + 1))


def fraction_bits(x: float) -> int:
    """Length of a dyadic fraction in (0, 1).

    >>> [fraction_bits(x) for x in (1 / 2, 3 / 4, 5 / 8, 13 / 16)]
    [1, 3, 5, 7]
    """
    digits = next((L for L in range(1, MAX_DIGITS + 1) if (x * 2**L).is_integer()), MAX_DIGITS)
    return 2 * digits - 1


def shortest_between(low: float, high: float, a: float, b: float) -> float:
    """The dyadic fraction x of fewest digits with low <= a + (b - a) x < high.

    >>> shortest_between(0.3, 0.9, 0.0, 1.0), shortest_between(5.1, 6.3, 0.0, 10.0)
    (0.5, 0.625)
    """
    start = (low - a) / (b - a)
    for L in range(1, MAX_DIGITS + 1):
        k = max(1, -floor(-start * 2**L))  # the least multiple of 2^-L that is not below
        for x in (k / 2**L, (k + 1) / 2**L):  # rounding may still put the first below
            if x < 1 and low <= a + (b - a) * x < high:
                return x
    return start


def rounded_fraction(x: float, L: int) -> float:
    """The fraction of at most L binary digits in (0, 1) that is nearest to x."""
    return min(max(round(x * 2**L), 1), 2**L - 1) / 2**L


def list_bits(weights: float, features: float, k: int) -> float:
    """Length of k terms, the first of them the constant: their number, weights and features, in any order."""
    return integer_bits(k) + weights + features - lgamma(k) / log(2)
