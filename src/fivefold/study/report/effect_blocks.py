"""How the saved model uses its columns: partial dependence, and single predictions taken apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fivefold.evaluation.inspection.partial_dependence import PartialDependence
from fivefold.evaluation.protocols import Label
from fivefold.plot.model_effects import contribution_bars, effect
from fivefold.plot.style import shorten
from fivefold.study.formatting import decimals_for, format_number, join_names, name_class
from fivefold.study.judging.column_effects import (
    BACKGROUND_ROWS,
    MAX_EFFECTS,
    ExplainedRow,
    RowExplanations,
    column_effects,
    explain_examples,
)
from fivefold.study.judging.inspection_time import AffordableInspections
from fivefold.study.judging.results import Results
from fivefold.study.report.blocks import Block, Figure, FigureRow, Paragraph, SubHeading
from fivefold.study.report.svg import draw_figure

MAX_EFFECT_CLASSES = 5  # classes with a curve of their own
MAX_BARS = 8  # contributions drawn; the others are added up
MAX_BAR_LETTERS = 30  # of a column and its value


def effect_blocks(results: Results, order: Sequence[str], affordable: AffordableInspections) -> list[Block]:
    """The effects of the first columns in this order, and a few predictions explained; nothing without a model."""
    model, plan = results.winner, results.plan
    if model is None:
        return []
    label = rarer_class(results)
    names = list(order)[:MAX_EFFECTS]
    blocks: list[Block] = []
    if affordable.effects:
        found = column_effects(plan, model, names)
        if found:
            blocks += [
                SubHeading("What do the columns do?"),
                Paragraph(_effect_text(results, label) + ("" if affordable.shuffles else _unranked_text(results))),
                _effects(found, results),
            ]
    if results.judged[0].outcome.learner.sees_sequences:
        blocks.append(
            Paragraph(
                "Single predictions are not taken apart: each depends on the rows before and after it, too. In the "
                "figures above a column has the same value in all rows of a sequence."
            )
        )
    elif affordable.examples:
        explained = explain_examples(plan, model, label)
        figures = tuple(_contribution_figure(row, explained, results, i) for i, row in enumerate(explained.rows))
        blocks += [SubHeading("Single predictions explained"), Paragraph(_row_text(explained)), FigureRow(figures)]
    left_out = [
        words
        for words, done in (
            ("effects of columns", affordable.effects),
            ("single predictions", affordable.examples or results.judged[0].outcome.learner.sees_sequences),
        )
        if not done
    ]
    if left_out:
        blocks.append(Paragraph(f"Not computed, because it would take too long: {join_names(left_out)}."))
    return blocks


def rarer_class(results: Results) -> Label | None:
    """The rarer of two classes; None for a regression or more classes."""
    classes = results.plan.classes
    if classes is None or len(classes) != 2:
        return None
    y = results.plan.data.y[results.plan.rows]
    return classes[int(np.argmin([np.sum(y == label) for label in classes]))]


def _effect_text(results: Results, label: Label | None) -> str:
    classes = results.plan.classes
    what = (
        f"the prediction of {results.plan.data.target}"
        if classes is None
        else f"the probability of {name_class(label)}"
        if label is not None
        else "the probability of each class"
    )
    thin = " A thin line is one row: lines that are not parallel show that columns act together." if (
        classes is None or label is not None
    ) else ""  # fmt: skip
    return (
        f"How {what} changes with a column on average, the others staying as they are (partial dependence).{thin} The "
        "model is asked about combinations that may not occur, so trust the curves where there are rows. They show "
        "what the model does, not what causes what."
    )


def _unranked_text(results: Results) -> str:
    """Which columns are shown, where it is not known which ones matter."""
    columns = len(results.plan.data.columns)
    if columns <= MAX_EFFECTS:
        return ""
    return f" Shown are {MAX_EFFECTS} of {columns} columns, those along whose values the predictions differ most."


def _effects(found: Sequence[PartialDependence], results: Results) -> FigureRow:
    classes, label = results.plan.classes, rarer_class(results)
    shown = () if classes is None else (label,) if label is not None else tuple(classes[:MAX_EFFECT_CLASSES])
    axis = (
        results.plan.data.target
        if classes is None
        else f"probability of {name_class(label)}"
        if label is not None
        else "probability"
    )
    return FigureRow(tuple(_effect_figure(one, shown, axis, i) for i, one in enumerate(found)))


def _effect_figure(found: PartialDependence, shown: tuple[Label, ...], axis: str, index: int) -> Figure:
    mean = found.curves(shown[0] if shown else None).mean(axis=0)
    ends = [_value_text(found.values[i]) for i in (int(mean.argmin()), int(mean.argmax()))]
    return draw_figure(
        f"effect{index}",
        lambda ax: effect(found, outputs=shown, y=shorten(axis, MAX_BAR_LETTERS), ax=ax),
        f"Partial dependence of {axis} on {found.column}: from {mean.min():.3g} at {ends[0]} to {mean.max():.3g} at "
        f"{ends[1]}.",
        f"{found.column}: on average from {mean.min():.3g} at {ends[0]} to {mean.max():.3g} at {ends[1]}.",
        width=3.1,
        height=2.4,
    )


def _value_text(value: object) -> str:
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    return str(value)[:10] if isinstance(value, np.datetime64) else str(value)


def _row_text(found: RowExplanations) -> str:
    scale = {
        "log-odds": "in log-odds: one unit multiplies the odds by 2.7",
        "probability": "in probability",
        "prediction": "in units of the target",
    }[found.scale]
    how = "They are exact" if found.exact else "They are estimated from random orders of the columns"
    return (
        "How far each column moves the prediction of a row away from the mean prediction, so that all of them add up "
        f"to it (Shapley values), {scale}. {how}, against {BACKGROUND_ROWS} rows at most. fivefold predict --explain "
        "writes them for new rows."
    )


def _name_and_value(name: str, value: str) -> str:
    """A column and its value in a row, in the room beside a bar; a long name is cut before its value is."""
    value = shorten(value, MAX_BAR_LETTERS // 2)
    return f"{shorten(name, MAX_BAR_LETTERS - len(value) - len(' = '))} = {value}"


def _contribution_figure(row: ExplainedRow, found: RowExplanations, results: Results, index: int) -> Figure:
    order = sorted(row.values, key=lambda name: -abs(row.values[name]))
    names = [_name_and_value(name, _cell_text(row.cells.get(name))) for name in order[:MAX_BARS]]
    values = [row.values[name] for name in order[:MAX_BARS]]
    if rest := order[MAX_BARS:]:
        names.append(f"{len(rest)} others")
        values.append(sum(row.values[name] for name in rest))
    classes, known = results.plan.classes, results.plan.data.rows
    place = row.row + 1 if known is None else int(known[row.row])
    digits = decimals_for(row.predicted)
    what = (
        f"predicted {format_number(row.predicted, digits)}"
        if classes is None
        else f"probability of {name_class(row.output)}: {row.predicted:.1%}"
    )
    said = "; ".join(f"{name}: {value:+.3g}" for name, value in zip(names, values, strict=True))
    return draw_figure(
        f"contributions{index}",
        lambda ax: contribution_bars(names, values, f"contribution, {found.scale}", ax=ax),
        f"Row {place}, {what}. Contributions, starting from {row.base:.3g}: {said}.",
        f"Row {place} ({row.why}): {what}. The bars start from {row.base:.3g} and add up to "
        f"{row.base + sum(row.values.values()):.3g}.",
        width=3.6,
        height=0.8 + 0.24 * len(names),
    )


def _cell_text(value: object) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return "missing"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
