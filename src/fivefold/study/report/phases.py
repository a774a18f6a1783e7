"""How the study was done, by phase: task, data, features, models, training, evaluation; how to repeat it; folded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import astuple

import numpy as np

from fivefold.evaluation.scores import MIN_PROBABILITY
from fivefold.study.formatting import KIND_NOUNS, first_names, format_count, join_names
from fivefold.study.judging.results import Results
from fivefold.study.planning.plan import Plan
from fivefold.study.preparation.column_transformer import describe_treatment
from fivefold.study.report import data_figures
from fivefold.study.report.blocks import (
    Block,
    BulletList,
    Cell,
    Code,
    CollapsedBlocks,
    FigureRow,
    Paragraph,
    Section,
    SubHeading,
    TableBlock,
    text_cells,
)
from fivefold.study.report.tuning import budget_blocks, tuning_blocks
from fivefold.study.running.run import LearnerOutcome
from fivefold.study.sequences.neighbour_columns import with_neighbours
from fivefold.study.sequences.step_order import describe_lengths
from fivefold.study.tables.dataset import Data

MAX_COLUMNS_DRAWN = 24  # columns with a figure
MAX_MISSING_COLUMNS = 30  # columns in the map of missing values
MAX_COLUMNS_LISTED = 200  # columns in the table of columns
SCORE_MEANINGS = {
    "cost": "the mean cost of the decisions of least expected cost, by the cost matrix.",
    "log_loss": "the mean of -log p, where p is the probability given to the true class; p below "
    f"{MIN_PROBABILITY:g} counts as {MIN_PROBABILITY:g}.",
    "accuracy": "the share of rows given the right class.",
    "sequence_accuracy": "the share of sequences in which every row is given the right class.",
    "balanced_accuracy": "the share found of each class, averaged over the classes.",
    "f1": "the F1 of each class, the harmonic mean of its precision and recall, averaged over the classes with equal "
    "weight.",
    "auc": "the probability that a row of a class is given a higher probability of it than a row of another class, "
    "averaged over the classes.",
    "rmse": "the square root of the mean squared error, in the unit of the target.",
    "r2": "the share of the variance of the target that is explained.",
    "mae": "the mean absolute error, in the unit of the target.",
    "correlation": "Pearson's correlation of target and prediction.",
}


def task_section(results: Results) -> Section:
    """Phase 1: what is predicted, and by which scores."""
    plan, data, score = results.plan, results.plan.data, results.score
    kind = f"{data.target!r}, " + (
        f"one of {format_count(len(plan.classes), 'class', 'classes')}: {first_names(map(str, plan.classes), 12)}"
        if plan.classes is not None
        else f"a number from {data.y.min():g} to {data.y.max():g}"
    )
    better = "larger" if score.larger_is_better else "smaller"
    others = [other.title for other in plan.scores[1:]]
    said = f"The target is {kind}. Learners are ranked and tuned by {score.title} ({better} is better)"
    said += f"; {join_names(others)} {'is' if len(others) == 1 else 'are'} shown as well." if others else "."
    baselines = [learner.name for learner in plan.learners if learner.baseline]
    blocks: list[Block] = [Paragraph(said), FigureRow((data_figures.target_figure(data, plan.rows),))]
    if baselines:
        blocks.append(
            Paragraph(f"A useful learner must beat the baselines, which use no features: {join_names(baselines)}.")
        )
    return Section("task", "1 · The task", tuple(blocks), folded=True, summary=f"{data.target}, by {score.title}")


def data_section(results: Results) -> Section:
    """Phase 2: the table, how it was read, missing values, distributions."""
    plan, table = results.plan, results.plan.data
    kinds = Counter(column.kind for column in table.columns)
    said = (
        f"{table.name}: {format_count(len(table.y), 'row')} and {format_count(len(table.columns), 'column')} to learn "
        f"from ({', '.join(format_count(n, *KIND_NOUNS[kind]) for kind, n in kinds.items())})."
    )
    if table.sequences is not None:
        said += f" The rows are the steps of {describe_lengths(table.sequences)}."
    if len(plan.holdout):
        said += (
            f" {format_count(len(plan.holdout), 'row')} were locked away as a hold-out before the data were looked at; "
            f"the figures show the other {len(plan.rows):,}."
        )
    blocks: list[Block] = [Paragraph(said)]
    if table.notes:
        blocks += [SubHeading("How it was read"), BulletList(tuple(table.notes))]
    blocks += [SubHeading("Missing values"), *_missing_blocks(table, plan.rows)]
    blocks += [SubHeading("Distributions"), *_distribution_blocks(plan)]
    blocks.append(CollapsedBlocks("Every column and its kind", (_column_table(table),)))
    missing = sum(column.missing for column in table.columns)
    summary = f"{format_count(len(table.y), 'row')}, {format_count(len(table.columns), 'column')}" + (
        f", {format_count(missing, 'missing value')}" if missing else ""
    )
    return Section("data", "2 · The data", tuple(blocks), folded=True, summary=summary)


def features_section(results: Results) -> Section:
    """Phase 3: how columns become features, by the needs of the learners."""
    plan = results.plan
    groups: dict[tuple[str, ...], list[str]] = {}
    for learner in (learner for learner in plan.learners if not learner.members):
        seen = with_neighbours(plan.data) if learner.neighbours else plan.data
        groups.setdefault(tuple(describe_treatment(learner.takes, seen)), []).append(learner.name)
    blocks: list[Block] = [
        Paragraph(
            "Columns are prepared inside every fold from its training rows alone, so nothing leaks from the test rows. "
            "Correct a wrongly guessed kind with --column NAME=KIND."
        )
    ]
    for lines, names in groups.items():
        blocks += [SubHeading(f"For {join_names(names)}"), BulletList(lines)]
    return Section("features", "3 · The features", tuple(blocks), folded=True, summary="prepared inside every fold")


def models_section(results: Results) -> Section:
    """Phase 4: the learners, and the methods left out."""
    plan, places = results.plan, {} if results.plan.options.device is None else results.devices
    rows = [
        (
            Cell(learner.name + (" (baseline)" if learner.baseline else "")),
            Cell(learner.method.card.use),
            Cell("" if learner.members else f"{len(learner.settings)}", len(learner.settings)),
            *([Cell(places.get(learner.name, ""))] if places else []),
        )
        for learner in plan.learners
    ]
    header = ("learner", "when to use it", "settings", *(["fitted on"] if places else []))
    blocks: list[Block] = [TableBlock("Learners compared", header, tuple(rows))]
    if plan.skipped:
        skipped = tuple(text_cells(pair) for pair in plan.skipped.items())
        blocks.append(TableBlock("Left out", ("method", "reason"), skipped))
    summary = format_count(len(plan.learners), "learner") + (f", {len(plan.skipped)} left out" if plan.skipped else "")
    return Section("models", "4 · The models", tuple(blocks), folded=True, summary=summary)


def training_section(results: Results) -> Section:
    """Phase 5: splits, tuning, failures."""
    blocks: list[Block] = [Paragraph(_describe_splits(results.plan))]
    blocks += [*budget_blocks(results.plan), *tuning_blocks(results)]
    blocks += [SubHeading("Failures"), *_failure_blocks(results.failed)]
    raised = [(judged.name, text) for judged in results.judged for text in judged.outcome.warnings]
    if raised:
        rows = tuple(text_cells(pair) for pair in raised)
        blocks.append(
            CollapsedBlocks(
                f"{format_count(len(raised), 'warning')} from learners",
                (TableBlock("Warnings", ("learner", "warning"), rows),),
            )
        )
    summary = format_count(len(results.plan.splits), "split") + (
        f", {format_count(len(results.failed), 'learner')} failed" if results.failed else ""
    )
    return Section("training", "5 · Training", tuple(blocks), folded=True, summary=summary)


def evaluation_section(results: Results) -> Section:
    """Phase 6: how the evidence above was computed."""
    plan = results.plan
    said = (
        "Every score is of rows that the model was neither trained nor tuned on. The number of a learner is the mean "
        f"over {format_count(len(plan.splits), 'split')}; its interval allows for the training rows that splits share."
    )
    if len(plan.holdout):
        said += (
            f" The {format_count(len(plan.holdout), 'row')} of the hold-out played no part in this: they judge the "
            "winner, once."
        )
    meanings = [f"{score.title}: {SCORE_MEANINGS[score.name]}" for score in plan.scores if score.name in SCORE_MEANINGS]
    blocks = (Paragraph(said), SubHeading("The scores"), BulletList(tuple(meanings)))
    return Section("evaluation", "6 · Evaluation", blocks, folded=True, summary="what the scores mean")


def reproduction_section(results: Results) -> Section:
    """How to reproduce the results."""
    rows = tuple(text_cells((name, text)) for name, text in results.environment.items())
    digest = results.plan.data.digest
    known = [
        *rows,
        text_cells(("plan", results.plan.digest[:16])),
        *([text_cells(("data, SHA-256", digest[:16]))] if digest else []),
    ]
    time = sum(float(session.get("seconds", 0.0)) for session in results.sessions)
    same = "The same data, command and versions give the same results, except for times."
    if results.plan.budget is not None:
        same = (
            "The same data, command and versions give similar results: with a budget, the times of fits decide which "
            "learners and settings there is time for. Without one the results are the same."
        )
    blocks: list[Block] = [Paragraph(same)]
    if results.command:
        blocks.append(Code(results.command))
    if time:
        jobs = max(int(session.get("jobs", 1)) for session in results.sessions)
        blocks.append(Paragraph(f"The folds took {time:.0f} s with {format_count(jobs, 'worker')}."))
    blocks.append(TableBlock("Environment", ("what", "version"), tuple(known)))
    return Section("reproduce", "How to reproduce it", tuple(blocks), folded=True, summary="command and versions")


def _describe_splits(plan: Plan) -> str:
    how = (
        "in order of time, each tested on rows later than its training rows"
        if plan.data.time is not None
        else f"with whole {plan.data.group_noun}s on one side of every split"
        if plan.data.groups is not None
        else "with the classes in the same proportions in every fold"
        if plan.data.task.is_classification
        else "drawn at random"
    )
    sizes = [len(split.train) for split in plan.splits]
    said = (
        f"Nested cross-validation: {format_count(plan.folds, 'fold')} x {format_count(plan.repeats, 'repeat')}, "
        f"{how}. Every learner has the same "
        f"{len(plan.splits)} splits, with about {int(np.mean(sizes)):,} training rows each; seed {plan.seed}."
    )
    if plan.data.copies:
        said += (
            f" Copies of rows ({plan.data.copies:,}) share a fold with the row they repeat, and no row held out has a "
            "copy among the rows trained on."
        )
    return said


def _failure_blocks(failed: Iterable[LearnerOutcome]) -> list[Block]:
    rows = tuple(
        (
            Cell(outcome.learner.name, None, "bad"),
            Cell("out of time" if outcome.late else "failed"),
            Cell(outcome.failure or ""),
        )
        for outcome in failed
    )
    return (
        [TableBlock("Learners that did not finish", ("learner", "outcome", "reason"), rows)]
        if rows
        else [Paragraph("No learner failed.")]
    )


def _missing_blocks(table: Data, rows: np.ndarray) -> list[Block]:
    total = sum(column.missing for column in table.columns)
    if not total:
        return [Paragraph("No value is missing.")]
    figure, having = data_figures.missing_figure(table, rows, MAX_MISSING_COLUMNS)
    cut = f"; the {MAX_MISSING_COLUMNS} that lack most values are drawn" if having > MAX_MISSING_COLUMNS else ""
    share = total / (len(table.y) * len(table.columns))
    values = "1 value is" if total == 1 else f"{total:,} values are"
    said = f"{values} missing ({share:.1%}), in {format_count(having, 'column')}{cut}."
    return [Paragraph(said), figure]


def _distribution_blocks(plan: Plan) -> list[Block]:
    drawable = [column for column in plan.data.columns if column.kind not in ("identifier", "text")]
    shown = drawable[:MAX_COLUMNS_DRAWN]
    if not shown:
        return [Paragraph("There is no column to draw.")]
    apart = plan.classes is not None and len(plan.classes) <= data_figures.MAX_CLASSES_APART
    said = (
        "Numeric columns are drawn by class, as shares of the class, in the colours that the classes have above."
        if apart
        else ""
    )
    if len(drawable) > len(shown):
        said += f" The first {len(shown)} of {len(drawable)} columns are drawn."
    figures = FigureRow(data_figures.column_figures(plan.data, plan.rows, shown, plan.classes), small=True)
    return [*([Paragraph(said.strip())] if said else []), figures]


def _column_table(table: Data) -> TableBlock:
    rows = []
    for column in table.columns[:MAX_COLUMNS_LISTED]:
        name, kind, distinct, missing, levels, *_ = astuple(column)
        what = kind + (f": {' < '.join(levels)}" if levels else "")
        rows.append((Cell(name), Cell(what), Cell(f"{distinct:,}", distinct), Cell(f"{missing:,}", missing)))
    rest = len(table.columns) - len(rows)
    caption = "Columns" + (f" (the first {MAX_COLUMNS_LISTED}; {rest:,} more are not listed)" if rest > 0 else "")
    return TableBlock(caption, ("column", "kind", "distinct values", "missing"), tuple(rows))
