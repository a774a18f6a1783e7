"""From the parameters of a tree to a fitted one: its criterion, how it grows, the answers of its nodes.

A class of trees declares the parameters; `ClassTree` and `NumberTree` read them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fivefold.core.estimators.base import learned
from fivefold.core.estimators.supervised_learning import Classifier, Regressor
from fivefold.core.types import Codes, Table, Target, UserTable, Weights
from fivefold.partition.criteria.classification_criteria import (
    BinaryGini,
    Entropy,
    ExpectedCost,
    Gini,
    Misclassification,
)
from fivefold.partition.criteria.multi_output import multi_output
from fivefold.partition.criteria.order_statistics import MaxError, absolute_error, medians, midranges
from fivefold.partition.criteria.regression_criteria import PoissonDeviance, SquaredError, round_centre
from fivefold.partition.criteria.tabulated_entropy import tabulate_entropy
from fivefold.partition.growers.binary_grower import grow, grow_random_tree
from fivefold.partition.splitters.base import unit_weight
from fivefold.partition.tree_arrays.binary_tree import GrownTree
from fivefold.tree.shared.base import (
    TreeMethods,
    TreeModel,
    class_counts,
    clip_monotonic,
    columns_tried,
    constraints_of,
    growth_limits,
    seed_of,
)

# Chi-squares: three standard errors, and no evidence ever
MISSING_CHI_SQUARES = {"learned": 0.0, "tested": 9.0, "majority": np.inf}


def _grow(estimator: Any, X: Table, w: Weights, criterion: Any, constraints: Any) -> GrownTree:
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

    missing = "learned"  # where missing values go; trees of drawn thresholds have no choice

    tree_ = learned("view")
    feature_importances_ = learned("importances")
    max_features_ = learned("tried")
    n_outputs_ = learned("outputs")

    @property
    def n_classes_(self) -> Any:
        return class_counts(self.classes_, self.n_outputs_)

    def _fit(self: Any, X: Table, y: Target, w: Weights) -> None:
        each = [self.classes_] if y.ndim == 1 else self.classes_
        sizes = tuple(len(classes) for classes in each)
        codes = y.reshape(len(y), -1)
        loss = self._losses(sizes)
        constraints = constraints_of(self, X, w, means=sizes == (2,) and loss is None)
        grown = _grow(self, X, w, _class_criterion(self.criterion, codes, w, sizes, loss), constraints)
        shares, impurities = [], []
        for code, K in zip(codes.T, sizes, strict=True):
            counts = grown.counts(code, w, K)
            weight = counts.sum(axis=1)
            shares.append(counts / weight[:, None])
            impurities.append(
                (shares[-1] @ loss.T).min(axis=1)
                if loss is not None
                else IMPURITY_FUNCTIONS[self.criterion](shares[-1])
            )
        if constraints is not None and constraints.sign.any():
            second = clip_monotonic(grown.tree, shares[0][:, 1], constraints.sign)
            shares = [np.stack([1 - second, second], axis=1)]
        tried, value = columns_tried(self.max_features, X.shape[1]), np.concatenate(shares, axis=1)
        model = TreeModel(grown.tree, value, np.mean(impurities, axis=0), weight, X.shape[1], tried, sizes)
        self.model_ = model.pruned(self.ccp_alpha)

    def predict_proba(self, X: UserTable, check_input: bool = True) -> Any:
        """The shares of the classes in the leaf of each row; a list for several outputs."""
        return self._shares(self._admit(X))

    def predict_log_proba(self, X: UserTable) -> Any:
        """Their logarithms."""
        shares = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return [np.log(s) for s in shares] if isinstance(shares, list) else np.log(shares)

    def _shares(self, X: Table) -> Any:
        answers = self.model_.answers(X)
        return answers if self.n_outputs_ == 1 else self.model_.each(answers)

    def predict(self: Any, X: UserTable, check_input: bool = True) -> Any:
        """The likeliest class of each row, or the cheapest answer where the criterion is "risk"."""
        X = self._admit(X)
        leaf, scores = self.model_.tree.apply(X), self.model_.each(self._node_scores())
        each = [self.classes_] if self.n_outputs_ == 1 else self.classes_
        labels = [classes[score.argmax(axis=1)][leaf] for classes, score in zip(each, scores, strict=True)]
        return labels[0] if self.n_outputs_ == 1 else np.stack(labels, axis=1)

    def _node_scores(self: Any) -> Any:
        """What every node answers by, the largest of each output: shares, or costs with the sign turned."""
        value = self.model_.value
        return value if self.criterion != "risk" else -value @ self._losses(self.model_.sizes).T

    def _losses(self: Any, sizes: tuple[int, ...]) -> Any:
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


def _class_criterion(kind: str, codes: Codes, w: Weights, sizes: tuple[int, ...], loss: Any) -> Any:
    """The criterion of a tree of classes."""
    if loss is not None:
        return ExpectedCost(codes[:, 0].astype(np.int32), w, loss)
    if len(sizes) > 1:
        return multi_output(CLASS_CRITERIA[kind](np.ascontiguousarray(codes.T, dtype=np.int32), w, np.array(sizes)))
    if kind == "gini" and sizes[0] == 2 and (w == 1).all():
        return BinaryGini(codes[:, 0].astype(np.uint8))
    return tabulate_entropy(CLASS_CRITERIA[kind](codes[:, 0].astype(np.int32), w, sizes[0]))


def _gini(shares: Any) -> Any:
    return 1.0 - (shares**2).sum(axis=1)


def _entropy(shares: Any) -> Any:
    return -(shares * np.log2(np.where(shares > 0, shares, 1.0))).sum(axis=1)


def _error(shares: Any) -> Any:
    return 1.0 - shares.max(axis=1)


CLASS_CRITERIA: dict[str, Any] = {"gini": Gini, "entropy": Entropy, "log_loss": Entropy, "error": Misclassification}
IMPURITY_FUNCTIONS = {"gini": _gini, "entropy": _entropy, "log_loss": _entropy, "error": _error}


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
    """

    missing = "learned"  # where missing values go; trees of drawn thresholds have no choice

    tree_ = learned("view")
    feature_importances_ = learned("importances")
    max_features_ = learned("tried")
    n_outputs_ = learned("outputs")

    def _fit(self: Any, X: Table, y: Target, w: Weights) -> None:
        Y = np.ascontiguousarray(y.reshape(len(y), -1).T, dtype=np.float64)  # (outputs, n)
        make, answer, centred = NUMBER_CRITERIA[self.criterion]
        if self.criterion == "poisson":
            self._refuse_negative(Y)
        centre = round_centre(Y, w) if centred else np.zeros(len(Y))  # about it squares keep their digits
        Y = Y - centre[:, None]
        constraints = constraints_of(self, X, w, means=len(Y) == 1 and answer is not _middle)
        grown = _grow(self, X, w, multi_output(make(Y, w)) if len(Y) > 1 else make(Y[0], w), constraints)
        weight = grown.sums(w)[:, 0]
        values, impurities = zip(*(answer(grown, t, w) for t in Y), strict=True)
        if constraints is not None and constraints.sign.any():
            values = (clip_monotonic(grown.tree, values[0], constraints.sign),)
        value, impurity = np.stack(values, axis=1) + centre, np.maximum(np.mean(impurities, axis=0), 0.0)
        tried, sizes = columns_tried(self.max_features, X.shape[1]), (1,) * len(Y)
        model = TreeModel(grown.tree, value, impurity, weight, X.shape[1], tried, sizes)
        self.model_ = model.pruned(self.ccp_alpha)

    def predict(self, X: UserTable, check_input: bool = True) -> Any:
        """The answer of the leaf of each row."""
        X = self._admit(X)
        answers = self.model_.answers(X)
        return answers[:, 0] if self.n_outputs_ == 1 else answers

    def _refuse_negative(self, Y: Target) -> None:
        if (Y < 0).any() or (Y.sum(axis=1) == 0).any():
            raise ValueError(
                f"{type(self).__name__}: criterion='poisson' needs counts, none negative and not all zero; the least "
                f"of y is {Y.min():g}, their sum {Y.sum():g}"
            )


def _mean(grown: GrownTree, y: Target, w: Weights) -> tuple[Any, Any]:
    weight, total, squares = grown.sums(w, w * y, w * y**2).T
    return total / weight, squares / weight - (total / weight) ** 2


def _rate(grown: GrownTree, y: Target, w: Weights) -> tuple[Any, Any]:
    weight, total, extra = grown.sums(w, w * y, w * y * np.log(np.where(y > 0, y, 1.0))).T
    return total / weight, (extra - total * np.log(np.where(total > 0, total, 1.0) / weight)) / weight


def _median(grown: GrownTree, y: Target, w: Weights) -> tuple[Any, Any]:
    return medians(grown, y, w)


def _middle(grown: GrownTree, y: Target, w: Weights) -> tuple[Any, Any]:
    return midranges(grown, y)


# the criterion, the answer and the impurity of every node, and whether targets are centred first
NUMBER_CRITERIA = {
    "squared_error": (SquaredError, _mean, True),
    "friedman_mse": (SquaredError, _mean, True),
    "absolute_error": (absolute_error, _median, True),
    "poisson": (PoissonDeviance, _rate, False),
    "max_error": (MaxError, _middle, True),
}
