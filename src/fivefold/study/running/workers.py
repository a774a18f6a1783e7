"""Worker processes: tasks go in, their results come out, and a task that takes too long is stopped.

    parent                                            worker, one BLAS and OpenMP thread
      work, and what all tasks share  ------------->    import, "ready"
      task  --------------------------------------->    "done", work(shared, task)
      over its limit: kill the worker, start another in its place

A worker ends with its parent, however the parent ends: on Linux the kernel kills it, and everywhere one of its threads
reads the pipe from the parent and stops the process when the other end closes. This file is also the script that a
worker runs; it imports the standard library only, so that both are in place before anything else happens.
"""

from __future__ import annotations

import ctypes
import gc
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
POLL_SECONDS = 60.0  # longest wait for a message before deadlines are checked again

Message = tuple[str, Any, float]  # kind ("ready", "done", "broken"), value, seconds of work


class WorkerStartError(RuntimeError):
    """A worker ended before it could be given a task."""


@dataclass(frozen=True)
class TaskResult:
    """What became of a task."""

    task: Any  # as it was given
    fate: Literal["done", "late", "died"]
    value: Any  # what `work` returned, which may be anything; None unless done
    seconds: float
    reason: str = ""  # why there is no value


class WorkerPool:
    """Processes that call `work(shared, task)`: a function of a module, and values that pickle."""

    def __init__(self, work: Callable[[Any, Any], Any], shared: Any, jobs: int) -> None:
        self._payload = pickle.dumps((work, shared))
        self._inbox: queue.SimpleQueue[tuple[_WorkerProcess, Message | None]] = queue.SimpleQueue()
        self.jobs, self._workers = jobs, list[_WorkerProcess]()
        self.start_seconds = 0.0  # from the start of the last worker until it was ready

    def __enter__(self) -> Self:
        self._workers = [_WorkerProcess(self._payload, self._inbox) for _ in range(self.jobs)]
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop all workers; what they were doing is lost."""
        while self._workers:
            self._workers.pop().kill()

    def run(self, tasks: Iterator[tuple[Any, float]]) -> Iterator[TaskResult]:
        """The result of each task, in the order in which they end.

        `tasks` yields a task and its limit in seconds, and is asked for the next one when a worker is free, so it may
        depend on earlier results.
        """
        more = self._assign(tasks)
        while more or any(worker.busy for worker in self._workers):
            ended = self._next_result()
            more = more and self._assign(tasks)  # before the result is yielded, so that no worker waits for the caller
            if ended is not None:
                yield ended

    def _assign(self, tasks: Iterator[tuple[Any, float]]) -> bool:
        """Give a task to every idle worker; were there enough?"""
        for worker in self._workers:
            if worker.idle:
                given = next(tasks, None)
                if given is None:
                    return False
                worker.send_task(*given)
        return True

    def _next_result(self) -> TaskResult | None:
        """The next task that ends; None if something else happened."""
        first = min(
            (worker for worker in self._workers if worker.busy), key=lambda worker: worker.deadline, default=None
        )
        remaining = POLL_SECONDS if first is None else first.deadline - time.monotonic()
        try:
            worker, message = self._inbox.get(timeout=min(POLL_SECONDS, max(0.0, remaining)))
        except queue.Empty:
            if first is None or remaining > POLL_SECONDS:
                return None
            return self._replace_worker(first, "late", f"took longer than its limit of {first.limit:g} s")
        if worker not in self._workers:  # the last message of a worker that was stopped
            return None
        if message is None or message[0] == "broken":
            how = worker.exit_reason() if message is None else message[1]
            if not worker.ready:
                raise WorkerStartError(f"a worker process could not start: {how}")
            ended = self._replace_worker(worker, "died", f"the worker process ended: {how}")
            return ended if worker.busy else None
        kind, value, seconds = message
        if kind == "ready":
            worker.ready = True
            self.start_seconds = time.monotonic() - worker.started_at
            return None
        task, worker.task = worker.task, None
        return TaskResult(task, "done", value, seconds)

    def _replace_worker(self, worker: _WorkerProcess, fate: Literal["late", "died"], reason: str) -> TaskResult:
        """Stop a worker and start another in its place; returns the result of its task."""
        ended = TaskResult(worker.task, fate, None, time.monotonic() - worker.given_at, reason)
        worker.kill()
        self._workers[self._workers.index(worker)] = _WorkerProcess(self._payload, self._inbox)
        return ended


class _WorkerProcess:
    """One worker, as the parent sees it."""

    def __init__(self, payload: bytes, inbox: queue.SimpleQueue[tuple[_WorkerProcess, Message | None]]) -> None:
        path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
        self.process = subprocess.Popen(
            [sys.executable, "-P", __file__, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | SINGLE_THREAD_ENV | {"PYTHONPATH": path},
            process_group=None if os.name == "nt" else 0,  # Ctrl-C is for the parent alone
        )
        self.task: Any = None  # what it works on, which may be anything that pickles
        self.ready, self.started_at = False, time.monotonic()
        self.given_at = self.limit = 0.0
        self.reader = threading.Thread(target=self._relay_messages, args=(payload, inbox), daemon=True)
        self.reader.start()

    @property
    def busy(self) -> bool:
        return self.task is not None

    @property
    def idle(self) -> bool:
        return self.ready and not self.busy

    @property
    def deadline(self) -> float:
        return self.given_at + self.limit

    def send_task(self, task: Any, limit: float) -> None:
        """Send it a task."""
        self.task, self.given_at, self.limit = task, time.monotonic(), limit
        self._send(pickle.dumps(task))

    def kill(self) -> None:
        """Stop it now."""
        self.process.kill()
        self.process.wait()
        self.reader.join()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError):  # unread messages do not matter now
                pipe.close()  # type: ignore[union-attr]  # opened above

    def exit_reason(self) -> str:
        """How the process ended."""
        code = self.process.wait()
        if code >= 0:
            return f"exit code {code}"
        memory = ", as when memory runs out" if -code == signal.SIGKILL else ""
        return f"signal {signal.Signals(-code).name}{memory}"

    def _send(self, content: bytes) -> None:
        with suppress(OSError):  # it has ended, as the other pipe will show
            pickle.dump(content, self.process.stdin)  # type: ignore[arg-type]  # opened above
            self.process.stdin.flush()  # type: ignore[union-attr]  # the same

    def _relay_messages(self, payload: bytes, inbox: queue.SimpleQueue[tuple[_WorkerProcess, Message | None]]) -> None:
        """Send it the payload, then pass its messages on; None means that it has ended."""
        self._send(payload)
        try:
            while True:
                inbox.put((self, pickle.load(self.process.stdout)))  # type: ignore[arg-type]  # the same
        except (EOFError, pickle.UnpicklingError, OSError):
            inbox.put((self, None))


def worker_main(parent: int) -> None:
    """What a worker does until it is killed or its parent ends."""
    _die_with_parent(parent)
    inbox, answer = _open_pipes()
    gc.disable()  # what is imported stays: to look for garbage in it costs time, now and at every later collection
    try:
        work, shared = pickle.loads(inbox.get())
    except BaseException as error:
        answer(("broken", f"{type(error).__name__}: {error}", 0.0))
        return
    gc.freeze()
    gc.enable()
    answer(("ready", None, 0.0))
    while True:
        task, start = pickle.loads(inbox.get()), time.perf_counter()
        value = work(shared, task)
        answer(("done", value, time.perf_counter() - start))


def _die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent ends, on Linux."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # the parent has already ended
            os._exit(1)


def _open_pipes() -> tuple[queue.SimpleQueue[bytes], Callable[[Message], None]]:
    """What the parent sends, and a function that answers; standard input and output are redirected for the work."""
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
