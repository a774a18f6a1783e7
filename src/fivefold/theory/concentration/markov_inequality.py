"""Markov's inequality, in the form that holds with probability 1 - delta.

    x >= 0:   P(x >= a) <= E[x] / a,   so   x <= E[x] / delta   with probability at least 1 - delta
    E[x] = integral of P(x >= v) over v from 0 to infinity

It is exact for x = E[x] / delta with probability delta, otherwise 0.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.integrate import quad

from fivefold.theory.concentration.bound_arguments import Numbers, as_given, check_confidence, doubles


def markov_tail(expectation: Numbers, level: Numbers) -> Numbers:
    """P(x >= level) is at most this, for x that is never negative."""
    mean, a = _expectation(expectation), doubles(level)
    if not np.all(a > 0):
        raise ValueError(f"Markov's inequality is for levels above 0; got {level}")
    return as_given(np.minimum(mean / a, 1.0))


def markov_upper(expectation: Numbers, delta: Numbers) -> Numbers:
    """x is at most this with probability 1 - delta: E[x] / delta.

    Examples
    --------
    >>> markov_upper(2.0, 0.05)
    40.0
    """
    check_confidence(1, delta)
    return as_given(_expectation(expectation) / doubles(delta))


def tail_expectation(survival: Callable[[float], float], upper: float = np.inf) -> float:
    """E[x] of an x that is never negative, from P(x >= v): its integral from 0 to `upper`, beyond which it is 0.

    Examples
    --------
    >>> round(tail_expectation(lambda v: np.exp(-2 * v)), 6)  # exponential with rate 2
    0.5
    """
    return float(quad(survival, 0.0, upper, limit=200)[0])


def _expectation(value: Numbers) -> Numbers:
    found = doubles(value)
    if not np.all(found >= 0):
        raise ValueError(f"Markov's inequality is for what is never negative; got an expectation of {value}")
    return found
