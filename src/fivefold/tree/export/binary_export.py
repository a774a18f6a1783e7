"""A fitted tree in human form, and in SQL.

Every leaf is a box: a conjunction of bounds of columns, those on the way down merged, one a column,

    R_j = (low < x_a <= high) and (x_b in {p, q}) and ...

The boxes are disjoint and cover the space, missing values included: a missing value stays on a way as long as every
question about its column sends it there. The boxes of a class joined by "or" are its disjunctive normal form.

In SQL a tree is a CASE expression. Nested cases follow its questions; where it is deeper than a parser of SQL allows, a
flat list of its leaves from left to right asks for the turns to the left only: a row that turns right somewhere fails
the question there, and with it every leaf to the left.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fivefold.core.types import Array, Table, UserTable
from fivefold.partition.export.conditions import Condition
from fivefold.partition.export.conjunctions import Rule, RuleCollection
from fivefold.partition.export.text_formats import dot_label, sql_condition, sql_literal, sql_name
from fivefold.partition.tree_arrays.binary_tree import Tree

MAX_NESTED_CASES = 16  # deepest nest of cases: SQLite's parser held a hundred symbols before version 3.46
DOT_HEADER = ("digraph tree {", '  node [fontname="Helvetica", fontsize=10];', '  edge [fontsize=9, color="gray40"];')


@dataclass(frozen=True)
class TreeReader:
    """A tree, the answer of every node, and the names a reader knows."""

    tree: Tree
    value: Array  # (m, K) shares of the classes, those of one output after those of another, or (m, outputs) numbers
    weight: Array  # (m,)
    names: tuple[str, ...]  # of the columns
    classes: tuple[Any, ...] | None = None  # the labels of each output; None for numbers
    categories: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    missing: bool = False  # are missing values spoken of?
    scores: Any = None  # (m, K) by which nodes answer, where that is not by the shares

    def question(self, t: int) -> Condition:
        """What a row satisfies that goes left at node t."""
        f, stays = int(self.tree.feature[t]), bool(self.tree.missing_left[t])
        if (levels := self._set(t)) is not None:
            return Condition(f, levels=levels, missing=stays)
        return Condition(f, high=float(self.tree.threshold[t]), missing=stays)

    def otherwise(self, t: int) -> Condition:
        """What a row satisfies that goes right at node t."""
        f, goes = int(self.tree.feature[t]), not self.tree.missing_left[t]
        if (levels := self._set(t)) is not None:
            return Condition(f, levels=frozenset(range(self._levels(t))) - levels, missing=goes)
        return Condition(f, low=float(self.tree.threshold[t]), missing=goes)

    def level_names(self, column: int, levels: frozenset[int]) -> list[Any]:
        """The categories of these codes; the codes themselves where they have no names."""
        known = self.categories.get(column)
        return [known[code] if known is not None else code for code in sorted(levels)]

    @property
    def columns(self) -> tuple[str, ...]:
        """Their names, for other languages."""
        return self.names

    def values(self, column: int, levels: frozenset[int]) -> list[Any]:
        """The categories of these codes, for other languages."""
        return self.level_names(column, levels)

    def number(self, value: float) -> str:
        """A bound in six digits."""
        return f"{value:.6g}"

    @property
    def outputs(self) -> int:
        """Answers of a leaf."""
        return len(self.classes) if self.classes is not None else self.value.shape[1]

    def winner(self, t: int, k: int) -> int:
        """The class of output k that node t answers with."""
        ends = np.cumsum([0, *(len(labels) for labels in self.classes or ())])
        scores = self.value if self.scores is None else self.scores
        return int(scores[t, ends[k] : ends[k + 1]].argmax())

    def answers(self, t: int) -> tuple[Any, ...]:
        """What node t says of each output: its commonest class, or its number."""
        if self.classes is None:
            return tuple(self.value[t].tolist())
        return tuple(labels[self.winner(t, k)].item() for k, labels in enumerate(self.classes))

    def label(self, t: int) -> Any:
        """The answer of node t; those of several outputs together."""
        said = self.answers(t)
        return said[0] if len(said) == 1 else said

    def answer(self, t: int) -> str:
        """The answer of node t in words."""
        return ", ".join(f"{v:.6g}" if self.classes is None else str(v) for v in self.answers(t))

    def counts(self, t: int) -> str:
        """Rows of node t, and the shares of the classes it holds."""
        rows = int(self.tree.rows[t])
        text = f"{rows} row{'s' * (rows != 1)}"
        if self.classes is None:
            return text
        labels = np.concatenate([np.asarray(c, dtype=object) for c in self.classes])
        held = [(label, share) for label, share in zip(labels, self.value[t], strict=True) if share > 0]
        named = (
            (f"{100 * share:.3g}%", label if isinstance(label, str) else f"class {label}") for label, share in held
        )
        return text + "".join(f", {percent} {name}" for percent, name in named)

    def _levels(self, t: int) -> int:
        f = int(self.tree.feature[t])
        return len(self.categories[f]) if f in self.categories else 8 * self._bytes(t)

    def _bytes(self, t: int) -> int:
        later = self.tree.set_start[self.tree.set_start > self.tree.set_start[t]]
        return int(later.min(initial=len(self.tree.set_bits)) - self.tree.set_start[t])

    def _set(self, t: int) -> frozenset[int] | None:
        if self.tree.set_start is None or self.tree.set_start[t] < 0:
            return None
        return frozenset(np.flatnonzero(self.tree.chosen(t, self._levels(t))).tolist())


def tree_reader(model: Any, feature_names: Any = None, *, missing: bool = False) -> TreeReader:
    """What an export reads of a fitted tree; a Source is given back as it is."""
    if isinstance(model, TreeReader):
        return model
    check_is_fitted(model)
    m = model.model_
    names = feature_names if feature_names is not None else getattr(model, "feature_names_in_", None)
    names = [f"x{j}" for j in range(m.columns)] if names is None else names
    if len(names) != m.columns:
        raise ValueError(f"the tree has {m.columns} columns; {len(names)} feature_names were given")
    categories = getattr(model, "categories_in_", None)
    named = {} if categories is None else dict(categories.values)
    labels = getattr(model, "classes_", None)
    classes = tuple(labels) if isinstance(labels, list) else None if labels is None else (labels,)
    scores = None if classes is None else model._node_scores()
    return TreeReader(m.tree, m.value, m.weight, tuple(map(str, names)), classes, named, missing, scores)


@dataclass(frozen=True)
class LeafRules(RuleCollection):
    """The leaves of a tree as disjoint rules that cover the space, from left to right."""

    rules: tuple[Rule, ...]
    source: TreeReader

    @property
    def words(self) -> TreeReader:
        """Names as they are, numbers in six digits."""
        return self.source

    def predict(self, X: UserTable) -> Any:
        """The label of the rule that holds for each row."""
        return np.array([rule.label for rule in self.rules])[self.covers(X).argmax(axis=1)]

    def __str__(self) -> str:
        lines = (
            f"if {self.conjunction(rule)} then {self.source.answer(rule.leaf)}  ({self.source.counts(rule.leaf)})"
            for rule in self.rules
        )
        return "\n".join(lines)


@dataclass(frozen=True)
class Explanation:
    """Why one row got its answer: the questions on its way, its values, and what the leaf says."""

    nodes: tuple[int, ...]
    steps: tuple[str, ...]
    rule: Rule
    text: str

    def __str__(self) -> str:
        return self.text


def to_rules(model: Any, *, feature_names: Any = None, missing: bool = False) -> LeafRules:
    """Every leaf of a fitted tree as a rule with its count, shares and label.

    The rules always know where missing values belong; with `missing` their words say so.
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
        for child, c in ((read.tree.right[t], read.otherwise(t)), (read.tree.left[t], read.question(t))):
            todo.append((int(child), {**held, c.column: held[c.column] & c if c.column in held else c}))
    return LeafRules(tuple(found), read)


def explain(model: Any, x: Array, *, feature_names: Any = None) -> Explanation:
    """The way of one row down a fitted tree: each question with the row's value, and the rule of its leaf."""
    X = model._admit(x)
    if len(X) != 1:
        raise ValueError(f"explain takes one row, a table of shape (1, columns); got {len(X)} rows")
    read = tree_reader(model, feature_names, missing=bool(np.isnan(X).any()))
    t, nodes, steps = 0, [0], []
    while read.tree.feature[t] >= 0:
        value, question = X[0, read.tree.feature[t]], read.question(t)
        yes = bool(question.holds(np.array([value]))[0])
        side = question if yes else read.otherwise(t)
        shown = "missing" if value != value else _shown(read, question.column, value)
        steps.append(f"{side.text(read)}  ({shown})")
        t = int(read.tree.left[t] if yes else read.tree.right[t])
        nodes.append(t)
    rule = next(rule for rule in to_rules(read) if rule.leaf == t)
    text = "\n".join([*steps, f"so {read.answer(t)}  ({read.counts(t)})"])
    return Explanation(tuple(nodes), tuple(steps), rule, text)


def to_text(model: Any, *, feature_names: Any = None, max_depth: int | None = None, missing: bool = False) -> str:
    """The questions of a fitted tree, indented; a leaf shows its answer, its rows and the shares of the classes.

    With `missing` every question says where missing values go; what lies below `max_depth` is counted, not shown.
    """
    read = tree_reader(model, feature_names, missing=missing)
    end = _ends(read.tree)
    lines: list[str] = []
    todo: list[tuple[int, str]] = [(0, "")]
    while todo:
        t, side = todo.pop()
        start = "  " * int(read.tree.depth[t]) + side
        if read.tree.feature[t] < 0:
            lines.append(f"{start}{read.answer(t)}  ({read.counts(t)})")
        elif max_depth is not None and read.tree.depth[t] >= max_depth:
            lines.append(f"{start}... {(end[t] - t + 1) // 2} leaves, {read.tree.rows[t]} rows")
        else:
            lines.append(f"{start}{read.question(t).text(read)}?")
            todo += [(int(read.tree.right[t]), "no: "), (int(read.tree.left[t]), "yes: ")]
    return "\n".join(lines)


def to_dot(model: Any, *, feature_names: Any = None, missing: bool = False) -> str:
    """A fitted tree in the language of Graphviz: questions in ovals, leaves in boxes."""
    read = tree_reader(model, feature_names, missing=missing)
    lines = list(DOT_HEADER)
    for t in range(len(read.tree)):
        if read.tree.feature[t] < 0:
            lines.append(f"  n{t} [shape=box, label={dot_label(read.answer(t), read.counts(t))}];")
            continue
        lines.append(f"  n{t} [shape=oval, label={dot_label(read.question(t).text(read) + '?', read.counts(t))}];")
        lines += [f'  n{t} -> n{read.tree.left[t]} [label="yes"];', f'  n{t} -> n{read.tree.right[t]} [label="no"];']
    return "\n".join([*lines, "}"])


def to_sql(
    model: Any,
    *,
    feature_names: Any = None,
    table: str | None = None,
    output: Literal["predict", "predict_proba", "apply"] = "predict",
) -> str:
    """A fitted tree as an expression of SQL, or with `table` as a query; NULL is a missing value.

    `output` is the answer, one column of probability a class, or the number of the leaf. Numbers read back exactly. A
    category that fit did not see is a missing value.
    """
    read = tree_reader(model, feature_names)
    columns = []
    for name, cell in SQL_OUTPUTS[output](read):
        case = _nested(read, cell, 0) if int(read.tree.depth.max()) <= MAX_NESTED_CASES else _flat(read, cell)
        columns.append((case, sql_name(name)))
    single = table is None and len(columns) == 1
    listed = ",\n".join(case if single else f"{case} AS {name}" for case, name in columns)
    return listed if table is None else f"SELECT {listed}\nFROM {sql_name(table)}"


class TreeExports:
    """A fitted tree in human form, and in SQL."""

    def to_text(self, *, feature_names: Any = None, max_depth: int | None = None, missing: bool = False) -> str:
        """The questions, indented; a leaf shows its answer, its rows and the shares of the classes."""
        return to_text(self, feature_names=feature_names, max_depth=max_depth, missing=missing)

    def to_rules(self, *, feature_names: Any = None, missing: bool = False) -> LeafRules:
        """Every leaf as a rule with its count, shares and label; `formulas` joins those of a class."""
        return to_rules(self, feature_names=feature_names, missing=missing)

    def to_dot(self, *, feature_names: Any = None, missing: bool = False) -> str:
        """The tree in the language of Graphviz."""
        return to_dot(self, feature_names=feature_names, missing=missing)

    def to_sql(
        self,
        *,
        feature_names: Any = None,
        table: str | None = None,
        output: Literal["predict", "predict_proba", "apply"] = "predict",
    ) -> str:
        """The tree as an expression of SQL, or with `table` as a query; NULL is a missing value."""
        return to_sql(self, feature_names=feature_names, table=table, output=output)

    def explain(self, X: Table, *, feature_names: Any = None) -> Explanation:
        """The way of one row, a table of shape (1, columns): each question, the row's value, the rule of its leaf."""
        return explain(self, X, feature_names=feature_names)


def _predictions(read: TreeReader) -> list[tuple[str, Any]]:
    ends = [""] if read.outputs == 1 else [f"_{k}" for k in range(read.outputs)]
    return [(f"prediction{end}", _nth(read, k)) for k, end in enumerate(ends)]


def _nth(read: TreeReader, k: int) -> Any:
    return lambda t: sql_literal(read.answers(t)[k])


def _probabilities(read: TreeReader) -> list[tuple[str, Any]]:
    if read.classes is None:
        raise ValueError("output='predict_proba' needs a tree of classes; this one answers with numbers")
    labels = [label for c in read.classes for label in c]
    return [(f"p_{label}", _numbers(read.value[:, i])) for i, label in enumerate(labels)]


def _numbers(values: Array) -> Any:
    return lambda t: sql_literal(float(values[t]))


SQL_OUTPUTS: dict[str, Any] = {
    "predict": _predictions,
    "predict_proba": _probabilities,
    "apply": lambda read: [("leaf", str)],
}


def _nested(read: TreeReader, cell: Any, t: int) -> str:
    if read.tree.feature[t] < 0:
        return cell(t)
    yes, no = _nested(read, cell, int(read.tree.left[t])), _nested(read, cell, int(read.tree.right[t]))
    return f"CASE WHEN {sql_condition(read.question(t), read)} THEN {yes} ELSE {no} END"


def _flat(read: TreeReader, cell: Any) -> str:
    """One WHEN a leaf from left to right, with the turns to the left on its way."""
    cases: list[str] = []
    todo: list[tuple[int, dict[int, Condition]]] = [(0, {})]
    while todo:
        t, held = todo.pop()
        if read.tree.feature[t] < 0:
            when = " AND ".join(f"({sql_condition(c, read)})" for c in held.values())
            cases.append(f"WHEN {when} THEN {cell(t)}" if held else f"ELSE {cell(t)}")
            continue
        c = read.question(t)
        todo.append((int(read.tree.right[t]), held))
        todo.append((int(read.tree.left[t]), {**held, c.column: held[c.column] & c if c.column in held else c}))
    return "CASE " + " ".join(cases) + " END"


def _shown(read: TreeReader, column: int, value: float) -> str:
    return str(read.categories[column][int(value)]) if column in read.categories else f"{value:.6g}"


def _ends(tree: Tree) -> Any:
    """One past the last node below each node."""
    end = np.arange(1, len(tree) + 1)
    for t in range(len(tree) - 1, -1, -1):
        if tree.right[t] >= 0:
            end[t] = end[tree.right[t]]
    return end
