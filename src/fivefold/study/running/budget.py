"""What a study will cost, measured before it runs, and how a plan is reduced to a budget of time.

Every learner is fitted on samples of increasing size until a fit takes a while; the last two tell how its time grows.
A budget is met by reducing, in this order, repeats, settings, folds, and last the costliest learners. The measured
costs are stored with the plan and used again when the study is resumed, so the clock never chooses a setting. No row
of the hold-out takes part.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from threadpoolctl import threadpool_limits

from fivefold.study.formatting import shorten_name
from fivefold.study.planning.hyperparameters import halving_rungs
from fivefold.study.planning.plan import LARGE_TABLE_FOLDS, FitCost, Options, Plan, plan_from_options, slow_learners
from fivefold.study.planning.portfolio import Learner
from fivefold.study.planning.splits import subsample
from fivefold.study.running.fold import fit_pipeline

PROBE_ROWS = (250, 1_000, 4_000)  # sizes of the samples that are timed
ENOUGH_SECONDS = 1.0  # once a fit takes this long, no larger sample is timed
REDUCED_SETTINGS = (6, 3, 1)  # settings per learner, in the order in which they are reduced
MAX_NAME_LETTERS = 40  # of a learner's name in the forecast
MIN_LIMIT_SECONDS, LIMIT_FACTOR = 20.0, 10.0  # time limit of a fold: at least this, and this multiple of its forecast


@dataclass(frozen=True)
class CostForecast:
    """Seconds that a study will take: per fold of each learner, and in all with `jobs` workers."""

    fold_seconds: Mapping[str, float]
    folds: int
    jobs: int

    @property
    def seconds(self) -> float:
        """From start to end."""
        return sum(self.fold_seconds.values()) * self.folds / self.jobs

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
    first, last = learner.settings[0], learner.settings[-1]
    _time_one_fit(plan, learner, first, rows, sizes[0])  # compiles
    timed: list[tuple[int, float]] = []
    for size in sizes:
        timed.append((size, _time_one_fit(plan, learner, first, rows, size)))
        if len(timed) > 1 and timed[-1][1] > ENOUGH_SECONDS:
            break
    (fewer, quick), (more, slow) = timed[-2:]
    growth = learner.growth or max(0.0, math.log(slow / quick) / math.log(more / fewer))
    if last != first:
        slow = max(slow, _time_one_fit(plan, learner, last, rows, more))
    return FitCost(slow, more, growth)


def forecast_cost(plan: Plan, jobs: int | None = None) -> CostForecast:
    """The cost of a plan, by the measured costs of its learners."""
    each = {learner.name: fold_seconds(plan, learner) for learner in plan.learners}
    return CostForecast(each, len(plan.splits), jobs or plan.jobs)


def fold_seconds(plan: Plan, learner: Learner) -> float:
    """Seconds per outer split: the search, and the fit of the chosen setting."""
    cost = plan.costs.get(learner.name)
    if cost is None:
        return 0.0
    n, inner = float(np.mean([len(split.train) for split in plan.splits])), plan.inner_folds
    rungs = halving_rungs(len(learner.settings), int(n), halving=plan.halving)
    return cost.at(n) + sum(r.settings * inner * cost.at(r.share * n * (inner - 1) / inner) for r in rungs)


def fold_time_limit(plan: Plan, learner: Learner) -> float:
    """Seconds after which a fold of the learner is stopped."""
    return max(MIN_LIMIT_SECONDS, LIMIT_FACTOR * fold_seconds(plan, learner))


def fit_to_budget(plan: Plan, costs: Mapping[str, FitCost], budget: float | None = None, jobs: int = 1) -> Plan:
    """The plan with its costs, reduced until its forecast is within the budget, if there is one."""
    plan = replace(plan, costs=dict(costs), budget=budget, jobs=jobs)
    if slow := slow_learners(plan):
        plan = _replan(plan, replace(plan.options, without={**plan.options.without, **slow}))
    if budget is None:
        return plan
    for options in _smaller_options(plan):
        if forecast_cost(plan := _replan(plan, options)).seconds <= budget:
            return plan
    while forecast_cost(plan).seconds > budget and (costly := _costliest_learner(plan)) is not None:
        reason = f"too costly for a budget of {_format_seconds(budget)}"
        plan = _replan(plan, replace(plan.options, without={**plan.options.without, costly.name: reason}))
    if forecast_cost(plan).seconds > budget:
        warning = f"a budget of {_format_seconds(budget)} is too short: even the smallest study takes longer"
        plan = replace(plan, warnings=(*plan.warnings, warning))
    return plan


def _time_one_fit(plan: Plan, learner: Learner, setting: Mapping[str, object], rows: np.ndarray, size: int) -> float:
    """Seconds to fit on a sample of this size and predict it; linear algebra on one thread, as in a worker."""
    data = plan.data
    sample = subsample(data, rows, size / len(rows), plan.seed)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        fit_pipeline(data, learner, setting, sample, 0).predict(data.X[sample])
        return max(time.perf_counter() - start, 1e-6)


def _smaller_options(plan: Plan) -> Iterator[Options]:
    """The options as they are, then for smaller and smaller studies; what the user has set stays."""
    options = plan.options
    yield options
    if options.repeats is None and plan.repeats > 1:
        yield (options := replace(options, repeats=1))
    for draws in REDUCED_SETTINGS:
        yield (options := replace(options, draws=draws))
    if options.folds is None and plan.folds > LARGE_TABLE_FOLDS:
        yield replace(options, folds=LARGE_TABLE_FOLDS)


def _replan(plan: Plan, options: Options) -> Plan:
    """The plan for other options, with the same costs."""
    return replace(plan_from_options(plan.data, options), costs=plan.costs, budget=plan.budget, jobs=plan.jobs)


def _costliest_learner(plan: Plan) -> Learner | None:
    """The learner to drop next; one besides the baselines stays."""
    others = [learner for learner in plan.learners if not learner.baseline]
    return max(others, key=lambda learner: fold_seconds(plan, learner)) if len(others) > 1 else None


def _format_seconds(value: float) -> str:
    return f"{value:.2g} s" if value < 10 else f"{value:.0f} s" if value < 120 else f"{value / 60:.0f} min"
