"""A plan is run: every learner on every outer split, in worker processes; each fold goes to the journal when it ends.

A task is one learner on one split. Its random numbers depend on the seed and the split alone, and it runs on one
thread, so neither the number of workers nor their order changes a result; results are read back from the journal, so
neither does an interruption. A learner that fails is reported with its reason; one that exceeds its time limit is
stopped and not tried on further splits. The others go on. A fold whose worker died, as when memory runs out, is tried
once more, alone, when all others have ended; if it dies again that is reported, and `--resume` tries it again. A blend
comes last: its folds are made of those of the learners that finished, without another fit.

With a budget, the strongest learner and the cheap ones come first. A learner whose folds cannot end in time, or take
far longer than forecast, is left out; the strongest one and the baselines never are.
"""

from __future__ import annotations

import math
import re
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from fivefold.core.admission.fit_device import fits_on, start_device
from fivefold.study.planning.plan import FitCost, Plan
from fivefold.study.planning.portfolio import Learner
from fivefold.study.planning.splits import Split
from fivefold.study.running.cluster_pool import ClusterPool
from fivefold.study.running.costs import fold_seconds, fold_time_limit, measure_cost
from fivefold.study.running.fold import FoldResult, evaluate_blend, evaluate_fold
from fivefold.study.running.fold_records import pack_fold, unpack_fold
from fivefold.study.running.journal import Journal, JournalEntry
from fivefold.study.running.workers import TaskResult, WorkerPool
from fivefold.study.tables.dataset import Data

MAX_PROBE_SECONDS = 60.0  # a learner that takes longer has no measured cost
MAX_BLEND_SECONDS = 600.0  # time limit of a fold of a blend, which only averages predictions
CHEAP_FOLD_SHARE = 0.02  # of the time of all folds of a split: with a budget, learners that take less come first
CHEAP_BUDGET_SHARE = 0.01  # of the budget, for all folds of a learner: those that take less come first, too
MAX_FOLD_FACTOR, MAX_FOLD_SHARE = 3.0, 0.15  # with a budget a fold is stopped after this multiple of its forecast, or
# share of the budget, whichever is more: a setting that takes very long must not use up the time of all learners

FoldCallback = Callable[[str, float], None]  # name of the learner, seconds left
Clock = Callable[[], float]  # seconds since a fixed moment


class FoldTask(NamedTuple):
    """What a worker is given: a function, and its arguments after the data, which the worker holds."""

    function: Callable[..., object]
    plan: Plan  # without its data
    learner: Learner
    split: Split
    split_index: int


class BlendTask(NamedTuple):
    """As `FoldTask`, for a fold of a blend."""

    function: Callable[..., object]
    plan: Plan
    learner: Learner
    split: Split
    split_index: int
    folds: dict[str, FoldResult]  # of the members, on this split


class MeasureTask(NamedTuple):
    """As `FoldTask`, to measure the cost of a learner."""

    function: Callable[..., object]
    plan: Plan
    learner: Learner


class MeasuredCosts(NamedTuple):
    """What learners cost, by name, and those that there was no time to measure."""

    costs: dict[str, FitCost]
    untimed: frozenset[str] = frozenset()


@dataclass(frozen=True)
class LearnerOutcome:
    """What became of a learner."""

    learner: Learner
    folds: tuple[FoldResult, ...]
    failure: str | None
    warnings: tuple[str, ...]
    late: bool = False  # was it stopped by its time limit, or by the budget?
    cut: bool = False  # was it the budget?


def make_workers(data: Data, jobs: int, cluster: str | None = None, device: str | None = None) -> WorkerPool:
    """Workers that hold the data, for `measure_costs` and `run_pending`: processes, or those of a Dask cluster."""
    if cluster is None:
        return WorkerPool(partial(_call_task, device=device), data, jobs)
    pool: Any = ClusterPool(_call_task, data, cluster, jobs)  # it has the methods of the other
    return pool


def measure_costs(
    plan: Plan,
    workers: WorkerPool,
    tick: Callable[[str], None] = lambda name: None,
    *,
    ends_at: float = math.inf,
    clock: Clock = time.monotonic,
) -> MeasuredCosts:
    """What each learner costs; those that are not begun by `ends_at`, on the clock, are not timed.

    The strongest, which comes first, and the baselines always are; ensembles come last. A learner that fails or takes
    too long has no cost, and will be reported when it runs.
    """
    light = plan.for_single_task(plan.splits[:1])
    single = [learner for learner in plan.learners if not learner.members]
    names = {learner.name for learner in single}
    timed_as = {one.name: one.twin if one.twin in names else one.name for one in single}  # a twin takes no longer
    alone = [learner for learner in single if timed_as[learner.name] == learner.name]
    costs, untimed, strongest = dict[str, FitCost](), set[str](), strongest_learner(plan)

    def tasks() -> Iterator[tuple[MeasureTask, float]]:
        for learner in sorted(alone, key=lambda one: (one is not strongest, one.costly, -plan.strength(one))):
            if learner is strongest or learner.baseline or clock() < ends_at:
                yield MeasureTask(try_measure, light, learner), MAX_PROBE_SECONDS
            else:
                untimed.add(learner.name)
                done(learner.name)

    def done(name: str) -> None:
        for one, timed in timed_as.items():
            if timed == name:
                tick(one)

    for ended in workers.run(tasks()):
        name = ended.task.learner.name
        if ended.value is not None:
            costs[name] = ended.value
        done(name)
    ordered = {name: costs[timed] for name, timed in timed_as.items() if timed in costs}
    return MeasuredCosts(ordered, frozenset(name for name, timed in timed_as.items() if timed in untimed))


def strongest_learner(plan: Plan) -> Learner | None:
    """The learner that a budget is spent on first; None if there are only baselines."""
    others = [learner for learner in plan.learners if not learner.baseline and not learner.members]
    return max(others, key=plan.strength, default=None)


def run_plan(plan: Plan, *, jobs: int = 1) -> tuple[LearnerOutcome, ...]:
    """The outcome of every learner, with a journal in memory."""
    made = make_workers(plan.data, jobs, device=plan.options.device)
    with Journal.create(":memory:", {}) as journal, made as workers:
        run_pending(plan, journal, workers)
        return read_outcomes(plan, journal)


def run_pending(
    plan: Plan,
    journal: Journal,
    workers: WorkerPool,
    on_fold: FoldCallback = lambda name, left: None,
    *,
    ends_at: float = math.inf,
    clock: Clock = time.monotonic,
) -> None:
    """Run the folds that are not done; `on_fold` is called after each one that is in the journal or given up.

    Learners whose folds cannot end by `ends_at`, on the clock, are left out.
    """
    pending = pending_folds(plan, journal)
    left, given_up = _TimeLeft(plan, [name for name, _ in pending], workers.jobs), set[str]()
    light = plan.for_single_task()
    strongest = strongest_learner(plan)

    def tasks() -> Iterator[tuple[FoldTask, float]]:
        for (name, i), (learner, split) in pending.items():
            if learner.members:
                continue
            limit, needed = fold_time_limit(plan, learner), learner is strongest or learner.baseline
            if not needed and name not in given_up and left.seconds_of(name) > ends_at - clock():
                journal.add_fold(_cut_entry(plan, journal, name, i))
                given_up.add(name)
            if name in given_up:
                on_fold(name, left.count_fold(name))
                continue
            if not needed and plan.budget is not None:
                limit = min(limit, max(MAX_FOLD_FACTOR * left.mean_seconds(name), MAX_FOLD_SHARE * plan.budget))
            yield FoldTask(_try_fold, light, learner, split, i), limit

    died = list[TaskResult]()
    for ended in workers.run(tasks()):
        if ended.fate == "died":
            died.append(ended)
            continue
        entry = _journal_entry(ended)
        journal.add_fold(entry)
        if entry.fate == "late":
            given_up.add(entry.learner)
        on_fold(entry.learner, left.count_fold(entry.learner, ended.seconds))
    for ended in sorted(died, key=lambda one: one.task.split_index):  # the first split tells why, whoever died first
        entry = _journal_entry(_retry_alone(plan, ended, workers, given_up))
        journal.add_fold(entry)
        if entry.fate != "done":
            given_up.add(entry.learner)
        on_fold(entry.learner, left.count_fold(entry.learner, ended.seconds))
    for ended in workers.run(_blend_tasks(light, pending, read_outcomes(plan, journal))) if plan.blend else ():
        journal.add_fold(_journal_entry(ended))
        on_fold(ended.task.learner.name, left.count_fold(ended.task.learner.name, ended.seconds))


def _blend_tasks(
    light: Plan, pending: Mapping[tuple[str, int], tuple[Learner, Split]], outcomes: tuple[LearnerOutcome, ...]
) -> Iterator[tuple[BlendTask, float]]:
    """The folds of blends: each takes the folds of those members that finished on every split."""
    whole = {outcome.learner.name: outcome.folds for outcome in outcomes if outcome.failure is None}
    for (_, i), (learner, split) in pending.items():
        if learner.members:
            folds = {member.name: whole[member.name][i] for member in learner.members if member.name in whole}
            yield BlendTask(_try_blend, light, learner, split, i, folds), MAX_BLEND_SECONDS


def _retry_alone(plan: Plan, ended: TaskResult, workers: WorkerPool, given_up: Collection[str]) -> TaskResult:
    """Run a fold whose worker died once more, alone, unless its learner was given up."""
    learner = ended.task.learner
    if learner.name in given_up:
        return ended
    (again,) = workers.run(iter([(ended.task, fold_time_limit(plan, learner))]))
    return replace(again, reason=f"{again.reason}, twice, once while it ran alone") if again.fate == "died" else again


def pending_folds(plan: Plan, journal: Journal, *, retry: bool = True) -> dict[tuple[str, int], tuple[Learner, Split]]:
    """The folds that are not done, by name of the learner and index of the split; costly learners first, blends last.

    With a budget the learners come in the order in which it is spent on them, the cheap ones before the others and
    those of unknown cost last. With `retry`, folds whose workers died count as not done.
    """
    fates = {fold: fate for fold, fate in journal.fold_fates().items() if fate != "died" or not retry}
    late = {name for (name, _), fate in fates.items() if fate in ("late", "cut")}
    cost = {learner.name: fold_seconds(plan, learner) for learner in plan.learners}
    cheap = math.inf
    if plan.budget is not None:
        cheap = max(CHEAP_FOLD_SHARE * sum(cost.values()), CHEAP_BUDGET_SHARE * plan.budget / len(plan.splits))

    def order(learner: Learner) -> tuple[bool, bool, bool, int, float]:
        unknown = plan.budget is not None and learner.name not in plan.costs and not learner.baseline
        costly = unknown or cost[learner.name] > cheap
        return bool(learner.members), unknown, costly, -plan.strength(learner) if costly else 0, -cost[learner.name]

    return {
        (learner.name, i): (learner, split)
        for learner in sorted(plan.learners, key=order)
        for i, split in enumerate(plan.splits)
        if learner.name not in late and (learner.name, i) not in fates
    }


def read_outcomes(plan: Plan, journal: Journal) -> tuple[LearnerOutcome, ...]:
    """What became of every learner, in the order of the plan."""
    return tuple(_outcome_of(learner, list(journal.entries_of(learner.name))) for learner in plan.learners)


def _outcome_of(learner: Learner, entries: list[JournalEntry]) -> LearnerOutcome:
    late = [entry.reason for entry in entries if entry.fate in ("late", "cut")]
    failed = [entry.reason for entry in entries if entry.fate in ("failed", "died")]
    return LearnerOutcome(
        learner,
        tuple(unpack_fold(learner, entry) for entry in entries if entry.fate == "done"),
        next(iter(late + failed), None),
        tuple(dict.fromkeys(text for entry in entries for text in entry.warnings)),
        bool(late),
        any(entry.fate == "cut" for entry in entries),
    )


# In the workers


def _call_task(
    data: Data, task: tuple[Callable[..., object], *tuple[object, ...]], device: str | None = None
) -> object:
    function, *arguments = task
    if device is not None:
        start_device(device)
    with fits_on(device):
        return function(data, *arguments)


def try_measure(data: Data, plan: Plan, learner: Learner) -> FitCost | None:
    """What a learner costs; None if it fails, which it will report when it runs."""
    try:
        return measure_cost(replace(plan, data=data), learner)
    except Exception:  # the run reports it
        return None


def _try_fold(
    data: Data, plan: Plan, learner: Learner, split: Split, index: int
) -> tuple[FoldResult | str, tuple[str, ...]]:
    """The result of the fold, or why it failed, and the warnings raised meanwhile."""
    return _result_or_reason(lambda: evaluate_fold(data, learner, split, plan), data)


def _try_blend(
    data: Data, plan: Plan, learner: Learner, split: Split, index: int, folds: dict[str, FoldResult]
) -> tuple[FoldResult | str, tuple[str, ...]]:
    """The same for a fold of a blend."""
    if not folds:
        return "no member finished", ()
    return _result_or_reason(lambda: evaluate_blend(data, learner, split, plan, folds), data)


def _result_or_reason(evaluate: Callable[[], FoldResult], data: Data) -> tuple[FoldResult | str, tuple[str, ...]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result: FoldResult | str = evaluate()
        except Exception as error:  # any failure of one learner is a finding about that learner
            result = f"{type(error).__name__}: {_one_line(error)}"
    return result, tuple(
        dict.fromkeys(
            _one_line(warning.message)
            for warning in caught
            if not _is_compiler_warning(warning) and not _is_about_levels(warning, data)
        )
    )


def _one_line(message: object) -> str:
    """The message on one line, without addresses, which differ between processes."""
    return re.sub(r" at 0x[0-9a-f]+", "", " ".join(str(message).split()))


def _is_about_levels(warning: warnings.WarningMessage, data: Data) -> bool:
    """Is it about dependent columns where a category has one for each of its levels, which always add up to one?"""
    from fivefold.linear_model.least_squares import RankWarning  # with all linear models: slow to import

    levels = any(column.kind == "category" and column.distinct > 2 for column in data.columns)
    return levels and issubclass(warning.category, RankWarning)


def _is_compiler_warning(warning: warnings.WarningMessage) -> bool:
    """Is it about compilation, which happens in some processes only?"""
    return warning.category.__module__.startswith("numba")


# From and to the journal


def _journal_entry(ended: TaskResult) -> JournalEntry:
    task: FoldTask = ended.task
    entry = JournalEntry(learner=task.learner.name, split=task.split_index, fate="done", seconds=ended.seconds)
    if ended.fate == "late":
        reason = f"repeat {task.split.repeat + 1}, fold {task.split.fold + 1} {ended.reason}"
        return replace(entry, fate="late", reason=reason)
    if ended.fate == "died":
        return replace(entry, fate="died", reason=ended.reason)
    result, warned = ended.value
    if isinstance(result, str):
        return replace(entry, fate="failed", reason=result, warnings=warned)
    found, arrays = pack_fold(task.learner, result)
    return replace(entry, found=found, arrays=arrays, warnings=warned)


def _cut_entry(plan: Plan, journal: Journal, name: str, split: int) -> JournalEntry:
    """The entry of the first fold of a learner that a budget has no time for."""
    done = sum(fate == "done" for (learner, _), fate in journal.fold_fates().items() if learner == name)
    when = f"after {done} of {len(plan.splits)} folds" if done else "before its first fold"
    reason = f"the budget was spent {when}"
    return JournalEntry(learner=name, split=split, fate="cut", reason=reason, seconds=0.0)


class _TimeLeft:
    """How long the rest will take: by the time of each learner's folds so far, or by its measured cost."""

    def __init__(self, plan: Plan, names: list[str], jobs: int) -> None:
        self.jobs = jobs
        self.left = {name: names.count(name) for name in dict.fromkeys(names)}
        self.forecast = {learner.name: fold_seconds(plan, learner) for learner in plan.learners}
        self.taken: dict[str, list[float]] = {}

    def count_fold(self, name: str, seconds: float | None = None) -> float:
        """Count a fold that is done or given up; returns the seconds until all are."""
        self.left[name] -= 1
        if seconds is not None:
            self.taken.setdefault(name, []).append(seconds)
        return sum(count * self.mean_seconds(name) for name, count in self.left.items()) / self.jobs

    def seconds_of(self, name: str) -> float:
        """How long the folds of a learner will take that are not done."""
        return self.mean_seconds(name) * max(1.0, self.left[name] / self.jobs)

    def mean_seconds(self, name: str) -> float:
        """Seconds of a fold of the learner."""
        return float(np.mean(self.taken[name])) if name in self.taken else self.forecast[name]
