"""Trees with a linear classifier in every leaf: a leaf need not be pure, only well told apart.

    impurity of a node   -sum_i w_i ln p(y_i | x_i) / W        p the softmax of the linear scores of its classifier

A node is divided where two least squares surfaces of the class indicators, one a side, leave the least; the division
is kept where the classifiers of both sides lower the log loss by more than Schwarz's price of the numbers they bring.
Data that one hyperplane tells apart are one leaf.

Landwehr, Hall & Frank (2005), Logistic model trees.
"""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, NonNegative, Positive
from fivefold.core.estimators.supervised_learning import Classifier
from fivefold.core.registry import Card
from fivefold.core.types import Indices, Table, Target, UserTable, Weights
from fivefold.linear_model.logistic import LogisticRegression
from fivefold.tree.shared.leaf_models import LinearLeaves, grow_by_cuts, residual_cut

UNSEEN_SCORE = -700.0  # the score of a class that a leaf has not seen: its probability is zero


class LinearLeafClassifier(Classifier):
    """A tree with a linear classifier in every leaf, divided only where one hyperplane is not enough.

    Parameters
    ----------
    C
        one over the strength of the L2 penalty of the classifiers.
    max_depth
        most questions on a way down.
    min_samples_leaf
        least weight of the rows of a leaf; None for twice the numbers of a classifier.
    min_impurity
        a node whose classifier has a mean log loss as small as this, in nats, is a leaf.
    penalty
        how many times Schwarz's price a division must pay.

    Attributes
    ----------
    tree_
        the nodes, a struct of arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.tree import LinearLeafClassifier
    >>> X = np.random.RandomState(0).uniform(-1, 1, size=(400, 2))
    >>> LinearLeafClassifier().fit(X, X.sum(axis=1) > 0).get_n_leaves()
    1
    >>> LinearLeafClassifier().fit(X, X.prod(axis=1) > 0).get_n_leaves()
    2
    """

    _: KW_ONLY
    C: Positive = 100.0
    max_depth: Count = 5
    min_samples_leaf: Positive | None = None
    min_impurity: NonNegative = 0.05
    penalty: NonNegative = 1.0

    card = Card(
        applications=("classification",),
        use="Classes that hyperplanes tell apart in parts of the space: few leaves, probabilities that vary inside.",
        steps=(
            "Fit a linear classifier to the rows of a node; a small log loss makes it a leaf.",
            "Find the cut where linear surfaces on either side explain the classes best.",
            "Keep it if the classifiers of both sides lower the log loss by more than the price of their numbers.",
        ),
        source="Landwehr, Hall & Frank (2005)",
        see_also=("LogisticRegression", "DecisionTreeClassifier", "ModelTreeRegressor"),
        variants=({"C": 1.0, "max_depth": 2, "penalty": 0.3},),
        search={"C": (0.1, 1.0, 100.0), "max_depth": (1, 3, 5)},
    )

    tree_ = learned("tree")

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        X = X.astype(np.float64)
        d, K = X.shape[1], len(self.classes_)
        centre = w @ X / w.sum()
        spread = np.sqrt(w @ (X - centre) ** 2 / w.sum())
        spread = np.where(spread > 0, spread, 1.0)
        scaled = (X - centre) / spread
        Z = np.column_stack([np.ones(len(X)), scaled, np.eye(K)[y]])
        least = self.min_samples_leaf or float(2 * (d + 1))
        found: dict[bytes, tuple[Any, Any, float]] = {}

        def classifier(rows: Indices) -> tuple[Any, Any, float]:
            if (key := rows.tobytes()) not in found:
                found[key] = _fitted(scaled[rows], y[rows], w[rows], K, self.C)
            return found[key]

        def best_cut(rows: Indices) -> tuple[int, float] | None:
            W, loss = float(w[rows].sum()), classifier(rows)[2]
            if W < 2 * least or loss <= self.min_impurity * W:
                return None
            _, j, threshold = residual_cut(X, Z, w, rows, least, K)
            if j < 0:
                return None
            goes = X[rows, j] <= threshold
            after = classifier(rows[goes])[2] + classifier(rows[~goes])[2]
            price = self.penalty * ((d + 1) * (K - 1) + 1) * np.log(W) / 2
            return (j, threshold) if after + price < loss else None

        tree, members = grow_by_cuts(X, np.arange(len(X)), best_cut, self.max_depth)
        slopes, heights, _ = zip(*map(classifier, members.values()), strict=True)
        coef = np.array(slopes) / spread
        self.model_ = LinearLeaves(tree, coef, np.array(heights) - coef @ centre, np.zeros(d))

    def predict_proba(self, X: UserTable) -> Any:
        """Probabilities of the classes by the classifier of the leaf of each row."""
        return self._scores(self._admit(X))

    def apply(self, X: UserTable) -> Any:
        """The index of the leaf of each row."""
        return self.model_.tree.apply(self._admit(X))

    def get_n_leaves(self) -> int:
        """Number of leaves."""
        check_is_fitted(self)
        return len(self.model_.tree.leaves)

    def _scores(self, X: Table) -> Any:
        return softmax(self.model_.answers(X), axis=1).astype(X.dtype, copy=False)


def _fitted(X: Table, y: Target, w: Weights, K: int, C: float) -> tuple[Any, Any, float]:
    """Coefficients (K, d), intercepts (K,) and the log loss of a linear classifier of some rows."""
    coef, intercept = np.zeros((K, X.shape[1])), np.full(K, UNSEEN_SCORE)
    present = np.unique(y)
    if len(present) == 1:
        intercept[present] = 0.0
        return coef, intercept, 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LogisticRegression(C=C, tol=1e-8, max_iter=500).fit(X, y, sample_weight=w)
    two = len(present) == 2
    coef[present[1:] if two else present], intercept[present] = model.coef_, 0.0
    intercept[present[1:] if two else present] = model.intercept_
    p = softmax(X @ coef.T + intercept, axis=1)[np.arange(len(y)), y]
    return coef, intercept, float(-(w * np.log(np.maximum(p, 1e-300))).sum())
