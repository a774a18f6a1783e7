"""Identical rows stay in one fold, none of the hold-out is trained on, and tables of few values are left alone."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from sklearn.neighbors import KNeighborsClassifier
from study_tables import study_table

from fivefold.study import report
from fivefold.study.planning.plan import make_plan, plan_to_json
from fivefold.study.planning.splits import inner_splits
from fivefold.study.report.phases import training_section
from fivefold.study.running.fold import evaluate_fold, tune_and_fit
from fivefold.study.tables.dataset import BadInput, from_frame


def copied(distinct=500, copies=300, *, seed=0, target=None):
    """Numbers with labels that none of them tells, and copies of some rows, all shuffled."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame({f"x{j}": rng.normal(size=distinct).round(3) for j in range(4)})
    frame = frame.with_columns(y=pl.Series(rng.choice(["a", "b"], distinct)) if target is None else target)
    order = rng.permutation(np.concatenate([np.arange(distinct), rng.integers(0, distinct, copies)]))
    return frame[order]


def said_of_copies(data):
    return next((text for text in data.warnings if "an earlier one" in text), "")


def test_copies_are_in_one_fold_and_none_of_the_holdout_is_outside_it():
    data = from_frame("t", copied(), "y")
    plan = make_plan(data, ["GaussianNB"], holdout=0.2)
    assert data.copies == 300 and plan_to_json(plan)["copies"] == 300
    records = data.records
    assert len(set(records[plan.holdout])) == len(plan.holdout)  # no row twice: the certificate counts each once
    assert 0.18 < len(plan.holdout) / 500 < 0.22
    assert not set(records[plan.holdout]) & set(records[plan.rows])
    for repeat in range(plan.repeats):
        tested = np.concatenate([split.test for split in plan.splits if split.repeat == repeat])
        assert sorted(tested) == plan.rows.tolist()
    for split in plan.splits:
        assert not set(records[split.train]) & set(records[split.test])
        assert abs(np.mean(data.y[split.test] == "a") - np.mean(data.y[plan.rows] == "a")) < 0.1
        for fit, judged in inner_splits(data, split.train, 3, 0):
            assert not set(records[fit]) & set(records[judged])
            assert sorted([*fit, *judged]) == sorted(split.train)


def test_numbers_to_predict_are_split_in_the_same_way():
    noise = pl.Series(np.random.default_rng(3).normal(size=500))
    data = from_frame("t", copied(target=noise), "y")
    plan = make_plan(data, ["Ridge"])
    assert data.copies == 300
    for split in plan.splits:
        assert not set(data.records[split.train]) & set(data.records[split.test])


def nearest_neighbour(data):
    """The accuracy of one nearest neighbour: over the outer folds, and on the hold-out."""
    plan = make_plan(data, [KNeighborsClassifier(1)], repeats=1, holdout=0.2)
    learner = plan.learners[0]
    right = np.mean([evaluate_fold(data, learner, s, plan).scores["accuracy"] for s in plan.splits])
    model, _ = tune_and_fit(data, learner, plan.rows, plan)
    return right, np.mean(model.predict(data.X[plan.holdout]) == data.y[plan.holdout])


def test_a_learner_that_remembers_rows_is_at_chance_on_labels_that_mean_nothing():
    frame = copied()
    error = np.sqrt(0.25 / 80)  # of the accuracy on the smaller set, the 100 distinct rows held out
    assert max(abs(right - 0.5) for right in nearest_neighbour(from_frame("t", frame, "y"))) < 3 * error
    leaking = nearest_neighbour(from_frame("t", frame, "y", split_copies=True))
    assert min(leaking) > 0.5 + 3 * error  # the test can fail: remembered copies look like knowledge


def test_the_user_may_split_copies_and_is_told_what_that_means():
    data = from_frame("t", copied(), "y", split_copies=True)
    assert data.records is None and data.copies == 0
    assert said_of_copies(data).endswith("Copies may be in both training and test rows")


def test_copies_are_counted_and_what_is_done_with_them_is_said():
    said = said_of_copies(from_frame("t", copied(), "y"))
    assert said.startswith("300 rows of 800 repeat an earlier one: ")
    assert "Copies stay in one fold, and no copy of a row held out is trained on; --split-copies" in said


@pytest.mark.parametrize("role", ["group", "time"])
def test_groups_and_time_decide_before_copies(role):
    frame = copied().with_columns(at=pl.Series(np.arange(800) % 40))
    data = from_frame("t", frame, "y", **{role: "at"})
    assert data.records is None
    assert said_of_copies(data).endswith("Copies may be in both training and test rows: remove them")


def passengers(n=1_500):
    """Three columns of few values, as on a list of passengers: equal rows are no copies."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "class": rng.choice(["1st", "2nd", "3rd", "crew"], n, p=[0.15, 0.13, 0.32, 0.4]),
            "sex": rng.choice(["female", "male"], n, p=[0.2, 0.8]),
            "age": rng.choice(["child", "adult"], n, p=[0.05, 0.95]),
        }
    )
    saved = (frame["sex"] == "female").to_numpy() ^ (rng.random(n) < 0.2)
    return frame.with_columns(y=pl.Series(np.where(saved, "yes", "no")))


def test_equal_rows_of_a_table_of_few_values_are_chance():
    data = from_frame("t", passengers(), "y")
    assert data.records is None
    assert "With so few distinct values that is chance; they are split like other rows" in said_of_copies(data)


@pytest.mark.parametrize("columns", [1, 2, 4])
def test_a_table_that_is_repeated_whole_is_not_chance(columns):
    frame = copied(copies=0).select([*(f"x{j}" for j in range(columns)), "y"])
    data = from_frame("t", pl.concat([frame] * 3), "y")
    distinct = frame.select(pl.exclude("y")).n_unique()
    assert data.copies == 1_500 - distinct


def test_rows_that_differ_in_the_target_only_stay_together():
    """Otherwise a test row would find only the other label among the training rows like it."""
    frame = copied()
    other = frame[:20].with_columns(y=pl.when(pl.col("y") == "a").then(pl.lit("b")).otherwise(pl.lit("a")))
    data = from_frame("t", pl.concat([frame, other]), "y")
    assert (data.records[800:] == data.records[:20]).all()


def test_a_class_whose_rows_are_copies_of_two_is_refused():
    frame = copied()
    rare = frame[[0, 1] * 3].with_columns(y=pl.lit("rare"), x0=pl.Series([9.0, 8.0] * 3))
    with pytest.raises(BadInput, match=r"class 'rare' \(2\) of 'y' has too few distinct rows"):
        make_plan(from_frame("t", pl.concat([frame, rare]), "y"), ["GaussianNB"])


def test_plan_and_report_say_how_many_copies_there_are():
    data = from_frame("t", copied(), "y")
    plan = make_plan(data, ["GaussianNB"])
    assert json.loads(json.dumps(plan_to_json(plan)))["copies"] == 300
    results = report_results(plan)
    assert "Copies of rows (300) share a fold with the row they repeat" in str(training_section(results))
    assert "300 rows of 800 repeat an earlier one" in str(report.build_page(results))


def report_results(plan):
    from fivefold.study.judging.results import judge_outcomes
    from fivefold.study.running.run import LearnerOutcome

    folds = {
        learner.name: tuple(evaluate_fold(plan.data, learner, split, plan) for split in plan.splits)
        for learner in plan.learners
    }
    return judge_outcomes(plan, [LearnerOutcome(learner, folds[learner.name], None, ()) for learner in plan.learners])


def test_a_part_of_a_table_keeps_its_copies_together():
    data = from_frame("t", copied(), "y")
    part = data.take(np.arange(100, 700))
    plan = make_plan(part, ["GaussianNB"], folds=3, repeats=1)
    assert (part.records == data.records[100:700]).all()
    for split in plan.splits:
        assert not set(part.records[split.train]) & set(part.records[split.test])


def test_without_copies_the_splits_are_those_of_a_table_that_was_never_asked():
    rng = np.random.default_rng(0)
    data = study_table(rng.normal(size=(200, 2)), rng.choice(["a", "b"], 200))
    asked = replace(data, records=np.arange(200))
    assert plan_to_json(make_plan(asked, ["GaussianNB"])) == plan_to_json(make_plan(data, ["GaussianNB"]))
