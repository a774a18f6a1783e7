"""The page that compares several studies."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fivefold.evaluation.scores import KNOWN_SCORES
from fivefold.plot.critical_difference import LETTER_INCHES, LINE_HEIGHT, RULER_INCHES, critical_difference
from fivefold.study.formatting import decimals_for, format_count, format_number, format_p_value, join_names
from fivefold.study.judging.study_comparison import StudyComparison
from fivefold.study.report.blocks import (
    Block,
    BulletList,
    Cell,
    CollapsedBlocks,
    Figure,
    Page,
    Paragraph,
    Section,
    TableBlock,
)
from fivefold.study.report.page import save_text, to_html
from fivefold.study.report.svg import draw_figure

P_VALUE_TITLE = "p against the first, Nemenyi"
NO_PAIR_DIFFERS = "No single learner is significantly different from the best."


def write_comparison(found: StudyComparison, path: Path) -> Path:
    """Write the page as one HTML file."""
    return save_text(to_html(comparison_page(found)), path)


def comparison_page(found: StudyComparison) -> Page:
    """Verdict, diagram, ranks and scores."""
    blocks: list[Block] = [Paragraph(verdict(found))]
    if found.test is not None and found.test.rejected:
        blocks.append(_diagram(found))
    blocks += [rank_table(found), _score_table(found)]
    if found.notes:
        blocks.append(BulletList(found.notes))
    if found.test is not None:
        blocks.append(CollapsedBlocks("What the test assumes", (BulletList(found.test.assumptions),)))
    return Page(
        f"{format_count(len(found.studies), 'study', 'studies')} side by side",
        f"{format_count(len(found.learners), 'learner')} on {join_names([study.data for study in found.studies])}.",
        (Section("comparison", "Learners over data sets", tuple(blocks)),),
        "Written by fivefold. It needs no network and contains no script.",
    )


def verdict(found: StudyComparison) -> str:
    """What the ranks mean, in words."""
    best = f"the best mean rank, {format_number(float(found.mean_ranks[0]), 2)}"
    first = f"{join_names(found.first)} {'has' if len(found.first) == 1 else 'share'} {best}."
    test = found.test
    if test is None:
        return first
    sets = format_count(test.datasets, "data set")
    test_line = f"Friedman's test over {sets}: F = {format_number(test.statistic, 2)}, p {_equation(test.p_value)}."
    if not test.rejected:
        return f"{first} {test_line} The learners are not significantly different."
    worse = [name for name, p in found.against_best.items() if p <= test.alpha]
    pairs = f"{found.learners[0]} is significantly better than {join_names(worse)}." if worse else NO_PAIR_DIFFERS
    return f"{first} {test_line} The learners are not all equal. {pairs}"


def _equation(p_value: float) -> str:
    """The right side of "p = 0.020" or "p < 0.001"."""
    text = format_p_value(p_value)
    return text if text.startswith("<") else f"= {text}"


def rank_table(found: StudyComparison) -> TableBlock:
    """Mean ranks, and p-values against the first if the learners are not all equal."""
    rows = tuple(
        (
            Cell(name, None, "best" if j == 0 else ""),
            Cell(format_number(float(found.mean_ranks[j]), 2), float(found.mean_ranks[j])),
            *(
                [Cell("" if j == 0 else format_p_value(found.against_best[name]), found.against_best.get(name))]
                if found.against_best
                else []
            ),
        )
        for j, name in enumerate(found.learners)
    )
    header = ("learner", "mean rank", *([P_VALUE_TITLE] if found.against_best else []))
    return TableBlock("Mean ranks over the data sets; 1 is the best", header, rows, name="ranks")


def _score_table(found: StudyComparison) -> TableBlock:
    """Scores, one column per data set, the best of each in bold."""
    digits = [decimals_for(float(np.abs(row).min())) for row in found.scores]
    rows = tuple(
        (
            Cell(name),
            *(
                Cell(
                    format_number(value, digits[i]),
                    float(value),
                    "best" if found.ranks[i, j] == found.ranks[i].min() else "",
                )
                for i, value in enumerate(found.scores[:, j])
            ),
        )
        for j, name in enumerate(found.learners)
    )
    header = ("learner", *(f"{study.data}, {KNOWN_SCORES[study.score].title}" for study in found.studies))
    return TableBlock("Mean scores on unseen rows", header, rows, name="scores")


def _diagram(found: StudyComparison) -> Figure:
    test = found.test
    assert test is not None
    margin = LETTER_INCHES * (max(map(len, test.learners)) + 7)
    low = 0.9 + 0.22 * len(test.groups) + LINE_HEIGHT * ((len(test.learners) + 1) // 2)
    placed = "; ".join(f"{name} {rank:.2f}" for name, rank in zip(found.learners, found.mean_ranks, strict=True))
    joined = "; ".join(", ".join(group) for group in test.groups) or "none"
    return draw_figure(
        "ranks",
        lambda ax: critical_difference(test, ax=ax),
        f"Critical-difference diagram. Mean ranks: {placed}. Critical difference {test.critical_difference:.2f}. Not "
        f"significantly different: {joined}.",
        "Mean ranks, the best on the left. A bar joins learners that are not significantly different at the 5 % level "
        "(Nemenyi).",
        width=RULER_INCHES + 2 * margin,
        height=0.4 + 0.4 * (1.25 + low),
    )
