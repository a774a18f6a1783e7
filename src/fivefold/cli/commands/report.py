"""`fivefold report`: the report of a finished study, written again from its journal."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fivefold.cli.options import JSON_OPTION, print_note, refuse, show_json, show_text

if TYPE_CHECKING:
    from fivefold.study.judging.results import Results


def report(
    folder: Annotated[Path, typer.Argument(help="The folder of a study (its --out).")] = Path("fivefold-study"),
    as_json: JSON_OPTION = False,
) -> None:
    """Write the report of a finished study again; no fold is run again."""
    from fivefold.cli.progress_bar import activity

    with activity("starting"):
        from fivefold.study.report import write_report
        from fivefold.study.tables.dataset import BadInput

    try:
        with activity("reading the study") as step:
            results = with_saved_model(read_study_results(folder), folder)
            step("drawing the report")
            path = write_report(results, folder)
    except BadInput as error:
        refuse(str(error))
    except OSError as error:
        refuse(f"{folder}: the report cannot be written there ({error.strerror})")
    if as_json:
        show_json({"report": str(path)})
    else:
        show_text(f"report    {path}\n")


def with_saved_model(results: Results, folder: Path) -> Results:
    """The results with the saved model of the study, which the report looks into; a note if it cannot be read."""
    from dataclasses import replace

    from fivefold.study.models.model_file import load_model
    from fivefold.study.models.winner import MODEL_FILE
    from fivefold.study.tables.dataset import BadInput

    try:
        return replace(results, winner=load_model(folder / MODEL_FILE).pipeline)
    except BadInput as error:
        print_note(f"{error}; the report does not look into the model")
        return results


def read_study_results(folder: Path) -> Results:
    """The results of the study in a folder, read from its journal. Raises BadInput."""
    from dataclasses import replace

    from fivefold.cli.study_session import StudyOptions
    from fivefold.study.judging.final_holdout import open_holdout
    from fivefold.study.judging.results import judge_outcomes
    from fivefold.study.judging.time_order import TimeOrderScore
    from fivefold.study.running.journal import JOURNAL_FILE, Journal
    from fivefold.study.running.resumption import restore_plan
    from fivefold.study.running.run import pending_folds, read_outcomes
    from fivefold.study.tables.dataset import BadInput

    journal = Journal.open(folder / JOURNAL_FILE)
    if journal is None:
        raise BadInput(f"{folder}: there is no study here; give the folder that fivefold study wrote (--out)")
    with journal:
        for note in journal.notes:
            print_note(note)
        asked = StudyOptions.from_journal(journal)
        plan = restore_plan(asked.load_data(), journal)
        if left := len(pending_folds(plan, journal, retry=False)):
            again = shlex.join(["fivefold", "study", "--resume", "--out", str(folder)])
            raise BadInput(f"{folder}: the study is not finished, {left} folds are left; continue with: {again}")
        held = journal.get("holdout")  # one that was not opened stays locked
        return replace(
            judge_outcomes(plan, read_outcomes(plan, journal)),
            command=asked.command,
            sessions=tuple(journal.get("sessions") or ()),
            holdout=open_holdout(plan, held["learner"], None, journal) if held else None,
            time_order=TimeOrderScore(**ordered) if (ordered := journal.get("time_order")) else None,
            model_rows=journal.get("model_rows"),
            inspection_seconds=journal.get("inspection_seconds"),
        )
