"""A study at the command line: read, plan, run with a progress bar, rank, save the winner, show.

See `cli` for the exit codes.
"""

from __future__ import annotations

import math
import re
import shlex
import sqlite3
import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path

from joblib import cpu_count
from rich.text import Text

from fivefold.cli import results_table
from fivefold.cli.budget_clock import BudgetClock
from fivefold.cli.options import Console, print_note, show_json
from fivefold.cli.progress_bar import activity, progress_bar
from fivefold.core.admission.fit_device import check_device, fits_on
from fivefold.core.console.control_characters import printable_json
from fivefold.study.judging.results import judge_outcomes
from fivefold.study.models.all_rows import fit_to_all_rows
from fivefold.study.models.model_file import load_model, save_model
from fivefold.study.outputs import DRAWING_STEP, StudyOutputs, write_outputs
from fivefold.study.planning.cost_file import read_cost_file
from fivefold.study.planning.plan import Plan, make_plan, plan_to_json
from fivefold.study.running.budget import TIMING_SHARE, closing_seconds, fit_to_budget
from fivefold.study.running.costs import forecast_cost
from fivefold.study.running.journal import JOURNAL_FILE, Journal, UnreadableJournal, set_aside
from fivefold.study.running.resumption import initial_record, restore_plan, resume_error
from fivefold.study.running.run import make_workers, measure_costs, pending_folds, read_outcomes, run_pending
from fivefold.study.running.workers import WorkerPool, WorkerStartError
from fivefold.study.tables.dataset import BadInput, Data, load
from fivefold.study.tables.large_tables import open_large

ONE_WORKER_CELLS = 20_000  # values times learners; with fewer, a study ends before a second worker would have started
DEVICE_JOBS = 4  # workers that share a GPU unless told: each keeps half a gigabyte of it beside its tables
TIME_UNITS = {"": 1.0, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
SOME_FAILED, INTERRUPTED = 3, 130  # exit codes
OUTPUT_FILES = (
    JOURNAL_FILE,
    f"{JOURNAL_FILE}-wal",
    f"{JOURNAL_FILE}-shm",
    "results.json",
    "times.json",
    "report.html",
    "report.md",
    "model.skops",
)


@dataclass(frozen=True)
class StudyOptions:
    """The options that decide the results, by their names on the command line; None: decided by the data."""

    data: str = "wine"
    target: str | None = None
    task: str | None = None
    methods: tuple[str, ...] = ()
    metric: str | None = None
    folds: int | None = None
    repeats: int | None = None
    holdout: float | None = None
    margin: float | None = None
    budget: float | None = None
    seed: int = 0
    column: Mapping[str, str] = field(default_factory=dict)
    group: str | None = None
    time: str | None = None
    sequence: str | None = None
    order: str | None = None
    header: bool | None = None
    rare_classes: str | None = None
    split_copies: bool = False
    refit: bool = True
    sample: int | None = None
    device: str | None = None
    costs: str | None = None

    @classmethod
    def from_journal(cls, journal: Journal) -> StudyOptions:
        """The options that the study of a journal began with."""
        stored = journal.get("asked")
        return cls(**stored | {"methods": tuple(stored["methods"])})

    def load_data(self) -> Data:
        """The table with its target. Raises BadInput."""
        return load(
            self.data,
            self.target,
            self.task,
            kinds=self.column,
            group=self.group,
            time=self.time,
            header=self.header,
            rare_classes=self.rare_classes,
            split_copies=self.split_copies,
            sample=self.sample,
            sequence=self.sequence,
            order=self.order,
        )

    @property
    def command(self) -> str:
        """The command line that repeats the study."""
        words = ["fivefold", "study", self.data]
        for name in (f.name for f in fields(self) if f.name != "data"):
            value = getattr(self, name)
            if name == "column":
                words += [f"--column={column}={kind}" for column, kind in value.items()]
            elif name == "methods" and value:
                words += ["--methods", ",".join(value)]
            elif name == "budget" and value is not None:
                words += ["--budget", f"{value:g}s"]
            elif name == "header" and value is not None:
                words.append("--header" if value else "--no-header")
            elif name == "refit":
                words += [] if value else ["--no-refit"]
            elif name == "split_copies":
                words += ["--split-copies"] if value else []
            elif name == "seed" or value not in (None, ()):
                words += [f"--{name.replace('_', '-')}", str(value)]
        return shlex.join(words)


@dataclass(frozen=True)
class RunOptions:
    """The options that do not change the results."""

    out: Path
    jobs: int | None = None
    cluster: str | None = None  # the address of a Dask cluster, or local
    resume: bool = False
    overwrite: bool = False
    dry_run: bool = False
    as_json: bool = False
    given: frozenset[str] = frozenset()  # names of the options given on the command line
    began: float | None = None  # when the command did, on time.monotonic; None: now


def run_study(asked: StudyOptions, how: RunOptions) -> int:
    """Study a table, show and write the results; returns the exit code. Raises BadInput."""
    console = Console(quiet=how.as_json, highlight=False)
    try:
        with ExitStack() as stack:
            return _run_study(asked, how, console, stack)
    except KeyboardInterrupt:
        begun = (how.out / JOURNAL_FILE).is_file() and not how.dry_run
        advice = (
            f"every finished fold is saved; continue with: fivefold study --resume --out {shlex.quote(str(how.out))}"
        )
        Console(stderr=True).print(
            Text.assemble(("interrupted: ", "bold red"), advice if begun else "nothing was started"), soft_wrap=True
        )
        return INTERRUPTED
    except WorkerStartError as error:
        raise BadInput(str(error)) from None
    except sqlite3.Error as error:
        raise BadInput(
            f"{how.out / JOURNAL_FILE} cannot be written ({error}); make room and continue with --resume"
        ) from None


def _run_study(asked: StudyOptions, how: RunOptions, console: Console, stack: ExitStack) -> int:
    _check_place(asked.device, how.cluster)  # before an old study is overwritten
    journal = _open_journal(how)
    if journal is not None:
        stack.enter_context(journal)
        asked = _resumed_options(asked, how.given, journal)
        _check_place(asked.device, how.cluster)
    clock = BudgetClock(None if journal is not None else asked.budget, how.began)  # a resumed study ends as planned
    with activity(f"reading {asked.data}") as step:
        data = asked.load_data()
        if data.sampled is not None:  # a study that is resumed has the same rows, however much memory is free then
            asked = replace(asked, sample=data.sampled)
        step("planning the study")
        plan = _make_plan(asked, data) if journal is None else restore_plan(data, journal)
    cells = data.X.height * data.X.width * len(plan.learners)
    most = cpu_count() if asked.device is None else min(cpu_count(), DEVICE_JOBS)
    jobs = how.jobs or (1 if cells < ONE_WORKER_CELLS else most)
    workers = stack.enter_context(make_workers(data, jobs, how.cluster, asked.device))
    stack.enter_context(fits_on(asked.device))  # for what is fitted here, outside the workers
    jobs = workers.jobs
    clock.end_phase("start")
    if journal is None:
        plan = _with_costs(plan, workers, clock)
    console.print(results_table.study_heading(plan))
    if how.dry_run:
        return _show_forecast(console, plan, jobs, as_json=how.as_json)
    if journal is None:
        journal = stack.enter_context(Journal.create(how.out / JOURNAL_FILE, initial_record(plan, asdict(asked))))
    elif done := len(journal.fold_fates()):
        console.print(f"resumed: {done} of {len(plan.learners) * len(plan.splits)} folds are done", style="dim")
    _run_folds(plan, journal, workers, clock)
    clock.end_phase("folds")
    with activity("comparing the learners") as step:
        judged = judge_outcomes(plan, read_outcomes(plan, journal))
        results = replace(judged, command=asked.command, sessions=tuple(journal.get("sessions") or ()))

        def next_step(text: str) -> None:
            if text == DRAWING_STEP:
                clock.end_phase("winner")
            step(text)

        outputs = write_outputs(
            results, how.out, journal, workers, next_step, refit=asked.refit, ends_at=clock.ends_at, clock=clock.now
        )
        clock.end_phase("report")
        large = None
        if data.sampled is not None and asked.refit and outputs.model is not None:
            large = open_large(Path(asked.data), data.sampled)
        if large is not None and outputs.model is not None:
            step("fitting the winner to all rows, in chunks")
            try:
                model, fitted = fit_to_all_rows(load_model(outputs.model), large)
                save_model(model, outputs.model)
            except BadInput as error:
                fitted = f"{error}. The model is the one of the sample"
            clock.end_phase("all rows")
    results_table.show_results(console, outputs.results)
    if large is not None:
        print_note(fitted)
    for line in [*_closing_lines(outputs), *([f"time      {clock}"] if clock.budget is not None else [])]:
        console.print(line, markup=False, soft_wrap=True)
    if how.as_json:
        print(printable_json(outputs.table.read_text(encoding="utf-8")), end="")
    return SOME_FAILED if any(not outcome.cut for outcome in results.failed) else 0


def _check_place(device: str | None, cluster: str | None) -> None:
    """Refuse a device that is not there, or that the workers of a cluster would have to have."""
    if device is None:
        return
    if cluster is not None:
        raise BadInput("give --device or --cluster, not both: the workers of a cluster fit on their CPUs")
    try:
        check_device(device)
    except ValueError as error:
        raise BadInput(f"--device: {error}; leave --device out to run on the CPU") from None


def _with_costs(plan: Plan, workers: WorkerPool, clock: BudgetClock) -> Plan:
    """The plan with the measured costs of its learners, and within the budget, if there is one."""
    single, budget = sum(not learner.members for learner in plan.learners), clock.budget
    ends_at = clock.now() + TIMING_SHARE * budget if budget is not None else math.inf
    with progress_bar(single, title="timing the learners on few rows") as tick:
        measured = measure_costs(plan, workers, tick, ends_at=ends_at, clock=clock.now)
    clock.end_phase("timing")
    return fit_to_budget(
        plan,
        measured.costs,
        budget,
        workers.jobs,
        spent=clock.elapsed,
        closing=closing_seconds(workers.start_seconds, budget or math.inf),
        untimed=measured.untimed,
    )


def _open_journal(how: RunOptions) -> Journal | None:
    """The journal to resume; None for a new study, whose folder is made ready."""
    if how.resume and how.overwrite:
        raise BadInput("give --resume to continue a study, or --overwrite to start again, not both")
    if how.dry_run and not how.resume:
        return None
    try:
        how.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"--out {how.out}: no folder can be created there ({error.strerror})") from None
    try:
        journal = Journal.open(how.out / JOURNAL_FILE)
    except UnreadableJournal:
        if not how.overwrite:
            raise
        print_note(f"the old journal is kept as {set_aside(how.out / JOURNAL_FILE)}")
        journal = None
    if journal is not None:
        for note in journal.notes:
            print_note(note)
    if how.resume:
        return journal
    if journal is not None:
        journal.close()
    if not how.overwrite and (journal is not None or (how.out / "results.json").exists()):
        raise BadInput(
            f"{how.out} holds a study already; continue it with --resume, start again with --overwrite, or name "
            "another folder with --out"
        )
    for name in OUTPUT_FILES:
        (how.out / name).unlink(missing_ok=True)
    return None


def _resumed_options(asked: StudyOptions, given: frozenset[str], journal: Journal) -> StudyOptions:
    """The options that the study began with; refused if other options are given now."""
    then = StudyOptions.from_journal(journal)
    pairs = {name: (getattr(asked, name), getattr(then, name)) for name in given - {"data"}}
    changed = {name.replace("_", "-"): pair for name, pair in pairs.items() if pair[0] != pair[1]}
    if changed:
        raise resume_error(sorted(f"--{name} {now} (then {before})" for name, (now, before) in changed.items()))
    # a file may have moved; its contents are compared
    return replace(then, data=asked.data) if "data" in given else then


def _make_plan(asked: StudyOptions, data: Data) -> Plan:
    return make_plan(
        data,
        asked.methods,
        score=asked.metric,
        seed=asked.seed,
        folds=asked.folds,
        repeats=asked.repeats,
        holdout=asked.holdout,
        margin=asked.margin,
        device=asked.device,
        costs=None if asked.costs is None else read_cost_file(Path(asked.costs), data),
    )


def _show_forecast(console: Console, plan: Plan, jobs: int, *, as_json: bool) -> int:
    """Show the cost of the plan, and do nothing."""
    cost = forecast_cost(plan, jobs)
    console.print()
    console.print(str(cost), markup=False)
    if as_json:
        seconds = {"seconds": cost.seconds, "jobs": jobs, "fold_seconds": dict(cost.fold_seconds)}
        show_json(plan_to_json(plan) | {"forecast": seconds})
    return 0


def _run_folds(plan: Plan, journal: Journal, workers: WorkerPool, clock: BudgetClock) -> None:
    """Run all remaining folds, with a bar; the time is stored even after an interruption."""
    closing = closing_seconds(workers.start_seconds, clock.budget or math.inf)
    ends_at = clock.ends_at - closing - forecast_cost(plan).final_seconds
    remaining, start = len(pending_folds(plan, journal)), time.monotonic()
    total = len(plan.learners) * len(plan.splits)
    try:
        if remaining:
            with progress_bar(total, total - remaining, lines=True) as tick:
                run_pending(plan, journal, workers, tick, ends_at=ends_at, clock=clock.now)
    finally:
        session = {
            "jobs": workers.jobs,
            "seconds": time.monotonic() - start,
            "worker_start_seconds": workers.start_seconds,
            "folds": remaining - len(pending_folds(plan, journal, retry=False)),
        }
        journal.put("sessions", [*(journal.get("sessions") or ()), session])


def _closing_lines(outputs: StudyOutputs) -> list[str]:
    """The paths of the files, and how to use the model."""
    if outputs.model is None:
        return [f"report    {outputs.report}", f"no model  {outputs.reason}"]
    use = shlex.join(["fivefold", "predict", str(outputs.model), "new.csv", "-o", "predictions.csv"])
    return [f"report    {outputs.report}", f"model     {outputs.model}", f"predict   {use}"]


def parse_seconds(text: str) -> float:
    """A time as people write it.

    Examples
    --------
    >>> parse_seconds("90s"), parse_seconds("1.5 min"), parse_seconds("2h")
    (90.0, 90.0, 7200.0)
    """
    found = re.fullmatch(r"([0-9]*\.?[0-9]+) *([a-z]*)", text.strip().lower())
    if found is None or found[2] not in TIME_UNITS or float(found[1]) == 0:
        raise BadInput(f"--budget is a time such as 90s, 5min or 1h; got {text!r}")
    return float(found[1]) * TIME_UNITS[found[2]]


def parse_kinds(pairs: Iterable[str]) -> dict[str, str]:
    """Kinds of columns, from NAME=KIND.

    Examples
    --------
    >>> parse_kinds(["grade=ordinal", "a=b=text"])
    {'grade': 'ordinal', 'a=b': 'text'}
    """
    split = [pair.rpartition("=") for pair in pairs]
    if bad := ["".join(parts) for parts in split if not parts[0]]:
        raise BadInput(f"--column is NAME=KIND, such as --column zip=category; got {bad[0]!r}")
    return {name: kind for name, _, kind in split}
