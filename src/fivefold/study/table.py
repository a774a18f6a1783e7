"""A study on the screen: what is studied, the table of learners, and what it says in words."""

from __future__ import annotations

from collections import Counter

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from fivefold.evaluation.scores import Score
from fivefold.study.plan import FOLDS, INNER_FOLDS, REPEATS, Plan
from fivefold.study.results import Judged, Results

WIDE = 110  # from this width on there is room for the chosen settings


def heading(plan: Plan) -> RenderableType:
    """What is studied and how."""
    data, kinds = plan.data, []
    for kind, plural in (("number", "numbers"), ("category", "categories")):
        if count := len(data.of_kind(kind)):
            kinds.append(f"{count} {kind if count == 1 else plural}")
    holes = sum(column.missing for column in data.columns)
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_row("data", f"[bold]{escape(data.name)}[/]: {len(data.y)} rows, {' and '.join(kinds)}{_holes(holes)}")
    grid.add_row("target", f"{escape(data.target)}: {_target(plan)}")
    if names := data.of_kind("category"):
        grid.add_row("categories", escape(", ".join(names[:8]) + (", ..." if len(names) > 8 else "")))
    grid.add_row(
        "plan",
        f"{len(plan.learners)} learners, {REPEATS} x {FOLDS} folds to judge, {INNER_FOLDS} inside to choose settings, "
        f"seed {plan.seed}",
    )
    return Group(grid, *(_note(text) for text in [*data.notes, *plan.warnings]))


def table(results: Results, width: int) -> RenderableType:
    """Learners, best first, then those that failed."""
    first, *others = results.plan.scores
    grid = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    grid.add_column("", width=1)
    grid.add_column("learner", no_wrap=True)
    grid.add_column(first.title, justify="right", no_wrap=True)
    grid.add_column("95 % interval", justify="center", no_wrap=True)
    for score in others:
        grid.add_column(score.title, justify="right", no_wrap=True)
    grid.add_column("p vs best", justify="right", no_wrap=True)
    if width >= WIDE:
        grid.add_column("settings chosen most", overflow="fold")
    for rank, judged in enumerate(results.judged):
        grid.add_row(*_row(results, judged, rank, wide=width >= WIDE))
    failures = [
        Text.assemble(("x ", "red"), (outcome.learner.name, "red"), f" failed. {outcome.failure}")
        for outcome in results.failed
    ]
    return Group(grid, *failures)


def verdict(results: Results) -> RenderableType:
    """What the table says, in words."""
    if not results.judged:
        return Text("Every learner failed; the reasons are above.", style="red")
    best = results.judged[0]
    ties = [judged.name for judged in results.judged[1:] if not judged.worse]
    said = f"[bold]{best.name}[/] is best"
    said += f"; [bold]≈[/] {_and(ties)} cannot be told from it at the 5 % level." if ties else ", significantly."
    dummies = [judged for judged in results.judged if judged.outcome.learner.baseline]
    if best in dummies:
        said += " It is a baseline: no method has learned anything from this table."
    elif unbeaten := [judged.name for judged in dummies if not judged.worse]:
        said += f" The baseline {_and(unbeaten)} is not significantly worse: doubt that anything was learned."
    return Text.from_markup(said)


def show(console: Console, results: Results) -> None:
    """The table and its reading."""
    console.print()
    console.print(table(results, console.width))
    console.print()
    console.print(verdict(results))


def _row(results: Results, judged: Judged, rank: int, *, wide: bool) -> list[RenderableType]:
    first, *others = results.plan.scores
    estimate, baseline = judged.estimates[first.name], judged.outcome.learner.baseline
    digits = _digits(results, first)
    style = "dim" if baseline else "bold green" if rank == 0 else ""
    mark = "★" if rank == 0 else "" if judged.worse else "≈"
    p = "best" if rank == 0 else "< 0.001" if judged.versus_best.p_value < 0.001 else f"{judged.versus_best.p_value:.3f}"
    cells = [
        mark,
        judged.name + (" (baseline)" if baseline else ""),
        f"{estimate.mean:.{digits}f}",
        f"{estimate.low:.{digits}f} – {estimate.high:.{digits}f}",
        *(f"{judged.estimates[score.name].mean:.{_digits(results, score)}f}" for score in others),
        p,
    ]
    if wide:
        chosen = Counter(tuple(sorted(fold.parameters.items())) for fold in judged.outcome.folds).most_common(1)[0][0]
        cells.append(", ".join(f"{name}={value}" for name, value in chosen))
    return [Text(cell, style=style) for cell in cells]


def _digits(results: Results, score: Score) -> int:
    """Decimals that show three significant digits of the best mean, between 0 and 3."""
    size = abs(results.judged[0].estimates[score.name].mean)
    return 3 if size < 1 else max(0, 2 - int(np.floor(np.log10(size))))


def _target(plan: Plan) -> str:
    data = plan.data
    if data.task == "classification":
        classes, counts = np.unique(data.y, return_counts=True)
        shown = ", ".join(f"{escape(str(c))} ({n})" for c, n in zip(classes[:6], counts[:6], strict=True))
        return f"classification, {len(classes)} classes: {shown}{', ...' if len(classes) > 6 else ''}"
    return f"regression, from {data.y.min():g} to {data.y.max():g}"


def _holes(count: int) -> str:
    return f", {count} missing values" if count > 1 else ", 1 missing value" if count else ""


def _note(text: str) -> Text:
    return Text.assemble(("! ", "yellow"), text)


def _and(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
