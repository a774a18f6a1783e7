"""Rows as steps of sequences: how many there are, whether neighbours help, one of them labelled, and what follows what.

Empty in other studies.
"""

from __future__ import annotations

import numpy as np

from fivefold.plot.sequences.label_tracks import label_tracks, number_tracks
from fivefold.plot.style import shorten
from fivefold.study.formatting import format_count
from fivefold.study.judging.results import LearnerResult, Results
from fivefold.study.judging.sequence_summary import best_of_single_rows, sequence_sentences
from fivefold.study.report.blocks import Block, Cell, Figure, Paragraph, Section, SubHeading, TableBlock
from fivefold.study.report.figures import OutOfFoldPredictions
from fivefold.study.report.svg import draw_figure
from fivefold.study.sequences.sequence_classifier import HiddenMarkovClassifier, SequenceClassifier
from fivefold.study.sequences.step_order import describe_lengths

MAX_STEPS_DRAWN = 60  # steps of the sequence that is drawn
MAX_LABELS_LISTED = 10  # labels of the table of transitions
MAX_NAME_LETTERS = 28  # of a learner beside its track


def sequences_section(results: Results) -> Section:
    """The sequences of the table, and what the learners make of them."""
    data = results.plan.data
    if data.sequences is None or not results.judged:
        return Section("sequences", "The sequences", ())
    said = (
        f"Rows with the same {data.sequence_column} are the steps of a sequence, in order of {data.order_column}: "
        f"{describe_lengths(data.sequences)}. No sequence is in both parts of a split, and learners that get the "
        "columns of neighbouring rows get those of the same sequence only."
    )
    blocks: list[Block] = [Paragraph(" ".join([said, *sequence_sentences(results)])), *_track_blocks(results)]
    return Section("sequences", "The sequences", (*blocks, *_transition_blocks(results)))


def _track_blocks(results: Results) -> list[Block]:
    """One sequence that no model in the figure was trained on."""
    data, best, alone = results.plan.data, results.judged[0], best_of_single_rows(results)
    shown = [best, *([alone] if alone is not None and alone is not best else [])]
    rows = _chosen_rows(results, best)
    named = data.X[data.sequence_column][int(rows[0])]
    cut = ", its first rows" if len(rows) > MAX_STEPS_DRAWN else ""
    rows = rows[:MAX_STEPS_DRAWN]
    tracks = {"true": data.y[rows]} | {
        shorten(judged.name, MAX_NAME_LETTERS): _predicted(results, judged, rows) for judged in shown
    }
    title = SubHeading(f"One sequence: {data.sequence_column} {named}{cut}")
    return [title, _track_figure(results, tracks, str(named))]


def _track_figure(results: Results, tracks: dict[str, np.ndarray], named: str) -> Figure:
    plan, steps = results.plan, len(tracks["true"])
    width = float(np.clip(1.6 + 0.12 * steps, 4.0, 8.0))
    if plan.classes is None:
        said = f"Sequence {named}, {format_count(steps, 'step')}: {plan.data.target} and what was predicted."
        return draw_figure(
            "sequence",
            lambda ax: number_tracks(tracks, y=shorten(plan.data.target, MAX_NAME_LETTERS), ax=ax),
            said,
            "By models that were not trained on this sequence.",
            width=width,
            height=2.8,
        )
    labels = [str(label) for label in plan.classes]
    codes = {name: np.searchsorted(plan.classes, track) for name, track in tracks.items()}
    wrong = [
        f"{name} {format_count(int((track != codes['true']).sum()), 'row')} wrong"
        for name, track in codes.items()
        if name != "true"
    ]
    return draw_figure(
        "sequence",
        lambda ax: label_tracks(codes, labels, ax=ax),
        f"Sequence {named}, {format_count(steps, 'step')}, its true labels and those predicted: {'; '.join(wrong)}.",
        "A cell is a row, coloured by its label; a cross marks a wrong one. By models that were not trained on this "
        "sequence.",
        width=width,
        height=0.9 + 0.36 * len(codes),
    )


def _chosen_rows(results: Results, judged: LearnerResult) -> np.ndarray:
    """The rows of one tested sequence: of those with two labels the one whose length is nearest to the median."""
    data, tested = results.plan.data, np.sort(OutOfFoldPredictions.of(judged, results.plan).rows)
    assert data.sequences is not None
    names, starts, lengths = np.unique(data.sequences[tested], return_index=True, return_counts=True)
    away = np.abs(lengths - np.median(lengths))
    parts = [tested[start : start + length] for start, length in zip(starts, lengths, strict=True)]
    plain = np.array([len(np.unique(data.y[part])) < 2 for part in parts])
    return parts[int(np.lexsort((np.arange(len(names)), away, plain))[0])]


def _predicted(results: Results, judged: LearnerResult, rows: np.ndarray) -> np.ndarray:
    found = OutOfFoldPredictions.of(judged, results.plan)
    order = np.argsort(found.rows, kind="stable")
    return np.asarray(found.predicted[order][np.searchsorted(found.rows[order], rows)])


def _transition_blocks(results: Results) -> list[Block]:
    """The weight, or probability, of one label after another, if the winner has them."""
    model, classes = results.winner, results.plan.classes
    method = getattr(model, "steps", [("", None)])[-1][1]
    if classes is None or len(classes) > MAX_LABELS_LISTED:
        return []
    labels = classes.tolist()
    if isinstance(method, HiddenMarkovClassifier):
        values, form = method.transmat_, "{:.1%}"
        said = "How likely each label (column) comes after another one (row), before the columns of the table speak."
    elif isinstance(method, SequenceClassifier):
        weights = method.estimator_.transition_features_
        values, form = np.array([[weights.get((a, b), 0.0) for b in labels] for a in labels]), "{:+.2f}"
        said = (
            "The weight that the winner gives to a label (column) after another one (row), beside what the columns of "
            "the table say: each unit multiplies the odds by 2.7."
        )
    else:
        return []
    rows = tuple(
        (Cell(str(label)), *(Cell(form.format(value), float(value)) for value in row))
        for label, row in zip(labels, values, strict=True)
    )
    table = TableBlock("Transitions between labels", ("from", *map(str, labels)), rows)
    return [SubHeading("What follows what?"), Paragraph(said), table]
