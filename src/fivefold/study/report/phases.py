"""The phases of a study, in order: task, data, features, models, training; evaluation has a file of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import astuple

import numpy as np

from fivefold.study.data import Data
from fivefold.study.plan import Plan
from fivefold.study.prepare import treatment
from fivefold.study.report import overview
from fivefold.study.report.blocks import Block, Cell, Figures, Folded, Points, Section, Table, Text, Title, cells
from fivefold.study.report.words import both, count, number, setting, some
from fivefold.study.results import Judged, Results
from fivefold.study.run import Outcome

COLUMNS = 24  # that are drawn
HOLES = 30  # columns of a missing map
LISTED = 200  # columns of a table
KINDS = {
    "number": ("number",),
    "category": ("category", "categories"),
    "ordinal": ("ordinal",),
    "boolean": ("truth value",),
    "date": ("date",),
    "text": ("text",),
    "identifier": ("identifier",),
}
SETTINGS = 40  # settings of a learner that are listed


def task(results: Results) -> Section:
    """Phase 1: what is to be predicted, and by what it is judged."""
    plan, data, score = results.plan, results.plan.data, results.score
    kind = f"{data.target!r}, " + (
        f"one of {count(len(plan.classes), 'class', 'classes')}: {some(map(str, plan.classes), 12)}"
        if plan.classes is not None
        else f"a number from {data.y.min():g} to {data.y.max():g}"
    )
    better = "larger" if score.larger_is_better else "smaller"
    others = [other.title for other in plan.scores[1:]]
    said = f"The target is {kind}. Learners are ranked and tuned by {score.title} ({better} is better)"
    said += f"; {both(others)} are shown beside it." if others else "."
    dummies = [learner.name for learner in plan.learners if learner.baseline]
    blocks: list[Block] = [Text(said), Figures((overview.target(data, plan.rows),))]
    if dummies:
        blocks.append(Text(f"To be worth anything a learner must beat what knows no features: {both(dummies)}."))
    return Section("task", "1 · The task", tuple(blocks))


def data(results: Results) -> Section:
    """Phase 2: the table, how it was read, what is missing, how it is distributed."""
    plan, table = results.plan, results.plan.data
    kinds = Counter(column.kind for column in table.columns)
    said = (
        f"{table.name}: {count(len(table.y), 'row')} and {count(len(table.columns), 'column')} to learn from "
        f"({', '.join(count(n, *KINDS[kind]) for kind, n in kinds.items())})."
    )
    if len(plan.holdout):
        said += (
            f" {count(len(plan.holdout), 'row')} were locked away as a hold-out before anything was looked at; the "
            f"figures show the other {len(plan.rows):,}."
        )
    blocks: list[Block] = [Text(said)]
    if found := [*table.notes, *table.warnings]:
        blocks += [Title("What was noticed"), Points(tuple(found))]
    blocks += [Title("Missing values"), *_holes(table, plan.rows)]
    blocks += [Title("Distributions"), *_distributions(plan)]
    blocks.append(Folded("Every column, as it was guessed", (_columns(table),)))
    return Section("data", "2 · The data", tuple(blocks))


def features(results: Results) -> Section:
    """Phase 3: how columns become features, by what the learners take."""
    plan = results.plan
    groups: dict[tuple[str, ...], list[str]] = {}
    for learner in plan.learners:
        groups.setdefault(tuple(treatment(learner.takes, plan.data)), []).append(learner.name)
    blocks: list[Block] = [
        Text(
            "Columns are made ready inside every fold, by what its training rows say, so nothing leaks from the rows "
            "that judge. A kind that was guessed wrongly is corrected with --column NAME=KIND."
        )
    ]
    for lines, names in groups.items():
        blocks += [Title(f"For {both(names)}"), Points(lines)]
    return Section("features", "3 · The features", tuple(blocks))


def models(results: Results) -> Section:
    """Phase 4: the learners, and what is left out."""
    plan = results.plan
    rows = [
        (
            Cell(learner.name + (" (baseline)" if learner.baseline else "")),
            Cell(learner.method.card.use),
            Cell(f"{len(learner.settings)}", len(learner.settings)),
        )
        for learner in plan.learners
    ]
    blocks: list[Block] = [Table("Learners that were compared", ("learner", "when to use it", "settings"), tuple(rows))]
    if plan.skipped:
        skipped = tuple(cells(pair) for pair in plan.skipped.items())
        blocks.append(Table("Left out", ("method", "why"), skipped))
    return Section("models", "4 · The models", tuple(blocks))


def training(results: Results) -> Section:
    """Phase 5: splits, what was tuned, what failed."""
    blocks: list[Block] = [Text(_splits(results.plan))]
    tuned = [judged for judged in results.judged if len(judged.outcome.learner.settings) > 1]
    if tuned:
        blocks.append(
            Text(
                "Tuning is part of training: in every split each setting is tried on inner splits of the training "
                "rows, and the best is fitted on all of them. A choice that changes from split to split matters little."
            )
        )
        blocks.append(_chosen(tuned))
        blocks += [Folded(f"{judged.name}: every setting tried", (_tried(judged),)) for judged in tuned]
    else:
        blocks.append(Text("Nothing was tuned: every learner has one setting."))
    blocks += [Title("Failures"), *_failures(results.failed)]
    heard = [(judged.name, text) for judged in results.judged for text in judged.outcome.warnings]
    if heard:
        rows = tuple(cells(pair) for pair in heard)
        blocks.append(
            Folded(f"{count(len(heard), 'warning')} of learners", (Table("Warnings", ("learner", "said"), rows),))
        )
    return Section("training", "5 · Training", tuple(blocks))


def _splits(plan: Plan) -> str:
    how = (
        "in order of time, each judged on rows later than those it learned from"
        if plan.data.time is not None
        else "with whole groups on one side of every split"
        if plan.data.groups is not None
        else "with the same share of every class in each"
        if plan.data.task == "classification"
        else "drawn at random"
    )
    sizes = [len(split.train) for split in plan.splits]
    said = (
        f"Nested cross-validation: {count(plan.folds, 'fold')} x {count(plan.repeats, 'repeat')} judge, {how}; "
        f"{plan.inner_folds} inner folds of the training rows choose the setting. Every learner met the same "
        f"{len(plan.splits)} splits, with about {int(np.mean(sizes)):,} rows to learn from; seed {plan.seed}."
    )
    if plan.halving:
        said += " Settings were halved: all are tried on few rows, the better ones on more."
    return said + (f" A budget of {plan.budget:g} s set how much was tried." if plan.budget else "")


def _chosen(tuned: Iterable[Judged]) -> Table:
    """For each learner, the settings that won, by how often."""
    rows = []
    for judged in tuned:
        folds = judged.outcome.folds
        won = Counter(setting(fold.parameters) for fold in folds).most_common()
        often = "; ".join(f"{text} ({n} of {len(folds)})" for text, n in won[:3])
        more = f"; {len(won) - 3} others" if len(won) > 3 else ""
        rows.append((Cell(judged.name), Cell(str(len(judged.outcome.learner.settings))), Cell(often + more)))
    return Table("What was chosen, and in how many splits", ("learner", "tried", "chosen"), tuple(rows))


def _tried(judged: Judged) -> Table:
    """Inner loss of every setting, averaged over the splits, and how often it was chosen."""
    losses: dict[str, list[float]] = {}
    for fold in judged.outcome.folds:
        for parameters, loss in fold.tried:
            losses.setdefault(setting(parameters), []).append(loss)
    won = Counter(setting(fold.parameters) for fold in judged.outcome.folds)
    ordered = sorted(losses.items(), key=lambda item: float(np.mean(item[1])))
    rows = tuple(
        (Cell(text), Cell(number(float(np.mean(found)), 4), float(np.mean(found))), Cell(str(won[text]), won[text]))
        for text, found in ordered[:SETTINGS]
    )
    return Table(f"Settings of {judged.name}", ("setting", "mean inner loss", "chosen in"), rows)


def _failures(failed: Iterable[Outcome]) -> list[Block]:
    rows = tuple(
        (
            Cell(outcome.learner.name, None, "bad"),
            Cell("out of time" if outcome.late else "failed"),
            Cell(outcome.failure or ""),
        )
        for outcome in failed
    )
    return (
        [Table("Learners that did not finish", ("learner", "how", "why"), rows)]
        if rows
        else [Text("No learner failed.")]
    )


def _holes(table: Data, rows: np.ndarray) -> list[Block]:
    total = sum(column.missing for column in table.columns)
    if not total:
        return [Text("No value is missing.")]
    figure, having = overview.holes(table, rows, HOLES)
    cut = f", the {HOLES} with most of them are drawn" if having > HOLES else ""
    share = total / (len(table.y) * len(table.columns))
    said = f"{total:,} values are missing ({share:.1%}), in {count(having, 'column')}{cut}."
    return [Text(said), figure]


def _distributions(plan: Plan) -> list[Block]:
    drawable = [column for column in plan.data.columns if column.kind not in ("identifier", "text")]
    shown = drawable[:COLUMNS]
    if not shown:
        return [Text("There is no column to draw.")]
    apart = plan.classes is not None and len(plan.classes) <= overview.GROUPS
    said = "Numbers by class, in the colours of the figure above, as shares of the class." if apart else ""
    if len(drawable) > len(shown):
        said += f" The first {len(shown)} of {len(drawable)} columns are drawn."
    figures = Figures(overview.columns(plan.data, plan.rows, shown, plan.classes), small=True)
    return [*([Text(said.strip())] if said else []), figures]


def _columns(table: Data) -> Table:
    rows = []
    for column in table.columns[:LISTED]:
        name, kind, distinct, missing, levels, *_ = astuple(column)
        what = kind + (f": {' < '.join(levels)}" if levels else "")
        rows.append((Cell(name), Cell(what), Cell(f"{distinct:,}", distinct), Cell(f"{missing:,}", missing)))
    rest = len(table.columns) - len(rows)
    caption = "Columns" + (f" (the first {LISTED}; {rest:,} more are not listed)" if rest > 0 else "")
    return Table(caption, ("column", "kind", "distinct values", "missing"), tuple(rows))
