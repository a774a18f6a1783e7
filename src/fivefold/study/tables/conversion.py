"""A column converted to a kind: values that do not fit become missing and are counted, or are refused.

number       Float64             boolean      Boolean
date         Datetime            others       String, null where missing
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from fivefold.study.formatting import format_count
from fivefold.study.tables import dates
from fivefold.study.tables.column import Column, ColumnKind, ColumnOption
from fivefold.study.tables.number_notation import NumberColumn, parse_numbers
from fivefold.study.tables.table import BadInput, Table, quote_list, quote_value

BOOLEAN_WORDS = (("no", "yes"), ("false", "true"), ("f", "t"), ("n", "y"), ("0", "1"))


@dataclass(frozen=True)
class RawColumn:
    """A column before its kind is known."""

    series: pl.Series  # clean text, or a type that the source declares
    numbers: NumberColumn | None  # the values, if all of the text are numbers
    table: Table
    lenient: bool = False  # values that do not fit become missing, in place of an error

    @property
    def name(self) -> str:
        return self.series.name

    @property
    def text(self) -> pl.Series:
        """The values as text."""
        return self.series.cast(pl.String)

    def only(self, rows: np.ndarray, table: Table) -> RawColumn:
        """The column restricted to these rows (a mask)."""
        numbers = self.numbers and NumberColumn(self.numbers.values.filter(rows), self.numbers.format)
        return RawColumn(self.series.filter(rows), numbers, table, self.lenient)

    def lost(self, values: pl.Series, what: str) -> list[str]:
        """A note on the values that were given and are missing in `values`."""
        gone = self.series.is_not_null() & values.is_null()
        if not gone.any():
            return []
        shown = quote_list(self.text.filter(gone).unique(maintain_order=True).to_list(), 3)
        return [
            f"column {self.name!r}: {format_count(int(gone.sum()), 'value')} taken as missing for being {what}, "
            f"{shown}: {self.table.where(gone.to_numpy())}"
        ]


@dataclass(frozen=True)
class TypedColumn:
    """A column with the values of its kind, and notes on how they were read."""

    values: pl.Series  # Float64, Boolean, Datetime or String
    kind: ColumnKind
    levels: tuple[str, ...] = ()
    format: str = ""
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    distinct: int = -1  # number of distinct values; set by `count_distinct`

    @property
    def column(self) -> Column:
        """Its description, without the values."""
        missing = self.values.null_count()
        return Column(self.values.name, self.kind, self.distinct, missing, self.levels, self.format)

    @property
    def useless(self) -> str | None:
        """Why nothing can be learned from the column, whatever its kind; None if something can."""
        if self.distinct == 0:
            return "every value is missing"
        return "constant" if self.distinct == 1 and not self.values.null_count() else None

    @property
    def usable(self) -> bool:
        """Can something be learned from the column?"""
        return self.kind != "identifier" and self.useless is None


def count_distinct(typed: list[TypedColumn]) -> list[TypedColumn]:
    """The columns with their numbers of distinct values; counted together, since there may be thousands."""
    counts = pl.DataFrame([each.values for each in typed]).select(pl.all().n_unique()).row(0) if typed else ()
    return [
        replace(each, distinct=count - bool(each.values.null_count()))
        for each, count in zip(typed, counts, strict=True)
    ]


def convert_column(raw: RawColumn, option: ColumnOption) -> TypedColumn:
    """The column as the kind that the user asks for."""
    return CONVERTERS[option.kind](raw, option.detail)


def convert_to_number(raw: RawColumn, detail: str = "") -> TypedColumn:
    """The column as numbers, all finite."""
    notes, format = list[str](), ""
    if raw.numbers is not None:
        values, format = raw.numbers.values, raw.numbers.format
    elif raw.series.dtype == pl.String:
        values, format = parse_numbers(raw.series)
        notes = raw.lost(values, "no number")
    else:
        values = raw.series
    values = values.cast(pl.Float64).alias(raw.name)
    numbers = values.to_numpy()  # faster than an expression if there are thousands of columns
    if np.isnan(numbers).sum() > values.null_count():
        values = values.fill_nan(None)
    if len(values) and values.null_count() == len(values) and raw.series.null_count() < len(values):
        raise BadInput(f"{raw.table.name}: column {raw.name!r} holds no numbers, for example {_example(raw)}")
    if np.isinf(numbers).any():
        raise BadInput(
            f"{raw.table.name}: column {raw.name!r} holds infinity in {raw.table.where(np.isinf(numbers))}; "
            "replace it, by an empty field if it is unknown"
        )
    return TypedColumn(values, "number", format=format, notes=tuple(notes))


def _as_category(raw: RawColumn, detail: str) -> TypedColumn:
    return TypedColumn(raw.text, "category")


def _as_text(raw: RawColumn, detail: str) -> TypedColumn:
    return TypedColumn(raw.text, "text")


def _as_identifier(raw: RawColumn, detail: str) -> TypedColumn:
    return TypedColumn(raw.text, "identifier")


def _as_ordinal(raw: RawColumn, detail: str) -> TypedColumn:
    given = raw.series.drop_nulls().unique()
    if detail:
        levels = tuple(level.strip() for level in detail.split("<"))
    elif (numbers := given.cast(pl.Float64, strict=False)).null_count() == 0:
        levels = tuple(given.gather(numbers.arg_sort()).cast(pl.String).unique(maintain_order=True))
    else:
        raise BadInput(
            f"{raw.table.name}: column {raw.name!r} is to be ordinal: give its levels in order, "
            f"as in --column {raw.name}=ordinal:{'<'.join(given.cast(pl.String).sort().to_list()[:4])}"
        )
    if len(set(levels)) < max(2, len(levels)):
        raise BadInput(f"--column {raw.name}=ordinal:{detail}: give at least two levels, all different, separated by <")
    values = raw.text
    known = pl.select(pl.when(values.is_in(list(levels))).then(values)).to_series().alias(raw.name)
    strange = raw.lost(known, "none of the levels")
    if strange and not raw.lenient:
        others = quote_list(raw.text.filter(raw.series.is_not_null() & known.is_null()).unique().sort().to_list(), 5)
        extra = f"holds {others} besides its levels {' < '.join(levels)}"
        raise BadInput(f"{raw.table.name}: column {raw.name!r} {extra}; name every level")
    return TypedColumn(known, "ordinal", levels, notes=tuple(strange))


def _as_boolean(raw: RawColumn, detail: str) -> TypedColumn:
    if raw.series.dtype == pl.Boolean:
        return TypedColumn(raw.series, "boolean", ("false", "true"))
    values, notes = raw.text.drop_nulls().unique().sort(), list[str]()
    truth = tuple(level.strip() for level in detail.split("<")) if detail else boolean_words_of(values)
    if truth is None and len(values) == 2:
        truth = (values[0], values[1])
        notes.append(f"column {raw.name!r}: {values[0]!r} is taken as false, {values[1]!r} as true")
    if truth is None or len(truth) != 2:
        raise BadInput(
            f"{raw.table.name}: column {raw.name!r} is to be boolean, with two values, but holds {len(values)}: "
            f"{quote_list(values.to_list(), 5)}"
        )
    known = parse_booleans(raw.text, truth)
    notes += raw.lost(known, f"neither {truth[0]!r} nor {truth[1]!r}")
    return TypedColumn(known, "boolean", truth, notes=tuple(notes))


def _as_date(raw: RawColumn, detail: str) -> TypedColumn:
    if raw.series.dtype.is_temporal():
        return TypedColumn(raw.series.cast(pl.Datetime("us")), "date")
    if not detail:
        found = dates.find_dates(raw.text)
        if found is None:
            raise BadInput(
                f"{raw.table.name}: not all values of column {raw.name!r} are dates in one format, for example "
                f"{_example(raw)}; give the format, as in --column {raw.name}=date:%d.%m.%Y"
            )
        return column_from_dates(raw, found)
    try:
        values = dates.parse_dates(raw.text, detail)
    except pl.exceptions.PolarsError:
        raise BadInput(f"--column {raw.name}=date:{detail}: this is not a date format; try %d.%m.%Y") from None
    if len(values) and values.null_count() == len(values):
        raise BadInput(f"{raw.table.name}: no value of column {raw.name!r} is a date like {detail}: {_example(raw)}")
    notes = raw.lost(values, f"no date like {detail}")
    return TypedColumn(values.cast(pl.Datetime("us")), "date", format=detail, notes=tuple(notes))


def column_from_dates(raw: RawColumn, found: dates.DateColumn) -> TypedColumn:
    """The column as the dates found in it."""
    notes: tuple[str, ...] = ()
    if found.doubt:
        notes = (
            f"column {raw.name!r} holds dates read as {found.format}; they could also be {found.doubt}: "
            f"--column {raw.name}=date:{found.doubt} if so",
        )
    return TypedColumn(found.values, "date", format=found.format, notes=notes)


CONVERTERS: dict[ColumnKind, Callable[[RawColumn, str], TypedColumn]] = {
    "number": convert_to_number,
    "category": _as_category,
    "ordinal": _as_ordinal,
    "boolean": _as_boolean,
    "date": _as_date,
    "text": _as_text,
    "identifier": _as_identifier,
}


def boolean_words_of(values: pl.Series) -> tuple[str, str] | None:
    """The pair of words for false and true that these two values are; None if they are no such pair."""
    if len(values) != 2:
        return None
    words = {word.lower() for word in values}
    return next((pair for pair in BOOLEAN_WORDS if set(pair) == words), None)


def parse_booleans(text: pl.Series, truth: tuple[str, ...]) -> pl.Series:
    """Text as booleans, given the words for false and true."""
    words = [word.lower() for word in truth]
    return text.str.to_lowercase().replace_strict(words, [False, True], default=None, return_dtype=pl.Boolean)


def _example(raw: RawColumn) -> str:
    given = raw.text.drop_nulls()
    return quote_value(given[0]) if len(given) else "none"
