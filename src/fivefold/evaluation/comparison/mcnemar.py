"""McNemar's test: two fitted classifiers on one test set, from the rows on which exactly one of them is right.

    b rows that only A has right, c rows that only B has right; if the two are alike, b ~ Bin(b + c, 1/2)

    exact        tails of that distribution
    mid-p        the probability of the observed b counts half: less conservative, and in practice near the level
    chi2         (b - c)^2 / (b + c), one degree of freedom
    continuity   (|b - c| - 1)^2 / (b + c), the same with a correction for the steps of b

The interval for the difference of the accuracies is Wald's with one row added to b and one to c, which keeps its level
in small tables too.

McNemar (1947); Fagerland, Lydersen & Laake (2013), for mid-p; Bonett & Price (2012).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from fivefold.evaluation.comparison.pairing import LearnerScores, pair_scores
from fivefold.evaluation.comparison.result import UNBOUNDED, Comparison, count_rejecting, level_of_tail, make_comparison

Variant = Literal["exact", "mid-p", "chi2", "continuity"]


class VariantResult(NamedTuple):
    """The statistic, its tails, critical values and degrees of freedom, as `Comparison` has them."""

    statistic: float
    tails: tuple[float, float]
    critical: tuple[float, float]
    dof: tuple[float, ...]


def mcnemar_test(
    right_a: LearnerScores, right_b: LearnerScores, *, variant: Variant = "exact", alpha: float = 0.05
) -> Comparison:
    """Whether A and B are right (true or 1) on each row of one test set; the statistic is b - c or chi-square.

    Examples
    --------
    >>> a, b = [1] * 9 + [0] * 3 + [1] * 20, [0] * 9 + [1] * 3 + [1] * 20
    >>> found = mcnemar_test(a, b)
    >>> found.statistic, round(found.p_value, 4)
    (6.0, 0.146)
    >>> mcnemar_test(a, b, variant="chi2").statistic
    3.0
    """
    A, B = pair_scores(right_a, right_b)
    if A.ndim != 1 or len(A) == 0 or not np.isin([A, B], [0, 1]).all():
        raise ValueError("the test needs one true or false per test row for each learner: is it right on this row?")
    b, c = int((A > B).sum()), int((A < B).sum())
    level = level_of_tail(alpha, "two-sided")
    found = VARIANTS[variant](b, c, level)
    n = len(A) + 2
    moved, apart = (b - c) / n, (b + c + 2) / n
    reach = -ndtri(level) * np.sqrt((apart - moved**2) / n)
    return make_comparison(
        f"McNemar {variant}",
        found.statistic,
        found.tails,
        found.critical,
        (b - c) / len(A),
        (max(moved - reach, -1.0), min(moved + reach, 1.0)),
        alpha=alpha,
        alternative="two-sided",
        kind="rows",
        dof=found.dof,
    )


def _binomial(b: int, c: int, level: float, weight: float) -> VariantResult:
    """Tails of Bin(b + c, 1/2), with the observed outcome counted with this weight."""
    n = b + c
    j = np.arange(n + 1)
    cdf = binom.cdf(j, n, 0.5) - (1 - weight) * binom.pmf(j, n, 0.5)
    cdf = np.maximum(cdf, 0.0)  # differences of numbers near the least one have either sign
    k = count_rejecting(cdf, level)
    reach = n - 2.0 * (k - 1)
    return VariantResult(b - c, (cdf[b], cdf[c]), (-reach, reach) if k else UNBOUNDED, ())


def _chi_square(b: int, c: int, level: float, steps: float) -> VariantResult:
    """The normal approximation, squared; `steps` is subtracted from |b - c|."""
    square = max(abs(b - c) - steps, 0.0) ** 2 / max(b + c, 1)
    z = np.sign(b - c) * np.sqrt(square)
    return VariantResult(square, (ndtr(z), ndtr(-z)), (-np.inf, ndtri(level) ** 2), (1.0,))


VARIANTS: Mapping[Variant, Callable[[int, int, float], VariantResult]] = {
    "exact": lambda b, c, level: _binomial(b, c, level, 1.0),
    "mid-p": lambda b, c, level: _binomial(b, c, level, 0.5),
    "chi2": lambda b, c, level: _chi_square(b, c, level, 0.0),
    "continuity": lambda b, c, level: _chi_square(b, c, level, 1.0),
}
