"""Where chunks come from: files of Arrow's formats, arrays, and functions that return iterables.

A source reads its rows again on every pass. The next chunk is read while the current one is worked on.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import narwhals.stable.v2 as nw
import numpy as np

from fivefold.core.chunks.shards import Shards
from fivefold.core.types import Table

T = TypeVar("T")
COPIES = 16  # of a chunk in memory at a time: as read, as columns, as a matrix, read ahead, freed but not returned
MIN_CHUNK_ROWS = 1000  # rows per chunk, at least, however wide the table
MAX_CHUNK_ROWS = 1_000_000  # rows per chunk, at most: larger ones are no faster
TEXT_BYTES = 64  # assumed for a value of text
READ_BUFFER_BYTES = 1 << 20  # of a Parquet file that are read at a time, per column

# What stands beside a table: the name of one of its columns, an array, chunks of its own, or nothing.
Side: TypeAlias = Any
Task: TypeAlias = Callable[..., T]  # (place, number of the chunk, table, y, w, and what `extra` gives for it)


class ChunkSource(ABC):
    """Chunks of a table, the same on every pass."""

    max_bytes: int = 512 << 20  # of rows that may be in memory at a time

    @property
    def schema(self) -> dict[str, bool] | None:
        """The columns, and whether each holds numbers, where that is known without reading."""
        return None

    @property
    def lengths(self) -> tuple[int, ...] | None:
        """The numbers of rows, where they are known without reading."""
        return None

    def place(self, i: int) -> str:
        """Chunk i, in the words of a message."""
        return f"chunk {i}"

    @abstractmethod
    def map(
        self,
        task: Task[T],
        y: Side = None,
        w: Side = None,
        *,
        columns: Sequence[str] | None = None,
        extra: Callable[[int], Any] | None = None,
        first: bool = False,
    ) -> Iterator[T]:
        """task(place, i, table, y, w) of each chunk, in order, or of the first one only.

        `columns` are those that are needed, all by default. `extra(i)` is one more argument of the task.
        """

    def shards(
        self, task: Task[Any], make: Callable[[list[Any]], Any], y: Side, w: Side, extra: Callable[[int], Any] | None
    ) -> Shards | None:
        """States made of the last entries of what the task gives, by workers that keep them; None without workers."""
        return None


class LocalSource(ChunkSource):
    """Chunks that this process reads."""

    @abstractmethod
    def read(self, columns: Sequence[str] | None) -> Iterator[Table]:
        """The chunks, one after the other."""

    def map(
        self,
        task: Task[T],
        y: Side = None,
        w: Side = None,
        *,
        columns: Sequence[str] | None = None,
        extra: Callable[[int], Any] | None = None,
        first: bool = False,
    ) -> Iterator[T]:
        sides, start = (_Beside("y", y), _Beside("sample_weight", w)), 0
        for i, table in enumerate(read_ahead(self.read(columns))):
            stop = start + table.shape[0]
            more = () if extra is None else (extra(i),)
            yield task(self.place(i), i, table, *(side.part(i, start, stop) for side in sides), *more)
            start = stop
            if first:
                return
        for side in sides:
            side.end(start)


@dataclass(frozen=True)
class ArraySource(LocalSource):
    """Runs of rows of an array, for example one that is mapped from a file."""

    array: Any
    max_bytes: int

    @property
    def lengths(self) -> tuple[int, ...]:
        n, step = len(self.array), self._step
        return tuple(min(step, n - lo) for lo in range(0, n, step))

    @property
    def _step(self) -> int:
        return chunk_rows(8 * (self.array.size // max(len(self.array), 1)), self.max_bytes)

    def place(self, i: int) -> str:
        return f"chunk {i} (from row {i * self._step})"

    def read(self, columns: Sequence[str] | None) -> Iterator[Table]:
        for lo in range(0, len(self.array), self._step):
            yield np.array(self.array[lo : lo + self._step])  # read here, in the thread that reads ahead


@dataclass(eq=False)
class IterableSource(LocalSource):
    """The tables of an iterable, which a function returns anew for every pass."""

    make: Callable[[], Iterable[Table]]
    max_bytes: int
    _last: Any = None  # what the function returned for the pass before

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy has read nothing yet; iterators cannot be sent."""
        return IterableSource, (self.make, self.max_bytes)

    def read(self, columns: Sequence[str] | None) -> Iterator[Table]:
        for table in self._tables():
            if not hasattr(table, "shape"):
                table = np.asarray(table)
            yield table

    def _tables(self) -> Iterable[Table]:
        made: Any = self.make()
        if isinstance(made, Iterator) and made is self._last:
            raise ValueError(
                "Chunks: the function returned the same iterator again, of which tables have been read already; make a "
                "new one in every call"
            )
        self._last = made
        is_table = nw.dependencies.is_into_dataframe(made) or (isinstance(made, np.ndarray) and made.ndim < 3)
        if is_table or not isinstance(made, Iterable):
            what = "one table" if is_table else f"{type(made).__name__}, no tables"
            raise TypeError(
                f"Chunks: the function returned {what}: it has to return a list of tables, or to yield them one after "
                "the other"
            )
        return made


class ArrowSource(LocalSource):
    """The rows of an Arrow data set: Parquet, Feather or CSV files, in the order of their names."""

    def __init__(self, dataset: Any, max_bytes: int, columns: Sequence[str] | None = None) -> None:
        self.dataset, self.max_bytes, self.takes_all = dataset, max_bytes, columns is None
        self.names = _without_index(dataset.schema.names) if columns is None else list(columns)
        if absent := set(self.names) - set(dataset.schema.names):
            raise ValueError(f"the data set has no column {sorted(absent)[0]!r}; it has {dataset.schema.names}")
        self._places: list[str] = []

    @property
    def schema(self) -> dict[str, bool]:
        from pyarrow import types

        def is_number(kind: Any) -> bool:
            return bool(types.is_integer(kind) or types.is_floating(kind))

        return {name: is_number(self.dataset.schema.field(name).type) for name in self.names}

    def count_rows(self) -> int:
        """The number of rows, which Parquet files tell without being read."""
        total = 0
        for fragment, name in self._files():
            with errors_of(name):
                total += fragment.count_rows()
        return total

    def _files(self) -> Iterator[tuple[Any, str]]:
        for fragment in sorted(self.dataset.get_fragments(), key=lambda f: getattr(f, "path", "")):
            yield fragment, str(getattr(fragment, "path", "in memory")).rpartition("/")[2]

    def place(self, i: int) -> str:
        return self._places[i] if i < len(self._places) else f"chunk {i}"

    def read(self, columns: Sequence[str] | None) -> Iterator[Table]:
        row_bytes = sum(8 if number else TEXT_BYTES for number in self.schema.values())
        rows, i = chunk_rows(row_bytes, self.max_bytes), 0
        wanted = self.names if columns is None else columns
        for fragment, name in self._files():
            with errors_of(name):
                self._check_columns(fragment, name, wanted, whole=columns is None and self.takes_all)
                for table in _tables_of(self._batches(fragment, rows, wanted), rows):
                    if i == len(self._places):
                        self._places.append(f"chunk {i} ({name})")
                    yield table
                    i += 1

    def _check_columns(self, fragment: Any, name: str, wanted: Iterable[str], *, whole: bool) -> None:
        """Refuse a file with other columns than the first one, which Arrow would fill with nulls or leave out."""
        from pyarrow.dataset import get_partition_keys

        own = fragment.physical_schema.names
        if absent := set(wanted) - {*own, *get_partition_keys(fragment.partition_expression)}:
            raise ValueError(
                f"{name} has no column {min(absent)!r}, but the first file has one: give columns=[...] with those that "
                "all files have"
            )
        if whole and (more := set(_without_index(own)) - set(self.dataset.schema.names)):
            raise ValueError(
                f"{name} has a column {min(more)!r}, but the first file has none: give columns=[...] with those that "
                "all files have"
            )

    def _batches(self, fragment: Any, rows: int, names: Sequence[str]) -> Iterator[Any]:
        names = list(names)
        format = getattr(fragment, "format", None)
        if getattr(format, "default_extname", "") == "parquet" and set(names) <= set(fragment.physical_schema.names):
            from pyarrow.parquet import ParquetFile

            with fragment.filesystem.open_input_file(fragment.path) as opened:
                file = ParquetFile(opened, buffer_size=READ_BUFFER_BYTES)
                for batch in file.iter_batches(batch_size=rows, columns=names, use_threads=False):
                    yield batch.select(names)  # which came in the order of the file
            return
        yield from fragment.to_batches(
            schema=self.dataset.schema, columns=names, batch_size=rows, batch_readahead=1, fragment_readahead=1
        )


def _without_index(names: Iterable[str]) -> list[str]:
    """The columns without the one that pandas writes for an index without a name."""
    return [name for name in names if not re.fullmatch(r"__index_level_\d+__", name)]


@contextmanager
def errors_of(name: str) -> Iterator[None]:
    """An error of Arrow says which file it is about."""
    from pyarrow import ArrowException

    try:
        yield
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{name} cannot be read: it is not there any more") from error
    except OSError as error:
        raise OSError(f"{name} cannot be read: {_reason(error)}") from error
    except (KeyError, ArrowException) as error:  # KeyError: a column that was there is gone
        raise ValueError(
            f"{name} cannot be read: {_reason(error)}. Write it again, or take it out of the table"
        ) from error


def _reason(error: Exception) -> str:
    """What Arrow found, without the calls and the path that stand before it."""
    return str(error).rpartition("': ")[2].removeprefix("Invalid: ").rstrip(".")


def _tables_of(batches: Iterable[Any], rows: int) -> Iterator[Table]:
    """Batches of any length as tables of this many rows, and a last one of what is left: whatever columns are read."""
    import pyarrow as pa

    held: list[Any] = []
    for batch in batches:
        while batch.num_rows:
            room = rows - sum(b.num_rows for b in held)
            held.append(batch.slice(0, room))
            batch = batch.slice(room) if batch.num_rows > room else batch.slice(0, 0)
            if sum(b.num_rows for b in held) == rows:
                yield pa.Table.from_batches(held).combine_chunks()
                held = []
    if held:
        yield pa.Table.from_batches(held).combine_chunks()


class _Beside:
    """What stands beside the chunks of a table, cut like them."""

    def __init__(self, name: str, given: Side) -> None:
        self.name, self.given = name, given
        self.chunks = read_ahead(given.read(None)) if isinstance(given, LocalSource) else None

    def part(self, i: int, start: int, stop: int) -> Any:
        """What belongs to rows start..stop."""
        if self.given is None or isinstance(self.given, str):
            return self.given
        if self.chunks is None:
            part = self.given[start:stop]
        else:
            part = next(self.chunks, np.empty(0))
            part = single_column(part)
        if len(part) != stop - start:
            raise ValueError(
                f"chunk {i} of X has {stop - start} rows, but {self.name} has {len(part)} for it: give chunks of the "
                f"same lengths, or an array with one entry per row"
            )
        return part

    def end(self, rows: int) -> None:
        """Refuse more entries than there were rows."""
        if self.given is None or isinstance(self.given, str):
            return
        more = next(self.chunks, None) is not None if self.chunks is not None else len(self.given) != rows
        if more:
            raise ValueError(f"X has {rows} rows in its chunks, but {self.name} has more: give one entry per row")


def single_column(table: Any) -> Any:
    """A chunk of targets or weights: the column of a frame that has one, anything else unchanged."""
    if nw.dependencies.is_into_dataframe(table):
        frame = nw.from_native(table, eager_only=True)
        return frame[frame.columns[0]].to_numpy() if len(frame.columns) == 1 else frame.to_numpy()
    return table


def chunk_rows(row_bytes: int, max_bytes: int) -> int:
    """How many rows a chunk may have."""
    return int(min(max(max_bytes // (COPIES * max(row_bytes, 1)), MIN_CHUNK_ROWS), MAX_CHUNK_ROWS))


def read_ahead(chunks: Iterator[Table]) -> Iterator[Table]:
    """The same chunks; the next one is read while the caller works on the present one."""
    end = object()
    with ThreadPoolExecutor(1, thread_name_prefix="fivefold-read") as pool:
        ahead = pool.submit(next, chunks, end)
        while (chunk := ahead.result()) is not end:
            ahead = pool.submit(next, chunks, end)
            yield chunk
