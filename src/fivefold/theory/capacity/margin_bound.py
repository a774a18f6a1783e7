"""Margin bounds: a classifier that is right with room to spare errs little on new data, whatever its dimension.

    w'x, |w| <= Lambda, |x| <= R        P(error) <= nu + sqrt((c / m) ((R Lambda / rho)^2 ln^2 m + ln(1 / delta)))
    fat-shattering                      P(error) <= nu + sqrt((2 / n) (f ln(34 e n / f) log2(578 n) + ln(4 / delta)))
                                        f = fat(rho / 16);  nu: the share of rows with a margin below rho
    linear and kernel classifiers       P(error) <= mean ramp(y g) + 2 s sqrt(sum_i k(x_i, x_i)) / n + deviation
                                        g = f scaled to the norm s;   ramp(t) = 1 below 0, 1 - t up to 1, then 0
    votes of members from a family      P(error) <= mean ramp(y f / theta) + (2 / theta) sqrt(2 ln Pi(n) / n) + dev.

The last two are Rademacher bounds: the ramp is above the error, and Lipschitz with constant 1. The scale s or theta
that makes the bound smallest is found on the rows, so every scale 2^(j/2) holds with a share of delta of its own. A
threshold is one more coefficient, of a column of ones. The deviation is that of the `rademacher` module; where k(x, x)
is known beforehand, as for a Gaussian kernel, it is the smaller one.

Bartlett (1998); Schapire, Freund, Bartlett & Lee (1998); Koltchinskii & Panchenko (2002); Kakade, Sridharan & Tewari
(2008); Schölkopf & Smola (2002), whose constant c is not known.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.types import Array, Doubles
from fivefold.theory.bounds import BoundCard, BoundValue, Case, register
from fivefold.theory.capacity.margins import scaled_margins, vote_margins
from fivefold.theory.capacity.rademacher import deviation
from fivefold.theory.capacity.vc_bounds import FAMILY_FIXED, INDEPENDENT, has_missing

MAX_SCALE_STEP = 80  # scales from 2^-40 to 2^40: beyond, margins or norms are no numbers that data have


def margin_error_bound(
    nu: float, m: ArrayLike, ratio: ArrayLike, delta: ArrayLike = 0.05, *, constant: float = 1.0
) -> Array:
    """The share of margin errors plus its term of complexity; `ratio` is R Lambda / rho, the constant is the user's.

    Examples
    --------
    >>> float(margin_error_bound(0.05, 10_000, 10.0).round(4))
    0.9712
    """
    m, ratio, delta = (np.asarray(value, dtype=float) for value in (m, ratio, delta))
    if not (np.all((m >= 1) & (ratio >= 0) & (delta > 0) & (delta < 1)) and constant > 0 and 0 <= nu <= 1):
        raise ValueError(
            "nu lies in [0, 1], delta in (0, 1), m is 1 or more, the ratio not negative, the constant positive"
        )
    found: Array = nu + np.sqrt(constant / m * (ratio**2 * np.log(m) ** 2 + np.log(1 / delta)))
    return found


def fat_shattering_bound(nu: float, dimension: float, n: int, delta: float = 0.05) -> float:
    """From the share of margin errors and the fat-shattering dimension at a 16th of the margin; at most 1.

    Examples
    --------
    >>> round(fat_shattering_bound(0.0, 4.0, 100_000), 3)
    0.174
    """
    if n < 1 or not 0 < delta < 1 or dimension < 0:
        raise ValueError(f"a bound needs rows and delta in (0, 1); got n={n}, delta={delta}, dimension={dimension}")
    f = max(dimension, 1.0)
    if f > n:
        return 1.0
    term = f * math.log(34 * math.e * n / f) * math.log2(578 * n) + math.log(4 / delta)
    return min(1.0, nu + math.sqrt(2 / n * term))


def mean_ramps(margins: Array, scales: Array) -> Doubles:
    """The mean of ramp(c margin) for every scale c: 1 for errors, 0 from c margin = 1 on, a line between.

    Examples
    --------
    >>> mean_ramps([-1.0, 0.25, 2.0], [1.0, 2.0]).round(4)
    array([0.5833, 0.5   ])
    """
    m = np.sort(np.asarray(margins, dtype=float))
    c = np.asarray(scales, dtype=float)
    below = np.searchsorted(m, 1 / c)  # rows whose ramp is above 0
    sums = np.append(0.0, np.maximum(m, 0.0).cumsum())
    found: Doubles = (below - c * sums[below]) / len(m)
    return found


@register(
    BoundCard(
        name="margin",
        formula="R <= mean ramp(y g) + 2 s sqrt(sum k(x_i, x_i)) / n + 3 sqrt(ln(2 / delta_s) / 2n), g = f of norm s",
        rows="training",
        assumptions=(
            INDEPENDENT,
            "columns, their scaling, the kernel and its settings were fixed before the rows were seen",
        ),
        use="Two classes that lie well apart: many columns or a kernel do no harm. Loose where the classes touch, and "
        "below some thousand rows.",
        source="Bartlett & Mendelson (2002); Kakade, Sridharan & Tewari (2008)",
    )
)
def margin_bound(case: Case, delta: float) -> BoundValue:
    """The best scale of a linear or kernel classifier of two classes."""
    found = scaled_margins(case.model, case.X, case.y)
    j = np.arange(-MAX_SCALE_STEP, MAX_SCALE_STEP + 1)
    log_odds = -math.log(delta) + np.log(1.5 * (np.abs(j) + 1.0) * (np.abs(j) + 2.0))  # the shares add to 1
    s = 2.0 ** (j / 2)
    losses = mean_ramps(found.margins, s / found.norm)
    complexity = s * math.sqrt(found.trace) / case.n
    values: Doubles = losses + 2 * complexity + deviation(case.n, log_odds, empirical=not found.trace_known)
    best = int(values.argmin())
    return BoundValue(float(values[best]), details={"mean ramp": float(losses[best]), "scale": float(s[best])})


@register(
    BoundCard(
        name="margin of a vote",
        formula="R <= mean ramp(y f / theta) + (2 / theta) sqrt(2 ln Pi(n) / n) + sqrt(ln(1 / delta_theta) / 2n)",
        rows="training",
        assumptions=(INDEPENDENT, FAMILY_FIXED),
        use="Boosted stumps and forests of small trees, two classes: the number of members does not matter. Loose for "
        "large trees.",
        source="Schapire, Freund, Bartlett & Lee (1998); Koltchinskii & Panchenko (2002)",
    )
)
def vote_margin_bound(case: Case, delta: float) -> BoundValue:
    """The best scale of a weighted vote of two classes."""
    margins, family = vote_margins(case.model, case.X, case.y)
    growth = family.growth_at(case.n)
    if has_missing(case.X):
        return BoundValue(1.0)
    j = np.arange(MAX_SCALE_STEP)
    log_odds = -math.log(delta) + np.log((j + 1.0) * (j + 2.0)) - family.log_weight
    theta = 2.0 ** (-j / 2)
    losses = mean_ramps(margins, 1 / theta)
    values = losses + 2 / theta * math.sqrt(2 * growth / case.n) + deviation(case.n, log_odds, empirical=False)
    best = int(values.argmin())
    return BoundValue(float(values[best]), details={"mean ramp": float(losses[best]), "margin": float(theta[best])})
