"""Trees with any number of branches in the language of Graphviz, and in SQL.

A node answers the rows that end there: a leaf, or an inner node for the values of a discrete column that it never saw.
A value that no row of fit had is a missing one, as NULL is.
In SQL a tree is one CASE with a line for each node that answers, and the conditions on its way. Where rows without a
value go into several branches, each by a part, the share of a class is a sum over the nodes that answer,

    p_k = sum_t value_tk prod_(steps down to t) part,   part = 1 in the branch taken, its share where x is missing, or 0
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fivefold.core.types import Array
from fivefold.partition.export.text_formats import dot_label, sql_literal, sql_name
from fivefold.partition.missing_values.policies import heaviest_branch
from fivefold.partition.missing_values.surrogates import Surrogate
from fivefold.partition.tree_arrays.multiway_tree import MultiwayArrays
from fivefold.tree.export.binary_export import DOT_HEADER

Step = tuple[int, int]  # a node, and the branch taken; -2 for a value that it never saw


class MultiwayExports:
    """A fitted tree with any number of branches for other programs."""

    model_: Any
    classes_: Any
    _word: Any
    _categories: Any

    def to_dot(self) -> str:
        """The tree in the language of Graphviz: columns in ovals, leaves in boxes, conditions on the edges."""
        check_is_fitted(self)
        tree, weight = self.model_.tree, self.model_.counts.sum(axis=1)
        label = self.classes_[self.model_.value.argmax(axis=1)]
        lines = list(DOT_HEADER)
        for t in range(len(tree)):
            rows = f"{weight[t]:g} row" + ("" if weight[t] == 1 else "s")
            if tree.feature[t] < 0:
                lines.append(f"  n{t} [shape=box, label={dot_label(str(label[t]), rows)}];")
                continue
            lines.append(f"  n{t} [shape=oval, label={dot_label(self._word(int(tree.feature[t]), None) + '?', rows)}];")
            lines += [
                f"  n{t} -> n{tree.first[t] + b} [label={dot_label(tree.question(t, b, self._word))}];"
                for b in range(tree.branches[t])
            ]
        return "\n".join([*lines, "}"])

    def to_sql(self, *, table: str | None = None, output: Literal["predict", "predict_proba"] = "predict") -> str:
        """The tree as an expression of SQL, or with `table` as a query; NULL is a missing value.

        `output` is the class, or one column of probability a class. Numbers read back exactly.
        """
        check_is_fitted(self)
        write = _SqlWriter(self)
        columns = [(text, sql_name(name)) for name, text in SQL_OUTPUTS[output](write)]
        single = table is None and len(columns) == 1
        listed = ",\n".join(text if single else f"{text} AS {name}" for text, name in columns)
        return listed if table is None else f"SELECT {listed}\nFROM {sql_name(table)}"


def paths_to_answers(tree: MultiwayArrays) -> Iterator[tuple[int, tuple[Step, ...]]]:
    """Every node that answers, and the steps that lead there, from left to right."""
    todo: list[tuple[int, tuple[Step, ...]]] = [(0, ())]
    while todo:
        t, steps = todo.pop()
        if tree.feature[t] < 0:
            yield t, steps
            continue
        if tree.discrete[t] and (tree.key[tree.start[t] : tree.start[t + 1]] < 0).any():
            yield t, (*steps, (t, -2))
        todo += [(int(tree.first[t]) + b, (*steps, (t, b))) for b in range(tree.branches[t])][::-1]


class _SqlWriter:
    def __init__(self, estimator: Any) -> None:
        self.model, self.tree, self.labels = estimator.model_, estimator.model_.tree, estimator.classes_
        self.categories = estimator._categories()
        self.names = [sql_name(estimator._word(j, None)) for j in range(estimator.model_.columns)]
        self.parted = self.model.missing == "fractions"

    def predict(self) -> list[tuple[str, str]]:
        label = [sql_literal(v.item() if isinstance(v, np.generic) else v) for v in self.labels]
        if not self.parted:
            best = self.model.value.argmax(axis=1)
            return [("prediction", self._cases(lambda t: label[best[t]]))]
        shares = [f"p{k}" for k in range(len(label))]
        whens = " ".join(
            f"WHEN {' AND '.join(f'{p} >= {q}' for q in shares[k + 1 :]) or '1'} THEN {label[k]}"
            for k, p in enumerate(shares)
        )
        each = ", ".join(f"{text} AS p{k}" for k, (_, text) in enumerate(self.predict_proba()))
        return [("prediction", f"(SELECT CASE {whens} END FROM (SELECT {each}))")]

    def predict_proba(self) -> list[tuple[str, str]]:
        write = self._sum if self.parted else lambda values: self._cases(lambda t: sql_literal(float(values[t])))
        return [(f"p_{label}", write(self.model.value[:, k])) for k, label in enumerate(self.labels)]

    def _cases(self, cell: Any) -> str:
        """A line for each node that answers; a row has one way down."""
        lines = []
        for t, steps in paths_to_answers(self.tree):
            if not steps:
                return str(cell(t))
            lines.append(f"WHEN {' AND '.join(f'({self._taken(*step)})' for step in steps)} THEN {cell(t)}")
        return "CASE " + "\n".join(lines) + " END"

    def _sum(self, values: Array) -> str:
        """Answers of all nodes by the parts of the row that reach them."""
        terms = [
            " * ".join([*(self._part(*step) for step in steps), sql_literal(float(values[t]))])
            for t, steps in paths_to_answers(self.tree)
            if values[t] > 0
        ]
        while len(terms) > 1:  # in pairs: parsers limit how deep an expression is
            terms = [" + ".join(terms[i : i + 2]) for i in range(0, len(terms), 2)]
            terms = [f"({term})" for term in terms]
        return terms[0] if terms else "0.0"

    def _taken(self, t: int, b: int) -> str:
        """Does a row go from node t into branch b?"""
        asked, gone = self._holds(t, b), self._missing(t)
        if b < 0:
            return asked
        most = heaviest_branch(self.tree.share[self.tree.first[t] : self.tree.first[t] + self.tree.branches[t]])
        stand_ins = self.tree.surrogates[t] if self.tree.surrogates else ()
        if stand_ins:
            return f"{asked} OR (({gone}) AND {self._stood_for(stand_ins, most)} = {b})"
        return f"{asked} OR {gone}" if b == most else asked

    def _part(self, t: int, b: int) -> str:
        """The part of a row that goes from node t into branch b."""
        if b < 0:
            return f"CASE WHEN {self._holds(t, b)} THEN 1.0 ELSE 0.0 END"
        share = sql_literal(float(self.tree.share[self.tree.first[t] + b]))
        return f"CASE WHEN {self._holds(t, b)} THEN 1.0 WHEN {self._missing(t)} THEN {share} ELSE 0.0 END"

    def _holds(self, t: int, b: int) -> str:
        """Has the value of a row, where it is known, this branch? -2 asks for one that the node never saw."""
        j, key = int(self.tree.feature[t]), self.tree.key[self.tree.start[t] : self.tree.start[t + 1]]
        name = self.names[j]
        if not self.tree.discrete[t]:
            low = [f"{name} > {sql_literal(float(v))}" for v in key[max(b - 1, 0) : b]]
            return " AND ".join([*low, *(f"{name} <= {sql_literal(float(v))}" for v in key[b : b + 1])])
        return f"{name} IN ({self._values(j, key < 0 if b < 0 else key == b)})"

    def _missing(self, t: int) -> str:
        """Is the value that node t asks for missing, or one that no row of fit had?"""
        j = int(self.tree.feature[t])
        name, known = self.names[j], np.ones(len(self.tree.values[j]), dtype=bool)
        return f"{name} IS NULL" + (f" OR {name} NOT IN ({self._values(j, known)})" if self.tree.discrete[t] else "")

    def _values(self, j: int, chosen: Any) -> str:
        values, known = self.tree.values[j][np.flatnonzero(chosen)], self.categories.get(j)
        named = [float(v) if known is None else known[int(v)] for v in values]
        return ", ".join(sql_literal(v.item() if isinstance(v, np.generic) else v) for v in named)

    def _stood_for(self, stand_ins: tuple[Surrogate, ...], most: int) -> str:
        """The branch that the first surrogate names whose value is known, the fullest where there is none."""
        lines = []
        for s in stand_ins:
            name = self.names[s.feature]
            if s.discrete:
                branch = np.asarray(s.key)
                lines += [
                    f"WHEN {name} IN ({self._values(s.feature, branch == b)}) THEN {b}"
                    for b in np.unique(branch[branch >= 0])
                ]
            else:
                threshold, low = s.key
                lines += [
                    f"WHEN {name} <= {sql_literal(float(threshold))} THEN {low}",
                    f"WHEN {name} IS NOT NULL THEN {1 - low}",
                ]
        return f"CASE {' '.join(lines)} ELSE {most} END"


SQL_OUTPUTS = {"predict": _SqlWriter.predict, "predict_proba": _SqlWriter.predict_proba}
