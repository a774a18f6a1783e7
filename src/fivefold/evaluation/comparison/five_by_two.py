"""Tests on five halvings of the data: train on one half, test on the other, then swap the halves; five times.

With p_i1, p_i2 the differences A - B on the two halves of halving i, and s_i^2 = (p_i1 - p_i2)^2 / 2,

    t = p_11 / sqrt(sum_i s_i^2 / 5)                5 degrees of freedom          Dietterich (1998)
    F = sum_ij p_ij^2 / (2 sum_i s_i^2)             10 and 5                      Alpaydin (1999)

t uses the first difference only; F uses all ten, so their order does not matter. A difference mu is in the
interval of F if the test of p_ij - mu does not reject:

    10 (mu - m)^2 + sum_ij (p_ij - m)^2 <= 2 f sum_i s_i^2        m the mean of all ten, f the critical value
"""

from __future__ import annotations

import numpy as np
from scipy.special import fdtri

from fivefold.core.types import Array, Matrix, Vector
from fivefold.evaluation.comparison.pairing import pair_scores
from fivefold.evaluation.comparison.result import (
    UNKNOWN_INTERVAL,
    Alternative,
    Comparison,
    level_of_tail,
    make_comparison,
)
from fivefold.evaluation.comparison.t_tests import NORMAL_DIFFERENCES, student_comparison
from fivefold.inference.paired_tests import halving_f_test

N_HALVINGS = 5  # random halvings of the rows; the distributions of t and F hold for five


def five_by_two_t(a: Array, b: Array, *, alternative: Alternative = "two-sided", alpha: float = 0.05) -> Comparison:
    """Scores of shape (5, 2), one row per halving; the estimate is the difference on the first half only.

    Liberal if half of the rows are few: at a level of 5% it rejected equal learners in 12.3% of simulations.

    Examples
    --------
    >>> b = [[0.7, 0.7]] * 5
    >>> a = [[0.72, 0.74], [0.71, 0.73], [0.74, 0.70], [0.73, 0.72], [0.72, 0.75]]
    >>> round(five_by_two_t(a, b).statistic, 3)
    1.085
    """
    p, s2 = _halving_differences(a, b)
    return student_comparison("5x2cv t", p[0, 0], np.sqrt(s2.mean()), N_HALVINGS, alternative, alpha, "halves")


def five_by_two_f(a: Array, b: Array, *, alpha: float = 0.05) -> Comparison:
    """Scores of shape (5, 2), one row per halving; all ten differences are used.

    Liberal if half of the rows are few: at a level of 5% it rejected equal learners in 16.2% of simulations.

    Examples
    --------
    >>> b = [[0.7, 0.7]] * 5
    >>> a = [[0.72, 0.74], [0.71, 0.73], [0.74, 0.70], [0.73, 0.72], [0.72, 0.75]]
    >>> found = five_by_two_f(a, b)
    >>> round(found.statistic, 3), found.dof
    (2.588, (10.0, 5.0))
    """
    p, s2 = _halving_differences(a, b)
    spread, mean = 2 * s2.sum(), p.mean()
    f, p_value = halving_f_test(p)
    tails = (p_value / 2, 1 - p_value / 2) if mean < 0 else (1 - p_value / 2, p_value / 2)  # m's sign decides which
    critical = fdtri(2 * N_HALVINGS, N_HALVINGS, 1 - 2 * level_of_tail(alpha, "two-sided"))
    room = (critical * spread - ((p - mean) ** 2).sum()) / p.size
    return make_comparison(
        "5x2cv F",
        f,
        tails,
        (-np.inf, critical),
        mean,
        (mean - np.sqrt(room), mean + np.sqrt(room)) if room >= 0 else UNKNOWN_INTERVAL,
        alpha=alpha,
        alternative="two-sided",
        kind="halves",
        assumptions=(NORMAL_DIFFERENCES,),
        dof=(2.0 * N_HALVINGS, float(N_HALVINGS)),
    )


def _halving_differences(a: Array, b: Array) -> tuple[Matrix, Vector]:
    """Differences (5, 2) and the variance within each halving (5,)."""
    A, B = pair_scores(a, b)
    if A.shape != (N_HALVINGS, 2):
        raise ValueError(f"the test needs five halvings with two scores each, shape (5, 2); got {A.shape}")
    p = A - B
    return p, (p[:, 0] - p[:, 1]) ** 2 / 2
