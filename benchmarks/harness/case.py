"""What a benchmark declares: data, contestants, what they must agree on, and the bar.

A contestant is a function of the data that gives the call to time: what it does before (fitting a
model that is to predict) is not timed. The contestant called `fivefold` is ours; the first of the
others is the reference, which all must agree with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import numpy as np
from scipy.sparse import issparse

import benchmarks

OURS = "fivefold"


class Absent(Exception):
    """A rival is not installed, or does not have the method: it does not take part."""


@dataclass(frozen=True)
class Data:
    """A table, its target, and parameters made from them (a given start)."""

    X: Any
    y: Any = None
    given: Mapping[str, Any] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        arrays = (self.X.data, self.X.indices, self.X.indptr) if issparse(self.X) else (self.X,)
        return sum(np.asarray(a).nbytes for a in (*arrays, *([] if self.y is None else [self.y])))


Call = Callable[[], Any]
Contestant = Callable[[Data], Call]


@dataclass(frozen=True)
class Case:
    """One line of the table of speed."""

    name: str
    data: Callable[[int], Data]  # seeded; takes the number of rows
    rows: int
    contestants: Mapping[str, Contestant]
    agree: Callable[[Data, Any, Any], str]  # of data and two results: what was compared, or raises Disagreement
    bar: float  # the ratio rival / ours to reach
    note: str = ""  # what the shape of X does not say
    memory: float | str | None = None  # most memory beyond the data: so many times the data, or that of a contestant
    beside: str | None = None  # the rival that the bar is about, by default the fastest, which is to be beaten anyway

    @property
    def rivals(self) -> tuple[str, ...]:
        return tuple(name for name in self.contestants if name != OURS)


@cache
def cases() -> tuple[Case, ...]:
    """Every case of every chapter's file; a file without CASES is a script of its own."""
    names = sorted(m.name for m in iter_modules(benchmarks.__path__) if not m.ispkg and not m.name.startswith("_"))
    files = [import_module(f"{benchmarks.__name__}.{name}") for name in names]
    found = [case for file in files for case in vars(file).get("CASES", ())]
    if repeated := {case.name for case in found if sum(case.name == other.name for other in found) > 1}:
        raise ValueError(f"two benchmarks have the same name: {', '.join(sorted(repeated))}")
    return tuple(found)


def find(name: str) -> Case:
    """The case of exactly that name."""
    return next(case for case in cases() if case.name == name)


def chosen(names: Iterable[str], wanted: Iterable[str]) -> list[str]:
    """The names that hold one of the words `wanted`, whatever the letter case; all when none is wanted."""
    words = [word.lower() for word in wanted]
    return [name for name in names if not words or any(word in name.lower() for word in words)]
