"""Models of sequences as classifiers of rows, so that a study can fit, tune and compare them like any other.

SequenceClassifier       a labeller of sequences, such as LinearChainCRF
HiddenMarkovClassifier   a hidden Markov model whose states are the classes: transitions from counts of the labels, and
                         p(x | k) = p(k | x) / p(k), up to a factor of x, by any classifier of rows. With naive Bayes
                         that is a hidden Markov model of labelled states as in a textbook; with others a hybrid
                         (Bourlard & Morgan 1994).

The first two columns of X say which sequence a row belongs to and its step there (`neighbour_columns.StepPlaces`); rows
may come in any order, and are answered in that order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import polars as pl

from fivefold.core.admission.sequences import Sequences
from fivefold.core.types import Indices, Matrix, Table, Target, UserTable
from fivefold.evaluation.base import MetaClassifier
from fivefold.evaluation.protocols import Model
from fivefold.inference.chains.best_paths import best_path
from fivefold.inference.chains.chain import Chain
from fivefold.inference.chains.forward_backward import forward_backward


@dataclass(frozen=True)
class SortedSteps:
    """The rows of a table, sorted into sequences."""

    X: Sequences
    at: Indices  # (n,) which row of the table each sorted one is

    @classmethod
    def of(cls, X: Table) -> SortedSteps:
        """Of a table whose first two columns are sequence and step."""
        frame = isinstance(X, pl.DataFrame)
        places = X[:, :2].to_numpy() if frame else np.asarray(X[:, :2].todense() if hasattr(X, "todense") else X[:, :2])
        at = np.lexsort((places[:, 1], places[:, 0]))
        lengths = np.unique(places[:, 0], return_counts=True)[1]
        own = X[:, 2:]
        return cls(Sequences(own[at] if frame else np.asarray(own)[at], lengths), at)

    def split(self, y: Target) -> Any:
        """One value per row of the table, as a list per sequence."""
        return np.split(np.asarray(y)[self.at], self.X.offsets[1:-1])

    def join(self, parts: list[Any]) -> Any:
        """What was found per sequence, in the order of the table."""
        found = np.concatenate([np.asarray(part) for part in parts])
        back = np.empty_like(found)
        back[self.at] = found
        return back


class SequenceClassifier(MetaClassifier):
    """A classifier of rows that are steps of sequences, by a labeller of sequences.

    Parameters
    ----------
    estimator
        the labeller: its fit takes sequences of rows and lists of labels.

    Attributes
    ----------
    estimator_
        the fitted labeller.

    Examples
    --------
    >>> from fivefold.sequence import LinearChainCRF
    >>> X = [[0, 0, 1.0], [0, 1, 1.0], [0, 2, 0.0], [1, 0, 0.0], [1, 1, 1.0]]  # sequence, step, and a column
    >>> model = SequenceClassifier(LinearChainCRF(c2=0.01)).fit(np.array(X), ["a", "a", "b", "b", "a"])
    >>> model.predict(np.array([[7, 1, 0.0], [7, 0, 1.0]])).tolist()
    ['b', 'a']
    """

    def __init__(self, estimator: Model):
        self.estimator = estimator

    def fit(self, X: Table, y: Target) -> Self:
        """Fit the labeller to the sequences."""
        steps = SortedSteps.of(X)
        self._fit_estimator(steps.X, steps.split(y))
        return self

    def predict(self, X: UserTable) -> Target:
        """The label of each row."""
        steps = SortedSteps.of(X)
        found: Target = steps.join(self.estimator_.predict(steps.X))
        return found

    def predict_proba(self, X: UserTable) -> Matrix:
        """The probability of each label at each row, given its whole sequence, (n, K)."""
        steps = SortedSteps.of(X)
        found: Matrix = steps.join(self.estimator_.predict_proba(steps.X))
        return found

    def decision_function(self, X: UserTable) -> Matrix:
        """How much speaks for each label at each row: (n,) for two labels, (n, K) for more."""
        steps = SortedSteps.of(X)
        scores: Matrix = steps.join(self.estimator_.label_scores(steps.X))
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores


class HiddenMarkovClassifier(MetaClassifier):
    """A hidden Markov model whose states are the classes, and whose rows come from them as a classifier says.

    Parameters
    ----------
    estimator
        a classifier of single rows, with probabilities.
    alpha
        added to every count of a label after another, and of a label at the start.

    Attributes
    ----------
    startprob_, transmat_
        probability of each class at the first step, (K,), and after each other one, (K, K).
    class_prior_
        shares of the classes, (K,).
    """

    def __init__(self, estimator: Model, alpha: float = 1.0):
        self.estimator = estimator
        self.alpha = alpha

    def fit(self, X: Table, y: Target) -> Self:
        """Fit the classifier to rows, and count which labels follow which."""
        steps, labels = SortedSteps.of(X), np.asarray(y)
        self._fit_estimator(X[:, 2:], labels)
        codes, K = np.searchsorted(self.classes_, labels)[steps.at], len(self.classes_)
        first = steps.X.offsets[:-1]
        inside = np.setdiff1d(np.arange(len(codes)), first)
        pairs = np.bincount(codes[inside - 1] * K + codes[inside], minlength=K * K).reshape(K, K) + self.alpha
        starts = np.bincount(codes[first], minlength=K) + self.alpha
        self.startprob_, self.transmat_ = starts / starts.sum(), pairs / pairs.sum(axis=1, keepdims=True)
        self.class_prior_ = np.bincount(codes, minlength=K) / len(codes)
        return self

    def predict(self, X: UserTable) -> Target:
        """The class of each row in the likeliest sequence."""
        steps = SortedSteps.of(X)
        found: Target = self.classes_[steps.join([best_path(self._chain(X, steps)).path])]
        return found

    def predict_proba(self, X: UserTable) -> Matrix:
        """The probability of each class at each row, given its whole sequence, (n, K)."""
        steps = SortedSteps.of(X)
        found: Matrix = steps.join([forward_backward(self._chain(X, steps)).marginals])
        return found

    def _chain(self, X: Table, steps: SortedSteps) -> Chain:
        P = np.asarray(self.estimator_.predict_proba(X[:, 2:]), dtype=np.float64)[steps.at]
        tiny = np.finfo(np.float64).tiny
        emission = np.log(np.maximum(P, tiny)) - np.log(self.class_prior_)
        return Chain(np.log(self.startprob_), np.log(self.transmat_), emission, steps.X.offsets)
