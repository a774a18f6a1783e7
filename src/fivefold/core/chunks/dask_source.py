"""Chunks that Dask holds: a task per chunk, on the worker that has it. Only this file and dask_shards.py know Dask.

Only sums are sent. A worker that is lost is replaced by Dask, which reads and sums its chunks again elsewhere.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias, TypeVar

import numpy as np

from fivefold.core.chunks.dask_shards import DaskShards
from fivefold.core.chunks.sources import ChunkSource, LocalSource, Side, Task, single_column
from fivefold.core.types import Array, Table

T = TypeVar("T")
DaskTable: TypeAlias = Any  # an array or a data frame of Dask; it has no types


def is_dask(X: object) -> bool:
    """Is it an array, a data frame or a series of Dask? Asks without importing Dask."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(X, "dask")


def _is_array(X: DaskTable) -> bool:
    arrays = sys.modules.get("dask.array")
    return arrays is not None and isinstance(X, arrays.Array)


class DaskSource(ChunkSource):
    """The chunks of a Dask array, or the partitions of a Dask data frame."""

    def __init__(self, table: DaskTable) -> None:
        if not _is_array(table) and type(table).__name__ != "DataFrame":
            raise TypeError(
                f"X must be an array or a data frame of Dask; got its {type(table).__name__}: a column of a frame is a "
                "table as frame[['column']], and other things become arrays by dask.array.from_delayed"
            )
        if _is_array(table):
            if table.ndim != 2:
                raise ValueError(f"X must be a table (rows, columns); the Dask array has shape {table.shape}")
            table = table.rechunk({1: -1})
            if np.isnan(table.shape[0]):
                raise ValueError(
                    "the Dask array does not know the lengths of its chunks; call X.compute_chunk_sizes() first"
                )
        self.table = table
        self._lengths: tuple[int, ...] | None = tuple(table.chunks[0]) if _is_array(table) else None

    @property
    def schema(self) -> dict[str, bool] | None:
        if _is_array(self.table):
            return None
        from pandas.api.types import is_bool_dtype, is_numeric_dtype

        kinds = self.table.dtypes.items()
        return {str(name): bool(is_numeric_dtype(kind) or is_bool_dtype(kind)) for name, kind in kinds}

    def columns(self, names: Sequence[str] | None) -> DaskTable:
        """The frame with these columns only, which the frame itself may name by numbers; None for all."""
        if names is None:
            return self.table
        own = {str(name): name for name in self.table.columns}
        return self.table[[own[name] for name in names]]

    @property
    def lengths(self) -> tuple[int, ...]:
        if self._lengths is None:
            self._lengths = tuple(int(n) for n in self.table.map_partitions(len).compute())
        return self._lengths

    def place(self, i: int) -> str:
        return f"{'chunk' if _is_array(self.table) else 'partition'} {i}"

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
        from dask.base import compute

        yield from compute(*self._tasks(task, self.columns(columns), y, w, extra, 1 if first else None))

    def shards(
        self, task: Task[Any], make: Callable[[list[Any]], Any], y: Side, w: Side, extra: Callable[[int], Any] | None
    ) -> DaskShards | None:
        client = _cluster()
        return None if client is None else DaskShards(client, self._tasks(task, self.table, y, w, extra), make)

    def _tasks(
        self,
        task: Task[Any],
        table: DaskTable,
        y: Side,
        w: Side,
        extra: Callable[[int], Any] | None,
        count: int | None = None,
    ) -> list[Any]:
        """The task of each of the first chunks, delayed."""
        from dask.delayed import delayed

        beside = [self._cut(name, side) for name, side in (("y", y), ("sample_weight", w))]
        blocks = _delayed(table)[:count]
        beside += [] if extra is None else [[extra(i) for i in range(len(blocks))]]
        run = delayed(task, pure=False, traverse=False)
        return [run(self.place(i), i, b, *(side[i] for side in beside)) for i, b in enumerate(blocks)]

    def _cut(self, name: str, side: Side) -> Sequence[Any]:
        """What stands beside the chunks, one entry per chunk."""
        if side is None or isinstance(side, str):
            return [side] * len(self.lengths)
        if isinstance(side, DaskSource):
            side = side.table
        elif isinstance(side, LocalSource):
            side = np.concatenate([np.asarray(single_column(part)) for part in side.read(None)])
        if is_dask(side):
            if not _is_array(side):
                with warnings.catch_warnings():  # text becomes an array of objects, as it should
                    warnings.filterwarnings("ignore", "Dask currently has limited support", UserWarning)
                    side = side.to_dask_array(lengths=True)
            if np.isnan(side.shape[0]):
                raise ValueError(
                    f"{name} does not know the lengths of its chunks; call {name}.compute_chunk_sizes() first"
                )
        else:
            side = np.asarray(single_column(side))
        if side.shape[0] != sum(self.lengths):
            raise ValueError(f"X has {sum(self.lengths)} rows, but {name} has {side.shape[0]}: give one per row")
        if _is_array(side):
            return _delayed(side.rechunk((self.lengths, *side.chunks[1:])))
        return [side[lo:hi] for lo, hi in pairwise(np.cumsum((0, *self.lengths)).tolist())]


def _example(table: DaskTable, rule: Callable[[Table], Array]) -> Array:
    """The answer to one row, for the type and shape of answers: a row of ones, or the first of the table."""
    if _is_array(table):
        return np.asarray(rule(np.ones((1, table.shape[1]), dtype=table.dtype)))
    try:
        return np.asarray(rule(table._meta_nonempty.iloc[:1]))
    except ValueError:  # the example of a frame holds text that is no category of fit
        return np.asarray(rule(table.head(1, npartitions=-1)))


def _cluster() -> Any:
    """The client of the cluster that computes, if it is one of Dask's `distributed`; else None."""
    from dask.base import get_scheduler

    clusters = sys.modules.get("distributed")
    client = getattr(get_scheduler(), "__self__", None)
    return client if clusters is not None and isinstance(client, clusters.Client) else None


def _delayed(table: DaskTable) -> Sequence[Any]:
    blocks = table.to_delayed()
    return blocks.ravel().tolist() if isinstance(blocks, np.ndarray) else list(blocks)


def lazy_answer(source: DaskSource, columns: Sequence[str] | None, rule: Callable[[str, Table], Array]) -> DaskTable:
    """rule(place, rows) as a Dask array with the chunks of the table, computed when it is asked for."""
    import dask.array as da

    table = source.columns(columns)
    example = _example(table, partial(rule, source.place(0)))

    def answer(where: str, rows: Table) -> Array:
        return rule(where, rows) if rows.shape[0] else example[:0]

    if _is_array(table):
        chunks = (table.chunks[0], *((size,) for size in example.shape[1:]))

        def placed_rule(rows: Table, block_id: tuple[int, ...]) -> Array:  # Dask gives an argument of this name
            return answer(f"chunk {block_id[0]}", rows)

        dropped = [1] if example.ndim == 1 else []
        return da.map_blocks(
            placed_rule, table, drop_axis=dropped, chunks=chunks, dtype=example.dtype, meta=example[:0]
        )
    from dask.delayed import delayed

    run = delayed(answer, pure=False, traverse=False)
    parts = [
        da.from_delayed(
            run(source.place(i), block), (np.nan, *example.shape[1:]), dtype=example.dtype, meta=example[:0]
        )
        for i, block in enumerate(_delayed(table))
    ]
    return da.concatenate(parts, axis=0, allow_unknown_chunksizes=True)
