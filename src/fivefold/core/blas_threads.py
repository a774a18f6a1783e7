"""BLAS on one thread.

BLAS divides work by the number of its threads, which would change the last digits of results: it gets one thread in
every public method of an estimator (`on_one_blas_thread`) and in the pool; work worth several threads is divided by
core.parallel.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

P = ParamSpec("P")
T = TypeVar("T")


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


@lru_cache(maxsize=1)
def _blas() -> list[tuple[Callable[[], int], Callable[[int], None]]]:
    """For each BLAS library, the functions that get and set its number of threads.

    OpenBLAS is called directly: threadpoolctl takes ten times as long, and since 3.8 works from one Python thread only.
    `_get_symbol` is private to threadpoolctl; without it the slower functions are used.
    """
    found = []
    for library in ThreadpoolController().lib_controllers:
        if library.user_api == "blas":
            get_and_set = library.get_num_threads, library.set_num_threads
            if library.internal_api == "openblas" and library.threading_layer == "pthreads":
                symbol = getattr(library, "_get_symbol", lambda name: None)
                direct = symbol("openblas_get_num_threads"), symbol("openblas_set_num_threads")
                get_and_set = direct if all(direct) else get_and_set
            found.append(get_and_set)
    return found


if hasattr(os, "register_at_fork"):  # threads do not survive a fork
    os.register_at_fork(after_in_child=_blas_limit.release)
