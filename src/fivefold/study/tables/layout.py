"""Where the rows of a delimited file begin, how many fields they have, and on which line of the file they stand.

A quote opens and closes in turn, and a doubled one closes and opens at once; so a separator or line feed counts if an
even number of quotes stands before it. A quote that opens in the middle of a value, or closes before its end, is stray.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fivefold.study.tables.dialect import Dialect

FEED, RETURN = ord("\n"), ord("\r")


@dataclass(frozen=True)
class Layout:
    """The rows of a file, blank ones as well."""

    starts: np.ndarray  # (n,) offset of the first byte
    ends: np.ndarray  # (n,) offset behind the last one, which may be a line feed
    fields: np.ndarray  # (n,)
    lines: np.ndarray  # (n,) from 1
    stray: int | None  # line of the first quote out of place


def scan(content: bytes, dialect: Dialect) -> Layout:
    """Find the rows of a file that ends in a line feed."""
    codes = np.frombuffer(content, np.uint8)
    separator = ord(dialect.separator)
    marks = [FEED, separator, *([ord(dialect.quote)] if dialect.quote else [])]
    special = np.zeros(256, bool)
    special[marks] = True
    at = np.flatnonzero(special[codes])
    mark = codes[at]
    if dialect.quote:
        quotes = mark == ord(dialect.quote)
        stray = _stray(codes, at[quotes], separator, ord(dialect.quote))
        outside = (np.cumsum(quotes, dtype=np.int32) & 1 == 0) & ~quotes
        feeds = at[mark == FEED]
        at, mark = at[outside], mark[outside]
    else:
        stray, feeds = None, at[mark == FEED]
    rows = np.flatnonzero(mark == FEED)
    ends = at[rows] + 1
    if not len(ends) or ends[-1] < len(codes):  # the last one opens a quote and never closes it
        ends, rows = np.append(ends, len(codes)), np.append(rows, len(mark))
    starts = np.concatenate([[0], ends[:-1]])
    lines = np.searchsorted(feeds, starts) + 1
    if stray is not None:
        stray = int(np.searchsorted(feeds, stray) + 1)
    return Layout(starts, ends, np.diff(rows, prepend=-1), lines, stray)


def _stray(codes: np.ndarray, quotes: np.ndarray, separator: int, quote: int) -> int | None:
    """Offset of the quote that is out of place, or that opens what ends out of place."""
    before = codes[np.maximum(quotes[::2] - 1, 0)]
    opens_well = (quotes[::2] == 0) | np.isin(before, [separator, FEED, quote])
    after = codes[np.minimum(quotes[1::2] + 1, len(codes) - 1)]
    closes_well = np.isin(after, [separator, FEED, RETURN, quote])
    wrong = [
        *quotes[::2][~opens_well][:1],
        *quotes[:-1:2][: len(closes_well)][~closes_well][:1],
        *(quotes[-1:] if len(quotes) % 2 else []),
    ]
    return int(min(wrong)) if wrong else None
