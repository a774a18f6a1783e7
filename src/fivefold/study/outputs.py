"""What a study leaves behind: the winner, the hold-out opened for it, and the files.

The winner is tuned and fitted on all rows outside the hold-out by a worker, on one thread and out of reach of Ctrl-C,
which would otherwise leave a half-fitted model. That model is tested on the hold-out; the one that is saved has the
same setting and is fitted on all rows, unless the user wants to keep the tested one.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from fivefold.study.judging.final_holdout import open_holdout
from fivefold.study.judging.result_files import write_results
from fivefold.study.judging.results import Results
from fivefold.study.judging.time_order import TimeOrderScore, date_column, score_in_time_order
from fivefold.study.models.model_file import ModelFile
from fivefold.study.models.winner import fit_winner, members_to_tune, refit_winner, save_winner
from fivefold.study.planning.plan import Plan
from fivefold.study.planning.portfolio import Learner
from fivefold.study.running.budget import drawing_seconds
from fivefold.study.running.fold import tune
from fivefold.study.running.journal import Journal
from fivefold.study.running.setting_search import SettingChoice
from fivefold.study.running.workers import WorkerPool
from fivefold.study.tables.dataset import BadInput, Data

DRAWING_STEP = "drawing the report"  # the last step


@dataclass(frozen=True)
class StudyOutputs:
    """The results, with those of the hold-out, and the paths of the files."""

    results: Results
    table: Path
    report: Path
    model: Path | None
    reason: str = ""  # why there is no model


def write_outputs(
    results: Results,
    folder: Path,
    journal: Journal,
    workers: WorkerPool,
    step: Callable[[str], None] = lambda step: None,
    *,
    refit: bool = True,
    ends_at: float = math.inf,
    clock: Callable[[], float] = time.monotonic,
) -> StudyOutputs:
    """Fit the winner, open the hold-out, save the winner, fitted again on all rows if `refit`, write table and report.

    `step` is told what is done next; the workers are closed. A budget that ends at `ends_at`, on the clock, limits what
    the report looks into; what is left for that is stored, so that `fivefold report` writes the same.
    """
    write_results(results, folder)  # before anything long
    if results.judged:
        rows = "all rows outside the hold-out" if len(results.plan.holdout) else "all rows"
        step(f"fitting {results.judged[0].name}, the best learner, on {rows}")
    models, reason = (
        _winner_or_reason(results, workers, refit=refit) if results.judged else ([], "every learner failed")
    )
    if models:
        if date_column(results.plan.data) is not None:
            step(f"scoring {results.judged[0].name} in order of time")
        results = replace(results, time_order=_time_order(results, journal, workers))
    workers.close()
    path = None
    if models:
        step(
            "testing the model on the rows held out, and saving it" if len(results.plan.holdout) else "saving the model"
        )
        found = open_holdout(results.plan, results.judged[0].name, models[0].pipeline, journal)
        results = replace(results, holdout=found, model_rows=models[-1].card["data"]["rows_fitted"])
        try:
            path = save_winner(models[-1], results, folder)
            journal.put("model_rows", results.model_rows)
        except BadInput as error:
            results, reason = replace(results, model_rows=None), str(error)
    step(DRAWING_STEP)
    if ends_at < math.inf:
        left = max(0.0, ends_at - clock() - drawing_seconds(workers.start_seconds, results.plan.budget or math.inf))
        results = replace(results, inspection_seconds=left)
        journal.put("inspection_seconds", left)
    from fivefold.study import report  # it draws figures: slow to import

    drawn = replace(results, winner=models[0].pipeline) if models else results  # rows held out are not drawn
    return StudyOutputs(results, write_results(results, folder), report.write_report(drawn, folder), path, reason)


def _time_order(results: Results, journal: Journal, workers: WorkerPool) -> TimeOrderScore | None:
    """The score of the winner in order of time, if there is a column of dates."""
    best = results.judged[0]
    shuffled = best.estimates[results.score.name].mean
    return score_in_time_order(results.plan, best.outcome.learner, shuffled, journal, workers)


def _winner_or_reason(results: Results, workers: WorkerPool, *, refit: bool) -> tuple[list[ModelFile], str]:
    """The winner fitted outside the hold-out and, if `refit`, on all rows; or why there is none."""
    without_data = replace(results, plan=results.plan.without_data())
    choices = _tune_members(results, workers)
    for _ in range(2):  # a worker may have died because others used the memory
        (ended,) = workers.run(iter([((_fit_in_worker, without_data, choices, refit), math.inf)]))
        if ended.fate != "died":
            break
    fitted = ended.value
    return ([], ended.reason) if fitted is None else ([], fitted) if isinstance(fitted, str) else (fitted, "")


def _tune_members(results: Results, workers: WorkerPool) -> dict[str, SettingChoice]:
    """The settings of the members of a winning blend, tuned on all rows side by side; one that fails is left out."""
    light = results.plan.for_single_task()
    members = members_to_tune(results)
    ended = list(workers.run(iter([((_tune_in_worker, light, member), math.inf) for member in members])))
    found = {one.task[2].name: one.value for one in ended if one.value is not None}
    return {member.name: found[member.name] for member in members if member.name in found}


def _tune_in_worker(data: Data, plan: Plan, learner: Learner) -> SettingChoice | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the folds have reported them
        try:
            plan = replace(plan, data=data)
            return tune(data, learner, plan.rows, plan)
        except Exception:  # the blend does without it
            return None


def _fit_in_worker(
    data: Data, results: Results, member_choices: dict[str, SettingChoice], refit: bool
) -> list[ModelFile] | str:
    results = replace(results, plan=replace(results.plan, data=data))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the folds have reported them
        try:
            model = fit_winner(results, member_choices)
        except Exception as error:  # it succeeded on every fold and fails on all rows
            return f"{type(error).__name__}: {error}"
        if not refit or not len(results.plan.holdout):
            return [model]
        try:
            return [model, refit_winner(results, model)]
        except Exception:  # the model that is tested on the hold-out is saved
            return [model]
