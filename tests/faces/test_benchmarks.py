"""The benchmark harness on toy cases; the figures themselves come from `make bench`."""

import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.utils import get_tags
from tables import build

from benchmarks import threads
from benchmarks.__main__ import THREADS, main
from benchmarks.harness import (
    OURS,
    Absent,
    Case,
    Data,
    Disagreement,
    as_good,
    cases,
    data,
    measure,
    no_worse,
    race,
    report,
    run,
    same,
    same_output,
)
from benchmarks.harness import agree as agreements
from benchmarks.harness.case import chosen
from benchmarks.harness.probe import ROOT, last_words, peak_growth, toy
from fivefold.core.registry import methods


def finder(answer):
    """A contestant that finds `answer`."""
    return lambda table: lambda: np.array([answer])


def missing(table):
    raise Absent("not installed")


TOY = Case(
    "toy",
    lambda n: Data(np.zeros((n, 2))),
    4000,
    {"slow": finder(1.0), "slower": finder(1.0), "absent": missing, OURS: finder(1.0)},
    same_output(),
    2.0,
)
SECONDS = {"slow": 0.03, "slower": 0.05, "odd": 0.001, OURS: 0.01}


@pytest.fixture
def alone(monkeypatch):
    """Times as SECONDS says, and no fresh processes, which know only the real cases."""

    def timed(calls, **options):
        return {name: race.Timing(SECONDS[name], SECONDS[name], 3, 0.0) for name in calls}

    monkeypatch.setattr(measure, "race", timed)
    needs = {"slow": 3.0, "slower": 3.0, OURS: 1.0}
    monkeypatch.setattr(
        measure,
        "_memory",
        lambda case, rival, rows: {"MB": needs, "data MB": 2.0, **measure.allowed(case.memory, needs, 2.0)},
    )


def test_the_fastest_rival_that_agrees_sets_the_ratio(alone):
    row = measure.speed(TOY)
    assert row["rival"] == "slow" and set(row["seconds"]) == {"slow", "slower", OURS}
    assert row["ratio"] == pytest.approx(3.0) and row["met"]
    assert not measure.speed(replace(TOY, bar=4.0))["met"]


@pytest.mark.parametrize(("most", "met"), [(1, True), (0.4, False), ("slow", True), (OURS, True)])
def test_memory_is_judged_by_the_data_or_by_a_rival(alone, tmp_path, most, met):
    row = measure.guarded(measure.speed, replace(TOY, memory=most))
    assert row["memory"]["met"] is met
    report.write({"machine": report.machine(2), "speed": {"toy": row}}, tmp_path)
    text = (tmp_path / "docs" / "benchmarks.md").read_text()
    assert f"Of memory {int(met)} of 1 are met." in text and ("NOT MET" in report.line("speed", "toy", row)) is not met


def test_a_quick_run_judges_no_bar(alone):
    assert measure.speed(TOY, quick=True)["met"] is None


def test_a_wrong_answer_fails_the_row_and_has_no_figures(alone):
    wrong = replace(TOY, contestants={**TOY.contestants, OURS: finder(1.1)})
    row = measure.guarded(measure.speed, wrong)
    assert row["failed"].startswith("no agreement") and "seconds" not in row
    assert "FAILED" in report.line("speed", "toy", row)


def test_a_second_rival_that_does_other_work_is_left_out(alone):
    odd = replace(TOY, contestants={"slow": finder(1.0), "odd": finder(7.0), OURS: finder(1.0)})
    row = measure.speed(odd)
    assert row["rival"] == "slow" and "odd" in row["left out"]


def test_an_error_of_ours_is_told_without_paths_of_the_machine(alone):
    def broken(table):
        raise ImportError("cannot import name 'X' from 'fivefold.x' (/home/someone/fivefold/x.py)\nmore")

    row = measure.guarded(measure.speed, replace(TOY, contestants={**TOY.contestants, OURS: broken}))
    assert row["failed"] == "ImportError: cannot import name 'X' from 'fivefold.x'"


def test_a_noisy_repetition_is_thrown_away_and_done_again(monkeypatch):
    load = iter([0.0, 0.0, 0.0, 100.0] + [100.0] * 100)  # the first repetition alone sees foreign work
    monkeypatch.setattr(race, "_busy", lambda: next(load))
    monkeypatch.setattr(race, "SPAN", 0.0)
    monkeypatch.setattr(race, "REST", 0.0)
    times = race._Times(lambda: None, retries=4)
    times.add(lambda: None)
    assert times.seconds == [] and times.retries == 3
    times.add(lambda: None)
    assert len(times.seconds) == 1 and not times.summary().noisy


def test_a_call_that_only_other_processes_made_slow_is_not_timed_once(monkeypatch):
    seconds = iter([(30.0, 1.0), (0.4, 0.0)])
    monkeypatch.setattr(race, "_metered", lambda call, inner: next(seconds))
    monkeypatch.setattr(race, "REST", 0.0)
    times = race._Times(lambda: None, retries=4)
    assert not times.slow and times.retries == 3 and times.seconds == []


@pytest.mark.parametrize("loaded", ["the size of the bar", "another size"])
def test_a_noisy_row_meets_no_bar(monkeypatch, alone, loaded):
    quiet, races = measure.race, []

    def timed(calls, **options):
        races.append(len(races) == (0 if loaded == "the size of the bar" else 1))
        return {name: replace(timing, foreign=float(races[-1])) for name, timing in quiet(calls).items()}

    monkeypatch.setattr(measure, "race", timed)
    row = measure.speed(TOY)
    assert len(races) == 3 and row["noisy"] and row["ratio"] >= TOY.bar and not row["met"]


def test_a_slow_contestant_is_called_once_and_the_page_says_so(monkeypatch, alone, tmp_path):
    calls = []
    timing = race.race({"a": lambda: calls.append(time.sleep(0.02))}, repeats=3, retries=0, slow=0.01)["a"]
    assert len(calls) == timing.repeats == 1 and timing.median >= 0.02
    row = measure.guarded(measure.speed, TOY)
    row["repeats"] = {**row["repeats"], "slower": 1}
    assert "slower timed once" in report.line("speed", "toy", row)
    report.write({"machine": report.machine(2), "speed": {"toy": row}}, tmp_path)
    assert "slower is timed once in toy." in (tmp_path / "docs" / "benchmarks.md").read_text()


def test_load_that_stays_is_flagged(monkeypatch):
    clock = iter(range(0, 10_000, 50))
    monkeypatch.setattr(race, "_busy", lambda: float(next(clock)))
    monkeypatch.setattr(race, "REST", 0.0)
    monkeypatch.setattr(race, "SPAN", 0.0)
    timing = race.race({"a": lambda: time.sleep(0.01)}, repeats=3)["a"]
    assert timing.repeats == 3 and timing.noisy


def test_contestants_take_turns(monkeypatch):
    monkeypatch.setattr(race, "SPAN", 0.0)
    order = []
    race.race({name: lambda name=name: order.append(name) for name in "ab"}, repeats=3, retries=0)
    assert "".join(order) == "abababab"  # once to see how long it takes, then three repetitions


def test_the_exponent_of_a_power_law_is_its_power():
    assert race.exponent({n: 3e-6 * n**1.5 for n in (100, 200, 400)}) == pytest.approx(1.5)


def test_peak_memory_counts_what_was_freed_before_the_end():
    megabytes = 64
    growth = peak_growth(lambda: float(np.ones(megabytes * 131072).sum()))  # freed inside the call
    # The rest of the process may move by a few pages.
    assert growth / 2**20 == pytest.approx(megabytes, rel=0.15)


@pytest.mark.parametrize(
    ("check", "ours", "agrees"),
    [
        (as_good(lambda table, value: value, rtol=1e-3), 1.0005, True),
        (as_good(lambda table, value: value, rtol=1e-3), 0.9, False),
        (no_worse(lambda table, value: value, slack=0.1), 0.5, True),
        (no_worse(lambda table, value: value, slack=0.1), 1.2, False),
        (no_worse(lambda table, value: value, slack=0.1), float("nan"), False),
        (same("real"), complex(1.0, 3.0), True),
        (same("real", "imag"), complex(1.0, 3.0), False),
        (agreements.both(same("real"), same("imag")), complex(1.0, 3.0), False),
    ],
)
def test_agreement_is_asked_within_the_tolerance_and_not_beyond(check, ours, agrees):
    if agrees:
        assert check(Data(None), ours, 1.0)
    else:
        with pytest.raises(Disagreement):
            check(Data(None), ours, 1.0)


def test_predictions_are_compared_row_by_row():
    a, b = np.arange(10), np.arange(10)
    b[0] = 5
    assert agreements.same_predictions(0.9)(Data(None), a, b)
    with pytest.raises(Disagreement, match="90"):
        agreements.same_predictions(0.95)(Data(None), a, b)


@pytest.mark.parametrize(
    "table",
    [
        lambda: data.classes(200, 20, 4, redundant=4),
        lambda: data.blobs(200, 3, 4, 1.0),
        lambda: data.uniform(200, 3),
        lambda: data.linear(200, 3),
        lambda: data.spectrum(200, 30),
        lambda: data.binary(200, 3, 4),
        lambda: data.levels(200, 3, 2, 4),
        lambda: data.text(200, 300, 3),
    ],
)
def test_tables_are_the_same_in_every_run(table):
    first, second = table(), table()
    assert (first.X != second.X).sum() == 0 and len(first.X.shape) == 2 and first.X.shape[0] == 200
    assert first.nbytes > 0


def test_every_case_has_a_name_of_its_own_a_rival_and_us():
    assert len({case.name for case in cases()}) == len(cases()) > 20
    for case in cases():
        assert OURS in case.contestants and case.rivals and case.bar > 0, case.name


def test_every_tree_and_every_ensemble_has_a_row_of_its_own():
    rows = {case.name.split()[0] for case in cases()}
    wanted = {method.name for method in methods() if method.chapter in ("tree", "ensemble")}
    assert wanted <= rows, sorted(wanted - rows)


def test_a_bar_of_memory_names_a_contestant_of_its_row():
    judged = [case for case in cases() if case.memory is not None]
    assert judged and all(not isinstance(case.memory, str) or case.memory in case.rivals for case in judged)


def test_words_choose_rows_whatever_their_letter_case():
    assert chosen(["PCA fit", "KMeans fit"], ["pca"]) == ["PCA fit"]
    assert chosen(["PCA fit", "KMeans fit"], []) == ["PCA fit", "KMeans fit"]


def test_a_row_replaces_its_elder_and_keeps_the_others(alone, tmp_path):
    row = measure.guarded(measure.speed, TOY)
    results = report.merged({"machine": report.machine(2)}, "speed", "toy", row)
    results = report.merged(results, "speed", "other", {"failed": "no agreement", "date": "2026-01-01"})
    results = report.merged(results, "speed", "toy", {**row, "ratio": 1.5, "met": False})
    report.write(results, tmp_path)
    kept = report.load(tmp_path)
    assert list(kept["speed"]) == ["toy", "other"] and kept["speed"]["toy"]["ratio"] == 1.5
    text = (tmp_path / "docs" / "benchmarks.md").read_text()
    assert "0 of 1 bars are met. Not met: toy." in text and "**other failed:** no agreement" in text
    assert "| toy" in text and "1.5x" in text


@pytest.mark.usefixtures("environment")
def test_a_run_that_is_stopped_keeps_the_rows_of_the_one_before(alone, tmp_path, monkeypatch):
    def stopped():
        raise KeyboardInterrupt

    old = {"failed": "old", "date": "2026-01-01"}
    report.write({"machine": report.machine(2), "speed": dict.fromkeys(("gone", "second", "first"), old)}, tmp_path)
    row = {"failed": "new", "date": "2026-01-02"}
    todo = [("speed", "first", lambda: row), ("speed", "second", stopped)]
    monkeypatch.setattr(run, "jobs", lambda **options: todo)
    everything = {"quick": False, "repeats": 3, "threads": 2, "out": tmp_path}
    with pytest.raises(KeyboardInterrupt):
        run.run([], **everything)
    kept = report.load(tmp_path)["speed"]
    assert list(kept) == ["first", "second", "gone"]  # in the order of the benchmarks, those unknown last
    assert [kept[name]["failed"] for name in kept] == ["new", "old", "old"]
    todo[1] = ("speed", "second", lambda: row)
    assert run.run([], **everything) == 1
    assert {name: row["failed"] for name, row in report.load(tmp_path)["speed"].items()} == {
        "first": "new",
        "second": "new",
    }


def test_a_small_table_suits_every_method():
    for method in methods():
        model = build((method, method.card.given))
        X, y = toy(model)
        tags = get_tags(model).target_tags
        assert len(X) == len(y) and (y.ndim == 1) == tags.single_output, method.name
        assert y.min() > 0 or not tags.positive_only, method.name


def test_the_last_line_of_a_traceback_is_found():
    assert (
        last_words("Traceback (most recent call last):\n  File x\nValueError: bad [1\n   2]\n") == "ValueError: bad [1"
    )


def test_the_page_is_the_one_made_from_the_results():
    results, document = ROOT / "benchmarks" / "results.json", ROOT / "docs" / "benchmarks.md"
    text = results.read_text()
    assert document.read_text() == report.page(json.loads(text))
    assert str(Path.home()) not in text and str(ROOT) not in text


@pytest.fixture
def environment(monkeypatch):
    """The command sets the number of threads for its own process: put it back afterwards."""
    for name in THREADS:
        monkeypatch.setenv(name, "")


@pytest.mark.usefixtures("environment")
def test_the_command_names_its_rows_and_refuses_an_unknown_one(capsys):
    assert main(["--list", "import fivefold"]) == 0
    assert capsys.readouterr().out.splitlines() == ["import fivefold"]
    with pytest.raises(SystemExit, match="--list"):
        main(["no such row", "--quick"])


@pytest.mark.usefixtures("environment")
def test_a_quick_run_of_imports_ends_well_and_writes_where_told(tmp_path):
    assert main(["import fivefold", "--quick", "--out", str(tmp_path)]) == 0
    assert "import fivefold" in json.loads((tmp_path / "benchmarks" / "results.json").read_text())["imports"]


def test_the_table_of_threads_has_a_row_per_library(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["threads", "--threads", "1,2", "--only", "pca", "--rows", "300", "--repeats", "1"])
    threads.main()
    head, _, *rows = capsys.readouterr().out.splitlines()
    assert head == "| fit | library | 1 thread | 2 threads |"
    assert [row.split(" | ")[1] for row in rows] == ["fivefold", "sklearn"]
    assert all(row.startswith("| PCA, 300 x 30 | ") and row.count("|") == 5 for row in rows)
