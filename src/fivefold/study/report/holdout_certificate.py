"""The winner on the rows that were locked away: its scores with intervals, and a certificate of its error rate."""

from __future__ import annotations

from fivefold.study.formatting import decimals_for, format_count, format_number, format_range
from fivefold.study.judging.final_holdout import HoldoutResult
from fivefold.study.judging.holdout_summary import holdout_sentences
from fivefold.study.judging.results import Results
from fivefold.study.report.blocks import (
    Block,
    BulletList,
    Cell,
    CollapsedBlocks,
    Paragraph,
    Section,
    SubHeading,
    TableBlock,
)
from fivefold.theory import Certificate


def holdout_section(results: Results) -> Section:
    """What is known about the winner on new rows."""
    return Section("holdout", "On rows that were locked away", tuple(_holdout_blocks(results)))


def _holdout_blocks(results: Results) -> list[Block]:
    found = results.holdout
    if not len(results.plan.holdout):
        return [
            Paragraph(
                "There is no certificate, because no rows were held out. With --holdout 0.2 a fifth of the rows is "
                "locked away and opened once, to judge the winner."
            )
        ]
    if found is None:
        return [Paragraph("There is no certificate yet: the hold-out has not been opened.")]
    titles = {score.name: score.title for score in results.plan.scores}
    table = TableBlock(
        f"{found.learner} on the hold-out of {format_count(found.rows, 'row')}",
        ("score", "value", "95 % interval", "cross-validation", "majority rule" if found.certificate else "mean"),
        tuple(_score_row(results, found, name, titles.get(name, name)) for name in found.scores),
    )
    said = holdout_sentences(results)
    if found.certificate is None:
        said.append("There is no certificate, because a regression error can be arbitrarily large.")
        return [Paragraph(" ".join(said)), table]
    return [Paragraph(" ".join(said)), table, _other_bounds(found.certificate)]


def _score_row(results: Results, found: HoldoutResult, name: str, title: str) -> tuple[Cell, ...]:
    """A score on the hold-out, its interval, the estimate by cross-validation, and a rule that ignores the columns."""
    value = found.scores[name]
    digits = decimals_for(value)
    interval, baseline = found.intervals.get(name), found.baseline.get(name)
    estimate = next((j.estimates[name].mean for j in results.judged if j.name == found.learner), None)
    return (
        Cell(title),
        Cell(format_number(value, digits), value),
        Cell("" if interval is None else format_range(*interval, digits)),
        Cell("") if estimate is None else Cell(format_number(estimate, digits), estimate),
        Cell("") if baseline is None else Cell(format_number(baseline, digits), baseline),
    )


def _other_bounds(known: Certificate) -> Block:
    """The other bounds, and what they assume, folded."""
    rows = tuple((Cell(name), Cell(f"{value:.2%}", value)) for name, value in known.parts.items())
    bounds = TableBlock(
        f"Upper bounds of the error rate, each with probability {1 - known.delta:.0%}", ("bound", "error below"), rows
    )
    return CollapsedBlocks(
        "Other bounds, and what the certificate assumes",
        (bounds, SubHeading("It assumes that"), BulletList(known.assumptions)),
    )
