"""Threads that share parts and compiled tasks: results, errors, interruption, forks, and other pools around them."""

import os
import signal
import subprocess
import sys
import threading
import time
from typing import NamedTuple

import numpy as np
import pytest
from joblib import Parallel, delayed

from fivefold.core import parallel
from fivefold.core.compilation.jit import jit
from fivefold.core.parallel import map_items, map_parts, run_team
from fivefold.core.team_loops import run_task, share_tasks
from fivefold.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

PLAIN, FAILING, SLOW = range(3)


class Cells(NamedTuple):
    """Numbers, one row per task, and which thread wrote each."""

    x: np.ndarray
    rank: np.ndarray


@run_task.rule(Cells)
def _write(state, kind, i, rank):
    if kind == FAILING and i == 5:
        raise ValueError("task 5")
    total = 0.0
    for _ in range(200 if kind == SLOW else 1):
        for j in range(state.x.shape[1]):
            total += np.sin(state.x[i, j])
    state.x[i, i % state.x.shape[1]] = total
    state.rank[i] = rank


@jit
def phases(team, state, kind, count):
    """Share a phase of tasks `count` times; each reads what the one before wrote."""
    for _ in range(count):
        share_tasks(team, state, kind, len(state.x))
    return count


def cells(tasks=24, width=50):
    return Cells(np.random.default_rng(0).normal(size=(tasks, width)), np.full(tasks, -1))


def after(size, kind=PLAIN, count=200):
    state = cells()
    assert run_team(phases, state, kind, count, size=size) == count
    assert (state.rank >= 0).all() and (state.rank < size).all()
    return state.x.tobytes()


@pytest.mark.parametrize("size", [2, 3, 7])
def test_a_team_of_any_size_writes_the_same(size):
    """Seven threads on two cores, too: a thread without a core holds nobody up."""
    assert after(size) == after(1)


def run_alone(code, **environment):
    """What this code, in which `t` is this module, prints in a process of its own."""
    code = f"import sys; sys.path.insert(0, sys.argv[1])\nimport test_teams as t\n{code}"
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))} | environment
    command = [sys.executable, "-c", code, os.path.dirname(__file__)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert not done.returncode, done.stderr
    return done.stdout


def helpers_take_part(seconds=60.0):
    """Do they, within this time? A core may be busy for a while, and the first helper compiles its loop."""
    state, end = cells(), time.monotonic() + seconds
    while time.monotonic() < end:
        run_team(phases, state, SLOW, 1, size=2)
        if 1 in state.rank:
            return True
    return False


def test_helpers_take_part():
    assert helpers_take_part()


def work_until_interrupted(state, delay):
    signal.setitimer(signal.ITIMER_REAL, delay)
    for _ in range(4):
        run_team(phases, state, PLAIN, 2, size=2)
        map_items(abs, 4)
    for _ in range(5000):  # short naps: another thread may get the signal, which wakes nobody
        time.sleep(1e-3)


def survive_interruptions():
    """Interrupt shared work at random moments, then see whether helpers still come."""
    state = cells()
    run_team(phases, state, PLAIN, 1, size=2)
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    for delay in np.random.default_rng(0).uniform(1e-5, 4e-4, 400):
        with pytest.raises(KeyboardInterrupt):
            work_until_interrupted(state, delay)
    assert not parallel._in_pool()
    assert helpers_take_part()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers of the system")
def test_an_interruption_at_any_moment_leaves_the_threads_usable():
    """It came between two lines once: then fits hung, or stayed on one thread for the life of the process."""
    run_alone("t.survive_interruptions()")


@pytest.mark.parametrize("size", [1, 2, 5])
def test_an_exception_in_a_task_reaches_the_caller_and_leaves_the_threads_usable(size):
    for _ in range(5):
        with pytest.raises(ValueError, match="task 5"):
            run_team(phases, cells(), FAILING, 3, size=size)
        assert after(size, count=5) == after(1, count=5)


def test_without_atomic_operations_the_caller_works_alone(monkeypatch):
    expected = after(3)
    monkeypatch.setattr(parallel, "atomics_available", lambda: False)
    state = cells()
    run_team(phases, state, PLAIN, 200, size=3)
    assert state.x.tobytes() == expected
    assert set(state.rank) == {0}


def test_loops_that_are_not_compiled_share_tasks_too():
    printed = run_alone(
        "assert not t.parallel.atomics_available()\n"
        "state = t.cells(6, 4)\n"
        "assert t.run_team(t.phases, state, t.PLAIN, 2, size=3) == 2\n"
        "assert set(state.rank) == {0}\n"
        "print(state.x.sum())",
        NUMBA_DISABLE_JIT="1",
    )
    state = cells(6, 4)
    run_team(phases, state, PLAIN, 2, size=2)
    assert float(printed) == pytest.approx(state.x.sum(), rel=1e-12)


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.usefixtures("python_handles_ctrl_c")
def test_ctrl_c_during_compiled_work_is_not_lost(size):
    state = cells(200)
    run_team(phases, state, SLOW, 1, size=size)
    timer = threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGINT))

    def interrupted_work():
        timer.start()
        try:
            run_team(phases, state, SLOW, 20, size=size)
            time.sleep(5)
        finally:
            timer.join()

    with pytest.raises(KeyboardInterrupt):
        interrupted_work()
    assert after(size, count=5) == after(1, count=5)


def test_ctrl_c_during_parts_waits_for_those_at_work():
    active = []

    def part(lo, hi):
        active.append(1)
        time.sleep(0.05)
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        active.pop()

    with pytest.raises(KeyboardInterrupt):
        parallel._Parts(part, [(i, i + 1) for i in range(100)]).run(3)
    assert len(active) == 1  # that of the main thread


def test_the_first_error_by_the_order_of_parts_is_raised_and_no_further_part_is_taken(monkeypatch):
    monkeypatch.setattr(parallel, "threads", lambda: 4)
    seen = []

    def work(i):
        seen.append(i)
        time.sleep(0.02 if i == 1 else 0.0)
        if i in (1, 2):
            raise ValueError(i)

    for _ in range(5):
        seen.clear()
        with pytest.raises(ValueError, match="1"):
            map_items(work, 1000)
        assert len(seen) < 1000


def test_parts_within_parts_run_alone(monkeypatch):
    monkeypatch.setattr(parallel, "_seconds", {})
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert map_items(lambda i: parallel.threads(), 6) == [1] * 6
    nested = map_items(lambda i: sum(map_parts(lambda lo, hi: hi - lo, 40_000)), 4)
    assert nested == [40_000] * 4
    assert parallel.threads() == 3


def test_work_too_short_for_a_thread_is_done_by_the_caller(monkeypatch):
    monkeypatch.setattr(parallel, "threads", lambda: 4)
    monkeypatch.setattr(parallel, "_seconds", {})
    for _ in range(3):
        names = map_items(lambda i: threading.current_thread().name, 8)
    assert set(names) == {threading.current_thread().name}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.may_skip("os.fork is POSIX's")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_starts_threads_of_its_own():
    expected = after(3)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            total = sum(map_parts(lambda lo, hi: hi - lo, 100_000))
            code = 0 if after(3) == expected and total == 100_000 else 2
        finally:
            os._exit(code)
    deadline = time.monotonic() + 60
    while (found := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.01)
    if found == (0, 0):
        os.kill(child, signal.SIGKILL)
    assert found == (child, 0)


def table(n=60_000):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 8))
    X[rng.random((n, 8)) < 0.05] = np.nan
    X[:, 3] = rng.integers(0, 40, n)
    y = np.nan_to_num(X[:, 0]) * np.nan_to_num(X[:, 1]) + (X[:, 3] % 3) + rng.normal(size=n)
    return X, y


def boosted(model, X, y):
    trees = model.fit(X, y).model_
    names = ("feature", "threshold", "left", "missing_left", "category", "sets", "value", "gain", "rows")
    return b"".join(np.ascontiguousarray(getattr(trees, name)).tobytes() for name in names)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"max_features": 0.5, "interaction_cst": [[0, 1, 3], [2, 4, 5, 6, 7]]},
        {"max_leaf_nodes": None, "min_samples_leaf": 5, "monotonic_cst": {0: 1}},
        {"max_leaf_nodes": 700, "loss": "absolute_error"},
    ],
    ids=["defaults", "few columns", "no limit on leaves", "many leaves"],
)
def test_boosted_trees_are_the_same_bytes_for_1_2_3_and_7_threads(settings, monkeypatch):
    X, y = table()
    found = set()
    for count in (1, 2, 3, 7):
        monkeypatch.setattr(parallel, "threads", lambda count=count: count)
        model = HistGradientBoostingRegressor(max_iter=2, categorical_features=[3], random_state=0, **settings)
        if "monotonic_cst" in settings:
            model.set_params(monotonic_cst=[1, 0, 0, 0, 0, 0, 0, 0])
        found.add(boosted(model, X, y))
    assert len(found) == 1


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_fits_inside_joblib_give_the_same(backend):
    X, y = table(20_000)
    expected = boosted(HistGradientBoostingClassifier(max_iter=3, random_state=0), X, y > 1)
    jobs = [delayed(boosted)(HistGradientBoostingClassifier(max_iter=3, random_state=0), X, y > 1) for _ in range(4)]
    assert Parallel(n_jobs=2, backend=backend)(jobs) == [expected] * 4
