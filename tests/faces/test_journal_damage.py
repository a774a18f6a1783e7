"""A damaged journal: what is sound is kept, what is lost is named and done again, and no result is ever another."""

import json
import os
import random
import shutil
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from typer.testing import CliRunner

from fivefold.cli.app import app
from fivefold.study.planning.plan import make_plan
from fivefold.study.running.journal import JOURNAL_FILE, Journal, JournalEntry
from fivefold.study.running.resumption import initial_record, restore_plan
from fivefold.study.running.run import make_workers, pending_folds, read_outcomes, run_pending
from fivefold.study.tables.dataset import BadInput, load

LEARNERS = ("GaussianNB", "LinearDiscriminantAnalysis")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished journal, its data, and all that it says."""
    path, data = tmp_path_factory.mktemp("study") / JOURNAL_FILE, load("iris")
    plan = make_plan(data, LEARNERS, folds=2, repeats=2)
    with Journal.create(path, initial_record(plan, {"data": "iris"})) as journal, make_workers(data, 1) as workers:
        run_pending(plan, journal, workers)
        journal.put("sessions", [{"jobs": 1}])
        said = spoken(plan, journal)
    return path, data, said


def spoken(plan, journal):
    """Everything that a journal says of its folds, as text."""
    entries = [entry for learner in plan.learners for entry in journal.entries_of(learner.name)]
    arrays = [{name: (str(a.dtype), a.tolist()) for name, a in entry.arrays.items()} for entry in entries]
    return {
        (entry.learner, entry.split): json.dumps(
            [entry.fate, entry.reason, entry.found, kept, entry.warnings, entry.seconds]
        )
        for entry, kept in zip(entries, arrays, strict=True)
    }


def after(path, data, said):
    """What becomes of a journal: refused in words, mended or untouched; asserts that nothing in it is another."""
    try:
        journal = Journal.open(path)
    except BadInput as error:
        assert str(path) in str(error)
        assert path.exists()
        return "refused"
    assert journal is not None, "a damaged journal was taken for none"
    with journal:
        plan = restore_plan(data, journal)
        now = spoken(plan, journal)
        assert now.items() <= said.items()
        assert {(name, i) for name, i in pending_folds(plan, journal)} == set(said) - set(now)
        assert journal.get("sessions") in (None, [{"jobs": 1}])
        read_outcomes(plan, journal)
        return "mended" if journal.notes else "untouched"


def flipped(finished, folder, flips, seed):
    """What became of copies of a journal with one bit flipped each."""
    source, data, said = finished
    content, rng = source.read_bytes(), random.Random(seed)
    became = {"refused": 0, "mended": 0, "untouched": 0}
    for i in range(flips):
        path = folder / f"{i}" / JOURNAL_FILE
        path.parent.mkdir()
        altered, bit = bytearray(content), rng.randrange(8 * len(content))
        altered[bit // 8] ^= 1 << bit % 8
        path.write_bytes(altered)
        became[after(path, data, said)] += 1
        shutil.rmtree(path.parent)
    return became


def test_a_flipped_bit_never_gives_another_result_or_a_traceback(finished, tmp_path):
    became = flipped(finished, tmp_path, 60, seed=0)
    assert became["mended"] > 0


@pytest.mark.slow
def test_two_thousand_flipped_bits_never_give_another_result_or_a_traceback(finished, tmp_path):
    became = flipped(finished, tmp_path, 2_000, seed=1)
    print(became)
    assert min(became.values()) > 0 and sum(became.values()) == 2_000


def test_a_damaged_page_costs_its_folds_and_no_others(finished, tmp_path):
    source, data, said = finished
    content = source.read_bytes()
    kept = set()
    for page in range(1, len(content) // 4096):
        path = tmp_path / str(page) / JOURNAL_FILE
        path.parent.mkdir()
        path.write_bytes(content[: 4096 * page] + b"\x5a" * 4096 + content[4096 * (page + 1) :])
        if after(path, data, said) == "mended":
            assert path.with_name(f"{JOURNAL_FILE}.damaged-1").exists()
            with Journal.open(path) as journal:
                assert journal.notes == ()  # it is whole again
                kept.add(len(journal.fold_fates()))
    assert kept & set(range(1, len(said)))  # some were lost, and others kept


@pytest.mark.parametrize("length", [1, 99, 100, 4096, 5000, 20_000])
def test_a_journal_that_was_cut_is_refused_or_mended(finished, tmp_path, length):
    source, data, said = finished
    path = tmp_path / JOURNAL_FILE
    path.write_bytes(source.read_bytes()[:length])
    assert after(path, data, said) in ("refused", "mended")


def test_a_fold_of_another_study_does_not_count(tmp_path):
    entry = JournalEntry("A", 0, "done", "", {}, {"P": np.eye(2)}, (), 1.0)
    for name, seed in (("a", 1), ("b", 2)):
        with Journal.create(tmp_path / name, {"plan": {"seed": seed}}) as journal:
            if name == "b":
                journal.add_fold(entry)
    with closing(sqlite3.connect(tmp_path / "a")) as other:
        other.execute(f"ATTACH '{tmp_path / 'b'}' AS b")
        other.execute("INSERT INTO folds SELECT * FROM b.folds")
        other.commit()
    with Journal.open(tmp_path / "a") as journal:
        assert journal.fold_fates() == {}
        assert "a fold of 'A'" in journal.notes[0]


def test_permissions_are_called_permissions(finished, tmp_path, monkeypatch):
    """A read-only journal was called damaged, with the advice to overwrite it."""
    path, may = tmp_path / JOURNAL_FILE, os.access
    shutil.copy(finished[0], path)
    for denied in (path, tmp_path):  # root may write whatever the mode
        monkeypatch.setattr(os, "access", lambda asked, mode, denied=denied: asked != denied and may(asked, mode))
        with pytest.raises(BadInput, match="cannot be written .* not damaged") as refused:
            Journal.open(path)
        assert "--overwrite" not in str(refused.value)


def test_a_file_system_that_takes_no_writing_is_not_called_damage(finished, tmp_path, monkeypatch):
    path, connect = tmp_path / JOURNAL_FILE, sqlite3.connect
    shutil.copy(finished[0], path)
    monkeypatch.setattr(sqlite3, "connect", lambda path, **more: connect(f"file:{path}?mode=ro", uri=True, **more))
    with pytest.raises(BadInput, match="cannot be written|cannot be read or written") as refused:
        Journal.open(path)
    assert "--overwrite" not in str(refused.value)


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.usefixtures("without_report")
def test_a_study_goes_on_from_a_damaged_journal_and_gives_the_same_table(tmp_path):
    options = ("--methods", "GaussianNB", "--folds", 2, "--repeats", 1, "--jobs", 1, "--out", tmp_path / "out")
    assert run("study", "iris", *options).exit_code == 0
    table = (tmp_path / "out" / "results.json").read_bytes()
    path = tmp_path / "out" / JOURNAL_FILE
    content = bytearray(path.read_bytes())
    with closing(sqlite3.connect(path)) as journal:
        arrays = journal.execute("SELECT arrays FROM folds WHERE learner = 'GaussianNB'").fetchone()[0]
    pieces = (arrays[at : at + 64] for at in range(0, len(arrays) - 64, 64))
    only = next(piece for piece in pieces if content.count(piece) == 1)  # both learners' arrays begin alike
    content[content.index(only)] ^= 4
    path.write_bytes(content)
    again = run("report", tmp_path / "out")
    assert again.exit_code == 2 and "1 folds are left" in again.stderr and "a fold of 'GaussianNB'" in again.stderr
    shown = run("study", "--resume", "--out", tmp_path / "out")
    assert shown.exit_code == 0, shown.output
    assert (tmp_path / "out" / "results.json").read_bytes() == table


@pytest.mark.usefixtures("without_report")
def test_starting_again_keeps_a_damaged_journal_under_another_name(tmp_path):
    (tmp_path / JOURNAL_FILE).write_bytes(b"no journal" * 100)
    options = ("--methods", "GaussianNB", "--folds", 2, "--repeats", 1, "--jobs", 1, "--out", tmp_path)
    refused = run("study", "iris", *options)
    assert refused.exit_code == 2 and "--overwrite, which keeps this file" in " ".join(refused.stderr.split())
    assert run("study", "iris", *options, "--overwrite").exit_code == 0
    assert (tmp_path / f"{JOURNAL_FILE}.damaged-1").read_bytes() == b"no journal" * 100


DYING = '''
import os, signal
from pathlib import Path
from fivefold.naive_bayes import GaussianNB

class Dying(GaussianNB):
    """Kills its process while there is a file that says so; the file may say how often."""

    def fit(self, X, y):
        order = Path(os.environ["DYING"])
        if order.exists() and (left := int(order.read_text())) > 0:
            order.write_text(str(left - 1))
            os.kill(os.getpid(), signal.SIGKILL)
        return super().fit(X, y)
'''


def told(plan, journal):
    """What a journal says of the folds, but for the times they took."""
    folds = [fold for outcome in read_outcomes(plan, journal) for fold in outcome.folds]
    return [(fold.scores, fold.predicted.tolist(), fold.proba.tolist()) for fold in folds]


def test_a_fold_whose_worker_died_is_tried_again_alone_and_by_resume(tmp_path, monkeypatch):
    """One death, as when memory runs out, dropped the learner for good, and --resume never tried again."""
    (tmp_path / "dying.py").write_text(DYING)
    monkeypatch.setenv("DYING", str(tmp_path / "order"))
    monkeypatch.syspath_prepend(str(tmp_path))
    data, order = load("iris"), tmp_path / "order"
    plan = make_plan(data, ["dying.Dying"], folds=2, repeats=1)
    never, once, always = (Journal.create(":memory:", {}) for _ in range(3))
    with make_workers(data, 2) as workers, never, once, always:
        run_pending(plan, never, workers)
        order.write_text("1")
        run_pending(plan, once, workers)
        assert set(once.fold_fates().values()) == {"done"}
        order.write_text("1000000")
        run_pending(plan, always, workers)
        assert always.fold_fates()["dying.Dying", 0] == always.fold_fates()["dying.Dying", 1] == "died"
        (failed,) = (outcome for outcome in read_outcomes(plan, always) if outcome.failure)
        assert "SIGKILL" in failed.failure and "twice, once while it ran alone" in failed.failure
        assert pending_folds(plan, always, retry=False) == {} and len(pending_folds(plan, always)) == 2
        order.unlink()
        run_pending(plan, always, workers)  # as --resume does
        assert pending_folds(plan, always) == {}
        assert told(plan, never) == told(plan, once) == told(plan, always)
