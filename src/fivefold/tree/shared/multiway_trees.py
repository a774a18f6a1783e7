"""What the classic trees of classes share: one multiway grower, of which ID3, C4.5 and CART are settings.

    choose the split of a node by gain or gain ratio, send every row into its branch, and go on in the branches

Splits and their scores are those of `growers.multiway_grower`; rows with missing values go by one of
`missing_values.policies`, and `partition.pruning` prunes the tree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, Fraction, Index, NonNegative, OpenFraction, Range
from fivefold.core.estimators.supervised_learning import Classifier
from fivefold.core.types import Array, Mask, Matrix, Table, Target, UserTable, UserWeights, Vector, Weights
from fivefold.partition.content_folds import content_folds
from fivefold.partition.criteria.classification_criteria import Entropy, Gini, Misclassification
from fivefold.partition.criteria.custom_impurity import CustomImpurity, check_axioms
from fivefold.partition.criteria.gain_ratio import weighted_impurity
from fivefold.partition.growers.multiway_grower import MultiwaySettings, grow_multiway
from fivefold.partition.pruning.cost_complexity import weakest_links
from fivefold.partition.pruning.error_based import error_based_pruning
from fivefold.partition.pruning.pruning_methods import (
    bottom_up,
    cheapest_merge_pruning,
    chi_square_pruning,
    mdl_pruning,
    pessimistic_pruning,
)
from fivefold.partition.tree_arrays.multiway_tree import MultiwayArrays, ValueCodes, value_codes
from fivefold.partition.tree_arrays.node_hierarchy import impurity_decreases, shares_of_total
from fivefold.tree.export.multiway_export import MultiwayExports
from fivefold.tree.shared.base import SizeMethods

Criterion = Literal["entropy", "gini", "error"] | Callable[[Matrix], Vector]
Pruning = (
    Literal["pessimistic", "error_based", "chi_square", "description_length", "cost_complexity", "cheapest_merges"]
    | None
)
HELD_OUT_DIVISOR = 4  # one in this many rows is held out to judge the alternatives of a node
MAX_BACKTRACK_TREES = 10_000  # subtrees that backtracking tries, at most
ClassCriterion = Entropy | Gini | Misclassification | CustomImpurity
CRITERIA: dict[str, Callable[..., ClassCriterion]] = {"entropy": Entropy, "gini": Gini, "error": Misclassification}


@dataclass(frozen=True)
class MultiwayModel:
    """A tree, the weight of each class in its nodes, and where rows go that lack a value."""

    tree: MultiwayArrays
    total: Array  # (m,) weight times impurity
    missing: str
    columns: int

    @property
    def counts(self) -> Matrix:
        """Weight of each class in every node (m, K)."""
        return self.tree.sums

    @cached_property
    def value(self) -> Matrix:
        """Shares of the classes in every node (m, K); a node that lost its rows in pruning answers as its parent."""
        counts, parent = self.counts.copy(), self.tree.parent
        for t in np.flatnonzero(counts.sum(axis=1) <= 0):
            counts[t] = counts[parent[t]]
        return counts / counts.sum(axis=1, keepdims=True)

    @cached_property
    def importances(self) -> Vector:
        """Share of each column in the total fall of the impurity."""
        return shares_of_total(impurity_decreases(self.tree.parent, self.tree.feature, self.total, self.columns))

    def answers(self, X: Table) -> Matrix:
        """Shares of the classes for each row, in the type of X."""
        return self.tree.answers(X, self.value, self.missing).astype(X.dtype, copy=False)

    def prune(self, leaves: Mask) -> MultiwayModel:
        """The tree with these nodes (a mask) as leaves."""
        tree, kept = self.tree.prune(leaves)
        return replace(self, tree=tree, total=self.total[kept])


class BaseMultiwayTree(SizeMethods, MultiwayExports, Classifier):
    """All settings of a classic tree; ID3, C4.5 and CART choose their defaults.

    Parameters
    ----------
    criterion
        impurity of a node: "entropy", "gini", the share of mistakes, "error", or a function of the shares of the
        classes, (m, K) -> (m,), that satisfies the axioms of `partition.criteria.custom_impurity`.
    selection
        "gain" chooses the split with the largest gain; "ratio", of those with at least average gain, the one with the
        largest gain ratio, with C4.5's price of a threshold.
    nominal
        a discrete column gives one branch per value ("values"), two "groups" of values, or one value against the rest
        ("dummies").
    thresholds
        thresholds of a numeric split: 1, or 2 for three branches.
    missing
        where a row with a missing value goes: by "fractions" into every branch, with the "majority" of the node, in fit
        with the majority of its "class", or, at splits with two branches, by the other columns that most often send
        rows the same way ("surrogates").
    pruning
        None, "pessimistic", "error_based" (pessimistic, and the largest branch may replace its parent), "chi_square",
        "description_length", "cost_complexity", or "cheapest_merges" (repeatedly the collapse that lowers impurity plus
        price most).
    confidence
        for pessimistic pruning, the probability that the true number of mistakes exceeds the limit that is used:
        smaller values prune more; for chi-square pruning, the significance level, which should be small where
        thresholds are the best of many.
    ccp_alpha
        price per leaf of "cost_complexity" and "cheapest_merges", in impurity per unit of the weight of all rows.
    min_samples_leaf
        minimum weight of the rows in each of at least two branches of a split.
    min_share
        minimum share of all rows in a node that is divided.
    min_impurity
        a node with no more impurity than this is not divided.
    min_gain
        minimum gain of a split per unit of weight; None allows splits that gain nothing.
    lookahead
        further levels examined before a split is chosen; each multiplies the time by the number of columns.
    alternatives
        splits per node that are tried, each with the whole tree below it; the one with the fewest mistakes on a
        held-out quarter of the rows is kept. For small problems: the time grows as alternatives ** max_depth.
    categorical_features
        discrete columns besides those that hold text or truth values: "auto" for none, "all", or their indices.

    Attributes
    ----------
    tree_
        the nodes, a struct of arrays.
    feature_importances_
        share of each column in the total fall of the impurity.
    """

    _: KW_ONLY
    criterion: Criterion = "entropy"
    selection: Literal["gain", "ratio"] = "gain"
    nominal: Literal["values", "groups", "dummies"] = "values"
    thresholds: Annotated[int, Range(1, 2)] = 1
    missing: Literal["fractions", "majority", "class", "surrogates"] = "majority"
    pruning: Pruning = None
    confidence: OpenFraction = 0.25
    ccp_alpha: NonNegative = 0.0
    max_depth: Count | None = None
    min_samples_leaf: NonNegative = 1
    min_share: Fraction = 0.0
    min_impurity: NonNegative = 0.0
    min_gain: NonNegative | None = None
    lookahead: Index = 0
    alternatives: Count = 1
    categorical_features: Literal["auto", "all"] | list[int] | tuple[int, ...] = "auto"
    class_weight: Any = None  # a dictionary by label, of whatever type; "balanced"

    takes = Takes(missing=True, huge=True, categories=True)

    tree_ = learned("tree")
    feature_importances_ = learned("importances")

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        columns = value_codes(X, self._discrete(X.shape[1]))
        criterion = self._criterion(y.astype(np.int32), w, len(self.classes_))
        tree = grow_multiway(columns, criterion, self._growth(), self._held_out(X, y))
        model = MultiwayModel(tree, weighted_impurity(criterion, tree.sums)[1], self.missing, X.shape[1])
        self.model_ = PRUNINGS[self.pruning](self, model, columns, criterion)

    def predict_proba(self, X: UserTable) -> Matrix:
        """Shares of the classes in the leaf of each row, or in several leaves by the parts of the row there."""
        return self._scores(self._admit(X))

    def cost_complexity_pruning_path(self, X: Table, y: Target, sample_weight: UserWeights = None) -> Bunch:
        """The prices of a leaf at which the tree shrinks, `ccp_alphas`, and its impurity then, `impurities`."""
        whole = clone(self).set_params(pruning=None).fit(X, y, sample_weight=sample_weight).model_
        path = weakest_links(whole.tree.parent, whole.total / whole.counts[0].sum())
        return Bunch(ccp_alphas=path.alpha, impurities=path.risk)

    def explain(self, X: Table) -> list[list[tuple[float, tuple[str, ...]]]]:
        """The questions on the path of each row; a row with a missing value has several, each with a part of it."""
        return [self.model_.tree.explain(x, self._display_name, self.missing) for x in self._admit(X)]

    def to_text(self) -> str:
        """The tree, one line per branch."""
        check_is_fitted(self)
        tree, lines = self.model_.tree, list[str]()
        label, weight = self.classes_[self.model_.value.argmax(axis=1)], self.model_.counts.sum(axis=1)
        ahead = [(0, "")]
        while ahead:
            t, condition = ahead.pop()
            end = f": {label[t]} ({weight[t]:g})" if tree.feature[t] < 0 else ""
            if condition or end:
                lines.append("|   " * max(int(tree.depth[t]) - 1, 0) + condition + end)
            children = [
                (int(tree.first[t]) + b, tree.question(t, b, self._display_name)) for b in range(tree.branches[t])
            ]
            ahead += reversed(children)
        return "\n".join(lines)

    def _scores(self, X: Table) -> Matrix:
        return self.model_.answers(X)

    def _criterion(self, y: Target, w: Weights, K: int) -> ClassCriterion:
        if isinstance(self.criterion, str):
            return CRITERIA[self.criterion](y, w, K)
        if broken := check_axioms(self.criterion, K).violations:
            raise ValueError(
                f"{type(self).__name__}: criterion is not an impurity function: it must satisfy: {' and '.join(broken)}"
            )
        return CustomImpurity(y, w, K, self.criterion)

    def _growth(self) -> MultiwaySettings:
        return MultiwaySettings(
            selection=self.selection,
            thresholds=self.thresholds,
            nominal=self.nominal,
            missing=self.missing,
            c45_release8=self.selection == "ratio",
            max_depth=2**31 - 1 if self.max_depth is None else self.max_depth,
            min_leaf=self.min_samples_leaf,
            min_share=self.min_share,
            min_impurity=self.min_impurity,
            min_gain=-np.inf if self.min_gain is None else max(self.min_gain, 1e-9),
            lookahead=self.lookahead,
            alternatives=self.alternatives,
        )

    def _held_out(self, X: Table, y: Target) -> Mask | None:
        """A mask of the rows that judge the alternatives of a node, one in HELD_OUT_DIVISOR; or None."""
        if self.alternatives == 1:
            return None
        if self.max_depth is None or self.alternatives**self.max_depth > MAX_BACKTRACK_TREES:
            raise ValueError(
                f"{type(self).__name__}: with alternatives={self.alternatives} up to alternatives ** max_depth "
                f"trees are tried, at most {MAX_BACKTRACK_TREES:,}; got max_depth={self.max_depth}"
            )
        fold = content_folds(X, y, HELD_OUT_DIVISOR)
        return fold == 0 if fold.any() else None

    def _categories(self) -> dict[int, tuple[object, ...]]:
        return vars(self)["categories_in_"].values if "categories_in_" in vars(self) else {}

    def _discrete(self, d: int) -> Mask:
        """Which columns are discrete: those that hold text or truth values, and those that are named."""
        out = np.full(d, self.categorical_features == "all")
        out[list(self._categories())] = True
        if not isinstance(self.categorical_features, str):
            wrong = [j for j in self.categorical_features if not 0 <= j < d]
            if wrong:
                raise ValueError(
                    f"{type(self).__name__}: categorical_features names column {wrong[0]}; X has columns 0 to {d - 1}"
                )
            out[list(self.categorical_features)] = True
        return out

    def _display_name(self, j: int, value: float | None) -> str:
        """The name of a column, or of one of its values."""
        if value is None:
            return str(vars(self)["feature_names_in_"][j]) if "feature_names_in_" in vars(self) else f"x{j}"
        known = self._categories().get(j)
        return f"{value:g}" if known is None else str(known[int(value)])


# Prunings by name


def _whole(
    estimator: BaseMultiwayTree, model: MultiwayModel, columns: ValueCodes, criterion: ClassCriterion
) -> MultiwayModel:
    return model


def _pessimistic(
    estimator: BaseMultiwayTree, model: MultiwayModel, columns: ValueCodes, criterion: ClassCriterion
) -> MultiwayModel:
    return model.prune(pessimistic_pruning(model.tree.parent, model.counts, estimator.confidence))


def _error_based(
    estimator: BaseMultiwayTree, model: MultiwayModel, columns: ValueCodes, criterion: ClassCriterion
) -> MultiwayModel:
    wrong = model.counts.sum(axis=1) - model.counts.max(axis=1)
    model = model.prune(bottom_up(model.tree.parent, wrong, slack=1e-3))  # branchings that correct no mistake
    tree = error_based_pruning(
        model.tree,
        columns.encoded(),
        criterion.y,
        criterion.w,
        confidence=estimator.confidence,
        missing=estimator.missing,
    )
    return replace(model, tree=tree, total=weighted_impurity(criterion, tree.sums)[1])


def _chi_square(
    estimator: BaseMultiwayTree, model: MultiwayModel, columns: ValueCodes, criterion: ClassCriterion
) -> MultiwayModel:
    return model.prune(chi_square_pruning(model.tree.parent, model.counts, estimator.confidence))


def _description_length(
    estimator: BaseMultiwayTree, model: MultiwayModel, columns: ValueCodes, criterion: ClassCriterion
) -> MultiwayModel:
    return model.prune(mdl_pruning(model.tree.parent, model.counts, question_bits(model.tree, columns)))


def _cost_complexity(
    estimator: BaseMultiwayTree, model: MultiwayModel, columns: ValueCodes, criterion: ClassCriterion
) -> MultiwayModel:
    path = weakest_links(model.tree.parent, model.total / model.counts[0].sum())
    return model.prune(path.leaves(estimator.ccp_alpha, len(model.tree)))


def _cheapest_merges(
    estimator: BaseMultiwayTree, model: MultiwayModel, columns: ValueCodes, criterion: ClassCriterion
) -> MultiwayModel:
    return model.prune(
        cheapest_merge_pruning(model.tree.parent, model.total / model.counts[0].sum(), estimator.ccp_alpha)
    )


def question_bits(tree: MultiwayArrays, columns: ValueCodes) -> Vector:
    """Bits of the split of each node: its column, and its thresholds among the distinct values or its groups."""
    inner = np.flatnonzero(tree.feature >= 0)
    out = np.zeros(len(tree))
    levels = np.array([max(len(values), 1) for values in columns.values])
    per = np.where(columns.discrete, 0.0, np.log2(levels))[tree.feature[inner]]
    groups = np.where(columns.discrete, levels, 0.0)[tree.feature[inner]]
    grouped = tree.discrete[inner] & (tree.branches[inner] == 2) & (groups > 2)
    out[inner] = np.log2(len(levels)) + per * (tree.branches[inner] - 1) + np.where(grouped, groups, 0.0)
    return out


PRUNINGS: dict[str | None, Callable[..., MultiwayModel]] = {
    None: _whole,
    "pessimistic": _pessimistic,
    "error_based": _error_based,
    "chi_square": _chi_square,
    "description_length": _description_length,
    "cost_complexity": _cost_complexity,
    "cheapest_merges": _cheapest_merges,
}
