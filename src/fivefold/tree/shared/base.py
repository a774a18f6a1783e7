"""What single-column trees of classes and of numbers share: growth limits, the fitted model, and its methods."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, log2, sqrt
from numbers import Integral
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.utils import Bunch
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from fivefold.core.admission.categories import Categories
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, NonNegative, Range, Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.types import (
    Array,
    Codes,
    Indices,
    Labels,
    Mask,
    Matrix,
    Sparse,
    Table,
    Target,
    UserTable,
    UserTarget,
    UserWeights,
    Vector,
    Weights,
)
from fivefold.partition.pruning.cost_complexity import PruningPath, weakest_links
from fivefold.partition.splitters.base import ColumnConstraints, GrowthLimits, column_constraints
from fivefold.partition.tree_arrays.binary_tree import Tree
from fivefold.partition.tree_arrays.node_hierarchy import impurity_decreases, shares_of_total
from fivefold.tree.export.binary_export import TreeExports

MaxFeatures = Count | Annotated[float, Range(0, 1, open_low=True)] | Literal["sqrt", "log2"] | None
MinSplit = Annotated[int, Range(2)] | Annotated[float, Range(0, 1, open_low=True)]
MinLeaf = Count | Annotated[float, Range(0, 1, open_low=True, open_high=True)]
MinWeight = Annotated[float, Range(0, 0.5)]
MaxLeaves = Annotated[int, Range(2)] | None
TreeOrForest: TypeAlias = Any  # their parameters are read by name: no class has them all


@dataclass(frozen=True)
class TreeModel:
    """A tree with the answer, the impurity and the weight of every node."""

    tree: Tree
    value: Array  # (m, K) shares of the classes, those of one output after those of another, or (m, outputs) numbers
    impurity: Array  # (m,)
    weight: Array  # (m,)
    columns: int
    tried: int  # columns tried per node
    sizes: tuple[int, ...] = (1,)  # columns of `value` that belong to each output

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return len(self.sizes)

    @cached_property
    def falls(self) -> Vector:
        """Fall of the impurity by each column, per unit of weight."""
        total = self.weight * self.impurity
        return impurity_decreases(self.tree.parent, self.tree.feature, total, self.columns) / self.weight[0]

    @cached_property
    def importances(self) -> Vector:
        """Share of each column in the total fall of the impurity."""
        return shares_of_total(self.falls)

    @cached_property
    def view(self) -> SklearnNodes:
        """The nodes under scikit-learn's names."""
        return SklearnNodes(self)

    def answers(self, X: Table) -> Matrix:
        """The answer of the leaf of each row, in the type of X."""
        return self.value.astype(X.dtype, copy=False)[self.tree.apply(X)]

    def each(self, values: Matrix) -> list[Matrix]:
        """The columns of each output."""
        return np.split(values, np.cumsum(self.sizes)[:-1], axis=1)

    def pruning_path(self) -> PruningPath:
        """The sequence of trees that cost-complexity pruning gives."""
        return weakest_links(self.tree.parent, self.impurity * self.weight / self.weight[0])

    def pruned(self, alpha: float, path: PruningPath | None = None) -> TreeModel:
        """The smallest tree of least risk + alpha x leaves; `path` saves work where many alphas are tried."""
        if alpha <= 0 or len(self.tree) == 1:
            return self
        path = self.pruning_path() if path is None else path
        return self.prune(path.leaves(alpha, len(self.tree)))

    def prune(self, leaves: Mask) -> TreeModel:
        """The tree with these nodes (a mask) as leaves."""
        tree, kept = self.tree.prune(leaves)
        return replace(self, tree=tree, value=self.value[kept], impurity=self.impurity[kept], weight=self.weight[kept])


class SklearnNodes:
    """The nodes of a tree under scikit-learn's names."""

    def __init__(self, model: TreeModel) -> None:
        tree, inner = model.tree, model.tree.feature >= 0
        self.node_count = self.capacity = len(tree)
        self.n_leaves = np.int64(len(tree.leaves))
        self.max_depth, self.n_features = int(tree.depth.max()), model.columns
        self.children_left = tree.left.astype(np.int64)
        self.children_right = tree.right.astype(np.int64)
        self.feature = np.where(inner, tree.feature, -2).astype(np.int64)
        self.threshold = np.where(inner, tree.threshold, -2.0)
        self.missing_go_to_left = tree.missing_left
        self.impurity, self.weighted_n_node_samples = model.impurity, model.weight
        self.n_node_samples, self.n_outputs = tree.rows, model.outputs
        self.n_classes, self.max_n_classes = np.array(model.sizes), max(model.sizes)
        self.value = np.zeros((len(tree), self.n_outputs, self.max_n_classes))
        for j, values in enumerate(model.each(model.value)):
            self.value[:, j, : values.shape[1]] = values
        self._model = model

    def apply(self, X: UserTable) -> Indices:
        """The leaf of each row."""
        return self._model.tree.apply(X)

    def predict(self, X: UserTable) -> Matrix:
        """The answer of the leaf of each row."""
        return self._model.value[self.apply(X)]

    def compute_feature_importances(self, normalize: bool = True) -> Vector:
        """Fall of the impurity by each column."""
        return self._model.importances if normalize else self._model.falls

    def compute_node_depths(self) -> Indices:
        """Nodes on the path from the root to each node, itself included."""
        return self._model.tree.depth.astype(np.int64) + 1

    def decision_path(self, X: UserTable) -> Sparse:
        """Sparse (n, nodes): 1 where a row passes a node."""
        return decision_path(self._model.tree, X)


class SizeMethods:
    """How large a fitted tree is.

    Parameters
    ----------
    class_weight
        weights of the classes, or "balanced".
    max_depth
        maximum number of questions on a path; None for no limit.
    """

    model_: Any  # of any kind of tree: each has `tree`
    n_features_in_: int
    categories_in_: Categories  # where columns hold any

    if TYPE_CHECKING:

        def _admit(self, X: UserTable) -> Table: ...

    def get_depth(self) -> int:
        """Questions on the longest path."""
        check_is_fitted(self)
        return int(self.model_.tree.depth.max())

    def get_n_leaves(self) -> int:
        """Number of leaves."""
        check_is_fitted(self)
        return len(self.model_.tree.leaves)


class PruningMethods(SizeMethods):
    """A tree that can be pruned by a price per leaf.

    Parameters
    ----------
    min_weight_fraction_leaf
        minimum share of the total weight in a leaf.
    min_samples_split, min_samples_leaf
        minimum number of rows in a node that is divided, and in a leaf; a fraction is a share of all rows.
    ccp_alpha
        price per leaf: the tree is pruned to the one of least risk + ccp_alpha x leaves.
    """

    def cost_complexity_pruning_path(self, X: Table, y: Target, sample_weight: UserWeights = None) -> Bunch:
        """The prices per leaf at which the tree shrinks, `ccp_alphas`, and its risk then, `impurities`."""
        whole = clone(self).set_params(ccp_alpha=0.0).fit(X, y, sample_weight=sample_weight)
        path = whole.model_.pruning_path()
        return Bunch(ccp_alphas=path.alpha, impurities=path.risk)


@dataclass(eq=False, repr=False, kw_only=True)
class TreeMethods(PruningMethods, TreeExports):
    """Parameters of trees that ask about single columns, and what every fitted one can be asked.

    `check_input` is accepted for compatibility with scikit-learn; tables are always checked.

    Parameters
    ----------
    splitter
        "best" takes the best cut of a column, "random" a threshold drawn between its smallest and largest value.
    max_features
        columns tried per node, drawn at random: a number, a share, "sqrt", "log2", or None for all.
    random_state
        seed for drawing columns and thresholds.
    max_leaf_nodes
        maximum number of leaves; the nodes that gain most are divided first.
    min_impurity_decrease
        minimum fall of the impurity by a cut, weighted by the node's share of all rows.
    min_impurity
        nodes with no more impurity than this are leaves.
    missing
        where rows with a missing value go: "learned", to the side that lowers the impurity more; "majority", with most
        known rows; "tested", the same, unless they differ from the known rows by three standard errors.

    Attributes
    ----------
    tree_
        the nodes, under scikit-learn's names.
    feature_importances_
        share of each column in the total fall of the impurity.
    max_features_
        number of columns tried per node.
    """

    criterion: str
    splitter: Literal["best", "random"] = "best"
    max_depth: Count | None = None
    min_samples_split: MinSplit = 2
    min_samples_leaf: MinLeaf = 1
    min_weight_fraction_leaf: MinWeight = 0.0
    max_features: MaxFeatures = None
    random_state: Seed = None
    max_leaf_nodes: MaxLeaves = None
    min_impurity_decrease: NonNegative = 0.0

    missing = "learned"  # where missing values go; trees of random thresholds have no choice

    tree_ = learned("view")
    feature_importances_ = learned("importances")
    max_features_ = learned("tried")
    n_outputs_ = learned("outputs")

    # `check_input` is not metadata that a pipeline or a search would route
    __metadata_request__fit: ClassVar = {"check_input": UNUSED}
    __metadata_request__predict: ClassVar = {"check_input": UNUSED}
    __metadata_request__predict_proba: ClassVar = {"check_input": UNUSED}

    def fit(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None, check_input: bool = True) -> Self:
        """Learn from rows and their targets; a weight of two counts a row twice."""
        return super().fit(X, y, sample_weight)  # type: ignore[misc]  # of the class it is mixed into

    def apply(self, X: UserTable, check_input: bool = True) -> Indices:
        """The index of the leaf of each row."""
        return self.model_.tree.apply(self._admit(X))

    def decision_path(self, X: UserTable, check_input: bool = True) -> Sparse:
        """Sparse (n, nodes): 1 where a row passes a node."""
        return decision_path(self.model_.tree, self._admit(X))


class DrawSeed(int):
    """A seed that a forest gives to a tree, used for its draws as it is; any other number seeds a generator first."""


def seed_of(estimator: TreeOrForest) -> int:
    """The seed of the draws of a tree; a tree taken from a forest can be grown again from its sample."""
    given = estimator.random_state
    return int(given) if isinstance(given, DrawSeed) else int(check_random_state(given).randint(2**31))


def growth_limits(estimator: TreeOrForest, X: Table, w: Weights, seed: int = 0) -> GrowthLimits:
    """The growth limits that the parameters ask for; without `max_features` every node looks at all columns."""
    (n, d), total = X.shape, float(w.sum())
    tried = columns_tried(getattr(estimator, "max_features", None), d)
    return GrowthLimits(
        max_depth=2**31 - 1 if estimator.max_depth is None else estimator.max_depth,
        min_split=max(2, row_count(estimator.min_samples_split, n)),
        min_leaf=row_count(estimator.min_samples_leaf, n),
        min_weight=estimator.min_weight_fraction_leaf * total,
        min_gain=(estimator.min_impurity_decrease - np.finfo(np.float64).eps) * total,
        n_columns=0 if tried == d else tried,
        seed=seed,
    )


def constraints_of(estimator: TreeOrForest, X: Table, w: Weights, *, means: bool) -> ColumnConstraints | None:
    """Which columns hold categories, and along which the answer is monotonic; None for plain columns.

    `means`: the answer is a single mean or median, which can be kept between bounds.
    """
    d = X.shape[1]
    known = getattr(estimator, "categories_in_", None)
    levels, sign = np.zeros(d, dtype=np.int64), np.zeros(d, dtype=np.int64)
    for j, values in known.values.items() if known else ():
        levels[j] = max(len(values), 1)
    if estimator.monotonic_cst is not None:
        sign = _signs(estimator, d, levels, means)
    return column_constraints(w, levels, sign) if levels.any() or sign.any() else None


def _signs(estimator: TreeOrForest, d: int, levels: Codes, means: bool) -> Codes:
    name, given = type(estimator).__name__, np.asarray(estimator.monotonic_cst)
    if given.shape != (d,) or not np.isin(given, (-1, 0, 1)).all():
        raise ValueError(f"{name}: monotonic_cst must hold -1, 0 or 1 for each of the {d} columns; got {given!r}")
    if not means:
        raise ValueError(
            f"{name}: monotonic_cst needs one output that is a mean or a median: two classes, or a number under "
            "squared_error, friedman_mse, absolute_error or poisson"
        )
    if (bad := (given != 0) & (levels > 0)).any():
        raise ValueError(f"{name}: column {int(bad.argmax())} holds categories, which have no order to rise along")
    return given.astype(np.int64)


def clip_monotonic(tree: Tree, answer: Vector, sign: Codes) -> Vector:
    """The answers (m,) clipped to the bounds that cuts of monotonic columns pass down."""
    low, high = np.full(len(tree), -np.inf), np.full(len(tree), np.inf)
    inner = np.flatnonzero(tree.feature >= 0)
    for depth in range(int(tree.depth.max())):
        t = inner[tree.depth[inner] == depth]
        left, right, s = tree.left[t], tree.right[t], sign[tree.feature[t]]
        between = (answer[left] + answer[right]) / 2
        low[left], high[left] = np.where(s < 0, between, low[t]), np.where(s > 0, between, high[t])
        low[right], high[right] = np.where(s > 0, between, low[t]), np.where(s < 0, between, high[t])
    return np.clip(answer, low, high)


def class_counts(classes: Labels | list[Labels], outputs: int) -> np.int64 | list[np.int64]:
    """Number of classes, or a list of numbers for several outputs; NumPy integers, as in scikit-learn."""
    return np.int64(len(classes)) if outputs == 1 else [np.int64(len(each)) for each in classes]


def columns_tried(max_features: float | str | None, d: int) -> int:
    """How many columns a node tries."""
    if max_features is None:
        return d
    if max_features in ("sqrt", "log2"):
        return max(1, int(sqrt(d) if max_features == "sqrt" else log2(d)))
    if isinstance(max_features, Integral):
        return min(int(max_features), d)
    return max(1, int(max_features * d))


def decision_path(tree: Tree, X: Table) -> Sparse:
    """Sparse (n, nodes): 1 where a row passes a node."""
    parent, at = tree.parent, tree.apply(X)
    steps, ends = [at], tree.depth[at] + 1
    while (at >= 0).any():
        at = np.where(at >= 0, parent[at], -1)
        steps.append(at)
    table = np.sort(np.stack(steps, axis=1), axis=1)  # preorder: a parent stands before its children
    nodes = table[table >= 0]
    indptr = np.concatenate([[0], np.cumsum(ends)])
    return csr_matrix((np.ones(len(nodes), dtype=np.int64), nodes, indptr), shape=(X.shape[0], len(tree)))


def row_count(limit: float, n: int) -> int:
    """A number of rows, from a number or from a share of n rows."""
    return int(limit) if isinstance(limit, Integral) else ceil(limit * n)
