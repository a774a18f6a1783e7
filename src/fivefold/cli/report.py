"""`fivefold report`: the report of a finished study again, from its journal."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from fivefold.cli.options import JSON, aside, refuse, show_json, show_text


def report(
    folder: Annotated[Path, typer.Argument(help="The folder of a study, as --out named it.")] = Path("fivefold-study"),
    as_json: JSON = False,
) -> None:
    """Write the report of a finished study again; nothing is fitted anew to judge by."""
    from fivefold.study.data import BadInput
    from fivefold.study.report import write

    try:
        path = write(recall(folder), folder)
    except BadInput as error:
        refuse(str(error))
    except OSError as error:
        refuse(f"{folder}: the report cannot be written there ({error.strerror})")
    if as_json:
        show_json({"report": str(path)})
    else:
        show_text(f"report    {path}\n")


def recall(folder: Path) -> Any:
    """The Results of the study in a folder, read from its journal. Raises BadInput."""
    from dataclasses import replace

    from fivefold.cli.session import Asked
    from fivefold.study.data import BadInput, load
    from fivefold.study.frozen import thaw
    from fivefold.study.holdout import open_holdout
    from fivefold.study.journal import FILE, Journal
    from fivefold.study.results import judge
    from fivefold.study.run import outcomes, pending

    journal = Journal.open(folder / FILE)
    if journal is None:
        raise BadInput(f"{folder}: no study is there; give the folder that fivefold study wrote (--out)")
    with journal:
        for note in journal.notes:
            aside(note)
        kept = journal.get("asked")
        asked = Asked(**kept | {"methods": tuple(kept["methods"])})
        data = load(asked.data, asked.target, asked.task, kinds=asked.column, group=asked.group, time=asked.time)
        plan = thaw(data, journal)
        if left := len(pending(plan, journal, retry=False)):
            again = shlex.join(["fivefold", "study", "--resume", "--out", str(folder)])
            raise BadInput(f"{folder}: the study is not finished, {left} folds are left; go on with: {again}")
        held = journal.get("holdout")  # one that was not opened stays locked
        return replace(
            judge(plan, outcomes(plan, journal)),
            command=asked.command,
            sessions=tuple(journal.get("sessions") or ()),
            holdout=open_holdout(plan, held["learner"], None, journal) if held else None,
        )
