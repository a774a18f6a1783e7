"""Text columns that hold dates, with or without the time of day, in one of the usual formats.

All values of a column have the same format. 3/4/2020 may be the third of April or the fourth of March: a column without
a day above 12 is read with the month first, and a note says so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl

TRIAL_VALUES = 200  # distinct values tried before all others
DAY_PATTERNS = {  # what a day looks like, and the formats it may have
    r"\d{4}-\d{1,2}-\d{1,2}": ("%Y-%m-%d",),
    r"\d{4}/\d{1,2}/\d{1,2}": ("%Y/%m/%d",),
    r"\d{1,2}\.\d{1,2}\.\d{4}": ("%d.%m.%Y",),
    r"\d{1,2}\.\d{1,2}\.\d{2}": ("%d.%m.%y",),
    r"\d{1,2}/\d{1,2}/\d{4}": ("%m/%d/%Y", "%d/%m/%Y"),
    r"\d{1,2}/\d{1,2}/\d{2}": ("%m/%d/%y", "%d/%m/%y"),
    r"\d{1,2}-\d{1,2}-\d{4}": ("%m-%d-%Y", "%d-%m-%Y"),
    r"\d{1,2}[ -][A-Za-z]{3,9}\.?[ -]\d{4}": ("%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%d-%B-%Y"),
    r"[A-Za-z]{3,9} \d{1,2}, ?\d{4}": ("%b %d, %Y", "%B %d, %Y"),
}
TIME_PATTERNS = {
    "": "",
    r"[T ]\d{1,2}:\d{2}": "%H:%M",
    r"[T ]\d{1,2}:\d{2}:\d{2}(\.\d+)?": "%H:%M:%S%.f",
    r" \d{1,2}:\d{2} ?[AaPp][Mm]": "%I:%M %p",
    r" \d{1,2}:\d{2}:\d{2} ?[AaPp][Mm]": "%I:%M:%S %p",
}
ZONE_PATTERN = r"(Z|[+-]\d{2}:?\d{2})"


@dataclass(frozen=True)
class DateColumn:
    """A column of which every value is a date."""

    values: pl.Series  # Datetime in microseconds; in UTC if the text has a zone
    format: str
    doubt: str | None = None  # another format that all values have as well


def find_dates(text: pl.Series) -> DateColumn | None:
    """A text column as dates, if all its values are dates.

    Examples
    --------
    >>> find_dates(pl.Series(["1.2.2020", "31.12.2021"])).format
    '%d.%m.%Y'
    """
    values = text.drop_nulls().unique()
    if not len(values):
        return None
    formats = _candidate_formats(values[0])
    for part in (values.head(TRIAL_VALUES), values):
        formats = [each for each in formats if parse_dates(part, each).null_count() == 0]
    if not formats:
        return None
    first, *others = formats
    doubt = next((each for each in others if not parse_dates(values, each).equals(parse_dates(values, first))), None)
    return DateColumn(parse_dates(text, first), first, doubt)


def parse_dates(text: pl.Series, format: str) -> pl.Series:
    """The dates of a column in this format, in UTC if it has a zone; null where a value is not a date."""
    dates = text.str.to_datetime(format, strict=False, time_unit="us")
    return dates.dt.replace_time_zone(None) if isinstance(dates.dtype, pl.Datetime) and dates.dtype.time_zone else dates


def _candidate_formats(value: str) -> list[str]:
    """The formats that one value may have."""
    for day, days in DAY_PATTERNS.items():
        for time, clock in TIME_PATTERNS.items():
            if whole := re.fullmatch(f"{day}(?P<time>{time})(?P<zone>{ZONE_PATTERN}?)", value):
                gap, zone = whole["time"][:1], "%#z" if whole["zone"] else ""
                return [f"{each}{gap}{clock}{zone}" for each in days]
    return []
