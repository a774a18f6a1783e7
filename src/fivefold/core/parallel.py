"""Blocks of rows on a pool of threads.

The cut into parts depends on the number of rows alone, and parts are added in their order, so the
number of threads never changes a result. BLAS divides work by the number of its threads: it gets one thread, here and
in every public method of an estimator (`on_one_blas_thread`), and work worth several threads is divided here.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, wraps
from itertools import pairwise
from typing import Any, ParamSpec, TypeVar

import numpy as np
from joblib import cpu_count
from threadpoolctl import ThreadpoolController

from fivefold.core.types import Table, Weights

MIN_PART_ROWS = 8192  # rows per part, at least
MAX_PARTS = 64  # parts of a table, at most
BLOCK_ROWS = 2048  # rows per block, in which a part is worked through: they stay in the cache

P = ParamSpec("P")
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


def map_parts(work: Callable[[int, int], Any], n: int, *, rows: int = MIN_PART_ROWS) -> list[Any]:
    """[work(lo, hi) for each part of range(n)], on the pool; results in the order of the parts."""
    cut = row_parts(n, rows)
    with one_blas_thread():
        if len(cut) == 1 or (count := threads()) == 1:
            return [work(lo, hi) for lo, hi in cut]
        return list(_pool(count).map(_run_in_pool, [work] * len(cut), cut))


def map_items(work: Callable[[int], Any], count: int) -> list[Any]:
    """[work(i) for i in range(count)], on the pool; results in order; each item should be worth a thread."""
    with one_blas_thread():
        if count < 2 or (several := threads()) < 2:
            return [work(i) for i in range(count)]
        return list(
            _pool(several).map(_run_in_pool, [lambda lo, hi: work(lo)] * count, [(i, i + 1) for i in range(count)])
        )


class _OneBlasThread:
    """BLAS on one thread while any thread of Python is inside; the last to leave restores what the first one found."""

    def __init__(self) -> None:
        self.release()

    def release(self) -> None:
        """Forget every holder, as after a fork."""
        self._lock, self._holders = threading.Lock(), 0
        self._before: list[int] = []

    def __enter__(self) -> None:
        with self._lock:
            self._holders += 1
            if self._holders == 1:
                self._before = [count() for count, _ in _blas()]
                for _, limit in _blas():
                    limit(1)

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._holders -= 1
            if not self._holders:
                for (_, limit), count in zip(_blas(), self._before, strict=True):
                    limit(count)


_blas_limit = _OneBlasThread()


def one_blas_thread() -> _OneBlasThread:
    """A context in which linear algebra runs on one thread."""
    return _blas_limit


def on_one_blas_thread(function: Callable[P, T]) -> Callable[P, T]:
    """The function, run inside `one_blas_thread`."""
    if getattr(function, "_blas_limited", False):
        return function

    @wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> T:
        with one_blas_thread():
            return function(*args, **kwargs)

    vars(limited)["_blas_limited"] = True
    return limited


def column_blocks(X: Table, w: Weights, lo: int, hi: int) -> Iterator[tuple[Any, Any]]:
    """Blocks of rows lo..hi with points in columns, float64: Z (d, m) and their weights (m,).

    Z is scratch: it is overwritten by the next block.
    """
    for start in range(lo, hi, BLOCK_ROWS):
        stop = min(start + BLOCK_ROWS, hi)
        Z = scratch("columns", X.shape[1], stop - start)
        Z[:] = X[start:stop].T
        yield Z, w[start:stop].astype(np.float64, copy=False)


def scratch(name: str, *shape: int) -> Any:
    """An uninitialised float64 array of this thread, the same one for the same name and shape.

    Fresh pages cost more than the work on a block, so blocks reuse theirs.
    """
    held = _thread_state.__dict__.setdefault("scratch", {})
    if name not in held or held[name].shape != shape:
        held[name] = np.empty(shape)
    return held[name]


def _in_pool() -> bool:
    """Is this a thread of the pool? It works alone: to wait for others of the pool could deadlock."""
    return bool(getattr(_thread_state, "in_pool", False))


def _run_in_pool(work: Callable[[int, int], Any], part: tuple[int, int]) -> Any:
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


@lru_cache(maxsize=1)
def _blas() -> list[Any]:
    """For each BLAS library, the functions that get and set its number of threads.

    OpenBLAS is called directly: threadpoolctl takes ten times as long, and since 3.8 works from one Python thread only.
    `_get_symbol` is private to threadpoolctl; without it the slower functions are used.
    """
    found = []
    for library in ThreadpoolController().lib_controllers:
        if library.user_api == "blas":
            symbol = getattr(library, "_get_symbol", lambda name: None)
            own = [symbol(f"openblas_{verb}_num_threads") for verb in ("get", "set")]
            direct = library.internal_api == "openblas" and library.threading_layer == "pthreads" and all(own)
            found.append(own if direct else [library.get_num_threads, library.set_num_threads])
    return found


@lru_cache(maxsize=4)
def _pool(count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count, thread_name_prefix="fivefold")


if hasattr(os, "register_at_fork"):  # threads do not survive a fork
    os.register_at_fork(after_in_child=_pool.cache_clear)
    os.register_at_fork(after_in_child=_blas_limit.release)
