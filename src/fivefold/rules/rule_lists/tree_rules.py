"""Rules from a fitted tree: one per leaf, the conjunction of the questions on its path.

    R_j = (low < x_a <= high) and (x_b in {p, q}) and ...      the questions about a column merged into one condition

Exactly one rule holds for each row, so their supports, the share of the weight that each covers, add up to 100 percent,
and the rules of a class joined by "or" are its region. `rule_pruning` then prunes them term by term, after which they
may overlap and are an ordered list.

A missing value goes where the tree sends it; where the tree divides such a row among branches or asks about other
columns (`missing` "fractions" and "surrogates"), the rules send it into the branch with most weight. A category that
fit did not see counts as missing; a number that a discrete column did not hold in fit gets the default, which is what
the root predicts.

Alpaydin (2020), section 9.4; Quinlan (1993), C4.5: Programs for Machine Learning, chapter 5.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import singledispatch
from math import inf
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fivefold.core.admission.targets import admit_weights
from fivefold.core.types import Array, UserTable, UserTarget, UserWeights
from fivefold.partition.export.conditions import Condition
from fivefold.partition.export.conjunctions import Rule
from fivefold.partition.missing_values.policies import heaviest_branch
from fivefold.partition.tree_arrays.multiway_tree import MultiwayArrays
from fivefold.rules.rule_lists.rule_lists import RuleList, Schema
from fivefold.rules.rule_lists.rule_pruning import PruningRows, prune_by_limits, prune_on_rows, pruning_rows
from fivefold.rules.rule_lists.simplification import Box
from fivefold.tree.export.binary_export import to_rules
from fivefold.tree.export.tree_reader import TreeReader, tree_reader
from fivefold.tree.occam_tree import OccamTree
from fivefold.tree.shared.base import TreeModel
from fivefold.tree.shared.leaf_models import LinearLeaves
from fivefold.tree.shared.multiway_trees import MultiwayModel


def extract_rules(
    tree: Any,  # of fivefold.tree, of any class
    X: UserTable = None,
    y: UserTarget = None,
    *,
    pruning: Literal["pessimistic", "pruning_set"] | None = None,
    confidence: float = 0.25,
    sample_weight: UserWeights = None,
    feature_names: Collection[str] | None = None,
) -> RuleList:
    """The rules of a fitted tree of fivefold.tree, unchanged or pruned term by term.

    With `pruning="pessimistic"`, X and y are the rows of fit; with "pruning_set" they are other rows, on which pruning
    does not raise the error of the rules.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, load_iris().target_names[y])
    >>> print(extract_rules(tree).text(evidence=False))
    if "petal length (cm)" <= 2.45 then setosa
    if ("petal length (cm)" > 2.45 or missing) and ("petal width (cm)" <= 1.75 or missing) then versicolor
    if ("petal length (cm)" > 2.45 or missing) and "petal width (cm)" > 1.75 then virginica
    else setosa
    """
    check_is_fitted(tree)
    rules = leaf_rules(tree.model_, tree, Schema.of(tree, feature_names))
    if pruning is None:
        return rules
    if X is None or y is None:
        raise ValueError(f"extract_rules: pruning={pruning!r} needs the rows to prune on: pass X and y")
    if pruning not in PRUNINGS:
        raise ValueError(f"extract_rules: pruning must be None, {' or '.join(map(repr, PRUNINGS))}; got {pruning!r}")
    X = tree._admit(X)
    return PRUNINGS[pruning](rules, pruning_rows(rules, X, y, admit_weights(tree, sample_weight, X)), confidence)


def _pessimistic(rules: RuleList, rows: PruningRows, confidence: float) -> RuleList:
    return prune_by_limits(rules, rows, confidence)


def _on_pruning_set(rules: RuleList, rows: PruningRows, confidence: float) -> RuleList:
    return prune_on_rows(rules, rows)


PRUNINGS: dict[str, Callable[[RuleList, PruningRows, float], RuleList]] = {
    "pessimistic": _pessimistic,
    "pruning_set": _on_pruning_set,
}


@singledispatch
def leaf_rules(model: Any, tree: Any, schema: Schema) -> RuleList:
    """One rule per leaf of a fitted tree; `schema` names its columns."""
    raise TypeError(
        f"extract_rules takes a tree of fivefold.tree whose questions are about single columns, such as "
        f"DecisionTreeClassifier or C45Classifier; got {type(tree).__name__}"
    )


@leaf_rules.register
def _(model: TreeModel, tree: Any, schema: Schema) -> RuleList:
    if model.outputs > 1:
        raise ValueError(f"extract_rules takes a tree of one output; this one has {model.outputs}: fit a tree for each")
    return _binary(tree_reader(tree), schema)


@leaf_rules.register
def _(model: OccamTree, tree: Any, schema: Schema) -> RuleList:
    weight = model.counts.sum(axis=1)
    return _binary(
        TreeReader(model.tree, model.counts / weight[:, None], weight, schema.columns, (np.asarray(tree.classes_),)),
        schema,
    )


@leaf_rules.register
def _(model: LinearLeaves, tree: Any, schema: Schema) -> RuleList:
    if schema.classes is not None or model.coef[model.tree.leaves].any() or model.width.any():
        raise ValueError(
            f"extract_rules: the leaves of this {type(tree).__name__} hold linear models, which rules cannot express; "
            "for a ModelTreeRegressor pass leaf='mean' or 'median' and smoothing=0"
        )
    rows = model.tree.rows.astype(np.float64)
    return _binary(TreeReader(model.tree, model.intercept, rows, schema.columns), schema)


@leaf_rules.register
def _(model: MultiwayModel, tree: Any, schema: Schema) -> RuleList:
    found = []
    for t, box, has_rows in _answering_nodes(model.tree, schema):
        weight = float(model.counts[t].sum()) if has_rows else 0.0
        value = model.counts[t] if weight > 0 else model.value[t]
        label = schema.label(int(model.value[t].argmax()))
        found.append(Rule(tuple(box.values()), label, tuple(value.tolist()), weight, leaf=t))
    label = schema.label(int(model.value[0].argmax()))
    return RuleList(tuple(found), Rule((), label, tuple(model.counts[0].tolist())), schema)


def _binary(read: TreeReader, schema: Schema) -> RuleList:
    """The leaves of a binary tree as rules; class shares become weights, so that those of several rules add up."""

    def class_weights(t: int) -> tuple[float, ...]:
        return tuple((read.value[t] * read.weight[t]).tolist()) if read.classes is not None else ()

    found = tuple(
        Rule(rule.conditions, rule.label, class_weights(rule.leaf), rule.weight, rule.rows, rule.leaf)
        for rule in to_rules(read)
    )
    return RuleList(found, Rule((), read.label(0), class_weights(0)), schema)


def _answering_nodes(tree: MultiwayArrays, schema: Schema) -> Iterator[tuple[int, Box, bool]]:
    """Nodes that answer, the conditions that lead there, and whether rows of fit ended there.

    An inner node answers the categories that have no branch, because no row of fit at that node had them.
    """
    todo: list[tuple[int, Box]] = [(0, {})]
    while todo:
        t, box = todo.pop()
        if tree.feature[t] < 0:
            yield t, box, True
            continue
        first, count = int(tree.first[t]), int(tree.branches[t])
        heaviest = heaviest_branch(tree.share[first : first + count])
        children = []
        for b in range(count):
            c = _branch(tree, t, b, schema, missing=b == heaviest)
            children.append((first + b, _narrowed(box, c)))
        todo += reversed(children)
        if tree.discrete[t] and (unseen := _unseen(tree, t)):
            unseen_box = _narrowed(box, Condition(int(tree.feature[t]), levels=unseen, missing=False))
            if not unseen_box[int(tree.feature[t])].empty:
                yield t, unseen_box, False


def _branch(tree: MultiwayArrays, t: int, b: int, schema: Schema, *, missing: bool) -> Condition:
    """What leads from node t into branch b; a declared category that no row of fit had goes where missing values go."""
    j, key = int(tree.feature[t]), tree.key[tree.start[t] : tree.start[t + 1]]
    if tree.discrete[t]:
        levels = _levels(tree.values[j][np.flatnonzero(key == b)])
        if missing:
            levels |= frozenset(range(len(schema.categories.get(j, ())))) - _levels(tree.values[j])
        return Condition(j, levels=levels, missing=missing)
    low = float(key[b - 1]) if b else -inf
    return Condition(j, low, float(key[b]) if b < len(key) else inf, missing=missing)


def _unseen(tree: MultiwayArrays, t: int) -> frozenset[int]:
    """Categories of the column of node t that have no branch there."""
    j, key = int(tree.feature[t]), tree.key[tree.start[t] : tree.start[t + 1]]
    return _levels(tree.values[j][np.flatnonzero(key < 0)])


def _levels(values: Array) -> frozenset[Any]:
    """Codes of categories; a discrete column of numbers has its values in place of codes."""
    return frozenset(int(v) if float(v).is_integer() else float(v) for v in values)


def _narrowed(box: Box, c: Condition) -> Box:
    """The box with one more condition."""
    return {**box, c.column: box[c.column] & c if c.column in box else c}
