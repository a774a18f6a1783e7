"""Hoeffding's inequality: the mean m of n independent values in [a, b] is near its expectation mu.

    P(m <= mu - e)  <=  exp(-2 n e^2 / (b - a)^2)         the same above; twice that on both sides
    margin          e  =  (b - a) sqrt(ln(sides / delta) / (2 n))

It asks nothing of the values except their range, so it is loose where their variance is small.

Hoeffding (1963).
"""

from __future__ import annotations

import numpy as np

from fivefold.theory.concentration.bound_arguments import (
    ConfidenceLimits,
    Numbers,
    as_given,
    check_confidence,
    doubles,
)

UNIT_RANGE = (0.0, 1.0)


def hoeffding_tail(n: Numbers, epsilon: Numbers, *, limits: tuple[float, float] = UNIT_RANGE) -> Numbers:
    """P(m <= mu - epsilon) is at most this; P(m >= mu + epsilon) too; values lie within `limits`."""
    return as_given(np.exp(-2 * doubles(n) * (doubles(epsilon) / _width(limits)) ** 2))


def hoeffding_margin(
    n: Numbers, delta: Numbers, *, sides: int = 2, limits: tuple[float, float] = UNIT_RANGE
) -> Numbers:
    """Half the width of an interval that fails with probability delta: sqrt(ln(sides / delta) / (2 n)).

    Examples
    --------
    >>> round(hoeffding_margin(1000, 0.05), 6)
    0.042947
    >>> hoeffding_margin([100, 10000], 0.05).round(6)
    array([0.13581 , 0.013581])
    """
    check_confidence(n, delta)
    return as_given(_width(limits) * np.sqrt(np.log(sides / doubles(delta)) / (2 * doubles(n))))


def hoeffding_upper(mean: Numbers, n: Numbers, delta: Numbers, *, limits: tuple[float, float] = UNIT_RANGE) -> Numbers:
    """Upper limit of mu, at most the end of the range."""
    return as_given(np.minimum(doubles(mean) + hoeffding_margin(n, delta, sides=1, limits=limits), limits[1]))


def hoeffding_interval(
    mean: Numbers, n: Numbers, delta: Numbers, *, clip: bool = True, limits: tuple[float, float] = UNIT_RANGE
) -> ConfidenceLimits:
    """mean +- margin, cut to the range of the values unless `clip` is false."""
    margin = hoeffding_margin(n, delta, limits=limits)
    low, high = doubles(mean) - margin, doubles(mean) + margin
    if clip:
        low, high = np.maximum(low, limits[0]), np.minimum(high, limits[1])
    return as_given(low), as_given(high)


def hoeffding_rows(margin: float, delta: float, *, sides: int = 2, limits: tuple[float, float] = UNIT_RANGE) -> int:
    """The number of rows that makes the margin this small.

    Examples
    --------
    >>> hoeffding_rows(0.01, 0.05)
    18445
    """
    check_confidence(1, delta)
    if not margin > 0:
        raise ValueError(f"no number of rows makes the margin {margin}; give one above 0")
    return int(np.ceil(np.log(sides / delta) / (2 * (margin / _width(limits)) ** 2)))


def _width(limits: tuple[float, float]) -> float:
    low, high = limits
    if not -np.inf < low < high < np.inf:
        raise ValueError(f"Hoeffding's bound needs values in a range [low, high] with low < high; got {limits}")
    return high - low
