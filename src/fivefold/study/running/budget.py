"""How a budget of time is spent: on which learners, how many settings of each, and how many folds.

A budget is the time from the command to the written report. What is left after the table was read and fits were timed,
less what the report will take, is spent by forecast, each step if there is time for it:

1. the strongest learner with its defaults, unless it takes half of the time, as boosting of many classes may
2. learners that cost next to nothing
3. the other strong learners with their defaults, the cheap before the costly: a blend gains more by another kind of
   learner than by another setting; then a few settings of the strongest
4. all other learners with their defaults, the cheap before the costly
5. settings to tune over, round after round: more for each learner, the strongest first
6. the second repeat, once every learner tries as many settings as without a budget; then still more settings

Learners that there was no time to time run after all others with their defaults, the strongest first, until the clock
ends it. If strong ones are among them, what is left by step 4 is kept for them: there are fewer folds, and no step 5.

One repeat of the outer folds comes first. If steps 1 to 4 do not fit, there are three folds and, for tables above
5,000 rows, settings are tried on one inner fold instead of three; only then are learners left out. If none fits, the
cheapest takes part.

The measured costs are stored with the plan and used again when the study is resumed, so the clock never chooses a
setting.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from fivefold.study.formatting import format_count, join_names
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
from fivefold.study.running.costs import forecast_cost, format_forecast

TUNING_ROUNDS = (3, 6, 12, 24, 48, 96)  # settings per learner, as the budget allows
EARLY_ROUNDS = 1  # rounds that the strongest learner has before other learners that are not cheap
BUDGET_SHARE = 0.9  # of the budget for everything by forecast; the rest is for looking into the winner
MIN_FIT_SHARE = 0.3  # of the budget that is left for fits, even if timing took longer, as where loops are compiled
MAX_FIRST_SHARE = 0.5  # of the time for fits: if the strongest learner takes more, the other strong ones come first
CHEAP_SHARE = 0.02  # of the time for fits: a learner that takes less comes before costly ones
TIMING_SHARE = 0.25  # of the budget: learners that are not timed by then run last, while there is time
CLOSING_STARTS, DRAWING_STARTS = 3.0, 1.8  # time after the last fit, and of the drawing in it, over a worker's start
MAX_CLOSING_SHARE = 0.2  # of the budget: a start takes long where other programs run


def fit_to_budget(
    plan: Plan,
    costs: Mapping[str, FitCost],
    budget: float | None = None,
    jobs: int = 1,
    *,
    spent: float = 0.0,
    closing: float = 0.0,
    untimed: Collection[str] = (),
) -> Plan:
    """The plan with its costs and, if there is a budget, with as much tuning as the budget allows.

    `spent` are the seconds of the budget that have passed, `closing` those that pass between the last fit and the end;
    `untimed` learners keep their defaults: they run last, while there is time. `Plan.cuts` says what is not as without
    a budget.
    """
    plan = replace(plan, costs=dict(costs), budget=budget, jobs=jobs)
    if slow := slow_learners(plan):
        plan = _replan(plan, replace(plan.options, without={**plan.options.without, **slow}))
    if budget is None:
        return plan
    usual, limit = plan, max(BUDGET_SHARE * budget - spent - closing, MIN_FIT_SHARE * budget)
    plan = _spend_first(plan, limit, untimed)
    waiting = _strong_wait(plan, untimed)
    if not waiting:
        plan = _with_more_settings(plan, limit, TUNING_ROUNDS[: TUNING_ROUNDS.index(MAX_SETTINGS) + 1])
    if (
        not waiting
        and len(plan.learners) == len(usual.learners)
        and all(len(a.settings) >= len(b.settings) for a, b in zip(plan.learners, usual.learners, strict=True))
    ):
        asked = usual.options
        again = _replan(plan, replace(plan.options, repeats=asked.repeats, folds=asked.folds, tuning_folds=None))
        plan = again if forecast_cost(again).seconds <= limit else plan
        plan = _with_more_settings(plan, limit, TUNING_ROUNDS[TUNING_ROUNDS.index(MAX_SETTINGS) + 1 :])
    whole = spent + closing + forecast_cost(plan).seconds
    if whole > budget:
        warning = (
            f"a budget of {format_forecast(budget)} is too short: this study takes about {format_forecast(whole)}, "
            f"{format_forecast(spent)} of them to read the table and time the learners"
        )
        plan = replace(plan, warnings=(*plan.warnings, warning))
    return replace(plan, cuts=_describe_cuts(usual, plan))


def closing_seconds(start_seconds: float, budget: float) -> float:
    """Seconds between the last fit and the end, by those that a worker took to start: both are mostly Python's."""
    return min(CLOSING_STARTS * start_seconds, MAX_CLOSING_SHARE * budget)


def drawing_seconds(start_seconds: float, budget: float) -> float:
    """Those of them that a report takes which does not look into the winner."""
    return closing_seconds(start_seconds, budget) * DRAWING_STARTS / CLOSING_STARTS


def _spend_first(plan: Plan, limit: float, untimed: Collection[str]) -> Plan:
    """Learners with their defaults, and a few settings of the strongest: the most thorough design that has room."""
    designs = list(_designs(plan))
    for options in designs[1:] if len(designs) > 1 and _strong_wait(plan, untimed) else designs:
        wanted = _replan(plan, replace(options, own_draws={}, draws=1))
        steps = list(_first_steps(wanted, limit, untimed))
        bought = _buy(wanted, steps, limit)
        if bought == {learner.name: learner for learner in steps}:
            break
    costly = f"too costly for a budget of {format_forecast(plan.budget or 0.0)}"
    lost = {
        learner.name: costly
        for learner in wanted.learners
        if not (learner.baseline or learner.members or learner.name in bought or learner.name in untimed)
    }
    own = {learner.name: len(learner.settings) for learner in bought.values()}
    return _replan(wanted, replace(wanted.options, own_draws=own, without={**wanted.options.without, **lost}))


def _strong_wait(plan: Plan, untimed: Collection[str]) -> bool:
    """Are there strong learners that were not timed?"""
    return any(plan.strength(learner) for learner in plan.learners if learner.name in untimed)


def _designs(plan: Plan) -> Iterator[Options]:
    """One repeat, then with fewer folds, then with fewer inner folds: as far as the user has not set them."""
    options = replace(plan.options, repeats=plan.options.repeats or 1)
    yield options
    if options.folds is None and plan.folds > LARGE_TABLE_FOLDS:
        options = replace(options, folds=LARGE_TABLE_FOLDS)
        yield options
    if plan.halving:
        yield replace(options, tuning_folds=1)


def _first_steps(plan: Plan, limit: float, untimed: Collection[str]) -> Iterator[Learner]:
    """Learners with their settings, in the order in which they are bought; see the module."""
    timed = [x for x in plan.learners if not (x.baseline or x.members or x.name in untimed)]
    if not timed:
        return
    cost = {learner.name: _seconds_with(plan, [learner]) - _seconds_with(plan, []) for learner in timed}
    first, *others = sorted(timed, key=lambda x: (-plan.strength(x), cost[x.name]))
    by_cost = sorted(others, key=lambda x: cost[x.name])
    cheap = [x for x in by_cost if cost[x.name] <= CHEAP_SHARE * limit]
    strong = [x for x in by_cost if plan.strength(x) and x not in cheap]
    weak = [x for x in by_cost if not plan.strength(x) and x not in cheap]
    rounds = () if _strong_wait(plan, untimed) else TUNING_ROUNDS[:EARLY_ROUNDS]
    searches = [first.with_draws(draws, plan.seed) for draws in rounds if first.space]
    if cost[first.name] > MAX_FIRST_SHARE * limit:
        yield from (*cheap, *strong, first, *searches, *weak)
    else:
        yield from (first, *cheap, *strong, *searches, *weak)


def _buy(plan: Plan, steps: Sequence[Learner], limit: float) -> dict[str, Learner]:
    """The learners that there is time for, each with its settings; the cheapest if there is time for none."""
    bought = dict[str, Learner]()
    for learner in steps:
        more = {**bought, learner.name: learner}
        if _seconds_with(plan, more.values()) <= limit:
            bought = more
    if steps and not bought:
        cheapest = min(steps, key=lambda learner: _seconds_with(plan, [learner]))
        return {cheapest.name: cheapest}
    return bought


def _seconds_with(plan: Plan, learners: Collection[Learner]) -> float:
    """The forecast for the plan with these learners besides the baselines."""
    baselines = tuple(learner for learner in plan.learners if learner.baseline)
    some = replace(plan, learners=(*learners, *baselines), blend=plan.blend and len(learners) > 1)
    return forecast_cost(some).seconds


def _with_more_settings(plan: Plan, limit: float, rounds: Sequence[int]) -> Plan:
    """The plan with more settings per learner, round after round, the strongest first, while the forecast allows it."""
    tunable = [x for x in plan.learners if x.space and not x.baseline and x.name in plan.costs]
    tunable.sort(key=lambda x: -plan.strength(x))
    own = dict(plan.options.own_draws)
    for draws in rounds:
        for learner in tunable:
            larger = learner.with_draws(draws, plan.seed)
            if own.get(learner.name, 1) >= draws:
                continue
            more = replace(plan, learners=tuple(larger if x.name == learner.name else x for x in plan.learners))
            if forecast_cost(more).seconds <= limit:
                plan, own[learner.name] = more, draws
    return _replan(plan, replace(plan.options, own_draws=own))


def _describe_cuts(usual: Plan, plan: Plan) -> tuple[str, ...]:
    """What a budget changed, in words; learners that are left out are among `Plan.skipped`."""
    found = [
        f"{format_count(now, thing)} instead of {before}"
        for now, before, thing in (
            (plan.repeats, usual.repeats, "repeat"),
            (plan.folds, usual.folds, "fold"),
            (plan.tuning_folds, usual.tuning_folds, "inner fold"),
        )
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


def _replan(plan: Plan, options: Options) -> Plan:
    """The plan for other options, with the same costs."""
    return replace(plan_from_options(plan.data, options), costs=plan.costs, budget=plan.budget, jobs=plan.jobs)
