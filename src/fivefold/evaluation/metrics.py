"""Measures that scikit-learn's `metrics` lacks: from counts at many thresholds at once, and from known densities.

rebalanced accuracy     ((N/P) TP + TN) / 2N      every positive counts N/P, so that both classes weigh alike
ROC of two densities    (P(S > t | -), P(S > t | +))  over t,     area  P(S+ > S-)
misclassification       1 - sum_k pi_k integral_{R_k} p_k(x) dx      R_k the points where class k is answered

Everything else is there by name: accuracy_score, zero_one_loss, precision_score, recall_score, fbeta_score,
confusion_matrix, roc_curve, roc_auc_score, precision_recall_curve, average_precision_score, root_mean_squared_error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.optimize import bisect
from sklearn.metrics import confusion_matrix

from fivefold.core.types import Array, Indices, Mask, Target, UserTarget, Vector
from fivefold.evaluation.protocols import Density, Label
from fivefold.evaluation.tolerances import TAIL_PROBABILITY

Count = int | float | NDArray[Any]  # a number of rows or a sum of weights: one, or one per threshold

CONSTANT_TOLERANCE = 1e-12  # values whose range is below this share of the largest are constant up to rounding
BINARY_CODES = ((0, 1), (-1, 1))  # pairs of labels that count as two even if the rows hold only one of them
MAX_LABELS_SHOWN = 8  # a message names at most this many labels
GRID_POINTS = 4001  # points of the grid; between two neighbours the decision may change at most once


@dataclass(frozen=True)
class ConfusionCounts:
    """True and false positives and negatives, one number or one per threshold; the user names the positive class.

    Examples
    --------
    >>> counts = ConfusionCounts(tp=8, fp=10, fn=2, tn=80)
    >>> float(counts.accuracy), round(float(counts.rebalanced_accuracy), 6), round(float(counts.f_score(2)), 6)
    (0.88, 0.844444, 0.689655)
    """

    tp: Count
    fp: Count
    fn: Count
    tn: Count

    @classmethod
    def from_labels(cls, y: UserTarget, predicted: UserTarget, *, positive: Label | None = None) -> ConfusionCounts:
        """Counts of predicted against true labels; `positive` as in `is_positive`.

        >>> ConfusionCounts.from_labels(["ill", "well", "ill"], ["ill", "ill", "well"], positive="ill")
        ConfusionCounts(tp=1, fp=1, fn=1, tn=0)
        """
        y, predicted = (
            is_positive(y, positive, other_labels=predicted),
            is_positive(predicted, positive, other_labels=y),
        )
        tn, fp, fn, tp = confusion_matrix(y, predicted, labels=[False, True]).ravel()
        return cls(int(tp), int(fp), int(fn), int(tn))

    @property
    def accuracy(self) -> Array:
        """Share of rows that are right."""
        return _safe_ratio(self.tp + self.tn, self.tp + self.fp + self.fn + self.tn)

    @property
    def precision(self) -> Array:
        """Share of the detections that are positive; 0 where nothing was detected."""
        return _safe_ratio(self.tp, self.tp + self.fp)

    @property
    def recall(self) -> Array:
        """Share of the positives that were detected."""
        return _safe_ratio(self.tp, self.tp + self.fn)

    @property
    def specificity(self) -> Array:
        """Share of the negatives that were not detected."""
        return _safe_ratio(self.tn, self.tn + self.fp)

    @property
    def false_positive_rate(self) -> Array:
        """Share of the negatives that were wrongly detected."""
        return _safe_ratio(self.fp, self.tn + self.fp)

    @property
    def true_positive_rate(self) -> Array:
        """Share of the positives that were detected: the recall."""
        return self.recall

    @property
    def false_negative_rate(self) -> Array:
        """Share of the positives that were missed."""
        return _safe_ratio(self.fn, self.tp + self.fn)

    @property
    def rebalanced_accuracy(self) -> Array:
        """Accuracy if every positive counts N/P: the mean of recall and specificity, or the one that is defined."""
        P, N = (np.asarray(part, dtype=float) for part in (self.tp + self.fn, self.tn + self.fp))
        both = _safe_ratio(_safe_ratio(N, P) * self.tp + self.tn, 2 * N)
        return np.where(P == 0, self.specificity, np.where(N == 0, self.recall, both))

    def f_score(self, beta: float = 1.0) -> Array:
        """The weighted harmonic mean of precision and recall; a large beta leans to recall."""
        b2 = beta**2
        return _safe_ratio((1 + b2) * self.tp, (1 + b2) * self.tp + b2 * self.fn + self.fp)


def is_positive(y: Target, positive: Label | None = None, *, other_labels: UserTarget = ()) -> Mask:
    """Which labels are the positive one: the one named, or the greater of two.

    `other_labels` are further labels, such as predicted ones. If all labels are among 0 and 1, or -1 and 1, there are
    two labels even if one is absent. A label that is named must occur: a misspelt one would count as never found.

    Examples
    --------
    >>> is_positive(["no", "yes", "no"]), is_positive([1, 2, 3], 2), is_positive([0, 0])
    (array([False,  True, False]), array([False,  True, False]), array([False, False]))
    """
    y = np.asarray(y)
    labels = np.unique(y).tolist()
    labels = sorted({*labels, *np.unique(np.asarray(other_labels)).tolist()}) if len(other_labels) else labels
    labels = next((list(pair) for pair in BINARY_CODES if set(labels) <= set(pair)), labels)
    shown = ", ".join(map(repr, labels[:MAX_LABELS_SHOWN])) + (", ..." if len(labels) > MAX_LABELS_SHOWN else "")
    if positive is None:
        if len(labels) != 2:
            raise ValueError(
                f"positive: of two labels the greater is the positive one; y holds {len(labels)} ({shown}). Name the "
                "positive label"
            )
        positive = labels[1]
    elif positive not in labels:
        raise ValueError(f"positive must be one of the labels of y, {shown}; got {positive!r}")
    return y == positive


def _safe_ratio(part: Count, whole: Count) -> Array:
    """part / whole, 0 where there is no whole."""
    part, whole = np.asarray(part, dtype=float), np.asarray(whole, dtype=float)
    return np.divide(part, whole, out=np.zeros(np.broadcast(part, whole).shape), where=whole != 0)


def pearson_correlation(y: Target, predicted: Target) -> float:
    """Pearson's correlation of predictions and targets; NaN (undefined) if either is constant.

    Examples
    --------
    >>> round(pearson_correlation([1.0, 2.0, 4.0], [3.0, 5.0, 9.0]), 6), pearson_correlation([1.0, 2.0], [7.0, 7.0])
    (1.0, nan)
    """
    y, predicted = np.asarray(y, dtype=float), np.asarray(predicted, dtype=float)
    if len(y) < 2 or any(np.ptp(v) <= CONSTANT_TOLERANCE * np.abs(v).max() for v in (y, predicted)):
        return np.nan
    a, b = _unit_vector(y), _unit_vector(predicted)
    r = float(np.clip(np.vecdot(a, b), -1.0, 1.0))
    return r if len(y) > 2 else float(round(r))


def _unit_vector(v: Vector) -> Vector:
    """The deviations from the mean, scaled to length one; by the largest of them first, so that no square overflows."""
    away = v - v.mean()
    largest = np.abs(away).max()
    return np.asarray(away / (largest * np.linalg.norm(away / largest, axis=-1)))


@dataclass(frozen=True)
class DensityROC:
    """The ROC of a score whose densities in the two classes are known: frozen distributions of scipy.stats.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> round(DensityROC(norm(1), norm(-1)).area, 6)  # Phi(sqrt 2)
    0.92135
    """

    positive: Density
    negative: Density

    def at(self, threshold: float | Vector) -> tuple[Array, Array]:
        """Rates of false and of true positives where scores above the threshold are called positive."""
        return self.negative.sf(threshold), self.positive.sf(threshold)

    def curve(self, count: int = 201) -> tuple[Array, Array, Array]:
        """Rates of false and of true positives, and the thresholds, from the strictest to the loosest."""
        share = np.linspace(0, 1, count)
        both = np.concatenate([self.positive.isf(share), self.negative.isf(share)])
        t = np.unique(both)[::-1]
        return *self.at(t), t

    @property
    def area(self) -> float:
        """The probability that a positive scores higher than a negative."""
        # Densities in steps have curves with corners, where quad stops at rounding; full_output keeps it from warning.
        return float(quad(lambda u: self.positive.sf(self.negative.isf(u)), 0, 1, limit=500, full_output=1)[0])


def misclassification_rate(
    densities: Sequence[Density], priors: Sequence[float], decide: Callable[[Vector], Indices] | None = None
) -> float:
    """The probability of a wrong class on one column of known densities: frozen distributions of scipy.stats.

    `decide` maps points (m,) to the indices of classes; by default to the largest prior times density, the best choice.
    The points where the answer changes are found first; between them the masses are exact.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> round(misclassification_rate([norm(0), norm(2)], [0.5, 0.5]), 6)  # Phi(-1)
    0.158655
    """
    pi = np.asarray(priors, dtype=float)
    if len(pi) != len(densities) or (pi < 0).any() or abs(pi.sum() - 1) > 1e-8:
        raise ValueError(f"{len(densities)} densities need as many priors that add up to 1; got {priors}")

    def best(x: Vector) -> Indices:
        return np.argmax([p * density.pdf(x) for p, density in zip(pi, densities, strict=True)], axis=0)

    decide = decide or best
    ends = np.array([(density.ppf(TAIL_PROBABILITY), density.isf(TAIL_PROBABILITY)) for density in densities])
    grid = np.linspace(ends.min(), ends.max(), GRID_POINTS)
    classes = np.asarray(decide(grid))
    turns = np.flatnonzero(classes[1:] != classes[:-1])
    edges = [_find_change(decide, grid[i], grid[i + 1], classes[i]) for i in turns]
    bounds = np.array([-np.inf, *edges, np.inf])
    answers = classes[np.append(turns, GRID_POINTS - 1)]
    masses = (pi[k] * np.diff(densities[k].cdf(bounds[i : i + 2]))[0] for i, k in enumerate(answers))
    return float(1 - sum(masses))


def _find_change(decide: Callable[[Vector], Indices], low: float, high: float, first: int) -> float:
    """The point between low and high where the answer stops being `first`."""
    return float(bisect(lambda x: 1.0 if decide(np.array([x]))[0] == first else -1.0, low, high, xtol=1e-14))
