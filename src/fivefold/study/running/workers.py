"""Worker processes: tasks go in, what became of them comes out, and a task that takes too long is stopped.

    parent                                            worker, one BLAS and OpenMP thread
      work, and what all tasks share  ------------->    import, "ready"
      task  --------------------------------------->    "done", work(shared, task)
      limit passed: kill, start another in its place

A worker ends with its parent, however the parent ends: on Linux the kernel kills it, and everywhere a thread of it
reads the pipe from the parent and stops the process when the other end is gone. This file is also the script that a
worker runs; it imports nothing heavy, so that both are in place before anything else happens.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, Self

SINGLE_THREAD_ENV = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "BLIS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMBA_NUM_THREADS",
        "POLARS_MAX_THREADS",
    ),
    "1",
) | {"JOBLIB_MULTIPROCESSING": "0"}  # a worker has no workers of its own
PR_SET_PDEATHSIG = 1  # linux/prctl.h
POLL_SECONDS = 60.0  # seconds to wait at a time

Message = tuple[str, Any, float]  # what it is, what it brings, seconds it took


class WorkerStartError(RuntimeError):
    """A worker ended before it could be given a task."""


@dataclass(frozen=True)
class TaskResult:
    """What became of a task."""

    task: Any
    fate: Literal["done", "late", "died"]
    value: Any  # what the work gave; None unless done
    seconds: float
    reason: str = ""  # why there is no value


class WorkerPool:
    """Processes that call `work(shared, task)`: a function of a module, and values that pickle."""

    def __init__(self, work: Callable[[Any, Any], Any], shared: Any, jobs: int) -> None:
        self._luggage = pickle.dumps((work, shared))
        self._inbox: queue.SimpleQueue[tuple[_WorkerProcess, Message | None]] = queue.SimpleQueue()
        self.jobs, self._crew = jobs, list[_WorkerProcess]()
        self.start_seconds = 0.0  # from the start of the last worker until it was ready

    def __enter__(self) -> Self:
        self._crew = [_WorkerProcess(self._luggage, self._inbox) for _ in range(self.jobs)]
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def close(self) -> None:
        """End all of them; what they were doing is lost."""
        while self._crew:
            self._crew.pop().kill()

    def run(self, tasks: Iterator[tuple[Any, float]]) -> Iterator[TaskResult]:
        """What became of each task, in the order they end.

        `tasks` gives a task and its limit in seconds, and is asked for the next one when a worker is free: what it
        gives may depend on what has ended before.
        """
        more = self._supply(tasks)
        while more or any(worker.busy for worker in self._crew):
            ended = self._wait()
            more = more and self._supply(tasks)  # before the caller sees what ended: no worker waits for the caller
            if ended is not None:
                yield ended

    def _supply(self, tasks: Iterator[tuple[Any, float]]) -> bool:
        """A task for every worker that has none; were there enough?"""
        for worker in self._crew:
            if worker.idle:
                given = next(tasks, None)
                if given is None:
                    return False
                worker.give(*given)
        return True

    def _wait(self) -> TaskResult | None:
        """The next task that ends; None when something else happened."""
        first = min((worker for worker in self._crew if worker.busy), key=lambda worker: worker.deadline, default=None)
        left = POLL_SECONDS if first is None else first.deadline - time.monotonic()
        try:
            worker, message = self._inbox.get(timeout=min(POLL_SECONDS, max(0.0, left)))
        except queue.Empty:
            if first is None or left > POLL_SECONDS:
                return None
            return self._replaced(first, "late", f"took longer than its limit of {first.limit:g} s")
        if worker not in self._crew:  # the last word of one that was stopped
            return None
        if message is None or message[0] == "broken":
            how = worker.ending() if message is None else message[1]
            if not worker.ready:
                raise WorkerStartError(f"a worker process could not start: {how}")
            ended = self._replaced(worker, "died", f"the worker process ended: {how}")
            return ended if worker.busy else None
        kind, value, seconds = message
        if kind == "ready":
            worker.ready = True
            self.start_seconds = time.monotonic() - worker.began
            return None
        task, worker.task = worker.task, None
        return TaskResult(task, "done", value, seconds)

    def _replaced(self, worker: _WorkerProcess, fate: Literal["late", "died"], reason: str) -> TaskResult:
        """Another worker in the place of one that is no longer wanted."""
        ended = TaskResult(worker.task, fate, None, time.monotonic() - worker.given, reason)
        worker.kill()
        self._crew[self._crew.index(worker)] = _WorkerProcess(self._luggage, self._inbox)
        return ended


class _WorkerProcess:
    """The parent's end of one worker."""

    def __init__(self, luggage: bytes, inbox: queue.SimpleQueue[tuple[_WorkerProcess, Message | None]]) -> None:
        path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
        self.process = subprocess.Popen(
            [sys.executable, "-P", __file__, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | SINGLE_THREAD_ENV | {"PYTHONPATH": path},
            process_group=None if os.name == "nt" else 0,  # Ctrl-C is for the parent alone
        )
        self.task: Any = None
        self.ready, self.began = False, time.monotonic()
        self.given = self.limit = 0.0
        self.attendant = threading.Thread(target=self._attend, args=(luggage, inbox), daemon=True)
        self.attendant.start()

    @property
    def busy(self) -> bool:
        return self.task is not None

    @property
    def idle(self) -> bool:
        return self.ready and not self.busy

    @property
    def deadline(self) -> float:
        return self.given + self.limit

    def give(self, task: Any, limit: float) -> None:
        """Hand it a task."""
        self.task, self.given, self.limit = task, time.monotonic(), limit
        self._send(pickle.dumps(task))

    def kill(self) -> None:
        """End it now."""
        self.process.kill()
        self.process.wait()
        self.attendant.join()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError):  # what was not read is of no use now
                pipe.close()  # type: ignore[union-attr]  # both were asked for

    def ending(self) -> str:
        """How the process ended."""
        code = self.process.wait()
        if code >= 0:
            return f"exit code {code}"
        memory = ", as when memory runs out" if -code == signal.SIGKILL else ""
        return f"signal {signal.Signals(-code).name}{memory}"

    def _send(self, content: bytes) -> None:
        with suppress(OSError):  # it has ended, as the other pipe will say
            pickle.dump(content, self.process.stdin)  # type: ignore[arg-type]  # it was asked for
            self.process.stdin.flush()  # type: ignore[union-attr]  # the same

    def _attend(self, luggage: bytes, inbox: queue.SimpleQueue[tuple[_WorkerProcess, Message | None]]) -> None:
        """Give it what it needs, then pass on what it says; None is its end."""
        self._send(luggage)
        try:
            while True:
                inbox.put((self, pickle.load(self.process.stdout)))  # type: ignore[arg-type]  # the same
        except (EOFError, pickle.UnpicklingError, OSError):
            inbox.put((self, None))


def worker_main(parent: int) -> None:
    """What a worker does, until it is killed or its parent is gone."""
    _die_with_parent(parent)
    inbox, answer = _open_pipes()
    try:
        work, shared = pickle.loads(inbox.get())
    except BaseException as error:
        answer(("broken", f"{type(error).__name__}: {error}", 0.0))
        return
    answer(("ready", None, 0.0))
    while True:
        task, start = pickle.loads(inbox.get()), time.perf_counter()
        value = work(shared, task)
        answer(("done", value, time.perf_counter() - start))


def _die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent ends, where it can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before it was asked
            os._exit(1)


def _open_pipes() -> tuple[queue.SimpleQueue[bytes], Callable[[Message], None]]:
    """What the parent sends, and a way to answer; whatever the work reads or prints goes elsewhere."""
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    inbox: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def listen() -> None:
        try:
            while True:
                inbox.put(pickle.load(source))
        except (EOFError, pickle.UnpicklingError):
            os._exit(1)

    def answer(message: Message) -> None:
        sink.write(pickle.dumps(message))
        sink.flush()

    threading.Thread(target=listen, daemon=True).start()
    return inbox, answer


if __name__ == "__main__":
    worker_main(int(sys.argv[1]))
