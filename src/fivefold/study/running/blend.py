"""Greedy ensemble selection: the weights of a blend, chosen by predictions for rows that no member was fitted on.

    start with the best member; add, again and again, the member (also one that is already in) whose addition to the
    mean of the predictions lowers the loss most; keep the best mean on the way

The weight of a member is the share of the additions that were of it. With replacement and an early best mean the
procedure fits few numbers to many rows, so it rarely overfits.

Caruana, Niculescu-Mizil, Crew & Ksikes (2004), Ensemble selection from libraries of models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from fivefold.evaluation.scores import CachedPredictions, Score
from fivefold.study.judging.score_intervals import PrecomputedModel

MAX_ADDITIONS = 50  # members added in all; a weight is a multiple of 2 % or more
MAX_IDLE_ADDITIONS = 10  # additions without a better mean after which to stop


def select_greedily(predictions: np.ndarray, loss: Callable[[np.ndarray], float]) -> np.ndarray:
    """How often each of m members is added; `predictions` is (m, n) or (m, n, K), `loss` takes a mean of some.

    Examples
    --------
    >>> y = np.array([0.0, 1.0, 2.0])
    >>> too_high, too_low, far = y + 1, y - 1, y + 9
    >>> select_greedily(np.array([too_high, too_low, far]), lambda f: np.mean((f - y) ** 2)).tolist()
    [1, 1, 0]
    """
    total, counts = np.zeros(predictions.shape[1:]), np.zeros(len(predictions), dtype=int)
    best, least = counts, np.inf
    for size in range(1, MAX_ADDITIONS + 1):
        losses = [loss((total + member) / size) for member in predictions]
        added = int(np.argmin(losses))  # the first of equally good ones
        total += predictions[added]
        counts = counts + (np.arange(len(counts)) == added)
        if losses[added] < least:
            best, least = counts, losses[added]
        elif size - best.sum() >= MAX_IDLE_ADDITIONS:
            break
    return best


def blend_weights(
    inner: Mapping[str, np.ndarray], targets: Sequence[np.ndarray], score: Score, classes: int | None
) -> tuple[dict[str, float], float]:
    """The weights of the members that have one, and the mean loss of their blend over the inner splits.

    `inner` holds predictions for the test rows of all inner splits, one split after the other, and `targets` the
    truth of each split: numbers, or codes of classes.
    """
    predictions, y = np.array(list(inner.values()), dtype=float), np.concatenate(targets)
    counts = select_greedily(predictions, lambda mean: blend_loss(mean, y, score, classes))
    weights = {name: float(count / counts.sum()) for name, count in zip(inner, counts, strict=True) if count}
    ends = np.cumsum([len(part) for part in targets])[:-1]
    parts = np.split(weighted_mean({name: inner[name] for name in weights}, weights), ends)
    losses = [blend_loss(mean, part, score, classes) for mean, part in zip(parts, targets, strict=True)]
    return weights, float(np.mean(losses))


def weighted_mean(predictions: Mapping[str, np.ndarray], weights: Mapping[str, float]) -> np.ndarray:
    """The mean of these predictions, in the order of operations of `ensemble.voting`."""
    total = sum(weights[name] * np.asarray(values, dtype=float) for name, values in predictions.items())
    return np.asarray(total / float(np.sum([weights[name] for name in predictions])))


def blend_loss(mean: np.ndarray, y: np.ndarray, score: Score, classes: int | None) -> float:
    """The loss of averaged predictions."""
    return score.loss(score.function(as_predictions(mean, classes), y))


def as_predictions(mean: np.ndarray, classes: int | None) -> CachedPredictions:
    """Averaged predictions as those of a model; the classes are codes."""
    model = PrecomputedModel(mean, None) if classes is None else PrecomputedModel(mean.argmax(axis=1), mean)
    return CachedPredictions(model, np.arange(len(mean)))
