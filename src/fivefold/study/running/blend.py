"""The weights of a blend, chosen by predictions for rows that no member was fitted on.

Numbers are joined by their weighted mean, probabilities by their geometric mean (`core.numerics.opinion_pool`). Two
sets of weights are mixed:

greedy      start with the best member; add, again and again, the member (also one that is already in) whose addition
            to the mean lowers the loss most; keep the best mean on the way; a member's weight is its share of the
            additions
plausible   proportional to exp(-z_m^2 / 2), where z_m is by how many standard errors member m loses to the best one,
            row by row: members that cannot be told from the best count alike

    w = (1 - t) greedy + t plausible        t = min(1, (CHANCE_LEAD / z)^2)

where z is by how many standard errors the greedy blend beats the plausible one. On few rows greedy selection follows
noise; there t is near 1, and on many rows it is near 0. Scores that are no means over rows take the greedy weights.

Caruana, Niculescu-Mizil, Crew & Ksikes (2004), Ensemble selection from libraries of models; James & Stein (1961),
Estimation with quadratic loss, for t.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from fivefold.core.numerics.opinion_pool import logarithmic_pool, normalised_exponentials, pooled_logarithms
from fivefold.core.types import Matrix, Vector, Weights
from fivefold.evaluation.scores import CachedPredictions, Score
from fivefold.study.judging.score_intervals import PrecomputedModel

MAX_ADDITIONS = 50  # members added in all; a weight is a multiple of 2 % or more
MAX_IDLE_ADDITIONS = 10  # additions without a better mean after which to stop
CHANCE_LEAD = 1.5  # standard errors by which greedy weights may win by chance: they were chosen on the same rows
MIN_WEIGHT = 0.02  # members with less are left out: they would cost a fit, and hardly change a prediction


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


def plausible_weights(losses: Matrix) -> Weights:
    """Weights of m members by their losses on n rows, (m, n): how plausible it is that each is the best.

    Examples
    --------
    >>> plausible_weights(np.array([[1.0, 2.0, 3.0], [2.0, 1.0, 3.0], [9.0, 9.0, 9.5]])).round(2)
    array([0.5, 0.5, 0. ])
    """
    best = losses[losses.mean(axis=1).argmin()]
    z = np.array([standard_errors_apart(own - best) for own in losses])
    found = np.exp(-np.square(z) / 2)
    return found / found.sum()


def standard_errors_apart(differences: Vector) -> float:
    """The mean of these differences in units of its standard error; 0 if all are 0, infinite if they are all alike."""
    mean = float(differences.mean())
    if mean == 0 or len(differences) < 2:
        return 0.0
    error = float(differences.std(ddof=1)) / np.sqrt(len(differences))
    return mean / error if error > 0 else np.copysign(np.inf, mean)


def blend_weights(
    inner: Mapping[str, np.ndarray], targets: Sequence[np.ndarray], score: Score, classes: int | None
) -> tuple[dict[str, float], float]:
    """The weights of the members that have one, and the mean loss of their blend over the inner splits.

    `inner` holds predictions for the test rows of all inner splits, one split after the other, and `targets` the
    truth of each split: numbers, or codes of classes.
    """
    predictions, y = np.array(list(inner.values()), dtype=float), np.concatenate(targets)
    members = predictions if classes is None else pooled_logarithms(predictions)

    def answers(mean: np.ndarray) -> CachedPredictions:
        return as_predictions(mean if classes is None else normalised_exponentials(mean), classes)

    counts = select_greedily(members, lambda mean: score.loss(score.function(answers(mean), y)))
    shares = counts / counts.sum()
    if score.row_losses is not None:
        own = np.array([score.row_losses(as_predictions(one, classes), y) for one in predictions])
        plausible = plausible_weights(own)
        greedy, even = (score.row_losses(answers(np.tensordot(w, members, 1)), y) for w in (shares, plausible))
        t = (CHANCE_LEAD / max(CHANCE_LEAD, standard_errors_apart(even - greedy))) ** 2
        shares = (1 - t) * shares + t * plausible
        shares = np.where(shares < min(MIN_WEIGHT, shares.max()), 0.0, shares)
    weights = {name: float(share / shares.sum()) for name, share in zip(inner, shares, strict=True) if share}
    ends = np.cumsum([len(part) for part in targets])[:-1]
    parts = np.split(combine_predictions({name: inner[name] for name in weights}, weights, classes), ends)
    losses = [
        score.loss(score.function(as_predictions(mean, classes), part))
        for mean, part in zip(parts, targets, strict=True)
    ]
    return weights, float(np.mean(losses))


def combine_predictions(
    predictions: Mapping[str, np.ndarray], weights: Mapping[str, float], classes: int | None
) -> np.ndarray:
    """What a blend predicts, in the order of operations of `ensemble.voting`: numbers, or probabilities of all classes.

    A class that no member knows keeps probability zero.
    """
    given, shares = [np.asarray(p, dtype=float) for p in predictions.values()], [weights[name] for name in predictions]
    if classes is None:
        return np.asarray(sum(share * p for share, p in zip(shares, given, strict=True)) / float(np.sum(shares)))
    known, found = np.any([p.any(axis=0) for p in given], axis=0), np.zeros_like(given[0])
    found[:, known] = logarithmic_pool([p[:, known] for p in given], shares)
    return found


def as_predictions(mean: np.ndarray, classes: int | None) -> CachedPredictions:
    """Averaged predictions as those of a model; the classes are codes."""
    model = PrecomputedModel(mean, None) if classes is None else PrecomputedModel(mean.argmax(axis=1), mean)
    return CachedPredictions(model, np.arange(len(mean)))
