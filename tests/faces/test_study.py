"""`fivefold study`, end to end, and what it says of imagined outcomes."""

import json
import re
import shlex
import sqlite3
from contextlib import nullcontext
from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from rich.console import Console
from scipy import stats
from study_tables import blobs
from typer.testing import CliRunner

from fivefold.cli import results_table
from fivefold.cli.app import app
from fivefold.cli.progress_bar import progress_bar
from fivefold.study.judging.final_holdout import open_holdout
from fivefold.study.judging.result_files import results_to_json, timing_record, write_results
from fivefold.study.judging.results import judge_outcomes
from fivefold.study.planning.plan import FOLDS, REPEATS, Options, make_plan, plan_from_options
from fivefold.study.running import resumption
from fivefold.study.running.fold import FoldResult
from fivefold.study.running.journal import Journal, JournalEntry
from fivefold.study.running.resumption import initial_record, restore_plan
from fivefold.study.running.run import LearnerOutcome, run_plan
from fivefold.study.tables.dataset import BadInput, load
from fivefold.theory import certify_holdout

SPLITS = FOLDS * REPEATS


def study(*words, width=80):
    """Run the command in this process, its workers in theirs."""
    return CliRunner().invoke(app, ["study", *map(str, words)], env={"COLUMNS": str(width)})


def found(folder):
    return json.loads((folder / "results.json").read_text(encoding="utf-8"))


# A study of wine


@pytest.fixture(scope="module")
def wine(tmp_path_factory):
    """A finished study: what was shown, and its folder."""
    folder = tmp_path_factory.mktemp("wine") / "out"
    shown = study("--methods", "GaussianNB,LinearDiscriminantAnalysis", "--out", folder, "--holdout", 0.2)
    assert shown.exit_code == 0, shown.output
    return shown, folder


def test_a_study_without_data_is_of_wine_and_finds_that_it_can_be_learned(wine):
    shown, folder = wine
    assert found(folder)["data"]["name"] == "wine"
    assert found(folder)["learners"][0]["summary"]["accuracy"]["mean"] > 0.95
    for words in (
        "GaussianNB",
        "95 % interval",
        "(baseline)",
        "best, chosen inside each fold",
        "practically equal",
    ):
        assert words in shown.output


def test_a_folder_of_that_name_does_not_hide_an_embedded_table(tmp_path, monkeypatch):
    """Such as the one that --out wine made."""
    (tmp_path / "wine").mkdir()
    monkeypatch.chdir(tmp_path)
    shown = study("wine", "--methods", "GaussianNB", "--dry-run", "--jobs", 1)
    assert shown.exit_code == 0 and "178 rows" in shown.output


def test_the_table_says_everything(wine):
    table = found(wine[1])
    assert table["plan"]["seed"] == 0
    assert table["plan"]["scores"][:2] == ["log_loss", "accuracy"]
    assert {"fivefold", "python", "platform", "numpy", "scikit-learn", "polars"} <= set(table["versions"])
    for learner in table["learners"]:
        assert learner["status"] == "ok"
        assert len(learner["folds"]) == SPLITS
        assert all(fold["parameters"] in [setting for setting, _ in fold["tried"]] for fold in learner["folds"])
        for name, summary in learner["summary"].items():
            mean = np.mean([fold["scores"][name] for fold in learner["folds"]])
            assert summary["mean"] == pytest.approx(mean, rel=1e-12)  # rounding
            assert summary["low"] <= mean <= summary["high"]
    means = [learner["summary"]["log_loss"]["mean"] for learner in table["learners"]]
    assert means == sorted(means)
    assert table["learners"][0]["loss_above_best"]["adjusted_p"] == 1.0
    verdicts = table["verdicts"]
    assert verdicts["best"] == table["learners"][0]["name"]
    assert verdicts["units"] == f"{table['data']['rows'] - table['plan']['holdout']['rows']} rows"
    assert list(verdicts["learners"]) == [learner["name"] for learner in table["learners"][1:]]
    for learner in table["learners"][1:]:
        verdict = verdicts["learners"][learner["name"]]
        assert verdict["outcome"] == learner["loss_above_best"]["verdict"]
        assert verdict["splits"]["estimate"] == pytest.approx(learner["loss_above_best"]["mean"], abs=1e-12)
        assert verdict["fitted"]["low"] >= verdict["rows"]["low"]  # not widened for the training sets
        assert verdict["mcnemar"]["best_only"] >= 0 and verdict["brier"]["low"] <= verdict["brier"]["high"]
    assert len(table["pairs"]) == 6  # of four learners
    assert all(pair["adjusted_p"] >= pair["p_value"] for pair in table["pairs"])
    assert all(sum(pair["probability"].values()) == pytest.approx(1) for pair in table["pairs"])


def corrected(values, folds):
    """Mean, interval and p-value of values of overlapping splits, by hand.

    The training rows of two splits overlap, so the variance of the mean is s^2 (1/J + n_test / n_train), not s^2 / J
    (Nadeau & Bengio 2003).
    """
    (sizes,) = {(fold["n_test"], fold["n_train"]) for fold in folds}
    mean, J = np.mean(values), len(values)
    error = np.std(values, ddof=1) * np.sqrt(1 / J + sizes[0] / sizes[1])
    half = error * stats.t(J - 1).ppf(0.975)
    return mean, mean - half, mean + half, 2 * stats.t(J - 1).sf(abs(mean) / error), error


def test_intervals_and_p_values_are_corrected_for_the_overlap_of_the_training_rows(tmp_path):
    """All of them by hand from the folds of the file; without the correction, or with n_test / n, they are narrower."""
    names = {"GaussianNB": 0.3, "LinearDiscriminantAnalysis": 0.32}
    write_results(imagined(**names), tmp_path)
    table = found(tmp_path)
    folds = {learner["name"]: learner["folds"] for learner in table["learners"]}
    losses = {name: np.array([fold["scores"]["log_loss"] for fold in each]) for name, each in folds.items()}
    same, best = {"rel": 1e-10}, losses["GaussianNB"]
    for learner in table["learners"][:2]:
        name, summary, gap = learner["name"], learner["summary"]["log_loss"], learner["loss_above_best"]
        expected = corrected(losses[name], folds[name])
        assert [summary[key] for key in ("mean", "low", "high")] == pytest.approx(expected[:3], **same)
        if name != "GaussianNB":
            expected = corrected(losses[name] - best, folds[name])
            assert [gap[key] for key in ("mean", "low", "high", "p_value")] == pytest.approx(expected[:4], **same)
    assert len(table["pairs"]) == 6
    for pair in table["pairs"]:
        expected = corrected(losses[pair["a"]] - losses[pair["b"]], folds[pair["a"]])
        assert [pair[key] for key in ("difference", "low", "high", "p_value")] == pytest.approx(expected[:4], **same)
        posterior = stats.t(SPLITS - 1, expected[0], expected[-1])
        within = posterior.cdf(pair["rope"]) - posterior.cdf(-pair["rope"])
        assert pair["probability"]["same"] == pytest.approx(within, rel=1e-8, abs=1e-12)
    inside = table["best_chosen_inside"]
    assert inside["summary"]["log_loss"] == table["learners"][0]["summary"]["log_loss"]  # inner splits prefer it too


def test_times_are_kept_apart(wine):
    _, folder = wine
    assert "seconds" not in (folder / "results.json").read_text(encoding="utf-8")
    took = json.loads((folder / "times.json").read_text(encoding="utf-8"))
    assert (
        took["command"] == "fivefold study wine --methods GaussianNB,LinearDiscriminantAnalysis --holdout 0.2 --seed 0"
    )
    assert took["sessions"][0]["folds"] == 4 * SPLITS
    for learner in took["learners"].values():
        assert learner["fit_seconds"] > 0 and learner["predict_seconds"] > 0 and learner["size_bytes"] > 100


def test_a_study_ends_with_report_model_and_the_command_that_predicts(wine):
    shown, folder = wine
    report, model, predict = shown.output.splitlines()[-3:]
    assert report.split()[1] == str(folder / "report.html") and (folder / "report.html").is_file()
    assert model.split()[1] == str(folder / "model.skops") and (folder / "model.skops").is_file()
    assert shlex.split(predict)[1:5] == ["fivefold", "predict", str(folder / "model.skops"), "new.csv"]


def test_the_certificate_is_that_of_the_errors_on_the_rows_held_out(wine):
    shown, folder = wine
    holdout = found(folder)["holdout"]
    errors = round((1 - holdout["scores"]["accuracy"]) * holdout["rows"])
    assert holdout["certificate"]["bound"] == certify_holdout(errors, holdout["rows"]).bound
    assert "Certificate: " in shown.output
    folds, rows = found(folder)["learners"][0]["folds"], load("wine").y.size
    assert {fold["n_train"] + fold["n_test"] for fold in folds} == {rows - holdout["rows"]}


def test_the_journal_holds_data_plan_versions_options_and_predictions(wine):
    data = load("wine")
    with Journal.open(wine[1] / "journal.sqlite") as journal:
        assert journal.get("data") == data.digest
        assert journal.get("plan")["seed"] == 0
        assert journal.get("versions")["fivefold"] == found(wine[1])["versions"]["fivefold"]
        assert journal.get("asked")["methods"] == ["GaussianNB", "LinearDiscriminantAnalysis"]
        assert set(journal.get("probe")["costs"]) == {learner["name"] for learner in found(wine[1])["learners"]}
        first = next(journal.entries_of("GaussianNB"))
    assert first.arrays["proba"].shape == (len(first.arrays["test"]), 3)
    right = np.mean(first.arrays["predicted"] == data.y[first.arrays["test"]])
    assert right == pytest.approx(first.found["scores"]["accuracy"])


def test_every_learner_meets_the_same_splits_and_how_stable_it_is_is_told(wine):
    """A-16: the same seed draws the same splits; mean, standard deviation and all values are in the table."""
    plan = make_plan(load("wine"), ["GaussianNB", "LinearDiscriminantAnalysis"], holdout=0.2)
    with Journal.open(wine[1] / "journal.sqlite") as journal:
        for learner in plan.learners:
            entries = list(journal.entries_of(learner.name))
            assert all((e.arrays["test"] == plan.splits[e.split].test).all() for e in entries)
    for learner in found(wine[1])["learners"]:
        values = [fold["scores"]["accuracy"] for fold in learner["folds"]]
        assert len(values) == SPLITS
        assert learner["summary"]["accuracy"]["sd"] == pytest.approx(np.std(values, ddof=1), abs=1e-15)


def test_the_report_has_a_section_for_each_of_the_six_phases(wine):
    """D-02: task, data, features, models, training, evaluation, in this order."""
    text = (wine[1] / "report.md").read_text(encoding="utf-8")
    titles = [line.lower() for line in text.splitlines() if line.startswith("## ")]
    phases = ("task", "data", "features", "models", "training", "evaluation")
    places = [next(i for i, title in enumerate(titles) if phase in title) for phase in phases]
    assert places == sorted(places) and len(set(places)) == 6


def test_a_folder_that_holds_a_study_is_not_written_over(wine):
    before = (wine[1] / "results.json").read_bytes()
    shown = study("iris", "--out", wine[1])
    assert shown.exit_code == 2
    assert "--resume" in shown.stderr and "--overwrite" in shown.stderr
    assert (wine[1] / "results.json").read_bytes() == before


def test_a_finished_study_that_is_resumed_does_nothing_and_says_the_same(wine):
    before = (wine[1] / "results.json").read_bytes()
    shown = study("--resume", "--out", wine[1], "--json")
    assert shown.exit_code == 0, shown.output
    assert (wine[1] / "results.json").read_bytes() == before
    assert json.loads(shown.stdout) == json.loads(before)
    assert json.loads((wine[1] / "times.json").read_text(encoding="utf-8"))["sessions"][-1]["folds"] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--seed", 1], "--seed 1 (then 0)"),
        (["--methods", "GaussianNB"], "--methods ('GaussianNB',) (then ('GaussianNB', 'LinearDiscriminantAnalysis'))"),
        (["--holdout", 0.3], "--holdout 0.3 (then 0.2)"),
        (["iris"], "the data: 150 rows (then 178)"),
        (["--overwrite"], "give --resume to continue a study, or --overwrite to start again, not both"),
    ],
)
def test_a_study_is_not_resumed_with_other_data_or_options(wine, words, said):
    shown = study(*words, "--resume", "--out", wine[1])
    assert shown.exit_code == 2
    assert said in shown.stderr


def test_reasons_put_in_other_words_do_not_stop_a_study_and_other_methods_left_out_do():
    plan = make_plan(blobs(40), ["GaussianNB"])
    now = replace(plan, skipped={"SVC": "in other words"})
    for skipped, is_refused in (({"SVC": "too slow"}, False), ({"KernelRidge": "too slow"}, True)):
        stored = initial_record(replace(plan, skipped=skipped), {})
        with (
            Journal.create(":memory:", stored) as journal,
            pytest.MonkeyPatch.context() as patch,
            pytest.raises(BadInput, match="began: the methods left out") if is_refused else nullcontext(),
        ):
            patch.setattr(resumption, "plan_from_options", lambda *_: now)
            assert restore_plan(plan.data, journal).skipped == now.skipped


def test_a_study_is_not_resumed_with_other_versions(wine, monkeypatch):
    monkeypatch.setattr("fivefold.__version__", "99.0")
    shown = study("--resume", "--out", wine[1])
    assert shown.exit_code == 2
    assert "fivefold 99.0 (then " in shown.stderr


def test_a_study_is_not_resumed_when_a_value_of_its_table_has_changed(wine):
    with Journal.open(wine[1] / "journal.sqlite") as journal, pytest.raises(BadInput, match="other values"):
        restore_plan(replace(load("wine"), digest="of another table"), journal)


def test_a_study_in_use_is_left_alone(wine):
    with Journal.open(wine[1] / "journal.sqlite"):
        shown = study("--resume", "--out", wine[1])
    assert shown.exit_code == 2
    assert "another study is running in this folder" in shown.stderr


# Other tables, other ends


@pytest.fixture
def people(tmp_path):
    """A CSV with text, missing values and letters beyond ASCII; the tall ones are 'länger'."""
    rng = np.random.default_rng(0)
    lines = ["größe,stadt,alter,ziel"]
    for i in range(80):
        tall = i % 2
        height = "NA" if i % 11 == 0 else f"{165 + 12 * tall + rng.normal(0, 4):.1f}"
        city = ("Köln", "東京", "Łódź", "")[i // 2 % 4] if i != 5 else "Ürgüp"  # one city comes once
        lines.append(f"{height},{city},{rng.integers(20, 70)},{('kurz', 'länger')[tall]}")
    path = tmp_path / "leute.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_text_missing_values_and_letters_beyond_ascii_go_through_every_learner_of_the_portfolio(
    people, tmp_path, monkeypatch
):
    """With two settings per learner: how they are searched makes no difference to letters."""
    monkeypatch.setattr(
        "fivefold.cli.study_session.make_plan",
        lambda data, names, **options: plan_from_options(data, Options(tuple(names), draws=2, **options)),
    )
    shown = study(people, "--target", "ziel", "--folds", 2, "--repeats", 1, "--out", tmp_path / "out", "--json")
    assert shown.exit_code == 0, shown.output
    table = json.loads(shown.stdout)
    assert [column["kind"] for column in table["data"]["columns"]] == ["number", "category", "number"]
    assert max(entry["summary"]["accuracy"]["mean"] for entry in table["learners"]) > 0.8


@pytest.mark.usefixtures("without_report")
def test_regression_is_scored_by_root_mean_squared_error_and_has_no_certificate(tmp_path):
    words = ["--methods", "Ridge", "--repeats", 1, "--holdout", 0.2, "--out", tmp_path / "out"]
    shown = study("diabetes", *words)
    assert shown.exit_code == 0, shown.output
    table = found(tmp_path / "out")
    assert table["plan"]["scores"][0] == "rmse"
    by_name = {learner["name"]: learner for learner in table["learners"]}
    assert by_name["Ridge"]["summary"]["r2"]["mean"] > 0.4 > 0.1 > by_name["MeanRegressor"]["summary"]["r2"]["mean"]
    assert by_name["MeanRegressor"]["loss_above_best"]["verdict"] == "worse"
    assert table["holdout"]["certificate"] is None and table["holdout"]["scores"]["r2"] > 0.2
    assert "rows held out Ridge has RMSE" in shown.output


def test_the_same_table_for_any_number_of_workers():
    plan = make_plan(load("iris"), ["GaussianNB"], folds=3, repeats=1)
    one, three = (results_to_json(judge_outcomes(plan, run_plan(plan, jobs=jobs))) for jobs in (1, 3))
    assert json.dumps(one) == json.dumps(three)


TROUBLE = """
import os, time
from sklearn.dummy import DummyClassifier

class Failing(DummyClassifier):
    def fit(self, X, y):
        raise ArithmeticError("the stars stood wrong")

class Dying(DummyClassifier):
    def fit(self, X, y):
        os._exit(9)

class Sleepy(DummyClassifier):
    def fit(self, X, y):
        time.sleep(1000)
"""


@pytest.mark.usefixtures("without_report")
def test_learners_that_fail_die_or_take_too_long_are_told_and_the_study_goes_on(tmp_path, monkeypatch):
    (tmp_path / "trouble.py").write_text(TROUBLE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(
        "fivefold.study.running.run.fold_time_limit", lambda plan, learner: 2.0 if "Sleepy" in learner.name else 300.0
    )
    monkeypatch.setattr("fivefold.study.running.run.MAX_PROBE_SECONDS", 1.0)
    words = ["--methods", "trouble.Failing,trouble.Dying,trouble.Sleepy", "--folds", 2, "--repeats", 1]
    shown = study("iris", *words, "--out", tmp_path / "out", "--jobs", 2, width=200)
    assert shown.exit_code == 3, shown.output
    learners = {learner["name"]: learner for learner in found(tmp_path / "out")["learners"]}
    assert learners["MajorityClassifier"]["status"] == "ok"
    assert learners["trouble.Failing"]["reason"] == "ArithmeticError: the stars stood wrong"
    twice = "the worker process ended: exit code 9, twice, once while it ran alone"
    assert learners["trouble.Dying"]["reason"] == twice
    assert learners["trouble.Sleepy"]["status"] == "late"
    assert learners["trouble.Sleepy"]["reason"] == "repeat 1, fold 1 took longer than its limit of 2 s"
    assert any("stopped by a time limit: trouble.Sleepy" in text for text in found(tmp_path / "out")["warnings"])
    for said in ("failed: ArithmeticError: the stars stood wrong", "was stopped: repeat 1", "stopped by a time limit"):
        assert said in shown.output


def test_when_every_learner_fails_the_reasons_are_all_there_is(tmp_path, monkeypatch):
    plan = make_plan(load("iris"), ["GaussianNB"])
    results = judge_outcomes(plan, [LearnerOutcome(learner, (), "ValueError: no", ()) for learner in plan.learners])
    assert not results.judged and results.pairs is None and results.inside is None
    assert "Every learner failed" in str(results_table.verdict(results))
    assert all(learner["status"] == "failed" for learner in results_to_json(results)["learners"])
    console = Console(file=StringIO(), width=80)
    results_table.show_results(console, results)
    assert "GaussianNB failed: ValueError: no" in console.file.getvalue()


def test_a_dry_run_shows_the_plan_with_its_cost_and_writes_nothing(tmp_path):
    words = ["iris", "--methods", "GaussianNB", "--dry-run", "--out", tmp_path / "out"]
    shown = study(*words)
    assert shown.exit_code == 0, shown.output
    assert re.search(r"about [0-9.]+ m?s(in)? in all with one worker", shown.output)
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("without_report")
def test_a_budget_is_kept_by_doing_less_and_frozen_in_the_journal(tmp_path):
    words = ["iris", "--methods", "GaussianNB", "--budget", "0.001s", "--out", tmp_path / "out"]
    assert study(*words).exit_code == 0
    table = found(tmp_path / "out")
    assert table["plan"]["outer"]["repeats"] == 1 and len(table["learners"][0]["settings"]) == 1
    before = (tmp_path / "out" / "results.json").read_bytes()
    assert study("--resume", "--out", tmp_path / "out").exit_code == 0  # another probe would find other times
    assert (tmp_path / "out" / "results.json").read_bytes() == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere.csv"], "nowhere.csv"),
        (["iris", "--methods", "GausianNB"], "did you mean GaussianNB"),
        (["iris", "--methods", "KMeans"], "KMeans does not do classification"),
        (["diabetes", "--methods", "GaussianNB"], "GaussianNB does not do regression"),
        (["iris", "--target", "specis"], "specis"),
        (["iris", "--metric", "rmse"], "classification is scored by log_loss"),
        (["iris", "--task", "regression"], "regression needs a target of numbers"),
        (["iris", "--task", "ranking"], "ranking"),
        (["iris", "--seed", "-1"], "--seed"),
        (["iris", "--jobs", "0"], "--jobs"),
        (["iris", "--folds", "1"], "--folds"),
        (["iris", "--holdout", "0.9"], "--holdout"),
        (["iris", "--budget", "soon"], "--budget is a time such as 90s, 5min or 1h; got 'soon'"),
        (["iris", "--column", "petal"], "--column is NAME=KIND"),
        (["iris", "--nonsense"], "nonsense"),
    ],
)
def test_wrong_use_is_refused_with_code_two(words, message, tmp_path):
    shown = study(*words, "--out", tmp_path / "out")
    assert shown.exit_code == 2
    assert message in shown.stderr
    assert not (tmp_path / "out" / "journal.sqlite").exists()


def test_an_output_folder_that_cannot_be_made_is_refused_before_anything_runs(tmp_path):
    (tmp_path / "file").write_text("in the way")
    shown = study("iris", "--out", tmp_path / "file")
    assert shown.exit_code == 2
    assert "no folder can be created there" in shown.stderr


# What is said of outcomes


def imagined(inner=None, **losses):
    """A study of iris in which these learners had these log losses, with noise of 0.02 on every split.

    `inner` are the losses on the inner splits, those of the outer ones by default.
    """
    plan = make_plan(load("iris", split_copies=True), ["GaussianNB", "LinearDiscriminantAnalysis"])
    noise = np.random.default_rng(0).normal(0, 0.02, (len(plan.learners), len(plan.splits)))

    def outcome(learner, row):
        loss = losses.get(learner.name, 1.1)
        setting = learner.settings[0]
        folds = [
            FoldResult(
                *(split.repeat, split.fold, 120, 30),
                {score.name: loss + e if score.name == "log_loss" else 0.5 for score in plan.scores},
                setting,
                tried=((setting, (inner or losses).get(learner.name, 1.1)),),
            )
            for split, e in zip(plan.splits, row, strict=True)
        ]
        return LearnerOutcome(learner, tuple(folds), None, ())

    return judge_outcomes(plan, [outcome(learner, row) for learner, row in zip(plan.learners, noise, strict=True)])


@pytest.mark.parametrize(
    ("losses", "said"),
    [
        (
            {"GaussianNB": 0.2, "LinearDiscriminantAnalysis": 0.5},
            "Best: GaussianNB. Every other learner is worse, by more than 0.011 in log loss.",
        ),
        (
            {"GaussianNB": 0.3, "LinearDiscriminantAnalysis": 0.3},
            " may be as good or worse; there is too little evidence to tell.",
        ),
        (
            {"GaussianNB": 2.0, "LinearDiscriminantAnalysis": 2.0, "MajorityClassifier": 0.9},
            "Best: MajorityClassifier. Every other learner is worse, by more than 0.011 in log loss. The best is a ",
        ),
        (
            {"GaussianNB": 0.9, "LinearDiscriminantAnalysis": 2.0, "MajorityClassifier": 0.91},
            "It is not shown to be better than the baseline MajorityClassifier: perhaps nothing was learned.",
        ),
    ],
)
def test_the_verdict_says_what_the_table_shows(losses, said):
    """Noise of 0.02 a split: a gap of 0.01 is within the interval, one of 0.2 far outside."""
    assert said in str(results_table.verdict(imagined(**losses)))


@pytest.mark.parametrize(("loss", "is_shown"), [(0.2, True), (0.5, False)])
def test_the_screen_has_the_warnings_of_learners_that_may_be_best(loss, is_shown):
    """What one that lost should have done differently helps nobody."""
    results = imagined(GaussianNB=0.2, LinearDiscriminantAnalysis=loss)
    judged = [
        replace(one, outcome=replace(one.outcome, warnings=("drop columns",)))
        if one.name == "LinearDiscriminantAnalysis"
        else one
        for one in results.judged
    ]
    screen = StringIO()
    results_table.show_results(Console(file=screen, width=100), replace(results, judged=tuple(judged)))
    assert ("! LinearDiscriminantAnalysis: drop columns" in screen.getvalue()) == is_shown


def test_the_verdict_allows_for_the_margin_and_the_family():
    """Without predictions there are no rows to draw, and the splits decide at the whole level."""
    results = imagined(GaussianNB=0.3, LinearDiscriminantAnalysis=0.35)
    second = results.judged[1]
    verdict, margin = second.verdict, results.versus_winner.margin
    assert verdict.rows is None and results.versus_winner.units == ""
    assert margin == pytest.approx(0.01 * np.log(3))  # three classes of fifty rows
    assert second.versus_best.p_value < second.p_value == verdict.splits.p_value
    assert second.worse == (second.p_value <= 0.05) == (verdict.splits.low > margin)


def test_a_learner_compared_with_itself_has_difference_zero_and_p_one():
    results = imagined(GaussianNB=0.3)
    plan, best = results.plan, results.judged[0].outcome
    twin = replace(best, learner=replace(best.learner, method=replace(best.learner.method, name="Twin")))
    second = judge_outcomes(plan, [best, twin]).judged[1]
    assert second.versus_best.mean == 0.0 and second.versus_best.p_value == second.p_value == 1.0
    assert second.verdict.outcome == "equal"
    pair = judge_outcomes(plan, [best, twin]).pairs.pairs[0]
    assert pair.comparison.estimate == 0.0 and pair.equivalence.within == 1.0


def test_the_row_of_the_best_chosen_inside_has_the_scores_of_what_the_inner_splits_preferred():
    """The outer splits prefer one learner, the inner ones another."""
    results = imagined(
        inner={"GaussianNB": 0.4, "LinearDiscriminantAnalysis": 0.2}, GaussianNB=0.3, LinearDiscriminantAnalysis=0.5
    )
    assert results.judged[0].name == "GaussianNB"
    assert set(results.inside.chosen) == {"LinearDiscriminantAnalysis"}
    assert results.inside.estimates["log_loss"] == results.judged[1].estimates["log_loss"]
    assert results.inside.versus_best.mean > 0.1


@pytest.mark.parametrize("width", [80, 120, 200])
def test_the_screen_keeps_its_width_and_shows_every_learner_whole(width):
    results = imagined(GaussianNB=0.2, LinearDiscriminantAnalysis=0.5)
    console = Console(width=width, file=StringIO())
    console.print(results_table.study_heading(results.plan))
    results_table.show_results(console, results)
    shown = console.file.getvalue()
    assert max(map(len, shown.splitlines())) <= width
    assert "…" not in shown  # nothing was cut off
    for judged in results.judged:
        mean = judged.estimates["log_loss"].mean
        assert re.search(rf"{judged.name}( \(baseline\))? +{mean:.3f} ", shown)


def test_results_are_written_whole_or_not_at_all(tmp_path, monkeypatch):
    results = imagined(GaussianNB=0.2)
    before = write_results(results, tmp_path).read_bytes()
    monkeypatch.setattr("os.replace", lambda *paths: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_results(results, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results.json", "times.json"]
    assert (tmp_path / "results.json").read_bytes() == before
    assert set(timing_record(results)["learners"]) == {judged.name for judged in results.judged}


# Parts


def test_the_holdout_is_opened_once():
    class Right:
        classes_ = np.array(["benign", "malignant"])
        asked = 0

        def predict(self, X):
            self.asked += 1
            return data.y[plan.holdout]

        def predict_proba(self, X):
            return (self.classes_ == data.y[plan.holdout][:, None]).astype(float)

    data = load("breast_cancer")
    plan, model = make_plan(data, ["GaussianNB"]), Right()
    with Journal.create(":memory:", {}) as journal:
        first = open_holdout(plan, "Right", model, journal)
        again = open_holdout(plan, "Right", None, journal)  # a model that cannot be asked
    assert model.asked == 1
    assert first == again
    assert first.certificate.risk == 0 and first.certificate == certify_holdout(0, len(plan.holdout))


def test_a_journal_keeps_what_it_is_given_and_never_replaces_a_fold(tmp_path):
    entry = JournalEntry(
        "A", 3, "done", "", {"x": [1, 2.5, None]}, {"P": np.eye(3), "y": np.array(["ä", "b"])}, ("w",), 1.5
    )
    with Journal.create(tmp_path / "j", {"plan": {"seed": 1}}) as journal:
        journal.add_fold(entry)
        with pytest.raises(Exception, match="UNIQUE"):
            journal.add_fold(entry)
    with Journal.open(tmp_path / "j") as journal:
        (kept,) = journal.entries_of("A")
        assert journal.get("plan") == {"seed": 1} and journal.get("nothing") is None
        assert journal.fold_fates() == {("A", 3): "done"}
    assert replace(kept, arrays={}) == replace(entry, arrays={})
    assert all((kept.arrays[name] == array).all() for name, array in entry.arrays.items())


def test_what_a_journal_was_told_is_on_disk_when_it_says_so(tmp_path, monkeypatch):
    """A write-ahead log that is flushed with every transaction: OFF and NORMAL lose folds when the power fails."""
    made, connect = [], sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *given, **more: made.append(connect(*given, **more)) or made[-1])
    for opened in (lambda path: Journal.create(path, {}), Journal.open):
        with opened(tmp_path / "j"):
            assert made[-1].execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
            assert made[-1].execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert len(made) == 2


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\0" + bytes(80), b"not a journal at all" * 10])
def test_a_file_that_is_no_journal_is_refused_unless_it_is_empty(tmp_path, content):
    path = tmp_path / "journal.sqlite"
    path.write_bytes(content)
    if not content:  # the making of a journal was broken off
        assert Journal.open(path) is None
    else:
        with pytest.raises(BadInput, match="not the journal of a study, or is damaged"):
            Journal.open(path)


def test_a_journal_of_another_format_is_refused(tmp_path):
    Journal.create(tmp_path / "j", {"format": 99}).close()
    with pytest.raises(BadInput, match="has format 99"):
        Journal.open(tmp_path / "j")


def test_progress_is_lines_where_there_is_no_terminal(capsys):
    with progress_bar(3, 1, lines=True) as tick:
        tick("GaussianNB", 83.0)
        tick("Ridge", 0.0)
    assert capsys.readouterr().err.splitlines() == ["2 of 3 done: GaussianNB, 1 min 23 s left", "3 of 3 done: Ridge"]
