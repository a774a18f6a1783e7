"""A table as it was read: columns whose kinds are not known yet, and the place of each row in its source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import polars as pl

from fivefold.core.types import Indices

MAX_PLACES_SHOWN = 5  # lines or rows named in a message; the others are counted
LAST_COLUMN = "last"  # what users call it, as a number counted from 1
MAX_VALUE_LETTERS = 60  # characters of a value shown in a message


class BadInput(ValueError):
    """Input that cannot be used; the message says what to do about it."""


@dataclass(frozen=True)
class Table:
    """Columns of text as it stands in the file, or of the types that the source declares."""

    name: str
    frame: pl.DataFrame
    at: np.ndarray  # (n,) line of each row in the file, or its number, from 1
    unit: Literal["line", "row"] = "row"
    notes: tuple[str, ...] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)  # kinds that the source declares
    decimal_comma: bool | None = None  # None: decided by the values
    header: bool = True  # did the source name its columns?
    floats: Mapping[str, pl.Series] = field(default_factory=dict)  # text columns that parse as floats unchanged

    def where(self, rows: Indices) -> str:
        """The places of these rows (indices or a mask) in words: line 3; lines 3, 5, 8 and 12 more."""
        return format_places(self.at[np.asarray(rows)], self.unit)

    def only(self, rows: np.ndarray) -> Table:
        """The table of these rows (a mask)."""
        floats = {name: values.filter(rows) for name, values in self.floats.items()}
        return replace(self, frame=self.frame.filter(rows), at=self.at[rows], floats=floats)


def table_from_frame(name: str, frame: pl.DataFrame, notes: Sequence[str] = ()) -> Table:
    """A frame from memory as a table."""
    return Table(name, frame, np.arange(1, len(frame) + 1), notes=tuple(notes))


def find_column(table: Table, given: str) -> str:
    """The name of a column that is given by its name, by its number from 1, or as `last`; other words are returned.

    Examples
    --------
    >>> table = table_from_frame("t", pl.DataFrame({"x": [1], "y": [2]}))
    >>> find_column(table, "y"), find_column(table, "1"), find_column(table, "last"), find_column(table, "z")
    ('y', 'x', 'y', 'z')
    """
    columns = table.frame.columns
    if given in columns or not is_column_place(given):
        return given
    place = len(columns) if given == LAST_COLUMN else int(given)
    if not 1 <= place <= len(columns):
        raise BadInput(f"{table.name}: there is no column {given}; the columns are 1 to {len(columns)}")
    return columns[place - 1]


def is_column_place(given: str) -> bool:
    """Can it mean a place rather than a name: a number, or `last`?"""
    return given == LAST_COLUMN or (given.isascii() and given.isdecimal())


def format_places(at: Sequence[int] | Indices, unit: str = "line") -> str:
    """Line numbers in words.

    Examples
    --------
    >>> format_places([3]), format_places([3, 5], "row"), format_places(range(2, 20))
    ('line 3', 'rows 3, 5', 'lines 2, 3, 4, 5, 6 and 13 more')
    """
    shown = ", ".join(str(int(place)) for place in at[:MAX_PLACES_SHOWN])
    more = f" and {len(at) - MAX_PLACES_SHOWN:,} more" if len(at) > MAX_PLACES_SHOWN else ""
    return f"{unit}{'s' if len(at) > 1 else ''} {shown}{more}"


def quote_list(names: Sequence[str], most: int = 12) -> str:
    """Names in quotes: the first `most` of them, and how many more there are."""
    return ", ".join(map(quote_value, names[:most])) + (f" and {len(names) - most:,} more" if len(names) > most else "")


def quote_value(name: str) -> str:
    """A name or value in quotes; a long one is cut.

    Examples
    --------
    >>> quote_value("red"), len(quote_value("red" * 100))
    ("'red'", 63)
    """
    return repr(name if len(name) <= MAX_VALUE_LETTERS else f"{name[:MAX_VALUE_LETTERS]}…")
