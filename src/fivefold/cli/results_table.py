"""A study on the screen: what is studied, the table of learners, and what it means in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Literal

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from fivefold.decision.cost_matrix import CostMatrix
from fivefold.evaluation.comparison.estimate import Estimate
from fivefold.evaluation.scores import Score
from fivefold.study.formatting import (
    KIND_NOUNS,
    decimals_for,
    first_names,
    format_bytes,
    format_count,
    format_number,
    format_p_value,
    format_seconds,
    join_names,
    name_class,
    shorten_name,
)
from fivefold.study.judging.cost_summary import cost_sentences
from fivefold.study.judging.fold_certificates import fold_certificate_sentences
from fivefold.study.judging.holdout_summary import holdout_sentences, no_certificate_reason
from fivefold.study.judging.results import INNER_SELECTION_LABEL, LearnerResult, Results, ranking_sentences
from fivefold.study.judging.time_order import time_order_sentences
from fivefold.study.judging.tuning_summary import chosen_settings, describe_members, range_notes, was_tuned
from fivefold.study.planning.plan import Plan
from fivefold.study.sequences.step_order import describe_lengths
from fivefold.study.tables.dataset import Data

TABLE_LEGENDS = (
    "★ best   ≈ practically equal   ? undecided   no mark: worse",
    "p: of the hypothesis that a learner is worse by no more than the margin",
    f"{INNER_SELECTION_LABEL}: what to expect from taking the winner of a study",
)
SETTINGS_TITLE = "settings chosen most"
MIN_COLUMNS = 5  # always shown: mark, learner, score, interval, p
NAME_COLUMN = 1  # of the table
MAX_NAME_LETTERS = 32  # of a learner's name; no method of the registry has more, with "(baseline)"
MIN_NAME_LETTERS = 8  # on the narrowest screen
MIN_SETTING_LETTERS = 16  # settings with less room than this are left out


@dataclass(frozen=True)
class _ScreenColumn:
    """A column of the table, one cell per learner."""

    title: str
    cells: tuple[str, ...]
    justify: Literal["left", "center", "right"] = "right"

    @property
    def width(self) -> int:
        return max(map(len, (self.title, *self.cells))) + 2

    def cut(self, most: int) -> _ScreenColumn:
        """The column with cells of at most `most` characters."""
        return replace(self, cells=tuple(shorten_name(cell, most) for cell in self.cells))


def study_heading(plan: Plan) -> RenderableType:
    """What is studied and how."""
    data = plan.data
    missing = sum(column.missing for column in data.columns)
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_row("data", Text.assemble((data.name, "bold"), f", {len(data.y)} rows{_missing_note(missing)}"))
    grid.add_row("target", Text(_describe_target(data)))
    for kind in dict.fromkeys(column.kind for column in data.columns):
        named = [f"{c.name} ({c.distinct})" if kind == "category" else c.name for c in data.columns if c.kind == kind]
        grid.add_row(KIND_NOUNS[kind][1], Text(first_names(named)))
    grid.add_row("learners", Text(", ".join(learner.name for learner in plan.learners)))
    for label, line in zip_longest(["plan"], _describe_plan(plan), fillvalue=""):
        grid.add_row(label, Text(line))
    if (costs := plan.cost_matrix) is not None:
        grid.add_row("costs", Text(_describe_costs(costs)))
    if len(plan.holdout):
        grid.add_row("hold-out", f"{len(plan.holdout)} rows, locked until the winner is fitted")
    if plan.options.device is not None:
        grid.add_row("device", Text(_describe_device(plan, plan.options.device)))
    if plan.cuts:
        grid.add_row("budget", Text("; ".join(plan.cuts)))
    skipped = [f"{name} is left out: {reason}" for name, reason in plan.skipped.items()]
    return Group(grid, *(_warning_line(text) for text in [*data.notes, *data.warnings, *plan.warnings, *skipped]))


def learner_table(results: Results, width: int) -> RenderableType:
    """Learners, best first, with the columns there is room for; then those that failed."""
    failures = Table.grid(padding=(0, 2, 0, 0))
    for outcome in results.failed:
        how = "was left out" if outcome.cut else "was stopped" if outcome.late else "failed"
        failures.add_row(Text("x", "red"), Text.assemble((outcome.learner.name, "red"), f" {how}: {outcome.failure}"))
    if not results.judged:
        return failures
    columns = _fitting_columns(_all_columns(results), width)
    grid = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for column in columns:
        grid.add_column(column.title, justify=column.justify, no_wrap=True)
    styles = _row_styles(results)
    for i, row in enumerate(zip(*(column.cells for column in columns), strict=True)):
        grid.add_row(*row, style=styles[i])
    return Group(grid, *([failures] if results.failed else []))


def verdict(results: Results) -> RenderableType:
    """What the table means, in words."""
    if not results.judged:
        return Text("Every learner failed; the reasons are above.", style="red")
    said = [*ranking_sentences(results), *cost_sentences(results)]
    return Text.assemble("Best: ", (results.judged[0].name, "bold"), ". ", " ".join(said))


def certificate_text(results: Results) -> RenderableType:
    """What the hold-out says about the winner, a line per sentence, and its score in order of time."""
    found = results.holdout
    if found is None:
        said = _without_holdout(results) if not len(results.plan.holdout) else []
    else:
        first, *others = holdout_sentences(results)
        said = [f"Certificate: {first}" if found.certificate else first, *others]
    return Text("\n".join([*said, *time_order_sentences(results.time_order)]))


def _without_holdout(results: Results) -> list[str]:
    """The certificate of the folds, or why there is none."""
    if not results.judged:
        return []
    first, *others = fold_certificate_sentences(results.certificates, results.judged[0].name) or [""]
    if first:
        return [f"Certificate: {first}", *others]
    return [f"No rows were held out, and {no_certificate_reason(results)}."]


def show_results(console: Console, results: Results) -> None:
    """The table and what it means."""
    console.print()
    console.print(learner_table(results, console.width))
    for legend in TABLE_LEGENDS if results.inside is not None else TABLE_LEGENDS[:-1]:
        console.print(Text(legend, style="dim"))
    may_be_best = [judged for judged in results.judged if not judged.worse]  # the report has the warnings of others
    for judged in may_be_best:
        for warning in judged.outcome.warnings[:1]:
            console.print(_warning_line(f"{judged.name}: {warning.removeprefix(f'{judged.name}: ')}"))
    for judged in may_be_best:
        for note in range_notes(judged.outcome, only_at_edge=True):
            console.print(_warning_line(f"{judged.name}: {note}"))
    for text in results.strikes:
        console.print(_warning_line(text))
    console.print()
    console.print(verdict(results))
    console.print(certificate_text(results))


def _all_columns(results: Results) -> list[_ScreenColumn]:
    """All columns; those at the end are left out first if the screen is narrow."""
    first, *others = results.plan.scores
    best, inside = results.judged[0], results.inside
    rows = [judged.estimates for judged in results.judged]
    if inside is not None:
        rows.insert(1, inside.estimates)

    def filled(cells: list[str], between: str = "") -> tuple[str, ...]:
        """The cells of the learners, with one more below the best, for the learner chosen inside each fold."""
        return tuple(cells if inside is None else [cells[0], between, *cells[1:]])

    names = [judged.name + (" (baseline)" if judged.outcome.learner.baseline else "") for judged in results.judged]
    marks = [judged.mark for judged in results.judged]
    digits = _score_decimals(best, first)
    columns = [
        _ScreenColumn("", filled(marks), "left"),
        _ScreenColumn(
            "learner",
            tuple(INNER_SELECTION_LABEL if i == 1 and inside is not None else n for i, n in enumerate(filled(names))),
            "left",
        ),
        _ScreenColumn(first.title, _mean_cells(rows, first, best)),
        _ScreenColumn("95 % interval", tuple(_format_interval(row[first.name], digits) for row in rows), "center"),
        _ScreenColumn("p", filled(["best", *(format_p_value(judged.p_value) for judged in results.judged[1:])])),
        *(_ScreenColumn(score.title, _mean_cells(rows, score, best)) for score in others),
        _ScreenColumn("fit", filled([format_seconds(judged.fit_seconds) for judged in results.judged])),
        _ScreenColumn("predict", filled([format_seconds(judged.predict_seconds) for judged in results.judged])),
        _ScreenColumn("size", filled([format_bytes(judged.size_bytes) for judged in results.judged])),
    ]
    if any(was_tuned(judged.outcome) for judged in results.judged):
        columns.append(_ScreenColumn(SETTINGS_TITLE, filled([_usual_setting(j) for j in results.judged]), "left"))
    return columns


def _fitting_columns(columns: list[_ScreenColumn], width: int) -> list[_ScreenColumn]:
    """The columns there is room for; names and settings are cut before a column of numbers is left out."""
    columns[NAME_COLUMN] = columns[NAME_COLUMN].cut(MAX_NAME_LETTERS)
    while (excess := sum(column.width for column in columns) - width) > 0 and len(columns) > MIN_COLUMNS:
        last = columns.pop()
        room = last.width - 2 - excess
        if last.title == SETTINGS_TITLE and room >= max(MIN_SETTING_LETTERS, len(last.title)):
            columns.append(last.cut(room))
    if excess > 0:
        names = columns[NAME_COLUMN]
        columns[NAME_COLUMN] = names.cut(max(MIN_NAME_LETTERS, names.width - 2 - excess))
    return columns


def _row_styles(results: Results) -> list[str]:
    styles = ["dim" if judged.outcome.learner.baseline else "" for judged in results.judged]
    styles[0] = styles[0] or "bold green"
    return styles if results.inside is None else [styles[0], "italic", *styles[1:]]


def _mean_cells(rows: list[Mapping[str, Estimate]], score: Score, best: LearnerResult) -> tuple[str, ...]:
    return tuple(format_number(row[score.name].mean, _score_decimals(best, score)) for row in rows)


def _format_interval(estimate: Estimate, digits: int) -> str:
    return f"{format_number(estimate.low, digits)} – {format_number(estimate.high, digits)}"


def _usual_setting(judged: LearnerResult) -> str:
    """The setting that the inner splits chose most often; the members of a blend."""
    outcome = judged.outcome
    return describe_members(outcome) if outcome.learner.members else chosen_settings(outcome.folds)[0][0]


def _score_decimals(best: LearnerResult, score: Score) -> int:
    """Decimals that show three significant digits of the best mean, from 0 to 3."""
    return decimals_for(best.estimates[score.name].mean)


def _describe_plan(plan: Plan) -> list[str]:
    """The folds, and which rows stay together or in order, one line each."""
    data = plan.data
    outer = f"{plan.repeats} x {plan.folds} outer folds" if plan.repeats > 1 else f"{plan.folds} outer folds"
    most = max(len(learner.settings) for learner in plan.learners)
    inner = "an inner fold chooses" if plan.tuning_folds == 1 else f"{plan.tuning_folds} inner folds choose"
    tuned = f"{inner} among up to {most} settings per learner"
    if plan.halving:
        tuned += ", halved over rows"
    lines = [f"{outer}, {tuned if most > 1 else 'defaults only, nothing is tuned'}, seed {plan.seed}"]
    if data.copies:
        equal = f"{format_count(data.copies, 'row')} {'equals' if data.copies == 1 else 'equal'} an earlier one"
        lines.append(f"{equal} in all columns: they share its part of every split")
    if data.sequences is not None:
        said = f"{describe_lengths(data.sequences)}, of {data.sequence_column!r} in order of {data.order_column!r}"
        lines.append(f"{said}: no sequence is in both parts of a split")
    if data.groups is not None and data.group_noun == "group":
        groups = format_count(len(np.unique(data.groups)), "group")
        lines.append(f"{groups} of {data.group_column!r}: the rows of a group are never in both parts of a split")
    if data.time is not None:
        latest = ", the hold-out is the latest part" if len(plan.holdout) else ""
        lines.append(f"in order of {data.time_column!r}: training rows come before test rows{latest}")
    if plan.log_target:
        lines.append(f"{data.target!r} is skewed: its logarithm is tried with the settings that the inner folds choose")
    return lines


def _describe_device(plan: Plan, device: str) -> str:
    """Which learners are fitted on the device."""
    there = [learner.name for learner in plan.learners if learner.takes_tensors]
    return f"{device} for {join_names(there)}; others on the CPU" if there else f"no learner takes tensors for {device}"


def _describe_costs(costs: CostMatrix) -> str:
    """What decides, and the costliest mistake."""
    table = np.asarray(costs.costs)
    true, decided = np.unravel_index(int(table.argmax()), table.shape)
    reject = ""
    if costs.reject is not None:
        prices = sorted({float(price) for price in costs.losses[-1]})
        reject = f"; a rejection costs {' to '.join(f'{price:g}' for price in (prices[0], prices[-1])[: len(prices)])}"
    return (
        "decisions of least expected cost; the costliest mistake is "
        f"{name_class(costs.classes[decided])} for {name_class(costs.classes[true])}, at {table.max():g}{reject}"
    )


def _describe_target(data: Data) -> str:
    if data.task.is_classification:
        classes, counts = np.unique(data.y, return_counts=True)
        shown = [f"{label} ({count})" for label, count in zip(classes, counts, strict=True)]
        return f"{data.target}, {len(classes)} classes: {first_names(shown)}"
    return f"{data.target}, a number from {data.y.min():g} to {data.y.max():g}"


def _missing_note(count: int) -> str:
    return f", {format_count(count, 'missing value')}" if count else ""


def _warning_line(text: str) -> Text:
    return Text.assemble(("! ", "yellow"), text)
