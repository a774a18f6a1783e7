"""A learner inspected on test rows: which columns it uses, and whether more rows would help.

    importance of a column    rise of the loss on test rows when the values of the column are shuffled among them
    learning curve            score on test rows after training on a part of the training rows

The splits are those of the first repeat, with the settings chosen there. A column is shuffled before it is prepared, so
everything derived from it is shuffled, too. Columns with the same information replace one another: each may look
unimportant although together they are not.

Breiman (2001); Fisher, Rudin & Dominici (2019).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import polars as pl

from fivefold.evaluation.comparison.estimate import Estimate, corrected_t
from fivefold.evaluation.curves import LossCurve
from fivefold.evaluation.protocols import FittedClassifier, FittedModel
from fivefold.evaluation.scores import CachedPredictions, Score
from fivefold.study.judging.error_groups import column_groups, is_grouped
from fivefold.study.judging.results import LearnerResult
from fivefold.study.planning.plan import Plan
from fivefold.study.planning.splits import Split, at_most, derive_seed, mean_test_train_ratio
from fivefold.study.preparation.column_transformer import USABLE_KINDS
from fivefold.study.running.fold import FoldResult, scores_at_share
from fivefold.study.running.pipelines import fit_pipeline
from fivefold.study.tables.column import Column

CURVE_SHARES = (0.1, 0.2, 0.4, 0.7)  # of the training rows
SHUFFLES = 3  # per column and split
MAX_SHUFFLED_ROWS = 1_000  # test rows shuffled per split
MAX_SHUFFLED_COLUMNS = 60  # the first columns of a table
MAX_PREDICTED_ROWS = 20_000  # rows of shuffled tables that are predicted at once


@dataclass(frozen=True)
class ColumnImportance:
    """A column, and how much the loss rises when its values are shuffled."""

    column: str
    rise: Estimate  # of the loss


def permutation_importances(
    plan: Plan, judged: LearnerResult, shuffles: int = SHUFFLES
) -> tuple[ColumnImportance, ...]:
    """The importance of every usable column, or of the first of many; the most important first."""
    names = [column.name for column in plan.data.columns if column.kind in USABLE_KINDS][:MAX_SHUFFLED_COLUMNS]
    # (folds, d)
    rises = np.array(
        [_loss_rises(plan, judged, split, fold, names, shuffles) for split, fold in _first_repeat(plan, judged)]
    )
    ratio = mean_test_train_ratio([split for split, _ in _first_repeat(plan, judged)])
    found = [ColumnImportance(name, corrected_t(rises[:, j].tolist(), ratio)) for j, name in enumerate(names)]
    return tuple(sorted(found, key=lambda one: -one.rise.mean))


def columns_by_prediction(plan: Plan, judged: LearnerResult) -> list[str]:
    """The columns, first those along whose quarters or levels the out-of-fold predictions differ most.

    The share of the variance of the predictions that lies between these groups, less what chance puts there. It costs
    next to nothing, since nothing is predicted for it, but a column may stand high for another that goes with it.
    """
    folds = [fold for _, fold in _first_repeat(plan, judged)]
    rows = np.concatenate([fold.test for fold in folds])
    answers = [fold.predicted if fold.proba is None else fold.proba for fold in folds]
    P = np.concatenate(answers).reshape(len(rows), -1)  # (n, K)
    if P.dtype.kind not in "fiu":  # classes without probabilities
        P = (P == np.unique(P)).astype(float)
    away = P - P.mean(axis=0)

    def share(column: Column) -> float:
        if not is_grouped(column):
            return -np.inf
        _, codes, sizes = np.unique(
            column_groups(plan.data.X[column.name][rows], column), return_inverse=True, return_counts=True
        )
        sums = np.array([np.bincount(codes, values) for values in away.T])  # (K, groups)
        between, whole = float((np.square(sums) / sizes).sum()), float(np.square(away).sum())
        by_chance = (len(sizes) - 1) / max(1, len(rows) - 1)
        return between / whole - by_chance if whole else 0.0

    return [column.name for column in sorted(plan.data.columns, key=lambda column: -share(column))]


def learning_curve(plan: Plan, judged: LearnerResult) -> LossCurve | None:
    """The first score over the number of training rows; None if small parts cannot be learned from."""
    score, pairs = plan.scores[0], _first_repeat(plan, judged)
    parts = [_scores_at_share(plan, judged, share) for share in CURVE_SHARES]
    done = [(share, part) for share, part in zip(CURVE_SHARES, parts, strict=True) if part is not None]
    if len(done) < 2:
        return None
    n = float(np.mean([len(split.train) for split, _ in pairs]))
    whole = np.array([(fold.train_score[score.name], fold.scores[score.name]) for _, fold in pairs])  # (folds, 2)
    table = np.array([*(part for _, part in done), whole])  # (sizes, folds, 2)
    sizes = [round(share * n) for share, _ in done] + [round(n)]
    return LossCurve("training rows", np.array(sizes), table[:, :, 0], table[:, :, 1])


def _first_repeat(plan: Plan, judged: LearnerResult) -> list[tuple[Split, FoldResult]]:
    """The splits of the first repeat, each with its result."""
    both = zip(plan.splits, judged.outcome.folds, strict=True)
    return [(split, fold) for split, fold in both if split.repeat == 0]


def _fit_fold(plan: Plan, judged: LearnerResult, fold: FoldResult, rows: np.ndarray) -> FittedModel:
    data, seed = plan.coded(plan.data), derive_seed(plan.seed, fold.repeat, fold.fold)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # reported when the fold ran
        return fit_pipeline(data, judged.outcome.learner, fold.parameters, rows, seed)


def _loss_rises(
    plan: Plan, judged: LearnerResult, split: Split, fold: FoldResult, names: Sequence[str], shuffles: int
) -> list[float]:
    """For each column the loss with its values shuffled minus the loss as it is, averaged over shuffles."""
    score, y = plan.scores[0], plan.coded(plan.data).y
    rng = np.random.default_rng(derive_seed(plan.seed, split.repeat, split.fold))
    model = _fit_fold(plan, judged, fold, split.train)
    rows = at_most(plan.data, split.test, MAX_SHUFFLED_ROWS, rng)
    X, orders = plan.data.X[rows], [rng.permutation(len(rows)) for _ in range(shuffles)]
    tables = [X, *(X.with_columns(X[name][order]) for name in names for order in orders)]
    least, *shuffled = _losses(score, model, tables, y[rows])
    return [float(np.mean(several)) - least for several in np.reshape(shuffled, (-1, shuffles))]


def _losses(score: Score, model: FittedModel, tables: Sequence[pl.DataFrame], y: np.ndarray) -> list[float]:
    """The loss on each of these tables with the same target; many are predicted at once, since calls cost time."""
    n, found = len(y), list[float]()
    at_once = max(1, MAX_PREDICTED_ROWS // n)
    for lo in range(0, len(tables), at_once):
        block = tables[lo : lo + at_once]
        given = _StackedPredictions(CachedPredictions(model, pl.concat(block)))
        parts = np.arange(n * len(block)).reshape(-1, n)
        found += [score.loss(score.score_model(given, part, y)) for part in parts]
    return found


@dataclass(frozen=True)
class _StackedPredictions:
    """Predictions for one table behind the interface of a fitted model; its X are row numbers."""

    answers: CachedPredictions

    @property
    def classes_(self) -> np.ndarray:
        return np.asarray(cast(FittedClassifier, self.answers.model).classes_)

    def predict(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(self.answers.predictions[rows])

    def predict_proba(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(self.answers.proba[rows])


def _scores_at_share(plan: Plan, judged: LearnerResult, share: float) -> np.ndarray | None:
    """Scores on training and test rows, (folds, 2), after training on a share of the training rows."""
    chosen = [(split, fold.parameters) for split, fold in _first_repeat(plan, judged)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # reported when the folds ran
        try:
            _, scores = scores_at_share(plan, judged.outcome.learner, chosen, share)
        except Exception:  # too few rows for the method
            return None
    return scores if np.isfinite(scores).all() else None
