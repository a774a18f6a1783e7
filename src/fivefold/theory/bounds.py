"""The registry of bounds: what each says, what it assumes, and what it needs to know about a model.

A bound is a function of a `Case` (a fitted model and labelled rows) and of delta: the error on new data is below what
it returns, with probability 1 - delta over the draw of the rows. It raises `NotApplicable` because of what kind of
model it is given, never because of what the rows say: where the rows make it useless it returns 1. `certify` can then
divide delta among the bounds that apply without looking at the rows.

    @register(BoundCard("binomial inversion", ...))
    def binomial(case: Case, delta: float) -> float: ...
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from typing import Any, Literal

from fivefold.core.types import Labels, Table, Vector

Rows = Literal["held out", "training"]

THE_MODEL = "the model"  # what most bounds speak of; others speak of a random choice among models


class NotApplicable(ValueError):
    """Why this bound says nothing about this model, and what would make it apply."""


@dataclass(frozen=True)
class BoundCard:
    """What a reader wants to know about a bound; `fivefold bounds NAME` prints it."""

    name: str  # as the literature calls it
    formula: str  # one or two lines of plain text
    rows: Rows  # which rows it may be evaluated on
    assumptions: tuple[str, ...]
    use: str  # when it is tight, and when loose
    source: str
    never_above: tuple[str, ...] = ()  # bounds that are never below this one: no part of delta is spent on them


@dataclass(frozen=True)
class Case:
    """A fitted model and the labelled rows that a bound is computed from."""

    model: Any  # a fitted classifier of any kind
    X: Table  # (n, d) admitted
    y: Labels  # (n,)
    wrong: Vector  # (n,) 1 where the model errs, otherwise 0
    rows: Rows
    extra: Mapping[str, Any] = field(default_factory=dict)  # further settings of `certify`, such as folds=

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.wrong)

    @property
    def errors(self) -> int:
        """Number of rows that the model gets wrong."""
        return int(self.wrong.sum())

    @property
    def risk(self) -> float:
        """Share of rows that the model gets wrong."""
        return float(self.wrong.mean())


@dataclass(frozen=True)
class BoundValue:
    """The value of a bound with what should be said beside it."""

    value: float
    predictor: str = THE_MODEL  # whose error is bounded, such as "a rule drawn from the posterior"
    details: Mapping[str, float] = field(default_factory=dict)  # what went into it, such as the KL divergence


BoundFunction = Callable[[Case, float], "float | BoundValue"]


@dataclass(frozen=True)
class Bound:
    """A registered bound."""

    card: BoundCard
    compute: BoundFunction

    def __call__(self, case: Case, delta: float) -> BoundValue:
        """The value on these rows, cut to at most 1."""
        found = self.compute(case, delta)
        found = found if isinstance(found, BoundValue) else BoundValue(float(found))
        return BoundValue(min(1.0, float(found.value)), found.predictor, found.details)


BOUNDS: dict[str, Bound] = {}


def register(card: BoundCard) -> Callable[[BoundFunction], BoundFunction]:
    """Add a bound to the registry, under the name on its card."""

    def add(function: BoundFunction) -> BoundFunction:
        known = BOUNDS.get(card.name)
        if known is not None and known.compute.__module__ != function.__module__:
            raise ValueError(f"two bounds are called {card.name!r}: one is in {known.compute.__module__}")
        BOUNDS[card.name] = Bound(card, function)
        return function

    return add


def registered_bounds(rows: Rows | None = None) -> tuple[Bound, ...]:
    """Every bound of the package, or those for one kind of rows, by name.

    Examples
    --------
    >>> [bound.card.name for bound in registered_bounds("held out")][:2]
    ['Chebyshev', 'Hoeffding']
    """
    _import_all()
    return tuple(bound for _, bound in sorted(BOUNDS.items()) if rows in (None, bound.card.rows))


@cache
def _import_all() -> None:
    """Import every module of the chapter, so that each adds its bounds."""
    import fivefold.theory as chapter

    for module in walk_packages(chapter.__path__, f"{chapter.__name__}."):
        import_module(module.name)
