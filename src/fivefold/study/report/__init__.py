"""The report of a study: one HTML file that opens from disk, and the same tables as Markdown.

The sections follow the phases of a design: formalise the task, collect the data, extract features, choose models, train
them, evaluate on unseen rows. What was found stands before them, how to do it again behind.
"""

from __future__ import annotations

from pathlib import Path

from fivefold.study.report.blocks import Page
from fivefold.study.report.evaluation import closing, evaluated
from fivefold.study.report.headline import result
from fivefold.study.report.page import html, markdown, save
from fivefold.study.report.phases import data, features, models, task, training
from fivefold.study.report.words import count
from fivefold.study.results import Results

SECTIONS = (result, task, data, features, models, training, evaluated, closing)


def write(results: Results, folder: Path) -> Path:
    """DIR/report.html and DIR/report.md; the path of the first."""
    page = report(results)
    save(markdown(page), folder / "report.md")
    return save(html(page), folder / "report.html")


def report(results: Results) -> Page:
    """What the report says, before it is written in any form."""
    plan = results.plan
    return Page(
        f"Study of {plan.data.name}",
        f"Which of {count(len(plan.learners), 'learner')} predicts {plan.data.target!r} best? Nested cross-validation, "
        f"{count(len(plan.splits), 'split')}, {count(len(plan.data.y), 'row')}.",
        tuple(section(results) for section in SECTIONS),
        f"Written by fivefold {results.environment.get('fivefold', '')}. It needs no network and holds no script.",
    )
