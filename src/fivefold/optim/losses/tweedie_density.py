"""The density of a Tweedie variable at its own mean, exact to rounding.

    f(y; mu, phi) = f(y; y, phi) e^(-d(y, mu) / (2 phi)),      f(y; y, phi) = f(1; 1, xi) / y,    xi = phi y^(p-2)

which leaves one function of xi per power p.

    1 < p < 2    y is a sum of N gamma variables, N Poisson of mean lam = 1 / (xi (2-p)):

                 f(1; 1, xi) = sum_j Poisson(j; lam) Gamma(1; j a, 1/t),    a = (2-p) / (p-1),   t = 1 / (xi (p-1))

                 Both factors peak at j = lam, and fall with D(j) / (p-1), D(j) = j ln(j / lam) - j + lam. A peak far
                 from zero is so smooth that a step of half its width gives the sum as well as a step of one.

    p > 2        y is a tilted positive stable variable of index r = (p-2) / (p-1), whose density is an integral of
                 positive terms (Kanter, Zolotarev), here tilted too, so that nothing cancels:

                 f(1; 1, xi) = q r / (1-r) / pi  int_0^pi B(u) e^(-q (B(u) - 1)) du,      q = 1 / (xi (p-1) (p-2))
                 ln B(u) = (r ln(sin(ru) / (ru)) + (1-r) ln(sin((1-r)u) / ((1-r)u)) - ln(sin(u) / u)) / (1-r)

                 by the double-exponential rule, one set of nodes for all rows.

Dunn & Smyth (2005), Series evaluation of Tweedie exponential dispersion model densities; Kanter (1975); Loader (2000),
Fast and accurate computation of binomial probabilities, for ln Poisson(j; lam) without cancellation; Takahasi &
Mori (1974).
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from fivefold.core.types import Array

NEGLIGIBLE_LOG_RATIO = 40.0  # terms below e^-40 of the largest are lost in rounding
MIN_STIRLING = 16.0  # from this argument on, four terms of Stirling's series are exact to rounding
SMALL_ANGLE = 0.1
QUADRATURE_REACH = 4.6  # of the double-exponential rule: its outermost nodes are within 1e-60 of the ends
QUADRATURE_NODES = 801  # nodes of the double-exponential rule


def log_density_at_mean(xi: Array, power: float) -> Array:
    """ln f(1; 1, xi) for each xi > 0."""
    return _sum_of_gammas(xi, power) if power < 2 else _tilted_stable(xi, power)


def _sum_of_gammas(xi: Array, p: float) -> Array:
    a, lam = (2 - p) / (p - 1), 1 / (xi * (2 - p))
    reach, mode = NEGLIGIBLE_LOG_RATIO * (p - 1), np.maximum(lam, 1.0)
    low = np.maximum(np.floor(mode - np.sqrt(2 * reach * mode)), 1.0)
    high = mode + reach / 3 + np.sqrt(reach**2 / 9 + 2 * reach * mode) + 1
    step = np.where(low > 1, np.maximum(np.floor(np.sqrt(lam * (p - 1)) / 2), 1.0), 1.0)
    count = np.ceil((high - low) / step).astype(int) + 1
    longest = np.argsort(-count, kind="stable")
    low, stride, mean = low[longest], step[longest], lam[longest]
    total = np.full_like(lam, -np.inf)
    for k in range(count.max(initial=0)):
        m = np.count_nonzero(count > k)  # number of sums not yet finished
        j, mu = low[:m] + k * stride[:m], mean[:m]
        total[:m] = np.logaddexp(total[:m], _log_poisson(j, mu) + _log_poisson(j * a, mu * a) + np.log(j * a))
    total[longest] = total.copy()
    return total + np.log(step)


def _log_poisson(x: Array, mean: Array) -> Array:
    """x ln(mean) - mean - ln Gamma(x + 1), also for an x that is not an integer."""
    gap = (mean - x) / x
    log_ratio = np.where(gap > -0.5, np.log1p(np.maximum(gap, -0.5)), np.log(mean / x))
    return x * (log_ratio - gap) - 0.5 * np.log(2 * np.pi * x) - _beyond_stirling(x)


def _beyond_stirling(x: Array) -> Array:
    """ln Gamma(x + 1) - (x ln x - x + ln(2 pi x) / 2)."""
    large = np.maximum(x, MIN_STIRLING)
    series = (1 / 12 - (1 / 360 - (1 / 1260 - 1 / (1680 * large**2)) / large**2) / large**2) / large
    direct = gammaln(x + 1) - x * np.log(x) + x - 0.5 * np.log(2 * np.pi * x)
    return np.where(x < MIN_STIRLING, direct, series)


def _tilted_stable(xi: Array, p: float) -> Array:
    r, q = (p - 2) / (p - 1), 1 / (xi * (p - 1) * (p - 2))
    s = np.linspace(-QUADRATURE_REACH, QUADRATURE_REACH, QUADRATURE_NODES)
    z = np.pi * np.sinh(s)  # u = pi / (1 + e^-z): both u and pi - u have all their digits
    u, rest = np.pi / (1 + np.exp(-z)), np.pi / (1 + np.exp(z))
    weight = np.pi * np.cosh(s) * u * rest / np.pi * (s[1] - s[0])
    sine = np.sin(np.minimum(u, rest))
    whole = np.where(u < SMALL_ANGLE, _log_sinc(u), np.log(sine / u))
    log_B = (r * _log_sinc(r * u) + (1 - r) * _log_sinc((1 - r) * u) - whole) / (1 - r)
    inside = np.isfinite(log_B) & (log_B < 700)
    terms, over = (np.log(weight) + log_B)[inside], np.expm1(log_B[inside])
    flat = np.atleast_1d(q).ravel()
    with np.errstate(over="ignore"):  # e^-infinity is zero
        out = np.array([_log_sum(terms - each * over) for each in flat]).reshape(np.shape(q))
    return out + np.log(q * r / (1 - r) / np.pi)


def _log_sinc(u: Array) -> Array:
    """ln(sin(u) / u); for a small u, where it is near -u^2 / 6, by its series."""
    v = np.minimum(u, SMALL_ANGLE) ** 2
    series = -v * (1 / 6 + v * (1 / 180 + v * (1 / 2835 + v * (1 / 37800 + v / 467775))))
    return np.where(u < SMALL_ANGLE, series, np.log(np.sinc(u / np.pi)))


def _log_sum(v: Array) -> float:
    top = v.max()
    return top + np.log(np.exp(v - top).sum())
