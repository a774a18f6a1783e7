"""How certain single predictions are: conformal intervals and sets from the predictions for unseen rows.

    regression        f(x) +- q,  q the conformal quantile of the absolute residuals of unseen rows
    classification    the most probable class, and every k with 1 - p(k | x) <= q,  q that of 1 - p(true class)

The models of the folds stand in for the saved one, which has more rows to learn from; so the level is meant, not
guaranteed, and it is tested: every fold gets the q of the other folds, and the share of its rows that are covered is
counted. `evaluation.conformal` has the theory; it asks that rows be exchangeable. The most probable class is always
in the set, since an empty one helps nobody; a model that hardly errs covers more often than it says.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fivefold.evaluation.conformal import conformal_rank
from fivefold.study.judging.results import LearnerResult
from fivefold.study.planning.plan import Plan
from fivefold.study.running.fold import FoldResult

LEVELS = (0.8, 0.9, 0.95)


@dataclass(frozen=True)
class PredictionRange:
    """Intervals, or sets of classes, that are meant to hold the truth with a probability."""

    level: float
    quantile: float  # half the width of an interval, or the largest 1 - p of a class in the set; may be infinite
    coverage: float  # share of unseen rows covered, by quantiles of other folds
    size: float  # mean width of the intervals, or mean number of classes
    single: float | None  # share of the rows with one class in the set; None for regression


def prediction_ranges(plan: Plan, judged: LearnerResult) -> tuple[PredictionRange, ...]:
    """One per level, for the winner of a study."""
    folds = [fold for fold in judged.outcome.folds if fold.repeat == 0]
    scores = [_row_scores(plan, fold) for fold in folds]
    return tuple(_range_at(plan, folds, scores, level) for level in LEVELS)


def _range_at(plan: Plan, folds: list[FoldResult], scores: list[np.ndarray], level: float) -> PredictionRange:
    others = [np.concatenate(scores[:j] + scores[j + 1 :]) for j in range(len(scores))]
    cuts = [_quantile(rest, level) for rest in others]
    quantile = _quantile(np.concatenate(scores), level)
    if plan.classes is None:
        inside = np.concatenate([own <= cut for own, cut in zip(scores, cuts, strict=True)])
        return PredictionRange(level, quantile, float(inside.mean()), 2 * quantile, None)
    sets = np.concatenate([class_sets(np.asarray(fold.proba), cut) for fold, cut in zip(folds, cuts, strict=True)])
    truth = np.concatenate([_true_codes(plan, fold) for fold in folds])
    sizes = sets.sum(axis=1)
    covered = sets[np.arange(len(sets)), truth]
    return PredictionRange(level, quantile, float(covered.mean()), float(sizes.mean()), float((sizes == 1).mean()))


def class_sets(P: np.ndarray, quantile: float) -> np.ndarray:
    """Is the class in the set? (n, K), from probabilities (n, K) and the largest 1 - p of a class in the set."""
    inside = 1 - P <= quantile
    inside[np.arange(len(P)), P.argmax(axis=1)] = True
    return inside


def _row_scores(plan: Plan, fold: FoldResult) -> np.ndarray:
    """How badly each test row fits its prediction."""
    if plan.classes is None:
        return np.abs(plan.data.y[fold.test] - fold.predicted)
    return 1 - np.asarray(fold.proba)[np.arange(len(fold.test)), _true_codes(plan, fold)]


def _true_codes(plan: Plan, fold: FoldResult) -> np.ndarray:
    """The column of the true class among the probabilities of each test row."""
    return np.asarray(plan.codes)[fold.test]


def _quantile(scores: np.ndarray, level: float) -> float:
    k = conformal_rank(len(scores), 1 - level)
    return float(np.sort(scores)[k - 1]) if k <= len(scores) else np.inf
