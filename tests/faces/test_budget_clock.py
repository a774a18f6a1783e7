"""A budget while a study runs: what is left out when the clock says so. The clock is a counter, not a clock."""

import math
from dataclasses import replace

import pytest
from study_tables import blobs

from fivefold.cli.budget_clock import BudgetClock
from fivefold.study.judging import inspection_time
from fivefold.study.judging.inspection_time import AffordableInspections, affordable_inspections
from fivefold.study.judging.results import judge_outcomes
from fivefold.study.planning.plan import FitCost, make_plan
from fivefold.study.running.budget import CLOSING_STARTS, closing_seconds, drawing_seconds
from fivefold.study.running.journal import Journal
from fivefold.study.running.run import measure_costs, pending_folds, read_outcomes, run_pending
from fivefold.study.running.workers import TaskResult

STRONG, WEAK, CHEAP = "LogisticRegression", "LinearDiscriminantAnalysis", "GaussianNB"


class Workers:
    """Workers in this process, one task at a time; every fold of a learner takes `seconds` of it on the clock."""

    jobs = 1
    start_seconds = 1.0

    def __init__(self, data, **seconds):
        self.data, self.seconds, self.time, self.limits = data, seconds, 0.0, {}

    def now(self):
        return self.time

    def run(self, tasks):
        for task, limit in tasks:
            seconds = self.seconds.get(task.learner.name, 0.0)
            self.limits.setdefault(task.learner.name, []).append(limit)
            self.time += seconds
            yield TaskResult(task, "done", task.function(self.data, *task[1:]), seconds)


def plan_of(*, budget=100.0, names=(STRONG, WEAK, CHEAP, "Blend"), **seconds):
    """A plan of three folds; a fold costs this many seconds by forecast, one second unless said otherwise."""
    plan = make_plan(blobs(), list(names), folds=3, repeats=1, holdout=0.0)
    learners = tuple(x if x.members else replace(x, settings=({},)) for x in plan.learners)
    rows = len(plan.splits[0].train)
    costs = {x.name: FitCost(seconds.get(x.name, 1.0) / 3, rows, 1.0) for x in learners if not x.members}
    return replace(plan, learners=learners, costs=costs, budget=budget)


def run_until(plan, ends_at, **seconds):
    """The outcomes by name, and the workers, where folds take this many seconds and time is up at `ends_at`."""
    workers = Workers(plan.data, **seconds)
    with Journal.create(":memory:", {}) as journal:
        told = []
        run_pending(plan, journal, workers, lambda name, left: told.append(name), ends_at=ends_at, clock=workers.now)
        assert len(told) == len(plan.learners) * len(plan.splits)  # the bar reaches its end
        assert pending_folds(plan, journal) == {}  # a study that is resumed does not try them again
        return {one.learner.name: one for one in read_outcomes(plan, journal)}, workers


def test_without_a_budget_and_with_time_left_nothing_is_cut():
    for plan, ends_at in ((plan_of(budget=None), math.inf), (plan_of(), 100.0)):
        found, _ = run_until(plan, ends_at, **{STRONG: 5.0, WEAK: 5.0})
        assert all(outcome.failure is None for outcome in found.values())


def test_a_learner_whose_folds_cannot_end_in_time_is_left_out_before_it_begins():
    plan = plan_of(**{STRONG: 5.0, WEAK: 10.0, CHEAP: 0.01})
    found, workers = run_until(plan, 40.0, **{STRONG: 5.0, WEAK: 10.0})
    assert found[WEAK].cut and found[WEAK].late
    assert found[WEAK].failure == "the budget was spent before its first fold"
    assert WEAK not in workers.limits
    whole = {name for name, outcome in found.items() if outcome.failure is None}
    assert {STRONG, CHEAP, "Blend"} < whole
    assert {name for fold in found["Blend"].folds for name in fold.parameters} <= {STRONG, CHEAP}


def test_a_learner_that_is_slower_than_its_forecast_is_left_out_on_the_way():
    plan = plan_of(**{STRONG: 1.0, WEAK: 2.0, CHEAP: 0.01})
    found, workers = run_until(plan, 30.0, **{STRONG: 1.0, WEAK: 20.0})
    assert found[WEAK].failure == "the budget was spent after 1 of 3 folds"
    assert workers.time < 30.0


def test_the_strongest_learner_and_the_baselines_are_never_left_out():
    plan = plan_of(**{STRONG: 5.0, WEAK: 1.0})
    found, _ = run_until(plan, 0.0, **{STRONG: 500.0})
    assert {name for name, outcome in found.items() if outcome.cut} == {WEAK, CHEAP}
    assert found[STRONG].failure is None


def test_with_a_budget_a_fold_that_runs_on_is_stopped_after_a_while():
    """After three times its forecast, or a share of the budget; never one of the strongest learner."""
    plan = plan_of(**{STRONG: 5.0, WEAK: 2.0, CHEAP: 0.01})
    _, workers = run_until(plan, 25.0, **{STRONG: 5.0, WEAK: 2.0})
    assert workers.limits[WEAK] == pytest.approx([15.0] * 3)
    assert min(workers.limits[STRONG]) > 100.0
    plan = plan_of(budget=30.0, **{STRONG: 5.0, WEAK: 2.0, CHEAP: 0.01})
    _, workers = run_until(plan, 25.0, **{STRONG: 5.0, WEAK: 2.0})
    assert workers.limits[WEAK] == pytest.approx([6.0] * 3, rel=0.01)
    _, workers = run_until(replace(plan, budget=None), 25.0, **{STRONG: 5.0, WEAK: 2.0})
    assert min(workers.limits[WEAK]) >= 20.0


def test_with_a_budget_cheap_learners_come_first_and_then_the_strong():
    plan = plan_of(**{STRONG: 5.0, WEAK: 10.0, CHEAP: 0.01})
    with Journal.create(":memory:", {}) as journal:
        order = list(dict.fromkeys(name for name, _ in pending_folds(plan, journal)))
        usual = list(dict.fromkeys(name for name, _ in pending_folds(replace(plan, budget=None), journal)))
    assert [name for name in order if name in (STRONG, WEAK, CHEAP)] == [CHEAP, STRONG, WEAK]
    assert [name for name in usual if name in (STRONG, WEAK, CHEAP)] == [WEAK, STRONG, CHEAP]
    assert order[-1] == usual[-1] == "Blend"


def test_a_hundredth_of_the_budget_is_cheap_where_all_learners_are():
    """With a busy machine all forecasts are alike; a linear model should not wait for a forest."""
    plan = plan_of(names=(STRONG, WEAK, CHEAP), **{STRONG: 2.0, WEAK: 0.3, CHEAP: 0.2})
    with Journal.create(":memory:", {}) as journal:
        order = list(dict.fromkeys(name for name, _ in pending_folds(plan, journal)))
    assert [name for name in order if name in (STRONG, WEAK, CHEAP)] == [WEAK, CHEAP, STRONG]


def test_learners_of_unknown_cost_come_last_before_the_blend():
    plan = plan_of(**{STRONG: 5.0, WEAK: 10.0, CHEAP: 0.01})
    plan = replace(plan, costs={name: cost for name, cost in plan.costs.items() if name != STRONG})
    with Journal.create(":memory:", {}) as journal:
        order = list(dict.fromkeys(name for name, _ in pending_folds(plan, journal)))
    assert [name for name in order if name in (STRONG, WEAK, CHEAP)] == [CHEAP, WEAK, STRONG]
    assert order[-1] == "Blend"


def test_what_was_cut_is_a_warning_and_no_failure():
    plan = plan_of(**{STRONG: 5.0, WEAK: 10.0, CHEAP: 0.01})
    found, _ = run_until(plan, 40.0, **{STRONG: 5.0, WEAK: 10.0})
    results = judge_outcomes(plan, list(found.values()))
    assert results.strikes == (f"left out because the budget was spent: {WEAK}; a larger one has time for it",)


@pytest.mark.parametrize(("ends_at", "untimed"), [(100.0, set()), (0.0, {WEAK, CHEAP})])
def test_timing_ends_when_its_share_is_spent_but_the_strongest_is_timed(ends_at, untimed):
    plan = plan_of()
    workers = Workers(plan.data)
    found = measure_costs(plan, workers, ends_at=ends_at, clock=workers.now)
    assert found.untimed == untimed
    assert set(found.costs) == {STRONG, WEAK, CHEAP, "MajorityClassifier", "MemorisingClassifier"} - untimed


def judged(inspection_seconds, fit=1.0):
    """A study whose winner takes `fit` seconds to fit, with this much time to look into it."""
    plan = plan_of(names=(STRONG,))
    found, _ = run_until(plan, math.inf)
    folds = tuple(replace(fold, fit_seconds=fit, predict_seconds=0.01) for fold in found[STRONG].folds)
    outcomes = [replace(one, folds=folds) if name == STRONG else one for name, one in found.items()]
    return replace(judge_outcomes(plan, outcomes), inspection_seconds=inspection_seconds)


def test_what_a_budget_leaves_is_given_to_the_inspections_that_say_most(monkeypatch):
    monkeypatch.setattr(inspection_time, "MAX_SECONDS", dict.fromkeys(inspection_time.MAX_SECONDS, 1e9))
    assert affordable_inspections(judged(None)) == AffordableInspections(3, True, True, True, True)
    assert affordable_inspections(judged(0.0)) == AffordableInspections()
    assert affordable_inspections(judged(9.0)) == AffordableInspections(3, True, True, False, True)
    assert affordable_inspections(judged(4.5)) == AffordableInspections(3, True, True, False, False)
    assert affordable_inspections(judged(2.0)) == AffordableInspections(0, True, True, False, False)


def test_columns_are_shuffled_once_where_there_is_no_time_for_more():
    found = judged(math.inf, fit=0.1)
    seconds = {count: inspection_time._shuffling_seconds(found, count) for count in (1, 3)}
    for left, count in ((seconds[3], 3), (seconds[3] - 1e-9, 1), (seconds[1], 1), (seconds[1] - 1e-9, 0)):
        assert affordable_inspections(replace(found, inspection_seconds=left)).shuffles == count


def test_the_end_of_a_study_is_planned_by_the_start_of_a_worker_and_never_takes_much_of_a_budget():
    assert closing_seconds(1.0, 1000.0) == CLOSING_STARTS
    assert closing_seconds(100.0, 40.0) == 8.0
    assert drawing_seconds(100.0, 40.0) < 8.0


def test_a_clock_without_a_budget_never_ends():
    clock = BudgetClock(None, now=lambda: 5.0)
    assert clock.ends_at == math.inf and clock.elapsed == 0.0
    late = BudgetClock(10.0, began=2.0, now=lambda: 5.0)
    assert (late.ends_at, late.elapsed, late.end_phase("start")) == (12.0, 3.0, 3.0)
