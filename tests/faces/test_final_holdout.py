"""The hold-out: intervals, agreement with cross-validation, the majority rule, and the model that is saved."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from scipy.stats import binomtest, norm
from study_tables import blobs, study_table
from typer.testing import CliRunner

from fivefold.cli import results_table
from fivefold.cli.app import app
from fivefold.cli.commands.card import card_text
from fivefold.cli.study_session import StudyOptions
from fivefold.evaluation.comparison.estimate import Estimate
from fivefold.evaluation.scores import SCORES
from fivefold.study.judging.final_holdout import HoldoutResult, open_holdout
from fivefold.study.judging.holdout_summary import holdout_sentences
from fivefold.study.judging.results import judge_outcomes
from fivefold.study.judging.score_intervals import PrecomputedModel, score_interval
from fivefold.study.models.model_file import describe_model, load_model
from fivefold.study.models.winner import fit_winner, refit_winner
from fivefold.study.planning.plan import make_plan
from fivefold.study.running.fold import evaluate_fold, tune_and_fit
from fivefold.study.running.journal import Journal
from fivefold.study.running.pipelines import fit_pipeline
from fivefold.study.running.run import LearnerOutcome
from fivefold.study.tables.dataset import load


def finished(data, names, **options):
    """A study in this process, with its hold-out opened."""
    plan = make_plan(data, names, **{"repeats": 1, "folds": 3, "holdout": 0.3, **options})
    outcomes = [
        LearnerOutcome(learner, tuple(evaluate_fold(data, learner, s, plan) for s in plan.splits), None, ())
        for learner in plan.learners
    ]
    found = judge_outcomes(plan, outcomes)
    model, _ = tune_and_fit(data, found.judged[0].outcome.learner, plan.rows, plan)
    with Journal.create(":memory:", {}) as journal:
        first = open_holdout(plan, found.judged[0].name, model, journal)
        assert open_holdout(plan, found.judged[0].name, None, journal) == first  # from the journal
    return replace(found, holdout=first, model_rows=len(data.y))


def numbers(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return study_table(X, X[:, 0] + rng.normal(size=n))


@pytest.fixture(scope="module")
def classes():
    return finished(blobs(400, K=3, apart=2.0), ["GaussianNB"])


@pytest.fixture(scope="module")
def quantities():
    return finished(numbers(), ["Ridge"])


# Intervals


@pytest.mark.parametrize("kind", ["classes", "quantities"])
def test_every_score_has_an_interval_around_it(kind, request):
    results = request.getfixturevalue(kind)
    held = results.holdout
    assert set(held.intervals) == set(held.scores) == {score.name for score in results.plan.scores}
    for name, (low, high) in held.intervals.items():
        assert low < held.scores[name] < high


def test_the_interval_of_the_accuracy_is_exact(classes):
    held = classes.holdout
    exact = binomtest(round(held.scores["accuracy"] * held.rows), held.rows).proportion_ci(0.95, method="exact")
    assert held.intervals["accuracy"] == (exact.low, exact.high)


def test_rows_that_depend_on_one_another_make_the_interval_wider():
    """Ten rows per group, all right or all wrong: 30 groups say as much as 30 rows."""
    right = np.repeat(np.random.default_rng(0).random(30) < 0.7, 10)
    given, y = PrecomputedModel(right.astype(int), np.eye(2)[right.astype(int)]), np.ones(300, int)
    alone = score_interval(SCORES["accuracy"], given, y)
    together = score_interval(SCORES["accuracy"], given, y, np.arange(300) // 10)
    ratio = (together.high - together.low) / (alone.high - alone.low)
    assert 0.8 * np.sqrt(10) < ratio < 1.2 * np.sqrt(10)
    assert alone.estimate == together.estimate


@pytest.mark.parametrize("more", [{"groups": np.arange(400) // 8}, {"time": np.arange(400)}], ids=["groups", "time"])
def test_groups_and_time_are_drawn_whole_and_the_certificate_is_qualified(more):
    results = finished(blobs(400, apart=2.0, **more), ["GaussianNB"])
    held = results.holdout
    exact = binomtest(round(held.scores["accuracy"] * held.rows), held.rows).proportion_ci(0.95, method="exact")
    assert held.intervals["accuracy"] != (exact.low, exact.high)
    assert any("depend on one another, so the certificate promises more" in text for text in holdout_sentences(results))


# Agreement


def held_out(value, half, name="rmse"):
    return HoldoutResult("Ridge", 100, {name: value}, None, {name: (value - half, value + half)})


def test_a_difference_beyond_both_intervals_is_no_agreement():
    score, estimate = SCORES["rmse"], Estimate(1.0, 0.7, 1.3, 0.0)
    near, far = (held_out(value, 0.4).gap_to(estimate, score) for value in (1.45, 1.55))
    assert near.low == pytest.approx(0.45 - 0.5) and far.low == pytest.approx(0.55 - 0.5)  # 3, 4, 5
    assert near.low < 0 < far.low


def test_a_hold_out_like_the_other_rows_disagrees_as_rarely_as_it_should():
    """Both estimates normal about the same value: five in a hundred disagree."""
    rng, z, score = np.random.default_rng(0), norm.ppf(0.975), SCORES["rmse"]
    here, there = rng.normal(1.0, 0.1, 4_000), rng.normal(1.0, 0.05, 4_000)
    gaps = [
        held_out(a, 0.1 * z).gap_to(Estimate(b, b - 0.05 * z, b + 0.05 * z, 0.0), score)
        for a, b in zip(here, there, strict=True)
    ]
    share = np.mean([not gap.low <= 0 <= gap.high for gap in gaps])
    assert abs(share - 0.05) < 3 * np.sqrt(0.05 * 0.95 / 4_000)


@pytest.mark.parametrize("kind", ["classes", "quantities"])
def test_a_line_says_whether_the_hold_out_agrees_with_cross_validation(kind, request):
    results = request.getfixturevalue(kind)
    name, held = results.score.name, results.holdout
    (said,) = [text for text in holdout_sentences(results) if "cross-validation" in text]
    assert said.startswith("Hold-out and cross-validation agree: ")
    worse = replace(held, scores={**held.scores, name: 9.0}, intervals={**held.intervals, name: (8.0, 10.0)})
    (said,) = [t for t in holdout_sentences(replace(results, holdout=worse)) if "cross-validation" in t]
    assert said.startswith("The hold-out is worse than cross-validation by more than chance explains: ")
    better = replace(held, scores={**held.scores, name: 0.001}, intervals={**held.intervals, name: (0.0, 0.002)})
    (said,) = [t for t in holdout_sentences(replace(results, holdout=better)) if "cross-validation" in t]
    assert said.startswith("The hold-out is better than cross-validation by more than chance explains: ")


# The rule that ignores the columns


def test_the_majority_rule_stands_beside_the_certificate():
    rng = np.random.default_rng(0)
    y = np.array(["no"] * 320 + ["yes"] * 80)
    results = finished(study_table(rng.normal(size=(400, 2)) + 3.0 * (y == "yes")[:, None], y), ["GaussianNB"])
    plan, held = results.plan, results.holdout
    assert held.baseline_error == pytest.approx(np.mean(y[plan.holdout] == "yes"))
    share = np.mean(y[plan.rows] == "yes")
    p = np.where(y[plan.holdout] == "yes", share, 1 - share)
    assert held.baseline["log_loss"] == pytest.approx(-np.log(p).mean())
    said = " ".join(holdout_sentences(results))
    assert f"The majority rule, which ignores the columns, is wrong on {held.baseline_error:.2%} of them." in said
    useless = replace(results, holdout=replace(held, certificate=replace(held.certificate, bound=0.5)))
    assert "the certificate does not show that the model is better" in " ".join(holdout_sentences(useless))


def test_the_mean_stands_beside_the_score_of_a_regression(quantities):
    plan, held = quantities.plan, quantities.holdout
    y = plan.data.y
    rmse = np.sqrt(np.mean((y[plan.holdout] - y[plan.rows].mean()) ** 2))
    assert held.baseline["rmse"] == pytest.approx(rmse)
    assert f"the mean of the other rows has {rmse:.2f}" in holdout_sentences(quantities)[0]


def test_a_hold_out_that_an_earlier_version_opened_is_read_without_intervals(classes):
    stored = {name: value for name, value in asdict(classes.holdout).items() if name not in ("intervals", "baseline")}
    with Journal.create(":memory:", {}) as journal:
        journal.put("holdout", stored)
        found = open_holdout(classes.plan, "GaussianNB", None, journal)
    assert (found.intervals, found.baseline) == ({}, {}) and found.certificate == classes.holdout.certificate
    said = holdout_sentences(replace(classes, holdout=found))
    assert "with probability 95%" in said[0] and not any("cross-validation" in text for text in said)


# The model that is saved


def test_the_winner_is_fitted_again_on_all_rows_with_the_setting_it_was_tested_with(classes):
    plan, learner = classes.plan, classes.judged[0].outcome.learner
    model = fit_winner(classes)
    again = refit_winner(classes, model)
    assert again.card["chosen"] == model.card["chosen"]
    assert (model.card["data"]["rows_fitted"], again.card["data"]["rows_fitted"]) == (len(plan.rows), 400)
    setting = next(s for s in learner.settings if dict(s) == model.card["chosen"])
    expected = fit_pipeline(plan.data, learner, setting, np.arange(400), 0)  # it draws nothing: any seed will do
    X = plan.data.X
    np.testing.assert_array_equal(again.pipeline.predict_proba(X), expected.predict_proba(X))
    assert not np.array_equal(again.pipeline.predict_proba(X), model.pipeline.predict_proba(X))


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "blobs.csv"
    data = blobs(200, apart=2.0)
    data.X.with_columns(y=data.y).write_csv(path)
    return path


def study(table, out, *words):
    given = [str(table), "--target", "y", "--methods", "GaussianNB", "--repeats", "1", "--holdout", "0.25"]
    shown = CliRunner().invoke(app, ["study", *given, "--out", str(out), *words])
    assert shown.exit_code == 0, shown.output
    return " ".join(shown.output.split()), json.loads((out / "results.json").read_text(encoding="utf-8"))


def test_the_model_file_holds_the_winner_of_all_rows_and_says_so_everywhere(table, tmp_path):
    text, found = study(table, tmp_path / "out")
    about = describe_model(tmp_path / "out" / "model.skops")
    assert about["card"]["data"]["rows_fitted"] == found["model_rows"] == 200
    assert about["card"]["refit"].startswith("fitted again on all 200 rows with the setting chosen before")
    assert about["card"]["refit"] in card_text(about)
    said = "fitted again on all 200 rows: no rows are left to test that one"
    assert said in text and said in (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    for name in found["holdout"]["scores"]:
        assert name in found["holdout"]["intervals"] and name in found["holdout"]["baseline"]
    page = (tmp_path / "out" / "report.html").read_bytes()
    done = CliRunner().invoke(app, ["report", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert said.encode() in page and said.encode() in (tmp_path / "out" / "report.html").read_bytes()


@pytest.mark.usefixtures("without_report")
def test_without_a_refit_the_file_holds_the_model_that_was_tested(table, tmp_path):
    text, found = study(table, tmp_path / "out", "--no-refit")
    model = load_model(tmp_path / "out" / "model.skops")
    assert model.card["data"]["rows_fitted"] == found["model_rows"] == 150 and "refit" not in model.card
    assert "The model file holds exactly this model, fitted on 150 rows" in text
    plan = make_plan(load(table, "y"), ["GaussianNB"], repeats=1, holdout=0.25)
    X, y = plan.data.X[plan.holdout], plan.data.y[plan.holdout]
    for name, value in found["holdout"]["scores"].items():
        assert SCORES[name].score_model(model.pipeline, X, y) == pytest.approx(value, rel=1e-12)
    times = json.loads((tmp_path / "out" / "times.json").read_text(encoding="utf-8"))
    assert times["command"].endswith("--no-refit")
    again = CliRunner().invoke(app, ["study", "--resume", "--refit", "--out", str(tmp_path / "out")])
    assert again.exit_code == 2 and "--refit True (then False)" in again.stderr


def test_a_study_without_a_hold_out_has_one_model_and_says_nothing_of_a_second(classes):
    alone = replace(classes, holdout=None, plan=make_plan(classes.plan.data, ["GaussianNB"], holdout=0))
    assert holdout_sentences(alone) == []
    own = alone.certificates.learners["GaussianNB"]
    said = str(results_table.certificate_text(alone))
    assert said.startswith("Certificate: A GaussianNB model drawn at random from those of the 3 folds is wrong on less")
    assert f"{own.bound:.2%} of new rows, with probability 95%" in said


def test_options_of_a_study_that_began_before_these_were_there_are_read():
    old = {name: value for name, value in asdict(StudyOptions()).items() if name not in ("refit", "split_copies")}
    with Journal.create(":memory:", {"asked": old}) as journal:
        assert StudyOptions.from_journal(journal) == StudyOptions()
