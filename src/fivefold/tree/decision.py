"""Decision trees: the input space cut into boxes, one answer a box.

    choose the cut x_j <= t of a node that lowers  W I - W_left I_left - W_right I_right  most, and go on in both parts

I is the impurity of the rows in a node: Gini 1 - sum p_k^2, entropy -sum p_k log p_k, the variance of the target, its
Poisson deviance. The answer of a leaf is the share of each class, or the mean. A missing value goes to the side that
lowered the impurity more.

Breiman, Friedman, Olshen & Stone (1984), Classification and Regression Trees.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from fivefold.core.data import Takes
from fivefold.core.estimator import learned
from fivefold.core.params import Count, NonNegative, Seed
from fivefold.core.registry import Card
from fivefold.core.supervised import Classifier, Regressor
from fivefold.partition.class_criteria import Entropy, Gini, TwoClasses
from fivefold.partition.grow import grow
from fivefold.partition.number_criteria import Deviance, Squares
from fivefold.tree.base import (
    Leaves,
    MaxFeatures,
    MinLeaf,
    MinSplit,
    MinWeight,
    TreeMethods,
    TreeModel,
    columns_tried,
    rules_of,
)


def _of_classes(estimator: Any, y: Any, w: Any, classes: int) -> Any:
    """The criterion of a tree of classes."""
    if estimator.criterion != "gini":
        return Entropy(y.astype(np.int32), w, classes)
    if classes == 2 and (w == 1).all():
        return TwoClasses(y.astype(np.uint8))
    return Gini(y.astype(np.int32), w, classes)


class DecisionTreeClassifier(TreeMethods, Classifier):
    """A tree of questions about single columns, with the shares of the classes at its leaves.

    Parameters
    ----------
    criterion
        impurity of a node: "gini", or "entropy" (also called "log_loss").
    splitter
        "best" takes the best cut of a column.
    max_depth
        most questions on a way down; None for no limit.
    min_samples_split, min_samples_leaf
        least rows of a node that is divided, and of a leaf; a fraction is a share of all rows.
    min_weight_fraction_leaf
        least share of the total weight in a leaf.
    max_features
        columns tried at a node, drawn at random: a number, a share, "sqrt", "log2", or None for all.
    random_state
        seed of the draws of columns.
    max_leaf_nodes
        most leaves; the nodes that gain most are divided first.
    min_impurity_decrease
        least fall of the impurity by a cut, a share of the root's weight.
    class_weight
        weights of the classes, or "balanced".
    ccp_alpha
        price of a leaf: the tree is cut back to the one of least risk + ccp_alpha x leaves.
    monotonic_cst
        only None is taken.

    Attributes
    ----------
    tree_
        the nodes, under scikit-learn's names.
    feature_importances_
        share of each column in the fall of the impurity.
    max_features_
        columns tried at a node.
    n_classes_, n_outputs_
        numbers of classes, and of outputs: one.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DecisionTreeClassifier(max_depth=2).fit(X, y)
    >>> model.get_n_leaves(), round(model.score(X, y), 2)
    (3, 0.96)
    """

    _: KW_ONLY
    criterion: Literal["gini", "entropy", "log_loss"] = "gini"
    splitter: Literal["best"] = "best"
    max_depth: Count | None = None
    min_samples_split: MinSplit = 2
    min_samples_leaf: MinLeaf = 1
    min_weight_fraction_leaf: MinWeight = 0.0
    max_features: MaxFeatures = None
    random_state: Seed = None
    max_leaf_nodes: Leaves = None
    min_impurity_decrease: NonNegative = 0.0
    class_weight: Any = None
    ccp_alpha: NonNegative = 0.0
    monotonic_cst: None = None

    takes = Takes(missing=True)
    card = Card(
        applications=("classification",),
        use="Rules a person can read, columns of any scale, missing values. Alone it errs more than a forest of trees; "
        "limit its depth or prune it.",
        steps=(
            "Sort every column once.",
            "Divide the node at the cut that lowers the impurity most; missing values go to the better side.",
            "Go on in both parts until they are pure or too small; cut the tree back where leaves have a price.",
        ),
        source="Breiman, Friedman, Olshen & Stone (1984)",
        see_also=("DecisionTreeRegressor",),
        variants=({"criterion": "entropy"}, {"max_leaf_nodes": 5}, {"max_features": "sqrt", "ccp_alpha": 0.01}),
        search={"max_depth": (2, 4, 8, 16, None), "min_samples_leaf": (1, 5, 20)},
        portfolio=True,
    )

    tree_ = learned("view")
    feature_importances_ = learned("importances")
    max_features_ = learned("tried")
    n_outputs_ = 1

    @property
    def n_classes_(self) -> int:
        return len(self.classes_)

    def _fit(self, X: Any, y: Any, w: Any) -> None:
        K = len(self.classes_)
        seed = int(check_random_state(self.random_state).randint(2**31))
        grown = grow(X, _of_classes(self, y, w, K), rules_of(self, X, w, seed), leaves=self.max_leaf_nodes or 0)
        counts = grown.counts(y, w, K)
        weight = counts.sum(axis=1)
        shares = counts / weight[:, None]
        impurity = IMPURITY[self.criterion](shares)
        tried = columns_tried(self.max_features, X.shape[1])
        model = TreeModel(grown.tree, shares, impurity, weight, X.shape[1], tried)
        self.model_ = model.pruned(self.ccp_alpha)

    def predict_proba(self, X: Any) -> Any:
        """The shares of the classes in the leaf of each row."""
        return self._scores(self._admit(X))

    def predict_log_proba(self, X: Any) -> Any:
        """Their logarithms."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _scores(self, X: Any) -> Any:
        return self.model_.answers(X)


def _gini(shares: Any) -> Any:
    return 1.0 - (shares**2).sum(axis=1)


def _entropy(shares: Any) -> Any:
    return -(shares * np.log2(np.where(shares > 0, shares, 1.0))).sum(axis=1)


IMPURITY = {"gini": _gini, "entropy": _entropy, "log_loss": _entropy}


class DecisionTreeRegressor(TreeMethods, Regressor):
    """A tree of questions about single columns, with the mean of the target at its leaves.

    Parameters
    ----------
    criterion
        "squared_error" and "friedman_mse" lower the variance, "poisson" the deviance of counts.
    splitter
        "best" takes the best cut of a column.
    max_depth
        most questions on a way down; None for no limit.
    min_samples_split, min_samples_leaf
        least rows of a node that is divided, and of a leaf; a fraction is a share of all rows.
    min_weight_fraction_leaf
        least share of the total weight in a leaf.
    max_features
        columns tried at a node, drawn at random: a number, a share, "sqrt", "log2", or None for all.
    random_state
        seed of the draws of columns.
    max_leaf_nodes
        most leaves; the nodes that gain most are divided first.
    min_impurity_decrease
        least fall of the impurity by a cut, a share of the root's weight.
    ccp_alpha
        price of a leaf: the tree is cut back to the one of least risk + ccp_alpha x leaves.
    monotonic_cst
        only None is taken.

    Attributes
    ----------
    tree_
        the nodes, under scikit-learn's names.
    feature_importances_
        share of each column in the fall of the impurity.
    max_features_
        columns tried at a node.
    n_outputs_
        number of outputs: one.

    Examples
    --------
    >>> from fivefold.tree import DecisionTreeRegressor
    >>> model = DecisionTreeRegressor(max_depth=1).fit([[1.0], [2.0], [8.0], [9.0]], [1.0, 1.0, 3.0, 5.0])
    >>> model.predict([[0.0], [20.0]])
    array([1., 4.])
    """

    _: KW_ONLY
    criterion: Literal["squared_error", "friedman_mse", "poisson"] = "squared_error"
    splitter: Literal["best"] = "best"
    max_depth: Count | None = None
    min_samples_split: MinSplit = 2
    min_samples_leaf: MinLeaf = 1
    min_weight_fraction_leaf: MinWeight = 0.0
    max_features: MaxFeatures = None
    random_state: Seed = None
    max_leaf_nodes: Leaves = None
    min_impurity_decrease: NonNegative = 0.0
    ccp_alpha: NonNegative = 0.0
    monotonic_cst: None = None

    takes = Takes(missing=True)
    card = Card(
        applications=("regression",),
        use="Steps and interactions that a linear surface misses, columns of any scale, missing values. Alone it is "
        "rough; limit its depth or prune it.",
        steps=(
            "Sort every column once.",
            "Divide the node at the cut that lowers the variance most; missing values go to the better side.",
            "Go on in both parts until the target is constant or the rows are few.",
        ),
        source="Breiman, Friedman, Olshen & Stone (1984)",
        see_also=("DecisionTreeClassifier", "Ridge"),
        variants=({"max_leaf_nodes": 5}, {"max_features": 0.5, "ccp_alpha": 0.01}),
        search={"max_depth": (2, 4, 8, 16, None), "min_samples_leaf": (1, 5, 20)},
        portfolio=True,
    )

    tree_ = learned("view")
    feature_importances_ = learned("importances")
    max_features_ = learned("tried")
    n_outputs_ = 1

    def _fit(self, X: Any, y: Any, w: Any) -> None:
        y = y.astype(np.float64)
        seed = int(check_random_state(self.random_state).randint(2**31))
        centre = 0.0 if self.criterion == "poisson" else float(w @ y / w.sum())  # about it squares keep their digits
        criterion = Deviance(y, w) if self.criterion == "poisson" else Squares(y - centre, w)
        if self.criterion == "poisson" and ((y < 0).any() or y.sum() == 0):
            raise ValueError(
                f"DecisionTreeRegressor: criterion='poisson' needs counts, none negative and not all zero; the least "
                f"of y is {y.min():g}, their sum {y.sum():g}"
            )
        grown = grow(X, criterion, rules_of(self, X, w, seed), leaves=self.max_leaf_nodes or 0)
        extra = _x_log_x(y) if self.criterion == "poisson" else (y - centre) ** 2
        weight, total, extra = grown.sums(w, w * (y - centre), w * extra).T
        mean = total / weight
        impurity = _deviance(weight, total, extra) if self.criterion == "poisson" else extra / weight - mean**2
        tried = columns_tried(self.max_features, X.shape[1])
        value = (mean + centre)[:, None]
        model = TreeModel(grown.tree, value, np.maximum(impurity, 0.0), weight, X.shape[1], tried)
        self.model_ = model.pruned(self.ccp_alpha)

    def predict(self, X: Any, check_input: bool = True) -> Any:
        """The mean of the leaf of each row."""
        X = self._admit(X)
        return self.model_.answers(X)[:, 0]


def _x_log_x(y: Any) -> Any:
    return y * np.log(np.where(y > 0, y, 1.0))


def _deviance(weight: Any, total: Any, extra: Any) -> Any:
    return (extra - total * np.log(np.where(total > 0, total, 1.0) / weight)) / weight
