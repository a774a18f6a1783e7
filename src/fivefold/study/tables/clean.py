"""Text freed of the spaces around it and of the markers that stand for a missing value."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from fivefold.study.tables.table import Table, counted, listed

MARKERS = ("na", "n/a", "#n/a", "#na", "n.a.", "<na>", "nan", "-nan", "nat", "null", "none", "nil", "?", "-", "--", ".")
SPELLINGS = (str.lower, str.upper, str.capitalize)
MISSING = tuple(dict.fromkeys(["", "NaN", "NaT", *(spell(marker) for marker in MARKERS for spell in SPELLINGS)]))


@dataclass
class Tally:
    """Where something was found."""

    rows: np.ndarray  # (n,) mask
    count: int = 0
    columns: list[str] = field(default_factory=list)


def clean(table: Table) -> Table:
    """The same table with null where text says that a value is missing; counts and places go to its notes."""
    frame = table.frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    floats = as_floats(frame.select(pl.col(pl.String)))
    table = replace(table, frame=frame, floats=floats)
    text = frame.select([name for name, dtype in frame.schema.items() if dtype == pl.String and name not in floats])
    if not text.width:
        return table
    bare = text.select(pl.all().str.strip_chars())
    hits = bare.select(pl.all().is_in(MISSING))
    cleaned = bare.select(pl.when(~pl.all().is_in(MISSING)).then(pl.all()).name.keep())
    notes = [*table.notes, *_spaces(table, text, bare), *_markers(table, bare, hits)]
    return replace(table, frame=table.frame.with_columns(cleaned), notes=tuple(notes))


def as_floats(text: pl.DataFrame) -> dict[str, pl.Series]:
    """The columns that are numbers as they stand; all at once, for there may be thousands."""
    floats = text.cast(pl.Float64, strict=False)
    if not text.width:
        return {}
    nan = floats.select(pl.all().is_nan().any()).row(0)
    counts = zip(text.columns, text.null_count().row(0), floats.null_count().row(0), nan, strict=True)
    return {name: floats[name] for name, a, b, c in counts if a == b < len(text) and not c}


def _spaces(table: Table, text: pl.DataFrame, bare: pl.DataFrame) -> list[str]:
    shorter = [a.str.len_bytes().sum() != b.str.len_bytes().sum() for a, b in zip(text, bare, strict=True)]
    names = [name for name, less in zip(text.columns, shorter, strict=True) if less]
    if not names:
        return []
    tally = Tally(np.zeros(len(text), bool), columns=names)
    for name in names:
        changed = (text[name] != bare[name]).fill_null(False).to_numpy()
        tally.rows |= changed
        tally.count += int(changed.sum())
    return [f"spaces around {_values(tally)} removed: {table.where(tally.rows)}"]


def _markers(table: Table, bare: pl.DataFrame, hits: pl.DataFrame) -> list[str]:
    tallies = dict[str, Tally]()
    for name, any_hit in zip(hits.columns, hits.select(pl.all().any()).row(0), strict=True):
        for marker in bare[name].filter(hits[name]).drop_nulls().unique().sort() if any_hit else ():
            if marker:  # what is empty is nothing that was replaced
                tally = tallies.setdefault(marker, Tally(np.zeros(len(bare), bool)))
                where = (bare[name] == marker).fill_null(False).to_numpy()
                tally.rows |= where
                tally.count += int(where.sum())
                tally.columns.append(name)
    return [
        f"{marker!r} taken as missing, {_values(tally)}: {table.where(tally.rows)}" for marker, tally in tallies.items()
    ]


def _values(tally: Tally) -> str:
    return f"{counted(tally.count, 'value')} of {listed(tally.columns, 3)}"
