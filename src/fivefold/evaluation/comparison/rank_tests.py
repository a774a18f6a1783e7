"""Tests by signs and by ranks of the differences, which assume at most that their distribution is symmetric.

    sign       wins of A ~ Bin(n, 1/2)                             n differences that are not zero
    Wilcoxon   R+ = sum of the ranks of |d_i| with d_i > 0         a rank counts for R+ with probability 1/2

The distribution of R+ is the convolution of n two-point distributions, computed here for any ranks, so it is exact with
ties as well. The intervals hold the differences that the test does not reject: between order statistics of the
d_i for the sign test, and of the means (d_i + d_j) / 2 (i <= j) for Wilcoxon's, whose median is the estimate.

Wilcoxon (1945); Hodges & Lehmann (1963).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.special import ndtr
from scipy.stats import binom, rankdata

from fivefold.core.types import Codes, Vector
from fivefold.evaluation.comparison.pairing import LearnerScores, differences
from fivefold.evaluation.comparison.result import (
    UNBOUNDED,
    Alternative,
    Comparison,
    ReplicateKind,
    count_rejecting,
    level_of_tail,
    make_comparison,
    ordered_interval,
)

MAX_EXACT_DIFFERENCES = 200  # beyond this many the normal approximation is good and the convolution slow
MAX_DIFFERENCES = 2000  # the estimate takes the mean of every pair of differences, n (n + 1) / 2 of them
TIE_TOLERANCE = 2.0**-40  # differences closer than this share of the largest have the same rank


def sign_test(
    a: LearnerScores,
    b: LearnerScores,
    *,
    alternative: Alternative = "two-sided",
    alpha: float = 0.05,
    over: ReplicateKind = "data sets",
) -> Comparison:
    """Wins against losses; the statistic is wins less losses, the estimate the median difference.

    Liberal over repeats of a cross-validation: at a level of 5% it rejected equal learners in 12.7% of simulations.

    Examples
    --------
    >>> found = sign_test([0.9, 0.8, 0.85, 0.7, 0.95, 0.75], [0.8, 0.7, 0.8, 0.65, 0.9, 0.7])
    >>> found.statistic, found.p_value
    (6.0, 0.03125)
    """
    d = differences(a, b)
    wins, losses = int((d > 0).sum()), int((d < 0).sum())
    n, level = wins + losses, level_of_tail(alpha, alternative)
    cdf = binom.cdf(np.arange(n + 1), n, 0.5)
    return make_comparison(
        "sign",
        wins - losses,
        (cdf[wins], cdf[losses]),
        _critical_values(cdf, level, n),
        float(np.median(d)),
        ordered_interval(d, binom.cdf(np.arange(len(d)), len(d), 0.5), level),
        alpha=alpha,
        alternative=alternative,
        kind=over,
    )


def wilcoxon_test(
    a: LearnerScores,
    b: LearnerScores,
    *,
    zeros: Literal["drop", "rank"] = "drop",
    alternative: Alternative = "two-sided",
    alpha: float = 0.05,
    over: ReplicateKind = "data sets",
) -> Comparison:
    """Signed ranks; the statistic is R+ - R-. Zeros are dropped (Wilcoxon) or take part in the ranking (Pratt).

    Liberal: at a level of 5% it rejected equal learners in 7.0% of simulations over folds and in 18.6% over repeats.

    Examples
    --------
    >>> found = wilcoxon_test([0.82, 0.81, 0.83, 0.80, 0.84], [0.80] * 5)
    >>> found.statistic, found.p_value
    (10.0, 0.125)
    """
    d = differences(a, b)
    if len(d) > MAX_DIFFERENCES:
        raise ValueError(f"over {len(d)} differences, more than {MAX_DIFFERENCES}, use paired_t or permutation_test")
    ranked = d if zeros == "rank" else d[d != 0]
    r = rankdata(np.rint(np.abs(ranked) / (TIE_TOLERANCE * np.abs(d).max(initial=TIE_TOLERANCE))))[ranked != 0]
    positive, total = r @ (ranked[ranked != 0] > 0), r.sum()
    level = level_of_tail(alpha, alternative)
    cdf = signed_rank_cdf(r)
    means = ((d[:, None] + d) / 2)[np.triu_indices(len(d))]  # n (n + 1) / 2 of them
    return make_comparison(
        "Wilcoxon",
        2 * positive - total,
        (cdf[round(2 * positive)], cdf[round(2 * (total - positive))]),
        _critical_values(cdf, level, total),
        np.median(means),
        ordered_interval(means, signed_rank_cdf(np.arange(1, len(d) + 1))[::2], level),
        alpha=alpha,
        alternative=alternative,
        kind=over,
        assumptions=("the differences are distributed symmetrically",),
    )


def signed_rank_cdf(ranks: Vector | Codes) -> Vector:
    """P(2 R+ <= j) for j = 0, 1, ..., each rank counting for R+ with probability 1/2; 2 R+ is whole even with ties."""
    ranks = np.asarray(ranks, dtype=float)
    if len(ranks) > MAX_EXACT_DIFFERENCES:
        return ndtr((np.arange(round(2 * ranks.sum()) + 1) - ranks.sum()) / np.sqrt(ranks @ ranks))
    p = np.ones(1)
    for step in np.rint(2 * ranks).astype(int):
        p = (np.append(p, np.zeros(step)) + np.append(np.zeros(step), p)) / 2
    return np.minimum(np.cumsum(p), 1.0)


def _critical_values(cdf: Vector, level: float, total: float) -> tuple[float, float]:
    """Critical values of a statistic from -total to total in equal steps, with this distribution function."""
    k = count_rejecting(cdf, level)
    if k == 0:
        return UNBOUNDED
    reach = total - 2 * total * (k - 1) / (len(cdf) - 1)
    return -reach, reach
