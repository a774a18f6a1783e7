"""Text stripped of surrounding spaces, with null for the markers that stand for a missing value."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from fivefold.study.formatting import format_count
from fivefold.study.tables.table import Table, quote_list

MISSING_MARKERS = (
    "na",
    "n/a",
    "#n/a",
    "#na",
    "n.a.",
    "<na>",
    "nan",
    "-nan",
    "nat",
    "null",
    "none",
    "nil",
    "?",
    "-",
    "--",
    ".",
)
MARKER_SPELLINGS = (str.lower, str.upper, str.capitalize)
MISSING_SPELLINGS = tuple(
    dict.fromkeys(["", "NaN", "NaT", *(spell(marker) for marker in MISSING_MARKERS for spell in MARKER_SPELLINGS)])
)


@dataclass
class MarkerOccurrences:
    """Where a marker, or a space to strip, occurs."""

    rows: np.ndarray  # (n,) mask
    count: int = 0
    columns: list[str] = field(default_factory=list)


def clean_text(table: Table) -> Table:
    """The table with null where text marks a missing value; its notes say how many and where."""
    frame = table.frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    floats = parse_floats(frame.select(pl.col(pl.String)))
    table = replace(table, frame=frame, floats=floats)
    text = frame.select([name for name, dtype in frame.schema.items() if dtype == pl.String and name not in floats])
    if not text.width:
        return table
    bare = text.select(pl.all().str.strip_chars())
    hits = bare.select(pl.all().is_in(MISSING_SPELLINGS))
    cleaned = bare.select(pl.when(~pl.all().is_in(MISSING_SPELLINGS)).then(pl.all()).name.keep())
    notes = [*table.notes, *_space_notes(table, text, bare), *_marker_notes(table, bare, hits)]
    return replace(table, frame=table.frame.with_columns(cleaned), notes=tuple(notes))


def parse_floats(text: pl.DataFrame) -> dict[str, pl.Series]:
    """The columns that parse as floats unchanged; parsed together, since there may be thousands."""
    floats = text.cast(pl.Float64, strict=False)
    if not text.width:
        return {}
    nan = floats.select(pl.all().is_nan().any()).row(0)
    counts = zip(text.columns, text.null_count().row(0), floats.null_count().row(0), nan, strict=True)
    return {name: floats[name] for name, a, b, c in counts if a == b < len(text) and not c}


def _space_notes(table: Table, text: pl.DataFrame, bare: pl.DataFrame) -> list[str]:
    shorter = [a.str.len_bytes().sum() != b.str.len_bytes().sum() for a, b in zip(text, bare, strict=True)]
    names = [name for name, less in zip(text.columns, shorter, strict=True) if less]
    if not names:
        return []
    tally = MarkerOccurrences(np.zeros(len(text), bool), columns=names)
    for name in names:
        changed = (text[name] != bare[name]).fill_null(False).to_numpy()
        tally.rows |= changed
        tally.count += int(changed.sum())
    return [f"spaces around {_count_values(tally)} removed: {table.where(tally.rows)}"]


def _marker_notes(table: Table, bare: pl.DataFrame, hits: pl.DataFrame) -> list[str]:
    tallies = dict[str, MarkerOccurrences]()
    for name, any_hit in zip(hits.columns, hits.select(pl.all().any()).row(0), strict=True):
        for marker in bare[name].filter(hits[name]).drop_nulls().unique().sort() if any_hit else ():
            if marker:  # an empty field needs no note
                tally = tallies.setdefault(marker, MarkerOccurrences(np.zeros(len(bare), bool)))
                where = (bare[name] == marker).fill_null(False).to_numpy()
                tally.rows |= where
                tally.count += int(where.sum())
                tally.columns.append(name)
    return [
        f"{marker!r} taken as missing, {_count_values(tally)}: {table.where(tally.rows)}"
        for marker, tally in tallies.items()
    ]


def _count_values(tally: MarkerOccurrences) -> str:
    return f"{format_count(tally.count, 'value')} of {quote_list(tally.columns, 3)}"
