"""`fivefold.data.Chunks`: a table that is read chunk by chunk, as users make it."""

from __future__ import annotations

import math
import re
from collections.abc import Generator, Iterable, Iterator
from numbers import Real
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from sklearn.utils.random import sample_without_replacement

from fivefold.core.chunks.dask_source import DaskSource, is_dask
from fivefold.core.chunks.sources import ArraySource, ArrowSource, ChunkSource, IterableSource, errors_of
from fivefold.core.random_state import check_random_state
from fivefold.core.types import Rng, Table, UserTable

UNITS = {"B": 1, "KB": 1000, "MB": 1000**2, "GB": 1000**3, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30}
MIN_MEMORY_BYTES = 1 << 20  # less than this leaves no room for a chunk
ARROW_FORMATS = {"parquet": "parquet", "pq": "parquet", "feather": "feather", "arrow": "feather", "csv": "csv"}

ChunkInput: TypeAlias = Any  # a path, an Arrow data set, an array, a list of tables, or a function that returns tables


class Chunks:
    """A table that is larger than memory: read again, chunk by chunk, on every pass of a fit.

    Parameters
    ----------
    source
        a Parquet, Feather, CSV or .npy file, or a folder of Parquet files; an Arrow data set; an array, for example
        one of `numpy.memmap`; a list of tables; or a function without arguments that returns an iterable of tables,
        the same ones on every call.
    memory
        how many bytes of rows, with all their copies, may be in memory at a time: a number, or text such as "512 MB".
    columns
        the columns to read from files, all by default.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.data import Chunks
    >>> from fivefold.naive_bayes import GaussianNB
    >>> def days():
    ...     for day in range(3):
    ...         yield np.arange(8.0).reshape(4, 2) + day / 10
    >>> table = Chunks(days)
    >>> model = GaussianNB().fit(table, [0, 0, 1, 1] * 3)
    >>> model.predict(table)
    array([0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1])
    """

    def __init__(
        self, source: ChunkInput, *, memory: int | str = "512 MB", columns: Iterable[str] | None = None
    ) -> None:
        self.memory = _bytes(memory)
        if isinstance(columns, str):
            raise TypeError(f"Chunks: columns is a list of names; got {columns!r}: give columns=[{columns!r}]")
        self._source = self._made(source, None if columns is None else list(columns))

    def __iter__(self) -> Iterator[Table]:
        """One pass over the chunks, as they are read."""
        return self._source.map(lambda place, i, table, y, w: table)

    def __repr__(self) -> str:
        kind = type(self._source).__name__.removesuffix("Source").lower()
        return f"Chunks(<{kind}>, memory={self.memory})"

    def __len__(self) -> int:
        """The number of rows; counted in a pass where the source does not know it."""
        known = self._source.lengths
        return sum(known) if known is not None else sum(table.shape[0] for table in self)

    def sample(self, rows: int, random_state: Rng | int | None = None) -> Table:
        """So many rows drawn at random from all chunks, or all rows, as one table of the kind of the chunks."""
        n = len(self)
        if n == 0 or rows < 1:
            raise ValueError(f"Chunks: a sample has at least one row; asked for {rows} of {n}")
        # its memory is that of the sample, where a permutation has a number for every row
        kept = np.sort(sample_without_replacement(n, min(rows, n), random_state=check_random_state(random_state)))
        parts, start = [], 0
        for table in self:
            stop = start + table.shape[0]
            those = kept[np.searchsorted(kept, start) : np.searchsorted(kept, stop)] - start
            if len(those):
                parts.append(_taken(table, those))
            start = stop
        return _concatenated(parts)

    def _made(self, source: ChunkInput, columns: list[str] | None) -> ChunkSource:
        has_columns = isinstance(source, str | Path) or type(source).__module__.startswith("pyarrow")
        if columns is not None and not has_columns:
            raise ValueError(
                f"Chunks: columns= chooses columns of files and Arrow data sets; a source of type "
                f"{type(source).__name__} has to give the columns that are wanted"
            )
        if isinstance(source, Chunks):
            return source._source
        if isinstance(source, str | Path):
            return self._file(Path(source), columns)
        if isinstance(source, np.ndarray):
            if not source.ndim:
                raise ValueError("Chunks: the array has no rows: it is a single value")
            return ArraySource(source, self.memory)
        if is_dask(source):
            return DaskSource(source)
        if type(source).__module__.startswith("pyarrow"):
            return _arrow(source, self.memory, columns)
        if isinstance(source, Generator) or (isinstance(source, Iterator) and iter(source) is source):
            raise TypeError(
                "Chunks: a generator can be read once only, and a fit may need several passes. Give a function that "
                "returns it: Chunks(lambda: read_tables())"
            )
        if callable(source):
            return IterableSource(source, self.memory)
        if isinstance(source, list | tuple):
            tables = list(source)
            return IterableSource(lambda: tables, self.memory)
        raise TypeError(
            f"Chunks: {type(source).__name__} is no source of chunks; give a path, an Arrow data set, an array, a list "
            "of tables, or a function that returns an iterable of tables"
        )

    def _file(self, path: Path, columns: list[str] | None) -> ChunkSource:
        if not path.exists():
            raise FileNotFoundError(f"Chunks: there is no file or folder {str(path)!r}")
        if path.suffix == ".npy":
            return ArraySource(_mapped(path), self.memory)
        ending = path.suffix.removeprefix(".").lower() if path.is_file() else "parquet"
        if ending not in ARROW_FORMATS:
            raise ValueError(f"Chunks: {path.name!r} is none of {', '.join(sorted(ARROW_FORMATS))}, npy, or a folder")
        datasets = _pyarrow()
        with errors_of(path.name):
            dataset = datasets.dataset(path, format=ARROW_FORMATS[ending])
        if not dataset.files:
            raise ValueError(f"Chunks: the folder {str(path)!r} holds no Parquet file")
        return ArrowSource(dataset, self.memory, columns)


def source_of(X: UserTable) -> ChunkSource | None:
    """The source of a table in chunks: that of Chunks, or a Dask array or data frame; None for any other table."""
    if isinstance(X, Chunks):
        return X._source
    return DaskSource(X) if is_dask(X) else None


def _pyarrow() -> Any:
    try:
        import pyarrow.dataset
    except ImportError as error:
        raise ImportError("Chunks of Parquet files need pyarrow: pip install pyarrow") from error
    return pyarrow.dataset


def _arrow(source: Any, memory: int, columns: list[str] | None) -> ChunkSource:
    datasets = _pyarrow()
    return ArrowSource(source if isinstance(source, datasets.Dataset) else datasets.dataset(source), memory, columns)


def _mapped(path: Path) -> np.ndarray[Any, Any]:
    """The array of a .npy file, mapped into memory."""
    try:
        found: np.ndarray[Any, Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(
            f"{path.name} cannot be read: it is no array of numbers as numpy.save writes one, or a damaged one. "
            "Save it again"
        ) from error
    return found


def _bytes(given: int | str) -> int:
    """A number of bytes from 1000 or "512 MB"."""
    found = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([KMG]?i?B)?\s*", str(given), flags=re.IGNORECASE)
    if not (isinstance(given, str) and found) and not (isinstance(given, Real) and math.isfinite(given)):
        raise ValueError(f"Chunks: memory must be a number of bytes, or text such as '512 MB'; got {given!r}")
    if isinstance(given, str) and found:
        given = int(float(found[1]) * UNITS[(found[2] or "B").upper()])
    if given < MIN_MEMORY_BYTES:
        raise ValueError(f"Chunks: memory must be at least {MIN_MEMORY_BYTES} bytes; got {given}")
    return int(given)


def _taken(table: Table, rows: np.ndarray[Any, Any]) -> Table:
    if isinstance(table, np.ndarray):
        return table[rows]
    return table.take(rows) if hasattr(table, "take") else table[rows]


def _concatenated(parts: list[Table]) -> Table:
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    import narwhals.stable.v2 as nw

    return nw.to_native(nw.concat([nw.from_native(part, eager_only=True) for part in parts]))
