"""`fivefold study`: its options; the study itself is in `cli.study_session`. See `cli` for exit codes."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from time import monotonic
from typing import Annotated

import typer

from fivefold.cli.options import (
    COLUMN_OPTION,
    DATA_ARGUMENT,
    HEADER_OPTION,
    HOLDOUT_OPTION,
    JSON_OPTION,
    MARGIN_OPTION,
    METHODS_OPTION,
    RARE_CLASSES_OPTION,
    REFIT_OPTION,
    SAMPLE_OPTION,
    SPLIT_COPIES_OPTION,
    TARGET_OPTION,
    TASK_OPTION,
    refuse,
)
from fivefold.cli.progress_bar import activity

METRIC_OPTION = Annotated[
    str | None, typer.Option(help="Score that ranks and tunes; by default log_loss for classes, rmse for numbers.")
]
COSTS_OPTION = Annotated[
    Path | None,
    typer.Option(
        help="Table of costs: a row per true class, a column per decision, and a column reject if rows may be "
        "rejected. Learners are ranked, and the model decides, by expected cost."
    ),
]
JOBS_OPTION = Annotated[
    int | None, typer.Option(min=1, help="Worker processes; by default one per core, or one for a small table.")
]
CLUSTER_OPTION = Annotated[
    str | None, typer.Option(help="Run the folds on a Dask cluster: its address, or local; the results are the same.")
]
FOLDS_OPTION = Annotated[
    int | None, typer.Option(min=2, help="Outer folds; the default depends on the number of rows.")
]
REPEATS_OPTION = Annotated[
    int | None, typer.Option(min=1, help="Repeats of the outer folds; the default depends on the number of rows.")
]
OUT_OPTION = Annotated[Path, typer.Option(help="Folder for the report, the model and the journal.")]
DEVICE_OPTION = Annotated[
    str | None, typer.Option(help="Fit methods that take tensors on a GPU: cuda, or cuda:1; the others on the CPU.")
]
GROUP_OPTION = Annotated[str | None, typer.Option(help="Column that says which rows belong together.")]
TIME_OPTION = Annotated[str | None, typer.Option(help="Column that orders the rows in time.")]
SEQUENCE_OPTION = Annotated[
    str | None, typer.Option(help="Column that says which sequence each row is a step of; it is never split.")
]
ORDER_OPTION = Annotated[
    str | None, typer.Option(help="With --sequence: the column of numbers or dates that orders its steps.")
]


def study(
    context: typer.Context,
    data: DATA_ARGUMENT = "wine",
    target: TARGET_OPTION = None,
    task: TASK_OPTION = None,
    methods: METHODS_OPTION = None,
    metric: METRIC_OPTION = None,
    costs: COSTS_OPTION = None,
    folds: FOLDS_OPTION = None,
    repeats: REPEATS_OPTION = None,
    holdout: HOLDOUT_OPTION = None,
    margin: MARGIN_OPTION = None,
    budget: Annotated[str | None, typer.Option(help="Time until the report is written, such as 90s or 10min.")] = None,
    jobs: JOBS_OPTION = None,
    cluster: CLUSTER_OPTION = None,
    device: DEVICE_OPTION = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Same seed, same results.")] = 0,
    out: OUT_OPTION = Path("fivefold-study"),
    column: COLUMN_OPTION = None,
    group: GROUP_OPTION = None,
    time: TIME_OPTION = None,
    sequence: SEQUENCE_OPTION = None,
    order: ORDER_OPTION = None,
    header: HEADER_OPTION = None,
    rare_classes: RARE_CLASSES_OPTION = None,
    split_copies: SPLIT_COPIES_OPTION = False,
    refit: REFIT_OPTION = True,
    sample: SAMPLE_OPTION = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the study in OUT.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Start again in a folder that holds a study.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan and its cost, and stop.")] = False,
    as_json: JSON_OPTION = False,
) -> None:
    """Which method predicts the target best? Nested cross-validation, with intervals and tests."""
    began = monotonic()
    with activity("starting"):
        from fivefold.cli.study_session import RunOptions, StudyOptions, parse_kinds, parse_seconds, run_study
        from fivefold.study.tables.dataset import BadInput

    try:
        asked = StudyOptions(
            data=_resolved(data),
            target=target,
            task=task,
            methods=tuple(name.strip() for name in (methods or "").split(",") if name.strip()),
            metric=metric,
            costs=None if costs is None else str(costs.resolve()),
            folds=folds,
            repeats=repeats,
            holdout=holdout,
            margin=margin,
            budget=None if budget is None else parse_seconds(budget),
            seed=seed,
            column=parse_kinds(column or ()),
            group=group,
            time=time,
            sequence=sequence,
            order=order,
            header=header,
            rare_classes=rare_classes,
            split_copies=split_copies,
            refit=refit,
            sample=sample,
            device=device,
        )
        how = RunOptions(
            out=out,
            jobs=jobs,
            cluster=cluster,
            resume=resume,
            overwrite=overwrite,
            dry_run=dry_run,
            as_json=as_json,
            given=_typed_options(context) & {field.name for field in fields(StudyOptions)},
            began=began,
        )
        code = run_study(asked, how)
    except BadInput as error:
        refuse(str(error))
    raise typer.Exit(code)


def _resolved(data: str) -> str:
    """The name of an embedded table, or a file or folder from the root, so that a study can be resumed elsewhere."""
    from fivefold.datasets.toy_datasets import EMBEDDED

    path = Path(data)
    if data in EMBEDDED and not path.is_file():  # a folder may have the name of one: --out wine
        return data
    return str(path.resolve()) if path.exists() else data


def _typed_options(context: typer.Context) -> frozenset[str]:
    """The options that were given on the command line."""
    sources = ((name, context.get_parameter_source(name)) for name in context.params)
    return frozenset(name for name, source in sources if source is not None and source.name == "COMMANDLINE")
