"""What a study will cost, measured before it runs, and how a plan is reduced to a budget of time.

Every learner is fitted on samples of increasing size until a fit takes a while; the last two tell how its time grows.
A few of its settings are timed on the largest sample, and their mean is what a setting costs.

A budget is spent in this order:

1. every learner with its defaults, on one repeat of the outer folds; if that is too much, fewer folds, then fewer
   learners: first those not known as strong, the costliest first
2. settings to tune over, round after round: more for each learner while there is time, the strongest first
3. the second repeat, once every learner tries as many settings as without a budget; then still more settings

The measured costs are stored with the plan and used again when the study is resumed, so the clock never chooses a
setting. No row of the hold-out takes part.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from threadpoolctl import threadpool_limits

from fivefold.study.formatting import format_count, join_names, shorten_name
from fivefold.study.planning.hyperparameters import halving_rungs, race_finalists
from fivefold.study.planning.plan import (
    LARGE_TABLE_FOLDS,
    MAX_SETTINGS,
    FitCost,
    Options,
    Plan,
    plan_from_options,
    slow_learners,
)
from fivefold.study.planning.portfolio import Learner
from fivefold.study.planning.splits import subsample
from fivefold.study.running.pipelines import fit_pipeline

PROBE_ROWS = (250, 1_000, 4_000)  # sizes of the samples that are timed
ENOUGH_SECONDS = 1.0  # once a fit takes this long, no larger sample is timed
TIMED_SETTINGS = 2  # settings that are timed besides the defaults
TUNING_ROUNDS = (3, 6, 12, 24, 48, 96)  # settings per learner, as the budget allows
BUDGET_SHARE = 0.9  # of the budget that fits may take by forecast; the rest is for the start and the report
MIN_FIT_SHARE = 0.5  # of the budget that is left for fits, even if timing took longer, as where loops are compiled
MIN_SHARE_OF_COST = 0.02  # a learner that takes less of the whole time is not left out to save time
MAX_NAME_LETTERS = 40  # of a learner's name in the forecast
MIN_LIMIT_SECONDS, LIMIT_FACTOR = 20.0, 10.0  # time limit of a fold: at least this, and this multiple of its forecast


@dataclass(frozen=True)
class CostForecast:
    """Seconds that a study will take: per fold of each learner, and in all with `jobs` workers."""

    fold_seconds: Mapping[str, float]
    folds: int
    jobs: int
    final_seconds: float = 0.0  # to tune and fit the winner on all rows

    @property
    def seconds(self) -> float:
        """From start to end."""
        return sum(self.fold_seconds.values()) * self.folds / self.jobs + self.final_seconds

    def __str__(self) -> str:
        costliest_first = sorted(self.fold_seconds.items(), key=lambda entry: -entry[1])
        names = {name: shorten_name(name, MAX_NAME_LETTERS) for name in self.fold_seconds}
        width = max(map(len, names.values()), default=0)
        lines = [
            f"{names[name]:<{width}}  {_format_seconds(each):>8} per fold  {_format_seconds(each * self.folds):>8}"
            for name, each in costliest_first
        ]
        workers = "one worker" if self.jobs == 1 else f"{self.jobs} workers"
        return "\n".join([*lines, f"about {_format_seconds(self.seconds)} in all with {workers}"])


def measure_cost(plan: Plan, learner: Learner) -> FitCost:
    """Seconds of one fit and its predictions, and how they grow with the rows."""
    rows = plan.splits[0].train
    sizes = [size for size in PROBE_ROWS if size < len(rows)] + ([len(rows)] if len(rows) <= PROBE_ROWS[-1] else [])
    sizes = sizes if len(sizes) > 1 else [len(rows) // 2, len(rows)]
    first, *others = learner.settings
    _time_one_fit(plan, learner, first, rows, sizes[0])  # compiles
    timed: list[tuple[int, float]] = []
    for size in sizes:
        timed.append((size, _time_one_fit(plan, learner, first, rows, size)))
        if len(timed) > 1 and timed[-1][1] > ENOUGH_SECONDS:
            break
    (fewer, quick), (more, slow) = timed[-2:]
    growth = learner.growth or max(0.0, math.log(slow / quick) / math.log(more / fewer))
    chosen = others[:: max(1, len(others) // TIMED_SETTINGS)][:TIMED_SETTINGS]
    times = [slow, *(_time_one_fit(plan, learner, setting, rows, more) for setting in chosen)]
    return FitCost(float(np.mean(times)), more, growth)


def forecast_cost(plan: Plan, jobs: int | None = None) -> CostForecast:
    """The cost of a plan, by the measured costs of its learners."""
    each, jobs = {learner.name: fold_seconds(plan, learner) for learner in plan.learners}, jobs or plan.jobs
    last = sum(each.values()) / jobs if plan.blend else max(each.values(), default=0.0)  # a blend tunes its members
    return CostForecast(each, len(plan.splits), jobs, last)


def fold_seconds(plan: Plan, learner: Learner) -> float:
    """Seconds per outer split: the search, and the fit of the chosen setting."""
    cost = plan.costs.get(learner.name)
    if cost is None:
        return 0.0
    n, inner = float(np.mean([len(split.train) for split in plan.splits])), plan.inner_folds
    count = len(learner.settings)
    if plan.races(learner):
        fits = [(count + (1 + race_finalists(count)) * (inner - 1.0), 1.0)]  # number of fits, share of the rows
    else:
        first, *later = halving_rungs(count, int(n), halving=plan.halving)
        kept = [(min(count, rung.settings + 1), rung.share) for rung in later]  # the defaults always go on
        fits = [(inner * settings, share) for settings, share in ((first.settings, first.share), *kept)]
    beyond = 1 if learner.ranges and count > 1 else 0  # about one value beyond the end of a range
    finish = 2 if learner.finish and count > 1 else 0  # about twice the time of another setting
    logarithm = 1 if plan.log_target and learner.tries_logarithm else 0
    fits.append((inner * (beyond + finish + logarithm), 1.0))
    return cost.at(n) + sum(number * cost.at(share * n * (inner - 1) / inner) for number, share in fits)


def fold_time_limit(plan: Plan, learner: Learner) -> float:
    """Seconds after which a fold of the learner is stopped."""
    return max(MIN_LIMIT_SECONDS, LIMIT_FACTOR * fold_seconds(plan, learner))


def fit_to_budget(
    plan: Plan, costs: Mapping[str, FitCost], budget: float | None = None, jobs: int = 1, *, spent: float = 0.0
) -> Plan:
    """The plan with its costs and, if there is a budget, with as much tuning as the budget allows.

    `spent` are the seconds of the budget that have passed. `Plan.cuts` says what is not as without a budget.
    """
    plan = replace(plan, costs=dict(costs), budget=budget, jobs=jobs)
    if slow := slow_learners(plan):
        plan = _replan(plan, replace(plan.options, without={**plan.options.without, **slow}))
    if budget is None:
        return plan
    usual, limit = plan, BUDGET_SHARE * max(budget - spent, MIN_FIT_SHARE * budget)
    plan = _defaults_within(plan, limit)
    whole = {learner.name for learner in plan.learners} == {learner.name for learner in usual.learners}
    plan = _with_more_settings(plan, limit, TUNING_ROUNDS[: TUNING_ROUNDS.index(MAX_SETTINGS) + 1])
    if whole and all(len(a.settings) >= len(b.settings) for a, b in zip(plan.learners, usual.learners, strict=True)):
        again = _replan(plan, replace(plan.options, repeats=usual.options.repeats, folds=usual.options.folds))
        plan = again if forecast_cost(again).seconds <= limit else plan
        plan = _with_more_settings(plan, limit, TUNING_ROUNDS[TUNING_ROUNDS.index(MAX_SETTINGS) + 1 :])
    if forecast_cost(plan).seconds > limit:
        warning = f"a budget of {_format_seconds(budget)} is too short: even the smallest study takes longer"
        plan = replace(plan, warnings=(*plan.warnings, warning))
    return replace(plan, cuts=_describe_cuts(usual, plan))


def _defaults_within(plan: Plan, limit: float) -> Plan:
    """The plan with defaults only and one repeat; with fewer folds or learners if that is still too much."""
    options = replace(plan.options, draws=1, repeats=plan.options.repeats or 1)
    plan = _replan(plan, options)
    if forecast_cost(plan).seconds > limit and options.folds is None and plan.folds > LARGE_TABLE_FOLDS:
        plan = _replan(plan, replace(options, folds=LARGE_TABLE_FOLDS))
    while forecast_cost(plan).seconds > limit and (next_out := _first_to_go(plan)) is not None:
        reason = f"too costly for a budget of {_format_seconds(plan.budget or 0.0)}"
        plan = _replan(plan, replace(plan.options, without={**plan.options.without, next_out.name: reason}))
    return plan


def _with_more_settings(plan: Plan, limit: float, rounds: Sequence[int]) -> Plan:
    """The plan with more settings per learner, round after round, the strongest first, while the forecast allows it."""
    tunable = sorted((x for x in plan.learners if x.space and not x.baseline), key=lambda x: -x.strength)
    own = dict(plan.options.own_draws)
    for draws in rounds:
        for learner in tunable:
            larger = learner.with_draws(draws, plan.seed)
            more = replace(plan, learners=tuple(larger if x.name == learner.name else x for x in plan.learners))
            if forecast_cost(more).seconds <= limit:
                plan, own[learner.name] = more, draws
    return _replan(plan, replace(plan.options, own_draws=own))


def _describe_cuts(usual: Plan, plan: Plan) -> tuple[str, ...]:
    """What a budget changed, in words; learners that are left out are among `Plan.skipped`."""
    found = [
        f"{format_count(now, thing)} instead of {before}"
        for now, before, thing in ((plan.repeats, usual.repeats, "repeat"), (plan.folds, usual.folds, "fold"))
        if now != before
    ]
    without = {learner.name: len(learner.settings) for learner in usual.learners}
    changed = dict[tuple[int, int], list[str]]()
    for learner in plan.learners:
        if (now := len(learner.settings)) != without[learner.name]:
            changed.setdefault((now, without[learner.name]), []).append(learner.name)
    for (now, before), names in sorted(changed.items()):
        settings = "the defaults only" if now == 1 else format_count(now, "setting")
        found.append(f"{join_names(names)}: {settings} instead of {format_count(before, 'setting')}")
    return tuple(found)


def _time_one_fit(plan: Plan, learner: Learner, setting: Mapping[str, object], rows: np.ndarray, size: int) -> float:
    """Seconds to fit on a sample of this size and predict it; linear algebra on one thread, as in a worker."""
    data = plan.data
    sample = subsample(data, rows, size / len(rows), plan.seed)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        fit_pipeline(data, learner, setting, sample, 0).predict(data.X[sample])
        return max(time.perf_counter() - start, 1e-6)


def _replan(plan: Plan, options: Options) -> Plan:
    """The plan for other options, with the same costs."""
    return replace(plan_from_options(plan.data, options), costs=plan.costs, budget=plan.budget, jobs=plan.jobs)


def _first_to_go(plan: Plan) -> Learner | None:
    """The learner to leave out next: the weakest, of equally weak ones the costliest; one besides the baselines stays.

    A learner whose time is too short to matter goes only when none but such learners are left.
    """
    others = [learner for learner in plan.learners if not learner.baseline and not learner.members]
    if len(others) < 2:
        return None
    cost = {learner.name: fold_seconds(plan, learner) for learner in others}
    least = MIN_SHARE_OF_COST * sum(cost.values())
    return min(others, key=lambda x: (cost[x.name] < least, x.strength, -cost[x.name]))


def _format_seconds(value: float) -> str:
    return f"{value:.2g} s" if value < 10 else f"{value:.0f} s" if value < 120 else f"{value / 60:.0f} min"
