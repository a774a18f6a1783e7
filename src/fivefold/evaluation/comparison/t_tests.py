"""t-tests between learners, from the differences d_1 .. d_J of their scores.

    one sample           t = (m - m_0) / sqrt(s^2 / J)                        J - 1 degrees of freedom
    paired               t = m / sqrt(s^2 / J)                                the same on d = a - b
    unpaired (Welch)     t = (m_a - m_b) / sqrt(s_a^2 / J_a + s_b^2 / J_b)    Welch-Satterthwaite
    corrected resampled  t = m / sqrt((1/J + n_test/n_train) s^2)             J - 1

m and s^2 are mean and unbiased variance. Splits of the same rows share training rows, so the d_j are correlated;
n_test/n_train corrects for it, exactly if every pair has the correlation n_test / (n_test + n_train).

Student (1908); Welch (1947); Nadeau & Bengio (2003), Inference for the generalization error.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from fivefold.evaluation.comparison.pairing import LearnerScores, SplitRows, differences, same_splits
from fivefold.evaluation.comparison.result import (
    Alternative,
    Comparison,
    ReplicateKind,
    SampleKind,
    level_of_tail,
    make_comparison,
)
from fivefold.inference.paired_tests import corrected_standard_error as corrected_standard_error
from fivefold.inference.paired_tests import t_test

NORMAL_DIFFERENCES = "the differences are normally distributed"


def one_sample_t(
    values: Sequence[float],
    mean: float = 0.0,
    *,
    alternative: Alternative = "two-sided",
    alpha: float = 0.05,
    over: ReplicateKind = "folds",
) -> Comparison:
    """Is the mean of the values (A) equal to the given one (B)?

    Liberal like `paired_t`: 8.8% of simulations over folds, 21.4% over repeats.

    Examples
    --------
    >>> print(one_sample_t([0.81, 0.79, 0.84, 0.80, 0.82], 0.75, over="data sets"))
    one-sample t: A is higher, at a level of 0.05
    A - B = 0.062, interval [0.03812, 0.08588]
    statistic 7.207, 4 degrees of freedom, two-sided p = 0.001965
    assumes: the data sets are independent of one another
    assumes: the differences are normally distributed
    """
    d = differences(values, np.full(np.shape(values), mean), min_scores=2)
    return student_comparison(
        "one-sample t", d.mean(), corrected_standard_error(d), len(d) - 1, alternative, alpha, over
    )


def paired_t(
    a: LearnerScores,
    b: LearnerScores,
    *,
    alternative: Alternative = "two-sided",
    alpha: float = 0.05,
    over: ReplicateKind = "folds",
) -> Comparison:
    """Two learners on the same folds, with the differences taken as independent of one another.

    Liberal: at a level of 5% it rejected equal learners in 8.8% of simulations over folds and in 21.4% over repeats of
    five folds. `corrected_resampled_t` keeps the level.

    Examples
    --------
    >>> found = paired_t([0.82, 0.81, 0.83, 0.80, 0.84], [0.80] * 5)
    >>> round(found.statistic, 3), round(found.p_value, 3)
    (2.828, 0.047)
    """
    d = differences(a, b, min_scores=2)
    return student_comparison("paired t", d.mean(), corrected_standard_error(d), len(d) - 1, alternative, alpha, over)


def corrected_resampled_t(
    a: LearnerScores,
    b: LearnerScores,
    n_train: float,
    n_test: float,
    *,
    alternative: Alternative = "two-sided",
    alpha: float = 0.05,
) -> Comparison:
    """Two learners on the same splits of the same rows, n_train for training and n_test for test in each.

    Examples
    --------
    >>> found = corrected_resampled_t([0.82, 0.81, 0.83, 0.80, 0.84], [0.80] * 5, n_train=80, n_test=20)
    >>> round(found.statistic, 3), round(found.p_value, 3), found.verdict
    (1.886, 0.132, 'no difference shown at a level of 0.05')
    """
    d = differences(a, b, min_scores=2)
    error = corrected_standard_error(d, shared=split_overlap(n_train, n_test))
    return student_comparison("corrected resampled t", d.mean(), error, len(d) - 1, alternative, alpha, "resampled")


def unpaired_t(
    a: Sequence[float], b: Sequence[float], *, alternative: Alternative = "two-sided", alpha: float = 0.05
) -> Comparison:
    """Two learners on different samples, whose variances may differ (Welch).

    Examples
    --------
    >>> round(unpaired_t([0.82, 0.81, 0.83], [0.79, 0.80, 0.80, 0.78]).p_value, 3)
    0.019
    """
    A, B = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    for name, values in (("A", A), ("B", B)):
        if values.ndim != 1 or len(values) < 2 or not np.isfinite(values).all():
            raise ValueError(f"an unpaired test needs two or more finite scores; those of {name} are {values}")
    parts = np.array([corrected_standard_error(A), corrected_standard_error(B)]) ** 2
    dof = parts.sum() ** 2 / (parts**2 / [len(A) - 1, len(B) - 1]).sum() if parts.any() else len(A) + len(B) - 2
    return student_comparison(
        "unpaired t", A.mean() - B.mean(), np.sqrt(parts.sum()), dof, alternative, alpha, "samples"
    )


def t_over_folds(
    a: Sequence[float],
    b: Sequence[float],
    splits_a: Sequence[SplitRows],
    splits_b: Sequence[SplitRows],
    *,
    alternative: Alternative = "two-sided",
    alpha: float = 0.05,
) -> Comparison:
    """The paired test if both learners had the same (train, test) rows in every fold, otherwise the unpaired one."""
    test = paired_t if same_splits(splits_a, splits_b) else unpaired_t
    return test(a, b, alternative=alternative, alpha=alpha)


def split_overlap(n_train: float, n_test: float) -> float:
    """n_test / n_train: what the rows that splits share add to the variance of a mean over splits."""
    if not (n_train > 0 and n_test > 0):
        raise ValueError(f"a split needs training rows and test rows; got n_train={n_train}, n_test={n_test}")
    return n_test / n_train


def student_comparison(
    test: str, difference: float, error: float, dof: float, alternative: Alternative, alpha: float, kind: SampleKind
) -> Comparison:
    """The test of difference / error against Student's t; with zero error any difference is certain."""
    t, tails = t_test(difference, error, dof)
    reach = float(stdtrit(dof, 1 - level_of_tail(alpha, alternative)))
    return make_comparison(
        test,
        t,
        tails,
        (-reach, reach),
        difference,
        (difference - reach * error, difference + reach * error),
        alpha=alpha,
        alternative=alternative,
        kind=kind,
        assumptions=(NORMAL_DIFFERENCES,),
        dof=(float(dof),),
    )
