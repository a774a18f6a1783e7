"""Neyman-Pearson classification: as many hits as possible, with the rate of false alarms below a limit.

A row is called positive if its score exceeds a threshold t. From the scores s_(1) <= ... <= s_(n) of n negative rows
that took no part in training, t = s_(k) has

    P(false alarm rate of t > alpha) <= sum_{j = k}^{n} C(n, j) (1 - alpha)^j alpha^(n - j)

whatever the distribution of the scores: the rate exceeds alpha only if at least k of n rows lie below the quantile
1 - alpha. The least k for which this is at most delta is taken, so that the limit holds with probability 1 - delta; it
needs n >= log delta / log(1 - alpha) rows.

Scott & Nowak (2005); Tong, Feng & Li (2018), Neyman-Pearson classification algorithms and NP receiver operating
characteristics.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Tags, indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from fivefold.core._sklearn import _check_method_params, _check_y, _safe_indexing
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.params import Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.types import Array, Indices, Labels, UserTable, UserTarget, Vector
from fivefold.evaluation.base import MetaClassifier
from fivefold.evaluation.protocols import Label, Model


@dataclass(frozen=True)
class FalseAlarmThreshold:
    """A threshold, the order statistic it is, and the guarantee that it carries.

    Attributes
    ----------
    threshold
        rows with a larger score are called positive; infinite if there are too few rows for any guarantee.
    rank, n
        the threshold is the score of this rank among n negative rows.
    alpha, delta
        the rate of false alarms is at most alpha with probability at least 1 - delta.
    violation
        the bound on the probability that the rate is larger: at most delta, or 0 for an infinite threshold.
    """

    threshold: float
    rank: int
    n: int
    alpha: float
    delta: float
    violation: float

    def __str__(self) -> str:
        if math.isinf(self.threshold):
            return (
                f"no row is called positive: {self.n} negative rows are too few for a rate of false alarms below "
                f"{self.alpha:g} with probability {1 - self.delta:g}; {rows_needed(self.alpha, self.delta)} are needed"
            )
        return (
            f"positive above {self.threshold:.4g}, rank {self.rank} of {self.n} negative rows: false alarms at most "
            f"{self.alpha:g} with probability {1 - self.violation:.4g}"
        )


def rows_needed(alpha: float, delta: float) -> int:
    """The least number of negative rows for which some threshold carries the guarantee.

    Examples
    --------
    >>> rows_needed(0.05, 0.05), rows_needed(0.1, 0.05)
    (59, 29)
    """
    return math.ceil(math.log(delta) / math.log1p(-alpha))


def neyman_pearson_threshold(scores: ArrayLike, alpha: float = 0.05, delta: float = 0.05) -> FalseAlarmThreshold:
    """The least threshold whose rate of false alarms is at most alpha with probability 1 - delta.

    Parameters
    ----------
    scores
        scores of negative rows that took no part in training.
    alpha, delta
        the limit of the rate of false alarms, and the probability that it may be exceeded.

    Examples
    --------
    >>> print(neyman_pearson_threshold(np.arange(100) / 100, alpha=0.1, delta=0.05))
    positive above 0.95, rank 96 of 100 negative rows: false alarms at most 0.1 with probability 0.9763
    """
    for name, value in (("alpha", alpha), ("delta", delta)):
        if not 0 < value < 1:
            raise ValueError(f"{name} is a probability between 0 and 1; got {value!r}")
    s = np.sort(np.asarray(scores, dtype=float))
    n = len(s)
    violation = binom.sf(np.arange(n), n, 1 - alpha)  # of rank 1, ..., n: P(at least that many of n are below)
    within = np.flatnonzero(violation <= delta)
    if not len(within):
        return FalseAlarmThreshold(math.inf, n + 1, n, alpha, delta, 0.0)
    k = int(within[0])
    return FalseAlarmThreshold(float(s[k]), k + 1, n, alpha, delta, float(violation[k]))


class NeymanPearsonClassifier(MetaClassifier):
    """A two-class classifier whose rate of false alarms stays below a limit, with a guarantee for any distribution.

    Parameters
    ----------
    estimator
        a classifier of two classes; one fitted before, in FrozenEstimator, is kept: give `fit` rows it has not seen.
    alpha
        the limit of the rate of false alarms: the share of negative rows that are called positive.
    delta
        the probability, over the rows that the threshold is taken from, that the limit is exceeded.
    positive
        the positive class; if None, the last of the sorted classes.
    calibration_share
        share of the negative rows that the threshold is taken from; the classifier is fitted on the others and on all
        positive rows.
    response
        the score: probability of the positive class, or decision function.
    random_state
        seed of the division of the negative rows.

    Attributes
    ----------
    threshold_
        the `FalseAlarmThreshold`.
    estimator_
        the fitted classifier.
    classes_
        its classes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fivefold.discriminant_analysis import LinearDiscriminantAnalysis
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = NeymanPearsonClassifier(LinearDiscriminantAnalysis(), alpha=0.05, random_state=0).fit(X, y)
    >>> print(model.threshold_)
    positive above ..., rank 105 of 106 negative rows: false alarms at most 0.05 with probability 0.9714
    """

    def __init__(
        self,
        estimator: Model,
        alpha: float = 0.1,
        delta: float = 0.05,
        *,
        positive: Label | None = None,
        calibration_share: float = 0.5,
        response: Literal["predict_proba", "decision_function"] = "predict_proba",
        random_state: Seed = None,
    ):
        self.estimator = estimator
        self.alpha = alpha
        self.delta = delta
        self.positive = positive
        self.calibration_share = calibration_share
        self.response = response
        self.random_state = random_state

    def fit(self, X: UserTable, y: UserTarget, **params: Any) -> Self:
        """Fit the classifier without some negative rows, and take the threshold from these.

        Weights of rows go to the classifier; the threshold counts every row of positive weight once, since a row that
        is repeated tells no more about the distribution.
        """
        X, y = indexable(X, _check_y(y))
        check_classification_targets(y)
        if (w := params.get("sample_weight")) is not None and (np.asarray(w) == 0).any():
            there = np.flatnonzero(np.asarray(w) != 0)
            X, y, params = _safe_indexing(X, there), y[there], _check_method_params(X, params, there)
        labels = np.unique(y)
        if len(labels) != 2:
            count = f"{len(labels)} class{'' if len(labels) == 1 else 'es'} of positive sample_weight"
            raise ValueError(f"Only binary classification is supported: a threshold cuts in two; y holds {count}")
        negative = np.flatnonzero(y != labels[self._positive_index(labels)])
        kept, used = self._divided(negative, len(y))
        self._fit_estimator(_safe_indexing(X, used), y[used], **_check_method_params(X, params, used))
        self.threshold_ = neyman_pearson_threshold(self._scores(_safe_indexing(X, kept)), self.alpha, self.delta)
        if math.isinf(self.threshold_.threshold):
            warn(f"{type(self).__name__}: {self.threshold_}", UserWarning)
        return self

    def predict(self, X: UserTable) -> Labels:
        """The positive class where the score exceeds the threshold, otherwise the other class."""
        check_is_fitted(self)
        k = self._positive_index(self.classes_)
        return self.classes_[np.where(self._scores(X) > self.threshold_.threshold, k, 1 - k)]

    def _divided(self, negative: Indices, n: int) -> tuple[Indices, Indices]:
        """Rows for the threshold, and rows for the classifier."""
        if isinstance(self.estimator, FrozenEstimator):
            return negative, np.arange(n)
        if not 0 < self.calibration_share < 1:
            raise ValueError(f"calibration_share is a share between 0 and 1; got {self.calibration_share!r}")
        count = min(max(1, round(self.calibration_share * len(negative))), max(1, len(negative) - 1))
        kept = np.sort(check_random_state(self.random_state).permutation(negative)[:count])
        used = np.setdiff1d(np.arange(n), kept) if len(negative) > 1 else np.arange(n)
        return kept, used

    def _scores(self, X: UserTable) -> Vector:
        scores: Array = np.asarray(getattr(self.estimator_, self.response)(X))
        k = self._positive_index(self.classes_)
        if scores.ndim == 2:
            return scores[:, k]
        return scores if k == 1 else -scores

    def _positive_index(self, labels: Labels) -> int:
        if self.positive is None:
            return 1
        at = np.flatnonzero(labels == self.positive)
        if not len(at):
            raise ValueError(f"positive must be one of {labels.tolist()}; got {self.positive!r}")
        return int(at[0])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
