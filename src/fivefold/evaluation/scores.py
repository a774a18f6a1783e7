"""Scores of a fitted model on rows it has not seen.

log loss           - mean log p(y_i | x_i)             p at least MIN_PROBABILITY, so that no error costs infinitely
Brier score        mean of sum_k (p_k - [y_i = k])^2, from 0 to 2
accuracy           share of rows with the right class
balanced accuracy  mean over the classes of the share found
macro F1           mean over the classes of 2 PR / (P + R), P precision and R recall
AUC                mean over the classes k of P(p_k of a row of k > p_k of another row)
whole sequences    share of sequences in which every step has the right class
RMSE               sqrt(mean (y_i - f(x_i))^2)
MAE                mean |y_i - f(x_i)|
R2                 1 - sum (y_i - f(x_i))^2 / sum (y_i - mean y)^2
correlation        of y and f(x); zero if either is constant
expected cost      mean cost of the decision of least expected cost, in studies with a cost matrix

They are written out here, and tested to equal scikit-learn's: a study computes them for every fold and a thousand
bootstrap samples, and scikit-learn's input checks take longer than a quick learner takes to fit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, cast

import numpy as np

from fivefold.core.types import Codes, Labels, Matrix, Table, Target, Vector
from fivefold.evaluation.metrics import pearson_correlation as pearson
from fivefold.evaluation.protocols import FittedClassifier, FittedModel

MIN_PROBABILITY = 1e-15  # smaller probabilities count as this in the log loss, which stays below 34.6


@dataclass(frozen=True)
class CachedPredictions:
    """Predictions of a fitted model for some rows; each prediction method is called at most once."""

    model: FittedModel  # a FittedClassifier, if probabilities are asked for
    X: Table
    sequences: Codes | None = None  # (n,) the sequence that each row is a step of, where whole ones are scored

    @cached_property
    def predictions(self) -> Target:
        """Classes or numbers, (n,)."""
        return self.model.predict(self.X)

    @cached_property
    def proba(self) -> Matrix:
        """Probabilities of the classes that training saw, (n, K)."""
        return cast(FittedClassifier, self.model).predict_proba(self.X)

    def proba_for(self, classes: Labels) -> Matrix:
        """Probabilities of these classes, (n, len(classes)); zero for classes that training never saw."""
        known = np.asarray(cast(FittedClassifier, self.model).classes_)
        k = np.searchsorted(known, classes).clip(0, len(known) - 1)
        return np.where(known[k] == classes, self.proba[:, k], 0.0)


@dataclass(frozen=True)
class Score:
    """A score: `score_model(model, X, y)` computes it; the other fields say how to read the number."""

    name: str
    title: str
    task: Literal["classification", "regression"]
    larger_is_better: bool
    low: float  # the least it can be
    high: float  # the most it can be
    function: Callable[[CachedPredictions, Target], float]
    row_losses: Callable[[CachedPredictions, Target], Vector] | None = None  # (n,), whose mean ranks models like it

    def score_model(self, model: FittedModel, X: Table, y: Target) -> float:
        """The score of a fitted model on rows."""
        return self.function(CachedPredictions(model, X), y)

    @property
    def perfect(self) -> float:
        """The best value that it can take."""
        return self.high if self.larger_is_better else self.low

    def loss(self, value: float) -> float:
        """The score with its sign changed if larger is better, so that less is better."""
        return -value if self.larger_is_better else value


def log_losses(answers: CachedPredictions, y: Target) -> Vector:
    """-log p(y | x) of each row; a class that training never saw has probability zero, before clipping."""
    classes, k = np.unique(y, return_inverse=True)
    p = answers.proba_for(classes)[np.arange(len(y)), k]
    return -np.log(np.clip(p, MIN_PROBABILITY, 1.0))


def log_loss(answers: CachedPredictions, y: Target) -> float:
    """Mean of -log p(y | x)."""
    return float(log_losses(answers, y).mean())


def brier_losses(answers: CachedPredictions, y: Target) -> Vector:
    """The squared distance of the probabilities of each row from its class, over all classes; at most 2."""
    classes, k = np.unique(y, return_inverse=True)
    p = answers.proba_for(classes)[np.arange(len(y)), k]
    return np.square(answers.proba).sum(axis=1) - 2 * p + 1


def brier(answers: CachedPredictions, y: Target) -> float:
    """Mean squared distance of the probabilities from the true class, over all classes."""
    return float(np.mean(brier_losses(answers, y)))


def accuracy(answers: CachedPredictions, y: Target) -> float:
    """Share of rows with the right class."""
    return float(np.mean(answers.predictions == y))


def misses(answers: CachedPredictions, y: Target) -> Vector:
    """1 for each row with a wrong class, 0 for the others."""
    return (answers.predictions != y).astype(float)


def balanced_accuracy(answers: CachedPredictions, y: Target) -> float:
    """Mean recall over the classes that occur in y."""
    _, k = np.unique(y, return_inverse=True)
    return float(np.mean(np.bincount(k, answers.predictions == y) / np.bincount(k)))


def f1(answers: CachedPredictions, y: Target) -> float:
    """Mean over the classes of the harmonic mean of precision and recall: 2 hits / (rows of it + rows given to it)."""
    _, k = np.unique(np.concatenate([y, answers.predictions]), return_inverse=True)
    return float(np.mean(2 * np.bincount(k[: len(y)], answers.predictions == y, k.max() + 1) / np.bincount(k)))


def auc(answers: CachedPredictions, y: Target) -> float:
    """Mean over the classes of the area under one against the rest; one half if all rows are of one class."""
    classes, counts = np.unique(y, return_counts=True)
    if len(classes) == 1:
        return 0.5
    P = answers.proba_for(classes)
    if np.isnan(P).any():
        return np.nan
    sums = np.array([_rank_sum(np.sort(P[:, k]), P[y == label, k]) for k, label in enumerate(classes)])
    return float(np.mean((sums - counts * (counts + 1) / 2) / (counts * (len(y) - counts))))


def _rank_sum(ascending: Vector, some: Vector) -> float:
    """The sum of the ranks of some of these numbers; equal numbers share the mean of their ranks."""
    below, not_above = np.searchsorted(ascending, some, "left"), np.searchsorted(ascending, some, "right")
    return float((below + not_above + 1).sum() / 2)


def sequence_accuracy(answers: CachedPredictions, y: Target) -> float:
    """Share of the sequences all of whose steps have the right class; each row is one where none are given."""
    right = answers.predictions == y
    if answers.sequences is None:
        return float(np.mean(right))
    _, k = np.unique(answers.sequences, return_inverse=True)
    return float(np.mean(np.bincount(k, right) == np.bincount(k)))


def rmse(answers: CachedPredictions, y: Target) -> float:
    """Root mean squared error."""
    return float(np.sqrt(squared_errors(answers, y).mean()))


def squared_errors(answers: CachedPredictions, y: Target) -> Vector:
    """The squared error of each row."""
    return np.square(y - answers.predictions)


def mae(answers: CachedPredictions, y: Target) -> float:
    """Mean absolute error."""
    return float(absolute_errors(answers, y).mean())


def absolute_errors(answers: CachedPredictions, y: Target) -> Vector:
    """The absolute error of each row."""
    return np.abs(y - answers.predictions)


def r2(answers: CachedPredictions, y: Target) -> float:
    """Share of the variance explained; of a constant target 1 if it is predicted exactly, else 0."""
    if len(y) < 2:
        return np.nan
    left, variation = squared_errors(answers, y).sum(), np.square(y - y.mean()).sum()
    if variation == 0:
        return float(left == 0)
    return float(1 - left / variation)


def correlation(answers: CachedPredictions, y: Target) -> float:
    """Pearson's correlation of target and prediction; zero if either is constant."""
    return float(np.nan_to_num(pearson(y, answers.predictions)))


def _no_costs(answers: CachedPredictions, y: Target) -> float:
    raise TypeError("an expected cost needs a cost matrix; see fivefold.decision.CostMatrix.score")


# The first score of a task is the default of a study.
SCORES = {
    score.name: score
    for score in (
        Score("log_loss", "log loss", "classification", False, 0.0, np.inf, log_loss, log_losses),
        Score("accuracy", "accuracy", "classification", True, 0.0, 1.0, accuracy, misses),
        Score("balanced_accuracy", "balanced accuracy", "classification", True, 0.0, 1.0, balanced_accuracy),
        Score("f1", "macro F1", "classification", True, 0.0, 1.0, f1),
        Score("auc", "AUC", "classification", True, 0.0, 1.0, auc),
        Score("brier", "Brier score", "classification", False, 0.0, 2.0, brier, brier_losses),
        Score("rmse", "RMSE", "regression", False, 0.0, np.inf, rmse, squared_errors),
        Score("r2", "R2", "regression", True, -np.inf, 1.0, r2, squared_errors),
        Score("mae", "MAE", "regression", False, 0.0, np.inf, mae, absolute_errors),
        Score("correlation", "correlation", "regression", True, -1.0, 1.0, correlation),
    )
}

# Beside the scores of rows, in a study whose rows are steps of sequences.
SEQUENCE_ACCURACY = Score(
    "sequence_accuracy", "whole sequences right", "classification", True, 0.0, 1.0, sequence_accuracy
)
COST = "cost"  # the name of the score that a cost matrix makes
# Every score that results may name: the last two only in studies of sequences, and of costs.
KNOWN_SCORES = {
    **SCORES,
    SEQUENCE_ACCURACY.name: SEQUENCE_ACCURACY,
    COST: Score(COST, "expected cost", "classification", False, 0.0, np.inf, _no_costs),
}
