"""The report of a study: one HTML file that opens from disk, and the same tables as Markdown.

Evidence comes first: the result, which differences are real, the sequences (where rows are their steps), the hold-out,
what the winner learned, where it is wrong and what to do about it. Below it, folded, stands how the study was done,
phase by phase: the task, the data, the features, the models, training, evaluation, and how to reproduce it.

A section is a function of the results in a module of its own; SECTIONS is their order, and a section without blocks is
left out. A new kind of block is a class in blocks.py, a template blocks/KIND.html among the templates, and a writer in
page.py for Markdown.
"""

from __future__ import annotations

from pathlib import Path

from fivefold.study.formatting import format_count
from fivefold.study.judging.results import Results
from fivefold.study.report.blocks import Page
from fivefold.study.report.decision_costs import costs_section
from fivefold.study.report.headline import result_section
from fivefold.study.report.holdout_certificate import holdout_section
from fivefold.study.report.learner_comparison import comparison_section
from fivefold.study.report.next_steps import next_steps_section
from fivefold.study.report.page import save_text, to_html, to_markdown
from fivefold.study.report.phases import (
    data_section,
    evaluation_section,
    features_section,
    models_section,
    reproduction_section,
    task_section,
    training_section,
)
from fivefold.study.report.prediction_errors import errors_section
from fivefold.study.report.sequence_tracks import sequences_section
from fivefold.study.report.winner_explanation import explanation_section

EVIDENCE = (
    result_section,
    costs_section,
    comparison_section,
    sequences_section,
    holdout_section,
    explanation_section,
    errors_section,
    next_steps_section,
)
METHOD = (
    task_section,
    data_section,
    features_section,
    models_section,
    training_section,
    evaluation_section,
    reproduction_section,
)
SECTIONS = (*EVIDENCE, *METHOD)


def write_report(results: Results, folder: Path) -> Path:
    """Write FOLDER/report.html and FOLDER/report.md; returns the path of the first."""
    page = build_page(results)
    save_text(to_markdown(page), folder / "report.md")
    return save_text(to_html(page), folder / "report.html")


def build_page(results: Results) -> Page:
    """The contents of the report, before they are written as HTML or Markdown."""
    plan = results.plan
    sections = [section(results) for section in SECTIONS]
    return Page(
        f"Study of {plan.data.name}",
        f"Which of {format_count(len(plan.learners), 'learner')} predicts {plan.data.target!r} best? Nested "
        f"cross-validation, {format_count(len(plan.splits), 'split')}, {format_count(len(plan.data.y), 'row')}.",
        tuple(section for section in sections if section.blocks),
        f"Written by fivefold {results.environment.get('fivefold', '')}. It needs no network and contains no script.",
    )
