"""`fivefold study`: plan, run with a progress bar, show, write."""

from __future__ import annotations

import time
from pathlib import Path

from joblib import cpu_count
from rich.console import Console

from fivefold.cli.progress import progress
from fivefold.study import table
from fivefold.study.data import BadInput, load
from fivefold.study.plan import make_plan
from fivefold.study.results import judge, write
from fivefold.study.run import run

SMALL = 20_000  # a table of fewer cells is studied sooner than workers start


def perform(
    source: str,
    target: str | None,
    names: list[str],
    task: str | None,
    score: str | None,
    seed: int,
    jobs: int | None,
    out: Path,
    *,
    as_json: bool,
) -> bool:
    """Study a table, show and write what was found: did any learner finish? Raises BadInput."""
    data = load(source, target, task)
    plan = make_plan(data, names, score=score, seed=seed)
    _make_folder(out)
    console, start = Console(quiet=as_json, highlight=False), time.perf_counter()
    console.print(table.heading(plan))
    workers = jobs or (1 if data.X.height * data.X.width < SMALL else cpu_count())
    with progress(len(plan.learners) * len(plan.splits)) as tick:
        outcomes = run(plan, jobs=workers, tick=tick)
    results = judge(plan, outcomes)
    path = write(results, out)
    table.show(console, results)
    took = time.perf_counter() - start
    console.print(f"{took:.0f} s; all scores and settings: {path}", style="dim", markup=False, soft_wrap=True)
    if as_json:
        print(path.read_text(encoding="utf-8"), end="")
    return bool(results.judged)


def _make_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"--out {out}: no folder can be made there ({error.strerror})") from None
