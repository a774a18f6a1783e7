"""What a box asks of one column, as a value: trees are written in conditions, and rules are made of them.

    low < x <= high        x in {p, q, ...}        and whether a missing x may pass
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isinf
from typing import Any, Protocol

import numpy as np


class Names(Protocol):
    """The names a reader knows."""

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


@dataclass(frozen=True)
class Condition:
    """What a box asks of one column: low < x <= high, or one of some categories; and whether x may be missing."""

    column: int
    low: float = -inf
    high: float = inf
    levels: frozenset[int] | None = None  # codes; None for a number
    missing: bool = True

    def __and__(self, other: Condition) -> Condition:
        sets = [s for s in (self.levels, other.levels) if s is not None]
        levels = frozenset.intersection(*sets) if sets else None
        low, high = max(self.low, other.low), min(self.high, other.high)
        return Condition(self.column, low, high, levels, self.missing and other.missing)

    def holds(self, x: Any) -> Any:
        """Does each value of the column satisfy it?"""
        known = np.isin(x, list(self.levels)) if self.levels is not None else (x > self.low) & (x <= self.high)
        return np.where(np.isnan(x), self.missing, known)

    def text(self, source: Names) -> str:
        """The condition in words."""
        name = source.names[self.column]
        if self.levels is not None:
            shown = ", ".join(str(v) for v in source.level_names(self.column, self.levels))
            return f"{name} in {{{shown}}}" + (" or missing" if self.missing and source.missing else "")
        if self.low == inf:
            return f"{name} is missing"
        if isinf(self.low) and isinf(self.high):
            return f"{name} is known"
        parts = f"{self.low:.6g} < " * (not isinf(self.low)) + name + f" <= {self.high:.6g}" * (not isinf(self.high))
        if isinf(self.high):
            parts = f"{name} > {self.low:.6g}"
        return parts + (" or missing" if self.missing and source.missing else "")
