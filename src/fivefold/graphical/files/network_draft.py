"""What the readers of network files share: refusals with the line, and the checks of a network read piece by piece."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from fivefold.core.types import Doubles
from fivefold.graphical.bayesian_network import BayesianNetwork
from fivefold.graphical.variables import State, Variables
from fivefold.inference.factors.factor import MAX_AXES

ROUNDING = 1e-3  # files have few digits: rows whose sum is this near to one are divided by it
MAX_CELLS = 2**26  # entries of the largest table that is read: half a gigabyte of doubles
EXACT = 1e-12  # rows this near to one are taken as they are, so that a file that is read and written stays the same


class NetworkFileError(ValueError):
    """A file that does not hold a network; the message begins with its name and the line."""


@dataclass
class NetworkDraft:
    """A network while it is read: variables and tables with the lines that they stand on."""

    source: str  # the name of the file, for messages
    states: dict[str, tuple[State, ...]] = field(default_factory=dict)
    parents: dict[str, tuple[str, ...]] = field(default_factory=dict)
    tables: dict[str, Doubles] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)  # of the tables

    def refuse(self, line: int, message: str) -> NoReturn:
        """Stop with the name of the file and the line."""
        raise NetworkFileError(f"{self.source}, line {line}: {message}")

    def number(self, line: int, text: str) -> float:
        """A probability or a potential."""
        try:
            value = float(text)
        except ValueError:
            self.refuse(line, f"a number was expected, not {text!r}")
        if not (np.isfinite(value) and value >= 0):
            self.refuse(line, f"{text} is no number from 0 up")
        return value

    def add_variable(self, line: int, name: str, states: Sequence[str]) -> None:
        """A variable and its states."""
        if name in self.states:
            self.refuse(line, f"variable {name!r} is declared twice")
        if not states or len(set(states)) < len(states):
            self.refuse(line, f"variable {name!r} needs states, each once")
        self.states[name] = tuple(states)

    def start_table(self, line: int, name: str, parents: Sequence[str]) -> tuple[int, ...]:
        """The family of a table; returns the shape that it must have."""
        for other in (name, *parents):
            if other not in self.states:
                self.refuse(line, f"the table of {name!r} names {other!r}, which is not declared")
        if name in self.parents:
            self.refuse(line, f"variable {name!r} has two tables")
        if len({name, *parents}) <= len(parents):
            self.refuse(line, f"the table of {name!r} names a variable twice")
        self.parents[name], self.lines[name] = tuple(parents), line
        shape = tuple(len(self.states[other]) for other in (*parents, name))
        if math.prod(shape) > MAX_CELLS or len(shape) > MAX_AXES:
            self.refuse(
                line, f"the table of {name!r} would have {math.prod(shape):,} entries, of {len(shape)} variables"
            )
        return shape

    def add_table(self, line: int, name: str, table: Doubles) -> None:
        """A table of the shape of its family; NaN marks rows that the file does not give."""
        rows = table.reshape(-1, table.shape[-1])
        total = rows.sum(axis=1)
        bad = ~(np.abs(total - 1) <= ROUNDING)
        if bad.any():
            codes = np.unravel_index(int(bad.argmax()), table.shape[:-1])
            above = self.parents[name]
            place = ", ".join(f"{p}={self.states[p][c]}" for p, c in zip(above, codes, strict=True))
            place = f"row {place}" if place else "its only row"
            found = "is not given" if np.isnan(total[bad][0]) else f"sums to {total[bad][0]:.6g}, not 1"
            self.refuse(line, f"table of {name!r}, {place}: {found}")
        off = np.abs(total - 1) > EXACT
        rows[off] /= total[off, None]
        self.tables[name] = table

    def network(self) -> BayesianNetwork:
        """The whole, if every variable has a table and there is no cycle."""
        if not self.states:
            raise NetworkFileError(f"{self.source}: no variable is declared")
        if missing := [name for name in self.states if name not in self.tables]:
            raise NetworkFileError(f"{self.source}: variable {missing[0]!r} has no table")
        variables = Variables(tuple(self.states), tuple(self.states.values()))
        parents = tuple(tuple(variables.index(p) for p in self.parents[name]) for name in self.states)
        try:
            return BayesianNetwork(variables, parents, tuple(self.tables[name] for name in self.states))
        except ValueError as error:
            raise NetworkFileError(f"{self.source}: {error}") from None
