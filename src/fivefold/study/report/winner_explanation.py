"""What the winner learned: what it consists of, which columns it uses and how, and whether more rows would help."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fivefold.evaluation.comparison.estimate import corrected_t
from fivefold.evaluation.curves import LossCurve
from fivefold.evaluation.scores import Score
from fivefold.study.formatting import decimals_for, format_number, format_range
from fivefold.study.judging.inspection import (
    MAX_SHUFFLED_COLUMNS,
    ColumnImportance,
    columns_by_prediction,
    learning_curve,
    permutation_importances,
)
from fivefold.study.judging.inspection_time import affordable_inspections
from fivefold.study.judging.results import Results
from fivefold.study.planning.splits import mean_test_train_ratio
from fivefold.study.report import figures
from fivefold.study.report.blocks import Block, BlockColumns, Paragraph, Section, SubHeading
from fivefold.study.report.effect_blocks import effect_blocks
from fivefold.study.report.model_structure import structure_blocks


def explanation_section(results: Results) -> Section:
    """The winner explained; empty if a baseline is best or no learner finished."""
    blocks: list[Block] = []
    if results.judged and not results.judged[0].outcome.learner.baseline:
        affordable = affordable_inspections(results)
        times = affordable.shuffles
        found = permutation_importances(results.plan, results.judged[0], times) if times else ()
        order = [one.column for one in found] or columns_by_prediction(results.plan, results.judged[0])
        blocks = [
            BlockColumns(
                (tuple(_column_blocks(results, found, times)), tuple(_row_blocks(results, affordable.learning_curve)))
            ),
            *structure_blocks(results, intervals=affordable.intervals),
            *effect_blocks(results, order, affordable),
        ]
    return Section("learned", "What the winner learned", tuple(blocks))


def learning_sentence(curve: LossCurve, score: Score, ratio: float) -> str:
    """Whether the last additional rows helped; `ratio` is the number of test rows over that of training rows.

    Examples
    --------
    >>> from fivefold.evaluation.scores import SCORES
    >>> curve = LossCurve("training rows", (70, 100), np.zeros((2, 3)), np.array([[0.5, 0.52, 0.51], [0.4, 0.41, 0.4]]))
    >>> learning_sentence(curve, SCORES["log_loss"], 0.25).partition(" (")[0]
    'From 70 to 100 training rows the log loss improved by 0.107'
    """
    before, after = ([score.loss(value) for value in row] for row in curve.test[-2:])
    gain = corrected_t(np.subtract(before, after).tolist(), ratio)
    digits = decimals_for(float(curve.test[-1].mean()))
    interval = f"(95 % interval {format_range(gain.low, gain.high, digits)})"
    grown = f"From {curve.values[-2]:,} to {curve.values[-1]:,} training rows the {score.title}"
    if gain.low > 0:
        return f"{grown} improved by {format_number(gain.mean, digits)} {interval}: more rows would probably help."
    if gain.high < 0:
        return f"{grown} worsened by {format_number(-gain.mean, digits)} {interval}: more rows alone will not help."
    change = f"{'improved' if gain.mean >= 0 else 'worsened'} by {format_number(abs(gain.mean), digits)}"
    return f"{grown} {change} {interval.replace('interval', 'interval of the gain')}, which may be chance."


def _column_blocks(results: Results, found: Sequence[ColumnImportance], times: int) -> list[Block]:
    plan, best = results.plan, results.judged[0]
    title = SubHeading("Which columns matter?")
    if not found:
        return [title, Paragraph("Not computed: shuffling every column would take too long.")]
    how = "shuffled once" if times == 1 else "shuffled"
    said = (
        f"How much the {results.score.title} of {best.name} worsens on unseen rows when the values of a column are "
        f"{how}. Columns that carry the same information can replace one another, so each of them may look unimportant."
    )
    if len(plan.data.columns) > MAX_SHUFFLED_COLUMNS:
        said += f" The first {MAX_SHUFFLED_COLUMNS} columns were tried."
    return [title, Paragraph(said), figures.importance_figure(found, results.score.title)]


def _row_blocks(results: Results, affordable: bool) -> list[Block]:
    best, title = results.judged[0], SubHeading("Would more rows help?")
    curve = learning_curve(results.plan, best) if affordable else None
    if curve is None:
        why = "small parts of the rows cannot be learned from" if affordable else "the fits would take too long"
        return [title, Paragraph(f"There is no learning curve: {why}.")]
    said = learning_sentence(curve, results.score, mean_test_train_ratio(results.plan.splits))
    return [title, Paragraph(said), figures.learning_figure(curve, best.name, results.score)]
