"""`fivefold cluster`: does a table fall into groups? See `cli` for exit codes."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from fivefold.cli.options import (
    COLUMN_OPTION,
    DATA_ARGUMENT,
    HEADER_OPTION,
    JSON_OPTION,
    Console,
    print_note,
    refuse,
)

if TYPE_CHECKING:
    from fivefold.core.types import Matrix
    from fivefold.evaluation.grouping.group_search import Runner, SearchPlan, Task
    from fivefold.study.clustering.group_study import GroupStudy

INTERRUPTED = 130  # exit code
ONE_WORKER_CELLS = 3_000  # values of a table that is searched before a second process would have started
CLOSING_SECONDS = 5.0  # of a budget, for what comes after the search


def cluster(
    data: DATA_ARGUMENT,
    methods: Annotated[
        str | None, typer.Option(help="Methods, separated by commas: ward, kmeans, mixture, hdbscan; by default all.")
    ] = None,
    max_groups: Annotated[int, typer.Option(min=2, max=50, help="Largest number of groups that is tried.")] = 8,
    leave_out: Annotated[
        list[str] | None, typer.Option(help="A column that groups are found without; repeat the option for several.")
    ] = None,
    column: COLUMN_OPTION = None,
    header: HEADER_OPTION = None,
    budget: Annotated[str | None, typer.Option(help="Time until the report is written, such as 90s or 10min.")] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Worker processes; by default one per core, or one for a small table.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Same seed, same results.")] = 0,
    output: Annotated[
        Path, typer.Option("--output", "--out", help="Folder for the report, the labels and the model.")
    ] = Path("fivefold-groups"),
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the results in a folder.")] = False,
    as_json: JSON_OPTION = False,
) -> None:
    """Do the rows fall into groups? Several methods, tested against data without groups.

    The rows are cut by every method into every number of groups. A cut counts if samples of the rows are cut alike
    (stability), and more alike than in data without groups that resemble the rows; one test over all cuts decides, and
    claims groups in at most 2.5 % of tables that have none.
    """
    began = monotonic()
    from fivefold.cli.study_session import parse_kinds, parse_seconds
    from fivefold.study.tables.table import BadInput

    try:
        seconds = None if budget is None else parse_seconds(budget)
        kinds = parse_kinds(column or ())
        chosen = parse_methods(methods)
        _make_folder(output, overwrite=overwrite)
        words = ["fivefold", "cluster", data, "--methods", ",".join(chosen), "--max-groups", str(max_groups)]
        words += [f"--leave-out={name}" for name in leave_out or ()]
        words += [f"--column={name}={kind}" for name, kind in kinds.items()]
        words += [] if header is None else ["--header" if header else "--no-header"]
        words += ["--seed", str(seed)]
        left = None if seconds is None else max(1.0, seconds - CLOSING_SECONDS)
        study = _run(data, kinds, header, tuple(leave_out or ()), chosen, max_groups, seed, jobs, left, began)
        study = replace(study, command=shlex.join(words))
        files = _write(study, output)
    except BadInput as error:
        refuse(str(error))
    except KeyboardInterrupt:
        Console(stderr=True).print(Text.assemble(("interrupted: ", "bold red"), "nothing was written"))
        raise typer.Exit(INTERRUPTED) from None
    _show(study, files, as_json=as_json)


def parse_methods(text: str | None) -> tuple[str, ...]:
    """Names of methods, in the order in which they are run.

    Examples
    --------
    >>> parse_methods("kmeans, Ward")
    ('ward', 'kmeans')
    """
    from fivefold.evaluation.grouping.group_methods import GROUP_METHODS
    from fivefold.study.clustering.group_model import ESTIMATORS
    from fivefold.study.tables.table import BadInput

    known = {alias.lower(): name for name, long in ESTIMATORS.items() for alias in (name, long)}
    asked = [word.strip() for word in (text or "").split(",") if word.strip()]
    if unknown := [word for word in asked if word.lower() not in known]:
        raise BadInput(f"--methods: {unknown[0]!r} is none of {', '.join(GROUP_METHODS)}")
    wanted = {known[word.lower()] for word in asked} or set(GROUP_METHODS)
    return tuple(name for name in GROUP_METHODS if name in wanted)


def _make_folder(folder: Path, *, overwrite: bool) -> None:
    from fivefold.study.clustering.group_study import OUTPUT_FILES
    from fivefold.study.tables.table import BadInput

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"--output {folder}: no folder can be created there ({error.strerror})") from None
    if (folder / "results.json").exists() and not overwrite:
        raise BadInput(
            f"{folder} holds results already; replace them with --overwrite, or name another folder with --output"
        )
    for name in OUTPUT_FILES:
        (folder / name).unlink(missing_ok=True)


def _run(
    source: str,
    kinds: dict[str, str],
    header: bool | None,
    leave_out: tuple[str, ...],
    methods: tuple[str, ...],
    max_groups: int,
    seed: int,
    jobs: int | None,
    seconds: float | None,
    began: float,
) -> GroupStudy:
    """Read the table, search with a progress bar, describe."""
    from joblib import cpu_count

    from fivefold.cli.progress_bar import activity
    from fivefold.study.clustering.group_study import MAX_JUDGED_ROWS, GroupOptions, run_group_study
    from fivefold.study.clustering.group_table import load_groups_table

    with activity(f"reading {source}") as step:
        data = load_groups_table(source, kinds, header, leave_out)
        small = min(len(data.y), MAX_JUDGED_ROWS) * len(data.columns) < ONE_WORKER_CELLS
        count = jobs or (1 if small else cpu_count())
        step("searching for groups: in the table")
        options = GroupOptions(methods, max_groups, seed)
        left = None if seconds is None else max(1.0, seconds - (monotonic() - began))
        return run_group_study(data, options, _runner_of(count, step), step, seconds=left, jobs=count)


def _runner_of(jobs: int, step: Callable[[str], None]) -> Callable[[SearchPlan], Runner | None]:
    """How a plan is run: in this process, or by workers that are started for it."""

    def make(plan: SearchPlan) -> Runner:
        from fivefold.evaluation.grouping.group_search import REPLICATES

        total, done = REPLICATES * len(plan.references), 0

        def with_progress(found: Iterable[tuple[Task, Matrix]]) -> Iterator[tuple[Task, Matrix]]:
            nonlocal done
            for one in found:
                done += 1
                step(f"searching for groups: {done} of at most {total} tables without groups done")
                yield one

        def here(tasks: Iterable[Task]) -> Iterator[tuple[Task, Matrix]]:
            return with_progress((task, measure_table(plan, task)) for task in tasks)

        def shared(tasks: Iterable[Task]) -> Iterator[tuple[Task, Matrix]]:
            from fivefold.study.running.workers import WorkerPool

            with WorkerPool(measure_table, plan, jobs) as pool:
                ended = pool.run(iter([(task, 3600.0) for task in tasks]))
                yield from with_progress(
                    (one.task, one.value if one.fate == "done" else measure_table(plan, one.task)) for one in ended
                )

        return here if jobs == 1 else shared

    return make


def measure_table(plan: SearchPlan, task: Task) -> Matrix:
    """Stabilities and silhouettes of one table, as a worker computes them."""
    return plan.measures(task)


def _write(study: GroupStudy, folder: Path) -> dict[str, Path | None]:
    from fivefold.cli.progress_bar import activity
    from fivefold.study.clustering.group_study import write_group_files

    with activity("drawing the report"):
        return write_group_files(study, folder)


def _show(study: GroupStudy, files: dict[str, Any], *, as_json: bool) -> None:
    """The verdict, the groups and the files."""
    from fivefold.core.console.control_characters import printable_json
    from fivefold.study.clustering.group_study import sampling_note

    for note in (*study.data.notes, *study.data.warnings, *([sampling_note(study)] if sampling_note(study) else [])):
        print_note(note)
    if as_json:
        print(printable_json(files["results"].read_text(encoding="utf-8")), end="")
        return
    console = Console(highlight=False, markup=False, soft_wrap=True)
    console.print(study.verdict)
    for profile in study.profiles:
        console.print(f"  {profile}")
    console.print(f"\nreport    {files['report']}")
    console.print(f"labels    {files['labels']}")
    if files["model"] is not None:
        console.print(f"model     {files['model']}")
        console.print(f"predict   fivefold predict {shlex.quote(str(files['model']))} new.csv -o groups.csv")
