"""Trees of questions about whole rows, as text, rules, Graphviz and SQL.

A question is arithmetic: a sum of products of columns, and a limit. A database adds the same terms in the same order as
`predict`, so that both answer alike. A category counts as one where the row holds it and as zero elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fivefold.core.types import Mask, Table, Vector
from fivefold.partition.export.text_formats import dot_graph, dot_label, sql_literal, sql_name
from fivefold.partition.row_questions.nodes import RowQuestionTree
from fivefold.partition.row_questions.questions import Question, QuestionFormat
from fivefold.tree.export.sql_cases import Output, TreeCases
from fivefold.tree.export.tree_reader import AnswerReader, FeatureNames, row_tree_reader


@dataclass(frozen=True)
class LeafRule:
    """A leaf as the questions on its path, each with the branch taken."""

    steps: tuple[tuple[Question, int], ...]
    leaf: int
    label: object
    rows: int
    weight: float
    value: Vector  # shares of the classes, or the mean
    text: str

    def covers(self, X: Table) -> Mask:
        """Which rows take this path; X holds numbers, and categories as 0/1 columns."""
        out = np.ones(len(X), dtype=bool)
        for question, branch in self.steps:
            out &= question.row_branches(X) == branch
        return out

    def __str__(self) -> str:
        return self.text


class RowTreeExports:
    """A fitted tree as text, rules, Graphviz and SQL."""

    model_: Any  # a RowTreeModel, whose module imports this one

    def to_text(self, *, feature_names: FeatureNames = None, max_depth: int | None = None) -> str:
        """The questions, indented; a leaf shows its answer, its rows and the shares of the classes."""
        read, style = row_tree_reader(self, feature_names), self._question_format(feature_names)
        tree = read.tree
        lines = list[str]()
        todo: list[tuple[int, str]] = [(0, "")]
        while todo:
            t, side = todo.pop()
            start = "  " * int(tree.depth[t]) + side
            asked = tree.question[t]
            if asked is None:
                lines.append(f"{start}{read.answer_text(t)}  ({read.count_text(t)})")
            elif max_depth is not None and tree.depth[t] >= max_depth:
                lines.append(f"{start}... {_leaves_below(tree, t)} leaves, {tree.rows[t]} rows")
            else:
                title, labels = _branch_labels(asked.conditions(style))
                lines.append(start + title)
                todo += [(child, f"{label}: ") for child, label in zip(tree.children[t], labels, strict=True)][::-1]
        return "\n".join(lines)

    def to_rules(self, *, feature_names: FeatureNames = None) -> tuple[LeafRule, ...]:
        """Every leaf as a rule: the questions on its path, its rows, shares and label."""
        read, style = row_tree_reader(self, feature_names), self._question_format(feature_names)
        tree = read.tree
        found: list[LeafRule] = []
        todo: list[tuple[int, tuple[tuple[Question, int], ...], tuple[str, ...]]] = [(0, (), ())]
        while todo:
            t, steps, held = todo.pop()
            asked = tree.question[t]
            if asked is None:
                text = f"if {' and '.join(held) or 'always'} then {read.answer_text(t)}  ({read.count_text(t)})"
                rows, weight = int(tree.rows[t]), float(read.weight[t])
                found.append(LeafRule(steps, t, read.label(t), rows, weight, read.value[t], text))
                continue
            turns = _branch_conditions(asked.conditions(style))
            below = enumerate(zip(tree.children[t], turns, strict=True))
            todo += [(child, (*steps, (asked, b)), (*held, *turn)) for b, (child, turn) in below][::-1]
        return tuple(found)

    def to_dot(self, *, feature_names: FeatureNames = None) -> str:
        """The tree in the language of Graphviz: questions in ovals, leaves in boxes."""
        read, style = row_tree_reader(self, feature_names), self._question_format(feature_names)
        tree = read.tree
        lines: list[str] = []
        for t, asked in enumerate(tree.question):
            if asked is None:
                lines.append(f"  n{t} [shape=box, label={dot_label(read.answer_text(t), read.count_text(t))}];")
                continue
            title, labels = _branch_labels(asked.conditions(style))
            lines.append(f"  n{t} [shape=oval, label={dot_label(title, read.count_text(t))}];")
            below = zip(tree.children[t], labels, strict=True)
            lines += [f"  n{t} -> n{child} [label={dot_label(label)}];" for child, label in below]
        return dot_graph("tree", lines)

    def to_sql(
        self,
        *,
        feature_names: FeatureNames = None,
        table: str | None = None,
        output: Output = "predict",
    ) -> str:
        """The tree as an expression of SQL, or with `table` as a query; numbers read back exactly."""
        style = self._question_format(feature_names, sql=True)
        return RowCases(row_tree_reader(self, feature_names), style).to_sql(output, table)

    def _question_format(self, feature_names: FeatureNames, *, sql: bool = False) -> QuestionFormat:
        """How questions about the table are written; a category is a truth value that counts as 0 or 1."""
        read, layout = row_tree_reader(self, feature_names), self.model_.layout
        names = []
        for j, level in zip(layout.source, layout.level, strict=True):
            name = sql_name(read.names[j]) if sql else read.names[j]
            if level < 0:
                names.append(name)
            elif sql:
                names.append(f"(CASE WHEN {name} = {sql_literal(read.categories[j][level])} THEN 1.0 ELSE 0.0 END)")
            else:
                names.append(f"({name} = {read.categories[j][level]})")
        return (
            QuestionFormat(tuple(names), lambda v: sql_literal(float(v)), " * ", " AND ")
            if sql
            else QuestionFormat(tuple(names))
        )


def _branch_labels(conditions: list[str]) -> tuple[str, list[str]]:
    """The title of a question, and a label for each branch."""
    if len(conditions) == 1:
        return f"{conditions[0]}?", ["yes", "no"]
    return "which holds first?", [*conditions, "otherwise"]


def _branch_conditions(conditions: list[str]) -> list[tuple[str, ...]]:
    """What holds in each branch: its condition, and that the conditions before it fail."""
    failed = [f"not ({c})" for c in conditions]
    first = [(*failed[:b], f"({c})") for b, c in enumerate(conditions)]
    return [*first, tuple(failed)]


@dataclass(frozen=True)
class RowCases(TreeCases[str]):
    """A tree of questions about whole rows in SQL."""

    read: AnswerReader[RowQuestionTree]
    style: QuestionFormat

    def branches(self, t: int) -> Sequence[tuple[str | None, int]]:
        asked, children = self.read.tree.question[t], self.read.tree.children[t]
        return () if asked is None else tuple(zip([*asked.conditions(self.style), None], children, strict=True))

    def condition(self, turn: str) -> str:
        return turn


def _leaves_below(tree: RowQuestionTree, t: int) -> int:
    todo, count = [t], 0
    while todo:
        below = tree.children[todo.pop()]
        count += not below
        todo += below
    return count
