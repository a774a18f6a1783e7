"""`fivefold study --costs`: learners are judged, and the model decides, by expected cost; bad matrices are refused."""

import csv
import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from study_tables import blobs
from typer.testing import CliRunner

from fivefold.cli.app import app
from fivefold.cli.results_table import study_heading
from fivefold.decision import CostMatrix
from fivefold.evaluation.scores import COST, CachedPredictions
from fivefold.study.judging.cost_summary import cost_sentences, decision_costs
from fivefold.study.judging.out_of_fold import out_of_fold_losses, out_of_fold_rows
from fivefold.study.judging.results import judge_outcomes
from fivefold.study.judging.verdicts import practical_margin
from fivefold.study.models.model_file import load_model
from fivefold.study.models.winner import fit_winner, save_winner
from fivefold.study.planning.plan import make_plan, plan_to_json
from fivefold.study.report import build_page
from fivefold.study.report.page import to_markdown
from fivefold.study.running.fold import evaluate_fold
from fivefold.study.running.run import LearnerOutcome
from fivefold.study.tables.dataset import BadInput

COSTS = "true,ham,spam,reject\nham,0,10,1\nspam,2,0,1\n"


def write_table(path, n=240, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.normal(1.2 * y[:, None], 1.0, (n, 3))
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["a", "b", "c", "kind"])
        writer.writerows([*map(float, row), ("ham", "spam")[k]] for row, k in zip(X, y, strict=True))
    return path


def run(*words):
    return CliRunner().invoke(app, list(map(str, words)), env={"COLUMNS": "100"})


def named(data):
    return tuple(map(str, np.unique(data.y)))


@pytest.fixture(scope="module")
def results():
    """A study of three overlapping classes with costs and rejections, in this process."""
    data = blobs(150, K=3, seed=1)
    matrix = CostMatrix(named(data), ((0, 5, 1), (1, 0, 1), (8, 2, 0)), reject=0.4)
    plan = make_plan(data, ["GaussianNB", "LogisticRegression"], costs=matrix, folds=3, repeats=1)
    outcomes = [
        LearnerOutcome(x, tuple(evaluate_fold(plan.data, x, split, plan) for split in plan.splits), None, ())
        for x in plan.learners
    ]
    return judge_outcomes(plan, outcomes)


def test_the_first_score_is_the_mean_cost_of_the_decisions(results):
    plan, matrix = results.plan, results.plan.cost_matrix
    assert plan.scores[0].name == COST and plan.scores[1].name == "log_loss"
    for judged in results.judged:
        for fold in judged.outcome.folds:
            risk = fold.proba @ matrix.losses.T
            paid = matrix.losses[risk.argmin(axis=1), plan.codes[fold.test]]
            assert fold.scores[COST] == pytest.approx(paid.mean())
    means = [judged.estimates[COST].mean for judged in results.judged]
    assert means == sorted(means)
    rows = out_of_fold_rows([judged.outcome for judged in results.judged])
    losses = out_of_fold_losses(plan, [judged.outcome for judged in results.judged], rows, COST)
    assert_allclose(losses.mean(axis=0), means, rtol=0.05)  # folds differ a little in size


def test_the_margin_is_a_share_of_the_cost_of_ignoring_the_columns(results):
    plan, matrix = results.plan, results.plan.cost_matrix
    shares = np.bincount(plan.codes[plan.rows]) / len(plan.rows)
    margin, meaning = practical_margin(plan)
    assert margin == pytest.approx(0.01 * matrix.constant_cost(shares)) and "same for all rows" in meaning


def test_report_and_sentences_say_what_decisions_cost(results):
    found = decision_costs(results)
    assert found.counts.sum() == sum(len(split.test) for split in results.plan.splits)
    assert found.cost <= found.constant_cost and found.cost < found.most_probable_cost + 1e-12
    assert 0 < found.rejected < 1
    text = to_markdown(build_page(results))
    assert "What the decisions cost" in text and "expected cost" in text
    assert f"{found.rejected:.1%} of the rows are rejected" in text
    assert cost_sentences(results)[0] in text


def test_the_model_file_decides_by_cost(results, tmp_path):
    data, matrix = results.plan.data, results.plan.cost_matrix
    model = fit_winner(results)
    path = save_winner(model, results, tmp_path)
    loaded = load_model(path)
    P = model.pipeline.predict_proba(data.X)
    answers = np.array([*named(data), "reject"])[(P @ matrix.losses.T).argmin(axis=1)]
    assert_array_equal(loaded.pipeline.predict(data.X).astype(str), answers)
    assert_allclose(loaded.pipeline.predict_proba(data.X), P)
    assert_array_equal(loaded.most_probable(data.X), model.pipeline.predict(data.X))
    assert loaded.card["costs"]["reject"] == 0.4


def test_without_rejections_labels_keep_their_type():
    matrix = CostMatrix(("1", "2"), ((0, 3), (1, 0)))
    from fivefold.naive_bayes import GaussianNB

    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([1, 1, 2, 2])
    assert matrix.deciding(GaussianNB().fit(X, y)).predict(X).dtype == y.dtype
    with pytest.raises(ValueError, match="the model knows"):
        matrix.deciding(GaussianNB().fit(X, y + 1))


def test_the_plan_is_made_again_from_its_options(results):
    """A plan without costs has the digest that it had before costs were known."""
    again = plan_to_json(results.plan)["options"]["costs"]
    assert CostMatrix.from_json(again) == results.plan.cost_matrix
    assert "costs" not in plan_to_json(make_plan(results.plan.data, ["GaussianNB"]))["options"]


def test_costs_of_one_for_every_mistake_are_the_share_of_mistakes(results):
    data = results.plan.data
    even = CostMatrix(named(data), tuple(map(tuple, (1 - np.eye(3)).tolist())))
    assert even.uniform
    fold = results.judged[0].outcome.folds[0]

    class Given:
        classes_ = np.arange(3)

        def predict_proba(self, X):
            return fold.proba

    y = results.plan.codes[fold.test]
    assert even.score.function(CachedPredictions(Given(), None), y) == pytest.approx(
        np.mean(fold.proba.argmax(axis=1) != y)
    )


def test_costs_and_metric_together_are_refused(results):
    with pytest.raises(BadInput, match="not both"):
        make_plan(results.plan.data, ["GaussianNB"], score="auc", costs=results.plan.cost_matrix)


def test_the_heading_names_the_costliest_mistake(results):
    from rich.console import Console

    console = Console(width=200)
    with console.capture() as seen:
        console.print(study_heading(results.plan))
    assert "the costliest mistake is" in seen.get() and "a rejection costs 0.4" in seen.get()


@pytest.mark.parametrize(
    ("costs", "words"),
    [
        ("true,ham\nham,0\n", "header"),
        ("true,ham,spam\nham,0,1\n", "lack 'spam'"),
        ("true,ham,eggs\nham,0,1\nspam,1,0\n", "'eggs' among the columns is no class"),
        ("true;ham;spam\nham;0;much\nspam;1;0\n", "must be a number; got 'much'"),
        ("true,ham,spam\nham,3,1\nspam,1,0\n", "cheapest"),
        (None, "cannot be read"),
    ],
)
def test_bad_files_are_refused_before_anything_runs(tmp_path, costs, words):
    path = tmp_path / "costs.csv"
    if costs is not None:
        path.write_text(costs)
    done = run("study", write_table(tmp_path / "t.csv"), "--target", "kind", "--costs", path, "--out", tmp_path / "out")
    assert done.exit_code == 2 and words in " ".join(done.output.split())
    assert not list((tmp_path / "out").glob("*"))


def test_costs_are_for_classes(tmp_path):
    (tmp_path / "costs.csv").write_text(COSTS)
    table = write_table(tmp_path / "t.csv")
    done = run("study", table, "--target", "a", "--costs", tmp_path / "costs.csv", "--out", tmp_path / "out")
    assert done.exit_code == 2 and "is a number" in " ".join(done.output.split())


def test_a_study_from_the_command_line_to_predictions(tmp_path, without_report):
    """Resumed with the same costs, evaluated, and predicting, with the word for a rejected row."""
    table, costs, out = write_table(tmp_path / "t.csv"), tmp_path / "costs.csv", tmp_path / "out"
    costs.write_text(COSTS)
    command = ["study", table, "--target", "kind", "--costs", costs, "--methods", "GaussianNB", "--folds", "2"]
    done = run(*command, "--repeats", "1", "--jobs", "1", "--out", out)
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    assert "expected cost" in said and "of the rows are rejected" in said
    kept = json.loads((out / "results.json").read_text())
    assert kept["plan"]["scores"][0] == COST and kept["plan"]["options"]["costs"]["reject"] == [1.0, 1.0]
    assert run("study", "--resume", "--jobs", "1", "--out", out).exit_code == 0
    predicted = run("predict", out / "model.skops", table)
    answers = {line.split(",")[1] for line in predicted.output.splitlines()[1:] if "," in line}
    assert answers == {"ham", "spam", "reject"}
    explained = run("predict", out / "model.skops", table, "--explain", "--interval", "0.8")
    assert explained.exit_code == 0, explained.output
    scored = run("evaluate", out / "model.skops", table)
    assert "expected cost" in scored.output and "those of the most probable class" in " ".join(scored.output.split())
    assert "by least expected cost" in run("card", out / "model.skops").output
