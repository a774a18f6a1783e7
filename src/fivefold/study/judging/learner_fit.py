"""Does a learner of a study overfit, underfit, or is it too sure of itself? One answer for report and workflow."""

from __future__ import annotations

from typing import Literal

import numpy as np

from fivefold.evaluation.scores import Score
from fivefold.evaluation.selection import FitVerdict, diagnose_gain
from fivefold.study.judging.results import LearnerResult, Results

PROBABILITY_SCORES = ("log_loss", "brier")  # a learner that is too sure of itself loses by these alone

LearnerFit = FitVerdict | Literal["overconfident"]


def learner_fit(results: Results, judged: LearnerResult) -> LearnerFit:
    """How a learner fits, against the best baseline; "right" for a baseline.

    By a score of probabilities, a learner that is too sure of itself can be worse than the baseline even on training
    rows. If it is neither over- nor underfitted by its classes, its fault is overconfidence.
    """
    if judged.outcome.learner.baseline:
        return "right"
    found = _fit_by(results.score, results, judged)
    if found != "right" and results.score.name in PROBABILITY_SCORES:
        by_class = [score for score in results.plan.shown if score.name not in PROBABILITY_SCORES]
        if by_class and _fit_by(by_class[0], results, judged) == "right":
            return "overconfident"
    return found


def mean_train_score(judged: LearnerResult, score: str) -> float | None:
    """The mean score on training rows; None if it was not computed."""
    found = [fold.train_score[score] for fold in judged.outcome.folds if score in fold.train_score]
    return float(np.mean(found)) if found else None


def _fit_by(score: Score, results: Results, judged: LearnerResult) -> FitVerdict:
    train = mean_train_score(judged, score.name)
    if train is None or not results.baselines:
        return "right"
    baseline = min(score.loss(other.estimates[score.name].mean) for other in results.baselines)
    test = score.loss(judged.estimates[score.name].mean)
    return diagnose_gain(score.loss(train), test, baseline, score.loss(score.perfect))
