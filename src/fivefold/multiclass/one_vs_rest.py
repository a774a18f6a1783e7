"""One-vs-rest: one machine per class, against all others; the highest answer wins.

    class of x = argmax over k of g_k(x)

With linear machines the boundary between two regions is a piece of the hyperplane (w_i - w_j)'x + b_i - b_j = 0, and
the regions are convex. With an indicator matrix as target each label has its own machine, and a row may have any
number of labels.

Rifkin & Klautau (2004).
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils import check_array
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from fivefold.core._sklearn import _num_samples
from fivefold.core.admission.sparse import canonical_csr
from fivefold.core.admission.takes import Takes
from fivefold.core.estimators import params as declared
from fivefold.core.estimators.params import Learner
from fivefold.core.registry import Card
from fivefold.core.types import Array, Labels, Mask, Matrix, Sparse, Table, UserTable, UserTarget, UserWeights
from fivefold.multiclass.base import ConstantMachine, Reduction, inner_has, warn_constant
from fivefold.svm import LinearSVC


class OneVsRestClassifier(Reduction):
    """One machine per class, against all others; the highest answer wins.

    Parameters
    ----------
    estimator
        the estimator fitted for each class: a classifier with `decision_function` or `predict_proba`, or a regressor.
    verbose
        passed to joblib.

    Attributes
    ----------
    estimators_
        one fitted copy per class; for two classes a single one.
    classes_, n_classes_
        the labels and their number.
    label_binarizer_
        turns labels into the targets of the machines and back.
    multilabel_
        was the target an indicator matrix?

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.multiclass import OneVsRestClassifier
    >>> from fivefold.svm import LinearSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OneVsRestClassifier(LinearSVC(random_state=0)).fit(X, y)
    >>> len(model.estimators_), model.claims(X).sum(axis=1).max()
    (3, np.int64(2))
    """

    estimator: Learner
    _: KW_ONLY
    n_jobs: int | None = None
    verbose: int = 0

    card = Card(
        applications=("classification",),
        use="Any learner for two classes whose answers can be compared between copies; rows with several labels.",
        steps=("Fit a copy per class, its rows against all others.", "The highest answer wins."),
        source="Rifkin & Klautau (2004)",
        see_also=("OneVsOneClassifier", "OutputCodeClassifier"),
        given={"estimator": LinearSVC(random_state=0)},
    )

    takes = Takes()

    def _matrix(self, K: int) -> Array:
        return np.array([[-1.0], [1.0]])[:K] if K <= 2 else 2 * np.eye(K) - 1

    def fit(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None, **params: Any) -> Self:
        """Fit one copy of the estimator per class, or per label of an indicator matrix; weights are passed to each."""
        y = canonical_csr(y, "OneVsRestClassifier: y") if issparse(y) else y
        with np.errstate(invalid="ignore"):  # labels may be huge numbers, which do not convert to integers
            multilabel = y is not None and type_of_target(y).startswith("multilabel")
        if not multilabel:
            self.__dict__.pop("indicator_", None)
            super().fit(X, y, sample_weight, **params)
            if len(self.classes_) == 1:
                warn_constant(self, self.classes_[0])
            return self
        declared.check_params(self)
        self._forget()
        Y = check_array(y, accept_sparse="csr")
        self.indicator_ = issparse(Y)
        X, Y, routed = self._rows(X, Y.toarray() if issparse(Y) else Y, sample_weight, params)
        self.classes_ = np.arange(Y.shape[1])
        sides = np.where(Y > 0, 1.0, -1.0)
        self.model_ = self._machines(X, sides, 2 * np.eye(Y.shape[1]) - 1, routed)
        for label in np.flatnonzero([isinstance(m, ConstantMachine) for m in self.estimators_]):
            warn_constant(self, label)
        self._note_columns(X)
        return self

    def predict(self, X: UserTable) -> Labels | Sparse:
        """The class of each row, or its labels as an indicator matrix."""
        check_is_fitted(self)
        if not self.multilabel_:
            return super().predict(X)
        Y = (self.model_.answers(self._table(X)) > 0).astype(int)
        return csr_array(Y) if self.indicator_ else Y

    @available_if(inner_has("decision_function"))
    def decision_function(self, X: UserTable) -> Array:
        """The answer of each class's machine (n, K); for two classes (n,), positive for the second."""
        G = self.model_.answers(self._table(X))
        return G[:, 0] if G.shape[1] == 1 else G

    @available_if(inner_has("predict_proba"))
    def predict_proba(self, X: UserTable) -> Matrix:
        """Probability of each class, scaled to sum to one; of several labels, the probability of each."""
        X = self._table(X)
        machines, n = self.estimators_, _num_samples(X)
        P = np.column_stack(
            [(m.answers(n) + 1) / 2 if isinstance(m, ConstantMachine) else m.predict_proba(X)[:, 1] for m in machines]
        )
        if self.multilabel_:
            return P
        if P.shape[1] == 1:
            P = np.hstack([1 - P, P])
        total = P.sum(axis=1, keepdims=True)
        return np.divide(P, total, out=P, where=total != 0)

    def claims(self, X: UserTable) -> Mask:
        """(n, K): the classes whose machine answers yes; unless exactly one does, the machines disagree."""
        own = self.model_.answers(self._table(X)) > 0
        return np.hstack([~own, own]) if own.shape[1] == 1 else own

    @property
    def multilabel_(self) -> bool:
        """Was the target an indicator matrix?"""
        return "indicator_" in vars(self)

    @property
    def label_binarizer_(self) -> LabelBinarizer:
        """Turns labels into the targets of the machines and back."""
        check_is_fitted(self)
        labels = np.eye(len(self.classes_), dtype=int) if self.multilabel_ else self.classes_
        return LabelBinarizer(sparse_output=True).fit(labels)

    def _scores(self, X: Table) -> Matrix:
        G = self.model_.answers(X)
        return np.hstack([-G, G]) if G.shape[1] == 1 else G

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
