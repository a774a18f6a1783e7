"""CSV and similar files as a table of text: whatever is left out or changed is noted, with its lines.

Blank lines and comments are left out; empty fields beyond the header are cut. Rows with fewer fields than the header,
or with values beyond it, are refused: nobody can know which field belongs to which column.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
import polars as pl

from fivefold.study.formatting import format_count
from fivefold.study.tables.dialect import (
    BLANKS,
    SAMPLE_ROWS,
    Dialect,
    has_header,
    numbers_have_names,
    sniff,
    tabs_for_blanks,
)
from fivefold.study.tables.layout import RowLayout, scan_rows
from fivefold.study.tables.table import BadInput, Table, format_places, quote_list, quote_value
from fivefold.study.tables.text_encoding import HEAD_BYTES

COMMENT_MARK = b"#"
SEPARATOR_LINE = re.compile(rb'"?sep=([,;|\t])"?\r?\n')  # spreadsheets write it as the first line
TAB_SUFFIXES = (".tsv", ".tab")
SEPARATOR_NAMES = {"\t": "tab", ";": "semicolon", "|": "vertical bar", ",": "comma", BLANKS: "blank"}
MAX_NAMES_NOTED = 6  # column names in the note on a header that nobody has confirmed
MAX_EXTRA_FIELDS = 100  # empty fields beyond the header that a row may have


@dataclass(frozen=True)
class DelimitedRows:
    """A file cut into rows, blank ones and comments left out."""

    path: Path
    content: bytes
    dialect: Dialect
    layout: RowLayout
    rows: np.ndarray  # indices of the rows that count
    separator_name: str  # of the file; in `content` tabs stand for blanks

    def text(self, row: int) -> bytes:
        """A row as it stands in the file."""
        return self.content[self.layout.starts[row] : self.layout.ends[row]]

    def fields(self, rows: Sequence[int]) -> list[list[str]]:
        """The fields of some rows."""
        return self.dialect.split("".join(self.text(row).decode() for row in rows))

    def where(self, rows: np.ndarray) -> str:
        return format_places(self.layout.lines[rows])


def read_delimited(
    path: Path, content: bytes, expected: Collection[str] = (), header: bool | None = None, one_column: bool = False
) -> Table:
    """The table of a file in UTF-8; see `files.read_table`."""
    notes = list[str]()
    content = content if content.endswith(b"\n") else content + b"\n"
    lines = _split_rows(path, content, notes, one_column)
    try:
        names, body, named = _read_header(lines, expected, header, notes)
    except csv.Error as error:
        raise BadInput(f"{path} is not a table: its first lines cannot be read ({error})") from None
    _check_widths(lines, names, body)
    frame = _parse_rows(lines, body, len(names))
    frame = _name_columns(lines, frame, names, body, notes)
    comma = True if lines.dialect.separator == ";" else None
    return Table(path.name, frame, lines.layout.lines[body], "line", tuple(notes), decimal_comma=comma, header=named)


def _split_rows(path: Path, content: bytes, notes: list[str], one_column: bool) -> DelimitedRows:
    """Find dialect and rows."""
    prefer = "\t" if path.name.removesuffix(".gz").endswith(TAB_SUFFIXES) else None
    if declared := SEPARATOR_LINE.match(content):
        content, prefer = b"\n" + content[declared.end() :], declared[1].decode()  # a blank line in its place
        notes.append(f"line 1 says that values are separated by {prefer!r}")
    dialect = _find_dialect(path, content, prefer, one_column)
    separator_name = SEPARATOR_NAMES[dialect.separator]
    if dialect.separator == BLANKS:
        content, dialect = tabs_for_blanks(content, dialect.quote), Dialect("\t", dialect.quote)
    content, dialect, layout = _resolve_quotes(path, content, dialect, notes)
    several = layout.fields[layout.fields > 1]
    width = int(np.bincount(several).argmax()) if len(several) else 1
    few = np.flatnonzero((layout.fields != width) | (width == 1))
    texts = {int(i): content[layout.starts[i] : layout.ends[i]].strip() for i in few}
    blank = [i for i, text in texts.items() if not text]
    comments = [i for i, text in texts.items() if text.startswith(COMMENT_MARK)]
    counts = np.ones(len(layout.fields), bool)
    counts[[*blank, *comments]] = False
    lines = DelimitedRows(path, content, dialect, layout, np.flatnonzero(counts), separator_name)
    for what, left in (("blank line", blank), ("comment", comments)):
        if left:
            notes.append(f"{format_count(len(left), what)} left out: {lines.where(np.array(left))}")
    if dialect.separator != ",":
        notes.append(f"values are separated by {separator_name}s")
    if dialect.quote == "'":
        notes.append("values stand between single quotes")
    return lines


def _find_dialect(path: Path, content: bytes, prefer: str | None, one_column: bool) -> Dialect:
    head = (
        content
        if len(content) <= HEAD_BYTES
        else content[: content.rfind(b"\n", 0, HEAD_BYTES) + 1] or content[:HEAD_BYTES]
    )
    sample = [line for line in head.decode(errors="ignore").split("\n") if line.strip()]
    sample = [line for line in sample if not line.startswith("#")] or sample
    dialect = sniff("\n".join(sample), prefer)
    if dialect is None and one_column:
        return Dialect(",", '"')
    if dialect is None:
        raise BadInput(
            f"{path} has one column only: no comma, semicolon, tab, | or blank separates values in its lines, "
            f"for example {quote_value((sample or [''])[0])}"
        )
    return dialect


def _resolve_quotes(path: Path, content: bytes, dialect: Dialect, notes: list[str]) -> tuple[bytes, Dialect, RowLayout]:
    """What the quotes of a file mean: they enclose values, perhaps between spaces, or are ordinary characters."""
    layout = scan_rows(content, dialect)
    if layout.stray is None or dialect.quote is None:
        return content, dialect, layout
    mark, edge = re.escape(dialect.quote).encode(), re.escape(dialect.separator).encode()
    tight = re.sub(rb"(^|" + edge + rb") +" + mark, rb"\1" + mark, content, flags=re.MULTILINE)
    tight = re.sub(mark + rb" +(" + edge + rb"|\r?$)", mark + rb"\1", tight, flags=re.MULTILINE)
    if tight != content and (closer := scan_rows(tight, dialect)).stray is None:
        notes.append(f"spaces between separators and quotes are ignored, first in line {layout.stray}")
        return tight, dialect, closer
    plain = Dialect(dialect.separator, None)
    flat = scan_rows(content, plain)
    if not layout.opening and len(np.unique(flat.fields[flat.ends - flat.starts > 1])) == 1:
        notes.append(f"quotes are read as ordinary characters: line {layout.stray} has one inside a value")
        return content, plain, flat
    raise BadInput(
        f"{path}: line {layout.stray} has a quote that is not closed, or that stands inside a value without being "
        "doubled; correct that line"
    )


def _read_header(
    lines: DelimitedRows, expected: Collection[str], header: bool | None, notes: list[str]
) -> tuple[list[str], np.ndarray, bool]:
    """The names of the columns, the rows below them, and whether the file names its columns or they are numbered."""
    rows, sample = lines.rows, lines.fields(_sample_rows(lines))
    if not sample:
        raise BadInput(f"{lines.path} holds comments and no rows")
    while len(sample) > 2 and _is_comment_row(sample, expected):
        notes.append(f"1 comment left out: {lines.where(rows[:1])}")
        rows, sample = rows[1:], sample[1:]
    sample[0][0] = sample[0][0].lstrip("# ")
    line = lines.layout.lines[rows[0]]
    if has_header(sample, expected) if header is None else header:
        names = [" ".join(name.split()) for name in sample[0]]
        if header is None and not set(names) & set(expected) and not numbers_have_names(sample):
            shown = quote_list(names, MAX_NAMES_NOTED)
            notes.append(f"line {line} is taken for the names of the columns, {shown}; if it holds values: --no-header")
        return names, rows[1:], True
    width = int(np.bincount(lines.layout.fields[rows]).argmax())
    why = "looks like the lines below it" if header is None else "is taken for values"
    called = "column is called column_1" if width == 1 else f"columns are called column_1 to column_{width}"
    notes.append(f"no header: line {line} {why}; the {called}")
    return [f"column_{j + 1}" for j in range(width)], rows, False


def _sample_rows(lines: DelimitedRows) -> list[int]:
    """The first rows, except those that are too long to be examined; always with the very first."""
    rows = lines.rows[: SAMPLE_ROWS + 1]
    short = lines.layout.ends[rows] - lines.layout.starts[rows] <= HEAD_BYTES
    short[:1] = True
    return [int(row) for row in rows[short]]


def _is_comment_row(sample: list[list[str]], expected: Collection[str]) -> bool:
    """Is the first row a comment that happens to have as many fields as the others?"""
    if not sample[0][0].startswith("#"):
        return False
    above, below = ({field.strip("# ") for field in row} for row in sample[:2])
    return not above & set(expected) and (bool(below & set(expected)) or has_header(sample[1:], ()))


def _check_widths(lines: DelimitedRows, names: list[str], body: np.ndarray) -> None:
    """Cut empty names behind the last field; refuse rows that are too short, or absurdly long."""
    fields = lines.layout.fields[body]
    while len(names) > 1 and not names[-1] and len(fields) and fields.max() < len(names):
        names.pop()
    twice = sorted({name for name in names if name and names.count(name) > 1}) if len(set(names)) < len(names) else []
    if twice:
        raise BadInput(f"{lines.path}: the header names {quote_list(twice)} more than once; names must differ")
    if not len(fields):
        return
    if len(names) == 1 and fields.max() > 1:
        raise BadInput(
            f"{lines.path}: the first line, {quote_value(names[0])}, has one field and the others {fields.max()}; "
            "if it is a title, remove it"
        )
    for what, odd in (("too few", fields < len(names)), ("too many", fields > len(names) + MAX_EXTRA_FIELDS)):
        if odd.any():
            raise BadInput(_ragged_message(lines, body[odd], what, len(names), len(body)))


def _parse_rows(lines: DelimitedRows, body: np.ndarray, width: int) -> pl.DataFrame:
    """The rows as columns of text, as many as the longest row has fields."""
    starts, ends = lines.layout.starts[body], lines.layout.ends[body]
    gaps = np.flatnonzero(starts[1:] != ends[:-1]) + 1
    runs = zip(starts[np.r_[0, gaps]], ends[np.r_[gaps - 1, -1]], strict=True) if len(body) else ()
    longest = max(width, int(lines.layout.fields[body].max(initial=0)))
    header = lines.dialect.separator.join(f"c{j}" for j in range(longest)) + "\n"
    text = b"".join([header.encode(), *(memoryview(lines.content)[a:b] for a, b in runs)])
    try:
        frame = pl.read_csv(
            BytesIO(text), separator=lines.dialect.separator, quote_char=lines.dialect.quote, infer_schema=False
        )
    except pl.exceptions.PolarsError as error:
        raise BadInput(f"{lines.path} is not a table: {str(error).splitlines()[0]}") from None
    if len(frame) != len(body):
        raise BadInput(f"{lines.path} can be read in two ways: {len(body)} rows or {len(frame)}; check its quotes")
    return frame


def _name_columns(
    lines: DelimitedRows, frame: pl.DataFrame, names: list[str], body: np.ndarray, notes: list[str]
) -> pl.DataFrame:
    """The columns under their names; what stands beyond the header must be empty, or else be names of rows."""
    empty = [
        column.null_count() == len(column) or not column.fill_null("").str.strip_chars().ne("").any()
        for column in frame.get_columns()[len(names) :]
    ]
    fields = lines.layout.fields[body]
    if empty and not all(empty):
        if len(empty) > 1 or (fields != len(names) + 1).any():
            values = frame[:, len(names) :].select(pl.any_horizontal(pl.all().str.strip_chars().fill_null("") != ""))
            raise BadInput(
                _ragged_message(lines, body[values.to_series().to_numpy()], "too many", len(names), len(body))
            )
        notes.append(
            "the header has one name fewer than the rows have fields: the first field is taken for the name of the row"
        )
        names = ["", *names]
    elif empty:
        longer = body[fields > len(names)]
        notes.append(f"empty fields beyond the header cut in {format_count(len(longer), 'row')}: {lines.where(longer)}")
        frame = frame[:, : len(names)]
    return _name_unnamed_columns(frame, names, notes)


def _name_unnamed_columns(frame: pl.DataFrame, names: list[str], notes: list[str]) -> pl.DataFrame:
    """Name the columns without a name; empty ones and one that numbers the rows are left out."""
    if all(names):
        return frame.rename(dict(zip(frame.columns, names, strict=True)))
    kept = dict[str, pl.Series]()
    for j, (name, column) in enumerate(zip(names, frame, strict=True)):
        if name:
            kept[name] = column
        elif column.null_count() == len(column):
            notes.append(f"column {j + 1} has neither a name nor values: left out")
        elif j == 0 and _counts_rows(column):
            notes.append("the first column has no name and numbers the rows: left out")
        else:
            new = next(n for n in (f"column_{j + 1}", f"column_{j + 1}_unnamed") if n not in names)
            notes.append(f"column {j + 1} has no name: called {new!r}")
            kept[new] = column
    return pl.DataFrame([column.alias(name) for name, column in kept.items()])


def _counts_rows(column: pl.Series) -> bool:
    numbers = column.str.strip_chars().cast(pl.Int64, strict=False)
    return numbers.null_count() == 0 and numbers.n_unique() == len(numbers)


def _ragged_message(lines: DelimitedRows, odd: np.ndarray, what: str, width: int, total: int) -> str:
    one = int(odd[0])
    return (
        f"{lines.path}: {len(odd):,} of {total:,} rows have {what} fields: {lines.where(odd)}; line "
        f"{lines.layout.lines[one]} has {lines.layout.fields[one]}, the header {width}. Correct them: a value that "
        f"holds a {lines.separator_name} stands between quotes"
    )
