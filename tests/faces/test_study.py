"""`fivefold study`, end to end."""

import json
import re
from io import StringIO

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from fivefold.cli.app import app
from fivefold.naive_bayes import GaussianNB
from fivefold.study import table
from fivefold.study.data import load
from fivefold.study.plan import FOLDS, MOST_SETTINGS, REPEATS, make_plan
from fivefold.study.prepare import prepare, wants
from fivefold.study.results import judge, write
from fivefold.study.run import Fold, Outcome, run


@pytest.fixture
def study(tmp_path):
    """Run a study in this process; gives the screen and results.json, if there is one."""

    def perform(*arguments, width=80):
        out = tmp_path / "out"
        command = ["study", *map(str, arguments), "--out", str(out)]
        shown = CliRunner().invoke(
            app, command if "--jobs" in arguments else [*command, "--jobs", "1"], env={"COLUMNS": str(width)}
        )
        file = out / "results.json"
        return shown, json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None

    return perform


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


def test_a_study_without_arguments_is_of_wine_and_finds_that_it_can_be_learned(study):
    shown, found = study("--methods", "GaussianNB")
    assert shown.exit_code == 0, shown.output
    assert found["data"]["name"] == "wine"
    best = found["learners"][0]
    assert best["name"] == "GaussianNB"
    assert best["summary"]["accuracy"]["mean"] > 0.95
    assert "GaussianNB" in shown.output and "95 % interval" in shown.output and "(baseline)" in shown.output


def test_the_file_says_everything(study):
    _, found = study("iris", "--methods", "GaussianNB", "--seed", 3)
    assert set(found) == {"schema", "data", "plan", "learners", "warnings", "versions"}
    assert found["plan"]["seed"] == 3
    assert found["plan"]["scores"] == ["log_loss", "accuracy", "balanced_accuracy", "f1", "auc"]
    assert found["data"]["target"]["classes"] == {"setosa": 50, "versicolor": 50, "virginica": 50}
    assert {"fivefold", "python", "numpy", "scikit-learn"} <= set(found["versions"])
    for learner in found["learners"]:
        assert learner["status"] == "ok"
        assert len(learner["folds"]) == FOLDS * REPEATS
        assert all(fold["n_train"] == 120 and fold["n_test"] == 30 for fold in learner["folds"])
        assert all(fold["parameters"] in learner["settings"] for fold in learner["folds"])
        mean = np.mean([fold["scores"]["log_loss"] for fold in learner["folds"]])
        assert learner["summary"]["log_loss"]["mean"] == pytest.approx(mean, rel=1e-12)  # rounding
        assert learner["summary"]["log_loss"]["low"] <= mean <= learner["summary"]["log_loss"]["high"]
    means = [learner["summary"]["log_loss"]["mean"] for learner in found["learners"]]
    assert means == sorted(means)
    assert found["learners"][0]["loss_above_best"]["p_value"] == 1.0


def test_regression_is_scored_by_root_mean_squared_error(study):
    shown, found = study("diabetes", "--methods", "Ridge")
    assert shown.exit_code == 0, shown.output
    assert found["plan"]["scores"] == ["rmse", "r2", "mae", "correlation"]
    by_name = {learner["name"]: learner["summary"] for learner in found["learners"]}
    assert by_name["Ridge"]["r2"]["mean"] > 0.4 > 0.1 > by_name["MeanRegressor"]["r2"]["mean"]
    assert next(entry for entry in found["learners"] if entry["name"] == "MeanRegressor")["loss_above_best"][
        "significantly_worse"
    ]


def test_text_missing_values_and_letters_beyond_ascii_go_through_every_learner_of_the_portfolio(study, people):
    shown, found = study(people, "--target", "ziel")
    assert shown.exit_code == 0, shown.output
    assert [column["kind"] for column in found["data"]["columns"]] == ["number", "category", "number"]
    assert "größe, alter" in shown.output and "stadt (4)" in shown.output
    assert {entry["name"]: entry.get("reason") for entry in found["learners"] if entry["status"] != "ok"} == {}
    assert max(entry["summary"]["accuracy"]["mean"] for entry in found["learners"]) > 0.8


def test_same_seed_same_bytes_for_any_number_of_jobs(study, tmp_path):
    files = []
    for jobs in (1, 2):
        study("iris", "--methods", "GaussianNB", "--jobs", jobs)
        files.append((tmp_path / "out" / "results.json").read_bytes())
    assert files[0] == files[1]


def test_another_seed_draws_other_folds():
    first, second = (make_plan(load("iris"), seed=seed).splits[0].test.tolist() for seed in (0, 1))
    assert first != second


def test_a_learner_that_fails_is_listed_with_its_reason_and_the_study_goes_on(study, monkeypatch):
    def fail(self, X, y, w):
        raise ArithmeticError("the stars stood wrong")

    monkeypatch.setattr(GaussianNB, "_fit", fail)
    shown, found = study("iris", "--methods", "GaussianNB")
    assert shown.exit_code == 0
    failed = found["learners"][-1]
    assert (failed["name"], failed["status"]) == ("GaussianNB", "failed")
    assert failed["reason"] == "ArithmeticError: the stars stood wrong"
    assert "the stars stood wrong" in shown.output


def test_when_every_learner_fails_the_exit_code_says_so(study, monkeypatch):
    monkeypatch.setattr("fivefold.study.fold.build", None)
    shown, found = study("iris", "--methods", "GaussianNB")
    assert shown.exit_code == 1
    assert "Every learner failed" in shown.output
    assert all(learner["status"] == "failed" for learner in found["learners"])


def test_the_score_that_ranks_can_be_chosen(study):
    shown, found = study("iris", "--methods", "GaussianNB", "--score", "accuracy")
    assert shown.exit_code == 0
    means = [learner["summary"]["accuracy"]["mean"] for learner in found["learners"]]
    assert means == sorted(means, reverse=True)


def test_json_is_the_file_and_nothing_else(study):
    shown, found = study("iris", "--methods", "GaussianNB", "--json")
    assert json.loads(shown.stdout) == found


@pytest.fixture(scope="module")
def wine():
    plan = make_plan(load("wine"))
    return judge(plan, run(plan))


@pytest.mark.parametrize("width", [80, 120])
def test_the_screen_keeps_its_width_and_shows_every_learner_whole(wine, width):
    console = Console(width=width, file=StringIO())
    console.print(table.heading(wine.plan))
    table.show(console, wine)
    shown = console.file.getvalue()
    assert max(map(len, shown.splitlines())) <= width
    assert "…" not in shown  # nothing was cut off
    for judged in wine.judged:
        mean = judged.estimates["log_loss"].mean
        assert re.search(rf"{judged.name}( \(baseline\))? +{mean:.3f} ", shown)


def test_a_baseline_is_significantly_worse_where_there_is_something_to_learn(wine):
    assert not wine.judged[0].outcome.learner.baseline
    assert all(judged.worse for judged in wine.judged if judged.outcome.learner.baseline)


def imagined(**losses):
    """A study of iris in which these learners had these log losses, with the same noise on every split."""
    plan = make_plan(load("iris"), ["GaussianNB", "LinearDiscriminantAnalysis"])
    noise = np.random.default_rng(0).normal(0, 0.02, (len(plan.learners), len(plan.splits)))
    return judge(
        plan,
        tuple(
            Outcome(
                learner,
                tuple(
                    Fold(
                        s.repeat,
                        s.fold,
                        120,
                        30,
                        {score.name: 0.5 for score in plan.scores} | {"log_loss": losses.get(learner.name, 1.1) + e},
                        {},
                    )
                    for s, e in zip(plan.splits, row, strict=True)
                ),
                None,
                (),
            )
            for learner, row in zip(plan.learners, noise, strict=True)
        ),
    )


@pytest.mark.parametrize(
    ("losses", "said"),
    [
        (
            {"GaussianNB": 0.2, "LinearDiscriminantAnalysis": 0.5},
            "Best: GaussianNB. It is significantly better than every other.",
        ),
        (
            {"GaussianNB": 0.3, "LinearDiscriminantAnalysis": 0.3},
            "At the 5 % level it cannot be told from",
        ),
        (
            {"GaussianNB": 2.0, "LinearDiscriminantAnalysis": 2.0, "MajorityClassifier": 0.9},
            "Best: MajorityClassifier. It is significantly better than every other. It is a baseline",
        ),
        (
            {"GaussianNB": 0.9, "LinearDiscriminantAnalysis": 2.0, "MajorityClassifier": 0.91},
            "It does not beat the baseline MajorityClassifier: doubt that anything was learned.",
        ),
    ],
)
def test_the_verdict_says_what_the_table_shows(losses, said):
    """Noise of 0.02 a split: a gap of 0.01 is within the interval, one of 0.2 far outside."""
    assert said in str(table.verdict(imagined(**losses)))


def test_results_are_written_whole_or_not_at_all(tmp_path, monkeypatch):
    results = imagined(GaussianNB=0.2)
    before = write(results, tmp_path).read_bytes()
    monkeypatch.setattr("os.replace", lambda *paths: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write(results, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]
    assert (tmp_path / "results.json").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.csv"], "no file nowhere.csv"),
        (["iris", "--methods", "GausianNB"], "did you mean GaussianNB"),
        (["iris", "--methods", "KMeans"], "KMeans does not do classification"),
        (["diabetes", "--methods", "GaussianNB"], "GaussianNB does not do regression"),
        (["iris", "--target", "specis"], "no column is called 'specis'"),
        (["iris", "--score", "rmse"], "classification is scored by log_loss, accuracy, balanced_accuracy, f1 or auc"),
        (["iris", "--task", "regression"], "regression needs a target of numbers"),
        (["iris", "--task", "ranking"], "ranking"),
        (["iris", "--seed", "-1"], "--seed"),
        (["iris", "--jobs", "0"], "--jobs"),
        (["iris", "--nonsense"], "nonsense"),
    ],
)
def test_wrong_use_is_refused_with_code_two(study, arguments, message):
    shown, found = study(*arguments)
    assert shown.exit_code == 2
    assert message in shown.stderr
    assert found is None


def test_an_output_folder_that_cannot_be_made_is_refused_before_anything_runs(tmp_path):
    (tmp_path / "file").write_text("in the way")
    shown = CliRunner().invoke(app, ["study", "iris", "--out", str(tmp_path / "file")])
    assert shown.exit_code == 2
    assert "no folder can be made there" in shown.stderr


def test_every_learner_meets_the_same_folds_and_every_row_is_judged_once_a_repeat():
    plan = make_plan(load("iris"), seed=1)
    for repeat in range(REPEATS):
        tested = np.concatenate([split.test for split in plan.splits if split.repeat == repeat])
        assert sorted(tested) == list(range(150))
    for split in plan.splits:
        assert not set(split.train) & set(split.test)
        assert len(set(plan.data.y[split.test])) == 3  # stratified


def test_baselines_are_always_in_and_settings_are_few():
    plan = make_plan(load("wine"), ["GaussianNB"])
    assert plan.learners[0].name == "GaussianNB"
    assert any(learner.baseline for learner in plan.learners)
    assert all(1 <= len(learner.settings) <= MOST_SETTINGS for learner in make_plan(load("wine")).learners)


def test_a_rare_class_is_warned_of():
    data = load("iris")
    kept = np.flatnonzero((data.y != "setosa") | (np.arange(150) < 3))
    few = type(data)("few", data.X[kept], data.y[kept], "species", "classification", data.columns)
    assert "setosa (3)" in make_plan(few).warnings[0]


def test_what_prepares_the_columns_learns_from_training_rows_only(people):
    """A column's median and the categories of training; a city that training did not see is none of those known."""
    data = load(people, "ziel")
    where = int((data.X["stadt"] == "Ürgüp").arg_max())
    train = np.delete(np.arange(len(data.y)), where)
    ready = prepare(wants(GaussianNB()), data).fit(data.X[train], data.y[train])
    names = ready.get_feature_names_out().tolist()
    assert "stadt[Ürgüp]" not in names
    row = dict(zip(names, ready.transform(data.X[[where]])[0], strict=True))
    assert [name for name, value in row.items() if name.startswith("stadt") and value == 1] == ["stadt[(missing)]"]
