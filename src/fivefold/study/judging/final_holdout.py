"""The hold-out: rows locked away before anything was looked at, and opened once, for the winner fitted on the others.

Its errors certify exactly that model (`theory.certify_holdout`); every score has an interval, and beside it stands what
the rule that ignores all columns scores there. The result is written to the journal, and a resumed study reads it
there: no second model is ever tested on these rows. `evaluation.locked_test.LockedTest` is such a lock in memory, for
plain arrays; a `Workflow` keeps its own in its folder, and scores by the same `score_all`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

import numpy as np

from fivefold.evaluation.comparison.estimate import Estimate
from fivefold.evaluation.comparison.resampling_units import time_units
from fivefold.evaluation.protocols import FittedModel
from fivefold.evaluation.scores import CachedPredictions, Score
from fivefold.study.judging.score_intervals import PrecomputedModel, score_interval
from fivefold.study.planning.plan import Plan
from fivefold.study.running.fold import score_all
from fivefold.study.running.journal import Journal
from fivefold.theory import Certificate, certify_holdout

CERTIFICATE_DELTA = 0.05  # probability that the certificate may fail


@dataclass(frozen=True)
class HoldoutResult:
    """The scores of the winner, fitted on the other rows, on rows that no choice was based on."""

    learner: str
    rows: int
    scores: Mapping[str, float]
    certificate: Certificate | None  # of the error rate; None for regression, whose errors have no bound
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # of every score, at 95 %
    baseline: Mapping[str, float] = field(default_factory=dict)  # scores of the majority class or of the mean

    @property
    def baseline_error(self) -> float:
        """The share of the rows that are not of the class that is most frequent among the others."""
        return 1 - self.baseline["accuracy"]

    def gap_to(self, estimate: Estimate, score: Score) -> Estimate:
        """The score here minus its estimate by cross-validation, with the interval of the difference.

        The interval is made of those of the two, which are of different rows (MOVER, Zou & Donner 2008).
        """
        here, (low, high) = self.scores[score.name], self.intervals[score.name]
        gap = here - estimate.mean
        below = math.hypot(here - low, estimate.high - estimate.mean)
        above = math.hypot(high - here, estimate.mean - estimate.low)
        return Estimate(gap, gap - below, gap + above, math.nan)


def open_holdout(plan: Plan, learner: str, model: FittedModel | None, journal: Journal) -> HoldoutResult | None:
    """Test the fitted model on the hold-out, or read the earlier result; None if no rows were held out."""
    if not len(plan.holdout):
        return None
    if stored := journal.get("holdout"):
        certificate = stored["certificate"]
        restored = certificate and Certificate(**certificate | {"assumptions": tuple(certificate["assumptions"])})
        intervals = {name: tuple(ends) for name, ends in stored.get("intervals", {}).items()}
        return HoldoutResult(**stored | {"certificate": restored, "intervals": intervals})
    X, y, groups = plan.data.X[plan.holdout], plan.data.y[plan.holdout], _dependent_rows(plan)
    assert model is not None
    answers = CachedPredictions(model, X, plan.data.sequences_of(plan.holdout))
    certificate = None
    if plan.data.task.is_classification:
        certificate = certify_holdout(int(np.sum(answers.predictions != y)), len(y), CERTIFICATE_DELTA)
    given, codes = _stored_predictions(plan, answers)
    scores = score_all(plan.scores, CachedPredictions(given, np.arange(len(y)), answers.sequences), codes)
    spans = {s.name: score_interval(s, given, codes, groups, answers.sequences) for s in plan.scores}
    found = HoldoutResult(
        learner=learner,
        rows=len(y),
        scores=scores,
        certificate=certificate,
        intervals={name: (one.low, one.high) for name, one in spans.items()},
        baseline=_baseline_scores(plan),
    )
    journal.put("holdout", asdict(found))
    return found


def _stored_predictions(plan: Plan, answers: CachedPredictions) -> tuple[PrecomputedModel, np.ndarray]:
    """The predictions for the hold-out and the truth, with codes in place of labels."""
    if plan.classes is None or plan.codes is None:
        return PrecomputedModel(answers.predictions, None), plan.data.y[plan.holdout]
    labels = np.searchsorted(plan.classes, answers.predictions)
    return PrecomputedModel(labels, answers.proba_for(plan.classes)), plan.codes[plan.holdout]


def _baseline_scores(plan: Plan) -> dict[str, float]:
    """The scores on the hold-out of the class shares, or of the mean, of the other rows."""
    n, rows = len(plan.holdout), plan.rows
    if plan.codes is None or plan.classes is None:
        given, truth = PrecomputedModel(np.full(n, plan.data.y[rows].mean()), None), plan.data.y[plan.holdout]
    else:
        shares = np.bincount(plan.codes[rows], minlength=len(plan.classes)) / len(rows)
        given = PrecomputedModel(np.full(n, shares.argmax()), np.tile(shares, (n, 1)))
        truth = plan.codes[plan.holdout]
    return score_all(plan.scores, CachedPredictions(given, np.arange(n), plan.data.sequences_of(plan.holdout)), truth)


def _dependent_rows(plan: Plan) -> np.ndarray | None:
    """Codes of hold-out rows that depend on one another, of a group or of a block of time; None if none do."""
    data, held = plan.data, plan.holdout
    if data.time is not None:
        return time_units(data.time[held])
    return None if data.groups is None else data.groups[held]
