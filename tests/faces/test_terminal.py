"""What a user sees on the terminal: signs of life, the plan, long names, comparisons that agree with their tables."""

import json
import re
import time

import numpy as np
import pytest
from typer.testing import CliRunner

from fivefold.cli import progress_bar as progress
from fivefold.cli import study_session
from fivefold.cli.app import app
from fivefold.cli.commands import predict as predict_command
from fivefold.cli.commands import report as report_command
from fivefold.evaluation.comparison import against_control, friedman_test
from fivefold.study import outputs, report
from fivefold.study.models import scoring, winner

WAIT_SECONDS = 60.0  # a sign of life that takes longer never comes


def run(*words, width=120, **environment):
    return CliRunner().invoke(app, list(map(str, words)), env={"COLUMNS": str(width), **environment})


def table(tmp_path, n=60, **columns):
    """A CSV file of two classes, with columns `name=function of the row`."""
    made = {"x": lambda i: i * 37 % 61 + 30 * (i % 2), **columns, "y": lambda i: "ab"[i % 2]}
    lines = [",".join(str(make(i)) for make in made.values()) for i in range(n)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join([",".join(made), *lines]) + "\n", encoding="utf-8")
    return path


# No silence


@pytest.fixture
def patient(monkeypatch):
    """`slow(module, name, sign)`: the function of that name lasts until the sign of life was printed."""
    said = []
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.01)
    printed = progress.Console.print
    monkeypatch.setattr(
        progress.Console,
        "print",
        lambda self, *a, **k: (said.append(str(a[0]) if a else ""), printed(self, *a, **k))[1],
    )

    def slow(module, name, sign):
        done = getattr(module, name)

        def waiting(*args, **options):
            end = time.monotonic() + WAIT_SECONDS
            while not any(sign in line for line in said):
                assert time.monotonic() < end, f"nothing was said of {sign!r}"
                time.sleep(0.005)
            return done(*args, **options)

        monkeypatch.setattr(module, name, waiting)

    return slow


def test_every_long_step_of_a_study_gives_signs_of_life(tmp_path, patient):
    """Also after the last fold, and without a terminal."""
    patient(study_session, "load", "reading ")
    patient(study_session, "make_plan", "planning the study: ")
    patient(study_session, "fit_to_budget", "timing the learners on few rows: ")
    patient(study_session, "run_pending", "0 of 6 done after ")
    patient(study_session, "judge_outcomes", "comparing the learners: ")
    patient(outputs, "_winner_or_reason", "fitting GaussianNB, the best learner")
    patient(outputs, "open_holdout", "testing the model on the rows held out")
    patient(report, "write_report", "drawing the report: ")
    options = ["--methods", "GaussianNB", "--folds", "2", "--repeats", "1", "--holdout", "0.2", "--jobs", "1"]
    shown = run("study", table(tmp_path), "--target", "y", *options, "--out", tmp_path / "out")
    assert shown.exit_code == 0, shown.output
    patient(report_command, "read_study_results", "reading the study: ")
    assert run("report", tmp_path / "out").exit_code == 0


def test_other_commands_give_signs_of_life_too(tmp_path, patient):
    path, model = table(tmp_path), tmp_path / "m.skops"
    patient(winner, "fit_method", "fitting GaussianNB: ")
    assert run("fit", "GaussianNB", path, "--target", "y", "--out", model).exit_code == 0
    patient(predict_command, "prediction_frame", "predicting ")
    assert run("predict", model, path).exit_code == 0
    patient(scoring, "evaluate_model", "evaluating ")
    assert run("evaluate", model, path).exit_code == 0


def test_signs_of_life_are_less_than_five_seconds_apart():
    """Also where one step ends and the next one begins."""
    assert progress.SECONDS_BEFORE_FIRST_LINE + progress.SECONDS_BETWEEN_LINES < 5


def test_a_step_that_takes_longer_than_it_should_is_not_said_to_end_at_once(capsys, monkeypatch):
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.01)
    with progress.progress_bar(2, title="timing") as tick:
        tick("Ridge", left=1e-9)
        said, end = "", time.monotonic() + WAIT_SECONDS
        while "timing: 1 of 2 done after" not in said:
            assert time.monotonic() < end, "nothing was said"
            time.sleep(0.005)
            said += capsys.readouterr().err
    assert "left" not in said


def test_lines_of_steps_are_as_far_apart_as_signs_of_life(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 300.0)  # so long that no sign of life comes in between
    monkeypatch.setattr(progress, "SECONDS_BEFORE_FIRST_LINE", 300.0)
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with progress.progress_bar(9, lines=True) as tick:
        for step in range(1, 10):
            now[0] = 100.0 * step
            tick(f"learner {step}", left=0.0)
    shown = [line.partition(" done")[0] for line in capsys.readouterr().err.splitlines()]
    assert shown == ["1 of 9", "4 of 9", "7 of 9", "9 of 9"]


def test_on_a_terminal_the_step_and_its_time_are_shown_in_place(capsys):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORCE_COLOR", "1")
        patch.setenv("TERM", "xterm")
        with progress.activity("reading [t].csv") as step:
            step("planning")
        with progress.progress_bar(3, title="timing") as tick:
            tick("Ridge")
    shown = capsys.readouterr().err
    for words in ("planning", "timing", "0:00:0", "1/3", "Ridge"):
        assert words in shown


def test_a_step_that_ends_at_once_says_nothing_without_a_terminal(capsys):
    with progress.activity("reading") as step:
        step("planning")
    assert capsys.readouterr().err == ""


# The plan


DRY = ["--target", "y", "--methods", "GaussianNB", "--dry-run"]


def test_the_plan_names_groups(tmp_path):
    shown = run("study", table(tmp_path, patient=lambda i: f"p{i // 5}"), *DRY, "--group", "patient")
    assert "12 groups of 'patient': the rows of a group are never in both parts of a split" in shown.stdout


def test_the_plan_names_copies(tmp_path):
    shown = run("study", table(tmp_path, 80, x=lambda i: i % 60 * 37 % 61 + 0.5, z=lambda i: i % 60), *DRY)
    assert "20 rows equal an earlier one in all columns: they share its part of every split" in shown.stdout


def test_the_plan_names_the_order_of_time(tmp_path):
    path = table(tmp_path, day=lambda i: f"2020-{i // 28 + 1:02d}-{i % 28 + 1:02d}")
    shown = run("study", path, *DRY, "--time", "day", "--holdout", "0.2")
    assert "in order of 'day': training rows come before test rows, the hold-out is the latest part" in shown.stdout


# Long names


@pytest.mark.usefixtures("without_report")
def test_long_names_push_no_column_out(tmp_path):
    """With the whole name, of 59 letters, there would be no room for the accuracy."""
    names = "GaussianNB,sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis"
    options = ["--target", "y", "--folds", "2", "--repeats", "1", "--jobs", "1", "--methods", names]
    shown = run("study", table(tmp_path, z=lambda i: i * i % 17), *options, "--out", tmp_path / "out", width=100)
    assert shown.exit_code == 0, shown.output
    lines = shown.stdout.splitlines()
    head = next(i for i, line in enumerate(lines) if "95 % interval" in line)
    assert "accuracy" in lines[head] and max(map(len, lines[head : head + 6])) <= 100
    row = next(line for line in lines[head:] if "…" in line)
    assert row.strip(" ★≈?").startswith("sklearn") and "DiscriminantAnalysis " in row
    assert re.search(r"\d\.\d{3} +\d\.\d{3} – \d+\.\d{3}", row)  # nothing of the numbers is cut


# Comparisons


def results_file(folder, data, means, score="log_loss"):
    """As much of results.json as a comparison reads."""
    folder.mkdir()
    learners = [
        {"name": name, "status": "ok", "baseline": False, "summary": {score: {"mean": mean}}}
        for name, mean in means.items()
    ]
    content = {"data": {"name": data, "digest": data}, "plan": {"scores": [score]}, "learners": learners}
    (folder / "results.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


def compared(tmp_path, losses, names, width=120, data="set"):
    """What `compare` shows of studies with these losses, (studies, learners)."""
    folders = [
        results_file(tmp_path / f"s{i}", f"{data} {i}", dict(zip(names, map(float, row), strict=True)))
        for i, row in enumerate(losses)
    ]
    shown = run("compare", *folders, "--out", tmp_path / "c.html", width=width)
    assert shown.exit_code == 0, shown.output
    return shown.stdout


def table_of(shown):
    """The lines above the first empty one."""
    lines = shown.splitlines()
    return lines[: lines.index("")]


def significant_gap(seed, k=5, sets=14):
    """Losses where Holm's p against the first is below 5 % for some learner and Nemenyi's is not."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(sets, k)) + 0.45 * np.arange(k)


def test_what_compare_says_is_what_its_table_shows(tmp_path):
    names = [f"L{j}" for j in range(5)]
    for seed in range(100):
        losses = significant_gap(seed)
        test = friedman_test(losses, names, range(len(losses)), larger_is_better=False)
        best = names[int(np.argmin(test.mean_ranks))]
        gaps = {n: r - min(test.mean_ranks) for n, r in zip(names, test.mean_ranks, strict=True)}
        by_holm = {name for name, p in against_control(test, best).items() if p <= 0.05}
        by_gap = {name for name, gap in gaps.items() if gap > test.critical_difference}
        if test.rejected and by_gap and by_holm != by_gap:
            break
    else:
        pytest.fail("no such losses")
    shown = compared(tmp_path, losses, names)
    rows = [line.split() for line in table_of(shown) if re.match(r"L\d ", line)]
    assert rows[0][0] == best and rows[0][2] == "best"
    below = {row[0] for row in rows[1:] if row[2] == "<" or float(row[2]) <= 0.05}
    sentence = re.search(r"is significantly better than ([^.]+)\.", " ".join(shown.split()))[1]
    assert set(re.findall(r"L\d", sentence)) == below == by_gap


def test_where_the_learners_are_not_told_apart_there_are_no_p_values(tmp_path):
    rng = np.random.default_rng(1)
    shown = compared(tmp_path, rng.normal(size=(12, 3)), ["L0", "L1", "L2"])
    assert "The learners are not significantly different." in " ".join(shown.split())
    assert "Nemenyi" not in shown and "Nemenyi" not in (tmp_path / "c.html").read_text(encoding="utf-8")


def test_learners_that_share_the_best_mean_rank_are_all_named(tmp_path):
    losses = [[1.0, 2.0, 3.0], [2.0, 1.0, 3.0]] * 6
    shown = " ".join(compared(tmp_path, losses, ["L0", "L1", "L2"]).split())
    assert "L0 and L1 share the best mean rank, 1.50." in shown


@pytest.mark.parametrize("width", [60, 100, 400])
def test_compare_says_which_data_sets_it_does_not_show(tmp_path, width):
    shown = compared(tmp_path, np.arange(24).reshape(8, 3), ["L0", "L1", "an.estimator." + "x" * 60], width, "table")
    count = table_of(shown)[0].count("table")
    said = " ".join(shown.split())
    if width == 400:
        assert count == 8 and "not shown" not in said
    else:
        assert 0 < count < 8
        assert f"{8 - count} of 8 data sets are not shown, table {count}" in said
    assert max(map(len, table_of(shown))) <= width
