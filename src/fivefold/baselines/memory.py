"""Learning by rote: the training set is the model.

    f(x) = the stored answer of x       where x is a training row,
           the majority class or mean   elsewhere

Rows that occur with contradictory answers are answered by their weighted class shares or mean. The
training error is zero on rows without contradictions, and on continuous data the error on new rows is
that of a constant: training error says nothing about learning.

Rows are compared as bytes: sorted once, found by bisection. Zero has one sign and NaN one pattern, so
a missing entry equals a missing entry.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.supervised_learning import Classifier, Regressor
from fivefold.core.registry import Card
from fivefold.core.types import Array, Indices, Matrix, Sparse, Table, Target, UserTable, Weights


@dataclass(frozen=True)
class Memory:
    """Distinct rows with one answer each; the last answer is for all other rows."""

    rows: Array  # (m, d) float64, in the order of their bytes
    answers: Array | Sparse  # (m + 1, ...) array, or csr_array of class shares

    def recall(self, X: Array) -> Array | Sparse:
        """The answers to the rows of X."""
        keys, asked = _bytes(self.rows), _bytes(_canonical(X))
        at = np.searchsorted(keys, asked)
        known = keys[np.minimum(at, len(keys) - 1)] == asked
        return self.answers[np.where(known, at, len(keys))]


class MemorisingClassifier(Classifier):
    """Remembers the label of every training row; other rows get the majority class.

    Attributes
    ----------
    classes_
        the labels, sorted.

    Examples
    --------
    >>> from fivefold.baselines import MemorisingClassifier
    >>> model = MemorisingClassifier().fit([[1.0], [2.0], [3.0]], ["no", "no", "yes"])
    >>> model.predict([[3.0], [3.1]])
    array(['yes', 'no'], dtype='<U3')
    """

    takes = Takes(missing=True, huge=True, empty=False, categories=True)
    card = Card(
        applications=("classification", "baseline"),
        use="Shows what training error is worth, and finds rows that occur in both parts of a split. "
        "Never a model, unless every possible row was seen.",
        steps=(
            "Sort the distinct rows; add up the weight of each class for each row.",
            "Give a known row its shares, any other row the shares of all rows.",
        ),
        source="Samuel (1959) on rote learning",
        see_also=("MajorityClassifier", "MemorisingRegressor"),
        portfolio=True,
    )

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        rows, _, which = _distinct(X)
        m = len(rows)
        weight = csr_array(
            (np.tile(w, 2), (np.append(which, np.full(len(w), m)), np.tile(y, 2))), shape=(m + 1, len(self.classes_))
        )
        weight.data /= np.repeat(weight.sum(axis=1), np.diff(weight.indptr))
        self.model_ = Memory(rows, weight)

    def predict_proba(self, X: UserTable) -> Matrix:
        """Class shares among the training rows equal to each row, or among all rows if none is equal."""
        return self._scores(self._admit(X))

    def _scores(self, X: Table) -> Matrix:
        return self.model_.recall(X).toarray().astype(X.dtype, copy=False)


class MemorisingRegressor(Regressor):
    """Remembers the target of every training row; other rows get the mean.

    Examples
    --------
    >>> from fivefold.baselines import MemorisingRegressor
    >>> model = MemorisingRegressor().fit([[1.0], [2.0], [2.0]], [1.0, 2.0, 6.0])
    >>> model.predict([[1.0], [2.0], [9.0]])
    array([1., 4., 3.])
    """

    takes = Takes(missing=True, huge=True, empty=False, categories=True, outputs=True)
    card = Card(
        applications=("regression", "baseline"),
        use="Shows what training error is worth, and finds rows that occur in both parts of a split. "
        "Never a model, unless every possible row was seen.",
        steps=(
            "Sort the distinct rows; average the targets of each by their weights.",
            "Give a known row its mean, any other row the mean of all rows.",
        ),
        source="Samuel (1959) on rote learning",
        see_also=("MeanRegressor", "MemorisingClassifier"),
        portfolio=True,
    )

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        rows, first, which = _distinct(X)
        # Sum deviations from the first target of a row: a row with a single target returns it exactly.
        sums = csr_array((w, (which, np.arange(len(w)))), shape=(len(rows), len(w)))
        weight = np.bincount(which, w).reshape(-1, *(1,) * (y.ndim - 1))
        answers = y[first] + sums @ (y - y[first][which]) / weight
        self.model_ = Memory(rows, np.concatenate([answers, np.average(y, axis=0, weights=w)[None]]))

    def predict(self, X: UserTable) -> Array:
        """The mean target of the training rows equal to each row, or of all rows if none is equal."""
        X = self._admit(X)
        return self.model_.recall(X).astype(X.dtype, copy=False)


def _distinct(X: Array) -> tuple[Array, Indices, Indices]:
    """The distinct rows in order, the first position of each, and for every row of X the number of its distinct row."""
    X = _canonical(X)
    _, first, which = np.unique(_bytes(X), return_index=True, return_inverse=True)
    return X[first], first, which


def _canonical(X: Array) -> Array:
    """float64 with one zero and one NaN, so that equal rows are equal bytes."""
    return np.where(np.isnan(X), np.nan, np.asarray(X, dtype=np.float64) + 0.0)


def _bytes(X: Array) -> NDArray[np.void]:
    """Each row as one opaque value."""
    return np.ascontiguousarray(X).view(np.dtype((np.void, X.itemsize * X.shape[1])))[:, 0]
