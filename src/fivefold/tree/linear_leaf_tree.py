"""Trees with a linear classifier in every leaf: a leaf need not be pure, only linearly separable.

    impurity of a node   -sum_i w_i ln p(y_i | x_i) / W        p the softmax of the linear scores of its classifier

A node is split where two least squares surfaces of the class indicators, one per side, leave the smallest sum of
squares; the split is kept where the classifiers of both sides lower the log loss by more than Schwarz's price of the
parameters they add. Data that one hyperplane separates are one leaf.

Landwehr, Hall & Frank (2005), Logistic model trees.
"""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY
from typing import NamedTuple

import numpy as np
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, NonNegative, Positive
from fivefold.core.estimators.supervised_learning import Classifier
from fivefold.core.registry import Card
from fivefold.core.types import Indices, Matrix, Table, Target, UserTable, Vector, Weights
from fivefold.linear_model.logistic import LogisticRegression
from fivefold.tree.shared.leaf_models import LinearLeaves, grow_by_cuts, mean_and_spread, residual_cut

UNSEEN_SCORE = -700.0  # score of a class without rows in the leaf: e^-700 makes its probability zero


class LinearLeafClassifier(Classifier):
    """A tree with a linear classifier in every leaf, split only where one hyperplane is not enough.

    Parameters
    ----------
    C
        inverse strength of the L2 penalty of the classifiers.
    max_depth
        maximum number of questions on a path.
    min_samples_leaf
        minimum weight of the rows of a leaf; None for twice the number of columns plus one.
    min_impurity
        a node whose classifier has a mean log loss of at most this, in nats, is a leaf.
    penalty
        how many times Schwarz's price a split must gain.

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
        use="Classes that hyperplanes separate in parts of the space: few leaves, with probabilities that vary inside.",
        steps=(
            "Fit a linear classifier to the rows of a node; with a small log loss the node is a leaf.",
            "Find the cut where linear surfaces on either side explain the classes best.",
            "Keep it if the classifiers of both sides lower the log loss by more than the price of their parameters.",
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
        centre, spread = mean_and_spread(X, w)
        spread = np.where(spread > 0, spread, 1.0)
        scaled = (X - centre) / spread
        Z = np.column_stack([np.ones(len(X)), scaled, np.eye(K)[y]])
        least = self.min_samples_leaf or float(2 * (d + 1))
        fitted: dict[bytes, LeafClassifier] = {}

        def classifier(rows: Indices) -> LeafClassifier:
            if (key := rows.tobytes()) not in fitted:
                fitted[key] = _fit_classifier(scaled[rows], y[rows], w[rows], K, self.C)
            return fitted[key]

        def best_cut(rows: Indices) -> tuple[int, float] | None:
            W, loss = float(w[rows].sum()), classifier(rows).loss
            if W < 2 * least or loss <= self.min_impurity * W:
                return None
            cut = residual_cut(X, Z, w, rows, least, K)
            if cut.column < 0:
                return None
            left = X[rows, cut.column] <= cut.threshold
            after = classifier(rows[left]).loss + classifier(rows[~left]).loss
            price = self.penalty * ((d + 1) * (K - 1) + 1) * np.log(W) / 2
            return (cut.column, cut.threshold) if after + price < loss else None

        tree, members = grow_by_cuts(X, np.arange(len(X)), best_cut, self.max_depth)
        leaves = [classifier(rows) for rows in members.values()]
        coef = np.array([leaf.coef for leaf in leaves]) / spread
        intercept = np.array([leaf.intercept for leaf in leaves]) - coef @ centre
        self.model_ = LinearLeaves(tree, coef, intercept, np.zeros(d))

    def predict_proba(self, X: UserTable) -> Matrix:
        """Probabilities of the classes by the classifier of the leaf of each row."""
        return self._scores(self._admit(X))

    def apply(self, X: UserTable) -> Indices:
        """The index of the leaf of each row."""
        return self.model_.tree.apply(self._admit(X))

    def get_n_leaves(self) -> int:
        """Number of leaves."""
        check_is_fitted(self)
        return len(self.model_.tree.leaves)

    def _scores(self, X: Table) -> Matrix:
        return softmax(self.model_.answers(X), axis=1).astype(X.dtype, copy=False)


class LeafClassifier(NamedTuple):
    """A linear classifier of some rows."""

    coef: Matrix  # (K, d)
    intercept: Vector  # (K,)
    loss: float  # total log loss of the rows


def _fit_classifier(X: Table, y: Target, w: Weights, K: int, C: float) -> LeafClassifier:
    """The classifier of some rows; classes without rows have probability zero."""
    coef, intercept = np.zeros((K, X.shape[1])), np.full(K, UNSEEN_SCORE)
    present = np.unique(y)
    if len(present) == 1:
        intercept[present] = 0.0
        return LeafClassifier(coef, intercept, 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LogisticRegression(C=C, tol=1e-8, max_iter=500).fit(X, y, sample_weight=w)
    two = len(present) == 2
    coef[present[1:] if two else present], intercept[present] = model.coef_, 0.0
    intercept[present[1:] if two else present] = model.intercept_
    p = softmax(X @ coef.T + intercept, axis=1)[np.arange(len(y)), y]
    return LeafClassifier(coef, intercept, float(-(w * np.log(np.maximum(p, 1e-300))).sum()))
