"""A file read as a table; its name or its first bytes tell the format."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import replace
from difflib import get_close_matches
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from fivefold.datasets.toy_datasets import EMBEDDED
from fivefold.study.tables.arff import read_arff
from fivefold.study.tables.delimited_text import read_delimited
from fivefold.study.tables.svmlight import looks_like_svmlight, read_svmlight
from fivefold.study.tables.table import BadInput, Table, quote_value
from fivefold.study.tables.text_encoding import PARQUET_MAGIC, check_memory, decode_to_utf8, read_bytes

DELIMITED_SUFFIXES = (".csv", ".tsv", ".tab", ".txt")  # whatever their first row looks like
BYTES_PER_CELL = 8  # least memory of a value, as a float


def read_table(
    path: Path, expected: Collection[str] = (), header: bool | None = None, *, one_column: bool = False
) -> Table:
    """The table in a file; `expected` are column names that its header is known to hold.

    CSV with any of the usual separators, Parquet, JSON lines, ARFF and SVMlight (LIBSVM); text may be compressed by
    gzip. `header` says whether the first row of delimited text names the columns; None: decided by the rows. Delimited
    text of one column is refused, as there is a column to be predicted and one to predict it by, unless `one_column`.
    """
    check_file(path)
    content = read_bytes(path)
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    if content.startswith(PARQUET_MAGIC) or suffix in (".parquet", ".pq"):
        _check_header_option(path, header)
        return read_parquet(path, content)
    text, notes = decode_to_utf8(path, content)
    reader = TEXT_READERS.get(suffix)
    if reader is None and text.lstrip()[:9].lower() == b"@relation":
        reader = read_arff
    if reader is None and suffix not in DELIMITED_SUFFIXES and looks_like_svmlight(text):
        reader = read_svmlight
    if reader is not None:
        _check_header_option(path, header)
        table = reader(path, text)
    else:
        table = read_delimited(path, text, expected, header, one_column)
    return replace(table, notes=(*notes, *table.notes))


def _check_header_option(path: Path, header: bool | None) -> None:
    if header is not None:
        option = "--header" if header else "--no-header"
        raise BadInput(f"{path}: {option} is for delimited text; files of this format always name their columns")


def check_file(path: Path) -> None:
    """Refuse a path that is not a file, and suggest one that may have been meant."""
    try:
        if path.is_file():
            return
        if path.is_dir():
            raise BadInput(f"{path} is a folder; give a file in it")
        if path.exists():
            raise BadInput(f"{path} is not a regular file")
        beside = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
    except OSError as error:
        raise BadInput(f"{path} cannot be read ({error.strerror})") from None
    near = get_close_matches(path.name, [*EMBEDDED, *beside], n=2, cutoff=0.6)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    raise BadInput(
        f"there is no file {path}, and no embedded data set of that name; {hint}Embedded: {', '.join(EMBEDDED)}"
    )


def read_parquet(path: Path, content: bytes) -> Table:
    """A Parquet file, with the types it declares."""
    try:
        found = pl.scan_parquet(BytesIO(content))
        rows, columns = found.select(pl.len()).collect().item(), len(found.collect_schema())
        check_memory(path, BYTES_PER_CELL * rows * columns)  # equal rows compress to almost nothing
        frame = _unnest(pl.read_parquet(BytesIO(content)))
    except BadInput:
        raise
    except BaseException as error:  # on damaged files polars panics, which is not an Exception
        if not (isinstance(error, Exception) or type(error).__name__ == "PanicException"):
            raise
        said = (str(error).splitlines() or [type(error).__name__])[0]
        raise BadInput(f"{path} is not a valid Parquet file: {said}") from None
    return Table(path.name, frame, np.arange(1, len(frame) + 1))


def read_json(path: Path, content: bytes) -> Table:
    """One JSON object per line, or one list of objects."""
    if content.lstrip().startswith(b"["):
        records = _load_json(path, content, 1)
        at, unit = np.arange(1, len(records) + 1), "row"
        frame = _frame_records(path, records)
    else:
        lines = content.split(b"\n")
        at, unit = np.array([i for i, line in enumerate(lines, 1) if line.strip()], int), "line"
        try:
            frame = pl.read_ndjson(BytesIO(content), infer_schema_length=None)
        except pl.exceptions.PolarsError:  # it refuses what JSON does not define, such as NaN
            frame = _frame_records(path, [_load_json(path, lines[i - 1], int(i)) for i in at])
        if len(frame) != len(at):
            raise BadInput(f"{path}: {len(at)} lines hold {len(frame)} objects; write one object per line")
    return Table(path.name, _unnest(frame), at, unit)  # type: ignore[arg-type]  # one of the two units


def _load_json(path: Path, line: bytes, number: int) -> Any:  # whatever the JSON holds
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        said = f"{error.msg} at column {error.colno}" if isinstance(error, json.JSONDecodeError) else str(error)
        raise BadInput(
            f"{path}: line {number} is not JSON ({said}): {quote_value(line.decode(errors='replace'))}"
        ) from None


def _frame_records(path: Path, records: list[object]) -> pl.DataFrame:
    odd = next((i for i, record in enumerate(records, 1) if not isinstance(record, dict)), None)
    if odd is not None:
        raise BadInput(f"{path}: record {odd} is not an object with named values: {quote_value(str(records[odd - 1]))}")
    try:
        return pl.DataFrame(records, infer_schema_length=None, strict=False)
    except (pl.exceptions.PolarsError, TypeError, OverflowError) as error:
        raise BadInput(f"{path}: its records do not make a table: {str(error).splitlines()[0]}") from None


def _unnest(frame: pl.DataFrame) -> pl.DataFrame:
    """Objects inside objects become columns called outer.inner."""
    while nested := [name for name, dtype in frame.schema.items() if dtype == pl.Struct]:
        for name in nested:
            inner = frame[name].struct.unnest()
            inner.columns = [f"{name}.{part}" for part in inner.columns]
            if set(inner.columns) & set(frame.columns):
                raise BadInput(f"two columns would be called {(set(inner.columns) & set(frame.columns)).pop()!r}")
            frame = frame.drop(name).hstack(inner.get_columns())
    return frame


TEXT_READERS: dict[str, Callable[[Path, bytes], Table]] = {
    ".json": read_json,
    ".jsonl": read_json,
    ".ndjson": read_json,
    ".arff": read_arff,
    ".libsvm": read_svmlight,
    ".svmlight": read_svmlight,
    ".svm": read_svmlight,
}
