"""Forests that learn a target: class shares, or numbers; scored on the rows that trees did not see."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.metrics import r2_score

from fivefold.core.admission.places import move_to_host, without_tensor_path
from fivefold.core.admission.takes import Takes
from fivefold.core.chunks.chunked_array import is_chunked
from fivefold.core.estimators.params import Count, Index, NonNegative, Seed
from fivefold.core.estimators.supervised_learning import class_weights
from fivefold.core.numerics.arrays import is_tensor, to_numpy
from fivefold.core.types import (
    Array,
    Codes,
    Doubles,
    Labels,
    Matrix,
    Table,
    Target,
    UserTable,
    UserTarget,
    UserWeights,
    Weights,
)
from fivefold.ensemble.forests.base import Forest, ForestMethods, MaxSamples, OobScore
from fivefold.ensemble.forests.chunked_forest import grow_chunked_forest, unknown_setting
from fivefold.ensemble.forests.device_samples import forest_host_reason
from fivefold.ensemble.forests.sampled_rows import whole_table
from fivefold.ensemble.members.bootstrap_bag import oob_attribute
from fivefold.ensemble.members.warm_start import EarlierFit, ForestTree
from fivefold.partition.histograms.tree_walks import walks_on_device
from fivefold.tree.shared.base import MaxFeatures, MaxLeaves, MinLeaf, MinSplit, MinWeight
from fivefold.tree.shared.single_column_trees import BaseTreeClassifier
from fivefold.tree.shared.tree_targets import ClassTarget, NumberTarget


@dataclass(eq=False, repr=False)
class SupervisedForest(ForestMethods):
    """A forest that learns a target, and can be scored on the rows left out of the samples."""

    n_estimators: Count = 100
    _: KW_ONLY
    criterion: str = ""
    max_depth: Count | None = None
    min_samples_split: MinSplit = 2
    min_samples_leaf: MinLeaf = 1
    min_weight_fraction_leaf: MinWeight = 0.0
    max_features: MaxFeatures = None
    max_leaf_nodes: MaxLeaves = None
    min_impurity_decrease: NonNegative = 0.0
    bootstrap: bool = False
    oob_score: OobScore = False
    n_jobs: int | None = None
    random_state: Seed = None
    verbose: Index | bool = 0
    warm_start: bool = False

    takes: ClassVar[Takes]
    oob_score_ = oob_attribute("oob.score")
    _oob_answers = oob_attribute("oob.answers")

    @with_callbacks
    def fit(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None) -> Self:
        """Learn from rows and their targets; a weight of two means a row is there twice."""
        if is_tensor(X) and self.takes.tensors and np.ndim(y) > 1:
            move_to_host(self, X, "targets in columns have no path for tensors")
            X, y = to_numpy(X), to_numpy(y)
        self._fit_admitted(X, y, sample_weight)
        return self._note_idle_rows(X, sample_weight)

    def _host_reason(self, X: Table) -> str:
        unknown, _ = unknown_setting(self)
        asked = {"warm_start=True": self.warm_start, unknown: bool(unknown)}
        return without_tensor_path(asked) or forest_host_reason(X, self.max_leaf_nodes, self.max_depth)

    def _admit(self, X: UserTable) -> Table:
        """Tensors stay on a device, unless trees cut sets of categories, which only the host knows."""
        mixed_into: Any = super()  # of the class it is mixed into
        X = mixed_into._admit(X)
        return X if is_tensor(X) and walks_on_device(X) and self.model_.trees.set_start is None else to_numpy(X)

    def _whole_table(self, X: Any, y: Any, w: Any, earlier: EarlierFit | None) -> tuple[Table, Target, Weights] | None:
        """The rows of a table in chunks as arrays, where they fit into memory; None where they do not."""
        whole = whole_table(X, y, w)
        if whole is None and earlier is not None:
            raise ValueError(
                f"{type(self).__name__}: warm_start=True continues on a table in memory only; fit anew to the chunks"
            )
        return whole


@dataclass(eq=False, repr=False)
class BaseForestClassifier(SupervisedForest):
    """A forest that predicts class shares.

    Parameters
    ----------
    criterion
        impurity of a node: "gini", or "entropy" (also called "log_loss").
    oob_score
        whether to score the forest on the rows that trees did not see: by accuracy, or by a function of the codes of
        the true and the predicted classes.
    class_weight
        class weights, by which rows are drawn; "balanced", or "balanced_subsample" for weights computed within each
        sample.
    monotonic_cst
        per column: 1 if the probability of the second class must not fall along it, -1 if it must not rise, else 0.
    voting
        "soft" averages the class shares of the leaves; "hard" lets each tree vote for the most common class of the leaf
        (the first in a tie) and averages the votes.

    Attributes
    ----------
    oob_score_, oob_decision_function_
        accuracy on the rows that trees did not see, and the class shares those trees predict.
    classes_, n_classes_, n_outputs_
        the labels, their number, and the number of outputs; for several outputs, lists of the first two.
    """

    _: KW_ONLY
    criterion: Literal["gini", "entropy", "log_loss"] = "gini"
    max_features: MaxFeatures = "sqrt"
    class_weight: Any = None  # dictionaries by label, of whatever type, or names
    ccp_alpha: NonNegative = 0.0
    max_samples: MaxSamples = None
    monotonic_cst: Any = None  # anything that becomes an array
    voting: Literal["soft", "hard"] = "soft"

    @property
    def n_classes_(self) -> int | list[int]:
        """Number of classes; a list for several outputs."""
        return len(self.classes_) if self.n_outputs_ == 1 else [len(classes) for classes in self.classes_]

    @property
    def oob_decision_function_(self) -> Array | list[Array]:
        """Class shares by trees that did not see a row: (n, K), or (n, K, outputs) if all outputs have K classes."""
        answers, trees = self._oob_answers, self.model_.trees
        if trees.outputs == 1:
            return answers
        each = trees.split_outputs(answers)
        return np.stack(each, axis=2) if len(set(trees.sizes)) == 1 else each

    def _fold(self, y: Target, codes: Codes, w: Weights) -> Weights:
        """Class weights decide which rows are drawn, not how many: they are kept separate."""
        return w

    def _class_factors(self, weight: Doubles) -> None:
        """Likewise for a table in chunks."""

    def _fit(self, X: Table, y: Target, w: Weights, earlier: EarlierFit | None = None) -> None:
        whole = self._whole_table(X, y, w, earlier) if is_chunked(X) else (X, y, w)
        if whole is None or is_tensor(X):
            self.model_ = grow_chunked_forest(self, X, y, w, len(self.classes_))
            return
        X, y, w = whole
        each = (self.classes_,) if y.ndim == 1 else tuple(self.classes_)
        rule, balanced, factors, codes = self.class_weight, False, None, y.reshape(len(y), -1)
        if isinstance(rule, str) and rule == "balanced_subsample":
            rule, balanced = "balanced", self.bootstrap
        if rule is not None and not balanced:
            factors = np.ones(len(y))
            for own, classes, c in zip(_rules(rule, each), each, codes.T, strict=True):
                factors *= class_weights(own, classes, c, w)[c]
        self._fit_trees(X, ClassTarget(codes, tuple(map(len, each)), self.criterion, factors, balanced), w, earlier)

    def predict_proba(self, X: UserTable) -> Matrix | list[Matrix]:
        """The mean of the class shares, or of the votes, over the trees; a list for several outputs."""
        return self._scores(self._admit(X))

    def predict_log_proba(self, X: UserTable) -> Matrix | list[Matrix]:
        """Their logarithms."""
        shares = self.predict_proba(X)
        if is_tensor(shares):
            return shares.log()
        with np.errstate(divide="ignore"):
            return [np.log(s) for s in shares] if isinstance(shares, list) else np.log(shares)

    def _scores(self, X: Table) -> Matrix | list[Matrix]:
        trees = self.model_.trees
        shares = trees.mean(X, self._values(self.model_))
        shares = shares.to(X.dtype) if is_tensor(shares) else shares.astype(X.dtype, copy=False)
        return shares if trees.outputs == 1 else trees.split_outputs(shares)

    def _values(self, forest: Forest) -> Array:
        return forest.votes if self.voting == "hard" else forest.trees.value

    def _score(self, target: ClassTarget, forest: Forest, answers: Array) -> float:
        predicted = np.stack([a.argmax(axis=1) for a in forest.trees.split_outputs(answers)], axis=1)
        if callable(self.oob_score):
            return float(self.oob_score(*_flat(target.y, predicted)))
        return float((predicted == target.y).all(axis=1).mean())

    def _member(self, i: int) -> ForestTree:
        tree, counts = super()._member(i), self.model_.trees.sizes
        assert isinstance(tree, BaseTreeClassifier)
        tree.classes_ = [np.arange(float(K)) for K in counts] if len(counts) > 1 else np.arange(float(counts[0]))
        return tree


def _rules(rule: Any, each: tuple[Labels, ...]) -> Sequence[Any]:  # as `class_weight`
    """The class weights of each output."""
    return rule if isinstance(rule, list | tuple) else [rule] * len(each)


@dataclass(eq=False, repr=False)
class BaseForestRegressor(SupervisedForest):
    """A forest that predicts numbers.

    Parameters
    ----------
    criterion
        "squared_error" and "friedman_mse" reduce the variance, "poisson" the deviance of counts; leaves predict the
        mean. "absolute_error" reduces the absolute deviation from the median, which leaves predict; "max_error" the
        largest error about the midrange.
    oob_score
        whether to score the forest on the rows that trees did not see: by R^2, or by a function of the true and the
        predicted targets.
    monotonic_cst
        per column: 1 if the prediction must not fall along it, -1 if it must not rise, else 0.

    Attributes
    ----------
    oob_score_, oob_prediction_
        R^2 on the rows that trees did not see, and what those trees predict.
    n_outputs_
        number of outputs.
    """

    _: KW_ONLY
    criterion: Literal["squared_error", "friedman_mse", "absolute_error", "poisson", "max_error"] = "squared_error"
    max_features: MaxFeatures = 1.0
    ccp_alpha: NonNegative = 0.0
    max_samples: MaxSamples = None
    monotonic_cst: Any = None  # anything that becomes an array

    def _fit(self, X: Table, y: Target, w: Weights, earlier: EarlierFit | None = None) -> None:
        whole = self._whole_table(X, y, w, earlier) if is_chunked(X) else (X, y, w)
        if whole is None or is_tensor(X):
            self.model_ = grow_chunked_forest(self, X, y, w, 0)
            return
        X, y, w = whole
        self._fit_trees(X, NumberTarget.of(y, w, self.criterion, type(self).__name__), w, earlier)

    def predict(self, X: UserTable) -> Array:
        """The mean prediction of the trees."""
        rows = self._admit(X)
        values = self.model_.trees.mean(rows, self.model_.trees.value)
        values = values[:, 0] if values.shape[1] == 1 else values
        if not is_tensor(X):
            return values  # float64, as scikit-learn
        return values.to(rows.dtype) if is_tensor(values) else values.astype(rows.dtype)

    @property
    def oob_prediction_(self) -> Array:
        """What trees predict for the rows they did not see."""
        answers = self._oob_answers
        return answers[:, 0] if answers.shape[1] == 1 else answers

    def _score(self, target: NumberTarget, forest: Forest, answers: Array) -> float:
        return float((self.oob_score if callable(self.oob_score) else r2_score)(*_flat(target.y, answers)))


def _flat(*tables: Target) -> Iterator[Target]:
    return (t[:, 0] if t.shape[1] == 1 else t for t in tables)
