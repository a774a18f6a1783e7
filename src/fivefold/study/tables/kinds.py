"""The kind of every column: guessed from all rows, or given by the user.

number       all values are numbers
boolean      two values: yes and no, true and false, t and f, y and n, 0 and 1
date         all values are dates
identifier   a different value in (nearly) every row: a word, a code, or consecutive integers
text         a different value in most rows, of several words, or a long string of nothing but letters
category     any other text
ordinal      never guessed
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches

import polars as pl

from fivefold.study.tables.column import parse_column_option
from fivefold.study.tables.conversion import (
    RawColumn,
    TypedColumn,
    boolean_words_of,
    column_from_dates,
    convert_column,
    convert_to_number,
    count_distinct,
    parse_booleans,
)
from fivefold.study.tables.dates import find_dates
from fivefold.study.tables.number_notation import find_numbers
from fivefold.study.tables.table import BadInput, Table, quote_list

IDENTIFIER_SHARE = 0.95  # text with at least this share of distinct values is an identifier
TEXT_DISTINCT_SHARE, TEXT_MEAN_WORDS = 0.5, 3.0  # text: more distinct values, at least these words per value
SEQUENCE_LETTERS = (
    15.0  # letters per value on average that make single words sequences, such as of DNA: names are shorter
)
MIN_NUMBER_SHARE = 0.8  # a text column with more numbers than this share probably holds a few typing errors
MIN_IDENTIFIER_VALUES = 20  # a column with fewer distinct values is never taken for an identifier or for text
IDENTIFIER_NAME = re.compile(r"(?i:(^|.*[\s_.#-])(id|uuid|guid|key|index|idx|rowid|row|nr|no))|.*[a-z](Id|ID)")


def raw_columns(table: Table, *, lenient: bool = False) -> tuple[dict[str, RawColumn], list[str]]:
    """The columns of a clean table, without those of unusable types, and notes."""
    numbers, notes = find_numbers(table)
    columns = dict[str, RawColumn]()
    for series in table.frame:
        plain = _simplify_dtype(series)
        if plain is None:
            notes.append(f"column {series.name!r} holds {series.dtype}, which nothing is learned from: left out")
        else:
            columns[series.name] = RawColumn(plain, numbers.get(series.name), table, lenient)
    return columns, notes


def type_columns(columns: Mapping[str, RawColumn], kinds: Mapping[str, str]) -> list[TypedColumn]:
    """Every column as the kind that the user gives, or that its values suggest."""
    options = {name: parse_column_option(name, kind) for name, kind in kinds.items() if name in columns}
    typed = [
        convert_column(raw, options[name]) if name in options else guess_kind(raw) for name, raw in columns.items()
    ]
    typed = count_distinct(typed)
    if any(each.usable for each in typed):
        return typed
    return count_distinct(  # row numbers are better than nothing
        [
            each if each.values.name in options else guess_kind(columns[each.values.name], counters=False)
            for each in typed
        ]
    )


def check_names(table: Table, named: Mapping[str, str]) -> None:
    """Refuse names that are not columns; `named` says by which option each was given."""
    columns = table.frame.columns
    for column, option in named.items():
        if column not in columns:
            near = get_close_matches(column, columns, n=3, cutoff=0.5)
            hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"there are {quote_list(columns)}"
            why = "" if table.header else " (the file has no header)"
            raise BadInput(f"{table.name}: no column is called {column!r}{option}; {hint}{why}")


def guess_kind(raw: RawColumn, *, counters: bool = True) -> TypedColumn:
    """The kind that the values of a column suggest."""
    dtype = raw.series.dtype
    if dtype == pl.Boolean:
        return TypedColumn(raw.series, "boolean", ("false", "true"))
    if dtype.is_temporal():
        return TypedColumn(raw.series.cast(pl.Datetime("us")), "date")
    if dtype.is_numeric() or raw.numbers is not None:
        return _guess_number(raw, counters=counters)
    given = raw.series.drop_nulls()
    values = given.unique()
    if truth := boolean_words_of(values):
        return TypedColumn(parse_booleans(raw.series, truth), "boolean", truth)
    if found := find_dates(raw.series):
        return column_from_dates(raw, found)
    slip, rare = (
        number_slip_notes(raw),
        len(values) / max(1, len(given)) if len(values) >= MIN_IDENTIFIER_VALUES else 0.0,
    )
    if rare > TEXT_DISTINCT_SHARE and _mean_words(values) >= TEXT_MEAN_WORDS:
        return TypedColumn(raw.series, "text", notes=slip)
    if rare > TEXT_DISTINCT_SHARE and _are_sequences(values):
        note = (
            f"column {raw.name!r} holds strings of letters, taken as text: k-grams are counted, as in a spectrum kernel"
        )
        return TypedColumn(raw.series, "text", notes=(*slip, note))
    if rare < IDENTIFIER_SHARE:
        return TypedColumn(raw.series, "category", notes=slip)
    share = "every value" if len(values) == len(given) else f"{len(values):,} of {len(given):,} values"
    return _identifier_column(
        raw, f"{share} occurs once" if len(values) == len(given) else f"{share} are distinct", slip
    )


def _guess_number(raw: RawColumn, *, counters: bool) -> TypedColumn:
    values = raw.numbers.values if raw.numbers else raw.series
    if values.dtype.is_integer() and values.null_count() < len(values):
        low, high = values.min(), values.max()
        if (low, high) == (0, 1):
            return TypedColumn(values.cast(pl.Boolean), "boolean", ("0", "1"))
        gapless, called = high - low == len(values) - 1, IDENTIFIER_NAME.fullmatch(raw.name)  # type: ignore[operator]  # integers, see above
        full = not values.null_count() and len(values) >= MIN_IDENTIFIER_VALUES
        if counters and full and (gapless or called) and values.n_unique() == len(values):
            why = "it numbers the rows: consecutive integers" if gapless else "its name says so, and no number repeats"
            return _identifier_column(raw, why)
    return convert_to_number(raw)


def _identifier_column(raw: RawColumn, why: str, notes: tuple[str, ...] = ()) -> TypedColumn:
    warning = (
        f"column {raw.name!r} looks like an identifier and is not learned from: {why}; "
        f"--column {raw.name}=KIND if it means something"
    )
    return TypedColumn(raw.text, "identifier", notes=notes, warnings=(warning,))


def number_slip_notes(raw: RawColumn) -> tuple[str, ...]:
    """A note on the few values that keep a text column from being numbers."""
    numbers = raw.series.cast(pl.Float64, strict=False)
    given, read = raw.series.count(), numbers.count()
    if not MIN_NUMBER_SHARE * given < read < given:
        return ()
    wrong = raw.series.is_not_null() & numbers.is_null()
    shown = quote_list(raw.series.filter(wrong).unique(maintain_order=True).to_list(), 3)
    return (
        f"column {raw.name!r} is taken as text: {read:,} of {given:,} values are numbers, but not {shown}: "
        f"{raw.table.where(wrong.to_numpy())}; --column {raw.name}=number takes these as missing",
    )


def _mean_words(values: pl.Series) -> float:
    """Words per value on average."""
    return float(values.str.count_matches(r"\S+").to_numpy().mean())


def _are_sequences(values: pl.Series) -> bool:
    """Are the values long strings of letters alone? Keys and hashes have digits, and names are shorter."""
    return (
        bool(values.str.contains(r"^\pL+$").all())
        and float(values.str.len_chars().to_numpy().mean()) >= SEQUENCE_LETTERS
    )


def _simplify_dtype(series: pl.Series) -> pl.Series | None:
    """The series as integers, floats, booleans, dates or text; None for any other type."""
    dtype = series.dtype
    if dtype == pl.Time or dtype == pl.Duration:
        return series.to_physical().cast(pl.Float64)
    if isinstance(dtype, pl.Datetime) and dtype.time_zone:
        return series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    if dtype in (pl.Categorical, pl.Enum) or dtype == pl.Null:
        return series.cast(pl.String)
    if dtype.is_decimal():
        return series.cast(pl.Float64)
    if dtype.is_float():
        return series.fill_nan(None)
    return series if dtype.is_integer() or dtype.is_temporal() or dtype in (pl.Boolean, pl.String) else None
