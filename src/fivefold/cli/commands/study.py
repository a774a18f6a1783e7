"""`fivefold study`: its options. What they set off is in `session`.

Exit codes: 0 done, 2 bad input, 3 some learners failed, 130 interrupted.
"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated

import typer

from fivefold.cli.options import JSON_OPTION, UNPACK_LIMIT_HELP, refuse


def study(
    context: typer.Context,
    data: Annotated[
        str, typer.Argument(help=f"A table, or iris, wine, breast_cancer, digits, diabetes. {UNPACK_LIMIT_HELP}")
    ] = "wine",
    target: Annotated[str | None, typer.Option(help="The column to predict.")] = None,
    task: Annotated[str | None, typer.Option(help="classification or regression, when the values mislead.")] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            help="Methods, separated by commas: names, dotted names of classes, or all; by default a portfolio."
        ),
    ] = None,
    metric: Annotated[
        str | None, typer.Option(help="What ranks and tunes; by default log_loss for classes, rmse for numbers.")
    ] = None,
    folds: Annotated[int | None, typer.Option(min=2, help="Folds that judge; by default as the rows allow.")] = None,
    repeats: Annotated[
        int | None, typer.Option(min=1, help="How often they are drawn; by default as the rows allow.")
    ] = None,
    holdout: Annotated[
        float | None, typer.Option(min=0, max=0.5, help="Share of rows to lock away; by default 0.2 from 500 rows.")
    ] = None,
    budget: Annotated[str | None, typer.Option(help="Time to use, such as 90s or 10min.")] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Worker processes; by default one a core, one for a small table.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Same seed, same results.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for the report, the model and the journal.")] = Path(
        "fivefold-study"
    ),
    column: Annotated[
        list[str] | None, typer.Option(help="NAME=KIND corrects the kind of a column; may be given again.")
    ] = None,
    group: Annotated[str | None, typer.Option(help="Column that says which rows belong together.")] = None,
    time: Annotated[str | None, typer.Option(help="Column that says in what order the rows came.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the study in OUT.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Start again in a folder that holds a study.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan with its cost, and stop.")] = False,
    as_json: JSON_OPTION = False,
) -> None:
    """Which method predicts the target best? Nested cross-validation, with intervals and tests."""
    from fivefold.cli.study_session import RunOptions, StudyOptions, parse_kinds, parse_seconds, run_study
    from fivefold.study.tables.dataset import BadInput

    sources = ((name, context.get_parameter_source(name)) for name in context.params)
    typed = [name for name, source in sources if source is not None and source.name == "COMMANDLINE"]
    try:
        asked = StudyOptions(
            str(Path(data).resolve()) if Path(data).is_file() else data,
            target,
            task,
            tuple(name.strip() for name in (methods or "").split(",") if name.strip()),
            metric,
            folds,
            repeats,
            holdout,
            None if budget is None else parse_seconds(budget),
            seed,
            parse_kinds(column or ()),
            group,
            time,
        )
        given = frozenset(typed) & {field.name for field in fields(StudyOptions)}
        code = run_study(asked, RunOptions(out, jobs, resume, overwrite, dry_run, as_json, given))
    except BadInput as error:
        refuse(str(error))
    raise typer.Exit(code)
