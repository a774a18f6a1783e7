"""Arrays that are never whole in memory: every pass reads their rows again, chunk by chunk.

    X, y, w = ...                                       three ChunkedArrays of the same RowChunks
    sum_over_chunks(family.stats, X, GroupWeights(y, w, K))

One pass calls `stats` once per chunk, with the rows of that chunk in place of every ChunkedArray among the arguments,
and adds the results in the order of the rows: which worker computed what changes nothing. A method needs nothing else;
it runs on one machine or on a cluster, as the source of the chunks decides.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import reduce
from itertools import chain, pairwise
from operator import add
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from scipy.sparse import issparse

from fivefold.core.chunks.shards import Shards
from fivefold.core.chunks.sources import ChunkSource, Side
from fivefold.core.numerics.arrays import is_tensor
from fivefold.core.numerics.tensors import weight_by_code
from fivefold.core.types import Array, Doubles, Indices, Mask, Table

ODD_FACTOR = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio: multiples of it have no small differences
ROW_ARRAYS = 32  # arrays with an entry per row that may be in memory together with a chunk: larger ones are mapped
_FIELD_NAMES: dict[type, tuple[str, ...]] = {}  # by type, as objectives ask at every step; none if no data class

T = TypeVar("T")
S = TypeVar("S")  # statistics, which can be merged


class Rows(NamedTuple):
    """The admitted rows of one chunk; `start` is the number of rows in the chunks before it."""

    X: Any
    y: Any
    w: Any
    start: int


@dataclass(frozen=True)
class RowChunks:
    """Rows with their targets and weights, admitted anew on every pass.

    `admit(where, table, y, w)` gives the Rows of a chunk. It has to be a value that can be sent to a worker.
    """

    source: ChunkSource
    y: Side
    w: Side
    admit: Callable[..., Rows]
    lengths: tuple[int, ...]  # rows of each chunk
    starts: tuple[int, ...]  # rows of positive weight before each chunk, and in all
    checksums: dict[int, int]  # of the chunks that were read before
    kept: Mask | None = None  # one entry per row of positive weight: is it among these rows? None for all
    class_rows: Doubles | None = None  # rows of each class, and their weight, where y holds codes of classes
    class_weight: Doubles | None = None

    @property
    def n(self) -> int:
        return self.starts[-1] if self.kept is None else int(np.count_nonzero(self.kept))

    def map(self, work: Callable[[Rows], T], *, first: bool = False) -> Iterator[T]:
        """work(rows) of each chunk, in order: one pass over the source; or of the first chunk only."""
        given = self.source.map(self._task(work), self.y, self.w, extra=self._places(), first=first)
        read = 0
        for i, (length, checksum, found) in enumerate(given):
            if i >= len(self.lengths) or length != self.lengths[i] or self._changed(i, checksum):
                raise self._changed_error(i)
            read += 1
            if found is not None:
                yield found
        if read < len(self.lengths) and not first:
            raise self._changed_error(read)

    def shards(self, part: Callable[[Rows], T], make: Callable[[list[T]], Any]) -> Shards | None:
        """States that workers keep, each made of part(rows) of some chunks; None if this process does all the work."""
        found = self.source.shards(self._task(part), make, self.y, self.w, self._places())
        for i, (length, checksum) in enumerate(found.heads if found is not None else ()):
            if length != self.lengths[i] or self._changed(i, checksum):
                raise self._changed_error(i)
        return found

    def _task(self, work: Callable[[Rows], T]) -> Callable[..., tuple[int, int, T | None]]:
        admit = self.admit

        def task(
            where: str, i: int, table: Table, y: object, w: object, place: tuple[int, Mask | None]
        ) -> tuple[int, int, T | None]:
            start, mask = place
            rows = admit(where, table, y, w)._replace(start=start)
            checksum = _checksum(rows)
            if mask is not None and len(mask) == len(rows.w):
                X, t, v = (None if a is None else a[mask] for a in rows[:3])
                rows = Rows(X, t, v, start)
            return table.shape[0], checksum, work(rows) if len(rows.w) else None

        return task

    def _places(self) -> Callable[[int], tuple[int, Mask | None]]:
        """For chunk i, its first row among the rows that are kept, and which rows are; -1 beyond the chunks."""
        starts, kept = self.starts, self.kept
        masks = None if kept is None else [kept[lo:hi] for lo, hi in pairwise(starts)]
        if masks is not None:
            starts = tuple(np.cumsum([0, *(np.count_nonzero(mask) for mask in masks)]).tolist())

        def place(i: int) -> tuple[int, Mask | None]:
            if i + 1 >= len(starts):
                return -1, None
            return starts[i], None if masks is None else masks[i]

        return place

    def _changed(self, i: int, checksum: int) -> bool:
        return self.checksums.setdefault(i, checksum) != checksum

    def _changed_error(self, i: int) -> ValueError:
        return ValueError(
            f"{self.source.place(i)} is not what it was in an earlier pass over the data: the file, or what is read "
            "from it, changes while the model is fitted. Fit to a copy that stays as it is"
        )


def pick_X(rows: Rows) -> Table:
    """The table."""
    return rows.X


def pick_y(rows: Rows) -> Any:
    """The targets."""
    return rows.y


def pick_w(rows: Rows) -> Doubles:
    """The weights."""
    weights: Doubles = rows.w
    return weights


class ChunkedArray(NDArrayOperatorsMixin):
    """One number, or one row of numbers, for each row of a RowChunks.

    Arithmetic and `map` give further ones, which are computed when a pass reads their rows. `example` is the array of
    one row, for the type and the shape.
    """

    def __init__(
        self,
        rows: RowChunks | None,
        pick: Callable[[Rows], Any],
        example: np.ndarray[Any, Any],
        *,
        total: Any = None,
        ones: bool = False,
    ) -> None:
        self.rows, self.pick, self.example = rows, pick, example
        self.ones = ones  # is every entry known to be one?
        self._total = total  # the sum of all entries, where it is known

    def __reduce__(self) -> tuple[Any, ...]:
        """A worker gets the rule alone, not the source."""
        return ChunkedArray, (None, self.pick, self.example)

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self), *self.example.shape[1:])

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.example.dtype

    @property
    def ndim(self) -> int:
        return self.example.ndim

    def __len__(self) -> int:
        return self._source().n

    def map(self, rule: Callable[[Any], Any]) -> ChunkedArray:
        """rule(rows) of each chunk, where the rule gives one entry or row for each row."""
        pick = self.pick
        return ChunkedArray(self.rows, lambda rows: rule(pick(rows)), rule(self.example))

    def reshape(self, n: int, *shape: int) -> ChunkedArray:
        return self.map(lambda a: a.reshape(len(a), *shape))

    def astype(self, dtype: Any, copy: bool = True) -> ChunkedArray:
        return self if self.dtype == dtype and not copy else self.map(lambda a: a.astype(dtype, copy=copy))

    def __getitem__(self, key: Any) -> Any:
        """Columns `a[:, key]` of all rows; single rows are gathered by `gathered_rows`."""
        if not (isinstance(key, tuple) and key and key[0] == slice(None)):
            raise TypeError("a ChunkedArray has no single rows: sum over its chunks, or gather rows from all of them")
        return self.map(lambda a: a[key])

    def sum(self, axis: int | None = None) -> Any:
        """The sum of all entries, or of each column."""
        if self._total is None:
            self._total = sum_over_chunks(lambda a: a.sum(axis=axis), self)
        return self._total

    def head(self, rows: int) -> Any:
        """At most this many rows from the start of the first chunk that has any."""

        def start(found: Rows) -> Any:
            return self.pick(found)[:rows].copy()

        source = self._source()
        first = next(source.map(start, first=True), None)
        return first if first is not None else next(source.map(start))  # no row of the first chunk may count

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or "out" in options:
            return NotImplemented
        rows = next(a.rows for a in inputs if isinstance(a, ChunkedArray))
        example = ufunc(*(a.example if isinstance(a, ChunkedArray) else a for a in inputs), **options)
        return ChunkedArray(rows, lambda found: ufunc(*(rows_of(a, found) for a in inputs), **options), example)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise TypeError("a table in chunks is not read into memory at once; sum over its chunks")

    def _source(self) -> RowChunks:
        if self.rows is None:
            raise TypeError("a ChunkedArray that was sent to a worker has no rows of its own")
        return self.rows


def is_chunked(a: object) -> bool:
    """Is it read chunk by chunk? A dataclass is if one of its fields is."""
    return _source_of(a) is not None


def rows_of(a: Any, rows: Rows) -> Any:
    """The argument as it is for the rows of one chunk: every ChunkedArray in it replaced by its rows."""
    if isinstance(a, ChunkedArray):
        return a.pick(rows)
    if is_dataclass(a) and not isinstance(a, type):
        here = {f.name: (v, rows_of(v, rows)) for f in fields(a) if (v := getattr(a, f.name, None)) is not None}
        changed = {name: new for name, (old, new) in here.items() if new is not old}
        return replace(a, **changed) if changed else a
    return a


def sum_over_chunks(stats: Callable[..., S], *arguments: Any, merge: Callable[[S, S], S] = add) -> S:
    """stats(*arguments), merged over the chunks of the arguments; one call where none of them is chunked.

    >>> sum_over_chunks(lambda X, R: R.T @ X, np.ones((15, 2)), np.ones((15, 1)))
    array([[15., 15.]])
    """
    return reduce(merge, map_chunks(stats, *arguments))


def map_chunks(work: Callable[..., T], *arguments: Any) -> Iterable[T]:
    """work(*arguments) of each chunk, in order."""
    source = next((s for a in arguments if (s := _source_of(a)) is not None), None)
    if source is None:
        return [work(*arguments)]
    return source.map(lambda rows: work(*(rows_of(a, rows) for a in arguments)))


def sum_pairs(one: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[Any, ...]:
    """Tuples added entry by entry: a rule to merge statistics."""
    return tuple(a + b for a, b in zip(one, other, strict=True))


def every_row(*arrays: Any) -> tuple[np.ndarray[Any, Any], ...]:
    """All rows of each array, in one pass; in files that are mapped into memory if they are large."""
    source = arrays[0]._source()
    found = [mapped_array(a.shape, a.dtype, row_bytes_limit(a)) for a in arrays]
    for start, parts in source.map(lambda rows: (rows.start, [a.pick(rows) for a in arrays])):
        for out, part in zip(found, parts, strict=True):
            out[start : start + len(part)] = part
    return tuple(found)


def row_bytes_limit(a: Any) -> int:
    """How many bytes an array with an entry per row may have before it is mapped from a file."""
    return int(a._source().source.max_bytes // ROW_ARRAYS)


def subset(a: Any, kept: Mask) -> ChunkedArray:
    """The rows of a ChunkedArray for which the mask is true."""
    return ChunkedArray(replace(a._source(), kept=kept, class_rows=None, class_weight=None), a.pick, a.example)


def rows_at(a: Any, places: Indices) -> np.ndarray[Any, Any]:
    """The rows with these numbers, which increase: one pass."""

    def some(rows: Rows) -> np.ndarray[Any, Any]:
        here = a.pick(rows)
        lo, hi = np.searchsorted(places, [rows.start, rows.start + len(rows.w)])
        return here[places[lo:hi] - rows.start]

    return np.concatenate(list(a._source().map(some)))


def joined(parts: Iterable[np.ndarray[Any, Any]], max_bytes: int) -> np.ndarray[Any, Any]:
    """Parts one after the other; in a temporary file, mapped into memory, if they have more bytes than this."""
    held: list[np.ndarray[Any, Any]] = []
    parts, size = iter(parts), 0
    for part in parts:
        held.append(part)
        size += part.nbytes
        if size > max_bytes and not part.dtype.hasobject:
            return _joined_in_file(chain(held, parts))
    return np.concatenate(held)


def _joined_in_file(parts: Iterable[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    with tempfile.TemporaryFile(prefix="fivefold-") as file:
        n = 0
        for part in parts:
            file.write(np.ascontiguousarray(part).data)
            n += len(part)
        file.flush()
        return np.memmap(file, dtype=part.dtype, mode="r+", shape=(n, *part.shape[1:]))


def mapped_array(shape: tuple[int, ...], dtype: Any, max_bytes: int) -> np.ndarray[Any, Any]:
    """An uninitialised array; in a temporary file, which the system may write out, if it has more bytes than this."""
    kind = np.dtype(dtype)
    if kind.hasobject or int(np.prod(shape)) * kind.itemsize <= max_bytes:
        return np.empty(shape, kind)
    with tempfile.TemporaryFile(prefix="fivefold-") as file:
        return np.asarray(np.memmap(file, dtype=kind, mode="w+", shape=shape))


def per_row(rule: Callable[[Any], Any], a: Any) -> Any:
    """rule(a), where the rule gives one entry or row for each row of a."""
    return a.map(rule) if isinstance(a, ChunkedArray) else rule(a)


def weighted_mean(y: Any, w: Any) -> float:
    """The weighted mean of one number per row."""
    if not is_chunked(y):
        return float(w @ y) / float(w.sum()) if is_tensor(y) else float(np.average(y, weights=w))
    total, weight = sum_over_chunks(lambda y, w: (float(w @ y), float(w.sum())), y, w, merge=sum_pairs)
    return float(total / weight)


def class_totals(y: Any, w: Any, K: int) -> Doubles:
    """The weight of the rows of each of K classes, by their codes y; without w, their number."""
    if isinstance(y, ChunkedArray) and y.rows is not None and y.pick is pick_y and (w is None or w.pick is pick_w):
        known = y.rows.class_rows if w is None else y.rows.class_weight
        if known is not None:
            return known
    return sum_over_chunks(lambda y, w: weight_by_code(y, w, K), y, w)


def gathered_rows(stride: int, *arrays: Any) -> tuple[Array, ...]:
    """Every stride-th row of each array, in one pass."""
    first = arrays[0]._source()

    def some(rows: Rows) -> tuple[Array, ...]:
        return tuple(np.ascontiguousarray(a.pick(rows)[-rows.start % stride :: stride]) for a in arrays)

    return tuple(np.concatenate(parts) for parts in zip(*first.map(some), strict=True))


def uniform_by_row(seed: int, start: int, count: int) -> Doubles:
    """Random numbers between 0 and 1 for rows start, start + 1, ...: how the rows are cut into chunks changes none."""
    bits = np.random.Philox(key=seed)
    bits.advance(start // 4)  # a step of the counter gives four numbers
    return np.random.Generator(bits).random(start % 4 + count)[start % 4 :]


def _source_of(a: object) -> RowChunks | None:
    if isinstance(a, ChunkedArray):
        return a.rows
    kind = type(a)
    if kind not in _FIELD_NAMES:
        _FIELD_NAMES[kind] = tuple(f.name for f in fields(kind)) if is_dataclass(kind) else ()
    for name in _FIELD_NAMES[kind]:
        if (found := _source_of(getattr(a, name, None))) is not None:
            return found
    return None


def _checksum(rows: Rows) -> int:
    """A number that other content, or the same rows in another order, would change."""
    total = 0
    for a in (rows.X, rows.y, rows.w):
        a = a.data if issparse(a) else a
        if isinstance(a, np.ndarray) and a.dtype.kind in "iuf" and a.size:
            total = total * 31 + _bit_sum(a)
    return total % 2**64


def _bit_sum(a: np.ndarray[Any, Any]) -> int:
    """The bit patterns of all numbers, added with a factor for the column and one for the row, modulo 2^64.

    All factors are odd, so that no change of a single number is lost.
    """
    bits = np.ascontiguousarray(a).reshape(len(a), -1)
    words = bits.shape[1] * bits.itemsize % 8 == 0  # single precision in pairs
    bits = bits.view(np.uint64 if words else f"u{bits.itemsize}")
    columns = np.arange(bits.shape[1], dtype=np.uint64) * np.uint64(ODD_FACTOR - 1) + np.uint64(1)
    of_rows = bits @ columns
    of_rows ^= of_rows >> np.uint64(32)  # whole numbers have zeros below
    return int(of_rows @ np.arange(1, 2 * len(a), 2, dtype=np.uint64))
