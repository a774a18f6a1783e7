"""What a study leaves behind: the winner, the hold-out opened for it, and the files.

The winner is tuned and fitted on all rows outside the hold-out by a worker, on one thread and out of reach of Ctrl-C,
which would otherwise leave a half-fitted model.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from fivefold.study.judging.final_holdout import open_holdout
from fivefold.study.judging.results import Results, write_results
from fivefold.study.models.model_file import ModelFile
from fivefold.study.models.winner import fit_winner, save_winner
from fivefold.study.running.journal import Journal
from fivefold.study.running.workers import WorkerPool
from fivefold.study.tables.dataset import BadInput, Data


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
) -> StudyOutputs:
    """Fit and save the winner, open the hold-out, write the table and the report; the workers are closed.

    `step` is told what is done next.
    """
    write_results(results, folder)  # before anything long
    if results.judged:
        step(f"fitting {results.judged[0].name}, the best learner, on all rows outside the hold-out")
    model, reason = _winner_or_reason(results, workers) if results.judged else (None, "every learner failed")
    workers.close()
    path = None
    if model is not None:
        step(
            "testing the model on the rows held out, and saving it" if len(results.plan.holdout) else "saving the model"
        )
        found = open_holdout(results.plan, results.judged[0].name, model.pipeline, journal)
        results = replace(results, holdout=found)
        try:
            path = save_winner(model, results, folder)
        except BadInput as error:
            reason = str(error)
    step("drawing the report")
    from fivefold.study import report  # it draws figures: slow to import

    drawn = results if model is None else replace(results, winner=model.pipeline)
    return StudyOutputs(results, write_results(results, folder), report.write_report(drawn, folder), path, reason)


def _winner_or_reason(results: Results, workers: WorkerPool) -> tuple[ModelFile | None, str]:
    """The fitted winner, or why there is none."""
    without_data = replace(results, plan=replace(results.plan, data=None))  # type: ignore[arg-type]  # workers hold the data
    for _ in range(2):  # a worker may have died because others used the memory
        (ended,) = workers.run(iter([((_fit_in_worker, without_data), math.inf)]))
        if ended.fate != "died":
            break
    fitted = ended.value
    return (None, ended.reason) if fitted is None else (None, fitted) if isinstance(fitted, str) else (fitted, "")


def _fit_in_worker(data: Data, results: Results) -> ModelFile | str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the folds have reported them
        try:
            return fit_winner(replace(results, plan=replace(results.plan, data=data)))
        except Exception as error:  # it succeeded on every fold and fails on all rows
            return f"{type(error).__name__}: {error}"
