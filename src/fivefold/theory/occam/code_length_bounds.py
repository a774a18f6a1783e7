"""Occam bounds by inversion, and every criterion by which a rule of some length can be chosen.

    KL form         the largest q with  n KL(e, q) <= bits ln 2 + ln(1 / delta)
    binomial form   the q with  P(Bin(n, q) <= errors) = delta 2^-bits

The relative bound and the square root follow from the KL form by bounds on KL, so that it is never above either; the
binomial form inverts the tail itself and is never above the KL form. `information.occam_bounds` has the closed forms.

Langford (2005), Tutorial on practical prediction theory for classification.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import log

import numpy as np

from fivefold.information.occam_bounds import (
    CRITERIA,
    PRICE_PER_BIT,
    Amount,
    OccamCriterion,
    root_margin,
)
from fivefold.theory.concentration import binomial_upper, kl_largest

OCCAM_ASSUMPTIONS = (
    "rows are independent and come from where new data will come from",
    "the language of the model, and the ranges of columns where some are given, were fixed before the rows were seen",
)
LEAST_SHARE = 1e-290  # a smaller delta 2^-bits would lose its digits in float64: the KL form is taken there


def kl_bound(errors: Amount, bits: Amount, n: float, delta: float, price: float = PRICE_PER_BIT) -> Amount:
    """The Occam bound in KL form.

    Examples
    --------
    >>> round(kl_bound(10, 20, 1000, 0.05), 5), round(kl_bound(0, 20, 1000, 0.05), 5)
    (0.04033, 0.01672)
    """
    return kl_largest(np.asarray(errors) / n, (np.asarray(bits) * log(2) + log(1 / delta)) / n)


def binomial_bound(errors: Amount, bits: Amount, n: float, delta: float, price: float = PRICE_PER_BIT) -> Amount:
    """The Occam bound in binomial form.

    Examples
    --------
    >>> [round(float(binomial_bound(errors, 20, 1000, 0.05)), 5) for errors in (10, 0)]
    [0.03802, 0.01672]
    """
    share = delta * np.exp2(-np.asarray(bits, dtype=float))
    inverted = binomial_upper(errors, n, np.maximum(share, LEAST_SHARE))
    return np.where(share >= LEAST_SHARE, inverted, kl_bound(errors, bits, n, delta))[()]


def occam_interval(errors: Amount, bits: Amount, n: float, delta: float = 0.05) -> tuple[Amount, Amount]:
    """Limits of the error by the square-root bound, for all rules of the code at once; cut to [0, 1].

    Examples
    --------
    >>> low, high = occam_interval(100, 20, 1000)
    >>> round(float(low), 5), round(float(high), 5)
    (0.00632, 0.19368)
    """
    check_occam(errors, bits, n, delta)
    e, margin = np.asarray(errors) / n, root_margin(bits, n, delta)
    return np.maximum(e - margin, 0.0), np.minimum(e + margin, 1.0)


RULES: Mapping[str, OccamCriterion] = {**CRITERIA, "kl": kl_bound, "binomial": binomial_bound}


def check_occam(errors: Amount, bits: Amount, n: float, delta: float) -> None:
    """Refuse what no bound can be computed from."""
    if not 0 < delta < 1:
        raise ValueError(f"delta is a probability between 0 and 1, such as 0.05; got {delta}")
    if not n >= 1:
        raise ValueError(f"a bound needs rows; got n={n}")
    e, b = np.asarray(errors, dtype=float), np.asarray(bits, dtype=float)
    if not np.all((e >= 0) & (e <= n)):
        raise ValueError(f"errors lie between 0 and the number of rows; got {errors} on {n} rows")
    if not np.all(b >= 0):
        raise ValueError(f"lengths are in bits and not negative; got {bits}")
