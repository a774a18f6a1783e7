"""The winner against every other learner: worse, practically equal or undecided, and what the verdict rests on.

`evaluation.comparison.with_best` decides; here the losses of a study are put before it, with a margin of practical
equality: the one that was asked for, or one hundredth of the loss of a model that knows no columns (of 1, for scores
without such a loss). Beside the verdict stand two further looks at classifiers, which decide nothing: the difference of
their Brier scores, which no single row can dominate, and McNemar's test of their classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from fivefold.core.types import Codes, Indices, Mask
from fivefold.evaluation.comparison import holm, mcnemar_test
from fivefold.evaluation.comparison.resampling_units import block_rows, unit_sums
from fivefold.evaluation.comparison.simultaneous import Difference, row_differences
from fivefold.evaluation.comparison.with_best import (
    ASSUMPTIONS,
    RowLosses,
    Verdict,
    compare_with_best,
    comparison_families,
)
from fivefold.evaluation.scores import MIN_PROBABILITY
from fivefold.study.formatting import format_count
from fivefold.study.judging.out_of_fold import (
    ROW_SCORES,
    first_repeat_hits,
    out_of_fold_losses,
    out_of_fold_rows,
    sampling_units,
    true_class_probabilities,
)
from fivefold.study.planning.plan import Plan
from fivefold.study.planning.splits import derive_seed, mean_test_train_ratio
from fivefold.study.running.run import LearnerOutcome

ALPHA = 0.05  # level of the verdicts on all learners together
MARGIN_SHARE = 0.01  # the margin, as a share of the loss of a model that knows no columns
BOOTSTRAP_STREAM = 2**32 - 2  # in place of repeat and fold, for the seed of the draws of rows


@dataclass(frozen=True)
class McNemarResult:
    """The rows of the first repeat that only one of two learners has right, and McNemar's mid-p test."""

    best_only: int
    other_only: int
    p_value: float  # adjusted by Holm over all learners


@dataclass(frozen=True)
class WinnerComparison:
    """The verdicts of a study, by name of the learner, and what they rest on; the winner itself is in none."""

    best: str
    margin: float  # learners whose losses differ by no more than this are practically equal
    margin_meaning: str  # where it comes from, as the end of a sentence
    alpha: float
    units: str  # what was drawn again: "178 rows", "12 groups", "61 blocks of 61 rows"; empty if rows say nothing
    verdicts: Mapping[str, Verdict]
    brier: Mapping[str, Difference] = field(default_factory=dict)  # above that of the winner; rows, models as fitted
    mcnemar: Mapping[str, McNemarResult] = field(default_factory=dict)
    clipped: Mapping[str, int] = field(default_factory=dict)  # predictions with p(y | x) < MIN_PROBABILITY
    assumptions: tuple[str, ...] = ASSUMPTIONS


def practical_margin(plan: Plan) -> tuple[float, str]:
    """The margin of practical equality for the deciding score, and where it comes from."""
    if plan.options.margin is not None:
        return plan.options.margin, "was given by --margin"
    unit, meaning = _score_unit(plan)
    return MARGIN_SHARE * unit, f"is a hundredth of {meaning}"


def _score_unit(plan: Plan) -> tuple[float, str]:
    """The loss of a model that knows no columns, or 1 for scores without such a loss, and what it is."""
    score, y = plan.scores[0], plan.data.y[plan.rows]
    if score.name in ("log_loss", "brier"):
        shares = np.unique(y, return_counts=True)[1] / len(y)
        unit = -(shares @ np.log(shares)) if score.name == "log_loss" else 1 - shares @ shares
        return float(unit), f"the {score.title} of the shares of the classes"
    if plan.cost_matrix is not None and plan.codes is not None and plan.classes is not None:
        shares = np.bincount(plan.codes[plan.rows], minlength=len(plan.classes)) / len(y)
        constant = plan.cost_matrix.constant_cost(shares) - float(plan.cost_matrix.losses.min())
        return constant, "the expected cost of the best decision that is the same for all rows"
    if score.name == "rmse":
        return float(np.std(y)), "the standard deviation of the target"
    if score.name == "mae":
        return float(np.abs(y - np.median(y)).mean()), "the mean deviation of the target from its median"
    return 1.0, "the scale of the score"


def compare_with_winner(plan: Plan, ranked: Sequence[LearnerOutcome]) -> WinnerComparison | None:
    """The verdicts on these learners, best first; None for a single one."""
    if len(ranked) < 2:
        return None
    score, margin, meaning = plan.scores[0], *practical_margin(plan)
    names = [outcome.learner.name for outcome in ranked]
    losses = np.array([[score.loss(fold.scores[score.name]) for fold in outcome.folds] for outcome in ranked])  # (K, J)
    rng = np.random.default_rng(derive_seed(plan.seed, BOOTSTRAP_STREAM))
    rows = out_of_fold_rows(ranked)
    units = np.zeros(1, dtype=int) if rows is None else sampling_units(plan, rows, rng)
    by_row = None
    if rows is None or units.max() == 0:  # nothing to draw from
        rows = None
    elif score.name in ROW_SCORES:
        mean_test = float(np.mean([len(split.test) for split in plan.splits]))
        by_row = RowLosses(out_of_fold_losses(plan, ranked, rows, score.name), units, mean_test)
    _, verdicts = compare_with_best(
        losses.T,
        mean_test_train_ratio(plan.splits),
        by_row,
        best=0,
        baselines=_baseline_mask(ranked),
        margin=margin,
        alpha=ALPHA,
        rng=rng,
    )
    found = WinnerComparison(
        best=names[0],
        margin=margin,
        margin_meaning=meaning,
        alpha=ALPHA,
        units="" if rows is None or by_row is None else _describe_units(plan, rows, units),
        verdicts={name: verdict for name, verdict in zip(names, verdicts, strict=True) if verdict is not None},
    )
    if plan.classes is None or rows is None:
        return found
    return replace(
        found,
        brier=_brier_differences(plan, ranked, rows, units, rng),
        mcnemar={} if plan.data.groups is not None or plan.data.time is not None else _mcnemar_results(plan, ranked),
        clipped={outcome.learner.name: _clipped_count(plan, outcome) for outcome in ranked},
    )


def _baseline_mask(ranked: Sequence[LearnerOutcome]) -> Mask:
    return np.array([outcome.learner.baseline for outcome in ranked])


def _describe_units(plan: Plan, rows: Indices, units: Codes) -> str:
    """What was drawn again, in words."""
    if plan.data.time is not None:
        return f"{format_count(int(units.max()) + 1, 'block')} of {block_rows(len(units))} rows in order of time"
    if plan.data.groups is not None:
        return format_count(len(np.unique(plan.data.groups[rows])), plan.data.group_noun)
    return format_count(len(rows), "row") + (", copies together" if plan.data.records is not None else "")


def _brier_differences(
    plan: Plan, ranked: Sequence[LearnerOutcome], rows: Indices, units: Codes, rng: np.random.Generator
) -> dict[str, Difference]:
    """Brier scores above that of the winner, with simultaneous intervals."""
    family, families = comparison_families(0, _baseline_mask(ranked))
    sums = unit_sums(out_of_fold_losses(plan, ranked, rows, "brier"), units)
    found = row_differences(*sums, families, rng)
    return {
        outcome.learner.name: found[family[k]].difference(k, 0, alpha=ALPHA)
        for k, outcome in enumerate(ranked)
        if k > 0
    }


def _mcnemar_results(plan: Plan, ranked: Sequence[LearnerOutcome]) -> dict[str, McNemarResult]:
    """McNemar's test of the winner's classes against those of every other learner."""
    best, *others = (first_repeat_hits(plan, outcome) for outcome in ranked)
    adjusted = holm([mcnemar_test(best, other, variant="mid-p").p_value for other in others])
    return {
        outcome.learner.name: McNemarResult(int((best > other).sum()), int((best < other).sum()), float(p))
        for outcome, other, p in zip(ranked[1:], others, adjusted, strict=True)
    }


def _clipped_count(plan: Plan, outcome: LearnerOutcome) -> int:
    """How many predictions gave the true class less than MIN_PROBABILITY, which is then used in the log loss."""
    return sum(int((true_class_probabilities(plan, fold) < MIN_PROBABILITY).sum()) for fold in outcome.folds)
