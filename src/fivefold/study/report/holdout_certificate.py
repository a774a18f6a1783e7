"""The saved model on the rows that were locked away: its scores, and a certificate of its error rate."""

from __future__ import annotations

from fivefold.study.formatting import decimals_for, format_count, format_number
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
    """What is known about the saved model on new rows."""
    return Section("holdout", "On rows that were locked away", tuple(_holdout_blocks(results)))


def _holdout_blocks(results: Results) -> list[Block]:
    found = results.holdout
    if not len(results.plan.holdout):
        return [
            Paragraph(
                "There is no certificate, because no rows were held out. With --holdout 0.2 a fifth of the rows is "
                "locked away and opened once, to judge the model that is saved."
            )
        ]
    if found is None:
        return [Paragraph("There is no certificate yet: the hold-out has not been opened.")]
    titles = {score.name: score.title for score in results.plan.scores}
    rows = tuple(
        (Cell(titles.get(name, name)), Cell(format_number(v, decimals_for(v)), v)) for name, v in found.scores.items()
    )
    table = TableBlock(
        f"{found.learner} on the hold-out of {format_count(found.rows, 'row')}", ("score", "value"), rows
    )
    if found.certificate is None:
        said = (
            f"The scores of {found.learner} on {format_count(found.rows, 'row')} that no choice was based on. There is "
            "no certificate, because a regression error can be arbitrarily large."
        )
        return [Paragraph(said), table]
    return [*_certificate_blocks(found.learner, found.certificate), table]


def _certificate_blocks(learner: str, known: Certificate) -> list[Block]:
    """The best bound in words; the others, and what they assume, folded."""
    said = (
        f"The saved model, {learner} fitted on all rows outside the hold-out, is wrong on less than "
        f"{known.bound:.2%} of new rows, with probability {1 - known.delta:.0%}. On the {format_count(known.n, 'row')} "
        f"held out it was wrong on {known.risk:.2%}."
    )
    rows = tuple((Cell(name), Cell(f"{value:.2%}", value)) for name, value in known.parts.items())
    bounds = TableBlock(
        f"Upper bounds of the error rate, each with probability {1 - known.delta:.0%}", ("bound", "error below"), rows
    )
    return [
        Paragraph(said),
        CollapsedBlocks(
            "Other bounds, and what the certificate assumes",
            (bounds, SubHeading("It assumes that"), BulletList(known.assumptions)),
        ),
    ]
