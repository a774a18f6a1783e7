"""Workers of a Dask cluster, in place of those of `workers.py`: the same tasks go in, the same results come out.

    --cluster tcp://host:8786    a cluster that is running, whose workers have fivefold installed
    --cluster local              two or more processes on this machine, started for the study

The data are one task of the cluster: a worker that is lost loses its folds and its copy of the data, and Dask computes
both again on another. Folds that ended are in the journal, so the end of the whole cluster costs only those that ran.
"""

from __future__ import annotations

import pickle
import re
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing.resource_tracker import ensure_running
from typing import Any, Literal, Self

from fivefold.study.running.workers import SINGLE_THREAD_ENV, TaskResult, WorkerStartError

LOCAL = "local"  # in place of an address: a cluster on this machine
CONNECT_SECONDS = 15  # to wait for a cluster to answer
MIN_LOCAL_WORKERS = 2
POLL_SECONDS = 5.0  # longest wait for a result before deadlines are checked again
LOCAL_CLUSTER_OPTIONS: dict[str, Any] = {
    "threads_per_worker": 1,
    "silence_logs": 50,
    "dashboard_address": None,
    # a scheduler serves HTTP even without a dashboard: on this machine only, at a free port, since another cluster
    # may hold 8787
    "scheduler_kwargs": {"dashboard_address": "127.0.0.1:0"},
}


class ClusterPool:
    """Calls `work(shared, task)` on the workers of a cluster; see `WorkerPool`."""

    def __init__(self, work: Callable[[Any, Any], Any], shared: Any, address: str, jobs: int) -> None:
        self._work, self._payload, self._address = work, pickle.dumps(shared), address
        self._stack, self.jobs, self.start_seconds = ExitStack(), jobs, 0.0
        self._client: Any = None  # of a library without types

    def __enter__(self) -> Self:
        try:
            from distributed import Client, LocalCluster
        except ImportError:
            raise WorkerStartError("--cluster needs Dask: pip install 'fivefold[cluster]'") from None
        start, cluster = time.monotonic(), self._address
        if cluster != LOCAL and not re.fullmatch(r"(\w+://)?\S+:\d+", cluster):
            raise WorkerStartError(f"--cluster takes an address such as tcp://host:8786, or local; got {cluster!r}")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of event loops, and of versions that differ
                if cluster == LOCAL:
                    with _interrupts_held_back():  # Ctrl-C is for the study, which then ends its workers
                        cluster = self._stack.enter_context(
                            LocalCluster(
                                n_workers=max(self.jobs, MIN_LOCAL_WORKERS),
                                env=SINGLE_THREAD_ENV,
                                **LOCAL_CLUSTER_OPTIONS,
                            )
                        )
                self._client = self._stack.enter_context(Client(cluster, timeout=CONNECT_SECONDS, set_as_default=False))
                self._client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except (OSError, ValueError, TimeoutError) as error:
            answered = self._client is not None
            self._stack.close()
            raise self._start_error(answered) from error
        self.jobs = sum(self._client.nthreads().values())
        with suppress(Exception):  # a worker may end; folds say so
            # by one thread, before several begin to import each other's modules, and before limits of folds begin
            self._client.run(_imported, self._work)
        self._shared = self._client.submit(pickle.loads, self._payload, pure=False)
        self.start_seconds = time.monotonic() - start
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _start_error(self, answered: bool) -> WorkerStartError:
        if self._address == LOCAL:
            return WorkerStartError(
                f"a cluster on this machine did not start within {CONNECT_SECONDS} s; leave --cluster out to run "
                "without it"
            )
        if answered:
            return WorkerStartError(
                f"the cluster at {self._address} has no workers, and got none within {CONNECT_SECONDS} s: start some "
                f"with `dask worker {self._address}`, or give --cluster local"
            )
        return WorkerStartError(
            f"no cluster answers at {self._address} within {CONNECT_SECONDS} s: check the address, start a cluster "
            "with `dask scheduler` and `dask worker`, or give --cluster local"
        )

    def close(self) -> None:
        """Leave the cluster; one that was started for the study ends."""
        with suppress(Exception):  # it may be gone
            self._stack.close()

    def run(self, tasks: Iterator[tuple[Any, float]]) -> Iterator[TaskResult]:
        """The result of each task, in the order in which they end; see `WorkerPool.run`."""
        from distributed import wait

        running: dict[Any, tuple[Any, float, float]] = {}  # future -> task, when it was given, its limit
        more = True
        while True:
            self._check_connection()
            while more and len(running) < self.jobs:
                given = next(tasks, None)
                more = given is not None
                if given is not None:
                    future = self._client.submit(_timed, self._work, self._shared, given[0], pure=False)
                    running[future] = given[0], time.monotonic(), given[1]
            if not running:
                return
            try:
                with suppress(TimeoutError), self._client.as_current():
                    wait(list(running), timeout=POLL_SECONDS, return_when="FIRST_COMPLETED")
            except CancelledError:  # folds that were stopped are not waited for
                raise self._gone_error() from None
            for future in [f for f in running if f.done()]:
                yield self._ended(future, *running.pop(future)[:2])
            now = time.monotonic()
            for future in [f for f, (_, at, limit) in running.items() if now > at + limit]:
                task, at, limit = running.pop(future)
                self._stop(future)
                yield TaskResult(task, "late", None, now - at, f"took longer than its limit of {limit:g} s")

    def _ended(self, future: Any, task: Any, given_at: float) -> TaskResult:
        if future.status == "finished":
            value, seconds = future.result()
            return TaskResult(task, "done", value, seconds)
        self._check_connection()
        if future.status != "error":
            raise self._gone_error()
        fate: Literal["died"] = "died"
        reason = f"{future.exception()}"
        return TaskResult(task, fate, None, time.monotonic() - given_at, f"the worker ended: {reason}")

    def _stop(self, future: Any) -> None:
        """Stop a task that takes too long: the process that runs it is started again."""
        with suppress(Exception):  # the worker may have ended by itself
            busy = [worker for worker, keys in self._client.processing().items() if future.key in keys]
            future.cancel(force=True)
            if busy:
                self._client.restart_workers(busy, timeout=CONNECT_SECONDS)

    def _check_connection(self) -> None:
        if self._client.status != "running":
            raise self._gone_error()

    def _gone_error(self) -> WorkerStartError:
        return WorkerStartError(
            f"the cluster at {self._address} is gone; every finished fold is saved: start it again, and continue with "
            "--resume"
        )


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """SIGINT reaches this thread afterwards only, and never the threads and processes that begin meanwhile."""
    if not hasattr(signal, "pthread_sigmask"):  # on Windows
        yield
        return
    ensure_running()  # the tracker of multiprocessing lets SIGINT through again in the thread that starts it
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _imported(work: Callable[[Any, Any], Any]) -> None:
    """On each worker: by now it has imported what the work needs."""


def _timed(work: Callable[[Any, Any], Any], shared: Any, task: Any) -> tuple[Any, float]:
    start = time.perf_counter()
    value = work(shared, task)
    return value, time.perf_counter() - start
