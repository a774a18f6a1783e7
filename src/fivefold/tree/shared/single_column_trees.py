"""Bases of the trees that ask about single columns: their parameters, and how a tree is fitted by them."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np

from fivefold.core.estimators.params import NonNegative
from fivefold.core.estimators.supervised_learning import Classifier, Regressor
from fivefold.core.types import Array, Labels, Matrix, Table, Target, UserTable, Weights
from fivefold.partition.criteria.base import Criterion
from fivefold.partition.criteria.tabulated_entropy import tabulate_entropy
from fivefold.partition.growers.binary_grower import grow, grow_random_tree
from fivefold.partition.splitters.base import ColumnConstraints, unit_weight
from fivefold.partition.tree_arrays.binary_tree import GrownTree
from fivefold.tree.shared.base import (
    TreeMethods,
    TreeModel,
    class_counts,
    columns_tried,
    constraints_of,
    growth_limits,
    seed_of,
)
from fivefold.tree.shared.tree_targets import ClassTarget, NumberTarget, TreeTarget

# Chi-squares: three standard errors, and no evidence ever
MISSING_CHI_SQUARES = {"learned": 0.0, "tested": 9.0, "majority": np.inf}


def _grow(
    estimator: BaseTreeClassifier | BaseTreeRegressor,
    X: Table,
    w: Weights,
    criterion: Criterion,
    constraints: ColumnConstraints | None,
) -> GrownTree:
    """The tree that the parameters ask for."""
    rules = growth_limits(estimator, X, w, seed_of(estimator))._replace(
        min_impurity=float(estimator.min_impurity),
        missing_chi_square=MISSING_CHI_SQUARES[estimator.missing] * unit_weight(w),
    )
    leaves = estimator.max_leaf_nodes or 0
    if estimator.splitter == "random":
        if rules.missing_chi_square > 0:
            raise ValueError(
                f"{type(estimator).__name__}: missing={estimator.missing!r} needs splitter='best': with thresholds "
                "drawn at random missing values go to the side that gains more; leave missing='learned'"
            )
        rows = np.arange(X.shape[0], dtype=np.int32)
        return grow_random_tree(X, rows, criterion, rules, leaves=leaves, constraints=constraints)
    return grow(X, criterion, rules, leaves=leaves, constraints=constraints)


def _fit_tree(
    estimator: BaseTreeClassifier | BaseTreeRegressor, X: Table, target: TreeTarget, w: Weights, criterion: Criterion
) -> TreeModel:
    """The fitted tree: grown, with the answers of its nodes, and pruned."""
    constraints = constraints_of(estimator, X, w, means=target.is_single_mean)
    grown = _grow(estimator, X, w, criterion, constraints)
    sign = constraints.sign if constraints is not None and constraints.sign.any() else None
    value, impurity, weight = target.answers(grown, w, sign)
    tried = columns_tried(estimator.max_features, X.shape[1])
    model = TreeModel(grown.tree, value, impurity, weight, X.shape[1], tried, target.sizes)
    return model.pruned(estimator.ccp_alpha)


class BaseTreeClassifier(TreeMethods, Classifier):
    """A tree with the shares of the classes at its leaves.

    Parameters
    ----------
    criterion
        impurity of a node: "gini", "entropy" (also called "log_loss"), "error" (the share not of the commonest class),
        or "risk" (the mean cost of the cheapest answer, by `loss_matrix`).
    monotonic_cst
        per column: 1 where the probability of the second class must rise with it, -1 where it must fall, 0 elsewhere.
    loss_matrix
        cost of answering class i (row) where the true class is k (column), for "risk"; the cheapest class is predicted.

    Attributes
    ----------
    n_classes_, n_outputs_
        number of classes, or a list of numbers for several outputs, and number of outputs.
    """

    _: KW_ONLY
    criterion: Literal["gini", "entropy", "log_loss", "error", "risk"] = "gini"
    class_weight: Any = None  # a dictionary by label, of whatever type; "balanced"
    ccp_alpha: NonNegative = 0.0
    monotonic_cst: Any = None  # anything that becomes an array
    min_impurity: NonNegative = 0.0
    loss_matrix: Any = None  # anything that becomes an array

    @property
    def n_classes_(self) -> np.int64 | list[np.int64]:
        return class_counts(self.classes_, self.n_outputs_)

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        each = [self.classes_] if y.ndim == 1 else self.classes_
        sizes = tuple(len(classes) for classes in each)
        target = ClassTarget(y.reshape(len(y), -1), sizes, self.criterion, loss=self._losses(sizes))
        self.model_ = _fit_tree(self, X, target, w, tabulate_entropy(target.criterion(w)))

    def predict_proba(self, X: UserTable, check_input: bool = True) -> Matrix | list[Matrix]:
        """The shares of the classes in the leaf of each row; a list for several outputs."""
        return self._shares(self._admit(X))

    def predict_log_proba(self, X: UserTable) -> Matrix | list[Matrix]:
        """Their logarithms."""
        shares = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return [np.log(s) for s in shares] if isinstance(shares, list) else np.log(shares)

    def _shares(self, X: Table) -> Matrix | list[Matrix]:
        answers = self.model_.answers(X)
        return answers if self.n_outputs_ == 1 else self.model_.each(answers)

    def predict(self, X: UserTable, check_input: bool = True) -> Labels:
        """The likeliest class of each row, or the cheapest answer where the criterion is "risk"."""
        X = self._admit(X)
        leaf, scores = self.model_.tree.apply(X), self.model_.each(self._node_scores())
        each = [self.classes_] if self.n_outputs_ == 1 else self.classes_
        labels = [classes[score.argmax(axis=1)][leaf] for classes, score in zip(each, scores, strict=True)]
        return labels[0] if self.n_outputs_ == 1 else np.stack(labels, axis=1)

    def _node_scores(self) -> Matrix:
        """The scores whose largest decides the answer of a node, per output: shares, or costs with a minus sign."""
        value, loss = self.model_.value, self._losses(self.model_.sizes)
        return value if loss is None else -value @ loss.T

    def _losses(self, sizes: tuple[int, ...]) -> Matrix | None:
        """The costs of answers, (K, K), where the criterion looks at them, else None."""
        if self.criterion != "risk":
            return None
        loss = np.asarray([] if self.loss_matrix is None else self.loss_matrix, dtype=np.float64)
        if len(sizes) > 1 or loss.shape != (sizes[0], sizes[0]) or not (loss >= 0).all():
            raise ValueError(
                f"{type(self).__name__}: criterion='risk' needs one output, here {len(sizes)}, and loss_matrix: the "
                "cost of answering class i where it is k in row i, column k, none negative, "
                f"{sizes[0]} x {sizes[0]} numbers; got {self.loss_matrix!r}"
            )
        return loss


class BaseTreeRegressor(TreeMethods, Regressor):
    """A tree with numbers at its leaves: means, medians or middles, as the criterion asks.

    Parameters
    ----------
    criterion
        "squared_error" and "friedman_mse" lower the variance, "poisson" the deviance of counts; leaves predict the
        mean. "absolute_error" lowers the absolute deviation from the median, which leaves then predict; "max_error" the
        worst error about the middle of the range.
    monotonic_cst
        per column: 1 where the prediction must rise with it, -1 where it must fall, 0 elsewhere.

    Attributes
    ----------
    n_outputs_
        number of outputs.
    """

    _: KW_ONLY
    criterion: Literal["squared_error", "friedman_mse", "absolute_error", "poisson", "max_error"] = "squared_error"
    ccp_alpha: NonNegative = 0.0
    monotonic_cst: Any = None  # anything that becomes an array
    min_impurity: NonNegative = 0.0

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        target = NumberTarget.of(y, w, self.criterion, type(self).__name__)
        self.model_ = _fit_tree(self, X, target, w, target.criterion(w))

    def predict(self, X: UserTable, check_input: bool = True) -> Array:
        """The answer of the leaf of each row."""
        X = self._admit(X)
        answers = self.model_.answers(X)
        return answers[:, 0] if self.n_outputs_ == 1 else answers
