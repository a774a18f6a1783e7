"""Worker processes: limits, deaths, silence, one thread."""

import os
import subprocess
import sys
import time
from importlib import import_module
from itertools import repeat
from pathlib import Path

import pytest

from fivefold.study.running.workers import WorkerPool, WorkerStartError

LONG = 300.0  # seconds: what takes longer hangs, however busy the machine is
WORK = """
import os, signal, sys

def double(shared, task):
    return shared * task

def hang(shared, task):
    while task < 0:  # lets no other thread run for long, as a compiled loop may
        pass
    return os.getpid()

def die(shared, task):
    if task == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if task == "exit":
        raise SystemExit(7)
    return task

def chat(shared, task):
    print("to the screen")
    return sys.stdin.read()

def threads(shared, task):
    import numpy as np
    from joblib import Parallel, delayed
    from threadpoolctl import threadpool_info
    pids = Parallel(n_jobs=2)(delayed(os.getpid)() for _ in range(4))
    return {pool["num_threads"] for pool in threadpool_info()}, set(pids) == {os.getpid()}
"""
PARENT = """
from itertools import repeat
from small_work import hang
from fivefold.study.running.workers import WorkerPool
with WorkerPool(hang, None, 2) as workers:
    for e in workers.run(zip([1] * 40 + [-1, -1], repeat(600), strict=False)):
        print(e.value, flush=True)
"""


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A module that imports quickly, where the workers find it too."""
    (tmp_path / "small_work.py").write_text(WORK)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield import_module("small_work")
    del sys.modules["small_work"]


def ended(work, tasks, *, jobs=1, shared=None):
    with WorkerPool(work, shared, jobs) as workers:
        return list(workers.run(zip(tasks, repeat(LONG), strict=False)))


@pytest.mark.parametrize("jobs", [1, 3])
def test_every_task_comes_back_once_with_its_value(jobs, work):
    found = ended(work.double, range(20), jobs=jobs, shared=10)
    assert sorted((e.task, e.value) for e in found) == [(i, 10 * i) for i in range(20)]
    assert {e.fate for e in found} == {"done"}


def test_a_task_past_its_limit_is_stopped_and_another_worker_goes_on(work):
    with WorkerPool(work.hang, None, 1) as workers:
        found = list(workers.run(iter([(1, LONG), (-1, 0.7), (2, LONG)])))
    assert [(e.task, e.fate) for e in found] == [(1, "done"), (-1, "late"), (2, "done")]
    assert found[1].reason == "took longer than its limit of 0.7 s"
    assert found[0].value != found[2].value  # two processes


@pytest.mark.parametrize(
    ("task", "how"), [("kill", "signal SIGKILL, as when memory runs out"), ("exit", "exit code 7")]
)
def test_the_death_of_a_worker_is_told_and_another_goes_on(task, how, work):
    found = ended(work.die, ["a", task, "b"])
    assert [(e.task, e.fate) for e in found] == [("a", "done"), (task, "died"), ("b", "done")]
    assert found[1].reason == f"the worker process ended: {how}"


def test_tasks_may_depend_on_what_has_ended(work):
    seen, stop = [], set()
    with WorkerPool(work.double, 2, 1) as workers:
        tasks = ((i, LONG) for i in range(10) if not stop)
        for e in workers.run(tasks):
            seen.append(e.value)
            if e.value == 8:
                stop.add(e.value)
    assert seen == [0, 2, 4, 6, 8, 10]  # the last was given before the caller saw the one before it


def test_a_worker_that_cannot_start_is_an_error_that_says_why():
    with pytest.raises(WorkerStartError, match="could not start: ModuleNotFoundError: No module named 'nowhere'"):
        ended(Nowhere(), [1])


class Nowhere:
    """Pickles as a function of a module that is not there."""

    def __reduce__(self):
        return __import__, ("nowhere",)


def test_what_the_work_prints_stays_off_standard_output(capfd, work):
    found = ended(work.chat, [1])
    assert found[0].value == ""
    out, err = capfd.readouterr()
    assert out == "" and "to the screen" in err


def test_a_worker_computes_on_one_thread_and_starts_no_processes(work):
    (found,) = ended(work.threads, [1])
    assert found.value == ({1}, True)


def test_no_worker_is_left_when_the_work_is_broken_off(work):
    with WorkerPool(work.hang, None, 2) as workers:
        first = next(workers.run(zip([1, -1, -1], repeat(LONG), strict=False)))
    assert not alive(first.value)


def test_workers_end_with_a_parent_that_is_killed(tmp_path, work):
    """Two workers in endless loops."""
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
    )
    workers = {int(parent.stdout.readline()) for _ in range(40)}
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + LONG
    while any(map(alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(alive, workers))


def alive(pid):
    """Does the process run? One that ended and was not yet waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
