"""Trees with any number of branches, as Graphviz and SQL.

A node answers the rows that end there: a leaf, or an inner node for the values of a discrete column that it never saw.
A value that no row of fit had counts as missing, as NULL does.
In SQL a tree is one CASE with one line per node that answers: the conditions on its path. Where rows with a missing
value go into several branches, each with a part of the row, the share of a class is a sum over the nodes that answer,

    p_k = sum_t value_tk prod_(steps down to t) part,   part = 1 in the branch taken, its share where x is missing, or 0
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fivefold.core.types import Array, Labels, Mask
from fivefold.partition.export.text_formats import dot_graph, dot_label, sql_literal, sql_name, sql_select
from fivefold.partition.missing_values.policies import heaviest_branch
from fivefold.partition.missing_values.surrogates import Surrogate
from fivefold.partition.tree_arrays.multiway_tree import MultiwayArrays

Step = tuple[int, int]  # a node, and the branch taken; -2 for a value that it never saw


class MultiwayExports:
    """A fitted tree with any number of branches, as Graphviz and SQL."""

    model_: Any  # a MultiwayModel, whose module imports this one
    classes_: Labels

    if TYPE_CHECKING:

        def _display_name(self, j: int, value: float | None) -> str: ...

        def _categories(self) -> dict[int, tuple[object, ...]]: ...

    def to_dot(self) -> str:
        """The tree in the language of Graphviz: columns in ovals, leaves in boxes, conditions on the edges."""
        check_is_fitted(self)
        tree, weight = self.model_.tree, self.model_.counts.sum(axis=1)
        label = self.classes_[self.model_.value.argmax(axis=1)]
        lines: list[str] = []
        for t in range(len(tree)):
            rows = f"{weight[t]:g} row" + ("" if weight[t] == 1 else "s")
            if tree.feature[t] < 0:
                lines.append(f"  n{t} [shape=box, label={dot_label(str(label[t]), rows)}];")
                continue
            lines.append(
                f"  n{t} [shape=oval, label={dot_label(self._display_name(int(tree.feature[t]), None) + '?', rows)}];"
            )
            lines += [
                f"  n{t} -> n{tree.first[t] + b} [label={dot_label(tree.question(t, b, self._display_name))}];"
                for b in range(tree.branches[t])
            ]
        return dot_graph("tree", lines)

    def to_sql(self, *, table: str | None = None, output: Literal["predict", "predict_proba"] = "predict") -> str:
        """The tree as an expression of SQL, or with `table` as a query; NULL is a missing value.

        `output` is the class, or one column of probabilities per class. Numbers read back exactly.
        """
        check_is_fitted(self)
        write = _SqlWriter(self)
        return sql_select([(text, name) for name, text in SQL_OUTPUTS[output](write)], table)


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
    """Writes a fitted tree as expressions of SQL, one per output column."""

    def __init__(self, estimator: MultiwayExports) -> None:
        self.model, self.tree, self.labels = estimator.model_, estimator.model_.tree, estimator.classes_
        self.categories = estimator._categories()
        self.names = [sql_name(estimator._display_name(j, None)) for j in range(estimator.model_.columns)]
        self.in_parts = self.model.missing == "fractions"

    def predict(self) -> list[tuple[str, str]]:
        label = list(map(sql_literal, self.labels))
        if not self.in_parts:
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
        write = self._sum if self.in_parts else lambda values: self._cases(lambda t: sql_literal(float(values[t])))
        return [(f"p_{label}", write(self.model.value[:, k])) for k, label in enumerate(self.labels)]

    def _cases(self, cell: Callable[[int], str]) -> str:
        """One line per node that answers; a row has one path."""
        lines = []
        for t, steps in paths_to_answers(self.tree):
            if not steps:
                return str(cell(t))
            lines.append(f"WHEN {' AND '.join(f'({self._taken(*step)})' for step in steps)} THEN {cell(t)}")
        return "CASE " + "\n".join(lines) + " END"

    def _sum(self, values: Array) -> str:
        """The sum of the answers of all nodes, each times the part of the row that reaches it."""
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
        asked, missing = self._holds(t, b), self._missing(t)
        if b < 0:
            return asked
        heaviest = heaviest_branch(self.tree.share[self.tree.first[t] : self.tree.first[t] + self.tree.branches[t]])
        surrogates = self.tree.surrogates[t] if self.tree.surrogates else ()
        if surrogates:
            return f"{asked} OR (({missing}) AND {self._surrogate_branch(surrogates, heaviest)} = {b})"
        return f"{asked} OR {missing}" if b == heaviest else asked

    def _part(self, t: int, b: int) -> str:
        """The part of a row that goes from node t into branch b."""
        if b < 0:
            return f"CASE WHEN {self._holds(t, b)} THEN 1.0 ELSE 0.0 END"
        share = sql_literal(float(self.tree.share[self.tree.first[t] + b]))
        return f"CASE WHEN {self._holds(t, b)} THEN 1.0 WHEN {self._missing(t)} THEN {share} ELSE 0.0 END"

    def _holds(self, t: int, b: int) -> str:
        """Does the value of a row, where it is known, belong to this branch? -2: is it one that the node never saw?"""
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

    def _values(self, j: int, chosen: Mask) -> str:
        values, known = self.tree.values[j][np.flatnonzero(chosen)], self.categories.get(j)
        named = [float(v) if known is None else known[int(v)] for v in values]
        return ", ".join(map(sql_literal, named))

    def _surrogate_branch(self, surrogates: tuple[Surrogate, ...], heaviest: int) -> str:
        """The branch by the first surrogate whose value is known, or the heaviest branch where none is."""
        lines = []
        for s in surrogates:
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
        return f"CASE {' '.join(lines)} ELSE {heaviest} END"


SQL_OUTPUTS = {"predict": _SqlWriter.predict, "predict_proba": _SqlWriter.predict_proba}
