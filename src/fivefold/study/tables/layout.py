"""Where each row of a delimited file begins, how many fields it has, and on which line of the file it stands.

Quotes open and close in turn, and a doubled quote closes and opens at once; so a separator or line feed counts if an
even number of quotes precedes it. A quote that opens in the middle of a value, or closes before its end, is stray.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fivefold.study.tables.dialect import Dialect

LINE_FEED, CARRIAGE_RETURN = ord("\n"), ord("\r")
BLOCK_BYTES = 1 << 20  # bytes scanned at a time, so that intermediate arrays stay in the processor cache


@dataclass(frozen=True)
class RowLayout:
    """The rows of a file, including blank ones."""

    starts: np.ndarray  # (n,) offset of the first byte
    ends: np.ndarray  # (n,) offset behind the last byte, which may be a line feed
    fields: np.ndarray  # (n,) number of fields
    lines: np.ndarray  # (n,) line in the file, from 1
    stray: int | None = None  # line of the first stray quote
    opening: bool = False  # does any value begin with a quote?


def scan_rows(content: bytes, dialect: Dialect) -> RowLayout:
    """Find the rows of a file that ends in a line feed."""
    codes, separator = np.frombuffer(content, np.uint8), ord(dialect.separator)
    quote = ord(dialect.quote) if dialect.quote and dialect.quote.encode() in content else None
    ends, marks, feeds, quotes = list[np.ndarray](), list[np.ndarray](), list[np.ndarray](), list[np.ndarray]()
    before, within = 0, 0  # in earlier blocks: separators and line feeds outside quotes, and quotes
    for start in range(0, len(codes), BLOCK_BYTES):
        block = codes[start : start + BLOCK_BYTES]
        special = (block == separator) | (block == LINE_FEED)
        if quote is not None:
            special |= block == quote
        at = np.flatnonzero(special)
        mark = block[at]
        if quote is not None:
            feeds.append(at[mark == LINE_FEED] + start)
            is_quote = mark == quote
            quotes.append(at[is_quote] + start)
            outside = ((np.cumsum(is_quote) + within) % 2 == 0) & ~is_quote
            within += int(is_quote.sum())
            at, mark = at[outside], mark[outside]
        rows = np.flatnonzero(mark == LINE_FEED)
        ends.append(at[rows] + start + 1)
        marks.append(rows + before)
        before += len(mark)
    end, mark = np.concatenate(ends), np.concatenate(marks)
    if not len(end) or end[-1] < len(codes):  # the last row opens a quote without closing it
        end, mark = np.append(end, len(codes)), np.append(mark, before)
    begin = np.concatenate([[0], end[:-1]])
    fields = np.diff(mark, prepend=-1)
    if quote is None:
        return RowLayout(begin, end, fields, np.arange(1, len(end) + 1))
    feed, where = np.concatenate(feeds), np.concatenate(quotes)
    stray = _find_stray_quote(codes, where, separator, quote)
    line = None if stray is None else int(np.searchsorted(feed, stray) + 1)
    opening = bool((where == 0).any() or np.isin(codes[where - 1], [separator, LINE_FEED]).any())
    return RowLayout(begin, end, fields, np.searchsorted(feed, begin) + 1, line, opening)


def _find_stray_quote(codes: np.ndarray, quotes: np.ndarray, separator: int, quote: int) -> int | None:
    """Offset of the first stray quote, or of the quote that opens what a stray quote closes."""
    before = codes[np.maximum(quotes[::2] - 1, 0)]
    opens_well = (quotes[::2] == 0) | np.isin(before, [separator, LINE_FEED, quote])
    after = codes[np.minimum(quotes[1::2] + 1, len(codes) - 1)]
    closes_well = np.isin(after, [separator, LINE_FEED, CARRIAGE_RETURN, quote])
    wrong = [
        *quotes[::2][~opens_well][:1],
        *quotes[:-1:2][~closes_well][:1],
        *(quotes[-1:] if len(quotes) % 2 else []),
    ]
    return int(min(wrong)) if wrong else None
