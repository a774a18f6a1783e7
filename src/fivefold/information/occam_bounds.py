"""Occam bounds: the error of a rule on new rows, from its errors on n rows and its length in a prefix code.

    square root   e + sqrt((bits ln 2 + ln(2 / delta)) / (2 n))      |error - e| is at most the root: both sides
    tight         e + sqrt(e c) + c                                  the relative bound: better where e is small
    exact         e + c / 2 + sqrt(e c + c^2 / 4)                    its largest solution, never above the tight one
    linear        e + c                                              no bound, but  e + c <= tight <= (3/2) (e + c)
    count         errors + price x bits                              price = 2 ln 2: n (e + c) but for a constant

with e = errors / n and c = 2 (bits ln 2 + ln(1 / delta)) / n. With probability 1 - delta each of the first three holds
for all rules of the code at once, so that the rule may be chosen on the same rows: a rule of that many bits has the
share delta 2^-bits of the probability, and by Kraft's inequality the shares sum to delta at most. The minimum of the
linear criterion has a tight bound at most half as large again as the least one; the same rule has the least count,
whatever n and delta.

Blumer, Ehrenfeucht, Haussler & Warmuth (1987); McAllester (2009), Case Studies in Machine Learning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import log

import numpy as np

from fivefold.core.types import Array

Amount = float | Array  # of one rule, or of several
OccamCriterion = Callable[..., Amount]  # (errors, bits, n, delta, price) -> what is minimised

PRICE_PER_BIT = 2 * log(2)  # errors that one bit is worth: n c grows by this much per bit


def occam_rate(bits: Amount, n: float, delta: float) -> Amount:
    """c of the bounds: what a rule of this many bits pays without a single error."""
    return 2 * (bits * log(2) + log(1 / delta)) / n


def root_margin(bits: Amount, n: float, delta: float) -> Amount:
    """Half the width of the interval around the share of errors."""
    return np.sqrt((bits * log(2) + log(2 / delta)) / (2 * n))


def root_bound(errors: Amount, bits: Amount, n: float, delta: float, price: float = PRICE_PER_BIT) -> Amount:
    """The square-root bound.

    >>> round(float(root_bound(0, 20, 1000, 0.05)), 6)
    0.09368
    """
    return errors / n + root_margin(bits, n, delta)


def tight_bound(errors: Amount, bits: Amount, n: float, delta: float, price: float = PRICE_PER_BIT) -> Amount:
    """The relative bound in its simple form.

    >>> round(float(tight_bound(10, 20, 1000, 0.05)), 5)
    0.06208
    """
    e, c = errors / n, occam_rate(bits, n, delta)
    return e + np.sqrt(e * c) + c


def exact_bound(errors: Amount, bits: Amount, n: float, delta: float, price: float = PRICE_PER_BIT) -> Amount:
    """The relative bound solved for the error: the largest solution of error = e + sqrt(error c)."""
    e, c = errors / n, occam_rate(bits, n, delta)
    return e + c / 2 + np.sqrt(e * c + c * c / 4)


def linear_bound(errors: Amount, bits: Amount, n: float, delta: float, price: float = PRICE_PER_BIT) -> Amount:
    """e + c, which orders rules almost as the tight bound does."""
    return errors / n + occam_rate(bits, n, delta)


def priced_count(errors: Amount, bits: Amount, n: float, delta: float, price: float = PRICE_PER_BIT) -> Amount:
    """Errors plus the price of the bits."""
    return errors + price * bits


CRITERIA: Mapping[str, OccamCriterion] = {
    "count": priced_count,
    "linear": linear_bound,
    "tight": tight_bound,
    "exact": exact_bound,
    "root": root_bound,
}
