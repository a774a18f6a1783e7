"""What a study of sequences says in words: whether the rows before and after a row help, and how many are right whole.

A learner that sees whole sequences, or the columns of neighbouring steps, stands beside learners that see single rows.
That the former comes first shows nothing; only a verdict that every learner of single rows is worse does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fivefold.evaluation.scores import SEQUENCE_ACCURACY

if TYPE_CHECKING:
    from fivefold.study.judging.results import LearnerResult, Results

OUTCOME_WORDS = {"equal": "is practically equal", "undecided": "may be as good"}


def sequence_sentences(results: Results) -> list[str]:
    """Whether neighbouring rows help, and the share of whole sequences right; nothing if rows are no steps."""
    if results.plan.data.sequences is None or not results.judged:
        return []
    return [*_neighbour_sentence(results), *_whole_sentence(results)]


def best_of_single_rows(results: Results) -> LearnerResult | None:
    """The best learner, baselines apart, that sees single rows only."""
    return _first(results, lambda judged: not judged.outcome.learner.sees_sequences)


def _neighbour_sentence(results: Results) -> list[str]:
    best, alone = results.judged[0], best_of_single_rows(results)
    others = _first(results, lambda judged: judged.outcome.learner.sees_sequences)
    if best.outcome.learner.baseline or alone is None or others is None:
        return []
    if not best.outcome.learner.sees_sequences:
        return [
            f"The rows before and after a row are of no use that shows: {best.name}, which sees single rows only, "
            "comes first."
        ]
    if alone.verdict is None or alone.worse:
        return [f"The rows before and after a row help: {alone.name}, the best that sees single rows only, is worse."]
    said = OUTCOME_WORDS[alone.verdict.outcome]
    return [
        f"It is not shown that the rows before and after a row help: {alone.name}, which sees single rows only, {said}."
    ]


def _whole_sentence(results: Results) -> list[str]:
    name, best, alone = SEQUENCE_ACCURACY.name, results.judged[0], best_of_single_rows(results)
    if name not in best.estimates:
        return []
    said = f"{best.name} gets {best.estimates[name].mean:.1%} of the sequences right from the first row to the last"
    if alone is not None and alone is not best:
        said += f", and {alone.name} {alone.estimates[name].mean:.1%}"
    return [f"{said}."]


def _first(results: Results, wanted: Callable[[LearnerResult], bool]) -> LearnerResult | None:
    return next((j for j in results.judged if not j.outcome.learner.baseline and wanted(j)), None)
