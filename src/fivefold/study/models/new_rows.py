"""New rows for a model: a table read in the same way as the one that the model was fitted on.

Columns are found by name, in any order. Missing columns, and values of another kind than in training, are refused with
their first place. Columns that the model does not know are ignored, with a note. Missing values and unseen levels are
left to the model's preparation of its columns; unseen levels are counted in a note.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import numpy as np
import polars as pl

from fivefold.datasets.toy_datasets import EMBEDDED, load_embedded
from fivefold.study.formatting import format_count
from fivefold.study.models.model_file import Schema
from fivefold.study.sequences.step_order import refuse_ties
from fivefold.study.tables import dates, number_notation
from fivefold.study.tables.column import Column, ColumnKind
from fivefold.study.tables.conversion import RawColumn, convert_to_number, parse_booleans
from fivefold.study.tables.files import read_table
from fivefold.study.tables.kinds import check_names, raw_columns
from fivefold.study.tables.missing_markers import clean_text
from fivefold.study.tables.table import BadInput, Table, find_column, quote_list, table_from_frame
from fivefold.study.tables.target import target_values

NUMBERED_COLUMN = re.compile(r"column_\d+")  # the names of columns of files without a header
STRICT_KINDS = {"number": "numbers", "date": "dates", "boolean": "truth values"}  # kinds that not every text can be


@dataclass(frozen=True)
class NewRows:
    """Rows that a model can predict."""

    name: str
    X: pl.DataFrame  # the columns of the schema
    at: np.ndarray  # (n,) line of the file, or number of the row, from 1
    unit: str  # line or row
    target: pl.Series | None = None  # numbers, truth values or text
    notes: tuple[str, ...] = ()


def read_new_rows(source: str | Path, schema: Schema, target: str | None = None) -> NewRows:
    """The table in a file, or the embedded data set of that name, read by the schema of a model.

    With `target`, only rows with a value in this column are kept.
    """
    if str(source) in EMBEDDED and not Path(source).is_file():
        table = table_from_frame(str(source), load_embedded(str(source)))
    else:
        names = [column.name for column in schema.columns]
        header = _find_header(Path(source), names)
        table = read_table(Path(source), [*names, target or schema.target], header, one_column=len(names) == 1)
    return apply_schema(table, schema, target)


def _find_header(path: Path, names: list[str]) -> bool | None:
    """Does a file name its columns? If that of training did not, only by the same names; None: decided by its rows."""
    if not all(map(NUMBERED_COLUMN.fullmatch, names)):
        return None
    try:
        first = read_table(path, header=False, one_column=len(names) == 1).frame.head(1)
    except BadInput:  # not delimited text, or damaged
        return None
    return bool(first.height and set(first.row(0)) & set(names))


def apply_schema(table: Table, schema: Schema, target: str | None = None) -> NewRows:
    """A table with the columns of the schema; raises BadInput with the differences."""
    if table.frame.is_empty():
        raise BadInput(f"{table.name}: the table is empty: it has a header and no rows")
    table = clean_text(table)
    raws, notes = raw_columns(table)
    _check_columns(table.name, schema, list(raws))
    y, own_notes = None, list[str]()
    if target is not None:
        target = find_column(table, target)
        check_names(table, {target: " (--target)"})
        y, own_notes = target_values(raws.get(target), target, table, None)
        rows = y.is_not_null().to_numpy()
        if not rows.all():
            own_notes.append(
                f"{format_count(int((~rows).sum()), 'row')} left out because the target {target!r} is missing"
            )
            y, table = y.drop_nulls(), table.only(rows)
            raws = {name: raw.only(rows, table) for name, raw in raws.items()}
    known = {column.name for column in schema.columns} | {schema.target, target}
    if unknown := [name for name in raws if name not in known]:
        own_notes.append(f"columns that the model does not know, ignored: {quote_list(unknown)}")
    kept = [_read_column(raws[column.name], column, own_notes) for column in schema.columns if column.name in raws]
    if schema.places:
        _check_places(table, schema, {series.name: series for series in kept})
    own_notes += [note for series in kept for note in _unseen_level_notes(table, series, schema.seen.get(series.name))]
    return NewRows(table.name, pl.DataFrame(kept), table.at, table.unit, y, (*table.notes, *notes, *own_notes))


def _check_places(table: Table, schema: Schema, kept: dict[str, pl.Series]) -> None:
    """Refuse rows whose place in a sequence is missing or taken."""
    for name in schema.places:
        missing = (kept[name].is_null() | kept[name].cast(pl.String).eq("NaN").fill_null(True)).to_numpy()
        if missing.any():
            raise BadInput(
                f"{table.name}: column {name!r} is missing in {format_count(int(missing.sum()), 'row')}, "
                f"{table.where(missing)}; the model needs the place of every row in its sequence"
            )
    refuse_ties(kept[schema.sequence], kept[schema.order], table)


def _check_columns(name: str, schema: Schema, columns: list[str]) -> None:
    lost = [column.name for column in schema.needed if column.name not in columns]
    if not lost:
        return
    near = {want: get_close_matches(want, columns, n=1, cutoff=0.8) for want in lost}
    hints = "".join(f"; {want!r} may be {found[0]!r} here" for want, found in near.items() if found)
    raise BadInput(
        f"{name}: the model needs {format_count(len(lost), 'column')} that the table does not have: "
        f"{quote_list(lost)}{hints}"
    )


def _read_column(raw: RawColumn, column: Column, notes: list[str]) -> pl.Series:
    """The values, as the kind they had in training."""
    values = KIND_READERS[column.kind](raw, column, notes).alias(raw.name)
    wrong = raw.series.is_not_null() & values.is_null()
    if column.kind in STRICT_KINDS and wrong.any():
        raise _kind_error(raw, column, wrong)
    if column.kind == "ordinal":
        notes.extend(raw.lost(values, "none of the levels"))
    return values.fill_null(float("nan")) if column.kind == "number" else values


def _number(raw: RawColumn, column: Column, notes: list[str]) -> pl.Series:
    if raw.series.dtype.is_temporal():
        return _null_series(raw, pl.Float64)
    if raw.series.dtype == pl.String and raw.numbers is None:
        values, format = number_notation.parse_numbers(raw.series)
    else:
        typed = convert_to_number(raw)
        values, format = typed.values, typed.format
    if format != column.format and raw.series.dtype == pl.String and values.null_count() < len(values):
        said = f"written like {format or '1234.5'}, in training like {column.format or '1234.5'}"
        notes.append(f"column {raw.name!r} holds numbers {said}")
    return values.cast(pl.Float64)


def _date(raw: RawColumn, column: Column, notes: list[str]) -> pl.Series:
    if raw.series.dtype.is_temporal():
        return raw.series.cast(pl.Datetime("us"))
    values = dates.parse_dates(raw.text, column.format) if column.format else _null_series(raw, pl.Datetime("us"))
    if values.null_count() > raw.series.null_count() and (found := dates.find_dates(raw.text)):
        notes.append(f"column {raw.name!r} holds dates read as {found.format}, in training {column.format or 'typed'}")
        return found.values
    return values.cast(pl.Datetime("us"))


def _boolean(raw: RawColumn, column: Column, notes: list[str]) -> pl.Series:
    if raw.series.dtype == pl.Boolean:
        return raw.series
    values = raw.series if raw.numbers is None else raw.numbers.values
    if values.dtype.is_numeric() and column.levels == ("0", "1"):  # also written as 0.0 and 1.0
        return values.replace_strict([0, 1], [False, True], default=None, return_dtype=pl.Boolean)
    return parse_booleans(raw.text, column.levels)


def _ordinal(raw: RawColumn, column: Column, notes: list[str]) -> pl.Series:
    return pl.select(pl.when(raw.text.is_in(list(column.levels))).then(raw.text)).to_series()


def _text(raw: RawColumn, column: Column, notes: list[str]) -> pl.Series:
    return raw.text


KIND_READERS: dict[ColumnKind, Callable[[RawColumn, Column, list[str]], pl.Series]] = {
    "number": _number,
    "date": _date,
    "boolean": _boolean,
    "ordinal": _ordinal,
    "category": _text,
    "text": _text,
    "identifier": _text,
}


def _null_series(raw: RawColumn, dtype: pl.DataType | type[pl.DataType]) -> pl.Series:
    return pl.Series(raw.name, [None] * len(raw.series), dtype=dtype)


def _kind_error(raw: RawColumn, column: Column, wrong: pl.Series) -> BadInput:
    first, others = int(wrong.arg_max() or 0), int(wrong.sum()) - 1
    like = f" like {column.format}" if column.format else f" ({' and '.join(column.levels)})" if column.levels else ""
    return BadInput(
        f"{raw.table.name}: column {raw.name!r} held {STRICT_KINDS[column.kind]}{like} when the model was fitted; here "
        f"{raw.table.unit} {raw.table.at[first]} holds {raw.text[first]!r}"
        + (f", and {format_count(others, 'other value')} do not fit either" if others else "")
        + ". Correct it, or leave the field empty where the value is unknown"
    )


def _unseen_level_notes(table: Table, values: pl.Series, levels: tuple[str, ...] | None) -> list[str]:
    """A note on the levels of a category that were not in training."""
    if levels is None:
        return []
    new = values.is_not_null() & ~values.is_in(list(levels))
    if not new.any():
        return []
    shown = quote_list(values.filter(new).unique(maintain_order=True).to_list(), 3)
    return [
        f"column {values.name!r}: {format_count(int(new.sum()), 'value')} that training did not see, {shown}, "
        f"treated as unseen levels: {table.where(new.to_numpy())}"
    ]
