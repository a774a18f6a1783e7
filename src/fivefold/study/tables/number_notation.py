"""Which columns of text are numbers, and how they are written.

    1234.5     as usual                          1,234.5    a comma between thousands
    1.234,5    a decimal comma                   1 234,5    a space or an apostrophe between thousands

Each may have a percent or currency sign, if every value has it. A column is numeric if all its values are. Whether
1,234 is above a thousand or a little above one is decided by the other columns of the file, then by its separator.
Leading zeros, and integers too long for a float, mark codes: such columns stay text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from fivefold.study.tables.missing_markers import parse_floats
from fivefold.study.tables.table import Table, quote_list

NUMBER_SIGNS = "%$€£"
THOUSANDS_SPACES = r" '\u00a0\u202f"
LEADING_ZERO = r"^[-+]?0\d"
THOUSANDS_ONLY = r"^[-+]?[1-9]\d{0,2}(\.\d{3})+$"
MAX_EXACT_INTEGER = 2.0**53  # floats round larger integers
TRIAL_VALUES = 200  # distinct values tried before all others


@dataclass(frozen=True)
class NumberNotation:
    """A way to write numbers."""

    example: str
    decimal: str = "."
    thousands: str = ""  # separators, as inside a regular expression's []

    @property
    def pattern(self) -> str:
        """The regular expression of a number."""
        whole = rf"(\d{{1,3}}([{self.thousands}]\d{{3}})+|\d+)" if self.thousands else r"\d+"
        return rf"^[-+]?{whole}(\{self.decimal}\d*)?([eE][-+]?\d+)?$"

    def bare(self, values: pl.Series) -> pl.Series:
        """The same numbers in digits, with a decimal point."""
        if self.thousands:
            values = values.str.replace_all(f"[{self.thousands}]", "")
        return values.str.replace(",", ".", literal=True) if self.decimal == "," else values


PLAIN_NOTATION = NumberNotation("1234.5")
OTHER_NOTATIONS = (
    NumberNotation("1,234.5", thousands=","),
    NumberNotation("1.234,5", decimal=",", thousands="."),
    NumberNotation("1 234.5", thousands=THOUSANDS_SPACES),
    NumberNotation("1 234,5", decimal=",", thousands=THOUSANDS_SPACES),
)


@dataclass(frozen=True)
class NumberColumn:
    """A column of which every value is a number."""

    values: pl.Series  # Int64 or Float64
    format: str = ""


def find_numbers(table: Table) -> tuple[dict[str, NumberColumn], list[str]]:
    """The columns of a clean table that hold numbers, and notes on what was guessed."""
    text = table.frame.select(pl.col(pl.String))
    found, codes = _plain_numbers(text, {**table.floats, **parse_floats(text.drop(list(table.floats)))})
    known = {*found, *codes}
    rest = [column for column in text if column.name not in known]
    fits = {column.name: both for column in rest if (both := _fitting_notations(column))}
    notes = []
    if codes:
        notes.append(f"leading zeros or too many digits for a number, kept as text: {quote_list(codes)}")
    comma, sure = _has_decimal_comma(table, fits, found)
    for name, (sign, fitting) in fits.items():
        chosen = next((n for n in fitting if (n.decimal == ",") == comma), fitting[0])
        found[name] = NumberColumn(_cast_numbers(chosen.bare(_strip_sign(text[name], sign))), chosen.example + sign)
        said = f", the sign {sign} left out" if sign else ""
        doubt = (
            " (a guess: no value of the file tells 1,234 from 1.234)"
            if {*OTHER_NOTATIONS[:2]} <= {*fitting} and not sure
            else ""
        )
        if sign or chosen is not PLAIN_NOTATION:
            notes.append(f"column {name!r} holds numbers written like {chosen.example}{said}{doubt}")
    if sure and comma:
        notes.extend(_read_thousands_points(text, found, fits))
    return found, notes


def parse_numbers(values: pl.Series) -> tuple[pl.Series, str]:
    """The numbers in a text column, in the notation that most of them have, and its example; null for other values."""
    best, example = values.cast(pl.Float64, strict=False), ""
    for notation in OTHER_NOTATIONS:
        read = notation.bare(values.set(~values.str.contains(notation.pattern), None)).cast(pl.Float64, strict=False)
        if read.null_count() < best.null_count():
            best, example = read, notation.example
    return best, example


def _plain_numbers(text: pl.DataFrame, floats: Mapping[str, pl.Series]) -> tuple[dict[str, NumberColumn], list[str]]:
    """Columns of plainly written numbers, and columns of codes; tested together, since there may be thousands."""
    whole = [name for name, values in floats.items() if _all_whole(values.to_numpy())]
    found = {name: NumberColumn(values) for name, values in floats.items()}
    if not whole:
        return found, []
    pointed = text.select(pl.col(whole).str.contains(r"[.eE]").any()).row(0)
    zeros = text.select(pl.col(whole).str.contains(LEADING_ZERO).any()).row(0)
    codes = list[str]()
    for name, point, zero in zip(whole, pointed, zeros, strict=True):
        if point:
            continue
        if zero or np.nanmax(np.abs(floats[name].to_numpy())) >= MAX_EXACT_INTEGER:
            codes.append(name)
            del found[name]
        else:
            found[name] = NumberColumn(floats[name].cast(pl.Int64))
    return found, codes


def _all_whole(values: np.ndarray) -> bool:
    """Are all numbers whole? The first few already tell for most columns that are not."""
    for part in (values[:TRIAL_VALUES], values):
        if not ((np.floor(part) == part) & np.isfinite(part) | np.isnan(part)).all():
            return False
    return True


def _fitting_notations(column: pl.Series) -> tuple[str, tuple[NumberNotation, ...]] | None:
    """The sign that all values have, and the notations that fit all of them; None for text."""
    values = column.drop_nulls().unique()
    if not len(values):
        return None
    sign = next((s for s in NUMBER_SIGNS if s in values[0]), "")
    for part in (values.head(TRIAL_VALUES), values):
        bare = _strip_sign(part, sign)
        if sign and not part.str.contains(sign, literal=True).all():
            return None
        usual = bare.cast(pl.Float64, strict=False).null_count() == 0
        fitting = tuple(n for n in OTHER_NOTATIONS if bare.str.contains(n.pattern).all())
        if not (usual or fitting):
            return None
    return sign, (PLAIN_NOTATION,) if usual else fitting


def _strip_sign(values: pl.Series, sign: str) -> pl.Series:
    """Values without the sign at their beginning or end."""
    if not sign:
        return values
    return values.str.replace(rf"^([-+]?)\s*[{sign}]\s*", "$1").str.replace(rf"\s*[{sign}]$", "")


def _cast_numbers(values: pl.Series) -> pl.Series:
    whole = values.cast(pl.Int64, strict=False)
    return whole if whole.null_count() == values.null_count() else values.cast(pl.Float64, strict=False)


def _has_decimal_comma(
    table: Table, fits: dict[str, tuple[str, tuple[NumberNotation, ...]]], found: dict[str, NumberColumn]
) -> tuple[bool, bool]:
    """Do the numbers of this file have a decimal comma, and is that certain?"""
    if not any(n.decimal == "," for _, fitting in fits.values() for n in fitting):
        return False, False
    decided = {n.decimal for _, fitting in fits.values() if len({m.decimal for m in fitting}) == 1 for n in fitting}
    if any(_has_point(table.frame[name], numbers) for name, numbers in found.items()):
        decided.add(".")
    if len(decided) == 1:
        return decided == {","}, True
    return bool(table.decimal_comma), False


def _has_point(text: pl.Series, numbers: NumberColumn) -> bool:
    """Does any number hold a point that does not separate thousands?"""
    if numbers.values.dtype != pl.Float64:
        return False
    return bool((text.str.contains(".", literal=True) & ~text.str.contains(THOUSANDS_ONLY)).any())


def _read_thousands_points(text: pl.DataFrame, found: dict[str, NumberColumn], fits: Iterable[str]) -> Iterable[str]:
    """Read 1.234 as an integer, in a file with decimal commas."""
    for name, numbers in list(found.items()):
        if name not in fits and numbers.values.dtype == pl.Float64 and text[name].str.contains(".", literal=True).any():
            found[name] = NumberColumn(_cast_numbers(text[name].str.replace_all(".", "", literal=True)), "1.234")
            yield f"column {name!r} holds whole numbers with a point between thousands, as others have a decimal comma"
