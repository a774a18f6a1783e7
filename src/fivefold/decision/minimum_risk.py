"""Decisions from probabilities: the action of least risk, and the option to reject.

    R(a | x) = sum_j lambda_aj p(j | x)          choose the action a of least risk

lambda_aj is the loss of action a if class j is true; there may be more actions than classes. By default the loss is 0
for the right class and 1 for all others, so the most probable class is chosen. Rejection is one more action, of the
same cost c whatever is true: it is chosen where every other action risks more (Chow's rule). With losses of 0 and 1
that is where the largest probability is below 1 - c.

For two classes, class 1 is chosen where its likelihood ratio p(x | 1) / p(x | 2) exceeds
(lambda_12 - lambda_22) / (lambda_21 - lambda_11) * p(2) / p(1).

Chow (1970), On optimum recognition error and reject tradeoff; Duda & Hart (1973).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fivefold.core.types import Indices, Labels, Matrix, Table, Target, UserTable, UserTarget, Vector
from fivefold.evaluation.base import MetaClassifier
from fivefold.evaluation.protocols import Label, Model
from fivefold.evaluation.tolerances import ROUNDING

LossMatrix = Matrix | Sequence[Sequence[float]]  # (A, K): one row per action, one column per class


def conditional_risks(P: Matrix, losses: LossMatrix | None = None) -> Matrix:
    """Expected loss (n, A) of every action, from class probabilities (n, K) and losses (A, K), 0 and 1 by default.

    Examples
    --------
    >>> conditional_risks([[0.8, 0.2]], [[0, 10], [1, 0]])
    array([[2. , 0.8]])
    """
    P = np.asarray(P, dtype=float)
    K = P.shape[1]
    L = 1.0 - np.eye(K) if losses is None else np.asarray(losses, dtype=float)
    if L.ndim != 2 or L.shape[1] != K:
        raise ValueError(f"losses need one row per action and one column per class ({K} columns); got shape {L.shape}")
    return P @ L.T


def decide(P: Matrix, losses: LossMatrix | None = None, *, reject: float | None = None) -> Indices:
    """The index of the action of least risk, the first of equals; -1 where every action risks more than `reject`.

    Examples
    --------
    >>> decide([[0.9, 0.1], [0.6, 0.4]], reject=0.2)
    array([ 0, -1])
    """
    R = conditional_risks(P, losses)
    best = R.argmin(axis=1)
    if reject is None:
        return best
    least = R.min(axis=1)
    return np.where(least > reject + ROUNDING * np.maximum(np.abs(least), 1.0), -1, best)


def likelihood_ratio_threshold(losses: LossMatrix, priors: Sequence[float]) -> float:
    """Class 1 of two is chosen where p(x | 1) / p(x | 2) exceeds this; losses (2, 2), rows are decisions.

    Examples
    --------
    >>> likelihood_ratio_threshold([[0, 1], [1, 0]], [0.8, 0.2])
    0.25
    """
    (l11, l12), (l21, l22) = np.asarray(losses, dtype=float)
    if not l21 > l11:
        raise ValueError(f"answering 2 must cost more than answering 1 if 1 is true; got {l21} and {l11}")
    return float((l12 - l22) / (l21 - l11) * priors[1] / priors[0])


class MinimumRiskClassifier(MetaClassifier):
    """Chooses the action of least expected loss from the probabilities of any classifier, or rejects the row.

    Parameters
    ----------
    estimator
        a classifier with probabilities; wrap a fitted one in scikit-learn's FrozenEstimator to keep it.
    losses
        loss of each action (rows) if each class (columns, sorted) is true; by default 0 and 1.
    actions
        names of the rows of `losses`; by default the classes.
    reject
        cost of rejecting a row; None never rejects.
    reject_label
        the prediction for rejected rows.

    Attributes
    ----------
    estimator_
        the fitted classifier.
    classes_
        its classes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> dear = [[0, 1, 1], [1, 0, 50], [1, 1, 0]]  # to call a virginica (2) a versicolor (1) costs 50
    >>> model = MinimumRiskClassifier(GaussianNB(), dear).fit(X, y)
    >>> int((model.predict(X[y == 2]) == 1).sum()), int((model.estimator_.predict(X[y == 2]) == 1).sum())
    (0, 3)
    """

    def __init__(
        self,
        estimator: Model,
        losses: LossMatrix | None = None,
        *,
        actions: Sequence[Label] | None = None,
        reject: float | None = None,
        reject_label: Label | None = None,
    ):
        self.estimator = estimator
        self.losses = losses
        self.actions = actions
        self.reject = reject
        self.reject_label = reject_label

    def fit(self, X: UserTable, y: UserTarget, **params: Any) -> Self:
        """Fit the wrapped classifier; `params` go to it."""
        self._fit_estimator(X, y, **params)
        conditional_risks(np.eye(len(self.classes_)), self.losses)  # refuses a matrix with another number of columns
        self._names()
        return self

    def risks(self, X: Table) -> Matrix:
        """Expected loss (n, A) of every action on every row."""
        return conditional_risks(self.predict_proba(X), self.losses)

    def predict(self, X: UserTable) -> Labels:
        """The action of least risk on every row."""
        check_is_fitted(self)
        names, at = self._names(), decide(self.predict_proba(X), self.losses, reject=self.reject)
        if self.reject is None:
            return names[at]
        answers = names.astype(object)[at]
        answers[at == -1] = self.reject_label
        return answers

    def _names(self) -> Labels:
        K = len(self.classes_)
        count = K if self.losses is None else len(self.losses)
        names = self.classes_ if self.actions is None else np.asarray(self.actions)
        if len(names) != count:
            given = "classes" if self.actions is None else "actions"
            raise ValueError(f"losses have {count} rows, but there are {len(names)} {given}; name every row in actions")
        return names


@dataclass(frozen=True)
class ErrorRejectCurve:
    """Error among the answered rows, as more of the uncertain ones are rejected.

    Attributes
    ----------
    thresholds
        rows whose largest probability is below this are rejected; from none to all but the most certain.
    rejected
        share of the rows.
    error
        share of wrong answers among the other rows.
    """

    thresholds: Vector
    rejected: Vector
    error: Vector

    @property
    def area(self) -> float:
        """The error averaged over all shares of answered rows: small if errors are among the uncertain rows."""
        answered = np.append(1 - self.rejected, 0.0)
        return float(-np.diff(answered) @ self.error)

    def __str__(self) -> str:
        return (
            f"error {self.error[0]:.4g} if all rows are answered; {self.area:.4g} averaged over shares of answered rows"
        )


def error_reject(y: Target, P: Matrix, classes: Labels) -> ErrorRejectCurve:
    """The error-reject curve of class probabilities (n, K) on labelled rows, a point per distinct largest probability.

    Examples
    --------
    >>> found = error_reject([0, 0, 1], [[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]], [0, 1])
    >>> found.thresholds, found.rejected.round(2), found.error.round(2)
    (array([0.6, 0.8, 0.9]), array([0.  , 0.33, 0.67]), array([0.33, 0.  , 0.  ]))
    """
    P, n = np.asarray(P, dtype=float), len(np.asarray(y))
    wrong = np.asarray(classes)[P.argmax(axis=1)] != np.asarray(y)
    thresholds, group = np.unique(P.max(axis=1), return_inverse=True)
    rows = np.bincount(group)[::-1].cumsum()[::-1]  # answered at each threshold
    errors = np.bincount(group, wrong)[::-1].cumsum()[::-1]
    return ErrorRejectCurve(thresholds, 1 - rows / n, errors / rows)
