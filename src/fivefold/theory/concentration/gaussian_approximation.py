"""The Gaussian approximation of a sample mean: what is expected of large samples, not a guarantee.

    m ~ N(mu, v / n)                          law of large numbers and central limit theorem
    P(m <= mu - e)  ~  exp(-n e^2 / (2 v))    the exponent; the tail itself is Phi(-e sqrt(n / v))

With v = 1/4, the most that values in [0, 1] can have, the first is Hoeffding's bound. For few rows, or small errors,
the true error is above these limits more often than delta; `compare_limits` measures how often.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

from fivefold.core.types import Array, Vector
from fivefold.distributions.conjugate.normal_pairs import normals
from fivefold.theory.concentration.bound_arguments import (
    ConfidenceLimits,
    Numbers,
    as_given,
    check_confidence,
    doubles,
)


def approximate_density(values: Array, mu: float, variance: float, n: int) -> Vector:
    """Approximate density N(mu, variance / n) of the mean of n draws, at these values."""
    return np.exp(normals(mu, variance / n).log_prob(doubles(values).reshape(-1, 1))[:, 0])


def approximate_tail(n: Numbers, epsilon: Numbers, variance: Numbers) -> Numbers:
    """P(m <= mu - epsilon), approximately, in the exponential form exp(-n epsilon^2 / (2 variance)).

    Examples
    --------
    >>> round(approximate_tail(100, 0.1, 0.25), 4)  # e^-2
    0.1353
    """
    return as_given(np.exp(-doubles(n) * doubles(epsilon) ** 2 / (2 * doubles(variance))))


def approximate_gaussian_tail(n: Numbers, epsilon: Numbers, variance: Numbers) -> Numbers:
    """P(m <= mu - epsilon), approximately, as a tail of the Gaussian distribution."""
    return as_given(np.asarray(ndtr(-doubles(epsilon) * np.sqrt(doubles(n) / doubles(variance)))))


def approximate_margin(variance: Numbers, n: Numbers, delta: Numbers, *, sides: int = 2) -> Numbers:
    """Half the width of an interval that fails with probability near delta in large samples."""
    check_confidence(n, delta)
    return as_given(-ndtri(doubles(delta) / sides) * np.sqrt(doubles(variance) / doubles(n)))


def approximate_upper(mean: Numbers, n: Numbers, delta: Numbers, variance: Numbers | None = None) -> Numbers:
    """Upper limit of mu, wrong with probability near delta in large samples; without variance, for values 0 and 1."""
    m = doubles(mean)
    v = m * (1 - m) if variance is None else doubles(variance)
    return as_given(m + approximate_margin(v, n, delta, sides=1))


def approximate_interval(mean: Numbers, variance: Numbers, n: Numbers, delta: Numbers) -> ConfidenceLimits:
    """mean +- margin."""
    margin = approximate_margin(variance, n, delta)
    return as_given(doubles(mean) - margin), as_given(doubles(mean) + margin)
