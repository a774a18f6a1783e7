"""What every learner lost on every row that it did not see: its out-of-fold losses, averaged over the repeats.

A score that is a mean over rows, or nearly one, is written as a loss per row, whose mean is the score of all rows:

log loss            - log p(y | x)                                p at least MIN_PROBABILITY
accuracy            - [right]
balanced accuracy   - (A + ([right] - a_k) n / (K n_k))           a_k share found of class k, A their mean
RMSE                (r^2 / R + R) / 2                             r residual, R the RMSE: its first-order change
R2                  r^2 / var y - 1
MAE                 |r|
expected cost       the cost of the decision

F1, AUC and the correlation are no means over rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from fivefold.core.types import Array, Codes, Indices, Matrix, Vector
from fivefold.evaluation.comparison.resampling_units import group_units, row_units, time_units
from fivefold.evaluation.scores import COST, MIN_PROBABILITY
from fivefold.study.planning.plan import Plan
from fivefold.study.running.fold import FoldResult
from fivefold.study.running.run import LearnerOutcome

FoldLosses = Callable[[Plan, FoldResult], Array]  # one number per test row


def true_class_probabilities(plan: Plan, fold: FoldResult) -> Array:
    """The probability that each test row's class was given, before clipping."""
    assert plan.codes is not None and fold.proba is not None
    return fold.proba[np.arange(len(fold.test)), plan.codes[fold.test]]


def hits(plan: Plan, fold: FoldResult) -> Array:
    """1 for every test row with the right class, 0 for the others."""
    return (fold.predicted == plan.data.y[fold.test]).astype(float)


def brier_losses(plan: Plan, fold: FoldResult) -> Array:
    """The squared distance of the probabilities from the true class, from 0 to 2."""
    assert plan.codes is not None and fold.proba is not None
    return np.square(fold.proba - np.eye(fold.proba.shape[1])[plan.codes[fold.test]]).sum(axis=1)


def _log_losses(plan: Plan, fold: FoldResult) -> Array:
    return -np.log(np.clip(true_class_probabilities(plan, fold), MIN_PROBABILITY, 1.0))


def _squares(plan: Plan, fold: FoldResult) -> Array:
    return np.square(plan.data.y[fold.test] - fold.predicted)


def _decision_costs(plan: Plan, fold: FoldResult) -> Array:
    matrix = plan.cost_matrix
    assert matrix is not None and plan.codes is not None and fold.proba is not None
    return matrix.row_costs(fold.proba, plan.codes[fold.test])


def _absolute_errors(plan: Plan, fold: FoldResult) -> Array:
    return np.abs(plan.data.y[fold.test] - fold.predicted)


def _unchanged(values: Vector, y: Array) -> Vector:
    return values


def _balanced(right: Vector, y: Array) -> Vector:
    _, k, counts = np.unique(y, return_inverse=True, return_counts=True)
    found = np.bincount(k, right) / counts  # (K,)
    return -(found.mean() + (right - found[k]) * (len(y) / (len(counts) * counts[k])))


def _root(squares: Vector, y: Array) -> Vector:
    R = float(np.sqrt(squares.mean()))
    return (squares / R + R) / 2 if R > 0 else squares


# By score: the loss of each row of a fold, and what makes their averages over repeats a loss per row.
ROW_SCORES: Mapping[str, tuple[FoldLosses, Callable[[Vector, Array], Vector]]] = {
    "log_loss": (_log_losses, _unchanged),
    "brier": (brier_losses, _unchanged),
    "accuracy": (hits, lambda right, y: -right),
    "balanced_accuracy": (hits, _balanced),
    "rmse": (_squares, _root),
    "r2": (_squares, lambda squares, y: squares / np.var(y) - 1.0),
    "mae": (_absolute_errors, _unchanged),
    COST: (_decision_costs, _unchanged),
}


def out_of_fold_rows(outcomes: Sequence[LearnerOutcome]) -> Indices | None:
    """The rows that were tested, sorted; None unless every fold of every learner kept its predictions."""
    folds = [fold for outcome in outcomes for fold in outcome.folds]
    if not folds or any(len(fold.test) != fold.n_test or len(fold.predicted) != fold.n_test for fold in folds):
        return None
    return np.unique(np.concatenate([fold.test for fold in outcomes[0].folds]))


def out_of_fold_losses(plan: Plan, outcomes: Sequence[LearnerOutcome], rows: Indices, score: str) -> Matrix:
    """The loss of every learner on these rows, averaged over the repeats, (n, K)."""
    fold_losses, finish = ROW_SCORES[score]
    y = plan.data.y[rows]
    return np.column_stack([finish(_row_means(plan, outcome, rows, fold_losses), y) for outcome in outcomes])


def first_repeat_hits(plan: Plan, outcome: LearnerOutcome) -> Vector:
    """Whether the learner is right on each row that the first repeat tested, in the order of the folds."""
    return np.concatenate([hits(plan, fold) for fold in outcome.folds if fold.repeat == 0])


def sampling_units(plan: Plan, rows: Indices, rng: np.random.Generator) -> Codes:
    """Which of these rows are drawn together: single rows with their copies, groups, or blocks of time."""
    if plan.data.time is not None:
        return time_units(plan.data.time[rows])
    if plan.data.groups is not None:
        return group_units(plan.data.groups[rows], rng)
    if plan.data.records is not None:
        return group_units(plan.data.records[rows], rng)
    return row_units(len(rows), rng)


def _row_means(plan: Plan, outcome: LearnerOutcome, rows: Indices, fold_losses: FoldLosses) -> Vector:
    total, count = np.zeros(len(rows)), np.zeros(len(rows))
    for fold in outcome.folds:
        at = np.searchsorted(rows, fold.test)
        total[at] += fold_losses(plan, fold)
        count[at] += 1
    return total / count
