"""Where the winner is wrong more often than elsewhere, and how far single predictions can be trusted."""

from __future__ import annotations

from fivefold.evaluation.inspection.group_errors import GroupError
from fivefold.study.formatting import decimals_for, format_count, format_number, format_p_value, format_range
from fivefold.study.judging.error_groups import ColumnGroups, error_groups, worst_groups
from fivefold.study.judging.prediction_ranges import PredictionRange, prediction_ranges
from fivefold.study.judging.results import Results
from fivefold.study.report.blocks import Block, Cell, CollapsedBlocks, Paragraph, SubHeading, TableBlock

MAX_WORST_GROUPS = 8  # groups listed as worse than the rest
MAX_GROUPED_COLUMNS = 12  # columns whose groups are listed


def group_blocks(results: Results) -> list[Block]:
    """Errors on unseen rows by class, level and range of values."""
    plan, best = results.plan, results.judged[0]
    found = error_groups(plan, best)
    if not found:
        return []
    target = plan.data.target
    worse = worst_groups(found, target)[:MAX_WORST_GROUPS]
    what = "share of wrong classes" if plan.classes is not None else "mean absolute error"
    blocks: list[Block] = [SubHeading("Is it worse for some rows?")]
    if worse:
        said = (
            f"{best.name} has a significantly larger {what} on these rows than on all others, after Holm's adjustment "
            "for all groups that were looked at. More rows of these kinds, or columns that describe them, may help."
        )
        rows = tuple((Cell(name), *_group_cells(group, results)) for name, group in worse)
        table = TableBlock(
            f"Rows with larger errors: {what} on unseen rows", ("column", *_header()), rows, name="groups"
        )
        blocks += [Paragraph(said), table]
    else:
        blocks.append(
            Paragraph(
                f"No: no level and no range of values has a {what} that is significantly larger than that of the other "
                f"rows, among {format_count(sum(len(one.groups) for one in found), 'group')} of 20 rows or more."
            )
        )
    ordered = sorted(found, key=lambda one: (one.column != target, one.spread))[:MAX_GROUPED_COLUMNS]
    tables = tuple(_column_table(one, what, target, results) for one in ordered)
    rest = f", for {len(tables)} of {len(found)} columns" if len(tables) < len(found) else ""
    by = "level and range of values" if results.plan.classes is None else "class, level and range of values"
    return [*blocks, CollapsedBlocks(f"Errors by {by}{rest}", tables)]


def range_blocks(results: Results) -> list[Block]:
    """Prediction intervals, or sets of classes."""
    plan, best = results.plan, results.judged[0]
    if plan.classes is not None and best.outcome.folds[0].proba is None:
        return []
    found = prediction_ranges(plan, best)
    title = SubHeading("How far can single predictions be trusted?")
    doubt = (
        " Later rows may differ from earlier ones, so for new rows the level may be missed."
        if plan.data.time is not None
        else f" Rows of new {plan.data.group_noun}s may differ more than these."
        if plan.data.groups is not None
        else ""
    )
    if plan.classes is None:
        half = next(one for one in found if one.level == 0.9)
        said = (
            f"Nine of ten true values lie within {_amount(half.quantile, results)} of the prediction. These intervals "
            "(conformal prediction) take their width from the residuals of unseen rows and assume no distribution; "
            f"every row gets the same width.{doubt}"
        )
        rows = tuple(_interval_row(one, results) for one in found)
        ends = ("level", "prediction ±", "width", "covered on unseen rows")
        return [title, Paragraph(said), TableBlock("Prediction intervals", ends, rows, name="intervals")]
    said = (
        "Instead of one class, a set of classes that holds the true one with the given probability (conformal "
        "prediction): small sets mean that the model knows, large ones that it does not. The most probable class is "
        f"always in the set, so a model that hardly errs covers more often than the level says.{doubt}"
    )
    rows = tuple(
        (
            Cell(f"{one.level:.0%}", one.level),
            Cell(f"{1 - one.quantile:.3f}", 1 - one.quantile),
            Cell(f"{one.size:.2f}", one.size),
            Cell(f"{one.single:.0%}", one.single),
            Cell(f"{one.coverage:.1%}", one.coverage),
        )
        for one in found
    )
    header = ("level", "classes with probability from", "mean size", "sets of one class", "covered on unseen rows")
    return [title, Paragraph(said), TableBlock("Prediction sets", header, rows, name="sets")]


def _amount(value: float, results: Results) -> str:
    return format_number(value, decimals_for(float(results.plan.data.y.std())))


def _interval_row(one: PredictionRange, results: Results) -> tuple[Cell, ...]:
    return (
        Cell(f"{one.level:.0%}", one.level),
        Cell(_amount(one.quantile, results), one.quantile),
        Cell(_amount(one.size, results), one.size),
        Cell(f"{one.coverage:.1%}", one.coverage),
    )


def _header() -> tuple[str, ...]:
    return ("group", "rows", "error", "95 % interval", "other rows", "p, Holm")


def _column_table(one: ColumnGroups, what: str, target: str, results: Results) -> TableBlock:
    by = f"{one.column}, the target" if one.column == target else one.column
    return TableBlock(f"{by}: {what}", _header(), tuple(_group_cells(group, results) for group in one.groups))


def _group_cells(group: GroupError, results: Results) -> tuple[Cell, ...]:
    share = results.plan.classes is not None
    digits = decimals_for(group.mean)

    def text(value: float) -> str:
        return f"{value:.1%}" if share else format_number(value, digits)

    interval = (
        f"{text(group.low)}\u00a0to\u00a0{text(group.high)}" if share else format_range(group.low, group.high, digits)
    )
    return (
        Cell(str(group.group)),
        Cell(f"{group.rows:,}", group.rows),
        Cell(text(group.mean), group.mean),
        Cell(interval),
        Cell(text(group.rest), group.rest),
        Cell(format_p_value(group.adjusted_p), group.adjusted_p, "bad" if group.adjusted_p <= 0.05 else ""),
    )
