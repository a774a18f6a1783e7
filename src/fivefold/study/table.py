"""A study on the screen: what is studied, the table of learners, and what it says in words."""

from __future__ import annotations

from collections import Counter

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from fivefold.evaluation.scores import Score
from fivefold.study.data import Data
from fivefold.study.plan import FOLDS, INNER_FOLDS, REPEATS, Plan
from fivefold.study.results import Judged, Results

LEGEND = "★ best   ≈ not told from it at 5 %   intervals and p: corrected resampled t"
WIDE = 110  # from this width on there is room for the chosen settings


def heading(plan: Plan) -> RenderableType:
    """What is studied and how."""
    data = plan.data
    holes = sum(column.missing for column in data.columns)
    numbers = data.of_kind("number")
    categories = [f"{column.name} ({column.distinct})" for column in data.columns if column.kind == "category"]
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_row("data", Text.assemble((data.name, "bold"), f", {len(data.y)} rows{_holes(holes)}"))
    grid.add_row("target", Text(_target(data)))
    if numbers:
        grid.add_row("numbers", Text(_some(numbers)))
    if categories:
        grid.add_row("categories", Text(_some(categories)))
    grid.add_row("learners", Text(", ".join(learner.name for learner in plan.learners)))
    grid.add_row(
        "plan", f"{REPEATS} x {FOLDS} folds judge, {INNER_FOLDS} folds inside choose the settings, seed {plan.seed}"
    )
    return Group(grid, *(_note(text) for text in [*data.notes, *plan.warnings]))


def table(results: Results, width: int) -> RenderableType:
    """Learners, best first, then those that failed."""
    first, *others = results.plan.shown
    grid = Table(box=None, padding=(0, 1), pad_edge=False, header_style="dim")
    grid.add_column("", width=1)
    grid.add_column("learner", no_wrap=True)
    grid.add_column(first.title, justify="right", no_wrap=True)
    grid.add_column("95 % interval", justify="center", no_wrap=True)
    for score in others:
        grid.add_column(score.title, justify="right", no_wrap=True)
    grid.add_column("p", justify="right", no_wrap=True)
    wide = width >= WIDE and any(len(judged.outcome.learner.settings) > 1 for judged in results.judged)
    if wide:
        grid.add_column("settings chosen most", overflow="fold")
    for rank, judged in enumerate(results.judged):
        grid.add_row(*_row(results, judged, rank, wide=wide))
    failures = Table.grid(padding=(0, 2, 0, 0))
    for outcome in results.failed:
        failures.add_row(Text("x", "red"), Text.assemble((outcome.learner.name, "red"), f" failed: {outcome.failure}"))
    return Group(*([grid] if results.judged else []), *([failures] if results.failed else []))


def verdict(results: Results) -> RenderableType:
    """What the table says, in words."""
    if not results.judged:
        return Text("Every learner failed; the reasons are above.", style="red")
    best, *rest = results.judged
    ties = [judged.name for judged in rest if not judged.worse]
    dummies = [judged for judged in results.judged if judged.outcome.learner.baseline]
    said = Text.assemble("Best: ", (best.name, "bold"), ". ")
    if ties:
        said.append(f"At the 5 % level it cannot be told from {_and(ties)}. ")
    elif rest:
        said.append("It is significantly better than every other. ")
    if best in dummies:
        said.append("It is a baseline: no method learned anything from this table. ")
    elif unbeaten := [judged.name for judged in dummies if not judged.worse]:
        said.append(f"It does not beat the baseline {_and(unbeaten)}: doubt that anything was learned. ")
    return said


def show(console: Console, results: Results) -> None:
    """The table and its reading."""
    console.print()
    console.print(table(results, console.width))
    console.print(Text(LEGEND, style="dim"))
    for judged in results.judged:
        for warning in judged.outcome.warnings[:1]:
            console.print(_note(f"{judged.name}: {warning.removeprefix(f'{judged.name}: ')}"))
    console.print()
    console.print(verdict(results))


def _row(results: Results, judged: Judged, rank: int, *, wide: bool) -> list[RenderableType]:
    first, *others = results.plan.shown
    estimate, baseline = judged.estimates[first.name], judged.outcome.learner.baseline
    digits = _digits(results, first)
    style = "dim" if baseline else "bold green" if rank == 0 else ""
    mark = "★" if rank == 0 else "" if judged.worse else "≈"
    cells = [
        mark,
        judged.name + (" (baseline)" if baseline else ""),
        f"{estimate.mean:.{digits}f}",
        f"{estimate.low:.{digits}f} – {estimate.high:.{digits}f}",
        *(f"{judged.estimates[score.name].mean:.{_digits(results, score)}f}" for score in others),
        "best" if rank == 0 else _p(judged.versus_best.p_value),
    ]
    if wide:
        chosen = Counter(tuple(sorted(fold.parameters.items())) for fold in judged.outcome.folds).most_common(1)[0][0]
        cells.append(", ".join(f"{name}={value}" for name, value in chosen))
    return [Text(cell, style=style) for cell in cells]


def _p(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 else "< 0.001"


def _digits(results: Results, score: Score) -> int:
    """Decimals that show three significant digits of the best mean, between 0 and 3."""
    size = abs(results.judged[0].estimates[score.name].mean)
    return 3 if size < 1 else max(0, 2 - int(np.floor(np.log10(size))))


def _target(data: Data) -> str:
    if data.task == "classification":
        classes, counts = np.unique(data.y, return_counts=True)
        shown = [f"{label} ({count})" for label, count in zip(classes, counts, strict=True)]
        return f"{data.target}, {len(classes)} classes: {_some(shown)}"
    return f"{data.target}, a number from {data.y.min():g} to {data.y.max():g}"


def _holes(count: int) -> str:
    return f", {count} missing values" if count > 1 else ", 1 missing value" if count else ""


def _some(names: list[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _note(text: str) -> Text:
    return Text.assemble(("! ", "yellow"), text)


def _and(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
