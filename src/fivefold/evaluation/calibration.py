"""Are probabilities calibrated? Of the rows that are given 0.7, seven in ten should be positive.

In bins b of the probability p, with n_b rows, mean probability p_b and share of positives o_b:

    expected calibration error   sum_b n_b/n |p_b - o_b|
    Brier score                  mean (p - y)^2  =  reliability - resolution + uncertainty + within
    reliability                  sum_b n_b/n (p_b - o_b)^2          0 for calibrated probabilities
    resolution                   sum_b n_b/n (o_b - o)^2            how far the bins lie apart
    uncertainty                  o (1 - o)                          of the target itself
    within                       variation inside the bins; 0 if every distinct p is a bin

scikit-learn's CalibratedClassifierCV recalibrates probabilities on scores of rows unseen in training: method="sigmoid"
(Platt 1999), "isotonic" (Zadrozny & Elkan 2002) or "temperature" (Guo et al. 2017); wrap a fitted classifier in a
FrozenEstimator and give it held-out rows. `CrossFittedCalibration` does so on given folds of the training rows, also
where they follow time or where a class has a single row.

Murphy (1973), A new vector partition of the probability score; Stephenson, Coelho & Jolliffe (2008) for the last part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.stats import binomtest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.utils.validation import check_is_fitted

from fivefold.core._sklearn import BaseEstimator, ClassifierMixin, _safe_indexing
from fivefold.core.types import Array, Codes, Matrix, Table, Target, UserTable, UserTarget, Vector, Weights
from fivefold.evaluation.base import MetaClassifier
from fivefold.evaluation.metrics import is_positive
from fivefold.evaluation.protocols import Label, Model

CONFIDENCE = 0.95  # of the Wilson intervals of the shares
CALIBRATION_FOLDS = 3  # folds that calibrate
PSEUDO_ROWS = 0.5  # misclassified rows that are added to calibrate a temperature
PAIRWISE = "decision_function_shape"  # the parameter of classifiers with a machine for each pair of classes

# Upper edges of bins, without the last one.
BIN_EDGES: Mapping[str, Callable[[Vector, int], Vector]] = {
    "uniform": lambda p, count: np.linspace(0, 1, count + 1)[1:-1],
    "quantile": lambda p, count: np.unique(np.quantile(p, np.linspace(0, 1, count + 1)[1:-1])),
}


@dataclass(frozen=True)
class Reliability:
    """Mean probability and share of positives in every bin that holds rows.

    Attributes
    ----------
    predicted, observed
        mean probability and share of positives, (B,).
    counts
        rows in each bin, (B,).
    low, high
        Wilson interval of each share, at 95 %, (B,).
    """

    predicted: Vector
    observed: Vector
    counts: Codes
    low: Vector
    high: Vector
    assumptions: tuple[str, ...] = ("the rows are independent and took no part in training or calibration",)

    @property
    def expected_error(self) -> float:
        """The gap between share and mean probability, averaged over rows."""
        return float(np.average(np.abs(self.predicted - self.observed), weights=self.counts))

    @property
    def largest_error(self) -> float:
        """The largest gap over the bins."""
        return float(np.abs(self.predicted - self.observed).max())

    def __str__(self) -> str:
        n = int(self.counts.sum())
        return f"calibration error {self.expected_error:.4g} expected, {self.largest_error:.4g} at most, on {n} rows"


def reliability(
    y: Target, p: Array, *, bins: int = 10, strategy: str = "uniform", positive: Label | None = None
) -> Reliability:
    """The reliability diagram of probabilities p of the positive class; bins of equal width, or of equal numbers.

    `positive` is the class that the probabilities are for; if None, the greater of two labels.

    Examples
    --------
    >>> found = reliability([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.9], bins=2)
    >>> found.predicted, found.observed.round(2), round(found.expected_error, 6)
    (array([0.3, 0.9]), array([0.33, 1.  ]), 0.05)
    """
    hit, p = is_positive(y, positive), np.asarray(p, dtype=float)
    where = _bins(p, bins, strategy)
    n = np.bincount(where)
    k = np.bincount(where, hit).astype(int)
    spans = [binomtest(int(a), int(b)).proportion_ci(CONFIDENCE, method="wilson") for a, b in zip(k, n, strict=True)]
    low, high = np.array(spans).T
    return Reliability(np.bincount(where, p) / n, k / n, n, low, high)


def confidence(y: UserTarget, P: UserTable, classes: UserTarget) -> tuple[Codes, Vector]:
    """Was the most probable class right, and how probable was it? For `reliability` of several classes.

    Examples
    --------
    >>> confidence(["a", "b"], [[0.7, 0.3], [0.6, 0.4]], ["a", "b"])
    (array([1, 0]), array([0.7, 0.6]))
    """
    P = np.asarray(P)
    return (np.asarray(classes)[P.argmax(axis=1)] == np.asarray(y)).astype(int), P.max(axis=1)


@dataclass(frozen=True)
class BrierDecomposition:
    """The Brier score and its parts: score = reliability - resolution + uncertainty + within."""

    score: float
    reliability: float
    resolution: float
    uncertainty: float
    within: float

    def __str__(self) -> str:
        return (
            f"Brier score {self.score:.4g} = reliability {self.reliability:.4g} - resolution {self.resolution:.4g} "
            f"+ uncertainty {self.uncertainty:.4g}" + (f" + within bins {self.within:.4g}" if self.within else "")
        )


def brier(
    y: Target, p: Array, *, bins: int | None = None, strategy: str = "uniform", positive: Label | None = None
) -> BrierDecomposition:
    """The Brier score of probabilities of the positive class, in parts; by default every distinct probability is a bin.

    `positive` is the class that the probabilities are for; if None, the greater of two labels.

    Examples
    --------
    >>> print(brier([0, 1, 1, 1], [0.5, 0.5, 1.0, 1.0]))
    Brier score 0.125 = reliability 0 - resolution 0.0625 + uncertainty 0.1875
    """
    hit, p = is_positive(y, positive).astype(float), np.asarray(p, dtype=float)
    where = np.unique(p, return_inverse=True)[1] if bins is None else _bins(p, bins, strategy)
    n = np.bincount(where)
    f, o = np.bincount(where, p) / n, np.bincount(where, hit) / n
    share, base = n / n.sum(), hit.mean()
    inside = p - f[where]
    within = 0.0 if bins is None else float(np.mean(inside**2) - 2 * np.mean(inside * (hit - o[where])))
    return BrierDecomposition(
        float(np.mean((p - hit) ** 2)),
        float(share @ (f - o) ** 2),
        float(share @ (o - base) ** 2),
        float(base * (1 - base)),
        within,
    )


class ScoreIdentity(ClassifierMixin, BaseEstimator):
    """A classifier whose columns are its scores, for a calibrator that is given the scores of another one."""

    def fit(self, S: Matrix, y: Target, sample_weight: Weights | None = None) -> Self:
        """Learn which classes there are."""
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, S: Matrix) -> Array:
        """The scores as they are; a vector for two classes."""
        return S[:, 0] if S.shape[1] == 1 else S

    def predict(self, S: Matrix) -> Target:
        """The class with the highest score."""
        return self.classes_[(S[:, 0] > 0).astype(int) if S.shape[1] == 1 else S.argmax(axis=1)]


class CrossFittedCalibration(MetaClassifier):
    """Probabilities for a classifier that gives scores or labels only, calibrated on rows that it was not fitted on.

    Every fold is scored by a model fitted on other rows, and a sigmoid (two classes) or a temperature (more) turns
    these scores into probabilities, towards targets that are a little less than certain, as Platt's (1999); the model
    that predicts is fitted on all rows. Without a decision_function the label that is predicted has score 1, the
    others 0: probabilities then say how often such an answer is right. Where there is a machine for each pair of
    classes (`decision_function_shape`), the score of a class is the mean of its answers, which say how far a row is
    from the boundaries, rather than its votes. A fold is left out if a class is missing from the rows of its model. Of
    a class that no fold scores, the scores of the model of all rows are taken, so a single row is no error.

    Parameters
    ----------
    estimator
        The classifier.
    folds
        The fold of each row that `fit` will get, from 0, or -1 for a row that is not scored; None for shuffled folds.
    ordered
        Is a fold scored by a model of the rows of earlier folds, and of -1, only? Otherwise of all rows outside it.

    Attributes
    ----------
    estimator_
        The classifier, fitted on all rows.
    calibrator_
        From scores to probabilities.

    Examples
    --------
    >>> from sklearn.linear_model import RidgeClassifier
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]), np.array([0, 0, 1, 0, 1, 1])
    >>> model = CrossFittedCalibration(RidgeClassifier()).fit(X, y)
    >>> model.predict([[0.0], [5.0]])
    array([0, 1])
    """

    def __init__(self, estimator: Model, folds: Codes | None = None, ordered: bool = False) -> None:
        self.estimator = estimator
        self.folds = folds
        self.ordered = ordered

    def fit(self, X: Table, y: Target) -> Self:
        """Fit classifier and calibrator."""
        y = np.asarray(y)
        folds = np.random.default_rng(0).permutation(len(y)) % CALIBRATION_FOLDS if self.folds is None else self.folds
        if len(folds) != len(y):
            raise ValueError(f"folds holds the fold of each row; got {len(folds)} for {len(y)} rows")
        self.estimator_ = self._fit_copy(X, y)
        self.classes_ = self.estimator_.classes_
        rows, scores = [], []
        for fold in range(folds.max() + 1):
            train = np.flatnonzero(folds < fold if self.ordered else folds != fold)
            test = np.flatnonzero(folds == fold)
            if len(test) and len(np.unique(y[train])) == len(self.classes_):
                model = self._fit_copy(_safe_indexing(X, train), y[train])
                rows.append(test)
                scores.append(_score_columns(model, _safe_indexing(X, test)))
        scored = np.concatenate(rows) if rows else np.arange(0)
        others = np.flatnonzero(~np.isin(y, y[scored]))  # rows of classes that no fold scores
        if len(others):
            rows.append(others)
            scores.append(_score_columns(self.estimator_, _safe_indexing(X, others)))
        S, target, weight = np.concatenate(scores), y[np.concatenate(rows)], None
        if len(self.classes_) > 2:
            S, target, weight = _smoothed_targets(S, target)
        self.calibrator_ = CalibratedClassifierCV(
            ScoreIdentity(),
            method="sigmoid" if len(self.classes_) == 2 else "temperature",
            cv=[(np.arange(len(S)), np.arange(len(S)))],  # these scores are of unseen rows already
            ensemble=False,
        ).fit(S, target, weight)
        self.calibrator_.set_params(cv=None)  # row numbers do not belong into a model file
        return self

    def _fit_copy(self, X: Table, y: Target) -> Any:  # a classifier of any library
        model = clone(self.estimator)
        if PAIRWISE in model.get_params(deep=False):
            model.set_params(**{PAIRWISE: "ovo"})
        return model.fit(X, y)

    def predict_proba(self, X: UserTable) -> Matrix:
        """Calibrated probabilities of the classes, (n, K)."""
        check_is_fitted(self)
        return self.calibrator_.predict_proba(_score_columns(self.estimator_, X))

    def predict(self, X: UserTable) -> Target:
        """The most probable class of each row, (n,)."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def _smoothed_targets(S: Matrix, y: Target) -> tuple[Matrix, Target, Weights]:
    """Every row once per class, with weights that add up to one: the other classes share c / (n + c).

    As if c = PSEUDO_ROWS more rows had been misclassified. Without them scores that separate the classes would be given
    probabilities of 0 and 1, and the first row on the wrong side a loss without bound.
    """
    classes, codes = np.unique(y, return_inverse=True)
    K, n = len(classes), len(y)
    weight = np.full((n, K), PSEUDO_ROWS / ((n + PSEUDO_ROWS) * (K - 1)))
    weight[np.arange(n), codes] = n / (n + PSEUDO_ROWS)
    return np.tile(S, (K, 1)), np.repeat(classes, n), weight.T.ravel()


def _score_columns(model: Any, X: Table) -> Matrix:  # a classifier of any library
    """The decision function, (n, 1) for two classes, (n, K) for more; of pairs of classes, the mean of each class."""
    if not callable(getattr(model, "decision_function", None)):
        votes = (np.asarray(model.predict(X))[:, None] == model.classes_).astype(np.float64)
        return votes[:, 1:] if len(model.classes_) == 2 else votes
    S = np.asarray(model.decision_function(X))
    if S.ndim == 1:
        return S[:, None]
    if getattr(model, PAIRWISE, "ovr") != "ovo":
        return S
    first, second = np.triu_indices(K := len(model.classes_), 1)  # the answer of a pair favours the first if positive
    signs = np.zeros((len(first), K))
    signs[np.arange(len(first)), first], signs[np.arange(len(first)), second] = 1.0, -1.0
    return S @ signs / (K - 1)


def _bins(p: Vector, count: int, strategy: str) -> Codes:
    """The bin of every row, numbered without gaps."""
    if strategy not in BIN_EDGES:
        raise ValueError(f"strategy must be one of {', '.join(map(repr, BIN_EDGES))}; got {strategy!r}")
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError(f"probabilities lie between 0 and 1; got values from {p.min():.4g} to {p.max():.4g}")
    edges = BIN_EDGES[strategy](p, count)
    return np.unique(np.searchsorted(edges, p), return_inverse=True)[1]
