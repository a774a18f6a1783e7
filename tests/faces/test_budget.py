"""What a study costs by forecast, and how a budget of time is spent; no result depends on the clock."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from study_tables import blobs, study_table

from fivefold.naive_bayes import GaussianNB
from fivefold.study.planning.plan import FitCost, make_plan
from fivefold.study.planning.portfolio import Learner
from fivefold.study.running import costs as costs_module
from fivefold.study.running.budget import BUDGET_SHARE, MIN_FIT_SHARE, fit_to_budget
from fivefold.study.running.costs import TimedFit, fold_seconds, fold_time_limit, forecast_cost
from fivefold.study.running.run import try_measure

FEW = ["GaussianNB"]


def costs(plan, **seconds):
    """One second a fit for every learner, unless said otherwise."""
    rows = len(plan.splits[0].train)
    return {x.name: FitCost(seconds.get(x.name, 1.0), rows, 1.0) for x in plan.learners if not x.members}


def test_without_a_budget_costs_change_nothing_that_decides():
    plan = make_plan(blobs(), ["GaussianNB", "QuadraticDiscriminantAnalysis"])
    assert fit_to_budget(plan, costs(plan, GaussianNB=1e6)).digest == plan.digest


def test_the_forecast_adds_up_search_and_fit():
    """Of QDA 4 settings x 3 inner folds on two thirds of the rows, and a fit on all: 4 * 3 * 2/3 + 1 = 9."""
    plan = fit_to_budget(plan := make_plan(blobs(), ["QuadraticDiscriminantAnalysis"]), costs(plan))
    assert len(plan.learners[0].settings) == 4
    found = forecast_cost(plan, jobs=2)
    assert found.fold_seconds == pytest.approx(
        {"QuadraticDiscriminantAnalysis": 9.0, "MajorityClassifier": 3.0, "MemorisingClassifier": 3.0}
    )
    assert found.seconds == pytest.approx(15.0 * 10 / 2 + 9.0 * 5 / 4)  # the winner is tuned on all rows
    assert str(found).splitlines()[0].split() == ["QuadraticDiscriminantAnalysis", "9", "s", "per", "fold", "90", "s"]
    assert str(found).endswith("about 86 s in all with 2 workers")


def test_the_forecast_of_a_search_over_ranges_allows_for_a_value_beyond_the_end():
    plan = fit_to_budget(plan := make_plan(blobs(), FEW), costs(plan))
    assert forecast_cost(plan).fold_seconds["GaussianNB"] == pytest.approx((12 + 1) * 3 * 2 / 3 + 1)


NAMES = ["HistGradientBoostingClassifier", "GaussianNB", "QuadraticDiscriminantAnalysis", "sklearn.svm.SVC", "Blend"]


def spent(plan, share, **seconds):
    """The plan for a share of what it would cost without a budget, and that budget."""
    known = costs(plan, **seconds)
    limit = share * forecast_cost(fit_to_budget(plan, known)).seconds
    return fit_to_budget(plan, known, budget=limit), limit


def settings_of(plan):
    return {learner.name: len(learner.settings) for learner in plan.learners}


@pytest.mark.parametrize("share", [0.2, 0.4, 0.8, 1.5, 3.0])
def test_a_budget_is_spent_and_not_exceeded_by_forecast(share):
    plan, limit = spent(make_plan(blobs(), NAMES), share)
    assert 0.6 * limit < forecast_cost(plan).seconds <= 0.9 * limit
    assert plan.skipped == {}


def test_a_short_budget_keeps_every_default_and_tunes_the_strongest_first():
    plan, _ = spent(make_plan(blobs(), NAMES), 0.27)
    found = settings_of(plan)
    assert plan.repeats == 1 and plan.skipped == {}
    assert found["HistGradientBoostingClassifier"] > found["GaussianNB"] >= 1
    assert all(learner.settings[0] == {} for learner in plan.learners)


def test_with_time_left_every_learner_is_tuned_as_usual_then_there_are_repeats_then_more_settings():
    usual = make_plan(blobs(), NAMES)
    plans = [spent(usual, share)[0] for share in (0.3, 0.62, 0.75, 1.2, 2.0, 4.0)]
    for few, more in pairwise(plans):
        assert few.repeats <= more.repeats
        assert few.repeats < more.repeats or all(
            settings_of(few)[name] <= count for name, count in settings_of(more).items()
        )
    assert plans[0].repeats == 1 and plans[-1].repeats == 2
    assert settings_of(plans[-1])["GaussianNB"] > 12


SLOW_BOOSTING = {"HistGradientBoostingClassifier": 5.0, "GaussianNB": 0.001, "sklearn.svm.SVC": 2.0}


def test_a_budget_too_short_for_all_defaults_drops_folds_then_the_weak_then_what_takes_most_of_it():
    usual = make_plan(blobs(), NAMES)
    plans = [spent(usual, share, **SLOW_BOOSTING)[0] for share in (0.12, 0.07, 0.06)]
    assert [plan.folds for plan in plans] == [3, 3, 3]
    lost = [set(NAMES) - {x.name for x in plan.learners} - {"Blend"} for plan in plans]
    assert lost[0] == set()
    assert lost[1] == {"QuadraticDiscriminantAnalysis"}  # SVC costs twice as much, and is strong
    assert lost[2] == {"HistGradientBoostingClassifier"}  # it would leave no time for two others
    for plan, names in zip(plans, lost, strict=True):
        assert all(plan.skipped[name].startswith("too costly for a budget of") for name in names)


def test_learners_that_cost_next_to_nothing_stay_however_weak_they_are():
    usual = make_plan(blobs(), [*NAMES, "LinearDiscriminantAnalysis"])
    plan, _ = spent(usual, 0.02, **SLOW_BOOSTING, LinearDiscriminantAnalysis=0.001)
    names = {x.name for x in plan.learners}
    assert {"GaussianNB", "LinearDiscriminantAnalysis"} <= names
    assert "sklearn.svm.SVC" not in names  # it is strong, and costs a thousand times as much


def test_a_budget_too_short_for_the_strongest_learner_is_kept_by_cheaper_ones():
    """Without any that fits, the cheapest takes part, and the plan says how long that will take."""
    usual = make_plan(blobs(), NAMES)
    plan, limit = spent(usual, 0.03, **SLOW_BOOSTING)
    names = {x.name for x in plan.learners}
    assert "HistGradientBoostingClassifier" not in names and "GaussianNB" in names
    assert forecast_cost(plan).seconds <= limit
    none = fit_to_budget(usual, costs(usual, **SLOW_BOOSTING), budget=1e-4, spent=20.0, closing=5.0)
    assert [x.name for x in none.learners if not x.baseline] == ["GaussianNB"]
    assert "this study takes about" in none.warnings[-1] and "20 s of them" in none.warnings[-1]


def test_above_5000_rows_settings_are_tried_on_one_inner_fold_before_a_learner_is_lost():
    large = make_plan(blobs(6_000), NAMES)
    plan, _ = spent(large, 0.2)
    assert (plan.folds, plan.tuning_folds, plan.skipped) == (3, 1, {})
    assert "1 inner fold instead of 3" in plan.cuts
    assert len(plan.inner_splits(plan.data, plan.splits[0].train, 0)) == 1
    small, _ = spent(make_plan(blobs(), NAMES), 0.05)
    assert small.tuning_folds == 3


def test_learners_that_were_not_timed_keep_their_defaults():
    plan = make_plan(blobs(), NAMES)
    known = {name: cost for name, cost in costs(plan).items() if name != "GaussianNB"}
    cut = fit_to_budget(plan, known, budget=1000.0, untimed={"GaussianNB"})
    assert cut.skipped == {}
    assert settings_of(cut)["GaussianNB"] == 1 < settings_of(plan)["GaussianNB"]


def test_every_cut_is_put_in_words():
    plan, _ = spent(make_plan(blobs(), NAMES), 0.3)
    assert plan.cuts[0] == "1 repeat instead of 2"
    usual = settings_of(make_plan(blobs(), NAMES))
    for name, count in settings_of(plan).items():
        assert sum(name in cut for cut in plan.cuts) == (count != usual[name])
    more, _ = spent(make_plan(blobs(), NAMES), 4.0)
    assert any("instead of 12 settings" in cut for cut in more.cuts)
    assert fit_to_budget(make_plan(blobs(), NAMES), costs(plan)).cuts == ()


def test_what_the_user_has_set_is_not_cut_and_baselines_stay():
    plan = make_plan(blobs(), ["GaussianNB", "QuadraticDiscriminantAnalysis"], repeats=2, folds=5)
    cut = fit_to_budget(plan, costs(plan), budget=1.0)
    assert (cut.repeats, cut.folds) == (2, 5)
    assert [learner.baseline for learner in cut.learners] == [False, True, True]
    assert cut.warnings[-1].startswith("a budget of 1 s is too short")


def test_however_long_timing_took_a_share_of_the_budget_is_left_for_fits():
    """The first study on a machine compiles while it times the learners; the plan says what that means."""
    plan = make_plan(blobs(), FEW)
    at_least = (BUDGET_SHARE - MIN_FIT_SHARE) * 150.0
    least, late = (fit_to_budget(plan, costs(plan), budget=150.0, spent=spent) for spent in (at_least, 1000.0))
    assert late.learners == least.learners
    assert late.cuts == least.cuts
    assert least.warnings == () and late.warnings[-1].startswith("a budget of 2 min is too short: this study takes")


def test_what_the_report_will_take_is_not_spent_on_fits():
    plan = make_plan(blobs(), FEW)
    for closing in (0.0, 50.0):
        cut = fit_to_budget(plan, costs(plan), budget=150.0, spent=10.0, closing=closing)
        assert forecast_cost(cut).seconds <= BUDGET_SHARE * 150.0 - 10.0 - closing


def test_with_more_workers_and_with_less_time_spent_a_budget_goes_further():
    plan = make_plan(blobs(), FEW)
    one, two = (fit_to_budget(plan, costs(plan), budget=150.0, jobs=jobs) for jobs in (1, 2))
    assert settings_of(one)["GaussianNB"] < settings_of(two)["GaussianNB"]
    late = fit_to_budget(plan, costs(plan), budget=150.0, jobs=2, spent=100.0)
    assert settings_of(late)["GaussianNB"] < settings_of(two)["GaussianNB"]


def test_a_fold_may_take_ten_times_its_forecast_and_twenty_seconds_at_least():
    plan = make_plan(blobs(), ["QuadraticDiscriminantAnalysis"])
    plan = fit_to_budget(plan, costs(plan, MajorityClassifier=3.0, MemorisingClassifier=0.1))
    assert [round(fold_time_limit(plan, learner)) for learner in plan.learners] == [90, 90, 20]


def test_methods_that_grow_too_fast_are_skipped_on_large_tables_and_named(monkeypatch):
    """By the card of a registered method, by the probe for any other; small tables have time for them."""
    rng = np.random.default_rng(0)
    large = study_table(rng.normal(size=(50_001, 1)), np.array(["a", "b"])[rng.integers(0, 2, 50_001)])
    names = ["GaussianNB", "sklearn.svm.SVC", "sklearn.linear_model.LogisticRegression"]
    plan = make_plan(large, names)
    measured = {
        "sklearn.svm.SVC": FitCost(1.0, 4_000, 1.9),
        "sklearn.linear_model.LogisticRegression": FitCost(1.0, 4_000, 1.1),
    }
    reason = "its time grows faster than n^1.5, too fast for more than 50,000 rows; study a sample to include it"
    assert fit_to_budget(plan, measured).skipped == {"sklearn.svm.SVC": reason}
    assert fit_to_budget(make_plan(blobs(), names), measured).skipped == {}
    monkeypatch.setattr(Learner, "growth", property(lambda self: 3.0))
    assert set(make_plan(large, names).skipped) == set(names)
    assert len(make_plan(large, names).learners) == 2  # baselines stay


def test_the_probe_measures_every_learner_and_passes_over_those_that_fail(monkeypatch):
    monkeypatch.setattr(costs_module, "SAMPLE_ROWS", (40, 80))

    class Failing(GaussianNB):
        def _fit(self, X, y, w):
            raise ArithmeticError

    plan = make_plan(blobs(150), ["GaussianNB", Failing()])
    costs = {learner.name: try_measure(plan.data, plan, learner) for learner in plan.learners}
    found = {name: cost for name, cost in costs.items() if cost is not None}
    assert set(found) == {"GaussianNB", "MajorityClassifier", "MemorisingClassifier"}
    assert all(cost.seconds > 0 and cost.rows == 80 and cost.growth == 1.0 for cost in found.values())


def fake_clock(monkeypatch, seconds, preparation=0.0):
    """Fits that take this many seconds, by their rows and setting."""

    def timed(plan, learner, setting, rows, size):
        return TimedFit(size, preparation * size, seconds(size, setting))

    monkeypatch.setattr(costs_module, "time_one_fit", timed)


def test_the_growth_of_a_foreign_class_is_measured(monkeypatch):
    """A clock that says rows squared: the exponent is two."""
    plan = make_plan(blobs(1_000), ["sklearn.linear_model.LogisticRegression"])
    fake_clock(monkeypatch, lambda rows, setting: 1e-6 * rows**2)
    found = costs_module.measure_cost(plan, plan.learners[0])
    assert (found.rows, found.growth) == (640, pytest.approx(2.0))
    assert found.fit_at(6_400) == pytest.approx(100 * found.seconds)


def test_what_any_number_of_rows_takes_is_not_taken_to_grow(monkeypatch):
    """0.1 s and 0.1 ms per row: ten times the largest sample takes 4.1 s, in proportion it would be 5."""
    plan = make_plan(blobs(8_000), FEW)
    fake_clock(monkeypatch, lambda rows, setting: 0.1 + 1e-4 * rows)
    found = costs_module.measure_cost(plan, plan.learners[0])
    assert (found.rows, found.fixed) == (4_000, pytest.approx(0.1))
    assert found.fit_at(40_000) == pytest.approx(4.1)
    fake_clock(monkeypatch, lambda rows, setting: 0.3)  # a clock too coarse to see growth
    assert costs_module.measure_cost(plan, plan.learners[0]).fit_at(40_000) == pytest.approx(0.5 * 0.3 * 11)


def test_columns_are_prepared_once_for_all_settings_of_a_search(monkeypatch):
    """The rows of each of 3 inner splits, and twice those of the fit: training rows to fit, and to predict."""
    plan = make_plan(blobs(), FEW)
    fake_clock(monkeypatch, lambda rows, setting: 1e-6, preparation=1.0)
    learner = plan.learners[0]
    plan = replace(plan, costs={learner.name: costs_module.measure_cost(plan, learner)})
    assert len(learner.settings) == 12
    assert fold_seconds(plan, learner) == pytest.approx(len(plan.splits[0].train) * (3 + 2), rel=1e-3)


def test_other_settings_have_a_cost_of_their_own(monkeypatch):
    """Three times that of the defaults: it counts for a search, not where the defaults are the only setting."""
    plan = make_plan(blobs(), FEW)
    fake_clock(monkeypatch, lambda rows, setting: 1e-3 * rows * (3.0 if setting else 1.0))
    searched = plan.learners[0]
    found = costs_module.measure_cost(plan, searched)
    plan, n = replace(plan, costs={searched.name: found}), len(plan.splits[0].train)
    assert found.others == pytest.approx(3.0)
    assert fold_seconds(plan, replace(searched, settings=({},))) == pytest.approx(1e-3 * n * (1 + 3 * 2 / 3))
    assert fold_seconds(plan, searched) == pytest.approx(1e-3 * n * 34 / 12 * (1 + 13 * 3 * 2 / 3))


def test_a_learner_that_is_slow_on_few_rows_is_timed_once(monkeypatch):
    """As boosting of ten classes: larger samples and other settings would take most of a short budget."""
    plan, fits = make_plan(blobs(8_000), FEW), []
    fake_clock(monkeypatch, lambda rows, setting: fits.append((rows, dict(setting))) or 0.01 * rows)
    found = costs_module.measure_cost(plan, plan.learners[0])
    assert fits == [(250, {}), (250, {})]  # the first one compiles
    assert (found.seconds, found.rows, found.fixed, found.others) == (2.5, 250, 0.0, costs_module.USUAL_OTHERS)


def test_other_settings_that_are_slow_on_few_rows_are_not_timed_on_more(monkeypatch):
    plan, fits = make_plan(blobs(8_000), FEW), []
    factor = {False: 1e-5, True: 200e-5}
    fake_clock(monkeypatch, lambda rows, setting: fits.append((rows, bool(setting))) or rows * factor[bool(setting)])
    found = costs_module.measure_cost(plan, plan.learners[0])
    assert {rows for rows, other in fits if other} == {250} and (4_000, False) in fits
    assert found.others == pytest.approx(200.0)


def test_boosting_of_many_classes_comes_after_the_other_strong_learners():
    few, many = (make_plan(blobs(120, K=K), NAMES) for K in (2, 6))
    boosting = next(x for x in few.learners if "Boosting" in x.name)
    machine = next(x for x in few.learners if "SVC" in x.name)
    assert few.strength(boosting) > few.strength(machine) > many.strength(boosting) > 0


def test_a_setting_that_takes_very_long_is_not_waited_for(monkeypatch):
    """As a weak lasso of many classes: it is interrupted, and taken to need far longer than it was given."""
    plan, fits = make_plan(blobs(), FEW), []

    def timed(plan, learner, setting, rows, size):
        fits.append(dict(setting))
        while setting and len(fits) < 10_000_000:  # an interruption ends it
            fits.append(dict(setting))
        return TimedFit(size, 0.0, 0.01)

    monkeypatch.setattr(costs_module, "time_one_fit", timed)
    monkeypatch.setattr(costs_module, "MAX_SETTING_SECONDS", 0.2)
    found = costs_module.measure_cost(plan, plan.learners[0])
    assert found.others == pytest.approx(costs_module.UNFINISHED_FACTOR * 20)
    assert len(fits) < 10_000_000
