"""What the winner learned: which columns it uses, and whether more rows would help."""

from __future__ import annotations

from fivefold.study.judging.inspection import (
    MAX_SHUFFLED_COLUMNS,
    affordable_inspections,
    learning_curve,
    permutation_importances,
)
from fivefold.study.judging.results import Results
from fivefold.study.report import figures
from fivefold.study.report.blocks import Block, Paragraph, Section, SubHeading


def explanation_section(results: Results) -> Section:
    """The winner explained; empty if a baseline is best or no learner finished."""
    blocks: list[Block] = []
    if results.judged and not results.judged[0].outcome.learner.baseline:
        for_columns, for_rows = affordable_inspections(results.plan, results.judged[0])
        blocks = [*_column_blocks(results, for_columns), *_row_blocks(results, for_rows)]
    return Section("learned", "What the winner learned", tuple(blocks))


def _column_blocks(results: Results, affordable: bool) -> list[Block]:
    plan, best = results.plan, results.judged[0]
    title = SubHeading("Which columns matter?")
    if not affordable:
        return [title, Paragraph("Not computed: shuffling every column would take too long.")]
    found = permutation_importances(plan, best)
    said = (
        f"How much the {results.score.title} of {best.name} worsens on unseen rows when the values of a column are "
        "shuffled. Columns that carry the same information can replace one another, so each of them may look "
        "unimportant."
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
    return [title, figures.learning_figure(curve, best.name, results.score)]
