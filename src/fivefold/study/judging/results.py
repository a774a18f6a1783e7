"""The results of a study: learners ranked, and the best compared with each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from fivefold.evaluation.comparison import Pairs, Verdict, compare_all
from fivefold.evaluation.comparison.estimate import Estimate, corrected_t
from fivefold.evaluation.comparison.with_best import Outcome
from fivefold.evaluation.protocols import FittedModel
from fivefold.evaluation.scores import Score
from fivefold.study.environment import installed_versions, relevant_packages
from fivefold.study.formatting import first_names, format_significant, join_names
from fivefold.study.judging.final_holdout import HoldoutResult
from fivefold.study.judging.fold_certificates import FoldCertificates, certify_folds
from fivefold.study.judging.out_of_fold import ROW_SCORES, out_of_fold_losses, out_of_fold_rows, sampling_units
from fivefold.study.judging.sequence_summary import sequence_sentences
from fivefold.study.judging.time_order import TimeOrderScore
from fivefold.study.judging.verdicts import ALPHA, WinnerComparison, compare_with_winner, practical_margin
from fivefold.study.planning.plan import Plan
from fivefold.study.planning.splits import mean_test_train_ratio
from fivefold.study.running.blend import standard_errors_apart
from fivefold.study.running.fold import FoldResult
from fivefold.study.running.run import LearnerOutcome

CONFIDENCE = 1 - ALPHA  # of intervals
OUTCOME_MARKS: Mapping[str, str] = {"best": "★", "equal": "≈", "undecided": "?", "worse": ""}
OUTCOME_WORDS: Mapping[Outcome, str] = {"equal": "practically equal", "undecided": "undecided", "worse": "worse"}
INNER_SELECTION_LABEL = "best, chosen inside each fold"
# standard errors by which a single learner has to be better than the blend: the luckiest of a dozen equally good
# learners is often ahead by more than one, seldom by more than two
MIN_LEAD = 2.0
MAX_NAMES = 4  # learners named in a sentence; the table has them all


@dataclass(frozen=True)
class LearnerResult:
    """A learner that finished: its scores and the verdict on it."""

    outcome: LearnerOutcome
    estimates: Mapping[str, Estimate]
    versus_best: Estimate  # its loss minus that of the best learner, split by split
    verdict: Verdict | None = None  # against the best learner; None for that one

    @property
    def name(self) -> str:
        return self.outcome.learner.name

    @property
    def worse(self) -> bool:
        """Is it worse than the best learner by more than the margin?"""
        return self.verdict is not None and self.verdict.outcome == "worse"

    @property
    def p_value(self) -> float:
        """Of the hypothesis that it is worse than the best by at most the margin, adjusted; 1 for the best."""
        return 1.0 if self.verdict is None else self.verdict.p_value

    @property
    def mark(self) -> str:
        """How tables mark it."""
        return OUTCOME_MARKS["best" if self.verdict is None else self.verdict.outcome]

    @property
    def fit_seconds(self) -> float:
        """Mean over the folds, with the setting that was chosen."""
        return float(np.mean([fold.fit_seconds for fold in self.outcome.folds]))

    @property
    def predict_seconds(self) -> float:
        """Mean over the folds, for all their test rows."""
        return float(np.mean([fold.predict_seconds for fold in self.outcome.folds]))

    @property
    def size_bytes(self) -> float | None:
        """Mean over the folds; None where a model could not be measured."""
        folds = self.outcome.folds
        sizes = [fold.size_bytes for fold in folds if fold.size_bytes is not None]
        return float(np.mean(sizes)) if len(sizes) == len(folds) else None


@dataclass(frozen=True)
class InnerSelection:
    """Best, chosen inside each fold: the learner with the least loss on the inner splits, tested on the outer ones.

    The best of many learners looks better than it is, because it is partly the best by luck. Here the choice is part
    of training, so these are the scores to expect from running a study and taking the winner.
    """

    chosen: tuple[str, ...]  # the learner of each split
    estimates: Mapping[str, Estimate]
    versus_best: Estimate


@dataclass(frozen=True)
class Results:
    """A finished study: the learners that finished, best first, and those that failed."""

    plan: Plan
    judged: tuple[LearnerResult, ...]
    failed: tuple[LearnerOutcome, ...]
    versus_winner: WinnerComparison | None = None  # the verdicts and their grounds; None for fewer than two learners
    pairs: Pairs | None = None  # all pairs by their splits, for reading; None for fewer than two learners
    inside: InnerSelection | None = None  # None if some fold had no inner splits
    holdout: HoldoutResult | None = None  # None until the hold-out is opened, or if there is none
    time_order: TimeOrderScore | None = None  # of the winner, where a column of dates does not order the rows
    model_rows: int | None = None  # rows that the saved model was fitted on; None until it is saved
    command: str = ""  # the command line
    environment: Mapping[str, str] = field(default_factory=dict)
    sessions: tuple[Mapping[str, Any], ...] = ()  # one per run of the command until the study finished
    winner: FittedModel | None = None  # the saved model, for the report; None if there is none
    inspection_seconds: float | None = None  # what a budget leaves for looking into the winner; None without a budget

    def __str__(self) -> str:
        lines = [
            f"{judged.name}: {self.score.title} {judged.estimates[self.score.name].mean:.4g}, "
            f"{'best' if judged.verdict is None else f'{judged.verdict.outcome}, p {judged.p_value:.3g}'}"
            for judged in self.judged
        ]
        lines += [f"{outcome.learner.name}: {outcome.failure}" for outcome in self.failed]
        assumed = () if self.versus_winner is None else self.versus_winner.assumptions
        return "\n".join([*lines, *(f"assumes: {text}" for text in assumed)])

    @property
    def score(self) -> Score:
        return self.plan.scores[0]

    @cached_property
    def certificates(self) -> FoldCertificates | None:
        """What the folds certify about every learner; None for regression, and for rows in order of time."""
        return certify_folds(self.plan, [*(judged.outcome for judged in self.judged), *self.failed])

    @property
    def baselines(self) -> tuple[LearnerResult, ...]:
        """The baselines that finished, best first."""
        return tuple(judged for judged in self.judged if judged.outcome.learner.baseline)

    @property
    def devices(self) -> dict[str, str]:
        """Where each learner that finished a fold was fitted."""
        outcomes = [*(judged.outcome for judged in self.judged), *self.failed]
        return {one.learner.name: max(fold.device for fold in one.folds) for one in outcomes if one.folds}

    def with_outcome(self, outcome: Outcome, *, baselines: bool = False) -> tuple[str, ...]:
        """The names of the learners with this verdict: those that are baselines, or those that are not."""
        return tuple(
            judged.name
            for judged in self.judged
            if judged.verdict is not None
            and judged.verdict.outcome == outcome
            and judged.outcome.learner.baseline == baselines
        )

    @property
    def equal(self) -> tuple[str, ...]:
        """Learners that are practically equal to the best, baselines apart."""
        return self.with_outcome("equal")

    @property
    def undecided(self) -> tuple[str, ...]:
        """Learners that are neither shown to be worse than the best nor practically equal to it, baselines apart."""
        return self.with_outcome("undecided")

    @property
    def warnings(self) -> tuple[str, ...]:
        """What makes the results less certain or less complete than they look."""
        data = self.plan.data
        return (*data.notes, *data.warnings, *self.plan.warnings, *self.strikes)

    @property
    def strikes(self) -> tuple[str, ...]:
        """Warnings about learners that were stopped by their time limits, or left out when a budget was spent."""
        late = [outcome.learner.name for outcome in self.failed if outcome.late and not outcome.cut]
        cut = [outcome.learner.name for outcome in self.failed if outcome.cut]
        they = "it" if len(late) == 1 else "they"
        stopped = f"stopped by a time limit: {', '.join(late)}; on another machine {they} may finish"
        them = "it" if len(cut) == 1 else "them"
        spent = f"left out because the budget was spent: {', '.join(cut)}; a larger one has time for {them}"
        return (*([stopped] if late else []), *([spent] if cut else []))


def ranking_sentences(results: Results) -> list[str]:
    """What the ranking means: which learners equal the best, which may, and whether it beats the baselines."""
    best, found = results.judged[0], results.versus_winner
    if found is None:
        return []
    others = [judged for judged in results.judged[1:] if not judged.outcome.learner.baseline]
    leads = [judged.name for judged in others if judged.versus_best.mean < 0]
    margin = f"{format_significant(found.margin)} in {results.score.title}"
    sentences = []
    if leads:
        sentences.append(
            f"{_name_some(leads)} had a smaller mean loss, by less than {MIN_LEAD:g} standard errors: of learners that "
            "cannot be told apart the blend is taken rather than the luckiest."
        )
    if others and all(judged.worse for judged in others):
        sentences.append(f"Every other learner is worse, by more than {margin}.")
    if results.equal:
        sentences.append(f"Practically equal, within {margin}: {_name_some(results.equal)}.")
    if results.undecided:
        names = _name_some(results.undecided)
        sentences.append(f"Undecided: {names} may be as good or worse; there is too little evidence to tell.")
    if best.outcome.learner.baseline:
        sentences.append("The best is a baseline: no method is shown to have learned anything from this table.")
    elif unbeaten := [judged.name for judged in results.baselines if not judged.worse]:
        names = f"baseline{'s' * (len(unbeaten) > 1)} {join_names(unbeaten)}"
        sentences.append(f"It is not shown to be better than the {names}: perhaps nothing was learned.")
    return [*sentences, *sequence_sentences(results)]


def _name_some(names: Sequence[str]) -> str:
    return join_names(names) if len(names) <= MAX_NAMES else first_names(names, MAX_NAMES)


def judge_outcomes(plan: Plan, outcomes: Sequence[LearnerOutcome]) -> Results:
    """Rank the learners by the mean of the deciding score, and judge them, with corrected resampled t intervals.

    The blend may come first in spite of its mean; see `_blend_first`.
    """
    score, ratio = plan.scores[0], mean_test_train_ratio(plan.splits)
    whole = [outcome for outcome in outcomes if outcome.failure is None]
    losses = {outcome.learner.name: _fold_losses(score, outcome.folds) for outcome in whole}
    ranked = _blend_first(plan, sorted(whole, key=lambda outcome: float(losses[outcome.learner.name].mean())))
    found = compare_with_winner(plan, ranked)
    best = ranked[0].learner.name if ranked else ""
    judged = tuple(
        LearnerResult(
            outcome,
            _estimates(plan, outcome.folds, ratio),
            corrected_t(losses[outcome.learner.name] - losses[best], ratio),
            None if found is None else found.verdicts.get(outcome.learner.name),
        )
        for outcome in ranked
    )
    failed = tuple(outcome for outcome in outcomes if outcome.failure is not None)
    return Results(
        plan,
        judged,
        failed,
        found,
        _compare_pairs(plan, ranked, ratio) if len(ranked) > 1 else None,
        _inner_selection(plan, whole, losses.get(best), ratio),
        environment=installed_versions(relevant_packages(plan)),
    )


def _blend_first(plan: Plan, ranked: list[LearnerOutcome]) -> list[LearnerOutcome]:
    """The ranking with the blend at its top, unless the best learner is better by more than two standard errors.

    Of many learners that are equally good the luckiest one looks better than it is; their blend depends less on luck.
    Rows that belong together count as one; scores that are no means over rows leave the ranking as it is.
    """
    blend, score = next((outcome for outcome in ranked if outcome.learner.members), None), plan.scores[0].name
    if blend is None or blend is ranked[0] or ranked[0].learner.baseline or score not in ROW_SCORES:
        return ranked
    rows = out_of_fold_rows([ranked[0], blend])
    if rows is None:
        return ranked
    best, own = out_of_fold_losses(plan, [ranked[0], blend], rows, score).T
    units = sampling_units(plan, rows, np.random.default_rng(plan.seed))
    if standard_errors_apart(np.bincount(units, own - best).astype(np.float64)) > MIN_LEAD:
        return ranked
    return [blend, *(outcome for outcome in ranked if outcome is not blend)]


def _fold_losses(score: Score, folds: Sequence[FoldResult]) -> np.ndarray:
    return np.array([score.loss(fold.scores[score.name]) for fold in folds])


def _estimates(plan: Plan, folds: Sequence[FoldResult], ratio: float) -> dict[str, Estimate]:
    return {s.name: _clip_interval(s, corrected_t([fold.scores[s.name] for fold in folds], ratio)) for s in plan.scores}


def _clip_interval(score: Score, estimate: Estimate) -> Estimate:
    """The interval clipped to the range of the score."""
    return Estimate(estimate.mean, max(estimate.low, score.low), min(estimate.high, score.high), estimate.p_value)


def _compare_pairs(plan: Plan, ranked: Sequence[LearnerOutcome], ratio: float) -> Pairs:
    score, (margin, _) = plan.scores[0].name, practical_margin(plan)
    table = {outcome.learner.name: [fold.scores[score] for fold in outcome.folds] for outcome in ranked}
    return compare_all(table, n_train=1.0, n_test=ratio, rope=margin, alpha=ALPHA)


def _inner_selection(
    plan: Plan, whole: Sequence[LearnerOutcome], best: np.ndarray | None, ratio: float
) -> InnerSelection | None:
    inner = [[_inner_loss(fold) for fold in outcome.folds] for outcome in whole]
    if best is None or any(loss is None for losses in inner for loss in losses):
        return None
    winners = np.argmin(np.array(inner, dtype=float), axis=0)  # (splits,), the first of equally good ones
    folds = [whole[winner].folds[i] for i, winner in enumerate(winners)]
    return InnerSelection(
        tuple(whole[winner].learner.name for winner in winners),
        _estimates(plan, folds, ratio),
        corrected_t(_fold_losses(plan.scores[0], folds) - best, ratio),
    )


def _inner_loss(fold: FoldResult) -> float | None:
    """The loss of the chosen setting on the inner splits."""
    return next((loss for setting, loss in fold.tried if setting == fold.parameters), None)
