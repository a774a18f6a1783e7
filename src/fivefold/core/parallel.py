"""Blocks of rows on threads: parts for functions of Python, teams for compiled loops.

The cut into parts depends on the number of rows alone, and parts are added in their order, so the number of threads
never changes a result. The thread that asks works too; helpers, which wait on one queue, take parts as they come. How
many are woken depends on how long the work took before. BLAS has one thread meanwhile (core.blas_threads).
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from itertools import count as counter
from itertools import pairwise
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

import numpy as np
from joblib import cpu_count
from numpy.typing import NDArray

from fivefold.core.blas_threads import one_blas_thread
from fivefold.core.compilation.atomics import atomics_available
from fivefold.core.team_loops import CLOSED, FAILED, OPEN, PAUSED, SIZE, STATUS, TEAM_WORDS, help_team
from fivefold.core.types import Doubles, Indices, Table, Weights

MIN_PART_ROWS = 8192  # rows per part, at least
MAX_PARTS = 64  # parts of a table, at most
LINE_BYTES = 128  # that no two threads should write to: a pair of cache lines, which processors fetch together
BLOCK_ROWS = 2048  # rows per block, in which a part is worked through: they stay in the cache
SECONDS_PER_THREAD = 1e-4  # compiled work from which another thread of a team pays: waking it takes 10 microseconds
SECONDS_PER_PARTNER = 1e-3  # the same for parts, in which threads wait for the interpreter too
# Where parts take less than SHORT_PART, threads wait for the interpreter, or for a core: fewer are woken next time if
# they worked less than MIN_BUSY_SHARE of the time, more if they worked longer than MAX_BUSY_SHARE
SHORT_PART, MIN_BUSY_SHARE, MAX_BUSY_SHARE = 2e-3, 0.6, 0.85

T = TypeVar("T")

_thread_state = threading.local()
_seconds: dict[object, float] = {}  # per row or item, of each function that was shared, at its last call
_useful: dict[object, int] = {}  # how many threads could work on it at the same time


def threads() -> int:
    """Threads to use: what the environment allows (joblib lowers it inside its workers)."""
    if _in_pool():
        return 1
    return int(os.environ.get("OMP_NUM_THREADS") or _cores(os.environ.get("LOKY_MAX_CPU_COUNT")))


def team_size(seconds: float) -> int:
    """How many of the threads pay for work that takes one thread this many seconds."""
    return max(1, min(threads(), int(seconds / SECONDS_PER_THREAD)))


def row_parts(n: int, rows: int = MIN_PART_ROWS) -> list[tuple[int, int]]:
    """Cut range(n) into at most MAX_PARTS runs of nearly equal length, at multiples of BLOCK_ROWS."""
    if n < 2 * rows:
        return [(0, n)]
    count = min(MAX_PARTS, n // rows)
    cuts = [n * i // count // BLOCK_ROWS * BLOCK_ROWS for i in range(count)]
    return list(pairwise([*cuts, n]))


def map_parts(work: Callable[[int, int], T], n: int, *, rows: int = MIN_PART_ROWS) -> list[T]:
    """[work(lo, hi) for each part of range(n)], on the threads; results in the order of the parts."""
    return _shared(work, work, row_parts(n, rows), n)


def map_items(work: Callable[[int], T], count: int) -> list[T]:
    """[work(i) for i in range(count)], on the threads; results in order; each item should be worth a thread."""
    return _shared(work, lambda lo, hi: work(lo), [(i, i + 1) for i in range(count)], count)


def teams_available() -> bool:
    """Can a compiled loop have several threads? Not on Windows, where parts on threads take its place, if any."""
    return atomics_available()


def run_team(loop: Callable[..., Any], *args: Any, size: int) -> Any:  # whatever the loop takes and returns
    """loop(team, *args), whose tasks up to size - 1 helpers take too (see core.team_loops)."""
    if size < 2 or not atomics_available() or _in_pool():
        words = np.zeros(TEAM_WORDS, dtype=np.int64)
        words[SIZE] = 1
        return loop(words, *args)
    with one_blas_thread():
        team = _teams.pop() if _teams else _Team()
        found = team.run(loop, args, size)
        _teams.append(team)  # where a task failed, it is left to its last helper
        return found


def are_whole(w: Weights) -> bool:
    """Are all of these numbers whole? Without an array as long as they are."""
    return all(map_parts(lambda lo, hi: bool((w[lo:hi] == np.rint(w[lo:hi])).all()), len(w)))


def take_rows(X: NDArray[Any], rows: Indices) -> NDArray[Any]:  # of any type
    """X[rows], copied by all threads."""
    out = np.empty((len(rows), X.shape[1]), X.dtype)
    map_parts(lambda lo, hi: X.take(rows[lo:hi], axis=0, out=out[lo:hi], mode="clip"), len(rows))
    return out


def column_blocks(X: Table, w: Weights, lo: int, hi: int, rows: int = BLOCK_ROWS) -> Iterator[tuple[Doubles, Doubles]]:
    """Blocks of at most `rows` of the rows lo..hi, with points in columns, float64: Z (d, m) and their weights (m,).

    Z is scratch: it is overwritten by the next block.
    """
    for start in range(lo, hi, rows):
        stop = min(start + rows, hi)
        Z = scratch("columns", X.shape[1], stop - start)
        Z[:] = X[start:stop].T
        yield Z, w[start:stop].astype(np.float64, copy=False)


def scratch(name: str, *shape: int) -> Doubles:
    """An uninitialised float64 array of this thread, the same one for the same name and shape.

    Fresh pages cost more than the work on a block, so blocks reuse theirs.
    """
    held: dict[str, Doubles] = _thread_state.__dict__.setdefault("scratch", {})
    if name not in held or held[name].shape != shape:
        held[name] = aligned(shape)
    return held[name]


def aligned(shape: tuple[int, ...], dtype: Any = np.float64) -> NDArray[Any]:  # of whatever NumPy takes for a type
    """An uninitialised array that begins with a cache line: where its rows fill whole lines, threads that write to rows
    of their own do not wait for each other.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    memory = np.empty(size + LINE_BYTES, np.uint8)
    start = -memory.__array_interface__["data"][0] % LINE_BYTES
    return memory[start : start + size].view(dtype).reshape(shape)


def whole_lines(count: int, dtype: Any = np.float64) -> int:  # as in `aligned`
    """How many numbers fill the cache lines that this many need."""
    per_line = LINE_BYTES // np.dtype(dtype).itemsize
    return -(-count // per_line) * per_line


def _shared(function: Any, work: Callable[[int, int], T], cut: list[tuple[int, int]], size: int) -> list[T]:
    """The results of all parts; the time that `function` takes, per part of `size`, decides on threads next time."""
    while isinstance(function, partial):
        function = function.func
    key = getattr(function, "__code__", type(function))
    with one_blas_thread():
        if len(cut) < 2 or (several := min(threads(), len(cut))) < 2:
            return [work(lo, hi) for lo, hi in cut]
        pay = max(1, int(_seconds.get(key, 1.0) * size / SECONDS_PER_PARTNER))
        several = min(several, pay, _useful.get(key, several))
        parts, start = _Parts(work, cut), time.perf_counter()
        results = parts.run(several)
        busy = parts.seconds / (time.perf_counter() - start)
        _seconds[key] = parts.seconds / size
        if busy > MAX_BUSY_SHARE * several or parts.seconds > SHORT_PART * len(cut):
            _useful[key] = 2 * several
        elif several > 2 and busy < MIN_BUSY_SHARE * several:
            _useful[key] = max(2, int(1.3 * busy) + 1)
        return results


class _Parts(Generic[T]):
    """Parts that threads take one after the other.

    Only the thread that asks can be interrupted, at any call: it counts nothing that somebody waits for.
    """

    def __init__(self, work: Callable[[int, int], T], cut: list[tuple[int, int]]) -> None:
        self.work, self.cut, self.take = work, cut, counter().__next__
        self.results: list[Any] = [None] * len(cut)
        self.errors: list[tuple[int, BaseException]] = []
        # `running` counts helpers at work
        self.seconds, self.running, self.lock, self.idle = 0.0, 0, threading.Lock(), threading.Event()

    def run(self, several: int) -> list[T]:
        """Take part with several - 1 helpers; the first error by the order of parts is raised when all have stopped."""
        inside = _in_pool()
        try:
            _thread_state.in_pool = True
            _wake(self.help, several - 1)
            start = time.thread_time()
            self._take_parts()
            own_seconds = time.thread_time() - start
            self._wait()
        except BaseException:
            self.cut = []  # nobody takes another part
            self._wait()
            raise
        finally:
            _thread_state.in_pool = inside
        self.seconds += own_seconds
        if self.errors:
            raise min(self.errors, key=lambda error: error[0])[1]
        return self.results

    def help(self) -> None:
        """Take parts until there are none; what a helper is asked to do."""
        with self.lock:
            self.running += 1
            self.idle.clear()
        start = time.thread_time()
        try:
            self._take_parts()
        finally:
            with self.lock:
                self.seconds += time.thread_time() - start
                self.running -= 1
                if not self.running:
                    self.idle.set()

    def _take_parts(self) -> None:
        while (i := self.take()) < len(self.cut) and not self.errors:
            try:
                self.results[i] = self.work(*self.cut[i])
            except BaseException as error:  # of any kind: whoever asked raises it
                self.errors.append((i, error))

    def _wait(self) -> None:
        while self.running:
            self.idle.wait()


class _Team:
    """Threads that take tasks of one compiled loop after the other."""

    def __init__(self) -> None:
        self.words = np.zeros(TEAM_WORDS, dtype=np.int64)
        self.words[STATUS] = PAUSED
        self.error: BaseException | None = None
        self.ranks, self.called, self.lock = set[int](), 0, threading.Lock()  # of helpers; helpers on their way

    def run(self, loop: Callable[..., Any], args: tuple[Any, ...], size: int) -> Any:  # what the loop returns
        """Run the loop as its first thread, with size - 1 helpers; they may come late, or never."""
        inside = _in_pool()
        try:
            _thread_state.in_pool = True
            with self.lock:
                missing = size - 1 - len(self.ranks) - self.called
                self.called += max(missing, 0)
            self.words[SIZE], self.words[STATUS] = size, OPEN
            _wake(self.join, missing)
            return loop(self.words, *args)
        except BaseException:
            self._leave()
            if self.error is not None:
                raise self.error from None
            raise
        finally:  # nothing is called here: an interruption would come with the call
            _thread_state.in_pool = inside
            if self.words[STATUS] == OPEN:
                self.words[STATUS] = PAUSED

    def join(self) -> None:
        """Help until the team is closed, or has nothing to do for long."""
        with self.lock:
            self.called -= 1
            if self.words[STATUS] > PAUSED:
                return
            rank = next(rank for rank in counter(1) if rank not in self.ranks)
            self.ranks.add(rank)
        try:
            help_team(self.words, rank)
        except BaseException as error:
            self.error, self.words[STATUS] = error, FAILED
        finally:
            with self.lock:
                self.ranks.remove(rank)

    def _leave(self) -> None:
        """Close the team and wait until no helper touches the arrays of its loop."""
        with self.lock:
            if self.words[STATUS] < CLOSED:
                self.words[STATUS] = CLOSED
        while self.ranks:
            time.sleep(1e-4)


class _Helpers:
    """Threads that do what is put into their queue; they end with the process."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Have no threads, as after a fork."""
        self.queue, self.count, self.lock = SimpleQueue[Callable[[], None]](), 0, threading.Lock()

    def ask(self, job: Callable[[], None], several: int) -> None:
        """Have this many threads do a job."""
        if self.count < several:
            with self.lock:
                while self.count < several:
                    name = f"fivefold-{self.count}"
                    threading.Thread(target=self._serve, args=(self.queue,), name=name, daemon=True).start()
                    self.count += 1
        for _ in range(several):
            self.queue.put(job)

    @staticmethod
    def _serve(queue: SimpleQueue[Callable[[], None]]) -> None:
        _thread_state.in_pool = True
        while True:
            queue.get()()


_helpers = _Helpers()
_teams: list[_Team] = []  # that nobody runs now


def _wake(job: Callable[[], None], several: int) -> None:
    _helpers.ask(job, several)


def _in_pool() -> bool:
    """Is this a thread that helps, or one whose work is being shared? It works alone."""
    return bool(getattr(_thread_state, "in_pool", False))


@lru_cache(maxsize=8)
def _cores(allowed: str | None) -> int:
    """Cores that may be used; `allowed` (the environment) keys the cache: asking the system takes longer than a small
    part.
    """
    return cpu_count()


if hasattr(os, "register_at_fork"):  # threads do not survive a fork
    os.register_at_fork(after_in_child=_helpers.forget)
    os.register_at_fork(after_in_child=_teams.clear)
