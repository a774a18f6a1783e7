"""How one tree of a forest grows: a grower makes the tree of some rows, by best splits or by random thresholds."""

from __future__ import annotations

from collections.abc import Callable

from fivefold.core.types import Indices, Table
from fivefold.partition.column_access import to_dense
from fivefold.partition.growers.binary_grower import grow, grow_forest_tree, grow_random_tree
from fivefold.partition.splitters.base import ColumnConstraints, GrowthLimits, column_constraints
from fivefold.partition.splitters.forest_categories import category_codes
from fivefold.partition.splitters.forest_splitter import rank_columns
from fivefold.partition.tree_arrays.binary_tree import GrownTree
from fivefold.tree.shared.tree_targets import TreeTarget, TreeWeights

TreeGrower = Callable[[Indices, TreeWeights, GrowthLimits], tuple[GrownTree, TreeTarget, TreeWeights]]


def best_split_grower(
    max_leaf_nodes: int | None, X: Table, target: TreeTarget, constraints: ColumnConstraints | None
) -> TreeGrower:
    """A function of (rows, weights, limits) that grows a tree by the best splits: the tree, its target, its weights."""
    leaves = max_leaf_nodes or 0
    if not leaves and (constraints is None or not constraints.sign.any()) and target.statistics_add:
        ranked, categories = rank_columns(X), None if constraints is None else category_codes(X, constraints.levels)

        def shared(rows: Indices, w: TreeWeights, rules: GrowthLimits) -> tuple[GrownTree, TreeTarget, TreeWeights]:
            own = _fresh_constraints(constraints, w[rows])
            unit = 1.0 if own is None else own.unit
            return grow_forest_tree(X, ranked, rows, target.criterion(w), rules, codes=categories, unit=unit), target, w

        return shared

    def exact(rows: Indices, w: TreeWeights, rules: GrowthLimits) -> tuple[GrownTree, TreeTarget, TreeWeights]:
        some, w = target.take(rows), w[rows]
        own = _fresh_constraints(constraints, w)
        return grow(X[rows], some.criterion(w), rules, leaves=leaves, constraints=own), some, w

    return exact


def random_split_grower(
    max_leaf_nodes: int | None, X: Table, target: TreeTarget, constraints: ColumnConstraints | None
) -> TreeGrower:
    """The same with thresholds drawn at random."""
    values, leaves = to_dense(X), max_leaf_nodes or 0

    def draw(rows: Indices, w: TreeWeights, rules: GrowthLimits) -> tuple[GrownTree, TreeTarget, TreeWeights]:
        criterion, own = target.criterion(w), _fresh_constraints(constraints, w[rows])
        return grow_random_tree(X, rows, criterion, rules, leaves=leaves, values=values, constraints=own), target, w

    return draw


def _fresh_constraints(constraints: ColumnConstraints | None, w: TreeWeights) -> ColumnConstraints | None:
    return None if constraints is None else column_constraints(w, constraints.levels, constraints.sign)
