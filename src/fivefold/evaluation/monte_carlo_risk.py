"""The expected loss of a model on a source that can be drawn from, by Monte Carlo.

    R(f) = E[loss(f(X), Y)]  ~  1/n sum_i loss(f(x_i), y_i)      standard error s / sqrt(n)

A learning task is a source of examples and a loss; the learner sees only the examples. If the density of the source is
known, the estimate can be compared with the exact risk.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fivefold.core.types import Array, Table, Target
from fivefold.evaluation.protocols import FittedModel

CHUNK_ROWS = 65536  # at most this many rows are drawn at a time, so that memory does not grow with n

Source = Callable[[int, np.random.Generator], tuple[Table, Target]]
PredictionLoss = Callable[[Target, Target], Array]


@dataclass(frozen=True)
class RiskEstimate:
    """An expected loss and the standard error of its estimate."""

    mean: float
    error: float


def zero_one_loss(y: Target, predicted: Target) -> Array:
    """1 for a wrong class, 0 for the right one."""
    return np.not_equal(y, predicted).astype(float)


def squared_loss(y: Target, predicted: Target) -> Array:
    """The squared difference."""
    return np.square(np.subtract(y, predicted))


def expected_loss(
    model: FittedModel, source: Source, n: int, rng: np.random.Generator, loss: PredictionLoss = zero_one_loss
) -> RiskEstimate:
    """The mean loss of a fitted model on n fresh rows; `source(m, rng)` draws m of them as (X, y).

    Examples
    --------
    >>> class Threshold:
    ...     def predict(self, X):
    ...         return np.where(X[:, 0] > 0, 1, -1)
    >>> def two_gaussians(m, rng):
    ...     y = rng.choice([-1, 1], m)
    ...     return y[:, None] + rng.standard_normal((m, 1)), y
    >>> round(expected_loss(Threshold(), two_gaussians, 100_000, np.random.default_rng(0)).mean, 2)  # 1 - Phi(1)
    0.16
    """
    sums = np.zeros(2)  # of the losses and of their squares
    for start in range(0, n, CHUNK_ROWS):
        X, y = source(min(CHUNK_ROWS, n - start), rng)
        losses = np.asarray(loss(y, model.predict(X)), dtype=float)
        sums += losses.sum(), losses @ losses
    mean, square = sums / n
    return RiskEstimate(float(mean), float(np.sqrt(max(square - mean**2, 0.0) / n)))
