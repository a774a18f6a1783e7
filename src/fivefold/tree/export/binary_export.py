"""Binary trees as text, rules, Graphviz and SQL.

Every leaf is a box, a conjunction of bounds: the conditions on its path, those on the same column merged,

    R_j = (low < x_a <= high) and (x_b in {p, q}) and ...

The boxes are disjoint and cover the space, missing values included: a missing value stays on a path as long as every
question about its column sends it there. The boxes of a class joined by "or" are its disjunctive normal form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from fivefold.core.types import Indices, Labels, UserTable
from fivefold.partition.export.conditions import Condition
from fivefold.partition.export.conjunctions import Rule, RuleCollection
from fivefold.partition.export.text_formats import dot_graph, dot_label, sql_condition
from fivefold.partition.tree_arrays.binary_tree import Tree
from fivefold.tree.export.sql_cases import Output, TreeCases
from fivefold.tree.export.tree_reader import FeatureNames, TreeEstimator, TreeReader, tree_reader


@dataclass(frozen=True)
class LeafRules(RuleCollection):
    """The leaves of a tree as disjoint rules that cover the space, from left to right."""

    rules: tuple[Rule, ...]
    source: TreeReader

    @property
    def column_names(self) -> TreeReader:
        """Names as users know them, numbers in six digits."""
        return self.source

    def predict(self, X: UserTable) -> Labels:
        """The label of the rule that holds for each row."""
        return np.array([rule.label for rule in self.rules])[self.covers(X).argmax(axis=1)]

    def __str__(self) -> str:
        read = self.source
        lines = (
            f"if {self.conjunction(rule)} then {read.answer_text(rule.leaf)}  ({read.count_text(rule.leaf)})"
            for rule in self.rules
        )
        return "\n".join(lines)


@dataclass(frozen=True)
class Explanation:
    """Why one row got its answer: the questions on its path, its values, and what the leaf answers."""

    nodes: tuple[int, ...]
    steps: tuple[str, ...]
    rule: Rule
    text: str

    def __str__(self) -> str:
        return self.text


def to_rules(model: TreeEstimator, *, feature_names: FeatureNames = None, missing: bool = False) -> LeafRules:
    """Every leaf of a fitted tree as a rule with its count, shares and label.

    The rules always know where missing values go; with `missing` their texts mention it.
    """
    read = tree_reader(model, feature_names, missing=missing)
    found: list[Rule] = []
    todo: list[tuple[int, dict[int, Condition]]] = [(0, {})]
    while todo:
        t, held = todo.pop()
        if read.tree.feature[t] < 0:
            rows, weight = int(read.tree.rows[t]), float(read.weight[t])
            found.append(Rule(tuple(held.values()), read.label(t), tuple(read.value[t].tolist()), weight, rows, t))
            continue
        for child, c in ((read.tree.right[t], read.right_condition(t)), (read.tree.left[t], read.left_condition(t))):
            todo.append((int(child), _and_also(held, c)))
    return LeafRules(tuple(found), read)


def explain(model: TreeEstimator, X: UserTable, *, feature_names: FeatureNames = None) -> Explanation:
    """The path of one row down a fitted tree: each question with the row's value, and the rule of its leaf."""
    X = model._admit(X)
    if len(X) != 1:
        raise ValueError(f"explain takes one row, a table of shape (1, columns); got {len(X)} rows")
    read = tree_reader(model, feature_names, missing=bool(np.isnan(X).any()))
    t, nodes, steps = 0, [0], []
    while read.tree.feature[t] >= 0:
        value, question = X[0, read.tree.feature[t]], read.left_condition(t)
        yes = bool(question.holds(np.array([value]))[0])
        side = question if yes else read.right_condition(t)
        shown = "missing" if value != value else _value_text(read, question.column, value)
        steps.append(f"{side.text(read)}  ({shown})")
        t = int(read.tree.left[t] if yes else read.tree.right[t])
        nodes.append(t)
    rule = next(rule for rule in to_rules(read) if rule.leaf == t)
    text = "\n".join([*steps, f"so {read.answer_text(t)}  ({read.count_text(t)})"])
    return Explanation(tuple(nodes), tuple(steps), rule, text)


def to_text(
    model: TreeEstimator, *, feature_names: FeatureNames = None, max_depth: int | None = None, missing: bool = False
) -> str:
    """The questions of a fitted tree, indented; a leaf shows its answer, its rows and the shares of the classes.

    With `missing` every question mentions where missing values go; nodes below `max_depth` are counted, not shown.
    """
    read = tree_reader(model, feature_names, missing=missing)
    end = _ends(read.tree)
    lines: list[str] = []
    todo: list[tuple[int, str]] = [(0, "")]
    while todo:
        t, side = todo.pop()
        start = "  " * int(read.tree.depth[t]) + side
        if read.tree.feature[t] < 0:
            lines.append(f"{start}{read.answer_text(t)}  ({read.count_text(t)})")
        elif max_depth is not None and read.tree.depth[t] >= max_depth:
            lines.append(f"{start}... {(end[t] - t + 1) // 2} leaves, {read.tree.rows[t]} rows")
        else:
            lines.append(f"{start}{read.left_condition(t).text(read)}?")
            todo += [(int(read.tree.right[t]), "no: "), (int(read.tree.left[t]), "yes: ")]
    return "\n".join(lines)


def to_dot(model: TreeEstimator, *, feature_names: FeatureNames = None, missing: bool = False) -> str:
    """A fitted tree in the language of Graphviz: questions in ovals, leaves in boxes."""
    read = tree_reader(model, feature_names, missing=missing)
    lines: list[str] = []
    for t in range(len(read.tree)):
        if read.tree.feature[t] < 0:
            lines.append(f"  n{t} [shape=box, label={dot_label(read.answer_text(t), read.count_text(t))}];")
            continue
        lines.append(
            f"  n{t} [shape=oval, label={dot_label(read.left_condition(t).text(read) + '?', read.count_text(t))}];"
        )
        lines += [f'  n{t} -> n{read.tree.left[t]} [label="yes"];', f'  n{t} -> n{read.tree.right[t]} [label="no"];']
    return dot_graph("tree", lines)


def to_sql(
    model: TreeEstimator,
    *,
    feature_names: FeatureNames = None,
    table: str | None = None,
    output: Output = "predict",
) -> str:
    """A fitted tree as an expression of SQL, or with `table` as a query; NULL is a missing value.

    `output` is the answer, one column of probabilities per class, or the number of the leaf. Numbers read back exactly.
    A category that fit did not see is a missing value.
    """
    return BinaryCases(tree_reader(model, feature_names)).to_sql(output, table)


class TreeExports:
    """A fitted tree as text, rules, Graphviz and SQL."""

    def to_text(
        self, *, feature_names: FeatureNames = None, max_depth: int | None = None, missing: bool = False
    ) -> str:
        """The questions, indented; a leaf shows its answer, its rows and the shares of the classes."""
        return to_text(self, feature_names=feature_names, max_depth=max_depth, missing=missing)

    def to_rules(self, *, feature_names: FeatureNames = None, missing: bool = False) -> LeafRules:
        """Every leaf as a rule with its count, shares and label; `formulas` joins those of a class."""
        return to_rules(self, feature_names=feature_names, missing=missing)

    def to_dot(self, *, feature_names: FeatureNames = None, missing: bool = False) -> str:
        """The tree in the language of Graphviz."""
        return to_dot(self, feature_names=feature_names, missing=missing)

    def to_sql(
        self,
        *,
        feature_names: FeatureNames = None,
        table: str | None = None,
        output: Output = "predict",
    ) -> str:
        """The tree as an expression of SQL, or with `table` as a query; NULL is a missing value."""
        return to_sql(self, feature_names=feature_names, table=table, output=output)

    def explain(self, X: UserTable, *, feature_names: FeatureNames = None) -> Explanation:
        """The path of one row, a table of shape (1, columns): each question, the row's value, the rule of its leaf."""
        return explain(self, X, feature_names=feature_names)


@dataclass(frozen=True)
class BinaryCases(TreeCases[Condition]):
    """A binary tree in SQL; conditions of a path on the same column are merged."""

    read: TreeReader

    def branches(self, t: int) -> Sequence[tuple[Condition | None, int]]:
        tree = self.read.tree
        if tree.feature[t] < 0:
            return ()
        return (self.read.left_condition(t), int(tree.left[t])), (None, int(tree.right[t]))

    def condition(self, turn: Condition) -> str:
        return sql_condition(turn, self.read)

    def conjunction(self, turns: Sequence[Condition]) -> str:
        return super().conjunction(tuple(reduce(_and_also, turns, dict[int, Condition]()).values()))


def _and_also(held: dict[int, Condition], c: Condition) -> dict[int, Condition]:
    """The conditions of a path, one per column, and one more."""
    return {**held, c.column: held[c.column] & c if c.column in held else c}


def _value_text(read: TreeReader, column: int, value: float) -> str:
    return str(read.categories[column][int(value)]) if column in read.categories else f"{value:.6g}"


def _ends(tree: Tree) -> Indices:
    """One past the last node below each node."""
    end = np.arange(1, len(tree) + 1)
    for t in range(len(tree) - 1, -1, -1):
        if tree.right[t] >= 0:
            end[t] = end[tree.right[t]]
    return end
