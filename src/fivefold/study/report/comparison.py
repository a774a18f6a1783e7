"""The page of several studies side by side."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fivefold.evaluation.scores import SCORES
from fivefold.plot.critical_difference import LETTER, LINE, RULER, critical_difference
from fivefold.study.compare import Compared
from fivefold.study.report.blocks import Block, Cell, Figure, Folded, Page, Points, Section, Table, Text
from fivefold.study.report.page import html, save
from fivefold.study.report.svg import drawn
from fivefold.study.report.words import both, count, decimals, number, p


def write(found: Compared, path: Path) -> Path:
    """The page as one HTML file."""
    return save(html(page(found)), path)


def page(found: Compared) -> Page:
    """Verdict, diagram, ranks and scores."""
    blocks: list[Block] = [Text(verdict(found))]
    if found.test is not None:
        blocks.append(_diagram(found))
    blocks += [ranks(found), _scores(found)]
    if found.notes:
        blocks.append(Points(found.notes))
    if found.test is not None:
        blocks.append(Folded("What the test assumes", (Points(found.test.assumptions),)))
    return Page(
        f"{count(len(found.studies), 'study', 'studies')} side by side",
        f"{count(len(found.learners), 'learner')} on {both([study.data for study in found.studies])}.",
        (Section("comparison", "Learners over data sets", tuple(blocks)),),
        "Written by fivefold. This file needs no network and holds no script.",
    )


def verdict(found: Compared) -> str:
    """What the ranks say, in words."""
    first = f"{found.learners[0]} has the best mean rank, {number(float(found.mean_ranks[0]), 2)}."
    test = found.test
    if test is None:
        return first
    sets = count(test.datasets, "data set")
    asked = f"Friedman's test over {sets}: F = {number(test.statistic, 2)}, p {p(test.p_value)}."
    if not test.rejected:
        return f"{first} {asked} The learners cannot be told apart."
    ranked = zip(found.learners, found.mean_ranks, strict=True)
    worse = [name for name, rank in ranked if rank - found.mean_ranks[0] > test.critical_difference]
    told = f"It can be told from {both(worse)}." if worse else "No single pair with the best can be told apart."
    return f"{first} {asked} They are not all alike. {told}"


def ranks(found: Compared) -> Table:
    """Mean ranks, and Holm's p-values against the best."""
    rows = tuple(
        (
            Cell(name, None, "best" if j == 0 else ""),
            Cell(number(float(found.mean_ranks[j]), 2), float(found.mean_ranks[j])),
            *(
                [Cell("" if j == 0 else p(found.against_best[name]), found.against_best.get(name))]
                if found.test
                else []
            ),
        )
        for j, name in enumerate(found.learners)
    )
    header = ("learner", "mean rank", *(["p against the first, Holm"] if found.test else []))
    return Table("Mean ranks over the data sets, 1 the best", header, rows, name="ranks")


def _scores(found: Compared) -> Table:
    """Scores, a column a data set, the best in each in bold."""
    digits = [decimals(float(np.abs(row).min())) for row in found.scores]
    rows = tuple(
        (
            Cell(name),
            *(
                Cell(
                    number(value, digits[i]), float(value), "best" if found.ranks[i, j] == found.ranks[i].min() else ""
                )
                for i, value in enumerate(found.scores[:, j])
            ),
        )
        for j, name in enumerate(found.learners)
    )
    header = ("learner", *(f"{study.data}, {SCORES[study.score].title}" for study in found.studies))
    return Table("Mean scores on unseen rows", header, rows, name="scores")


def _diagram(found: Compared) -> Figure:
    test = found.test
    assert test is not None
    margin = LETTER * (max(map(len, test.learners)) + 7)
    low = 0.9 + 0.22 * len(test.groups) + LINE * ((len(test.learners) + 1) // 2)
    placed = "; ".join(f"{name} {rank:.2f}" for name, rank in zip(found.learners, found.mean_ranks, strict=True))
    joined = "; ".join(", ".join(group) for group in test.groups) or "none"
    return drawn(
        "ranks",
        lambda ax: critical_difference(test, ax=ax),
        f"Critical-difference diagram. Mean ranks: {placed}. Critical difference {test.critical_difference:.2f}. Not "
        f"told apart: {joined}.",
        "Mean ranks, the best on the left. A bar joins learners that cannot be told apart at the 5 % level (Nemenyi).",
        width=RULER + 2 * margin,
        height=0.4 + 0.4 * (1.25 + low),
    )
