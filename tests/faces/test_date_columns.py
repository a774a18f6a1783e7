"""A column of dates: a warning that names --time, and the score of the winner in both orders."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from sklearn.neighbors import KNeighborsRegressor
from typer.testing import CliRunner

from fivefold.cli.app import app
from fivefold.study.judging.time_order import date_column, order_by_date, score_in_time_order, time_order_sentences
from fivefold.study.planning.plan import FitCost, make_plan
from fivefold.study.running.fold import evaluate_fold
from fivefold.study.running.journal import Journal
from fivefold.study.running.workers import TaskResult
from fivefold.study.tables.dataset import from_frame


def walk(n=200, **more):
    """A random walk with its date: neighbours in time tell it, the past alone does not."""
    rng = np.random.default_rng(0)
    day = pl.datetime_range(pl.datetime(2020, 1, 1), pl.datetime(2020, 1, 1) + pl.duration(days=n - 1), eager=True)
    frame = pl.DataFrame({"day": day, "x": rng.normal(size=n), "y": np.cumsum(rng.normal(size=n))})
    return frame.with_columns(**more)[rng.permutation(n)]


class InProcess:
    """Workers that run every task here, and remember it."""

    jobs = 1

    def __init__(self, data):
        self.data, self.tasks = data, []

    def run(self, tasks):
        for task, _ in tasks:
            self.tasks.append(task)
            yield TaskResult(task, "done", task[0](self.data, *task[1:]), 0.0)


def in_time_order(plan, shuffled=0.0):
    workers = InProcess(plan.data)
    with Journal.create(":memory:", {}) as journal:
        found = score_in_time_order(plan, plan.learners[0], shuffled, journal, workers)
        again = score_in_time_order(plan, plan.learners[0], shuffled, journal, None)  # read from the journal
    assert found is None or found == again
    return found, workers.tasks


@pytest.mark.parametrize(
    ("options", "warned"),
    [({}, True), ({"time": "day"}, False), ({"group": "g"}, False), ({"kinds": {"day": "identifier"}}, False)],
)
def test_dates_are_warned_of_unless_time_or_groups_are_given(options, warned):
    data = from_frame("t", walk(g=pl.Series([f"g{i % 20}" for i in range(200)])), "y", **options)
    found = [text for text in make_plan(data, ["Ridge"]).warnings if "holds dates" in text]
    assert [text.endswith("give --time day") for text in found] == [True] * warned
    assert (date_column(data) == "day") == warned


def test_a_table_without_dates_is_not_warned_of():
    data = from_frame("t", walk().drop("day"), "y")
    assert date_column(data) is None
    assert not any("--time" in text for text in make_plan(data, ["Ridge"]).warnings)


def test_the_winner_is_scored_in_order_of_time_on_rows_outside_the_holdout():
    data = from_frame("t", walk(600), "y")
    plan = make_plan(data, [KNeighborsRegressor(3)], repeats=1)
    found, tasks = in_time_order(plan, shuffled=1.0)
    day = data.X["day"].to_physical().to_numpy()
    splits = [task[-1] for task in tasks]
    assert len(splits) == plan.folds == found.folds
    for split in splits:
        assert day[split.train].max() < day[split.test].min()
        assert {*split.train, *split.test} <= set(plan.rows)
    ordered = order_by_date(data, "day")
    assert "day" not in ordered.X.columns and (ordered.time == day).all()
    expected = np.mean([evaluate_fold(ordered, plan.learners[0], s, plan).scores["rmse"] for s in splits])
    assert found.ordered == pytest.approx(expected, rel=1e-12)
    assert (found.column, found.score, found.shuffled) == ("day", "rmse", 1.0)


def test_dates_with_gaps_are_warned_of_but_do_not_order_the_rows():
    frame = walk().with_columns(day=pl.when(pl.int_range(200) == 7).then(None).otherwise(pl.col("day")))
    data = from_frame("t", frame, "y")
    plan = make_plan(data, ["Ridge"])
    assert any("give --time day" in text for text in plan.warnings)
    assert in_time_order(plan) == (None, [])


def test_a_budget_that_has_no_room_for_it_leaves_the_second_score_out():
    plan = make_plan(from_frame("t", walk(), "y"), ["Ridge"])
    costs = {learner.name: FitCost(1.0, 100, 1.0) for learner in plan.learners}
    assert in_time_order(replace(plan, costs=costs, budget=10.0)) == (None, [])
    assert in_time_order(replace(plan, costs=costs, budget=10_000.0))[0] is not None


def test_a_date_alone_is_not_scored_without_it():
    plan = make_plan(from_frame("t", walk().drop("x"), "y"), ["Ridge"])
    assert in_time_order(plan) == (None, [])


def test_a_study_shows_the_warning_and_both_scores(tmp_path, request):
    frame = walk(300)
    frame.write_csv(tmp_path / "walk.csv")
    words = ["--methods", "sklearn.neighbors.KNeighborsRegressor", "--repeats", "1", "--out", str(tmp_path / "out")]
    shown = CliRunner().invoke(app, ["study", str(tmp_path / "walk.csv"), "--target", "y", *words])
    assert shown.exit_code == 0, shown.output
    found = json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))
    both = found["time_order"]
    assert both["shuffled"] == found["learners"][0]["summary"]["rmse"]["mean"]
    assert both["ordered"] > 1.2 * both["shuffled"]  # neighbours in time are the walk's own values
    text = " ".join(shown.output.split())
    assert "give --time day" in text and f"{both['ordered']:.2f}" in text and f"{both['shuffled']:.2f}" in text
    page = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert "each fold later than its training rows" in page
    request.getfixturevalue("without_report")
    again = CliRunner().invoke(app, ["study", "--resume", "--out", str(tmp_path / "out")])
    assert again.exit_code == 0, again.output
    assert json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8")) == found


def test_nothing_is_said_where_there_is_no_second_score():
    assert time_order_sentences(None) == []
