"""A rule as a value: if every condition holds, then the label; and what is common to all kinds of rules together.

The rules of a class joined by "or" are its disjunctive normal form.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from fivefold.core.types import Indices, Table
from fivefold.partition.export.conditions import ColumnNames, Condition


@dataclass(frozen=True)
class Rule:
    """A conjunction of conditions and what it answers: if every condition holds, then the label."""

    conditions: tuple[Condition, ...]
    label: Any  # as it was given in y, or a number
    value: tuple[float, ...] = ()  # weights or shares of the classes among the rows it covers; of numbers nothing
    weight: float = 0.0  # of the rows it covers
    rows: int = 0
    leaf: int = -1  # of the tree it was read from

    def __len__(self) -> int:
        return len(self.conditions)

    def covers(self, X: Table) -> Any:
        """Does each row satisfy every condition?"""
        held = (c.holds(X[:, c.column]) for c in self.conditions)
        return reduce(np.logical_and, held, np.ones(len(X), dtype=bool))

    def among(self, X: Table, rows: Indices) -> Any:
        """Those of these rows that satisfy every condition; fewer are looked at from one condition to the next."""
        for c in self.conditions:
            rows = rows[c.holds(X[rows, c.column])]
        return rows


class RuleCollection:
    """Several rules, and the names of things."""

    rules: tuple[Rule, ...]

    @property
    def words(self) -> ColumnNames:
        """How columns, categories and numbers are written."""
        raise TypeError(f"{type(self).__name__} does not name its columns")

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __getitem__(self, i: int) -> Rule:
        return self.rules[i]

    def covers(self, X: Table) -> Any:
        """(n, rules): which rules hold for each row of numbers, categories as codes."""
        X = np.asarray(X)
        out = np.zeros((len(X), len(self.rules)), dtype=bool)
        for r, rule in enumerate(self.rules):
            out[:, r] = rule.covers(X)
        return out

    def conjunction(self, rule: Rule) -> str:
        """The conditions of a rule in words."""
        texts = [c.text(self.words) for c in rule.conditions]
        return " and ".join(f"({text})" if " or " in text else text for text in texts) or "always"

    def formulas(self) -> dict[Any, str]:
        """For each class its formula in disjunctive normal form: the rules of the class joined by "or"."""
        out: dict[Any, list[str]] = {}
        for rule in self.rules:
            out.setdefault(rule.label, []).append(f"({self.conjunction(rule)})")
        return {label: " or ".join(parts) for label, parts in out.items()}
