"""What is known about a column: its kind, and how its values were read."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal, get_args

from fivefold.study.tables.table import BadInput

ColumnKind = Literal["number", "category", "ordinal", "boolean", "date", "text", "identifier"]
COLUMN_KINDS: tuple[ColumnKind, ...] = get_args(ColumnKind)
KIND_SYNONYMS = {"numeric": "number", "categorical": "category", "bool": "boolean", "id": "identifier"}


@dataclass(frozen=True)
class Column:
    """A column to learn from."""

    name: str
    kind: ColumnKind
    distinct: int
    missing: int
    levels: tuple[str, ...] = ()  # ordinal: from low to high; boolean: the words for false and true
    format: str = ""  # of dates, and of numbers in an unusual notation


@dataclass(frozen=True)
class ColumnOption:
    """What the user says about a column: number, ordinal:low<mid<high, date:%d.%m.%Y, ..."""

    kind: ColumnKind
    detail: str = ""


def parse_column_option(name: str, text: str) -> ColumnOption:
    """The option from its text.

    Examples
    --------
    >>> parse_column_option("size", "ordinal:small<large")
    ColumnOption(kind='ordinal', detail='small<large')
    """
    name_of_kind, _, detail = text.partition(":")
    word = name_of_kind.strip().lower()
    word = KIND_SYNONYMS.get(word, word)
    for kind in COLUMN_KINDS:
        if word == kind:
            return ColumnOption(kind, detail.strip())
    near = get_close_matches(word, COLUMN_KINDS, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise BadInput(f"--column {name}={text}: a column is one of {', '.join(COLUMN_KINDS)}{hint}")
