"""Where the best learners are wrong: confusion, calibration, curves, residuals, the rows with the largest errors."""

from __future__ import annotations

import numpy as np

from fivefold.evaluation.protocols import Label
from fivefold.evaluation.thresholds import ChosenThreshold, Costs
from fivefold.study.formatting import decimals_for, format_count, format_number, join_names, name_class
from fivefold.study.judging.results import Results
from fivefold.study.report import figures
from fivefold.study.report.blocks import (
    Block,
    Cell,
    CollapsedBlocks,
    FigureRow,
    Paragraph,
    Section,
    SubHeading,
    TableBlock,
)
from fivefold.study.report.error_blocks import group_blocks, range_blocks
from fivefold.study.report.figures import OutOfFoldPredictions

MAX_LEARNERS_SHOWN = 3  # learners with figures of their own
MAX_MISTAKES_NAMED = 3  # pairs of classes named as confused most often
MAX_ROWS_LISTED = 8  # rows with the largest errors
COST_RATIOS = (Costs(1, 1), Costs(1, 5), Costs(1, 20), Costs(5, 1), Costs(20, 1))


def errors_section(results: Results) -> Section:
    """Errors of the winner and the next best learners on unseen rows; empty if no learner finished."""
    return Section("errors", "Where it is wrong", tuple(_best_learners(results)) if results.judged else ())


def _best_learners(results: Results) -> list[Block]:
    """The winner and the next best learners, on rows that their models had not seen."""
    first, *rest = results.judged
    chosen = [first, *(j for j in rest if not j.outcome.learner.baseline)][:MAX_LEARNERS_SHOWN]
    best = [OutOfFoldPredictions.of(judged, results.plan) for judged in chosen]
    said = (
        f"Predictions of {join_names([one.name for one in best])} for rows that their models were not trained on, from "
        "all folds of the first repeat."
    )
    parts = _regression_blocks(best, results) if results.plan.classes is None else _class_blocks(best, results)
    return [Paragraph(said), *parts, *group_blocks(results), *range_blocks(results)]


def _class_blocks(best: list[OutOfFoldPredictions], results: Results) -> list[Block]:
    classes, winner = results.plan.classes, best[0]
    assert classes is not None
    labels, sizes = np.unique(winner.y, return_counts=True)
    positive = labels[int(np.argmin(sizes))] if len(classes) == len(labels) == 2 else None  # the rarer one
    blocks: list[Block] = [
        SubHeading("Confusion"),
        _common_mistakes(winner),
        *_confusion_blocks(best, len(classes)),
        *_worst_labels(winner, results),
    ]
    if winner.proba is not None:
        blocks += [SubHeading("Calibration"), FigureRow(figures.calibration_figures(best, positive))]
    return [*blocks, SubHeading("ROC, precision and recall"), *_curve_blocks(best, labels, positive)]


def _curve_blocks(best: list[OutOfFoldPredictions], labels: np.ndarray, positive: Label | None) -> list[Block]:
    """Curves of the best learners for two classes, with thresholds by cost; of the winner for several."""
    winner = best[0]
    if len(labels) == 1:
        return [Paragraph(f"Every test row is of class {labels[0]}, so there is no ROC curve.")]
    if positive is None:
        return [FigureRow(figures.class_roc_figures(winner))]
    cuts = [(costs, figures.best_threshold(winner, positive, costs)) for costs in COST_RATIOS]
    return [
        FigureRow(figures.roc_figures(best, positive, cuts[0][1])),
        _threshold_table(winner, positive, cuts),
        Paragraph(
            f"The mark on the curves of {winner.name} is the threshold of equal costs. Thresholds are chosen on the "
            "rows that they are tested on, so their costs are a little optimistic. To use one, compare it with the "
            "probability that fivefold predict writes."
        ),
    ]


def _confusion_blocks(best: list[OutOfFoldPredictions], classes: int) -> list[Block]:
    """Small matrices side by side; if they are large, the winner's, with the others collapsed."""
    made = figures.confusion_figures(best)
    if classes <= figures.MAX_SMALL_MATRIX or not made:
        return [FigureRow(made)] if made else []
    first, *others = made
    return [first, *([CollapsedBlocks("Confusion matrices of the other learners", tuple(others))] if others else [])]


def _regression_blocks(best: list[OutOfFoldPredictions], results: Results) -> list[Block]:
    return [
        SubHeading("Predictions and residuals"),
        FigureRow(figures.regression_figures(best, results.plan.data.target)),
        _worst_numbers(best[0], results),
    ]


def _threshold_table(
    one: OutOfFoldPredictions, positive: Label, cuts: list[tuple[Costs, ChosenThreshold]]
) -> TableBlock:
    n = len(one.y)
    rows = tuple(
        (
            Cell(f"{costs.fn:g}\u00a0:\u00a0{costs.fp:g}"),
            Cell(format_number(cut.threshold, 3), cut.threshold),
            Cell(f"{float(cut.counts.recall):.1%}", float(cut.counts.recall)),
            Cell(f"{float(cut.counts.precision):.1%}", float(cut.counts.precision)),
            Cell(f"{cut.counts.fn:g}", float(cut.counts.fn)),
            Cell(f"{cut.counts.fp:g}", float(cut.counts.fp)),
            Cell(f"{-cut.value / n:.3f}", -cut.value / n),
        )
        for costs, cut in cuts
    )
    header = (
        "cost of a miss : a false alarm",
        "threshold",
        "recall",
        "precision",
        "missed",
        "false alarms",
        "cost per row",
    )
    return TableBlock(
        f"Thresholds for the probability of {name_class(positive)}, by the costs of errors ({one.name})", header, rows
    )


def _common_mistakes(one: OutOfFoldPredictions) -> Block:
    """The pairs of classes that are confused most often."""
    wrong = one.predicted != one.y
    pairs, counts = np.unique(np.array([one.y[wrong], one.predicted[wrong]]).astype(str), axis=1, return_counts=True)
    n = format_count(len(one.y), "row")
    if not len(counts):
        return Paragraph(f"{one.name} gave each of {n} the right class.")
    order = np.argsort(-counts, kind="stable")[:MAX_MISTAKES_NAMED]
    true, predicted = ([name_class(label) for label in row] for row in pairs)
    said = join_names([f"{counts[i]:,} of {true[i]} predicted as {predicted[i]}" for i in order])
    most = "most often " if len(counts) > MAX_MISTAKES_NAMED else ""
    return Paragraph(f"{one.name} gave {counts.sum():,} of {n} the wrong class: {most}{said}.")


def _worst_labels(one: OutOfFoldPredictions, results: Results) -> list[Block]:
    """The rows whose true class was given the least probability."""
    assert one.proba is not None and one.classes is not None
    given = one.proba[np.arange(len(one.y)), np.searchsorted(one.classes, one.y)]
    order = [i for i in np.argsort(given, kind="stable")[:MAX_ROWS_LISTED] if one.predicted[i] != one.y[i]]
    rows = tuple(
        (
            _row_number(results, one.rows[i]),
            Cell(str(one.y[i])),
            Cell(str(one.predicted[i])),
            Cell(format_number(given[i], 4), given[i]),
        )
        for i in order
    )
    if not rows:
        return []
    table = TableBlock(
        f"Largest mistakes of {one.name}", ("row", "true", "predicted", "probability of the true class"), rows
    )
    return [
        CollapsedBlocks(
            "The rows with the largest errors",
            (table, Paragraph("Wrong labels and unusual rows are often among these.")),
        )
    ]


def _worst_numbers(one: OutOfFoldPredictions, results: Results) -> Block:
    error = one.y - one.predicted
    digits = decimals_for(float(np.std(one.y)))
    rows = tuple(
        (
            _row_number(results, one.rows[i]),
            Cell(format_number(one.y[i], digits), float(one.y[i])),
            Cell(format_number(one.predicted[i], digits), float(one.predicted[i])),
            Cell(format_number(error[i], digits), float(error[i])),
        )
        for i in np.argsort(-np.abs(error), kind="stable")[:MAX_ROWS_LISTED]
    )
    table = TableBlock(f"Largest residuals of {one.name}", ("row", "true", "predicted", "residual"), rows)
    return CollapsedBlocks(
        "The rows with the largest errors", (table, Paragraph("Wrong values and unusual rows are often among these."))
    )


def _row_number(results: Results, row: int) -> Cell:
    """The line or number of a row in its source, from 1."""
    known = results.plan.data.rows
    return Cell(str(int(row) + 1 if known is None else int(known[row])))
