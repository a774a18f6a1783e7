"""From names to rows: what there is to measure, measured one by one, written after each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from benchmarks.harness import report
from benchmarks.harness.case import cases, chosen
from benchmarks.harness.measure import IMPORTS, Row, cold_start, guarded, importing, speed
from benchmarks.harness.probe import ROOT
from fivefold.core.registry import methods

Job = tuple[str, str, Callable[[], Row]]  # section, name, measurement


def names(wanted: Iterable[str] = ()) -> list[str]:
    """The names of all rows, or of those that hold one of the words."""
    return chosen((name for _, name, _ in jobs()), wanted)


def jobs(*, quick: bool = False, repeats: int = 5) -> list[Job]:
    """Everything that can be measured, in the order of the page."""
    found: list[Job] = [("speed", case.name, partial(speed, case, quick=quick, repeats=repeats)) for case in cases()]
    found += [("cold start", f"cold start {m.name}", partial(cold_start, m)) for m in methods()]
    found += [("imports", statement, partial(importing, statement)) for statement in IMPORTS]
    return found


def run(wanted: Sequence[str], *, quick: bool, repeats: int, threads: int, out: Path | None) -> int:
    """Measure the rows that hold one of the words, all without any, and write after each.

    A row replaces its elder and leaves the others alone, so a run that is stopped loses nothing and one row can be
    measured again by itself. A run of all that reaches its end drops the rows of benchmarks that are no more.
    """
    limit_threads(threads)
    folder = out or (None if quick else ROOT)
    everything = jobs(quick=quick, repeats=repeats)
    named = [name for _, name, _ in everything]
    known, failed, start = set(chosen(named, wanted)), False, time.perf_counter()
    if not known:
        raise SystemExit(f"no benchmark is called {' or '.join(wanted)}; `python -m benchmarks --list` names them all")
    for section, name, measure in everything:
        if name in known and not (quick and not wanted and section == "cold start"):
            row = guarded(measure)
            failed |= "failed" in row
            print(report.line(section, name, row), flush=True)
            if folder:
                results = {**report.load(folder), "machine": report.machine(threads)}
                report.write(report.ordered(report.merged(results, section, name, row), named), folder)
    if folder and not wanted:
        report.write(report.only(report.load(folder), named), folder)
    print(f"{(time.perf_counter() - start) / 60:.1f} minutes")
    return int(failed)


def limit_threads(threads: int) -> None:
    """The Intel extension does not read the usual environment variables."""
    try:
        from daal4py import daalinit
    except ModuleNotFoundError:
        return
    daalinit(threads)
