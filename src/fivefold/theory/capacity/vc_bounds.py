"""Vapnik-Chervonenkis bounds: the training error of any member of a family, plus what its capacity adds.

For all members f of a family at once, with probability 1 - delta over n rows,

    Vapnik           R(f)  <=  R_emp(f) + sqrt((h (ln(2 n / h) + 1) - ln(delta / 4)) / n)
    growth function  R(f)  <=  R_emp(f) + sqrt((n + 1)(ln Pi(2 n) + ln(2 / delta))) / n + 1 / n
    hypergeometric   R(f)  <=  m / n,  m the least number with  P(K <= k)  <=  delta / (2 Pi(2 n)),
                               K ~ Hypergeometric(2 n rows, k + m of them errors, n drawn),  k the training errors

The last two come from one argument. Imagine n further rows. If R(f) >= m / n, then f makes m errors or more on them
with probability 1/2 at least (a median of a binomial is at least the integer part of its mean). The 2 n rows come in
random order, so of k + m errors the first half holds k or fewer with the hypergeometric probability, and the family
divides 2 n rows in at most Pi(2 n) ways: the union over them and the factor 2 make delta. The square root is Serfling's
bound of the hypergeometric tail; the tail itself is never above it, and without training errors it falls as 1 / n.

Vapnik & Chervonenkis (1971); Vapnik (1998); Serfling (1974).
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq
from scipy.sparse import issparse
from scipy.special import betaln, gammaln

from fivefold.core.types import Doubles, Indices, Table
from fivefold.theory.bounds import BoundCard, BoundValue, Case, register
from fivefold.theory.capacity.model_capacity import Capacity, capacity

INDEPENDENT = "rows are independent and come from where new data will come from"
FAMILY_FIXED = (
    "the family was fixed before the rows were seen: columns, kernel and its settings were not chosen by them"
)


def vc_confidence(h: float, n: float, delta: float = 0.05) -> float:
    """What Vapnik's bound adds to the training error, for a VC dimension h and n rows; infinite for h above n.

    Examples
    --------
    >>> round(vc_confidence(10, 10_000), 4)
    0.0951
    """
    if n < 1 or not 0 < delta < 1 or not h > 0:
        raise ValueError(
            f"a bound needs rows, a positive h, and delta between 0 and 1; got n={n}, h={h}, delta={delta}"
        )
    if h > n:
        return float("inf")
    return float(np.sqrt((h * (np.log(2 * n / h) + 1) - np.log(delta / 4)) / n))


def vc_bound(risk: float, h: float, n: int, delta: float = 0.05) -> float:
    """Training error plus Vapnik's confidence term, at most 1.

    Examples
    --------
    >>> round(vc_bound(0.1, 3, 1000), 6)
    0.263978
    """
    return min(1.0, risk + vc_confidence(h, n, delta))


def vc_rows(h: float, confidence: float, delta: float = 0.05) -> int:
    """The number of rows from which on the confidence term is at most this.

    Examples
    --------
    >>> vc_rows(3, 0.1), vc_confidence(3, vc_rows(3, 0.1)) <= 0.1 < vc_confidence(3, vc_rows(3, 0.1) - 1)
    (3021, True)
    """
    if not 0 < confidence:
        raise ValueError(f"the confidence term is positive; got {confidence}")
    high = math.ceil(h)
    if vc_confidence(h, high, delta) <= confidence:
        return high
    while vc_confidence(h, high, delta) > confidence:
        high *= 2
    n = math.ceil(brentq(lambda rows: _vapnik_term(h, rows, delta) - confidence, high / 2, high, xtol=1e-9))
    return n if vc_confidence(h, n, delta) <= confidence else n + 1  # rounding of the root


def growth_confidence(log_growth: float, n: float, delta: float = 0.05) -> float:
    """What is added to the training error, from the logarithm of the growth function at 2 n points."""
    return float(math.sqrt((n + 1) * (log_growth + math.log(2 / delta))) / n + 1 / n)


def hypergeometric_upper(errors: int, n: int, log_growth: float, delta: float = 0.05) -> float:
    """The bound of the error by the hypergeometric tail, from the logarithm of the growth function at 2 n points.

    Examples
    --------
    >>> from fivefold.theory.capacity.growth_function import log_linear_growth
    >>> round(hypergeometric_upper(0, 1000, log_linear_growth(2000, 2)), 3)
    0.027
    """
    if n < 1 or not 0 <= errors <= n or not 0 < delta < 1:
        raise ValueError(
            f"errors lie between 0 and n, and delta between 0 and 1; got errors={errors}, n={n}, delta={delta}"
        )
    budget = math.log(delta / 2) - log_growth
    low, high = errors - 1, n  # the tail is above the budget at low, and counts from high on say nothing
    if _log_lower_tail(errors, n, n) > budget:
        return 1.0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _log_lower_tail(errors, middle, n) > budget else (low, middle)
    return high / n


@register(
    BoundCard(
        name="VC, hypergeometric tail",
        formula="R <= m / n, the least m with P(K <= k) <= delta / (2 Pi(2n)), K ~ Hypergeometric(2n, k + m, n)",
        rows="training",
        assumptions=(INDEPENDENT, FAMILY_FIXED),
        use="Few columns and many rows; the tightest form of what the capacity alone says. Without training errors it "
        "falls as 1 / n.",
        source="Vapnik & Chervonenkis (1971); exact tail in place of an exponential one",
        never_above=("VC, growth function",),
    )
)
def hypergeometric_bound(case: Case, delta: float) -> BoundValue:
    """The hypergeometric tail, from the growth function of the model's family."""
    family = capacity(case.model)
    growth = family.growth_at(2 * case.n) - family.log_weight
    if has_missing(case.X):
        return BoundValue(1.0)
    return BoundValue(hypergeometric_upper(case.errors, case.n, growth, delta), details=_details(family))


@register(
    BoundCard(
        name="VC, growth function",
        formula="R <= R_emp + sqrt((n + 1)(ln Pi(2n) + ln(2 / delta))) / n + 1 / n",
        rows="training",
        assumptions=(INDEPENDENT, FAMILY_FIXED),
        use="For the order of magnitude: it shows what rows and capacity do. Loose below some thousand rows.",
        source="Vapnik & Chervonenkis (1971); Vapnik (1998); Serfling (1974)",
    )
)
def growth_bound(case: Case, delta: float) -> BoundValue:
    """Training error plus a square root of the growth function of the model's family."""
    family = capacity(case.model)
    growth = family.growth_at(2 * case.n) - family.log_weight
    if has_missing(case.X):
        return BoundValue(1.0)
    return BoundValue(case.risk + growth_confidence(growth, case.n, delta), details=_details(family))


def _vapnik_term(h: float, n: float, delta: float) -> float:
    return math.sqrt((h * (math.log(2 * n / h) + 1) - math.log(delta / 4)) / n)


def _details(family: Capacity) -> dict[str, float]:
    return {"VC dimension": family.dimension}


def has_missing(X: Table) -> bool:
    """Rows with missing values go where a tree learned to send them: tests that the growth function does not count."""
    values = np.asarray(X.data if issparse(X) else X)
    return values.dtype.kind == "f" and bool(np.isnan(values).any())


def _log_lower_tail(k: int, m: int, n: int) -> float:
    """ln P(K <= k) of the errors K in the first n of 2 n rows in random order, k + m of which are errors."""
    i = np.arange(max(0, k + m - n), k + 1)
    if not len(i):
        return -math.inf
    ways = _log_choose(k + m, i) + _log_choose(2 * n - k - m, n - i)
    return float(np.logaddexp.reduce(ways) - (gammaln(2 * n + 1) - 2 * gammaln(n + 1)))


def _log_choose(n: int, k: Indices) -> Doubles:
    found: Doubles = -betaln(1 + n - k, 1 + k) - np.log1p(n)
    return found
