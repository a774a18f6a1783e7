"""How a delimited file is written: its separator, its quotes, and whether the first row names the columns.

separator   the one of tab ; | , that splits most of the first rows into as many fields as the very first; runs of
            blanks if none does, or if tabs are only some of the blanks between numbers
quote       " unless the file has none and values stand between '
header      the first row, unless it looks like the rows below it: a number above numbers, or a value that occurs again
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import pairwise

from fivefold.study.tables.missing_markers import MISSING_SPELLINGS

SEPARATORS = "\t;|,"  # the first of equally good ones is taken: a comma may be a decimal comma
BLANKS = " "  # the separator where values stand apart by runs of spaces and tabs
MIN_BLANK_SHARE = 0.9  # rows that blanks must split into the same number of fields; sentences are not so regular
SAMPLE_ROWS = 200  # rows from which the dialect is guessed
NUMERIC_TEXT = re.compile(r"(?=.*\d)[-+\d.,:/ %$€£'eETZ\u00a0\u202f]+")  # numbers, dates, times

SPACED_NUMBERS = re.compile(r"\d\.? {2,}[-+.?\d]")  # two numbers, the second perhaps missing, and their distance


@dataclass(frozen=True)
class Dialect:
    """Separator and quote character; without one, quotes are ordinary characters."""

    separator: str
    quote: str | None

    def split(self, text: str) -> list[list[str]]:
        """The rows of a text as fields; empty lines are left out."""
        lines = StringIO(text, newline="")  # splitlines would also split at form feeds and the like
        if self.quote is None:
            rows = csv.reader(lines, delimiter=self.separator, quoting=csv.QUOTE_NONE)
        else:
            rows = csv.reader(lines, delimiter=self.separator, quotechar=self.quote)
        return [row for row in rows if any(field.strip() for field in row)]


def sniff(sample: str, prefer: str | None = None) -> Dialect | None:
    """The dialect of a sample of whole lines; None if no separator gives two columns.

    Examples
    --------
    >>> sniff("x;y\\n1,5;2\\n2,5;4\\n")
    Dialect(separator=';', quote='"')
    """
    sample = "\n".join(sample.split("\n")[:SAMPLE_ROWS])
    best, found = (False, 0.0), None
    for separator in dict.fromkeys([*(prefer or ""), *SEPARATORS]):
        dialect = Dialect(separator, _find_quote(sample, separator))
        counts = [len(row) for row in dialect.split(sample)]
        width, often = Counter(counts).most_common(1)[0] if counts else (1, 0)
        score = (counts[0] == width, often / len(counts)) if counts else (False, 0.0)
        if width > 1 and (found is None or score > best):
            best, found = score, dialect
    return Dialect(BLANKS, _find_quote(sample, BLANKS)) if _is_blank_separated(sample, found) else found


def tabs_for_blanks(content: bytes, quote: str | None) -> bytes:
    """The content with one tab for each run of blanks outside quotes, and none at the ends of its lines.

    Examples
    --------
    >>> tabs_for_blanks(b' 1.5   2 "a b"  ', '"')
    b'1.5\\t2\\t"a b"'
    """
    content = re.sub(rb"(?m)^[ \t]+|[ \t]+(?=\r?$)", b"", content)
    top = re.match(rb"(#[^\n]*\n)+", content)  # the last of these comments may be the header
    if top is not None:
        content = re.sub(rb"(?m)^#[ \t]+", b"#", top[0]) + content[top.end() :]
    mark = (quote or "").encode()
    if not mark or mark not in content:
        return re.sub(rb"[ \t]+", b"\t", content)
    quoted = mark + rb"[^" + mark + rb"\n]*" + mark
    return re.sub(quoted + rb"|[ \t]+", lambda found: found[0] if found[0].startswith(mark) else b"\t", content)


def has_header(rows: Sequence[Sequence[str]], expected: Collection[str]) -> bool:
    """Does the first of these rows name the columns? For sure if it holds an expected name.

    Examples
    --------
    >>> has_header([["x", "y"], ["1", "a"]], ()), has_header([["2", "b"], ["1", "a"], ["3", "b"]], ())
    (True, False)
    """
    first, *rest = ([field.strip() for field in row] for row in rows)
    if not rest or any(name in first for name in expected):
        return True
    if numbers_have_names(rows):
        return True
    columns = _columns_below(first, rest)
    if any(_is_numeric(field) and _are_numbers(column) for field, column in zip(first, columns, strict=True)):
        return _are_counters(first) or _are_counters([field for field in first if _is_numeric(field)])
    again = [field in column for field, column in zip(first, columns, strict=True)]
    return sum(again) < len(first) / 2


def numbers_have_names(rows: Sequence[Sequence[str]]) -> bool:
    """Does the first row hold a word above a column of numbers? Then it is a header for sure.

    Examples
    --------
    >>> numbers_have_names([["x", "y"], ["1", "a"]]), numbers_have_names([["x", "y"], ["b", "a"]])
    (True, False)
    """
    first, *rest = ([field.strip() for field in row] for row in rows)
    pairs = zip(first, _columns_below(first, rest), strict=True)
    return any(_are_numbers(column) and not _is_numeric(field) and not _is_missing(field) for field, column in pairs)


def _columns_below(first: Sequence[str], rest: Sequence[Sequence[str]]) -> list[list[str]]:
    """What stands below each field of the first row, without markers of missing values."""
    return [[row[j] for row in rest if j < len(row) and not _is_missing(row[j])] for j in range(len(first))]


def _are_numbers(column: Sequence[str]) -> bool:
    return bool(column) and all(map(_is_numeric, column))


def _is_blank_separated(sample: str, found: Dialect | None) -> bool:
    """Do runs of blanks separate the values, although `found` may be some dialect with tabs?"""
    if found is not None and found.separator != "\t":
        return False
    quote = _find_quote(sample, BLANKS)
    rows = Dialect("\t", quote).split(tabs_for_blanks(sample.encode(), quote).decode())
    width, often = Counter(map(len, rows)).most_common(1)[0] if rows else (1, 0)
    if width < 2 or often < MIN_BLANK_SHARE * len(rows):
        return False
    if found is None or len(rows[0]) != width:
        return found is None
    above, *below = found.split(sample)
    if not below:
        return False
    if Counter(map(len, below)).most_common(1)[0][0] != len(above):
        return True
    return any(  # in a column that is none, numbers stand several blanks apart
        all(j < len(row) and SPACED_NUMBERS.search(row[j]) for row in below) for j in range(width)
    )


def _find_quote(sample: str, separator: str) -> str:
    edge = re.escape(separator)
    apostrophes = re.search(rf"(^|{edge})'[^'\n]*'($|{edge})", sample, re.MULTILINE)
    return "'" if apostrophes and '"' not in sample else '"'


def _is_numeric(field: str) -> bool:
    return NUMERIC_TEXT.fullmatch(field) is not None


def _is_missing(field: str) -> bool:
    return field in MISSING_SPELLINGS


def _are_counters(names: Sequence[str]) -> bool:
    """Names such as 0, 1, 2 or 2019, 2020, 2021."""
    if len(names) < 2 or not all(name.isdecimal() for name in names):
        return False
    return all(int(b) - int(a) == 1 for a, b in pairwise(names))
