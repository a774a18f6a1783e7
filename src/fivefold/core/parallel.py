"""Blocks of rows on a pool of threads.

The cut into parts depends on the number of rows alone, and parts are added in their order, so the
number of threads never changes a result. Inside a part linear algebra runs on one thread.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from joblib import cpu_count
from threadpoolctl import ThreadpoolController

PART = 8192  # a part has at least this many rows,
PARTS = 64  # there are at most this many parts,
BLOCK = 2048  # and a part is worked through in blocks that stay in the cache

_inside = threading.local()


def threads() -> int:
    """Threads to use: what the environment allows (joblib lowers it inside its workers)."""
    if _busy():
        return 1
    return int(os.environ.get("OMP_NUM_THREADS") or _cores(os.environ.get("LOKY_MAX_CPU_COUNT")))


def parts(n: int, rows: int = PART) -> list[tuple[int, int]]:
    """Cut range(n) into at most PARTS runs of nearly equal length, at multiples of BLOCK."""
    count = max(1, min(PARTS, n // rows))
    cuts = [n * i // count // BLOCK * BLOCK for i in range(count)]
    return list(pairwise([*cuts, n]))


def map_parts(work: Callable[[int, int], Any], n: int, *, rows: int = PART) -> list[Any]:
    """[work(lo, hi) for each part of range(n)], on the pool; results in the order of the parts."""
    cut = parts(n, rows)
    if len(cut) == 1:
        return [work(*cut[0])]
    count = threads()
    with _blas().limit(limits=1, user_api="blas"):
        if count == 1 or _busy():
            return [work(lo, hi) for lo, hi in cut]
        return list(_pool(count).map(_mark, [work] * len(cut), cut))


def map_items(work: Callable[[int], Any], count: int) -> list[Any]:
    """[work(i) for i in range(count)], on the pool; results in order; each should be worth a thread's while."""
    if count < 2 or _busy() or (several := threads()) < 2:
        return [work(i) for i in range(count)]
    with _blas().limit(limits=1, user_api="blas"):
        return list(_pool(several).map(_mark, [lambda lo, hi: work(lo)] * count, [(i, i + 1) for i in range(count)]))


def one_blas_thread() -> Any:
    """Within it linear algebra runs on one thread: for a small matrix BLAS's helpers spin longer than they work."""
    return _blas().limit(limits=1, user_api="blas")


def columns(X: Any, w: Any, lo: int, hi: int) -> Iterator[tuple[Any, Any]]:
    """Blocks of rows lo..hi with points in columns, float64: Z (d, m) and their weights (m,).

    Z is scratch: it is overwritten by the next block.
    """
    for start in range(lo, hi, BLOCK):
        stop = min(start + BLOCK, hi)
        Z = scratch("columns", X.shape[1], stop - start)
        Z[:] = X[start:stop].T
        yield Z, w[start:stop].astype(np.float64, copy=False)


def scratch(name: str, *shape: int) -> Any:
    """An uninitialised float64 array of this thread, the same one for the same name and shape.

    Fresh pages cost more than the work on a block, so blocks reuse theirs.
    """
    held = _inside.__dict__.setdefault("scratch", {})
    if name not in held or held[name].shape != shape:
        held[name] = np.empty(shape)
    return held[name]


def _busy() -> bool:
    """Is this a thread of the pool? It works alone: waiting for others of the pool could wait forever."""
    return bool(getattr(_inside, "part", False))


def _mark(work: Callable[[int, int], Any], part: tuple[int, int]) -> Any:
    _inside.part = True
    try:
        return work(*part)
    finally:
        _inside.part = False


@lru_cache(maxsize=8)
def _cores(allowed: str | None) -> int:
    """Cores that may be used, `allowed` by the environment: to ask the system costs more than a small part."""
    return cpu_count()


@lru_cache(maxsize=1)
def _blas() -> Any:
    return ThreadpoolController()


@lru_cache(maxsize=4)
def _pool(count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count, thread_name_prefix="fivefold")


if hasattr(os, "register_at_fork"):  # threads do not survive a fork
    os.register_at_fork(after_in_child=_pool.cache_clear)
