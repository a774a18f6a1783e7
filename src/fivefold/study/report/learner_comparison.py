"""Which differences between learners are real: the evidence behind the verdicts of the leaderboard."""

from __future__ import annotations

from fivefold.evaluation.comparison.simultaneous import Difference
from fivefold.evaluation.scores import MIN_PROBABILITY
from fivefold.study.formatting import (
    decimals_for,
    format_count,
    format_number,
    format_p_value,
    format_range,
    format_significant,
    join_names,
    significant_decimals,
)
from fivefold.study.judging.results import OUTCOME_WORDS, LearnerResult, Results
from fivefold.study.judging.verdicts import WinnerComparison
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
from fivefold.study.report.learner_figures import difference_blocks


def comparison_section(results: Results) -> Section:
    """The winner against every other learner; empty if no learner finished."""
    blocks = [*_verdict_blocks(results), *difference_blocks(results)] if results.judged else []
    return Section("comparison", "Which differences are real?", tuple(blocks))


def _verdict_blocks(results: Results) -> list[Block]:
    found = results.versus_winner
    if found is None:
        return [Paragraph("There is only one learner, so there is nothing to compare.")]
    score = results.score
    digits = max(decimals_for(results.judged[0].estimates[score.name].mean), significant_decimals(found.margin))
    header = (
        "learner",
        f"{score.title} worse by",
        "interval, splits",
        *(("interval, rows", "interval, rows, fitted models") if found.units else ()),
        "p",
        "verdict",
        *(("Brier score worse by",) if found.brier else ()),
        *(("McNemar, rows right alone", "McNemar p") if found.mcnemar else ()),
    )
    rows = tuple(_verdict_row(found, judged, digits) for judged in results.judged[1:])
    table = TableBlock(f"{found.best} against every other learner", header, rows, name="verdicts")
    method = (Paragraph(_method(results, found)), SubHeading("They assume that"), BulletList(found.assumptions))
    folded = CollapsedBlocks("How the verdicts are reached, and what they assume", method)
    return [Paragraph(_rule(found)), table, *_clipping(found), folded]


def _verdict_row(found: WinnerComparison, judged: LearnerResult, digits: int) -> tuple[Cell, ...]:
    verdict = found.verdicts[judged.name]
    cells = [
        Cell(judged.name + (" (baseline)" if judged.outcome.learner.baseline else "")),
        Cell(format_number(verdict.splits.estimate, digits), verdict.splits.estimate),
        _interval_cell(verdict.splits, digits),
    ]
    if found.units:
        cells += [_interval_cell(verdict.rows, digits), _interval_cell(verdict.fitted, digits)]
    cells += [
        Cell(format_p_value(verdict.p_value), verdict.p_value),
        Cell(OUTCOME_WORDS[verdict.outcome], None, "" if verdict.outcome == "worse" else "soft"),
    ]
    if found.brier:
        brier = found.brier[judged.name]
        text = f"{format_number(brier.estimate)} ({format_range(brier.low, brier.high)})"
        cells.append(Cell(text, brier.estimate))
    if found.mcnemar:
        test = found.mcnemar[judged.name]
        cells += [
            Cell(f"{test.best_only} against {test.other_only}", float(test.best_only - test.other_only)),
            Cell(format_p_value(test.p_value), test.p_value),
        ]
    return tuple(cells)


def _interval_cell(one: Difference | None, digits: int) -> Cell:
    return Cell("–") if one is None else Cell(format_range(one.low, one.high, digits), one.low)


def _rule(found: WinnerComparison) -> str:
    return (
        "A learner is worse if an interval lies above the margin of practical equality, "
        f"{format_significant(found.margin)}; practically equal if one lies within it; undecided otherwise. The margin "
        f"{found.margin_meaning}."
    )


def _method(results: Results, found: WinnerComparison) -> str:
    rows = (
        f" Rows: the out-of-fold losses of {found.units} drawn again with replacement (bootstrap-t), widened for the "
        "training sets that single rows do not show; the interval for the fitted models is not widened."
        if found.units
        else f" Single rows are no evidence here, because {results.score.title} is not a mean over rows."
    )
    beside = (
        " Brier score and McNemar's test of the classes stand beside the verdict and decide nothing."
        if found.brier
        else ""
    )
    return (
        "Splits: the corrected resampled t, which allows for the training rows that splits share."
        f"{rows} All intervals hold together with a "
        "probability of 95 %, for any choice of the winner; baselines are a family of their own. p is the probability "
        f"of a difference this large or larger if the learner were worse by no more than the margin.{beside}"
    )


def _clipping(found: WinnerComparison) -> list[Block]:
    """Which learners gave a true class a probability of zero, and what that cost them."""
    named = [f"{name} ({format_count(count, 'prediction')})" for name, count in found.clipped.items() if count]
    if not named:
        return []
    text = (
        f"A probability below {MIN_PROBABILITY:g} counts as {MIN_PROBABILITY:g} in the log loss, so that no row costs "
        f"more than 34.5. This happened to {join_names(named)}."
    )
    return [Paragraph(text)]
