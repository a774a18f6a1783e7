"""A table as it was found: its columns before anything is known about them, and where each row stands in its source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import polars as pl

from fivefold.core.types import Indices

MAX_PLACES_SHOWN = 5  # places that are named; the others are counted
MAX_VALUE_LETTERS = 60  # letters of a value that are shown


class BadInput(ValueError):
    """What was given cannot be studied, and the message says what to do."""


@dataclass(frozen=True)
class Table:
    """Columns of text, as it stands in the file, or of the types that the source itself knows."""

    name: str
    frame: pl.DataFrame
    at: np.ndarray  # (n,) line of the file, or number of the row, from 1
    unit: Literal["line", "row"] = "row"
    notes: tuple[str, ...] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)  # what the source says about its columns
    decimal_comma: bool | None = None  # do numbers have one? None: their looks decide
    header: bool = True  # did the source name its columns?
    floats: Mapping[str, pl.Series] = field(default_factory=dict)  # columns of text that are numbers as they stand

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


def format_places(at: Any, unit: str = "line") -> str:
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
    """Names in quotes; of many the first ones, and how many more there are."""
    return ", ".join(map(quote_value, names[:most])) + (f" and {len(names) - most:,} more" if len(names) > most else "")


def quote_value(name: str) -> str:
    """A name or value in quotes, of a long one the beginning.

    Examples
    --------
    >>> quote_value("red"), len(quote_value("red" * 100))
    ("'red'", 63)
    """
    return repr(name if len(name) <= MAX_VALUE_LETTERS else f"{name[:MAX_VALUE_LETTERS]}…")


def count_noun(count: int, thing: str) -> str:
    """A number and its noun.

    Examples
    --------
    >>> count_noun(1, "row"), count_noun(2500, "value")
    ('1 row', '2,500 values')
    """
    return f"{count:,} {thing}{'' if count == 1 else 's'}"
