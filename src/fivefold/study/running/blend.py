"""The weights of a blend, chosen by predictions for rows that no member was fitted on.

Numbers are joined by a weighted mean, whose weights add up to one; probabilities by a product of powers, whose
exponents need not (`core.numerics.opinion_pool`): a sum above one makes the blend surer than its members, one below
one less sure, so the weights calibrate, too. They minimise

    L(w) + sum_m (w_m - u_m)^2 / (2 s^2)      w_m >= 0,   for numbers sum_m w_m = 1

where L is minus the log likelihood of the rows, n times the mean log loss, or the sum of squared errors over twice the
mean square of the best member; s is SPREAD. On few rows the second term wins, and draws the weights towards u, the
plausible weights: proportional to exp(-z_m^2 / 2), where z_m is by how many standard errors member m loses to the best
one, row by row, so that members that cannot be told from the best count alike. On many rows the likelihood decides.
It does so whatever the score: log loss and squared error reward true probabilities and means.

Wolpert (1992), Stacked generalization; Breiman (1996), Stacked regressions, for weights from 0 up; Genest & Zidek
(1986), Combining probability distributions, for products of powers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from scipy.optimize import minimize

from fivefold.core.blas_threads import on_one_blas_thread
from fivefold.core.numerics.opinion_pool import pooled_logarithms, product_of_powers
from fivefold.core.types import Matrix, Vector, Weights
from fivefold.evaluation.scores import CachedPredictions, Score
from fivefold.study.judging.score_intervals import PrecomputedModel

SPREAD = 0.3  # of the weights about the plausible ones; docs/study.md says how it was chosen
MIN_WEIGHT = 0.02  # members with less are left out: they would cost a fit, and hardly change a prediction
MAX_STEPS = 200  # of the search; few members need more than 30


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


def mean_weights(predictions: Matrix, y: Vector) -> Weights:
    """The weights of m members in a mean of numbers, from their predictions (m, n) for rows with targets y.

    Examples
    --------
    >>> y = np.arange(50.0)
    >>> mean_weights(np.array([y + 1, y - 1, y + 9]), y).round(2)
    array([0.5, 0.5, 0. ])
    """
    errors = predictions - y
    plausible, variance = plausible_weights(np.square(errors)), np.square(errors).mean(axis=1).min()
    if variance == 0:  # a member without errors: nothing to improve
        return plausible
    moments = errors @ errors.T / variance

    def objective(w: Vector) -> tuple[float, Vector]:
        away, slope = (w - plausible) / SPREAD, moments @ w
        return float(w @ slope + away @ away) / 2, slope + away / SPREAD

    ones = {"type": "eq", "fun": lambda w: w.sum() - 1, "jac": np.ones_like}
    w = _minimum(objective, plausible, constraints=[ones])
    return w / w.sum()


def power_weights(probabilities: np.ndarray, codes: np.ndarray) -> Weights:
    """The exponents of m members in a product, from their probabilities (m, n, K) for rows of these classes.

    Examples
    --------
    >>> p = np.array([[0.6, 0.4], [0.4, 0.6]] * 50)
    >>> timid = power_weights(p[None], np.array([0, 1] * 50))
    >>> bool(timid[0] > 1)
    True
    """
    logs, rows = pooled_logarithms(probabilities), np.arange(len(codes))
    plausible = plausible_weights(-logs[:, rows, codes])
    right = logs[:, rows, codes].sum(axis=1)  # (m,)

    def objective(w: Vector) -> tuple[float, Vector]:
        joined, away = np.tensordot(w, logs, 1), (w - plausible) / SPREAD
        top = joined.max(axis=1, keepdims=True)
        raised = np.exp(joined - top)
        total = raised.sum(axis=1, keepdims=True)
        loss = float((np.log(total) + top).sum() - w @ right)
        slope = np.einsum("mnk,nk->m", logs, raised / total) - right
        return loss + float(away @ away) / 2, slope + away / SPREAD

    return _minimum(objective, plausible, constraints=[])


def _minimum(
    objective: Callable[[Vector], tuple[float, Vector]], start: Weights, constraints: Sequence[Mapping[str, object]]
) -> Weights:
    """The minimum over weights from 0 up: the problem is convex."""
    options = {"maxiter": MAX_STEPS}
    bounds = [(0.0, None)] * len(start)
    found = minimize(
        objective, start, jac=True, method="SLSQP", bounds=bounds, constraints=constraints, options=options
    )
    w = np.maximum(found.x, 0.0)
    return w if np.isfinite(w).all() and w.any() else start


@on_one_blas_thread  # workers have one; the process that asks them may have more
def blend_weights(
    inner: Mapping[str, np.ndarray], targets: Sequence[np.ndarray], score: Score, classes: int | None
) -> tuple[dict[str, float], float]:
    """The weights of the members that have one, and the mean loss of their blend over the splits.

    `inner` holds predictions for the test rows of all splits, one split after the other, and `targets` the truth of
    each split: numbers, or codes of classes.
    """
    predictions, y = np.array(list(inner.values()), dtype=float), np.concatenate(targets)
    found: Weights = np.ones(1)
    if len(inner) > 1:
        found = mean_weights(predictions, y) if classes is None else power_weights(predictions, y)
    found = np.where(found < min(MIN_WEIGHT, found.max()), 0.0, found)
    if classes is None:
        found = found / found.sum()
    weights = {name: float(weight) for name, weight in zip(inner, found, strict=True) if weight}
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
    found[:, known] = product_of_powers([p[:, known] for p in given], shares)
    return found


def as_predictions(mean: np.ndarray, classes: int | None) -> CachedPredictions:
    """Averaged predictions as those of a model; the classes are codes."""
    model = PrecomputedModel(mean, None) if classes is None else PrecomputedModel(mean.argmax(axis=1), mean)
    return CachedPredictions(model, np.arange(len(mean)))
