"""Binomial tails: errors that are 0 or 1 have a mean whose distribution is known, so the limits are exact.

    P(m <= q)  =  P(Bin(n, mu) <= n q)
    upper limit of mu    the one with P(Bin(n, mu) <= errors) = delta

With I the regularised incomplete beta function, P(Bin(n, mu) <= k) = 1 - I_mu(k + 1, n - k); the limit is its inverse.

Clopper & Pearson (1934).
"""

from __future__ import annotations

import numpy as np
from scipy.special import bdtr, betainccinv

from fivefold.theory.concentration.bound_arguments import (
    ConfidenceLimits,
    Numbers,
    as_given,
    check_confidence,
    doubles,
)


def binomial_tail(n: Numbers, errors: Numbers, mu: Numbers) -> Numbers:
    """P(Bin(n, mu) <= errors), exactly."""
    return as_given(np.asarray(bdtr(doubles(errors), n, doubles(mu))))


def binomial_upper(errors: Numbers, n: Numbers, delta: Numbers) -> Numbers:
    """Upper limit of mu: the one with P(Bin(n, mu) <= errors) = delta (Clopper & Pearson).

    Examples
    --------
    >>> round(binomial_upper(0, 100, 0.05), 4)  # 1 - 0.05^(1/100)
    0.0295
    >>> binomial_upper([0, 10, 100], 100, 0.05).round(4)
    array([0.0295, 0.1637, 1.    ])
    """
    check_confidence(n, delta)
    k, n = np.broadcast_arrays(doubles(errors), doubles(n))
    if not np.all((k >= 0) & (k <= n)):
        raise ValueError(f"errors lie between 0 and the number of rows; got {errors} on {n} rows")
    return as_given(np.where(k >= n, 1.0, betainccinv(k + 1, np.maximum(n - k, 1), doubles(delta))))


def binomial_interval(errors: Numbers, n: Numbers, delta: Numbers) -> ConfidenceLimits:
    """Limits of mu that fail with probability delta / 2 on either side."""
    half = doubles(delta) / 2
    return 1 - binomial_upper(doubles(n) - doubles(errors), n, half), binomial_upper(errors, n, half)
