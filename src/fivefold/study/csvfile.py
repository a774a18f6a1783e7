"""A CSV file as a frame: UTF-8, a header, types guessed column by column.

A column is Int64 or Float64 when every value that is not missing is such a number, else String. The separator is the
one of `,` `;` tab that the header holds most; with `;` a number may have a decimal comma.
"""

from __future__ import annotations

import csv
from io import BytesIO
from pathlib import Path

import polars as pl

MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "?", "#N/A")
MOSTLY = 0.8  # a text column with this share of numbers probably has a slip in it


class BadInput(ValueError):
    """What was given cannot be studied, and the message says what to do."""


def read_csv(path: Path) -> tuple[pl.DataFrame, list[str]]:
    """The table and what the reader should know about how it was read."""
    content = _text(path)
    header, separator = _header(path, content)
    try:
        raw = pl.read_csv(BytesIO(content.encode()), separator=separator, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise BadInput(f"{path} is not a CSV table: {str(error).splitlines()[0]}") from None
    raw.columns = [name or f"column {j + 1}" for j, name in enumerate(header)]
    raw = raw.with_columns(pl.all().str.strip_chars()).with_columns(
        pl.when(pl.all().is_in(MISSING)).then(None).otherwise(pl.all()).name.keep()
    )
    notes: list[str] = []
    columns = [_typed(series, separator == ";", notes) for series in raw]
    if not header[0] and columns[0].dtype == pl.Int64 and columns[0].n_unique() == len(raw) > 0:
        notes.append("the first column has no name and counts rows: left out")
        columns = columns[1:]
    return pl.DataFrame(columns), notes


def _text(path: Path) -> str:
    content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadInput(f"{path} is not UTF-8: line {line} holds byte {content[error.start]:#04x}; convert it") from None
    if not text.strip():
        raise BadInput(f"{path} is empty")
    return text.lstrip("\r\n")


def _header(path: Path, text: str) -> tuple[list[str], str]:
    """The names of the columns, all different, and the separator."""
    first = text.splitlines()[0]
    separator = max(",;\t", key=first.count)
    names = [name.strip() for name in next(csv.reader([first], delimiter=separator))]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise BadInput(f"{path}: the header names {', '.join(map(repr, twice))} more than once; names must differ")
    return names, separator


def _typed(series: pl.Series, decimal_comma: bool, notes: list[str]) -> pl.Series:
    numbers = (series.str.replace(",", ".", literal=True) if decimal_comma else series).cast(pl.Float64, strict=False)
    given, read = len(series) - series.null_count(), len(series) - numbers.null_count()
    if given == read:
        integers = series.cast(pl.Int64, strict=False)
        return integers if given and integers.null_count() == series.null_count() else numbers
    if read > MOSTLY * given:
        row = int((series.is_not_null() & numbers.is_null()).arg_max() or 0)
        notes.append(
            f"column {series.name!r} is taken as text: {read} of {given} values are numbers, "
            f"but row {row + 1} holds {series[row]!r}"
        )
    return series
