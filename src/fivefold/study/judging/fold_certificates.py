"""A certificate of every learner from the folds of the study, which gives up no rows.

It speaks of the models of the folds: the rule that draws one of them at random for every new row
(`theory.cross_validation_bound`). Delta is divided by the number of learners, so that all certificates hold together,
and that of the winner holds although it was chosen by the same folds. Copies of a row count once; where rows belong to
groups, a group is one observation: the share of its rows that are wrong. Rows in order of time have no certificate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fivefold.study.formatting import format_count
from fivefold.study.judging.out_of_fold import hits
from fivefold.study.planning.plan import Plan
from fivefold.study.planning.splits import distinct_rows
from fivefold.study.running.fold import FoldResult
from fivefold.study.running.run import LearnerOutcome
from fivefold.theory.cross_validation_bound import FOLD_ASSUMPTIONS, cross_validation_upper

FOLD_DELTA = 0.05  # probability that any of the certificates may fail


@dataclass(frozen=True)
class FoldCertificate:
    """The certificate of one learner."""

    bound: float  # of the error on new rows of a fold model drawn at random
    risk: float  # the error of the fold models on the rows of their folds

    @property
    def vote_bound(self) -> float:
        """Of the error of the vote of the fold models, which errs at most twice as often."""
        return min(1.0, 2 * self.bound)


@dataclass(frozen=True)
class FoldCertificates:
    """The certificates of all learners; they hold together with probability 1 - delta."""

    learners: Mapping[str, FoldCertificate]
    delta: float
    candidates: int  # learners that delta is divided among
    folds: int
    unit: str  # what is independent: rows, or groups of rows
    majority: float  # the error of the majority rule on the rows of the study
    assumptions: tuple[str, ...] = FOLD_ASSUMPTIONS


def certify_folds(plan: Plan, outcomes: Sequence[LearnerOutcome]) -> FoldCertificates | None:
    """The certificates of the learners that finished; None for regression, and for rows in order of time."""
    whole = [one for one in outcomes if one.failure is None and _kept_predictions(one)]
    if not plan.data.task.is_classification or plan.data.time is not None or not whole:
        return None
    candidates = max(len(plan.learners), len(outcomes))
    found = {one.learner.name: _certify_learner(plan, one, FOLD_DELTA / candidates) for one in whole}
    unit = "row" if plan.data.groups is None else plan.data.group_noun
    _, counts = np.unique(plan.data.y[plan.rows], return_counts=True)
    majority = 1.0 - float(counts.max() / counts.sum())
    return FoldCertificates(found, FOLD_DELTA, candidates, len(whole[0].folds), unit, majority)


def _kept_predictions(outcome: LearnerOutcome) -> bool:
    return bool(outcome.folds) and all(len(fold.predicted) == fold.n_test for fold in outcome.folds)


def _certify_learner(plan: Plan, outcome: LearnerOutcome, delta: float) -> FoldCertificate:
    lost, count = np.array([_fold_errors(plan, fold) for fold in outcome.folds]).T
    bound = cross_validation_upper(lost, count, delta, zero_one=plan.data.groups is None)
    return FoldCertificate(bound, float(np.mean(lost / count)))


def _fold_errors(plan: Plan, fold: FoldResult) -> tuple[float, int]:
    """The errors of a fold and the number of its rows, or the sum of the shares of errors of its groups."""
    wrong, groups = 1.0 - hits(plan, fold), plan.data.groups
    if groups is not None:
        _, codes, sizes = np.unique(groups[fold.test], return_inverse=True, return_counts=True)
        return float(np.sum(np.bincount(codes, wrong) / sizes)), len(sizes)
    once = np.isin(fold.test, distinct_rows(plan.data, fold.test))
    return float(wrong[once].sum()), int(once.sum())


def fold_certificate_sentences(found: FoldCertificates | None, winner: str) -> list[str]:
    """What the folds certify about the winner, whom they speak of, and what they have to pay for."""
    if found is None or winner not in found.learners:
        return []
    own = found.learners[winner]
    if own.bound >= 1:
        return [f"The folds are too small to certify {winner}: no bound of its error is below 100 %."]
    other = "" if found.unit == "row" else f", an average over the rows of a {found.unit}"
    said = [
        f"A {winner} model drawn at random from those of the {format_count(found.folds, 'fold')} is wrong on less than "
        f"{own.bound:.2%} of new rows{other}, with probability {1 - found.delta:.0%}; the fold models were wrong on "
        f"{own.risk:.2%} of the rows they had not seen."
    ]
    if found.candidates > 1:
        said.append(f"This allows for the choice among {found.candidates} learners by the same folds.")
    if own.vote_bound < found.majority:  # a larger bound says nothing that is not known without a model
        said.append(f"The vote of the fold models is wrong on less than {own.vote_bound:.2%}.")
    return said
