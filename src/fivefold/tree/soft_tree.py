"""Soft decision trees: every row takes every path, with a share of it on each.

    F(x) = sum over leaves of v_l times the product of the gates on the path to l

A gate is a sigmoid of a linear function of the row: the share of the row that goes left. F is smooth in x and in all of
its parameters, which are trained together by gradients; the borders between leaves may be oblique, and are as soft as
the data require. Classes have the probabilities softmax(F(x)), numbers the prediction F(x). Infinitely steep gates make
a hard tree, and the cuts of a hard tree are one place to start from.

Irsoy, Yildiz & Alpaydin (2012), Soft decision trees; Jordan & Jacobs (1994).
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from scipy.special import softmax

from fivefold.core.estimators.params import Seed
from fivefold.core.estimators.supervised_learning import Classifier, Regressor
from fivefold.core.registry import Card
from fivefold.core.types import Matrix, Table, Target, UserTable, Vector, Weights
from fivefold.optim.losses.likelihood_losses import SoftmaxLoss
from fivefold.optim.losses.regression_losses import SquaredLoss
from fivefold.tree.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from fivefold.tree.soft_trees.soft_base import BaseSoftTree, SoftTreeTask
from fivefold.tree.soft_trees.soft_growth import distinct_rows

EMPTY_WEIGHT = 1e-12  # weights of a leaf and mean squared errors below this count as zero


class SoftTreeClassifier(BaseSoftTree, Classifier):
    """A tree whose gates are sigmoids of all columns, trained by gradients to give class probabilities.

    Parameters
    ----------
    alpha
        strength of the L2 penalty on gates and leaves, added to the sum of the losses; large values make gates soft.
    class_weight
        weights of the classes, or "balanced".

    Attributes
    ----------
    leaf_values_
        scores of the classes at each leaf, (m + 1, K).

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.tree import SoftTreeClassifier
    >>> X = np.random.RandomState(0).uniform(-1, 1, size=(400, 2))
    >>> y = (X[:, 0] + X[:, 1] > 0) ^ (X[:, 0] - X[:, 1] > 0)
    >>> model = SoftTreeClassifier(max_depth=2, n_init=3, random_state=0).fit(X, y)
    >>> model.get_n_leaves(), bool(model.score(X, y) > 0.97)
    (4, True)
    >>> model.gates(X[:1]).sum().round(6)
    np.float64(1.0)
    """

    _: KW_ONLY
    class_weight: Any = None  # a dictionary by label, of whatever type; "balanced"
    random_state: Seed = None

    card = Card(
        applications=("classification",),
        use="Smooth or oblique borders between classes, where a hard tree needs a staircase; few leaves, and "
        "probabilities that change gently. Slower to train than a hard tree, and cannot be read as rules.",
        steps=(
            "Start with gates in random directions, or across the cuts of a hard tree.",
            "Send every row down every path, by the product of the gates; add up the scores of the leaves.",
            "Descend the penalised log loss in all gates and leaves together by L-BFGS; keep the best start.",
        ),
        source="Irsoy, Yildiz & Alpaydin (2012)",
        see_also=("DecisionTreeClassifier", "LinearLeafClassifier", "LogisticRegression"),
        variants=(
            {"max_depth": 2, "init": "tree", "n_init": 1},
            {"grow": "incremental", "alpha": 0.1},
            {"solver": "adam", "max_iter": 20},
        ),
        search={"max_depth": (2, 3, 4), "alpha": (0.01, 0.1, 1.0, 10.0)},
    )

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        X, y, w = distinct_rows(X, y, w)
        K = len(self.classes_)
        shares = np.bincount(y, w, K) / w.sum()

        def scores(p: Matrix, codes: Target, s: Weights) -> Matrix:
            counts = np.stack([p[:, codes == k] @ s[codes == k] for k in range(K)], axis=1) + shares
            logs = np.log(counts / counts.sum(axis=1, keepdims=True))
            return logs - logs.mean(axis=1, keepdims=True)

        task = SoftTreeTask(SoftmaxLoss(), K, scores, DecisionTreeClassifier, lambda loss, weight: loss)
        self.model_ = self._train(X, y, w, task)

    def predict_proba(self, X: UserTable) -> Matrix:
        """Probability of each class."""
        X = self._admit(X)
        return softmax(self.model_.answers(X), axis=1)

    def _scores(self, X: Table) -> Matrix:
        return self.model_.answers(X)


class SoftTreeRegressor(BaseSoftTree, Regressor):
    """A tree whose gates are sigmoids of all columns, trained by gradients: a smooth surface of few parts.

    Parameters
    ----------
    alpha
        strength of the L2 penalty on gates and leaves, added to half the sum of the squared errors of y in units of its
        spread.

    Attributes
    ----------
    leaf_values_
        the number at each leaf, (m + 1, 1).

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.tree import SoftTreeRegressor
    >>> X = np.random.RandomState(0).uniform(-1, 1, size=(300, 2))
    >>> y = np.tanh(3 * X.sum(axis=1))
    >>> model = SoftTreeRegressor(max_depth=1, random_state=0).fit(X, y)
    >>> model.get_n_leaves(), round(model.score(X, y), 2)
    (2, 0.99)
    """

    _: KW_ONLY
    random_state: Seed = None

    card = Card(
        applications=("regression",),
        use="Smooth targets that change along oblique directions: no steps at the borders of leaves, far fewer leaves "
        "than a hard tree. Slower to train, and cannot be read as rules.",
        steps=(
            "Start with gates in random directions, or across the cuts of a hard tree.",
            "Send every row down every path, by the product of the gates; add up the numbers of the leaves.",
            "Descend the penalised squared error in all gates and leaves together by L-BFGS; keep the best start.",
        ),
        source="Irsoy, Yildiz & Alpaydin (2012)",
        see_also=("DecisionTreeRegressor", "ModelTreeRegressor"),
        variants=(
            {"max_depth": 2, "init": "tree", "n_init": 1},
            {"grow": "incremental", "alpha": 0.1},
            {"grow": "incremental", "validation_fraction": 0.3, "n_init": 2},
        ),
        search={"max_depth": (2, 3, 4), "alpha": (0.01, 0.1, 1.0, 10.0)},
    )

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        X, y, w = distinct_rows(X, y.astype(np.float64), w)
        mean = float(w @ y / w.sum())
        scale = float(np.sqrt(w @ (y - mean) ** 2 / w.sum())) or 1.0

        def means(p: Matrix, y: Target, s: Weights) -> Matrix:
            return (p @ (s * y) / (p @ s + EMPTY_WEIGHT))[:, None]

        def likelihood(loss: float, weight: float) -> float:
            return 0.5 * weight * float(np.log(max(2 * loss / weight, EMPTY_WEIGHT)))

        task = SoftTreeTask(SquaredLoss(), 1, means, DecisionTreeRegressor, likelihood, mean, scale)
        self.model_ = self._train(X, (y - mean) / scale, w, task)

    def predict(self, X: UserTable) -> Vector:
        """F at each row."""
        X = self._admit(X)
        return self.model_.answers(X)[:, 0]
