"""Trees of questions about whole rows, in words, in the language of Graphviz, and in SQL.

A question is arithmetic: a sum of products of columns, and a limit. A database adds the same terms in the same order as
`predict`, so that both say the same. A category counts as one where the row holds it and as zero elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fivefold.core.types import Table
from fivefold.partition.export.text_formats import dot_label, sql_literal, sql_name
from fivefold.partition.row_questions.questions import Question, QuestionFormat
from fivefold.tree.export.binary_export import MAX_NESTED_CASES, SQL_OUTPUTS, TreeReader, tree_reader


@dataclass(frozen=True)
class LeafRule:
    """A leaf as the questions on its way down, each with the branch taken."""

    steps: tuple[tuple[Question, int], ...]
    leaf: int
    label: Any
    rows: int
    weight: float
    value: Any  # shares of the classes, or the mean
    text: str

    def covers(self, X: Table) -> Any:
        """Does each row of numbers, categories written out as 0/1 columns, take this way?"""
        out = np.ones(len(X), dtype=bool)
        for question, branch in self.steps:
            out &= question.sides(X) == branch
        return out

    def __str__(self) -> str:
        return self.text


class RowTreeExports:
    """A fitted tree in human form, and in SQL."""

    model_: Any

    def to_text(self, *, feature_names: Any = None, max_depth: int | None = None) -> str:
        """The questions, indented; a leaf shows its answer, its rows and the shares of the classes."""
        read, words = tree_reader(self, feature_names), self._words(feature_names)
        tree: Any = read.tree
        lines = list[str]()
        todo: list[tuple[int, str]] = [(0, "")]
        while todo:
            t, side = todo.pop()
            start = "  " * int(tree.depth[t]) + side
            asked = tree.question[t]
            if asked is None:
                lines.append(f"{start}{read.answer(t)}  ({read.counts(t)})")
            elif max_depth is not None and tree.depth[t] >= max_depth:
                lines.append(f"{start}... {_leaves_below(tree, t)} leaves, {tree.rows[t]} rows")
            else:
                title, sides = _branch_labels(asked.conditions(words))
                lines.append(start + title)
                todo += [(child, f"{side}: ") for child, side in zip(tree.children[t], sides, strict=True)][::-1]
        return "\n".join(lines)

    def to_rules(self, *, feature_names: Any = None) -> tuple[LeafRule, ...]:
        """Every leaf as a rule: the questions on its way down, its rows, shares and label."""
        read, words = tree_reader(self, feature_names), self._words(feature_names)
        tree: Any = read.tree
        found: list[LeafRule] = []
        todo: list[tuple[int, tuple[tuple[Question, int], ...], tuple[str, ...]]] = [(0, (), ())]
        while todo:
            t, steps, said = todo.pop()
            asked = tree.question[t]
            if asked is None:
                text = f"if {' and '.join(said) or 'always'} then {read.answer(t)}  ({read.counts(t)})"
                rows, weight = int(tree.rows[t]), float(read.weight[t])
                found.append(LeafRule(steps, t, read.label(t), rows, weight, read.value[t], text))
                continue
            turns = _branch_conditions(asked.conditions(words))
            below = enumerate(zip(tree.children[t], turns, strict=True))
            todo += [(child, (*steps, (asked, b)), (*said, *turn)) for b, (child, turn) in below][::-1]
        return tuple(found)

    def to_dot(self, *, feature_names: Any = None) -> str:
        """The tree in the language of Graphviz: questions in ovals, leaves in boxes."""
        read, words = tree_reader(self, feature_names), self._words(feature_names)
        tree: Any = read.tree
        lines = [
            "digraph tree {",
            '  node [fontname="Helvetica", fontsize=10];',
            '  edge [fontsize=9, color="gray40"];',
        ]
        for t, asked in enumerate(tree.question):
            if asked is None:
                lines.append(f"  n{t} [shape=box, label={dot_label(read.answer(t), read.counts(t))}];")
                continue
            title, sides = _branch_labels(asked.conditions(words))
            lines.append(f"  n{t} [shape=oval, label={dot_label(title, read.counts(t))}];")
            below = zip(tree.children[t], sides, strict=True)
            lines += [f"  n{t} -> n{child} [label={dot_label(side)}];" for child, side in below]
        return "\n".join([*lines, "}"])

    def to_sql(
        self,
        *,
        feature_names: Any = None,
        table: str | None = None,
        output: Literal["predict", "predict_proba", "apply"] = "predict",
    ) -> str:
        """The tree as an expression of SQL, or with `table` as a query; numbers read back exactly."""
        read, words = tree_reader(self, feature_names), self._words(feature_names, sql=True)
        write = _nested if int(read.tree.depth.max()) <= MAX_NESTED_CASES else _flat
        columns = [(write(read, words, cell), sql_name(name)) for name, cell in SQL_OUTPUTS[output](read)]
        single = table is None and len(columns) == 1
        listed = ",\n".join(case if single else f"{case} AS {name}" for case, name in columns)
        return listed if table is None else f"SELECT {listed}\nFROM {sql_name(table)}"

    def _words(self, feature_names: Any, *, sql: bool = False) -> QuestionFormat:
        """How questions about the table are written; a category is a truth value that counts as 0 or 1."""
        read, layout = tree_reader(self, feature_names), self.model_.layout
        names = []
        for j, level in zip(layout.source, layout.level, strict=True):
            name = sql_name(read.names[j]) if sql else read.names[j]
            if level < 0:
                names.append(name)
            elif sql:
                names.append(f"(CASE WHEN {name} = {_value(read.categories[j][level])} THEN 1.0 ELSE 0.0 END)")
            else:
                names.append(f"({name} = {read.categories[j][level]})")
        return (
            QuestionFormat(tuple(names), lambda v: sql_literal(float(v)), " * ", " AND ")
            if sql
            else QuestionFormat(tuple(names))
        )


def _branch_labels(conditions: list[str]) -> tuple[str, list[str]]:
    """The title of a question, and a word for each branch."""
    if len(conditions) == 1:
        return f"{conditions[0]}?", ["yes", "no"]
    return "which holds first?", [*conditions, "otherwise"]


def _branch_conditions(conditions: list[str]) -> list[tuple[str, ...]]:
    """What holds in each branch: its condition, and that those before do not."""
    failed = [f"not ({c})" for c in conditions]
    first = [(*failed[:b], f"({c})") for b, c in enumerate(conditions)]
    return [*first, tuple(failed)]


def _value(level: Any) -> str:
    return sql_literal(level.item() if isinstance(level, np.generic) else level)


def _nested(read: TreeReader, words: QuestionFormat, cell: Any, t: int = 0) -> str:
    tree: Any = read.tree
    asked = tree.question[t]
    if asked is None:
        return str(cell(t))
    parts = [_nested(read, words, cell, child) for child in tree.children[t]]
    whens = " ".join(f"WHEN {c} THEN {part}" for c, part in zip(asked.conditions(words), parts, strict=False))
    return f"CASE {whens} ELSE {parts[-1]} END"


def _flat(read: TreeReader, words: QuestionFormat, cell: Any) -> str:
    """One WHEN a leaf in order, with the conditions on its way: rows of an earlier branch are gone by then."""
    tree: Any = read.tree
    cases, todo = list[str](), [(0, tuple[str, ...]())]
    while todo:
        t, held = todo.pop()
        if tree.question[t] is None:
            cases.append(f"WHEN {' AND '.join(held)} THEN {cell(t)}" if held else f"ELSE {cell(t)}")
            continue
        turns = [*((f"({c})",) for c in tree.question[t].conditions(words)), ()]
        todo += [(child, (*held, *turn)) for child, turn in zip(tree.children[t], turns, strict=True)][::-1]
    return "CASE " + " ".join(cases) + " END"


def _leaves_below(tree: Any, t: int) -> int:
    todo, count = [t], 0
    while todo:
        below = tree.children[todo.pop()]
        count += not below
        todo += below
    return count
