"""Blocks of rows on a pool of threads.

The cut into parts depends on the number of rows alone, and parts are added in their order, so the
number of threads never changes a result. BLAS has one thread meanwhile (core.blas_threads).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import pairwise
from typing import TypeVar

import numpy as np
from joblib import cpu_count

from fivefold.core.blas_threads import one_blas_thread
from fivefold.core.types import Doubles, Table, Weights

MIN_PART_ROWS = 8192  # rows per part, at least
MAX_PARTS = 64  # parts of a table, at most
BLOCK_ROWS = 2048  # rows per block, in which a part is worked through: they stay in the cache

T = TypeVar("T")

_thread_state = threading.local()


def threads() -> int:
    """Threads to use: what the environment allows (joblib lowers it inside its workers)."""
    if _in_pool():
        return 1
    return int(os.environ.get("OMP_NUM_THREADS") or _cores(os.environ.get("LOKY_MAX_CPU_COUNT")))


def row_parts(n: int, rows: int = MIN_PART_ROWS) -> list[tuple[int, int]]:
    """Cut range(n) into at most MAX_PARTS runs of nearly equal length, at multiples of BLOCK_ROWS."""
    if n < 2 * rows:
        return [(0, n)]
    count = min(MAX_PARTS, n // rows)
    cuts = [n * i // count // BLOCK_ROWS * BLOCK_ROWS for i in range(count)]
    return list(pairwise([*cuts, n]))


def map_parts(work: Callable[[int, int], T], n: int, *, rows: int = MIN_PART_ROWS) -> list[T]:
    """[work(lo, hi) for each part of range(n)], on the pool; results in the order of the parts."""
    cut = row_parts(n, rows)
    with one_blas_thread():
        if len(cut) == 1 or (count := threads()) == 1:
            return [work(lo, hi) for lo, hi in cut]
        return list(_pool(count).map(_run_in_pool, [work] * len(cut), cut))


def map_items(work: Callable[[int], T], count: int) -> list[T]:
    """[work(i) for i in range(count)], on the pool; results in order; each item should be worth a thread."""
    with one_blas_thread():
        if count < 2 or (several := threads()) < 2:
            return [work(i) for i in range(count)]
        return list(
            _pool(several).map(_run_in_pool, [lambda lo, hi: work(lo)] * count, [(i, i + 1) for i in range(count)])
        )


def column_blocks(X: Table, w: Weights, lo: int, hi: int) -> Iterator[tuple[Doubles, Doubles]]:
    """Blocks of rows lo..hi with points in columns, float64: Z (d, m) and their weights (m,).

    Z is scratch: it is overwritten by the next block.
    """
    for start in range(lo, hi, BLOCK_ROWS):
        stop = min(start + BLOCK_ROWS, hi)
        Z = scratch("columns", X.shape[1], stop - start)
        Z[:] = X[start:stop].T
        yield Z, w[start:stop].astype(np.float64, copy=False)


def scratch(name: str, *shape: int) -> Doubles:
    """An uninitialised float64 array of this thread, the same one for the same name and shape.

    Fresh pages cost more than the work on a block, so blocks reuse theirs.
    """
    held: dict[str, Doubles] = _thread_state.__dict__.setdefault("scratch", {})
    if name not in held or held[name].shape != shape:
        held[name] = np.empty(shape)
    return held[name]


def _in_pool() -> bool:
    """Is this a thread of the pool? It works alone: to wait for others of the pool could deadlock."""
    return bool(getattr(_thread_state, "in_pool", False))


def _run_in_pool(work: Callable[[int, int], T], part: tuple[int, int]) -> T:
    _thread_state.in_pool = True
    try:
        return work(*part)
    finally:
        _thread_state.in_pool = False


@lru_cache(maxsize=8)
def _cores(allowed: str | None) -> int:
    """Cores that may be used; `allowed` (the environment) keys the cache: asking the system takes longer than a small
    part.
    """
    return cpu_count()


@lru_cache(maxsize=4)
def _pool(count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count, thread_name_prefix="fivefold")


if hasattr(os, "register_at_fork"):  # threads do not survive a fork
    os.register_at_fork(after_in_child=_pool.cache_clear)
