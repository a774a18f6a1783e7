"""The error on new rows: the winner on the rows that were locked away, and what the folds certify of every learner."""

from __future__ import annotations

from fivefold.study.formatting import decimals_for, format_count, format_number, format_range
from fivefold.study.judging.final_holdout import HoldoutResult
from fivefold.study.judging.fold_certificates import FoldCertificates, fold_certificate_sentences
from fivefold.study.judging.holdout_summary import holdout_sentences, no_certificate_reason
from fivefold.study.judging.learner_fit import mean_train_score
from fivefold.study.judging.results import LearnerResult, Results
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
    title = "On rows that were locked away" if len(results.plan.holdout) else "The error on new rows"
    return Section("holdout", title, (*_holdout_blocks(results), *_fold_blocks(results)))


def _holdout_blocks(results: Results) -> list[Block]:
    found = results.holdout
    if not len(results.plan.holdout):
        advice = "With --holdout 0.2 a fifth of the rows is locked away and opened once, to judge the winner."
        if results.certificates is None:
            return [Paragraph(f"No rows were held out, and {no_certificate_reason(results)}. {advice}")]
        return [Paragraph(f"No rows were held out; the folds certify their models. {advice}")]
    if found is None:
        return [Paragraph("The hold-out has not been opened yet.")]
    titles = {score.name: score.title for score in results.plan.scores}
    table = TableBlock(
        f"{found.learner} on the hold-out of {format_count(found.rows, 'row')}",
        ("score", "value", "95 % interval", "cross-validation", "majority rule" if found.certificate else "mean"),
        tuple(_score_row(results, found, name, titles.get(name, name)) for name in found.scores),
    )
    said = holdout_sentences(results)
    if found.certificate is None:
        said.append("Nothing certifies a regression, because its error can be arbitrarily large.")
        return [Paragraph(" ".join(said)), table]
    return [Paragraph(" ".join(said)), table, _other_bounds(found.certificate)]


def _fold_blocks(results: Results) -> list[Block]:
    """The certificates of the folds: the winner in words, all learners in a table, assumptions folded."""
    found = results.certificates
    if found is None or not results.judged:
        return []
    said = fold_certificate_sentences(found, results.judged[0].name)
    rows = tuple(_certified_row(found, judged) for judged in results.judged if judged.name in found.learners)
    table = TableBlock(
        f"Share of wrong classes, and what the folds certify of new rows; all hold together with probability "
        f"{1 - found.delta:.0%}",
        ("learner", "on training rows", "by cross-validation", "fold models below", "their vote below"),
        rows,
        name="certificates",
    )
    assumed = CollapsedBlocks(
        "What these certificates speak of, and what they assume",
        (
            BulletList(
                (
                    "They speak of the rule that draws one of the fold models at random for every new row; their vote "
                    "errs at most twice as often. The saved model is fitted on more rows, and is not one of them.",
                    f"The probability that one of them fails, {found.delta:.0%}, is divided among {found.candidates} "
                    "learners, so that the certificate of the winner holds although the same folds chose it.",
                )
            ),
            SubHeading("They assume that"),
            BulletList(found.assumptions),
        ),
    )
    return [SubHeading("Certificates from the folds"), Paragraph(" ".join(said)), table, assumed]


def _certified_row(found: FoldCertificates, judged: LearnerResult) -> tuple[Cell, ...]:
    own, right = found.learners[judged.name], mean_train_score(judged, "accuracy")
    return (
        Cell(judged.name + (" (baseline)" if judged.outcome.learner.baseline else "")),
        Cell("–") if right is None else Cell(f"{1 - right:.2%}", 1 - right),
        Cell(f"{own.risk:.2%}", own.risk),
        *(Cell(f"{value:.2%}" if value < 1 else "no bound", value) for value in (own.bound, own.vote_bound)),
    )


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
