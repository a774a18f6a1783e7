"""One-vs-one: one machine per pair of classes, trained on these two alone.

    votes_i = #{j : g_ij(x) > 0}        g_ij = -g_ji

The class with the most votes wins. Ties go to the larger sum of g_ij over j, squeezed into (-1/3, 1/3) so that it never
outweighs a vote. A problem may be linearly separable pair by pair and not class by class against the rest.

Hastie & Tibshirani (1998).
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.utils import get_tags

from fivefold.core.admission.tables import admit
from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.base import Estimator, learned
from fivefold.core.estimators.params import Learner
from fivefold.core.registry import Card
from fivefold.core.types import Array, Labels, Matrix, Table, UserTable, UserTarget, UserWeights
from fivefold.multiclass.base import Reduction
from fivefold.svm import LinearSVC


class OneVsOneClassifier(Reduction):
    """One machine per pair of classes; the class with the most votes wins.

    Parameters
    ----------
    estimator
        the estimator fitted for each pair: a classifier with `decision_function` or `predict_proba`, or a regressor.

    Attributes
    ----------
    estimators_
        one fitted copy for each pair of classes (i, j), i < j; positive for j.
    classes_, n_classes_
        the labels and their number.
    pairwise_indices_
        for a precomputed kernel, the training rows of each pair; else None.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.multiclass import OneVsOneClassifier
    >>> from fivefold.svm import LinearSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OneVsOneClassifier(LinearSVC(random_state=0)).fit(X, y)
    >>> len(model.estimators_), round(model.score(X, y), 2)
    (3, 0.98)
    """

    estimator: Learner
    _: KW_ONLY
    n_jobs: int | None = None

    card = Card(
        applications=("classification",),
        use="A learner for two classes whose cost grows fast with the rows; classes that only pairs keep apart.",
        steps=(
            "Fit a copy per pair of classes, on their rows alone.",
            "Count the pairs that each class wins.",
            "Break ties by the sum of the answers.",
        ),
        source="Hastie & Tibshirani (1998)",
        see_also=("OneVsRestClassifier", "OutputCodeClassifier"),
        given={"estimator": LinearSVC(random_state=0)},
    )

    takes = Takes(sparse=True, one_class=False)
    estimators_ = learned("machines")
    pairwise_indices_ = learned("rows")

    def _rows(
        self, X: UserTable, y: UserTarget, sample_weight: UserWeights, params: dict[str, Any], method: str = "fit"
    ) -> tuple[Table, Labels, dict[str, Any]]:
        """Tables of numbers are admitted here: a machine sees only some rows, and could not name the one at fault."""
        if self._plain():
            X = admit(self, X, fitting=not self.__sklearn_is_fitted__())
        return super()._rows(X, y, sample_weight, params, method)

    def _table(self, X: UserTable) -> Table:
        return self._admit(X) if self._plain() else super()._table(X)

    def _plain(self) -> bool:
        """Is the inner estimator one of ours that takes only tables of finite numbers?"""
        tags = get_tags(self.estimator).input_tags
        known = isinstance(self.estimator, Estimator)
        return known and tags.two_d_array and not (tags.allow_nan or tags.string or tags.categorical or tags.pairwise)

    def _note_columns(self, X: Table) -> None:
        if not self._plain():
            super()._note_columns(X)

    def _matrix(self, K: int) -> Array:
        M = np.zeros((K, K * (K - 1) // 2))
        for l, (i, j) in enumerate(combinations(range(K), 2)):
            M[i, l], M[j, l] = -1.0, 1.0
        return M

    def decision_function(self, X: UserTable) -> Array:
        """Votes plus squeezed sums of answers (n, K); for two classes (n,), positive for the second."""
        scores = self._scores(self._table(X))
        return scores[:, 1] if scores.shape[1] == 2 else scores

    def predict(self, X: UserTable) -> Labels:
        """The class with the most votes."""
        X = self._table(X)
        if self.n_classes_ == 2:
            return self.classes_[(self.model_.answers(X)[:, 0] > 0).astype(int)]
        return self.classes_[self._scores(X).argmax(axis=1)]

    def _scores(self, X: Table) -> Matrix:
        M, G = self.model_.M, self.model_.answers(X)
        votes = np.where(G > 0, 1.0, 0.0) @ (M.T > 0) + np.where(G > 0, 0.0, 1.0) @ (M.T < 0)
        sums = (G + self.model_.centre) @ M.T
        return votes + sums / (3 * (np.abs(sums) + 1))
