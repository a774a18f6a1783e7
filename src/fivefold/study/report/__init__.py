"""The report of a study: one HTML file that opens from disk, and the same tables as Markdown.

The sections follow the phases of a design: state the task, collect the data, extract features, choose models, train
them, evaluate them on unseen rows. The result comes first, how to reproduce it last.
"""

from __future__ import annotations

from pathlib import Path

from fivefold.study.formatting import format_count
from fivefold.study.judging.results import Results
from fivefold.study.report.blocks import Page
from fivefold.study.report.evaluation import evaluation_section, reproduction_section
from fivefold.study.report.headline import result_section
from fivefold.study.report.page import save_text, to_html, to_markdown
from fivefold.study.report.phases import data_section, features_section, models_section, task_section, training_section

SECTIONS = (
    result_section,
    task_section,
    data_section,
    features_section,
    models_section,
    training_section,
    evaluation_section,
    reproduction_section,
)


def write_report(results: Results, folder: Path) -> Path:
    """Write FOLDER/report.html and FOLDER/report.md; returns the path of the first."""
    page = build_page(results)
    save_text(to_markdown(page), folder / "report.md")
    return save_text(to_html(page), folder / "report.html")


def build_page(results: Results) -> Page:
    """The contents of the report, before they are written as HTML or Markdown."""
    plan = results.plan
    return Page(
        f"Study of {plan.data.name}",
        f"Which of {format_count(len(plan.learners), 'learner')} predicts {plan.data.target!r} best? Nested "
        f"cross-validation, {format_count(len(plan.splits), 'split')}, {format_count(len(plan.data.y), 'row')}.",
        tuple(section(results) for section in SECTIONS),
        f"Written by fivefold {results.environment.get('fivefold', '')}. It needs no network and contains no script.",
    )
