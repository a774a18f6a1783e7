"""Scores of a fitted model on rows it has not seen.

log loss   - mean log p(y_i | x_i)                  p clipped from below at CLIP, so that one sure error stays finite
accuracy   share of rows with the right class
RMSE       sqrt(mean (y_i - f(x_i))^2)
R2         1 - sum (y_i - f(x_i))^2 / sum (y_i - mean y)^2
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.metrics import r2_score, root_mean_squared_error

CLIP = 1e-15


@dataclass(frozen=True)
class Score:
    """How to judge a model: `of(model, X, y)`, and how to read the number."""

    name: str
    title: str
    task: Literal["classification", "regression"]
    larger_is_better: bool
    low: float  # the least it can be
    high: float  # the most it can be
    of: Callable[[Any, Any, Any], float]

    def loss(self, value: float) -> float:
        """The score turned so that less is better."""
        return -value if self.larger_is_better else value


def log_loss(model: Any, X: Any, y: Any) -> float:
    """Mean of -log p(y | x); a class that training never saw has probability zero, before clipping."""
    P = model.predict_proba(X)  # (n, K)
    classes = np.asarray(model.classes_)
    k = np.searchsorted(classes, y).clip(0, len(classes) - 1)
    p = np.where(classes[k] == y, P[np.arange(len(y)), k], 0.0)
    return float(-np.log(np.clip(p, CLIP, 1.0)).mean())


def accuracy(model: Any, X: Any, y: Any) -> float:
    """Share of rows with the right class."""
    return float(np.mean(model.predict(X) == y))


def rmse(model: Any, X: Any, y: Any) -> float:
    """Root mean squared error."""
    return float(root_mean_squared_error(y, model.predict(X)))


def r2(model: Any, X: Any, y: Any) -> float:
    """Share of the variance explained."""
    return float(r2_score(y, model.predict(X)))


# The first score of a task is the one a study uses unless told otherwise.
SCORES = {
    score.name: score
    for score in (
        Score("log_loss", "log loss", "classification", False, 0.0, np.inf, log_loss),
        Score("accuracy", "accuracy", "classification", True, 0.0, 1.0, accuracy),
        Score("rmse", "RMSE", "regression", False, 0.0, np.inf, rmse),
        Score("r2", "R2", "regression", True, -np.inf, 1.0, r2),
    )
}
