"""The plan of a study: splits, hold-out, learners, costs; nothing here depends on a clock but the probe itself."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from sklearn.multiclass import OneVsRestClassifier
from study_tables import blobs, study_table

from fivefold.core.registry import methods
from fivefold.naive_bayes import GaussianNB
from fivefold.study.planning import portfolio
from fivefold.study.planning.hyperparameters import draw_settings, halving_rungs
from fivefold.study.planning.plan import Options, make_plan, plan_from_options, plan_to_json
from fivefold.study.planning.splits import inner_splits, subsample
from fivefold.study.running.pipelines import fit_pipeline
from fivefold.study.tables.dataset import BadInput, load

FEW = ["GaussianNB"]


def with_classes(**counts):
    """A table with so many rows of each class."""
    y = np.repeat(list(counts), list(counts.values()))
    return study_table(np.random.default_rng(0).normal(size=(len(y), 2)), y)


# Rows


@pytest.mark.parametrize(
    ("n", "folds", "repeats", "halving", "held"),
    [
        (499, 5, 2, False, 0),
        (500, 5, 2, False, 100),
        (5_000, 5, 2, False, 1_000),
        (5_001, 5, 1, True, 1_000),
        (50_000, 5, 1, True, 10_000),
        (50_001, 3, 1, True, 10_000),
    ],
)
def test_the_number_of_rows_decides_how_much_is_done(n, folds, repeats, halving, held):
    plan = make_plan(study_table(np.zeros((n, 1)), np.arange(n) * 1.0), ["Ridge"])
    assert (plan.folds, plan.repeats, plan.halving, len(plan.holdout)) == (folds, repeats, halving, held)
    assert len(plan.splits) == folds * repeats


def test_folds_repeats_and_holdout_can_be_set():
    plan = make_plan(blobs(600), FEW, folds=4, repeats=3, holdout=0.3)
    assert (len(plan.splits), len(plan.holdout)) == (12, 180)
    assert len(make_plan(blobs(600), FEW, holdout=0).holdout) == 0


def test_every_row_outside_the_holdout_is_judged_once_a_repeat_and_no_row_of_it_is_in_any_split():
    plan = make_plan(blobs(600, K=3), FEW)
    for repeat in range(2):
        tested = np.concatenate([split.test for split in plan.splits if split.repeat == repeat])
        assert sorted([*tested, *plan.holdout]) == list(range(600))
    for split in plan.splits:
        assert not set(split.train) & set(split.test)
        assert not set(plan.holdout) & {*split.train, *split.test}


def test_the_holdout_takes_the_same_share_of_every_class_and_leaves_rare_ones_to_learn_from():
    data = with_classes(a=900, b=90, c=4)
    held = data.y[make_plan(data, FEW).holdout]
    assert [(held == label).sum() for label in "abc"] == [180, 18, 0]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"folds": 1}, "--folds is a number from 2 to 100"),
        ({"folds": 101}, "--folds is a number from 2 to 100"),
        ({"repeats": 0}, "--repeats is 1 or more"),
        ({"holdout": 0.6}, "--holdout is a share of the rows from 0 to 0.5"),
        ({"margin": float("inf")}, "--margin is a difference of the deciding score, 0 or more; got inf"),
        ({"score": "beauty"}, "scored by log_loss, accuracy, balanced_accuracy, f1, auc or brier; got 'beauty'"),
    ],
)
def test_options_that_make_no_sense_are_refused(given, said):
    with pytest.raises(BadInput, match=said):
        make_plan(blobs(200), FEW, **given)


def test_a_smaller_share_of_rows_is_part_of_a_larger_one_and_holds_every_class():
    data = with_classes(a=300, b=30, c=3)
    rows = np.arange(10, 333)
    small, large = subsample(data, rows, 0.1, 7), subsample(data, rows, 0.5, 7)
    assert set(small) < set(large) < set(rows)
    assert [(data.y[small] == label).sum() for label in "abc"] == [29, 3, 1]  # rounded up


# Dependent rows


def grouped(n=300, groups=30, **more):
    return blobs(n, groups=np.random.default_rng(1).integers(0, groups, n), **more)


@pytest.mark.parametrize(
    "data", [grouped(), replace(grouped(), y=np.arange(300) * 1.0, task="regression")], ids=["classes", "numbers"]
)
def test_a_group_is_never_in_both_parts_of_a_split(data):
    plan = make_plan(data, holdout=0.2)
    groups = data.groups
    assert 0.1 < len(plan.holdout) / 300 < 0.3
    assert not set(groups[plan.holdout]) & set(groups[plan.rows])
    for split in plan.splits:
        assert not set(groups[split.train]) & set(groups[split.test])
        for fit, judge in inner_splits(data, split.train, 3, 0):
            assert not set(groups[fit]) & set(groups[judge])
            assert {*fit, *judge} <= set(split.train)


def test_few_groups_make_few_folds_and_two_are_too_few():
    data = blobs(60, groups=np.arange(60) % 4)
    plan = make_plan(data, FEW)
    assert plan.folds == 4
    assert plan.warnings[0] == "4 folds instead of 5: there are no more groups"
    with pytest.raises(BadInput, match="2 groups are left to split; a study needs 3"):
        make_plan(replace(data, groups=np.arange(60) % 2), FEW)


def test_with_time_training_comes_before_test_and_the_holdout_is_the_latest_part():
    time = np.random.default_rng(2).permutation(600)
    data = blobs(600, time=time)
    plan = make_plan(data, FEW, repeats=4)
    assert time[plan.holdout].min() > time[plan.rows].max()
    assert [split.repeat for split in plan.splits] == [0] * 5
    assert "no repeats: rows in order of time can be split in one way only" in plan.warnings
    for split in plan.splits:
        assert time[split.train].max() < time[split.test].min()
        for fit, judge in inner_splits(data, split.train, 3, 0):
            assert time[fit].max() < time[judge].min()


def test_folds_whose_past_holds_one_class_fall_away():
    data = replace(with_classes(a=60, b=60), time=np.r_[0:50, 60:70, 50:60, 70:120])  # b comes from row 50 on
    plan = make_plan(data, FEW)
    assert len(plan.splits) == 3
    assert plan.warnings[0] == "2 of 5 folds are dropped: their training rows hold only one class"


def test_a_past_of_one_class_only_is_refused():
    data = replace(with_classes(a=60, b=60), time=np.arange(120))
    with pytest.raises(BadInput, match="too few folds have two classes to learn from"):
        make_plan(data, FEW, folds=2)


def test_the_shortest_past_is_still_split():
    data = blobs(20, time=np.arange(20))
    for split in make_plan(data, FEW, folds=9).splits:
        assert len(inner_splits(data, split.train, 3, 0)) <= 3


def test_groups_and_time_at_once_are_refused():
    with pytest.raises(BadInput, match="--group or --time"):
        make_plan(blobs(100, groups=np.arange(100), time=np.arange(100)))


# Classes


def test_a_class_with_fewer_rows_than_folds_makes_fewer_folds_and_is_named():
    plan = make_plan(with_classes(a=50, b=30, c=4), FEW)
    assert plan.folds == 4
    assert plan.warnings[0] == "4 folds instead of 5: few rows of class c (4)"
    assert all(set(plan.data.y[split.test]) == {"a", "b", "c"} for split in plan.splits)


def test_a_class_of_two_rows_is_refused_with_a_cure():
    with pytest.raises(
        BadInput, match=r"class 'c' \(2\) of 'y' has too few rows.*--rare-classes merge:31 joins.*drop:3 leaves out"
    ):
        make_plan(with_classes(a=50, b=30, c=2), FEW)


def test_a_rare_class_is_warned_of_and_brings_balanced_accuracy_and_class_weights_in():
    plan = make_plan(with_classes(a=90, b=15), ["sklearn.linear_model.LogisticRegression", "GaussianNB"])
    assert "few rows of class b (14.3%): accuracy says little; look at balanced accuracy" in plan.warnings
    assert [score.name for score in plan.scores[:2]] == ["log_loss", "balanced_accuracy"]
    assert plan.learners[0].settings == ({}, {"class_weight": "balanced"})
    assert all("class_weight" not in setting for setting in plan.learners[1].settings)  # it has none


@pytest.mark.parametrize("counts", [{"a": 60, "b": 40}, dict.fromkeys("abcdefghij", 10)])
def test_classes_of_equal_size_are_not_rare_however_many_they_are(counts):
    plan = make_plan(with_classes(**counts), FEW)
    assert plan.warnings == ()
    assert plan.scores[1].name == "accuracy"


def test_more_columns_than_rows_are_warned_of():
    """D-03: too many features for the examples there are."""
    data = study_table(np.random.default_rng(0).normal(size=(40, 60)), np.arange(40) * 1.0)
    assert make_plan(data, ["Ridge"]).warnings[0].startswith("60 columns and 40 rows: with more columns than rows")


# Learners


def test_the_portfolio_holds_at_most_twenty_with_the_baselines_and_names_what_is_left_out(monkeypatch):
    data = blobs()
    usual = make_plan(data)
    assert len(usual.learners) <= 20 and usual.skipped == {}
    baselines = [learner.name for learner in usual.learners if learner.baseline]
    assert len(baselines) == 2
    monkeypatch.setattr(portfolio, "PORTFOLIO_SIZE", 4)
    plan = make_plan(data)
    assert [x.name for x in plan.learners][2:] == ["Blend", *baselines]
    assert len({learner.method.chapter for learner in plan.learners[:2]}) == 2  # the first of each chapter goes first
    assert set(plan.skipped) == {x.name for x in usual.learners} - {x.name for x in plan.learners}


def test_all_means_every_method_of_the_task():
    names = {learner.name for learner in make_plan(blobs(), ["all"]).learners}
    assert names == {
        m.name for m in methods() if {"classification"} & {*m.card.applications} and m.chapter != "mixture"
    }


def test_a_dotted_name_admits_a_class_of_scikit_learn_with_its_defaults_only():
    plan = make_plan(blobs(), ["sklearn.ensemble.RandomForestClassifier"])
    forest = plan.learners[0]
    assert (forest.name, forest.settings) == ("sklearn.ensemble.RandomForestClassifier", ({},))
    assert forest.make({}, 7).get_params() == forest.method.cls(random_state=7).get_params()
    assert [learner.baseline for learner in plan.learners] == [False, True, True]


def test_a_dotted_name_of_ours_is_the_registered_method():
    dotted, named = (
        make_plan(blobs(), [name]).learners[0] for name in ("fivefold.naive_bayes.GaussianNB", "gaussiannb")
    )
    assert dotted == named


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("sklearn.nowhere.Thing", "the module sklearn.nowhere cannot be imported"),
        ("sklearn.svm.SVM", r"sklearn.svm has no class SVM; did you mean sklearn.svm.SV\w"),
        ("sklearn.svm.SVR", "does not do classification"),
        ("sklearn.multiclass.OneVsRestClassifier", "cannot be constructed without arguments"),
        ("pathlib.Path", "is not a scikit-learn estimator"),
        (".svm", "cannot be imported"),
        ("KMeans", "KMeans does not do classification, which 'y' asks for; there are"),
        ("GausianNB", "did you mean GaussianNB"),
    ],
)
def test_names_that_cannot_be_learners_are_refused_with_the_reason(name, said):
    with pytest.raises(BadInput, match=said):
        make_plan(blobs(), [name])


def test_estimators_are_taken_as_they_are_and_those_of_one_name_are_numbered():
    given = [
        OneVsRestClassifier(GaussianNB()),
        OneVsRestClassifier(GaussianNB(var_smoothing=0.1)),
        "GaussianNB",
        "GaussianNB",
    ]
    plan = make_plan(blobs(), given)
    assert [x.name for x in plan.learners[:-2]] == ["OneVsRestClassifier", "OneVsRestClassifier (2)", "GaussianNB"]
    assert plan.learners[1].make({}, 0).get_params()["estimator__var_smoothing"] == 0.1


def test_whatever_is_random_in_a_learner_follows_the_state():
    from sklearn.ensemble import BaggingClassifier, RandomForestClassifier

    learner = make_plan(blobs(), [BaggingClassifier(RandomForestClassifier(random_state=0), random_state=0)]).learners[
        0
    ]
    made = learner.make({}, 3).get_params()
    assert (made["random_state"], made["estimator__random_state"]) == (3, 3)


# Settings


def test_few_settings_are_all_tried_and_many_are_drawn_by_the_seed():
    space = {"alpha": tuple(range(10)), "beta": tuple(range(10))}
    drawn = draw_settings("Thing", space, 12, 0)
    assert len({tuple(setting.items()) for setting in drawn}) == 12 and drawn[0] == {}
    assert draw_settings("Thing", space, 12, 0) == drawn
    assert draw_settings("Thing", space, 12, 1) != drawn != draw_settings("Other", space, 12, 0)
    assert len(draw_settings("Thing", space, 101, 0)) == 101
    assert draw_settings("Thing", {}, 12, 0) == ({},)


@pytest.mark.parametrize("settings", range(2, 40))
def test_halving_tries_all_settings_first_and_the_last_ones_on_all_rows(settings):
    steps = halving_rungs(settings, 45_000, halving=True)
    assert steps[0].settings == settings
    assert steps[-1].share == 1.0 and steps[-1].settings <= 3
    for few, more in pairwise(steps):
        assert more.settings == -(-few.settings // 3) and few.share < more.share
    assert halving_rungs(settings, 1_000, halving=True)[0].share == 1.0  # fewer rows than a thousand are never thinned


# The plan as a whole


def test_equal_options_give_equal_plans_and_whatever_decides_the_results_changes_the_digest():
    data = blobs(600)
    plan = make_plan(data, FEW)
    assert plan.digest == make_plan(data, FEW).digest
    others = [
        make_plan(data, FEW, seed=1),
        make_plan(data, FEW, folds=4),
        make_plan(data, FEW, repeats=1),
        make_plan(data, FEW, holdout=0.1),
        make_plan(data, FEW, score="auc"),
        make_plan(data, ["QuadraticDiscriminantAnalysis"]),
        make_plan(replace(data, digest="other"), FEW),
        plan_from_options(data, Options(tuple(FEW), draws=2)),
    ]
    assert len({plan.digest, *(other.digest for other in others)}) == 1 + len(others)


def test_a_plan_is_plain_values():
    found = plan_to_json(make_plan(blobs(600), [*FEW, OneVsRestClassifier(GaussianNB())]))
    assert json.loads(json.dumps(found)) == found
    assert found["scores"][0] == "log_loss" and found["holdout"]["rows"] == 120
    assert found["learners"][1]["prototype"] == "OneVsRestClassifier(estimator=GaussianNB())"


def test_task_measure_and_experience_stand_in_every_plan():
    """D-01: a learning problem is a task, a performance measure and data; no plan lacks one of the three."""
    found = plan_to_json(make_plan(load("diabetes"), ["Ridge"]))
    assert (found["data"]["task"], found["scores"][0], found["data"]["rows"]) == ("regression", "rmse", 442)


def test_boosting_has_a_twin_with_codes_where_categories_have_many_levels():
    rng = np.random.default_rng(0)
    level = rng.integers(0, 8, 300)
    frame = pl.DataFrame({"a": [f"level {k}" for k in level], "x": rng.normal(size=300)})
    y = np.where(rng.random(300) < np.where(np.isin(level, (1, 4, 6)), 0.9, 0.1), "yes", "no")
    data = study_table(frame, y, kinds={"a": "category"})
    name = "HistGradientBoostingClassifier"
    native, coded = (x for x in make_plan(data).learners if x.name.startswith(name))
    assert (native.name, coded.name) == (name, f"{name} (codes)")
    assert (native.takes.categories, coded.takes.categories) == ("text", "codes")
    assert native.growth == coded.growth and native.strength == coded.strength
    assert coded.make({}, 0).max_leaf_nodes < native.make({}, 0).max_leaf_nodes
    assert make_plan(data, [coded.name]).learners[0] == coded  # a user may name it
    for learner in (native, coded):
        P = fit_pipeline(data, learner, {}, np.arange(200), 0).predict_proba(data.X[200:])
        assert np.mean((P[:, 1] > 0.5) == (y[200:] == "yes")) > 0.8
    few = study_table(frame.with_columns(pl.Series("a", [f"level {k}" for k in level % 4])), y, kinds={"a": "category"})
    assert [x.name for x in make_plan(few).learners if x.name.startswith(name)] == [name]
    assert [x.name for x in make_plan(data, [name]).learners if x.name.startswith(name)] == [name]
