"""Chernoff's bound in KL form: the mean m of n independent values in [0, 1] with expectation mu.

    P(m <= q)  <=  exp(-n KL(q, mu))            q <= mu; better than Hoeffding's and the relative bound everywhere
    KL(p, q)    =  p ln(p / q) + (1 - p) ln((1 - p) / (1 - q))
    KL<(p, q)   =  KL(p, q) if p < q, otherwise 0;  jointly convex:  E KL<(x, y) >= KL<(E x, E y)

Solved for mu at a probability of delta: mu is at most the largest q with n KL(m, q) <= ln(1 / delta), and at least the
smallest. Both are found to 1e-12 of the smaller of q and 1 - q, or to the next number that float64 holds. For bounds
that hold for many rules at once, the exponential moment is what counts:

    E exp((n - 1) KL<(m, mu))  <=  n

Chernoff (1952); Seeger (2002).
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, logsumexp, rel_entr, xlog1py, xlogy

from fivefold.core.parallel import map_parts
from fivefold.core.types import Doubles
from fivefold.theory.concentration.bound_arguments import (
    ConfidenceLimits,
    Numbers,
    as_given,
    check_confidence,
    check_unit,
    doubles,
)
from fivefold.theory.concentration.kl_inversion_loops import SERIES_LIMIT, log_shrinkage, log_shrinkages

INTERPRETED_ENTRIES = 200  # fewer are solved faster without the compiler, which takes a second to import


def binary_kl(p: Numbers, q: Numbers) -> Doubles:
    """KL(p, q) of two Bernoulli distributions, in nats; infinite if q excludes an outcome that p allows."""
    p, q = doubles(p), doubles(q)
    return _divergence(p, q, q - p) + _divergence(1 - p, 1 - q, p - q)


def binary_kl_below(p: Numbers, q: Numbers) -> Doubles:
    """KL(p, q) if p < q, otherwise zero: the exponent of P(mean <= p)."""
    return np.where(np.asarray(p) < np.asarray(q), binary_kl(p, q), 0.0)


def kl_tail(n: Numbers, q: Numbers, mu: Numbers) -> Numbers:
    """P(m <= q) is at most this."""
    return as_given(np.exp(-doubles(n) * binary_kl_below(q, mu)))


def kl_largest(p: Numbers, budget: Numbers) -> Numbers:
    """The largest q with KL(p, q) <= budget.

    Examples
    --------
    >>> round(kl_largest(0.1, 0.05), 6), kl_largest(0.0, [0.0, 0.1]).round(6)
    (0.220079, array([0.      , 0.095163]))
    """
    p, budget = _admit(p, budget)
    s = 1 - p
    u = _log_shrinkage(p, s, budget)
    q = p - s * np.expm1(-u)
    return as_given(np.where(q < 0.5, q, 1 - s * np.exp(-u)))  # either form keeps the digits of the smaller side


def kl_smallest(p: Numbers, budget: Numbers) -> Numbers:
    """The smallest q with KL(p, q) <= budget."""
    p, budget = _admit(p, budget)
    return as_given(np.asarray(p * np.exp(-_log_shrinkage(1 - p, p, budget))))


def kl_upper(mean: Numbers, n: Numbers, delta: Numbers) -> Numbers:
    """Upper limit of mu: the largest q with n KL(mean, q) <= ln(1 / delta)."""
    check_confidence(n, delta)
    return kl_largest(mean, -np.log(doubles(delta)) / doubles(n))


def kl_lower(mean: Numbers, n: Numbers, delta: Numbers) -> Numbers:
    """Lower limit of mu: the smallest q with n KL(mean, q) <= ln(1 / delta)."""
    check_confidence(n, delta)
    return kl_smallest(mean, -np.log(doubles(delta)) / doubles(n))


def kl_interval(mean: Numbers, n: Numbers, delta: Numbers) -> ConfidenceLimits:
    """Limits of mu that fail with probability delta / 2 on either side."""
    half = doubles(delta) / 2
    return kl_lower(mean, n, half), kl_upper(mean, n, half)


def kl_moment(n: int, mu: float) -> float:
    """E exp((n - 1) KL<(m, mu)) for the mean m of n values 0 and 1, summed over the binomial; at most n.

    Examples
    --------
    >>> round(kl_moment(10, 0.3), 4)
    1.9564
    """
    check_unit("mu", mu)
    k = np.arange(n + 1)
    log_choose = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    log_probability = log_choose + xlogy(k, mu) + xlog1py(n - k, -mu)
    possible = np.isfinite(log_probability)  # at mu = 1 the others are infinitely far away
    return float(np.exp(logsumexp(log_probability[possible] + (n - 1) * binary_kl_below(k[possible] / n, mu))))


def _admit(p: Numbers, budget: Numbers) -> tuple[Doubles, Doubles]:
    p, budget = doubles(p), doubles(budget)
    if not (np.all((p >= 0) & (p <= 1)) and np.all(budget >= 0)):
        raise ValueError(f"p lies in [0, 1] and the budget is not negative; got p={p}, budget={budget}")
    return p, budget


def _log_shrinkage(g: Doubles, s: Doubles, budget: Doubles) -> Doubles:
    """u for arrays of masses g + s = 1; 0 where there is no mass to shrink."""
    G, S, B = (np.ravel(a) for a in np.broadcast_arrays(g, s, budget))
    U = np.zeros(B.shape)
    if len(U) <= INTERPRETED_ENTRIES:
        entries = zip(G.tolist(), S.tolist(), B.tolist(), strict=True)
        U[:] = [log_shrinkage.function(*entry) for entry in entries]
    else:
        map_parts(lambda lo, hi: log_shrinkages(G[lo:hi], S[lo:hi], B[lo:hi], U[lo:hi]), len(U))
    return U.reshape(np.broadcast_shapes(g.shape, budget.shape))


def _divergence(a: Doubles, b: Doubles, change: Doubles) -> Doubles:
    """a ln(a / b) + b - a, never negative, with all its digits where b = a + change is near a.

    There it is a (x - ln(1 + x)) with x = change / a; with r = x / (2 + x) it is change r - 2 a (r^3/3 + r^5/5 + ...).
    """
    near = np.abs(change) < SERIES_LIMIT * a
    r = np.divide(change, 2 * a + change, out=np.zeros(near.shape), where=near)
    z = r * r
    odd = np.polynomial.polynomial.polyval(z, 1 / np.arange(3, 23, 2))  # 1/3 + z/5 + ...: z is at most 1/49
    return np.where(near, change * r - 2 * a * r * z * odd, rel_entr(a, b) + change)
