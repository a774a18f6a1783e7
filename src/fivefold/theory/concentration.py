"""Concentration of a mean: how far the mean m of n independent values in [0, 1] strays from its expectation mu.

    Hoeffding              P(m <= mu - e)  <=  exp(-2 n e^2)            the same above; twice that on both sides
    relative Chernoff      P(m <= mu - e)  <=  exp(-n e^2 / (2 mu))     Angluin-Valiant: better where mu < 1/4
    Chernoff, in KL form   P(m <= q)       <=  exp(-n KL(q, mu))        q <= mu; better than both everywhere
    binomial               P(m <= q)        =  P(Bin(n, mu) <= n q)     errors that are 0 or 1: exact

with KL(p, q) = p ln(p/q) + (1-p) ln((1-p)/(1-q)). Solved for mu at a probability of delta, each is an upper limit that
fails with probability at most delta. With c = 2 ln(1/delta) / n the relative bound has three forms,

    mu <= m + sqrt(mu c)                                    implicit
    mu <= m + c/2 + sqrt(m c + c^2/4)                       its largest solution
    mu <= m + sqrt(m c) + c                                 simpler, a little larger

Values in [0, 1] have a variance of at most mu (1 - mu), that of values 0 and 1: this is why small errors are known more
precisely. The probability that any of several statements fails is at most sum_h delta_h (the union bound).

Hoeffding (1963); Chernoff (1952); Angluin & Valiant (1979); Clopper & Pearson (1934).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import brentq
from scipy.special import bdtr, bdtri, rel_entr

from fivefold.core.types import Array, Vector

ConfidenceLimits = tuple[float, float]


# Hoeffding


def hoeffding_tail(n: int, epsilon: float) -> float:
    """P(m <= mu - epsilon) is at most this; P(m >= mu + epsilon) too."""
    return float(np.exp(-2 * n * epsilon**2))


def hoeffding_margin(n: int, delta: float, *, sides: int = 2) -> float:
    """Half the width of an interval that fails with probability delta: sqrt(ln(sides / delta) / (2 n)).

    Examples
    --------
    >>> round(hoeffding_margin(1000, 0.05), 6)
    0.042947
    """
    _check(n, delta)
    return float(np.sqrt(np.log(sides / delta) / (2 * n)))


def hoeffding_interval(mean: float, n: int, delta: float, *, clip: bool = True) -> ConfidenceLimits:
    """mean +- margin, cut to [0, 1] unless `clip` is false."""
    margin = hoeffding_margin(n, delta)
    low, high = mean - margin, mean + margin
    return (max(low, 0.0), min(high, 1.0)) if clip else (low, high)


def hoeffding_rows(margin: float, delta: float, *, sides: int = 2) -> int:
    """The number of rows that makes the margin this small.

    Examples
    --------
    >>> hoeffding_rows(0.01, 0.05)
    18445
    """
    _check(1, delta)
    return int(np.ceil(np.log(sides / delta) / (2 * margin**2)))


# Union bound


def split_evenly(delta: float, statements: int) -> Vector:
    """An equal part of delta for each statement."""
    return np.full(statements, delta / statements)


def split_by_length(delta: float, lengths: Sequence[float]) -> Vector:
    """delta 2^-length for a statement whose code has that many bits; no code may be a prefix of another (Kraft)."""
    weights = 2.0 ** -np.asarray(lengths, dtype=float)
    if weights.sum() > 1 + 1e-12:
        raise ValueError(
            f"no prefix code has these lengths: their 2^-length sum to {weights.sum():.4g}, above 1 (Kraft)"
        )
    return delta * weights


def simultaneous(
    means: Sequence[float],
    n: int,
    deltas: Sequence[float],
    interval: Callable[[float, int, float], ConfidenceLimits] = hoeffding_interval,
) -> tuple[ConfidenceLimits, ...]:
    """Intervals that all hold together with probability 1 - sum of the deltas."""
    return tuple(interval(mean, n, delta) for mean, delta in zip(means, deltas, strict=True))


# Variance


def largest_variance(mean: float) -> float:
    """mean (1 - mean), never above 1/4 or the mean: the most that values in [0, 1] can have, reached by 0 and 1."""
    return mean * (1 - mean)


# Relative Chernoff


def relative_tail(n: int, mu: float, epsilon: float) -> float:
    """P(m <= mu - epsilon) is at most this."""
    return float(np.exp(-n * epsilon**2 / (2 * mu)))


def relative_upper(mean: float, n: int, delta: float) -> float:
    """Upper limit of mu: the largest solution of mu = mean + sqrt(mu c).

    Examples
    --------
    >>> round(relative_upper(0.01, 1000, 0.05), 6)
    0.021296
    """
    c = _chernoff_rate(n, delta)
    return float((c + 2 * mean + np.sqrt(c * c + 4 * c * mean)) / 2)


def relative_upper_simple(mean: float, n: int, delta: float) -> float:
    """Upper limit of mu: mean + sqrt(mean c) + c."""
    c = _chernoff_rate(n, delta)
    return float(mean + np.sqrt(mean * c) + c)


def relative_right_side(mu: float, mean: float, n: int, delta: float) -> float:
    """mean + sqrt(mu c): at the true mu, with probability 1 - delta, this is at least mu."""
    return float(mean + np.sqrt(mu * _chernoff_rate(n, delta)))


# Chernoff in KL form


def binary_kl(p: float | Array, q: float | Array) -> Array:
    """KL(p, q) of two Bernoulli distributions, in nats; infinite if q excludes an outcome that p allows."""
    p, q = np.asarray(p, dtype=float), np.asarray(q, dtype=float)
    return rel_entr(p, q) + rel_entr(1 - p, 1 - q)


def binary_kl_below(p: float | Array, q: float | Array) -> Array:
    """KL(p, q) if p < q, otherwise zero: the exponent of P(mean <= p)."""
    return np.where(np.asarray(p) < np.asarray(q), binary_kl(p, q), 0.0)


def kl_tail(n: int, q: float, mu: float) -> float:
    """P(m <= q) is at most this."""
    return float(np.exp(-n * binary_kl_below(q, mu)))


def kl_largest(p: float, budget: float) -> float:
    """The largest q with KL(p, q) <= budget."""
    return _invert_kl(p, budget, 1.0)


def kl_smallest(p: float, budget: float) -> float:
    """The smallest q with KL(p, q) <= budget."""
    return _invert_kl(p, budget, 0.0)


def kl_upper(mean: float, n: int, delta: float) -> float:
    """Upper limit of mu: the largest q with n KL(mean, q) <= ln(1 / delta)."""
    _check(n, delta)
    return kl_largest(mean, np.log(1 / delta) / n)


# Binomial


def binomial_tail(n: int, errors: int, mu: float) -> float:
    """P(Bin(n, mu) <= errors), exactly."""
    return float(bdtr(errors, n, mu))


def binomial_upper(errors: int, n: int, delta: float) -> float:
    """Upper limit of mu: the one with P(Bin(n, mu) <= errors) = delta (Clopper & Pearson).

    Examples
    --------
    >>> round(binomial_upper(0, 100, 0.05), 4)  # 1 - 0.05^(1/100)
    0.0295
    """
    _check(n, delta)
    return 1.0 if errors >= n else float(bdtri(errors, n, delta))


def binomial_interval(errors: int, n: int, delta: float) -> ConfidenceLimits:
    """Limits of mu that fail with probability delta / 2 on either side."""
    return 1 - binomial_upper(n - errors, n, delta / 2), binomial_upper(errors, n, delta / 2)


def _invert_kl(p: float, budget: float, end: float) -> float:
    """The point between p and the end where KL(p, .) reaches the budget."""
    if budget < 0 or not 0 <= p <= 1:
        raise ValueError(f"p lies in [0, 1] and the budget is not negative; got p={p}, budget={budget}")
    if p == end or binary_kl(p, end) <= budget:
        return end
    if budget == 0:
        return p
    inner = np.nextafter(end, p)  # at the end itself the divergence is infinite
    if binary_kl(p, inner) <= budget:
        return end
    return float(brentq(lambda q: float(binary_kl(p, q)) - budget, p, inner, xtol=1e-300, maxiter=2000))


def _chernoff_rate(n: int, delta: float) -> float:
    _check(n, delta)
    return 2 * float(np.log(1 / delta)) / n


def _check(n: int, delta: float) -> None:
    if n < 1 or not 0 < delta < 1:
        raise ValueError(f"a bound needs rows, and delta between 0 and 1 such as 0.05; got n={n}, delta={delta}")
