"""Results as lines on the screen, as results.json, and as the page docs/benchmarks.md."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Container, Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.harness.case import OURS
from benchmarks.harness.measure import COLD, WARM_CACHE, Row
from benchmarks.harness.race import LIMIT, SLOW

PACKAGES = ("fivefold", "numpy", "scipy", "scikit-learn", "scikit-learn-intelex", "numba")
SECTIONS = ("speed", "cold start", "imports")
RESULTS = Path("benchmarks") / "results.json"

INTRO = """# Benchmarks

This page is written by `make bench`; do not edit it. `python -m benchmarks NAME` measures the rows whose name
holds NAME and keeps the others.

Measured {date} with {threads} threads on {cores} cores ({memory} GiB):
{versions}.

Rivals and fivefold run in turn in one process, through the public methods, warm, with equal threads. A time is the
median of the repetitions; a call of more than {slow:g} s is timed once. Before a time counts, both must have done the
same work: the objective, recomputed from the learned parameters, or the learned attributes or predictions are
compared, and a row without agreement has no figures. *Ratio* is the time of the fastest rival over ours; *bar* is the
ratio to reach (beside a slower rival where one is named, and then the fastest is to be beaten), and *second size* the
ratio at a number of rows that no bar names. A repetition during which other processes took more than {limit} of a
core is done again; where that did not help, at any size, the row is marked ~ and its bar does not count as met.
"""

MEMORY = """## Memory and growth

*Memory* is what the call needs at its peak beyond the data (resident size of a fresh process), in MB and as a multiple
of the data; *most* is what it may need, where there is a bar. *Exponent* is that of time against the number of rows,
from the full size and two smaller ones; a method that runs until it settles may need more or fewer steps on more
rows, and its exponent holds that too.
"""

COLD_START = f"""## Cold start

By how many seconds the first fit of a fresh process exceeds a warm one on a small table: *cold* with no compiled code
on disk (bar {COLD} s), *kept code* with it (bar {WARM_CACHE} s). *Use* is the same for the first predict or transform.
"""


def load(folder: Path) -> dict[str, Any]:
    """Results of earlier runs, or none."""
    path = folder / RESULTS
    return json.loads(path.read_text()) if path.exists() else {}


def merged(results: Mapping[str, Any], section: str, name: str, row: Row) -> dict[str, Any]:
    """Results with one row more, or replaced."""
    return {**results, section: {**results.get(section, {}), name: row}}


def ordered(results: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Results with the rows of each section in the order of `names`; rows of other names come last."""
    place = {name: i for i, name in enumerate(names)}
    return {
        key: dict(sorted(value.items(), key=lambda row: place.get(row[0], len(place)))) if key in SECTIONS else value
        for key, value in results.items()
    }


def only(results: Mapping[str, Any], names: Container[str]) -> dict[str, Any]:
    """Results without the rows of other names: benchmarks that are no more."""
    return {
        key: {name: row for name, row in value.items() if name in names} if key in SECTIONS else value
        for key, value in results.items()
    }


def machine(threads: int) -> dict[str, Any]:
    """What the figures depend on."""
    return {
        "versions": {"python": platform.python_version()} | {p: v for p in PACKAGES if (v := _version(p))},
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "threads": threads,
        "memory GiB": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
    }


def write(results: Mapping[str, Any], folder: Path) -> None:
    """results.json and the page made from it."""
    for path, text in (
        (folder / RESULTS, json.dumps(_rounded(results), indent=1) + "\n"),
        (folder / "docs" / "benchmarks.md", page(_rounded(results))),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(".new")
        new.write_text(text)
        new.replace(path)  # whole or not at all, whenever the run is stopped


def line(section: str, name: str, row: Row) -> str:
    """One row for the screen."""
    if "failed" in row:
        return f"{name:36} FAILED  {row['failed']}"
    return f"{name:36} " + {"speed": _speed_line, "cold start": _cold_line, "imports": _import_line}[section](row)


def page(results: Mapping[str, Any]) -> str:
    """The page of documentation."""
    about = results["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    intro = INTRO.format(
        date=" to ".join(_dates(results)),
        threads=about["threads"],
        cores=about["cores"],
        memory=about["memory GiB"],
        versions=versions,
        limit=f"{LIMIT:.0%}",
        slow=SLOW,
    )
    sections = [_summary, _speed_table, _memory_table, _cold_table, _import_table]
    return "\n".join([intro, *(text for section in sections if (text := section(results)))])


def _summary(results: Mapping[str, Any]) -> str:
    judged = [(name, row) for s in SECTIONS for name, row in results.get(s, {}).items() if row.get("met") is not None]
    missed = [name for name, row in judged if not row["met"]]
    failed = [(name, row["failed"]) for s in SECTIONS for name, row in results.get(s, {}).items() if "failed" in row]
    text = f"{len(judged) - len(missed)} of {len(judged)} bars are met."
    if missed:
        text += f" Not met: {', '.join(missed)}."
    bars = {name: row["memory"]["met"] for name, row in _measured(results, "speed") if "met" in row["memory"]}
    if bars:
        text += f" Of memory {sum(bars.values())} of {len(bars)} are met."
    if above := [name for name, met in bars.items() if not met]:
        text += f" Not met: {', '.join(above)}."
    for name, why in failed:
        text += f"\n\n**{name} failed:** {why}"
    return text + "\n"


def _speed_table(results: Mapping[str, Any]) -> str:
    rows = list(_measured(results, "speed"))
    body = [
        (
            name + ("~" if row["noisy"] else ""),
            row["size"],
            _time(row["seconds"][OURS]),
            f"{_time(row['seconds'][row['rival']])} ({row['rival']})",
            f"{row['ratio']:.3g}x",
            _again(row),
            f"{row['bar']:g}x" + (f" {other} ({row['ratios'][other]:.3g}x)" if (other := row.get("beside")) else ""),
            _met(row["met"]),
            row["agreed"],
        )
        for name, row in rows
    ]
    head = ("benchmark", "data", "fivefold", "fastest rival", "ratio", "second size", "bar", "met", "agreement")
    left_out = [
        f"{other} is left out of {name}, where it does other work: {why}.\n"
        for name, row in rows
        for other, why in row["left out"].items()
    ]
    once = [f"{', '.join(_once(row))} is timed once in {name}.\n" for name, row in rows if _once(row)]
    return "\n".join([_table("## Speed\n", head, body), *left_out, *once])


def _again(row: Row) -> str:
    """The ratio at the second size; rows measured before there was one have none."""
    return f"{row['second size']['ratio']:.3g}x at {row['second size']['rows']:,}" if "second size" in row else ""


def _once(row: Row) -> list[str]:
    """The contestants too slow for a second call."""
    return [name for name, repeats in row["repeats"].items() if repeats == 1]


def _memory_table(results: Mapping[str, Any]) -> str:
    def needed(row: Row, name: str) -> str:
        megabytes = row["memory"]["MB"][name]
        return f"{megabytes:.0f} ({megabytes / row['memory']['data MB']:.1f}x)"

    body = [
        (
            name,
            f"{row['memory']['data MB']:.0f}",
            needed(row, OURS),
            needed(row, row["rival"]),
            f"{row['exponent'][OURS]:.2f}",
            f"{row['exponent'][row['rival']]:.2f}",
            row["rival"],
            f"{row['memory']['most MB']:.0f}" if "most MB" in row["memory"] else "",
            _met(row["memory"].get("met")),
        )
        for name, row in _measured(results, "speed")
    ]
    head = ("benchmark", "data, MB", "memory", "rival's", "exponent", "rival's", "rival", "most, MB", "met")
    return _table(MEMORY, head, body)


def _cold_table(results: Mapping[str, Any]) -> str:
    body = [
        (
            name.removeprefix("cold start "),
            f"{row['cold']:.2f}",
            f"{row['warm cache']:.2f}",
            _met(row["met"]),
            _time(row["warm"]),
            f"{row['cold use']:.2f}",
            f"{row['warm cache use']:.2f}",
        )
        for name, row in _measured(results, "cold start")
    ]
    return _table(COLD_START, ("method", "cold, s", "kept code, s", "met", "warm fit", "use, cold", "use, kept"), body)


def _import_table(results: Mapping[str, Any]) -> str:
    body = [
        (
            f"`{name}`",
            _time(row["seconds"]),
            "" if row["bar"] is None else _time(row["bar"]),
            _met(row.get("met")),
            ", ".join(row["loaded"]),
        )
        for name, row in _measured(results, "imports")
    ]
    return _table("## Imports, in a fresh process\n", ("statement", "time", "bar", "met", "loads"), body)


def _speed_line(row: Row) -> str:
    others = ", ".join(f"{name} {_time(t)}" for name, t in row["seconds"].items() if name != OURS)
    memory, grows = row["memory"]["MB"], row["exponent"]
    verdict = {None: "", True: "met", False: "NOT MET"}[row["met"]]
    return (
        f"ours {_time(row['seconds'][OURS]):>8}  {others}  ratio {row['ratio']:.2f} (bar {row['bar']:g}) {verdict}  "
        f"second size {_again(row)}  "
        f"memory {memory[OURS]:.0f} MB, rival {memory[row['rival']]:.0f}{_most(row['memory'])}  n^{grows[OURS]:.2f}, "
        f"rival n^{grows[row['rival']]:.2f}  {row['agreed']}"
        + (f"  ~noisy: {row['foreign load']:.1f} foreign cores" if row["noisy"] else "")
        + "".join(f"  {name} left out: {why}" for name, why in row["left out"].items())
        + "".join(f"  {name} timed once" for name in _once(row))
    )


def _most(memory: Mapping[str, Any]) -> str:
    return f" (most {memory['most MB']:.0f}) {'met' if memory['met'] else 'NOT MET'}" if "met" in memory else ""


def _cold_line(row: Row) -> str:
    verdict = "met" if row["met"] else "NOT MET"
    return (
        f"cold +{row['cold']:.2f} s (bar {COLD})  kept code +{row['warm cache']:.2f} s (bar {WARM_CACHE}) {verdict}  "
        f"warm fit {_time(row['warm'])}  first use +{row['cold use']:.2f} s, kept +{row['warm cache use']:.2f} s"
    )


def _import_line(row: Row) -> str:
    verdict = {None: "", True: "met", False: "NOT MET"}[row.get("met")]
    return f"{_time(row['seconds'])} {verdict}  loads {', '.join(row['loaded']) or 'nothing heavy'}"


def _dates(results: Mapping[str, Any]) -> list[str]:
    """The first and the last day of the rows, one of them if they are the same."""
    days = sorted(row["date"] for section in SECTIONS for row in results.get(section, {}).values())
    return sorted({days[0], days[-1]}) if days else []


def _measured(results: Mapping[str, Any], section: str) -> Iterable[tuple[str, Row]]:
    return ((name, row) for name, row in results.get(section, {}).items() if "failed" not in row)


def _table(title: str, head: tuple[str, ...], body: list[tuple[str, ...]]) -> str:
    if not body:
        return ""
    rows = [head, ("---",) * len(head), *body]
    return "\n".join([title, *("| " + " | ".join(row) + " |" for row in rows), ""])


def _met(met: bool | None) -> str:
    return {None: "", True: "yes", False: "**no**"}[met]


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def _rounded(value: Any) -> Any:
    """Four digits are all a timing has."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    return {key: _rounded(v) for key, v in value.items()} if isinstance(value, Mapping) else value


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
