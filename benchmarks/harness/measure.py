"""All that is measured of one case, of one method's cold start, and of imports: a plain dictionary each."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.harness.agree import Disagreement
from benchmarks.harness.case import OURS, Absent, Call, Case, Data
from benchmarks.harness.probe import fresh, imported
from benchmarks.harness.race import SLOW, Timing, exponent, race
from fivefold.core.registry import Method

QUICK = 40  # a quick run has this many times fewer rows
SECOND, THIRD = 0.37, 0.15  # shares of the rows at which a case is timed again; no bar is set there
COLD, WARM_CACHE = 2.5, 0.5  # seconds a first fit may take longer than a later one: without and with kept code
TRIES = 3
IMPORTS = {  # the statement, and the seconds it may take
    "import fivefold": 0.1,
    "from fivefold.cluster import KMeans": None,
    "from sklearn.cluster import KMeans": None,
}

Row = dict[str, Any]


def guarded(measure: Callable[..., Row], *arguments: Any, **options: Any) -> Row:
    """A row that says why it failed, in place of an error."""
    try:
        row = measure(*arguments, **options)
    except Disagreement as error:
        row = {"failed": f"no agreement: {error}"}
    except Exception as error:  # one broken method must not hide the figures of the others
        row = {"failed": _tidy(f"{type(error).__name__}: {error}")}
    return {**row, "date": datetime.now(UTC).strftime("%Y-%m-%d")}


def speed(case: Case, *, quick: bool = False, repeats: int = 5) -> Row:
    """Agreement first, then times, growth and memory."""
    rows = max(2000, case.rows // QUICK) if quick else case.rows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # stopping after a set number of steps is meant
        data = case.data(rows)
        calls, left_out, agreed = _agreeing(case, data)
        options = {"repeats": repeats, "retries": 0} if quick else {"repeats": repeats}
        timings = race(calls, **options)
        ratios = {name: timings[name].median / timings[OURS].median for name in calls if name != OURS}
        rival = min(ratios, key=lambda name: ratios[name])
        del calls
        others = _at_other_sizes(case, (OURS, rival), rows, options)
        noisy = any(timing.noisy for found in (timings, *others.values()) for timing in found.values())
        fast = ratios[case.beside or rival] >= case.bar and ratios[rival] >= min(1, case.bar)
        row = {
            "size": " x ".join(f"{n:,}" for n in data.X.shape) + (f", {case.note}" if case.note else ""),
            "seconds": {name: timing.median for name, timing in timings.items()},
            "repeats": {name: timing.repeats for name, timing in timings.items()},
            "rival": rival,
            "ratio": ratios[rival],
            "ratios": ratios,
            "bar": case.bar,
            "beside": case.beside,
            "met": None if quick else fast and not noisy,
            "agreed": agreed,
            "left out": left_out,
            "foreign load": max(timing.foreign for found in (timings, *others.values()) for timing in found.values()),
            "noisy": noisy,
        }
        second = round(SECOND * rows)
        times = {
            name: {rows: timings[name]} | {n: found[name] for n, found in others.items()} for name in (OURS, rival)
        }
        again = {"rows": second, "ratio": times[rival][second].median / times[OURS][second].median}
        grows = {name: exponent({n: timing.median for n, timing in by.items()}) for name, by in times.items()}
        return {**row, "second size": again, "exponent": grows, "memory": _memory(case, rival, rows)}


def cold_start(method: Method) -> Row:
    """A first fit in a fresh process, with no compiled code on disk and then with it, less a warm fit.

    The best of a few tries where the bars are not met at once: other load can only add to a time.
    """
    best: Row = {}
    for _ in range(TRIES):
        row = _cold_start(f"fivefold.{method.chapter}", method.name)
        best = {name: min(seconds, best.get(name, seconds)) for name, seconds in row.items()}
        if met := best["cold"] <= COLD and best["warm cache"] <= WARM_CACHE:
            break
    return {**best, "met": met}


def _cold_start(chapter: str, name: str) -> Row:
    with TemporaryDirectory() as folder:
        place = {"FIVEFOLD_CACHE_DIR": folder}
        nothing, kept = (fresh("cold", chapter, name, environment=place) for _ in range(2))
    return {
        "cold": nothing["fit"] - nothing["warm fit"],
        "warm cache": kept["fit"] - kept["warm fit"],
        "warm": kept["warm fit"],
        "cold use": nothing["use"] - nothing["warm use"],
        "warm cache use": kept["use"] - kept["warm use"],
    }


def importing(statement: str) -> Row:
    """The median of three fresh processes."""
    runs = sorted((imported(statement) for _ in range(3)), key=lambda run: run["seconds"])
    bar = IMPORTS[statement]
    row = {**runs[1], "bar": bar}
    return row if bar is None else {**row, "met": row["seconds"] <= bar and not row["loaded"]}


def _agreeing(case: Case, data: Data) -> tuple[dict[str, Call], dict[str, str], str]:
    """The calls of all that agree with the reference, why others do not take part, and what was compared."""
    calls, results, left_out = dict[str, Call](), dict[str, Any](), dict[str, str]()
    for name, prepare in case.contestants.items():
        try:
            calls[name] = prepare(data)
        except Absent:
            continue
        results[name] = calls[name]()
    reference, *others = (name for name in results if name != OURS)
    agreed = case.agree(data, results[OURS], results[reference])
    for name in others:
        try:
            case.agree(data, results[OURS], results[name])
        except Disagreement as error:  # it does other work than the reference and ours: its time says nothing
            left_out[name] = str(error)
            del calls[name]
    return calls, left_out, agreed


def _at_other_sizes(
    case: Case, names: Iterable[str], full: int, options: Mapping[str, int]
) -> dict[int, dict[str, Timing]]:
    """Times of contestants at two numbers of rows that nothing was tuned for."""
    found = {}
    for rows in (round(THIRD * full), round(SECOND * full)):
        data = case.data(rows)
        calls = {name: case.contestants[name](data) for name in names}
        found[rows] = race(calls, **{**options, "repeats": 3}, slow=SLOW * rows / full)
    return found


def _memory(case: Case, rival: str, rows: int) -> dict[str, Any]:
    """Megabytes each call needs beyond the data, those of the data, and the most that ours may need."""
    names = dict.fromkeys((OURS, rival, *([case.memory] if isinstance(case.memory, str) else [])))
    probes = {name: fresh("memory", case.name, name, rows) for name in names}
    needed = {name: probe["growth"] / 1e6 for name, probe in probes.items()}
    size = probes[OURS]["data"] / 1e6
    return {"MB": needed, "data MB": size, **allowed(case.memory, needed, size)}


def allowed(bar: float | str | None, needed: Mapping[str, float], size: float) -> dict[str, Any]:
    """The bar of memory in megabytes and whether it is met; nothing without a bar."""
    if bar is None:
        return {}
    most = needed[bar] if isinstance(bar, str) else bar * size
    return {"most MB": most, "met": needed[OURS] <= most}


def _tidy(message: str) -> str:
    """One line without paths of this machine."""
    return re.sub(r"\s*\(?(?<![\w.])/[\w./-]+\)?", "", message.partition("\n")[0])[:200]
