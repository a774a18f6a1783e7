"""Permutation test: if A and B are alike, every difference has either sign with probability 1/2.

    T = mean d        T_s = mean s_i d_i        p = share of the sign patterns s with T_s >= T, the observed included

All 2^n sign patterns if there are at most `draws` of them, otherwise `draws` random ones. For the differences d - mu,
T_s >= T - mu holds exactly if the mean of the d_i whose sign is flipped is at most mu; the interval therefore lies
between order statistics of the means over subsets.

Fisher (1935); Hartigan (1969), for the interval.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fivefold.core.types import Matrix
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
from fivefold.evaluation.tolerances import ROUNDING

BLOCK_CELLS = 2**22  # at most this many signs are in memory at a time


def permutation_test(
    a: LearnerScores,
    b: LearnerScores,
    *,
    draws: int = 10_000,
    rng: np.random.Generator | None = None,
    alternative: Alternative = "two-sided",
    alpha: float = 0.05,
    over: ReplicateKind = "data sets",
) -> Comparison:
    """The mean difference against the means with flipped signs.

    Liberal: at a level of 5% it rejected equal learners in 6.5% of simulations over folds and in 18.2% over repeats.

    Examples
    --------
    >>> found = permutation_test([0.82, 0.81, 0.83, 0.80, 0.84], [0.80] * 5)
    >>> found.p_value, found.interval
    (0.125, (-inf, inf))
    """
    d = differences(a, b)
    n, level = len(d), level_of_tail(alpha, alternative)
    exact = n < np.log2(draws + 1)  # 2^n <= draws
    blocks = (
        _all_sign_flips(n) if exact else _random_sign_flips(n, draws, np.random.default_rng(0) if rng is None else rng)
    )
    sums, sizes = np.hstack([(turned @ d, turned.sum(axis=1)) for turned in blocks])
    seen, means = d.mean(), d.mean() - 2 * sums / n
    slack = ROUNDING * np.abs(d).sum()
    tails = tuple((1 + np.sum(sign * means <= sign * seen + slack)) / (1 + len(means)) for sign in (1, -1))
    share = np.arange(1, len(means) + 2) / (1 + len(means))
    k = count_rejecting(share, level)
    ordered = np.sort(np.append(means, seen))
    subsets = sums[sizes > 0] / sizes[sizes > 0]
    return make_comparison(
        "permutation",
        seen,
        tails,
        (ordered[k - 1], ordered[-k]) if k else UNBOUNDED,
        seen,
        ordered_interval(subsets, share[: len(subsets)], level),
        alpha=alpha,
        alternative=alternative,
        kind=over,
        assumptions=(
            "the differences are distributed symmetrically",
            f"p is taken over {'all' if exact else draws} signs",
        ),
    )


def _all_sign_flips(n: int) -> Iterator[Matrix]:
    """All patterns of flipped signs (1 is flipped) except the observed one, which flips none."""
    yield ((np.arange(1, 2**n)[:, None] >> np.arange(n)) & 1).astype(float)


def _random_sign_flips(n: int, draws: int, rng: np.random.Generator) -> Iterator[Matrix]:
    """draws - 1 random patterns of flipped signs, in blocks."""
    size = max(1, BLOCK_CELLS // n)
    for start in range(0, draws - 1, size):
        yield rng.integers(0, 2, size=(min(size, draws - 1 - start), n), dtype=np.int8).astype(float)
