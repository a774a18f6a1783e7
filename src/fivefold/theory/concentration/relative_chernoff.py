"""Relative Chernoff bound (Angluin & Valiant): where mu is small, the mean of values in [0, 1] is known better.

    P(m <= mu - e)  <=  exp(-n e^2 / (2 mu))             better than Hoeffding's where mu < 1/4

Solved for mu at a probability of delta, with c = 2 ln(1/delta) / n, it has three forms:

    mu <= m + sqrt(mu c)                                    implicit
    mu <= m + c/2 + sqrt(m c + c^2/4)                       its largest solution
    mu <= m + sqrt(m c) + c                                 simpler, a little larger

Values in [0, 1] have a variance of at most mu (1 - mu), that of values 0 and 1: this is why small errors are known more
precisely.

Angluin & Valiant (1979).
"""

from __future__ import annotations

import numpy as np

from fivefold.core.types import Doubles
from fivefold.theory.concentration.bound_arguments import Numbers, as_given, check_confidence, doubles


def largest_variance(mean: Numbers) -> Numbers:
    """mean (1 - mean), never above 1/4 or the mean: the most that values in [0, 1] can have, reached by 0 and 1."""
    return as_given(doubles(mean) * (1 - doubles(mean)))


def relative_tail(n: Numbers, mu: Numbers, epsilon: Numbers) -> Numbers:
    """P(m <= mu - epsilon) is at most this."""
    n, mu, epsilon = np.broadcast_arrays(doubles(n), doubles(mu), doubles(epsilon))
    exponent = np.divide(n * epsilon**2, 2 * mu, out=np.where(epsilon > 0, np.inf, 0.0), where=mu > 0)
    return as_given(np.exp(-exponent))


def relative_upper(mean: Numbers, n: Numbers, delta: Numbers) -> Numbers:
    """Upper limit of mu: the largest solution of mu = mean + sqrt(mu c).

    Examples
    --------
    >>> round(relative_upper(0.01, 1000, 0.05), 6)
    0.021296
    """
    m, c = doubles(mean), _rate(n, delta)
    return as_given((c + 2 * m + np.sqrt(c * c + 4 * c * m)) / 2)


def relative_upper_simple(mean: Numbers, n: Numbers, delta: Numbers) -> Numbers:
    """Upper limit of mu: mean + sqrt(mean c) + c."""
    m, c = doubles(mean), _rate(n, delta)
    return as_given(m + np.sqrt(m * c) + c)


def relative_right_side(mu: Numbers, mean: Numbers, n: Numbers, delta: Numbers) -> Numbers:
    """mean + sqrt(mu c): at the true mu, with probability 1 - delta, this is at least mu."""
    return as_given(doubles(mean) + np.sqrt(doubles(mu) * _rate(n, delta)))


def _rate(n: Numbers, delta: Numbers) -> Doubles:
    check_confidence(n, delta)
    return -2 * np.log(doubles(delta)) / doubles(n)
