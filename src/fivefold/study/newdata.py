"""New rows for a model: a table read as the one that the model was fitted on.

Columns are found by name, whatever their order. What does not fit is named: columns that are missing, and values of
another kind than in training, with the first place. Columns that the model does not know are ignored, and said to be.
Missing values and levels that training did not see are for the model's own treatment; the latter are counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import numpy as np
import polars as pl

from fivefold.datasets.embedded import EMBEDDED, embedded
from fivefold.study.model import Schema
from fivefold.study.tables import dates, notation
from fivefold.study.tables.clean import clean
from fivefold.study.tables.column import Column, Kind
from fivefold.study.tables.convert import Raw, as_number, booleans
from fivefold.study.tables.files import read
from fivefold.study.tables.kinds import check_names, raw_columns
from fivefold.study.tables.table import BadInput, Table, counted, listed, of_frame
from fivefold.study.tables.target import target_values

STRICT = {"number": "numbers", "date": "dates", "boolean": "truth values"}  # kinds that a value can fail to be


@dataclass(frozen=True)
class NewData:
    """Rows that a model can be asked about."""

    name: str
    X: pl.DataFrame  # the columns of the schema
    at: np.ndarray  # (n,) line of the file, or number of the row, from 1
    unit: str  # line or row
    target: pl.Series | None = None  # numbers, truth values or text
    notes: tuple[str, ...] = ()


def read_new(source: str | Path, schema: Schema, target: str | None = None) -> NewData:
    """The table in a file, or the embedded set of that name, by the schema of a model.

    With `target` only the rows are kept that have a value in this column.
    """
    if str(source) in EMBEDDED and not Path(source).is_file():
        table = of_frame(str(source), embedded(str(source)))
    else:
        table = read(Path(source), [*(column.name for column in schema.columns), target or schema.target])
    return by_schema(table, schema, target)


def by_schema(table: Table, schema: Schema, target: str | None = None) -> NewData:
    """A table with its columns as the schema wants them; BadInput says what differs."""
    if table.frame.is_empty():
        raise BadInput(f"{table.name}: the table is empty: it has a header and no rows")
    table = clean(table)
    raws, notes = raw_columns(table)
    _check(table.name, schema, list(raws))
    y, said = None, list[str]()
    if target is not None:
        check_names(table, {target: " (--target)"})
        y, said = target_values(raws.get(target), target, table, None)
        rows = y.is_not_null().to_numpy()
        if not rows.all():
            said.append(f"{counted(int((~rows).sum()), 'row')} left out, the target {target!r} is missing there")
            y, table = y.drop_nulls(), table.only(rows)
            raws = {name: raw.only(rows, table) for name, raw in raws.items()}
    known = {column.name for column in schema.columns} | {schema.target, target}
    if unknown := [name for name in raws if name not in known]:
        said.append(f"columns that the model does not know, ignored: {listed(unknown)}")
    kept = [_typed(raws[column.name], column, said) for column in schema.columns if column.name in raws]
    said += [note for series in kept for note in _unseen(table, series, schema.seen.get(series.name))]
    return NewData(table.name, pl.DataFrame(kept), table.at, table.unit, y, (*table.notes, *notes, *said))


def _check(name: str, schema: Schema, columns: list[str]) -> None:
    lost = [column.name for column in schema.needed if column.name not in columns]
    if not lost:
        return
    near = {want: get_close_matches(want, columns, n=1, cutoff=0.8) for want in lost}
    hints = "".join(f"; {want!r} may be {found[0]!r} here" for want, found in near.items() if found)
    raise BadInput(
        f"{name}: the model needs {counted(len(lost), 'column')} that the table does not have: {listed(lost)}{hints}"
    )


def _typed(raw: Raw, column: Column, notes: list[str]) -> pl.Series:
    """The values as the kind they had in training."""
    values = READERS[column.kind](raw, column, notes).alias(raw.name)
    wrong = raw.series.is_not_null() & values.is_null()
    if column.kind in STRICT and wrong.any():
        raise _another_kind(raw, column, wrong)
    if column.kind == "ordinal":
        notes.extend(raw.lost(values, "none of the levels"))
    return values.fill_null(float("nan")) if column.kind == "number" else values


def _number(raw: Raw, column: Column, notes: list[str]) -> pl.Series:
    if raw.series.dtype.is_temporal():
        return _nothing(raw, pl.Float64)
    if raw.series.dtype == pl.String and raw.numbers is None:
        values, format = notation.parsed(raw.series)
    else:
        typed = as_number(raw)
        values, format = typed.values, typed.format
    if format != column.format and raw.series.dtype == pl.String and values.null_count() < len(values):
        said = f"written like {format or '1234.5'}, in training like {column.format or '1234.5'}"
        notes.append(f"column {raw.name!r} holds numbers {said}")
    return values.cast(pl.Float64)


def _date(raw: Raw, column: Column, notes: list[str]) -> pl.Series:
    if raw.series.dtype.is_temporal():
        return raw.series.cast(pl.Datetime("us"))
    values = dates.parsed(raw.text, column.format) if column.format else _nothing(raw, pl.Datetime("us"))
    if values.null_count() > raw.series.null_count() and (found := dates.find_dates(raw.text)):
        notes.append(f"column {raw.name!r} holds dates read as {found.format}, in training {column.format or 'typed'}")
        return found.values
    return values.cast(pl.Datetime("us"))


def _boolean(raw: Raw, column: Column, notes: list[str]) -> pl.Series:
    if raw.series.dtype == pl.Boolean:
        return raw.series
    values = raw.series if raw.numbers is None else raw.numbers.values
    if values.dtype.is_numeric() and column.levels == ("0", "1"):  # also written as 0.0 and 1.0
        return values.replace_strict([0, 1], [False, True], default=None, return_dtype=pl.Boolean)
    return booleans(raw.text, column.levels)


def _ordinal(raw: Raw, column: Column, notes: list[str]) -> pl.Series:
    return pl.select(pl.when(raw.text.is_in(list(column.levels))).then(raw.text)).to_series()


def _text(raw: Raw, column: Column, notes: list[str]) -> pl.Series:
    return raw.text


READERS: dict[Kind, Callable[[Raw, Column, list[str]], pl.Series]] = {
    "number": _number,
    "date": _date,
    "boolean": _boolean,
    "ordinal": _ordinal,
    "category": _text,
    "text": _text,
    "identifier": _text,
}


def _nothing(raw: Raw, dtype: pl.DataType | type[pl.DataType]) -> pl.Series:
    return pl.Series(raw.name, [None] * len(raw.series), dtype=dtype)


def _another_kind(raw: Raw, column: Column, wrong: pl.Series) -> BadInput:
    first, others = int(wrong.arg_max() or 0), int(wrong.sum()) - 1
    like = f" like {column.format}" if column.format else f" ({' and '.join(column.levels)})" if column.levels else ""
    return BadInput(
        f"{raw.table.name}: column {raw.name!r} held {STRICT[column.kind]}{like} when the model was fitted; here "
        f"{raw.table.unit} {raw.table.at[first]} holds {raw.text[first]!r}"
        + (f", and {counted(others, 'other value')} do not fit either" if others else "")
        + ". Correct it, or leave the field empty where the value is unknown"
    )


def _unseen(table: Table, values: pl.Series, levels: tuple[str, ...] | None) -> list[str]:
    """Count the levels of a category that training did not have."""
    if levels is None:
        return []
    new = values.is_not_null() & ~values.is_in(list(levels))
    if not new.any():
        return []
    shown = listed(values.filter(new).unique(maintain_order=True).to_list(), 3)
    return [
        f"column {values.name!r}: {counted(int(new.sum()), 'value')} that training did not see, {shown}, taken as the "
        f"model takes what it does not know: {table.where(new.to_numpy())}"
    ]
