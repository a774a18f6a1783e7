"""The best learner against each other one: worse, practically equal, or undecided.

    worse       its loss is certainly higher by more than the margin        the interval lies above the margin
    equal       certainly no further than the margin from the best          the interval lies within -margin .. margin
    undecided   neither

The differences come from two sources, each with simultaneous intervals (`simultaneous`) at half of the level, so that
either may decide:

splits   the corrected resampled t. A split is a new training set, so learners are judged, with few degrees of freedom
rows     the losses of every test row, drawn again. There are many rows, but the fitted models stay as they are: this
         is evidence about these models. For a verdict about learners the standard error is widened by

             w^2 = (1/J + n_test / n_train) n / n_test,

         which is what the corrected resampled t makes of s^2 / n_test, the variance that independent rows give the mean
         of a split: the same correction, with the variance taken from n rows instead of J splits

The best learner is the one with the least mean over splits. It and the learners that compete with it are one family,
all pairs of which are covered, because the same losses chose it; baselines, which are there to be beaten, are a family
of their own: every pair of a competitor and a baseline.

Hsu (1984); Nadeau & Bengio (2003); Schuirmann (1987) for practical equality.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Literal

import numpy as np

from fivefold.core.types import Codes, Mask, Matrix
from fivefold.evaluation.comparison.resampling_units import unit_sums
from fivefold.evaluation.comparison.result import KIND_ASSUMPTIONS
from fivefold.evaluation.comparison.simultaneous import (
    BOOTSTRAP_DRAWS,
    Difference,
    all_pairs_of,
    pairs_between,
    row_differences,
    split_differences,
)
from fivefold.evaluation.comparison.t_tests import NORMAL_DIFFERENCES

Outcome = Literal["worse", "equal", "undecided"]

ASSUMPTIONS = (
    *KIND_ASSUMPTIONS["resampled"],
    NORMAL_DIFFERENCES + " over splits",
    "the units drawn (rows, groups or blocks of time) are independent of one another",
    "training sets add to the variance over rows what they add in the corrected resampled t",
)


@dataclass(frozen=True)
class RowLosses:
    """Out-of-fold losses of all learners, row by row, and which rows are drawn together."""

    losses: Matrix  # (n, K), averaged over repeats
    units: Codes  # (n,)
    mean_test_rows: float  # per split


@dataclass(frozen=True)
class Verdict:
    """A learner against the best one.

    Attributes
    ----------
    outcome
        worse, practically equal, or undecided.
    p_value
        of the hypothesis that it loses at most the margin more, adjusted for the family and for the two sources.
    splits, rows
        the evidence about learners; rows are None if the loss is no mean over rows.
    fitted
        the evidence of the rows about the fitted models alone: the standard error is not widened.
    """

    outcome: Outcome
    p_value: float
    splits: Difference
    rows: Difference | None = None
    fitted: Difference | None = None


def compare_with_best(
    splits: Matrix,
    ratio: float,
    rows: RowLosses | None = None,
    *,
    best: int | None = None,
    baselines: Mask | None = None,
    margin: float = 0.0,
    alpha: float = 0.05,
    rng: np.random.Generator | None = None,
    draws: int = BOOTSTRAP_DRAWS,
) -> tuple[int, tuple[Verdict | None, ...]]:
    """The index of the best learner, and the verdict on each other one; None for the best.

    Parameters
    ----------
    splits
        mean loss of every learner on every split, (J, K).
    ratio
        test rows per training row, averaged over the splits.
    rows
        the losses of single rows, if the loss is a mean over rows.
    best
        the learner that all others are compared with, if it is not the one with the least mean loss: all pairs are
        covered, so the levels hold for any.
    baselines
        which learners are baselines, (K,); none by default.
    margin
        learners whose losses differ by no more than this are practically equal.
    rng
        draws the rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> losses = rng.exponential([1.0, 1.0, 1.5], (500, 3))  # of 500 rows
    >>> splits = losses.reshape(5, 100, 3).mean(axis=1)
    >>> best, verdicts = compare_with_best(splits, 0.25, RowLosses(losses, np.arange(500), 100), margin=0.01, rng=rng)
    >>> best, [verdict and verdict.outcome for verdict in verdicts]
    (0, [None, 'undecided', 'worse'])
    """
    K = splits.shape[1]
    best = int(np.argmin(splits.mean(axis=0))) if best is None else best
    family, families = comparison_families(best, np.zeros(K, dtype=bool) if baselines is None else baselines)
    level = alpha if rows is None else alpha / 2
    by_split = split_differences(splits, ratio, families)
    by_row, widening = None, 1.0
    if rows is not None:
        rng = np.random.default_rng(0) if rng is None else rng
        by_row = row_differences(*unit_sums(rows.losses, rows.units), families, rng, draws=draws)
        widening = sqrt(max(1.0, (1 / len(splits) + ratio) * len(rows.losses) / rows.mean_test_rows))
    found: list[Verdict | None] = []
    for k in range(K):
        if k == best:
            found.append(None)
            continue
        of = family[k]
        split = by_split[of].difference(k, best, margin=margin, alpha=level)
        if by_row is None:
            found.append(Verdict(decide([split], margin), split.p_value, split))
            continue
        row = by_row[of].difference(k, best, margin=margin, alpha=level, widening=widening)
        fitted = by_row[of].difference(k, best, margin=margin, alpha=level)
        p = min(1.0, 2 * min(split.p_value, row.p_value))
        found.append(Verdict(decide([split, row], margin), p, split, row, fitted))
    return best, tuple(found)


def comparison_families(best: int, baselines: Mask) -> tuple[Codes, list[Mask]]:
    """The family of each learner, 0 or 1, and the pairs of both: competitors, and baselines other than the best."""
    apart = baselines & (np.arange(len(baselines)) != best)
    return apart.astype(int), [all_pairs_of(~apart), pairs_between(~apart, apart)]


def decide(sources: Sequence[Difference], margin: float) -> Outcome:
    """The outcome, from the intervals of all sources; undecided if they contradict one another.

    Examples
    --------
    >>> decide([Difference(0.2, 0.1, 0.3, 0.01), Difference(0.2, -0.1, 0.5, 0.2)], margin=0.05)
    'worse'
    >>> decide([Difference(2e-5, 1e-5, 3e-5, 1.0)], margin=0.01)
    'equal'
    """
    worse = any(one.low > margin for one in sources)
    equal = any(one.low >= -margin and one.high <= margin for one in sources)
    return "undecided" if worse == equal else "worse" if worse else "equal"
