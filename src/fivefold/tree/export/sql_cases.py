"""A tree as CASE expressions of SQL.

Nested cases follow the questions of a tree. Where it is deeper than a parser of SQL allows, a flat list of its leaves
from left to right tests, for each leaf, the turns on its path except those into a last branch: a row that takes a last
branch has failed the conditions of the branches before it, and with them every leaf to the left.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from fivefold.core.types import Array
from fivefold.partition.export.text_formats import sql_literal, sql_select
from fivefold.tree.export.tree_reader import AnswerReader

MAX_NESTED_CASES = 16  # deepest nest of cases: SQLite's parser held a hundred symbols before version 3.46

Output = Literal["predict", "predict_proba", "apply"]
Cell = Callable[[int], str]  # what a leaf answers, in SQL
AnyReader: TypeAlias = AnswerReader[Any]  # of a tree of any kind
Turn = TypeVar("Turn")  # the condition of a branch


class TreeCases(ABC, Generic[Turn]):
    """A tree as CASE expressions; a subclass knows its branches and how their conditions are written."""

    read: AnyReader

    @abstractmethod
    def branches(self, t: int) -> Sequence[tuple[Turn | None, int]]:
        """Condition and child of each branch, to be tested in order; None for the last condition; empty for a leaf."""

    @abstractmethod
    def condition(self, turn: Turn) -> str:
        """A condition in SQL."""

    def conjunction(self, turns: Sequence[Turn]) -> str:
        """Conditions that all hold in SQL."""
        return " AND ".join(f"({self.condition(turn)})" for turn in turns)

    def to_sql(self, output: Output, table: str | None) -> str:
        """The tree as an expression, or with `table` as a query."""
        nested = int(self.read.tree.depth.max()) <= MAX_NESTED_CASES
        columns = SQL_OUTPUTS[output](self.read)
        return sql_select([(self._nested(cell) if nested else self._flat(cell), name) for name, cell in columns], table)

    def _nested(self, cell: Cell, t: int = 0) -> str:
        below = self.branches(t)
        if not below:
            return cell(t)
        parts = [(turn, self._nested(cell, child)) for turn, child in below]
        whens = " ".join(f"WHEN {self.condition(turn)} THEN {part}" for turn, part in parts if turn is not None)
        return f"CASE {whens} ELSE {parts[-1][1]} END"

    def _flat(self, cell: Cell) -> str:
        """One WHEN per leaf, from left to right."""
        cases: list[str] = []
        todo: list[tuple[int, tuple[Turn, ...]]] = [(0, ())]
        while todo:
            t, turns = todo.pop()
            below = self.branches(t)
            if not below:
                cases.append(f"WHEN {self.conjunction(turns)} THEN {cell(t)}" if turns else f"ELSE {cell(t)}")
            todo += [(child, turns if turn is None else (*turns, turn)) for turn, child in reversed(below)]
        return "CASE " + " ".join(cases) + " END"


def _predictions(read: AnyReader) -> list[tuple[str, Cell]]:
    ends = [""] if read.outputs == 1 else [f"_{k}" for k in range(read.outputs)]
    return [(f"prediction{end}", _answer_cell(read, k)) for k, end in enumerate(ends)]


def _answer_cell(read: AnyReader, k: int) -> Cell:
    return lambda t: sql_literal(read.answers(t)[k])


def _probabilities(read: AnyReader) -> list[tuple[str, Cell]]:
    if read.classes is None:
        raise ValueError("output='predict_proba' needs a tree of classes; this one answers with numbers")
    labels = [label for c in read.classes for label in c]
    return [(f"p_{label}", _number_cell(read.value[:, i])) for i, label in enumerate(labels)]


def _number_cell(values: Array) -> Cell:
    return lambda t: sql_literal(float(values[t]))


def _leaves(read: AnyReader) -> list[tuple[str, Cell]]:
    return [("leaf", str)]


SQL_OUTPUTS: dict[str, Callable[[AnyReader], list[tuple[str, Cell]]]] = {
    "predict": _predictions,
    "predict_proba": _probabilities,
    "apply": _leaves,
}
