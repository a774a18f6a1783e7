"""A rule as a value: if every condition holds, then the label; and what all collections of rules share.

The rules of a class joined by "or" are its disjunctive normal form.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from fivefold.core.types import Indices, Mask, Table
from fivefold.partition.export.conditions import ColumnNames, Condition


@dataclass(frozen=True)
class Rule:
    """A conjunction of conditions and its label: if every condition holds, then the label."""

    conditions: tuple[Condition, ...]
    label: Any  # as it was given in y, or a number
    value: tuple[float, ...] = ()  # weights or shares of the classes among the rows it covers; empty in regression
    weight: float = 0.0  # total weight of the rows it covers
    rows: int = 0
    leaf: int = -1  # the leaf it was read from, where it comes from a tree

    def __len__(self) -> int:
        return len(self.conditions)

    def covers(self, X: Table) -> Mask:
        """Which rows satisfy every condition."""
        held = (c.holds(X[:, c.column]) for c in self.conditions)
        return reduce(np.logical_and, held, np.ones(len(X), dtype=bool))

    def covered_among(self, X: Table, rows: Indices) -> Indices:
        """Those of these rows that satisfy every condition; each condition is tested on the rows that passed so far."""
        for c in self.conditions:
            rows = rows[c.holds(X[rows, c.column])]
        return rows


class RuleCollection:
    """Several rules, and how their columns and values are named."""

    rules: tuple[Rule, ...]

    @property
    def column_names(self) -> ColumnNames:
        """How columns, categories and numbers are written."""
        raise TypeError(f"{type(self).__name__} does not name its columns")

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __getitem__(self, i: int) -> Rule:
        return self.rules[i]

    def covers(self, X: Table) -> Mask:
        """(n, rules): which rules hold for each row of numbers, categories as codes."""
        X = np.asarray(X)
        out = np.zeros((len(X), len(self.rules)), dtype=bool)
        for r, rule in enumerate(self.rules):
            out[:, r] = rule.covers(X)
        return out

    def conjunction(self, rule: Rule) -> str:
        """The conditions of a rule in words."""
        texts = [c.text(self.column_names) for c in rule.conditions]
        return " and ".join(f"({text})" if " or " in text else text for text in texts) or "always"

    def formulas(self) -> dict[Any, str]:
        """The formula of each class in disjunctive normal form: its rules joined by "or"."""
        out: dict[Any, list[str]] = {}
        for rule in self.rules:
            out.setdefault(rule.label, []).append(f"({self.conjunction(rule)})")
        return {label: " or ".join(parts) for label, parts in out.items()}
