"""Conditions on one column, as values: the questions of trees and the parts of rules.

    low < x <= high        x in {p, q, ...}        and whether a missing x may pass

An absent bound is infinite: with low = -inf and high = inf every number passes. No number passes low = inf, and no
category an empty set.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import Any, Protocol

import numpy as np

from fivefold.core.types import Array, Mask


class ColumnNames(Protocol):
    """The names of columns and categories, and how numbers are written."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        ...

    @property
    def missing(self) -> bool:
        """Are missing values mentioned in texts?"""
        ...

    def level_names(self, column: int, levels: frozenset[int]) -> list[Any]:
        """The categories of these codes."""
        ...

    def number(self, value: float) -> str:
        """A bound in digits."""
        ...


@dataclass(frozen=True)
class Condition:
    """A condition on one column: low < x <= high, or x in a set of categories; and whether x may be missing."""

    column: int
    low: float = -inf
    high: float = inf
    levels: frozenset[int] | None = None  # codes; None for a number
    missing: bool = True

    def __and__(self, other: Condition) -> Condition:
        missing = self.missing and other.missing
        if self.levels is None and other.levels is None:
            return Condition(self.column, max(self.low, other.low), min(self.high, other.high), None, missing)
        levels = self.levels if self.levels is not None else other.levels or frozenset()
        both = frozenset(v for v in levels if self.holds(np.array(v)) and other.holds(np.array(v)))
        return Condition(self.column, levels=both, missing=missing)

    def holds(self, x: Array) -> Mask:
        """Which values of the column satisfy it."""
        if self.levels is not None:
            known = np.isin(x, list(self.levels))
        else:  # bounds are doubles: a float32 is compared with the bound itself, not with the bound rounded to float32
            known = x <= np.float64(self.high)
            if self.low > -inf:
                known = known & (x > np.float64(self.low))
        return np.where(np.isnan(x), self.missing, known)

    @property
    def empty(self) -> bool:
        """Can nothing pass?"""
        return not self.missing and self.only_missing

    @property
    def only_missing(self) -> bool:
        """Does no number and no category pass?"""
        if self.levels is not None:
            return not self.levels
        return self.low == inf or (self.low >= self.high and self.low > -inf)

    @property
    def trivial(self) -> bool:
        """Does everything pass?"""
        return self.missing and self.levels is None and self.low == -inf and self.high == inf

    def implies(self, other: Condition) -> bool:
        """Does every value that passes this condition also pass another one on the same column?"""
        if self.missing and not other.missing:
            return False
        return self.only_missing or replace(self & other, missing=self.missing) == self

    def text(self, source: ColumnNames) -> str:
        """The condition in words."""
        name = source.names[self.column]
        extra = " or missing" if self.missing and source.missing else ""
        if self.levels is not None:
            shown = ", ".join(str(v) for v in source.level_names(self.column, self.levels))
            return f"{name} in {{{shown}}}" + extra
        if self.low == inf and self.missing:
            return f"{name} is missing"
        if self.low == -inf and self.high == inf:
            return f"{name} is known" + extra
        low, high = source.number(self.low), source.number(self.high)
        if self.high == inf:
            return f"{name} > {low}" + extra
        return (f"{low} < " if self.low > -inf else "") + f"{name} <= {high}" + extra
