"""Where to cut a score: the threshold that is best for a measure or for costs.

A row is called positive if score >= t. Every distinct score is tried, and +infinity, which calls none positive; rows
of equal score move together. The threshold returned lies halfway to the next score below, where the counts are the
same: new rows may fall anywhere in the gap. Costs c_FP and c_FN choose the t of least c_FP FP + c_FN FN; for calibrated
probabilities that is near c_FP / (c_FP + c_FN).

A threshold chosen on training rows is biased, because scores on training rows are too good. `ThresholdClassifier` takes
each row's score from a copy of the classifier that did not see the row. scikit-learn's TunedThresholdClassifierCV
averages a measure over folds on a grid of thresholds; here all scores are pooled and all thresholds tried.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from sklearn.metrics import confusion_matrix_at_thresholds
from sklearn.model_selection import cross_val_predict
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, column_or_1d

from fivefold.core.types import Array, Labels, Target, UserTable, UserTarget, UserWeights, Vector
from fivefold.evaluation.base import MetaClassifier
from fivefold.evaluation.metrics import ConfusionCounts, Count, is_positive
from fivefold.evaluation.protocols import CrossValidation, Label, Model

Measure = Callable[[ConfusionCounts], Count]  # one number per threshold, the larger the better


@dataclass(frozen=True)
class Costs:
    """A measure: minus the cost of the errors, `fp` for a false positive and `fn` for a false negative."""

    fp: float
    fn: float

    def __call__(self, counts: ConfusionCounts) -> Count:
        return -(self.fp * counts.fp + self.fn * counts.fn)

    @property
    def probability(self) -> float:
        """The best threshold if scores are true probabilities."""
        return self.fp / (self.fp + self.fn)


MEASURES: Mapping[str, Measure] = {
    "accuracy": lambda counts: counts.accuracy,
    "balanced_accuracy": lambda counts: counts.rebalanced_accuracy,
    "f1": lambda counts: counts.f_score(1.0),
    "f2": lambda counts: counts.f_score(2.0),
    "precision": lambda counts: counts.precision,
    "recall": lambda counts: counts.recall,
}


@dataclass(frozen=True)
class ThresholdSweep:
    """Counts at every threshold, from +infinity, which no row reaches, down to the least score, which all reach."""

    thresholds: Array  # (T,), decreasing
    counts: ConfusionCounts  # arrays (T,)

    def best(self, measure: str | Measure) -> ChosenThreshold:
        """The threshold where the measure is largest, the highest of equals; infinite if none or all are positive."""
        values = np.asarray(get_measure(measure)(self.counts))
        i = int(np.argmax(values))
        at = ConfusionCounts(
            *(float(np.asarray(part)[i]) for part in (self.counts.tp, self.counts.fp, self.counts.fn, self.counts.tn))
        )
        t = np.append(self.thresholds, -np.inf)
        middle = t[i] if i == 0 else t[i] / 2 + t[i + 1] / 2
        return ChosenThreshold(float(middle), float(values[i]), at)


@dataclass(frozen=True)
class ChosenThreshold:
    """A threshold, the value of the measure it was chosen by, and the counts there."""

    threshold: float
    value: float
    counts: ConfusionCounts
    assumptions: tuple[str, ...] = ("the scores are those of rows that took no part in training",)

    def __str__(self) -> str:
        c = self.counts
        return (
            f"positive from {self.threshold:.4g}: {self.value:.4g} (TP {c.tp:g}, FP {c.fp:g}, FN {c.fn:g}, TN {c.tn:g})"
        )


def get_measure(measure: str | Measure) -> Measure:
    """The measure of that name, or the measure itself."""
    if not isinstance(measure, str):
        return measure
    if measure not in MEASURES:
        raise ValueError(f"the measures are {', '.join(MEASURES)}, or any function of ConfusionCounts; got {measure!r}")
    return MEASURES[measure]


def sweep_thresholds(
    y: Target, scores: Array, *, positive: Label | None = None, sample_weight: UserWeights = None
) -> ThresholdSweep:
    """Counts, or sums of weights, at every distinct score; if `positive` is None, it is the greater of two labels.

    Examples
    --------
    >>> found = sweep_thresholds([1, 1, 1, 0, 0, 0], [0.9, 0.8, 0.4, 0.7, 0.3, 0.2])
    >>> found.counts.recall.round(2), found.counts.false_positive_rate.round(2)
    (array([0.  , 0.33, 0.67, 0.67, 1.  , 1.  , 1.  ]), array([0.  , 0.  , 0.  , 0.33, 0.33, 0.67, 1.  ]))
    >>> print(found.best("f1"))
    positive from 0.35: 0.8571 (TP 3, FP 1, FN 0, TN 2)
    """
    tn, fp, fn, tp, t = confusion_matrix_at_thresholds(
        is_positive(y, positive), scores, pos_label=True, sample_weight=sample_weight
    )
    none = 0.0, 0.0, tp[-1], fp[-1]  # at +infinity
    parts = (np.append(first, rest) for first, rest in zip(none, (tp, fp, fn, tn), strict=True))
    return ThresholdSweep(np.append(np.inf, t), ConfusionCounts(*parts))


class ThresholdClassifier(MetaClassifier):
    """A two-class classifier whose threshold maximises a measure on cross-validated scores.

    Parameters
    ----------
    estimator
        a classifier of two classes; one fitted before, in FrozenEstimator, is kept: give `fit` rows it has not seen.
    measure
        a name among `MEASURES`, `Costs`, or any function of `ConfusionCounts`, the larger the better.
    cv
        folds for the scores, as scikit-learn takes them.
    positive
        the positive class; if None, the last of the sorted classes.
    response
        the score: probability of the positive class, or decision function.

    Attributes
    ----------
    threshold_
        the `ChosenThreshold`.
    estimator_
        the classifier fitted on all rows.
    classes_
        its classes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fivefold.naive_bayes import GaussianNB
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = ThresholdClassifier(GaussianNB(), Costs(fp=1, fn=50), positive=0).fit(X, y)
    >>> model.threshold_.threshold < 0.5, bool((model.predict(X[y == 0]) == 1).mean() < 0.05)
    (True, True)
    """

    def __init__(
        self,
        estimator: Model,
        measure: str | Measure = "balanced_accuracy",
        *,
        cv: CrossValidation = 5,
        positive: Label | None = None,
        response: Literal["predict_proba", "decision_function"] = "predict_proba",
    ):
        self.estimator = estimator
        self.measure = measure
        self.cv = cv
        self.positive = positive
        self.response = response

    def fit(self, X: UserTable, y: UserTarget, **params: Any) -> Self:
        """Choose the threshold on scores of unseen rows, then fit the classifier on all rows."""
        y = column_or_1d(y, warn=True)
        self._fit_estimator(X, y, **params)
        if len(self.classes_) != 2:
            count = f"{len(self.classes_)} class{'' if len(self.classes_) == 1 else 'es'} of positive sample_weight"
            raise ValueError(f"Only binary classification is supported: a threshold cuts in two; y holds {count}")
        scores = cross_val_predict(self.estimator, X, y, cv=self.cv, method=self.response, params=params or None)
        positive, w = self.classes_[self._positive_index()], params.get("sample_weight")
        self.threshold_ = sweep_thresholds(y, self._orient_scores(scores), positive=positive, sample_weight=w).best(
            self.measure
        )
        return self

    def predict(self, X: UserTable) -> Labels:
        """The positive class where the score reaches the threshold, otherwise the other class."""
        check_is_fitted(self)
        scores = self._orient_scores(getattr(self.estimator_, self.response)(X))
        k = self._positive_index()
        return self.classes_[np.where(scores >= self.threshold_.threshold, k, 1 - k)]

    def _positive_index(self) -> int:
        if self.positive is None:
            return 1
        at = np.flatnonzero(self.classes_ == self.positive)
        if not len(at):
            raise ValueError(f"positive must be one of {self.classes_.tolist()}; got {self.positive!r}")
        return int(at[0])

    def _orient_scores(self, scores: Array) -> Vector:
        """Scores (n,) oriented so that larger means positive."""
        if scores.ndim == 2:
            return scores[:, self._positive_index()]
        return scores if self._positive_index() == 1 else -scores

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
