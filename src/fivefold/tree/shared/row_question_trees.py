"""What trees share whose nodes ask about a whole row: categories as 0/1 columns, answers, pruning.

A class of trees defines how a question is found: `_finder(rng)` returns a function from a `row_questions.nodes.Node` to
a question, or to None for a leaf. The rest is here: the table that questions read, the growth limits, the class shares
(or the means) of every node, cost-complexity pruning and the exports.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

import numpy as np

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, NonNegative, Seed
from fivefold.core.estimators.supervised_learning import Classifier, Regressor
from fivefold.core.random_state import check_random_state
from fivefold.core.types import Array, Indices, Mask, Matrix, Rng, Table, Target, UserTable, Vector, Weights
from fivefold.partition.criteria.classification_criteria import Entropy, Gini, Misclassification
from fivefold.partition.criteria.regression_criteria import SquaredError
from fivefold.partition.pruning.cost_complexity import PruningPath, weakest_links
from fivefold.partition.row_questions.nodes import GrownRowQuestions, Node, Question, RowQuestionTree, grow_nodes
from fivefold.tree.export.row_question_export import RowTreeExports
from fivefold.tree.shared.base import MinLeaf, MinSplit, MinWeight, PruningMethods, growth_limits
from fivefold.tree.shared.tree_targets import CLASS_CRITERIA, IMPURITY_FUNCTIONS

Finder = Callable[[Node], Question | None]


@dataclass(frozen=True)
class DummyLayout:
    """A table as questions read it: a column of categories becomes one 0/1 column per category."""

    source: tuple[int, ...]  # the column of the table that each column comes from
    level: tuple[int, ...]  # the category that it indicates, -1 for a column of numbers

    @classmethod
    def of(cls, d: int, categories: dict[int, tuple[object, ...]]) -> DummyLayout:
        """The layout for d columns, of which some hold categories."""
        pairs = [(j, level) for j in range(d) for level in (range(len(categories[j])) if j in categories else (-1,))]
        return cls(tuple(j for j, _ in pairs), tuple(level for _, level in pairs))

    def table(self, X: Table) -> Matrix:
        """X (n, d) with its categories as 0/1 columns, in the type of X."""
        if max(self.level, default=-1) < 0:
            return X
        level = np.array(self.level)
        out = X[:, self.source]
        return np.where(level < 0, out, out == level).astype(X.dtype)


@dataclass(frozen=True)
class RowTreeModel:
    """A tree with the answer, the impurity and the weight of every node."""

    tree: RowQuestionTree
    value: Array  # (m, K) shares of the classes, or (m, 1) means
    impurity: Array  # (m,)
    weight: Array  # (m,)
    columns: int  # of the table, before categories become 0/1 columns
    layout: DummyLayout

    def apply(self, X: Table) -> Indices:
        """The leaf of each row."""
        return self.tree.apply(self.layout.table(X))

    def answers(self, X: Table) -> Matrix:
        """The answer of the leaf of each row, in the type of X."""
        return self.value.astype(X.dtype, copy=False)[self.apply(X)]

    def pruning_path(self) -> PruningPath:
        """The sequence of trees that cost-complexity pruning gives."""
        return weakest_links(self.tree.parent, self.impurity * self.weight / self.weight[0])

    def pruned(self, alpha: float) -> RowTreeModel:
        """The smallest tree of least risk + alpha x leaves."""
        if alpha <= 0 or len(self.tree) == 1:
            return self
        return self.prune(self.pruning_path().leaves(alpha, len(self.tree)))

    def prune(self, leaves: Mask) -> RowTreeModel:
        """The tree with these nodes (a mask) as leaves."""
        tree, kept = self.tree.prune(leaves)
        return replace(self, tree=tree, value=self.value[kept], impurity=self.impurity[kept], weight=self.weight[kept])


class RowTreeMethods(PruningMethods, RowTreeExports):
    """What every fitted tree of questions about whole rows can be asked.

    Attributes
    ----------
    tree_
        the nodes: questions, parents, depths.
    """

    model_: RowTreeModel

    tree_ = learned("tree")

    def apply(self, X: UserTable) -> Indices:
        """The index of the leaf of each row."""
        X = self._admit(X)
        return self.model_.apply(X)


@dataclass(eq=False, repr=False, kw_only=True)
class BaseRowTree(RowTreeMethods):
    """Parameters of trees of questions about whole rows, and how they grow.

    Parameters
    ----------
    deletion
        for "cart": a column is left out where its part in the gain is below this share of the largest part.
    restarts, jumps
        for "oc1": starts, the first at the best cut of one column; and random directions tried where no weight helps.
    random_state
        seed of starts and jumps.
    """

    max_depth: Count | None = None
    min_samples_split: MinSplit = 2
    min_samples_leaf: MinLeaf = 1
    min_weight_fraction_leaf: MinWeight = 0.0
    random_state: Seed = None
    min_impurity_decrease: NonNegative = 0.0

    takes = Takes(categories=True)

    def _finder(self, rng: Rng) -> Finder:
        raise TypeError(f"{type(self).__name__} does not define how questions are found")

    def _grow(
        self, X: Table, criterion: Gini | Entropy | Misclassification | SquaredError
    ) -> tuple[GrownRowQuestions, DummyLayout]:
        """The tree that the parameters ask for, and the layout of the table it reads."""
        known = vars(self)["categories_in_"].values if "categories_in_" in vars(self) else {}
        layout = DummyLayout.of(X.shape[1], known)
        finder = self._finder(check_random_state(self.random_state))
        return grow_nodes(layout.table(X), criterion, finder, growth_limits(self, X, criterion.w)), layout


class BaseRowTreeClassifier(
    BaseRowTree,
    Classifier,
    keywords="criterion max_depth min_samples_split min_samples_leaf min_weight_fraction_leaf random_state "
    "min_impurity_decrease class_weight ccp_alpha",
):
    """A tree of questions about whole rows with the shares of the classes at its leaves.

    Parameters
    ----------
    criterion
        impurity of a node: "gini", "entropy" (also called "log_loss") or "error".
    min_impurity_decrease
        minimum fall of the impurity by a question, weighted by the node's share of all rows.
    random_state
        accepted for compatibility with the other trees and ignored: nothing is random.
    reduction
        features of a node: None for all columns, "select" for the columns that separate the classes best there, "pca"
        or "lda" for axes of the rows there.
    n_components
        number of features of a node: a number, a share of the spread (between classes for "select" and "lda"), or
        None for one per ten rows.

    Attributes
    ----------
    classes_
        the labels.
    """

    _: KW_ONLY
    criterion: Literal["gini", "entropy", "log_loss", "error"] = "gini"
    class_weight: Any = None  # a dictionary by label, of whatever type; "balanced"
    ccp_alpha: NonNegative = 0.0

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        grown, layout = self._grow(X, CLASS_CRITERIA[self.criterion](y.astype(np.int32), w, len(self.classes_)))
        weight = grown.sums.sum(axis=1)
        shares = grown.sums / weight[:, None]
        model = RowTreeModel(grown.tree, shares, IMPURITY_FUNCTIONS[self.criterion](shares), weight, X.shape[1], layout)
        self.model_ = model.pruned(self.ccp_alpha)

    def predict_proba(self, X: UserTable) -> Matrix:
        """The shares of the classes in the leaf of each row."""
        return self._scores(self._admit(X))

    def predict_log_proba(self, X: UserTable) -> Matrix:
        """Their logarithms."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _scores(self, X: Table) -> Matrix:
        return self.model_.answers(X)

    def _node_scores(self) -> Matrix:
        """The scores (m, K) whose largest decides the answer of each node."""
        return self.model_.value


class BaseRowTreeRegressor(BaseRowTree, Regressor):
    """A tree of questions about whole rows with means at its leaves."""

    _: KW_ONLY
    ccp_alpha: NonNegative = 0.0

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        y = y.astype(np.float64)
        centre = float(w @ y / w.sum())  # centred squares keep their digits
        grown, layout = self._grow(X, SquaredError(y - centre, w))
        weight, total, squares = grown.sums.T
        mean = total / weight
        spread = np.maximum(squares / weight - mean**2, 0.0)
        model = RowTreeModel(grown.tree, (mean + centre)[:, None], spread, weight, X.shape[1], layout)
        self.model_ = model.pruned(self.ccp_alpha)

    def predict(self, X: UserTable) -> Vector:
        """The mean of the leaf of each row."""
        X = self._admit(X)
        return self.model_.answers(X)[:, 0]
