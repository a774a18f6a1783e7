"""The search for settings: what is drawn, what is compared with what, and what happens at the ends of ranges."""

from dataclasses import replace

import numpy as np
import pytest
from study_tables import blobs, study_table

from fivefold.core.estimators.params import allows, declared_params
from fivefold.core.registry import SearchRange, find, methods
from fivefold.evaluation.scores import SCORES
from fivefold.study.judging.tuning_summary import range_notes, tried_per_split, was_tuned
from fivefold.study.planning import hyperparameters
from fivefold.study.planning.hyperparameters import draw_settings, searched_ranges, values_beyond
from fivefold.study.planning.plan import make_plan
from fivefold.study.planning.portfolio import Learner
from fivefold.study.running import setting_search
from fivefold.study.running.blend import as_predictions
from fivefold.study.running.fold import evaluate_fold
from fivefold.study.running.run import LearnerOutcome
from fivefold.study.running.setting_search import choose_setting


def ridge(space, draws=8):
    return replace(Learner(find("Ridge")), space=space).with_draws(draws, 0)


def beyond(learner, setting):
    """The settings beyond the ends of the ranges, from one setting that was tried."""
    tried = setting_search.TriedSetting(setting, 0.0, None)
    return setting_search._settings_beyond(learner, [tried], tried)


def linear(n=120, d=30, noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return study_table(X, X[:, 0] + noise * rng.normal(size=n))


# Draws


def test_every_slice_of_every_range_is_used_once_and_listed_values_equally_often():
    space = {"a": SearchRange(0.01, 100.0), "b": SearchRange(1, 1000), "c": ("x", "y", "z")}
    first, *drawn = draw_settings("Thing", space, 13, seed=3)
    assert first == {} and len(drawn) == 12
    slices = sorted(int(12 * space["a"].position_of(setting["a"]) + 0.02) for setting in drawn)
    assert len(set(slices)) >= 11  # rounding to three digits may move a value over a border
    assert all(0.01 <= setting["a"] <= 100 and 1 <= setting["b"] <= 1000 for setting in drawn)
    assert all(isinstance(setting["b"], int) for setting in drawn)
    assert sorted(setting["c"] for setting in drawn) == sorted(["x", "y", "z"] * 4)


def test_a_combination_that_is_the_default_is_not_tried_twice():
    drawn = draw_settings("Thing", {"a": (1, 2), "b": (None, "x")}, 12, 0, {"a": 1, "b": None, "c": 5})
    assert drawn == ({}, {"a": 1, "b": "x"}, {"a": 2, "b": None}, {"a": 2, "b": "x"})


@pytest.mark.parametrize("method", [m for m in methods() if m.card.portfolio], ids=lambda m: m.name)
def test_every_setting_of_the_portfolio_is_allowed_and_the_defaults_come_first(method):
    learner = replace(Learner(method), space=dict(method.card.search)).with_draws(40, 1)
    assert learner.settings[0] == {}
    hints = declared_params(method.cls)
    assert all(allows(hints[name], value) for setting in learner.settings for name, value in setting.items())


def test_numbers_in_a_row_are_a_range_and_other_lists_are_not():
    space = {"a": (0.1, 1.0, 10.0), "b": (0.0, 1.0, 2.0), "c": (1.0, 2.0), "d": ("x", "y", "z"), "e": SearchRange(1, 5)}
    assert searched_ranges(space) == {"a": SearchRange(0.1, 10.0), "e": SearchRange(1, 5)}


# Ends of ranges


def test_a_whole_number_at_its_least_value_is_not_at_an_edge():
    assert values_beyond({"leaf": SearchRange(1, 20)}, {"leaf": 1}) == {}
    assert values_beyond({"leaf": SearchRange(1, 20)}, {"leaf": 20}) == {"leaf": 42}


def test_defaults_at_the_end_of_a_range_extend_it_too():
    learner = ridge({"alpha": SearchRange(0.01, 1.0)})  # one by default
    assert beyond(learner, {}) == {"alpha": {"alpha": pytest.approx(3.16)}}


def test_a_choice_at_the_end_of_its_range_extends_it_until_that_no_longer_helps():
    """Noise alone: the stronger the shrinkage, the better; a range that ends at 1 is far too short."""
    rng = np.random.default_rng(0)
    data = study_table(rng.normal(size=(80, 40)), rng.normal(size=80))
    learner = ridge({"alpha": SearchRange(0.01, 1.0)})
    plan = make_plan(data, [learner])
    found = choose_setting(data, plan.learners[0], plan.rows, plan, 0)
    assert found.extended == ("alpha",) and found.parameters["alpha"] > 1
    assert found.at_edge == ("alpha",)  # it would go on
    assert len(found.tried) == 8 + hyperparameters.MAX_EXTENSIONS
    assert min(found.tried, key=lambda entry: entry[1])[0] == found.parameters


def test_a_range_that_holds_the_best_value_is_not_extended():
    data = linear(n=120, d=30)
    plan = make_plan(data, [ridge({"alpha": SearchRange(1e-4, 1e6)}, draws=16)])
    found = choose_setting(data, plan.learners[0], plan.rows, plan, 0)
    assert (found.extended, found.at_edge) == ((), ()) and len(found.tried) == 16


def test_an_extension_that_does_not_help_is_told_but_no_edge_remains(monkeypatch):
    monkeypatch.setattr(hyperparameters, "EDGE_SHARE", 0.5)  # every value is at an edge
    data = linear(n=120, d=30)
    plan = make_plan(data, [ridge({"alpha": SearchRange(1e-4, 1e6)}, draws=16)])
    found = choose_setting(data, plan.learners[0], plan.rows, plan, 0)
    assert found.extended == ("alpha",) and found.at_edge == ()
    assert len(found.tried) == 17


def test_values_that_the_method_does_not_allow_are_no_extension():
    learner = replace(Learner(find("ElasticNet")), space={"l1_ratio": SearchRange(0.5, 1.0)}).with_draws(6, 0)
    assert beyond(learner, {"l1_ratio": 1.0}) == {}
    assert beyond(learner, {"l1_ratio": 0.5}) != {}


# Halving


def test_settings_are_compared_on_the_same_rows_only_and_the_defaults_reach_the_last_rung(monkeypatch):
    monkeypatch.setattr(hyperparameters, "MIN_RUNG_ROWS", 20)
    rounds, run = [], setting_search.SettingTrials.run

    def spying(self, settings, splits, *, keep=False):
        rounds.append((len(settings), {} in settings, sum(len(fit) for fit, _ in splits)))
        return run(self, settings, splits, keep=keep)

    monkeypatch.setattr(setting_search.SettingTrials, "run", spying)
    data = linear(n=600)
    plan = make_plan(data, [ridge({"alpha": SearchRange(1e-6, 1e6)}, draws=12)])
    found = choose_setting(data, plan.learners[0], plan.rows, replace(plan, halving=True), 0)
    first, second, last, *beyond = rounds
    assert (first[0], first[1], second[1], last[1]) == (12, True, True, True)
    assert first[2] < second[2] < last[2] and second[0] <= 5 and last[0] <= 3
    assert len(found.tried) == last[0] + sum(count for count, *_ in beyond)
    assert len(found.tried) + len(found.dropped) == 12 + sum(count for count, *_ in beyond)
    assert sorted({one.share for one in found.dropped}) == pytest.approx([1 / 9, 1 / 3])
    worst_kept = max(loss for setting, loss in found.tried if setting)
    assert np.isfinite(worst_kept) and found.parameters in [setting for setting, _ in found.tried]


# Races


def trees(draws=12, finish=None):
    """Forests of five trees, with settings to choose from."""
    space = {"n_estimators": (5,), "min_samples_leaf": SearchRange(1, 40)}
    return replace(Learner(find("ExtraTreesRegressor")), space=space, finish=finish or {}).with_draws(draws, 0)


def test_settings_of_an_ensemble_race_over_the_inner_folds(monkeypatch):
    rounds, run = [], setting_search.SettingTrials.run

    def spying(self, settings, splits, *, keep=False):
        rounds.append((len(settings), {} in settings, len(splits)))
        return run(self, settings, splits, keep=keep)

    data = linear(n=120, d=3)
    plan = make_plan(data, [trees()])
    learner = plan.learners[0]
    whole = choose_setting(data, learner, plan.rows, replace(plan, racing=False), 0)
    monkeypatch.setattr(setting_search.SettingTrials, "run", spying)
    raced = choose_setting(data, learner, plan.rows, plan, 0)
    first, second, *beyond = rounds
    assert first == (12, True, 1) and second[1:] == (True, 2) and second[0] in (4, 5)
    assert len(raced.dropped) == 12 - second[0] and {one.share for one in raced.dropped} == {1 / 3}
    assert all(splits == 3 for *_, splits in beyond)  # beyond the ends of ranges
    known = {str(setting): loss for setting, loss in whole.tried}
    both = [(known[str(setting)], loss) for setting, loss in raced.tried if str(setting) in known]
    assert len(both) >= second[0] and all(a == pytest.approx(b, rel=1e-12) for a, b in both)
    assert raced.tried[0][0] == {} and raced.parameters == min(raced.tried, key=lambda entry: entry[1])[0]


@pytest.mark.parametrize("racing", [lambda plan: replace(plan, racing=False), lambda plan: plan], ids=["whole", "race"])
def test_few_settings_and_methods_that_fit_one_model_do_not_race(racing):
    data = linear(n=60, d=3)
    for learner in (trees(draws=4), ridge({"alpha": SearchRange(1e-4, 1e6)}, draws=12)):
        plan = racing(make_plan(data, [learner]))
        assert not plan.races(plan.learners[0])
        assert choose_setting(data, plan.learners[0], plan.rows, plan, 0).dropped == ()


def test_more_trees_are_tried_with_the_best_setting_alone():
    data = linear(n=400, d=3)  # leaves of more than one row are clearly better than the defaults
    plan = make_plan(data, [trees(finish={"n_estimators": 9})])
    found = choose_setting(data, plan.learners[0], plan.rows, plan, 0)
    *others, last = found.tried
    best = min(others, key=lambda entry: entry[1])[0]
    assert last[0] == {**best, "n_estimators": 9}
    assert all(setting.get("n_estimators") != 9 for setting, _ in others)
    alone = replace(plan.learners[0], settings=({},))
    assert [setting for setting, _ in choose_setting(data, alone, plan.rows, plan, 0).tried] == [{}]


# Which setting is chosen


def test_a_setting_replaces_the_defaults_only_if_it_is_better_by_a_standard_error():
    """Ridge with alpha 1 is as good as any near it; with far too many columns it is clearly not."""
    near = ridge({"alpha": SearchRange(0.5, 2.0)})
    data = linear(n=200, d=5)
    plan = make_plan(data, [near])
    found = choose_setting(data, plan.learners[0], plan.rows, plan, 0)
    assert min(loss for _, loss in found.tried) < found.tried[0][1]
    assert found.parameters == {} and found.at_edge == ()
    wide = linear(n=80, d=70)
    plan = make_plan(wide, [ridge({"alpha": SearchRange(0.5, 1000.0)})])
    found = choose_setting(wide, plan.learners[0], plan.rows, plan, 0)
    assert found.parameters == min(found.tried, key=lambda entry: entry[1])[0] != {}


def test_a_score_that_is_no_mean_over_rows_chooses_the_least_loss():
    data = linear(n=200, d=5)
    plan = make_plan(data, [ridge({"alpha": SearchRange(0.5, 2.0)})], score="correlation")
    found = choose_setting(data, plan.learners[0], plan.rows, plan, 0)
    assert found.parameters == min(found.tried, key=lambda entry: entry[1])[0]


@pytest.mark.parametrize("score", SCORES.values(), ids=lambda score: score.name)
def test_losses_of_rows_rank_models_as_the_score_does(score):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 60) if score.task == "classification" else rng.normal(size=60)
    answers = []
    for noise in (0.3, 1.0, 3.0, 9.0):
        if score.task == "classification":
            p = np.exp(4.0 * np.eye(3)[y] / noise + rng.normal(size=(60, 3)))
            answers.append(as_predictions(p / p.sum(axis=1, keepdims=True), 3))
        else:
            answers.append(as_predictions(y + noise * rng.normal(size=60), None))
    if score.row_losses is None:
        assert score.name in ("balanced_accuracy", "f1", "auc", "correlation")
        return
    rows = [score.row_losses(one, y) for one in answers]
    assert all(one.shape == (60,) for one in rows)
    losses = [score.loss(score.function(one, y)) for one in answers]
    assert np.argsort([one.mean() for one in rows]).tolist() == np.argsort(losses).tolist()


# What is said of it


def test_a_study_tells_what_was_tried_and_which_ranges_were_extended():
    rng = np.random.default_rng(0)
    data = study_table(rng.normal(size=(60, 30)), rng.normal(size=60))
    plan = make_plan(data, [ridge({"alpha": SearchRange(0.01, 1.0)}, draws=4)], repeats=1)
    tuned, *baselines = (
        LearnerOutcome(x, tuple(evaluate_fold(data, x, split, plan) for split in plan.splits), None, ())
        for x in plan.learners
    )
    assert was_tuned(tuned) and not any(map(was_tuned, baselines))
    assert tried_per_split(tuned.folds)[0] in "4567"
    (note,) = range_notes(tuned)
    assert note.startswith("the range of alpha was extended in ")
    assert all(f.extended == ("alpha",) for f in tuned.folds if f.parameters.get("alpha", 0) > 1)
    calm = LearnerOutcome(tuned.learner, tuple(replace(f, at_edge=()) for f in tuned.folds), None, ())
    assert range_notes(calm, only_at_edge=True) == []


def test_boosting_tries_its_default_and_early_stopping():
    plan = make_plan(blobs(), ["HistGradientBoostingClassifier"])
    first, *others = plan.learners[0].settings
    assert first == {} and {True, False} == {setting["early_stopping"] for setting in others}
