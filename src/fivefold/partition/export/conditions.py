"""What a box asks of one column, as a value: trees are written in conditions, and rules are made of them.

    low < x <= high        x in {p, q, ...}        and whether a missing x may pass

A bound that is not there is infinite: low = -inf lets every number through, high = inf too. No number passes low = inf,
and no category an empty set.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import Any, Protocol

import numpy as np

from fivefold.core.types import Array


class ColumnNames(Protocol):
    """The names a reader knows, and how numbers are written for it."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns."""
        ...

    @property
    def missing(self) -> bool:
        """Are missing values spoken of?"""
        ...

    def level_names(self, column: int, levels: frozenset[int]) -> list[Any]:
        """The categories of these codes."""
        ...

    def number(self, value: float) -> str:
        """A bound in digits."""
        ...


@dataclass(frozen=True)
class Condition:
    """What a box asks of one column: low < x <= high, or one of some categories; and whether x may be missing."""

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

    def holds(self, x: Array) -> Any:
        """Does each value of the column satisfy it?"""
        if self.levels is not None:
            known = np.isin(x, list(self.levels))
        else:  # bounds are doubles: a float32 is compared as it is, not with a rounded bound
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

    def within(self, other: Condition) -> bool:
        """Does whatever passes pass the other condition of the same column too?"""
        if self.missing and not other.missing:
            return False
        return self.only_missing or replace(self & other, missing=self.missing) == self

    def text(self, source: ColumnNames) -> str:
        """The condition in words."""
        name, said = source.names[self.column], source.missing
        extra = " or missing" if self.missing and said else ""
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
