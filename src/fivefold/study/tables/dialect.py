"""How a delimited file is written: its separator, its quotes, and whether the first row names the columns.

separator   the one of tab ; | , that splits most of the first rows into as many fields as the very first
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
SAMPLE_ROWS = 200  # rows from which the dialect is guessed
NUMERIC_TEXT = re.compile(r"(?=.*\d)[-+\d.,:/ %$€£'eETZ\u00a0\u202f]+")  # numbers, dates, times


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
    return found


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
    columns = [[row[j] for row in rest if j < len(row) and not _is_missing(row[j])] for j in range(len(first))]
    numeric = [field for field, column in zip(first, columns, strict=True) if column and all(map(_is_numeric, column))]
    if any(not _is_numeric(field) and not _is_missing(field) for field in numeric):
        return True
    if numeric and any(map(_is_numeric, numeric)):
        return _are_counters(first) or _are_counters([field for field in first if _is_numeric(field)])
    again = [field in column for field, column in zip(first, columns, strict=True)]
    return sum(again) < len(first) / 2


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
