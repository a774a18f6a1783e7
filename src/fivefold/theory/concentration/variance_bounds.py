"""Bounds by the variance: the mean m of n independent values in [0, 1], with expectation mu and variance v.

    Chebyshev, one-sided       P(m <= mu - e)  <=  v / (v + n e^2)                    Cantelli
    Bernstein                  mu <= m + sqrt(2 v L / n) + L / (3 n)                  L = ln(1 / delta)
    empirical Bernstein        mu <= m + sqrt(2 V L / n) + 7 L / (3 (n - 1))          L = ln(2 / delta)
    empirical deviation        sqrt v <= sqrt V + sqrt(2 ln(1 / delta) / (n - 1))

with V the variance of the sample, divided by n - 1. Where v is not known Chebyshev's inequality has two forms: v is at
most mu (1 - mu), which makes it a quadratic in mu; or v is bounded by the empirical deviation with half of delta.
Chebyshev's margin grows like 1 / sqrt(delta), the others like sqrt(ln(1 / delta)).

Cantelli (1928); Bernstein (1924); Maurer & Pontil (2009).
"""

from __future__ import annotations

import numpy as np

from fivefold.core.types import Doubles
from fivefold.theory.concentration.bound_arguments import Numbers, as_given, check_confidence, doubles


def cantelli_tail(variance: Numbers, epsilon: Numbers, n: Numbers = 1) -> Numbers:
    """P(m <= mu - epsilon) is at most this, for values of this variance, in a range or not.

    Examples
    --------
    >>> cantelli_tail(1.0, 2.0)  # on one side; Chebyshev's 1/4 is for both
    0.2
    """
    v, square = _variance(variance), doubles(n) * doubles(epsilon) ** 2
    return as_given(np.divide(v, v + square, out=np.ones(np.broadcast_shapes(v.shape, square.shape)), where=square > 0))


def cantelli_margin(variance: Numbers, n: Numbers, delta: Numbers) -> Numbers:
    """mu is at most m + this, except with probability delta: sqrt(v (1 - delta) / (n delta))."""
    check_confidence(n, delta)
    return as_given(np.sqrt(_variance(variance) * (1 - doubles(delta)) / (doubles(n) * doubles(delta))))


def chebyshev_upper(mean: Numbers, n: Numbers, delta: Numbers) -> Numbers:
    """Upper limit of mu for values in [0, 1], whose variance is at most mu (1 - mu).

    The largest mu with (mu - mean)^2 <= mu (1 - mu) z^2, z^2 = (1 - delta) / (n delta).

    Examples
    --------
    >>> round(chebyshev_upper(0.1, 1000, 0.05), 4)
    0.1491
    """
    check_confidence(n, delta)
    m, square = doubles(mean), (1 - doubles(delta)) / (doubles(n) * doubles(delta))
    root = np.sqrt(square * (m * (1 - m) + square / 4))
    return as_given(np.minimum((m + square / 2 + root) / (1 + square), 1.0))


def deviation_upper(variance: Numbers, n: Numbers, delta: Numbers) -> Numbers:
    """Upper limit of the standard deviation of values in [0, 1], from the variance of a sample of n."""
    check_confidence(n, delta)
    return as_given(np.minimum(np.sqrt(_variance(variance)) + np.sqrt(-2 * np.log(doubles(delta)) / _pairs(n)), 0.5))


def empirical_chebyshev_upper(mean: Numbers, variance: Numbers, n: Numbers, delta: Numbers) -> Numbers:
    """Upper limit of mu for values in [0, 1]: half of delta for their variance, half for Chebyshev's margin."""
    half = doubles(delta) / 2
    margin = cantelli_margin(doubles(deviation_upper(variance, n, half)) ** 2, n, half)
    return as_given(np.minimum(doubles(mean) + margin, 1.0))


def bernstein_upper(mean: Numbers, variance: Numbers, n: Numbers, delta: Numbers) -> Numbers:
    """Upper limit of mu for values in [0, 1] whose variance is known."""
    check_confidence(n, delta)
    rate = -np.log(doubles(delta)) / doubles(n)
    return as_given(np.minimum(doubles(mean) + np.sqrt(2 * _variance(variance) * rate) + rate / 3, 1.0))


def empirical_bernstein_margin(variance: Numbers, n: Numbers, delta: Numbers) -> Numbers:
    """mu is at most m + this for values in [0, 1], except with probability delta; one row says nothing: 1."""
    check_confidence(n, delta)
    v, n, log = _variance(variance), doubles(n), np.log(2 / doubles(delta))
    margin = np.sqrt(2 * v * log / n) + 7 * log / (3 * _pairs(n))
    return as_given(np.where(n > 1, np.minimum(margin, 1.0), 1.0))


def empirical_bernstein_upper(mean: Numbers, variance: Numbers, n: Numbers, delta: Numbers) -> Numbers:
    """Upper limit of mu for values in [0, 1] with this variance of the sample, divided by n - 1.

    Examples
    --------
    >>> round(empirical_bernstein_upper(0.1, 0.001, 1000, 0.05), 4)  # Hoeffding's is 0.1387
    0.1113
    """
    return as_given(np.minimum(doubles(mean) + empirical_bernstein_margin(variance, n, delta), 1.0))


def _pairs(n: Numbers) -> Doubles:
    """n - 1, or 1: one row has no variance, and its limits end at the range of the values."""
    return np.maximum(doubles(n) - 1, 1)


def _variance(value: Numbers) -> Doubles:
    found = doubles(value)
    if not np.all(found >= 0):
        raise ValueError(f"a variance is not negative; got {value}")
    return found
