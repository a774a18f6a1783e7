"""Which differences between learners are real: the tests behind the verdicts of the leaderboard."""

from __future__ import annotations

from fivefold.study.formatting import decimals_for, format_number, format_p_value, format_range
from fivefold.study.judging.results import Results
from fivefold.study.report.blocks import Block, BulletList, Cell, CollapsedBlocks, Paragraph, Section, TableBlock


def comparison_section(results: Results) -> Section:
    """Every pair of learners; empty if no learner finished."""
    return Section("comparison", "Which differences are real?", tuple(_pair_blocks(results)) if results.judged else ())


def _pair_blocks(results: Results) -> list[Block]:
    if results.pairs is None:
        return [Paragraph("There is only one learner, so there is nothing to compare.")]
    score, pairs = results.score, results.pairs.pairs
    digits = decimals_for(results.judged[0].estimates[score.name].mean)
    rows = tuple(
        (
            Cell(pair.a),
            Cell(pair.b),
            Cell(format_number(pair.comparison.estimate, digits), pair.comparison.estimate),
            Cell(format_range(*pair.comparison.interval, digits)),
            Cell(format_p_value(pair.comparison.p_value), pair.comparison.p_value),
            Cell(format_p_value(pair.adjusted_p), pair.adjusted_p, "best" if pair.rejected else ""),
            Cell(f"{pair.equivalence.within:.0%}", pair.equivalence.within),
            Cell("differ" if pair.rejected else "no significant difference", None, "" if pair.rejected else "soft"),
        )
        for pair in pairs
    )
    header = ("A", "B", f"A - B, {score.title}", "95 % interval", "p", "p, Holm", "P(same)", "verdict")
    table = TableBlock(f"All pairs of learners, by {score.title}", header, rows, name="pairs")
    explanation = (
        "The corrected resampled t-test allows for the training rows that splits share, and Holm's adjustment for the "
        "number of pairs. P(same) is the probability that the two differ by less than "
        f"{pairs[0].equivalence.rope:.3g}, too little to matter in practice."
    )
    assumed = CollapsedBlocks("What the test assumes", (BulletList(results.pairs.assumptions),))
    many = len(pairs) > 15
    shown: Block = CollapsedBlocks(f"All {len(pairs)} pairs", (table,)) if many else table
    return [Paragraph(explanation), shown, assumed]
