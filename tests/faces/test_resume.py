"""A study that is killed, interrupted or resumed: nothing finished is done again, and the table is the same.

The learners are spies: each fit appends (learner, seed of the fold, rows, process) to a file. The seed names the fold;
of the fits with it, the one on all its training rows is the last.
"""

import json
import os
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from fivefold.study.planning.splits import derive_seed

SPIES = r'''
import os, time
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

def fits():
    """How many fits of folds, inner ones included, there were."""
    with open(os.environ["SPIES"]) as file:
        return sum(line.split()[1] in os.environ["SEEDS"].split() for line in file)

class Spy(ClassifierMixin, BaseEstimator):
    """Nearest mean, in the words of a probability."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        with open(os.environ["SPIES"], "a") as file:
            file.write(f"{type(self).__name__} {self.random_state} {len(X)} {os.getpid()}\n")
        time.sleep(float(os.environ["PAUSE"]))
        while fits() >= float(os.environ["STOP"]):
            time.sleep(0.01)  # until it is killed
        self.classes_ = np.unique(y)
        self.means_ = np.array([X[y == k].mean(axis=0) for k in self.classes_])
        return self

    def predict_proba(self, X):
        P = np.exp(-((X[:, None] - self.means_) ** 2).mean(axis=2))
        return P / P.sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

class Dull(Spy):
    """The same with its eyes half shut."""

    def predict_proba(self, X):
        return super().predict_proba(X / 4)
'''
FOLDS, REPEATS, TRAINING_ROWS = 3, 2, 60
LONG = 300.0  # seconds: what takes longer hangs, however busy the machine is
LEARNERS = 4  # the spies and two baselines
SEEDS = [
    derive_seed(0, repeat, fold) for repeat in range(REPEATS) for fold in range(FOLDS)
]  # in the order of the splits


@dataclass(frozen=True)
class Place:
    """A folder with a table, the spies and what they wrote."""

    folder: Path
    pause: float = 0.02  # seconds that a fit takes at least
    parents: list[int] = field(default_factory=list)  # the commands run here; they fit for the report

    @property
    def log(self):
        """What spies wrote of the folds: learner, seed, rows, process."""
        log = self.folder / "seen.txt"
        lines = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
        numbers = [(name, int(seed), int(n), int(pid)) for name, seed, n, pid in lines]
        return [line for line in numbers if line[1] in SEEDS]

    @property
    def seen(self):
        """What spies in workers wrote of the folds: learner, seed, rows."""
        return [(name, seed, n) for name, seed, n, pid in self.log if pid not in self.parents]

    def start(self, out, jobs, *more, fits=np.inf):
        """The study, as a process whose spies wait to be killed when they have made so many fits more."""
        words = ["study", "table.csv", "--target", "y", "--methods", "spies.Spy,spies.Dull", "--out", out]
        return self.command(*words, *f"--folds {FOLDS} --repeats {REPEATS} --jobs {jobs}".split(), *more, fits=fits)

    def command(self, *words, fits=np.inf):
        process = self.python("fivefold", *words, fits=fits)
        self.parents.append(process.pid)
        return process

    def python(self, module, *words, fits=np.inf):
        """A module as a process that can import the spies."""
        path = os.pathsep.join([str(self.folder), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = {"PYTHONPATH": path, "SPIES": str(self.folder / "seen.txt"), "PAUSE": str(self.pause)}
        environment |= {"STOP": str(len(self.log) + fits), "SEEDS": " ".join(map(str, SEEDS))}
        return subprocess.Popen(
            [sys.executable, "-m", module, *words],
            cwd=self.folder,
            env=os.environ | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    @contextmanager
    def cluster(self, name, fits=np.inf):
        """A scheduler of Dask and one worker, as processes; the scheduler and its address."""
        file, here = self.folder / f"{name}.json", ["--host", "127.0.0.1", "--no-dashboard"]
        scheduler = self.python("distributed.cli.dask_scheduler", *here, "--port", "0", "--scheduler-file", str(file))
        worker = self.python("distributed.cli.dask_worker", "--scheduler-file", str(file), "--no-nanny", fits=fits)
        try:
            deadline = time.monotonic() + LONG
            while not file.exists() and time.monotonic() < deadline:
                time.sleep(0.05)
            yield scheduler, json.loads(file.read_text())["address"]
        finally:
            for process in (worker, scheduler):
                process.kill()
                process.communicate()

    def finish(self, out, jobs, *more):
        """Run to the end; the bytes of the table."""
        with self.start(out, jobs, *more) as process:
            shown = process.communicate()[0]
        assert process.returncode == 0, shown
        return (self.folder / out / "results.json").read_bytes()

    def wait(self, process, fits):
        """Until the spies have seen so many fits, where they stop; the process cannot end before."""
        while len(self.seen) < fits and process.poll() is None:
            time.sleep(0.02)
        assert process.poll() is None, process.communicate()[0]

    def finished(self, out):
        """Learner and split of every fold in the journal."""
        file = self.folder / out / "journal.sqlite"
        if not file.exists():
            return set()
        with closing(sqlite3.connect(file)) as journal:
            made = journal.execute("SELECT 1 FROM sqlite_master").fetchone()
            return set(journal.execute("SELECT learner, split FROM folds")) if made else set()


@pytest.fixture
def place(tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{x:.4f},{z:.4f},{'ab'[int(x + z > 0)]}" for x, z in rng.normal(size=(TRAINING_ROWS * 3 // 2, 2))]
    (tmp_path / "table.csv").write_text("\n".join(["x,z,y", *rows]) + "\n")
    (tmp_path / "spies.py").write_text(SPIES)
    return Place(tmp_path)


def children(pid):
    """Processes that this one started and that run."""
    found = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(word) for word in found.read_text().split()] if found.exists() else []


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def killed(process):
    """Kill the parent only; the workers end by themselves."""
    workers, deadline = children(process.pid), time.monotonic() + LONG
    process.kill()
    while any(map(alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(map(alive, workers))
    process.communicate()  # returns when nobody holds the other end


def spied(finished):
    """The folds of spies among those of a journal, as spies name them."""
    return {(name.removeprefix("spies."), SEEDS[split]) for name, split in finished if name.startswith("spies.")}


def assert_each_finished_fold_ran_once(kills, seen):
    """A kill is what the journal held and how much the spies had seen by then; what it held never ran again.

    Until it was held it may have run more than once: whatever was running at a kill begins anew.
    """
    known, start = set(), 0
    for finished, position in kills:
        ends = [(name, seed) for name, seed, n in seen[start:position] if n == TRAINING_ROWS]
        new = spied(finished) - known
        assert {fold: ends.count(fold) for fold in new} == dict.fromkeys(new, 1)
        known, start = known | new, position
        assert not known & {(name, seed) for name, seed, _ in seen[position:]}


def test_a_study_killed_three_times_does_nothing_twice_and_gives_the_same_table(place):
    reference = place.finish("whole", 1)
    start, kills = len(place.seen), []
    for jobs, fits in ((2, 14), (1, 26), (2, 38)):  # of 48 in all, inner ones included
        process = place.start("killed", jobs, "--resume", fits=start + fits - len(place.seen))
        place.wait(process, start + fits)
        killed(process)
        kills.append((place.finished("killed"), len(place.seen) - start))
    assert place.finish("killed", 1, "--resume") == reference
    assert 0 < len(kills[0][0]) < len(kills[1][0]) < len(kills[2][0]) < len(SEEDS) * LEARNERS  # each went on
    assert_each_finished_fold_ran_once(kills, place.seen[start:])


@pytest.mark.slow
def test_a_study_whose_scheduler_is_killed_goes_on_with_another_and_gives_the_same_table(place):
    reference = place.finish("whole", 1)
    start = len(place.seen)
    with place.cluster("first", fits=14) as (scheduler, address):
        process = place.start("killed", 1, "--cluster", address)
        place.wait(process, start + 14)
        scheduler.kill()
        shown = process.communicate(timeout=LONG)[0]
    assert process.returncode == 2, shown
    assert "is gone" in shown and "--resume" in shown
    finished, position = place.finished("killed"), len(place.seen) - start
    assert finished
    with place.cluster("second") as (_, address):
        assert place.finish("killed", 1, "--resume", "--cluster", address) == reference
    assert_each_finished_fold_ran_once([(finished, position)], place.seen[start:])


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_study_killed_at_any_of_twenty_moments_gives_the_same_table(place, jobs):
    """The moments are spread over the length of an undisturbed run, its start and its end included."""
    place = replace(place, pause=0.1)
    lengths, held = [], []
    for i in range(2):  # the first also fills the caches of files
        began = time.monotonic()
        reference = place.finish(f"whole {i}", jobs)
        lengths.append(time.monotonic() - began)
    length = min(lengths)
    for i in range(20):
        out, start = f"killed {i}", len(place.seen)
        process = place.start(out, jobs)
        time.sleep(length * (i + 0.5) / 20)
        killed(process)
        kill = (place.finished(out), len(place.seen) - start)
        assert place.finish(out, jobs, "--resume") == reference
        assert_each_finished_fold_ran_once([kill], place.seen[start:])
        held.append(len(kill[0]))
    print(f"{jobs} jobs, {length:.1f} s: folds held at the kills {held}")
    assert len(set(held)) > 3  # the moments differ


def test_control_c_keeps_what_is_finished_and_says_how_to_go_on(place):
    process = place.start("broken off", 1, fits=12)
    place.wait(process, 12)
    workers = children(process.pid)
    process.send_signal(signal.SIGINT)
    shown = process.communicate()[0]
    assert process.returncode == 130
    assert not any(map(alive, workers))
    assert "Traceback" not in shown
    command = re.search(r"continue with: fivefold (study --resume .*)", shown)[1]
    finished, position = place.finished("broken off"), len(place.seen)
    assert finished
    with place.command(*shlex.split(command)) as process:
        shown = process.communicate()[0]
    assert process.returncode == 0, shown
    assert_each_finished_fold_ran_once([(finished, position)], place.seen)
    assert len(place.finished("broken off")) == len(SEEDS) * LEARNERS
