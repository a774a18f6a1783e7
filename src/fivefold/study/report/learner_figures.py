"""The learners beside each other: scores split by split, score against time, and every difference."""

from __future__ import annotations

import numpy as np

from fivefold.evaluation.comparison.estimate import corrected_t
from fivefold.evaluation.comparison.holm import holm
from fivefold.plot.learner_scores import difference_matrix, pareto_front, score_against_time, split_strips
from fivefold.plot.style import shorten
from fivefold.study.formatting import format_count, format_seconds, join_names
from fivefold.study.judging.results import LearnerResult, Results
from fivefold.study.planning.splits import mean_test_train_ratio
from fivefold.study.report.blocks import Block, CollapsedBlocks, Figure
from fivefold.study.report.figures import MAX_NAME_LETTERS, score_window
from fivefold.study.report.svg import draw_figure

MAX_MATRIX_LEARNERS = 12  # with more learners the numbers of a matrix cannot be read
LEVEL = 0.05


def learner_figures(results: Results) -> tuple[Figure, ...]:
    """Scores split by split, and scores against times; nothing for a single learner."""
    return (_strips(results), _times(results)) if len(results.judged) > 1 else ()


def difference_blocks(results: Results) -> list[Block]:
    """The matrix of differences, folded; nothing for a single learner."""
    if len(results.judged) < 2:
        return []
    return [CollapsedBlocks("All differences between learners", (_matrix(results),))]


def _split_scores(results: Results, judged: LearnerResult) -> list[float]:
    return [fold.scores[results.score.name] for fold in judged.outcome.folds]


def _strips(results: Results) -> Figure:
    score, judged = results.score, results.judged
    table = np.array([_split_scores(results, one) for one in judged])
    low, high = score_window(results)
    within = (min(low, float(table[0].min())), max(high, float(table[0].max())))
    losses = np.array([[score.loss(value) for value in row] for row in table])
    firsts = int((losses.argmin(axis=0) == 0).sum())
    said = "; ".join(f"{one.name} {row.min():.3g} to {row.max():.3g}" for one, row in zip(judged, table, strict=True))
    return draw_figure(
        "strips",
        lambda ax: split_strips(
            [shorten(one.name, MAX_NAME_LETTERS) for one in judged], table, score.title, within=within, ax=ax
        ),
        f"{score.title} of every learner on every split: {said}.",
        f"{score.title} on each of {table.shape[1]} splits; grey lines join the scores of a split. {judged[0].name} is "
        f"best on {firsts or 'none'} of them.",
        width=4.2,
        height=0.8 + 0.24 * len(judged),
    )


def _times(results: Results) -> Figure:
    score, judged = results.score, results.judged
    low, high = score_window(results)
    means = np.array([one.estimates[score.name].mean for one in judged])
    learners = [i for i, one in enumerate(judged) if not one.outcome.learner.baseline]
    shown = [i for i in learners if low <= means[i] <= high] or [0]
    seconds = np.array([judged[i].fit_seconds for i in shown])
    front = pareto_front(seconds, np.array([score.loss(means[i]) for i in shown]))
    names = [judged[shown[i]].name for i in front]
    said = "; ".join(f"{judged[i].name} {means[i]:.3g} in {format_seconds(judged[i].fit_seconds)}" for i in shown)
    far = len(learners) - len(shown)
    left = f" Not drawn: {format_count(far, 'learner')} far worse." if far > 0 else ""
    return draw_figure(
        "times",
        lambda ax: score_against_time(
            [shorten(judged[i].name, MAX_NAME_LETTERS) for i in shown],
            seconds,
            means[shown],
            score.title,
            larger_is_better=score.larger_is_better,
            ax=ax,
        ),
        f"Mean {score.title} against the time of a fit: {said}.",
        f"Mean {score.title} against the time to fit once. Of {join_names(names)}, none is beaten by a learner that is "
        f"also faster.{left}"
        if len(names) > 1
        else f"Mean {score.title} against the time to fit once. {names[0]} is the fastest and the best.{left}",
        width=4.2,
        height=max(2.6, 0.8 + 0.24 * len(judged)),
    )


def _matrix(results: Results) -> Figure:
    score, judged = results.score, results.judged[:MAX_MATRIX_LEARNERS]
    losses = np.array([[score.loss(value) for value in _split_scores(results, one)] for one in judged])
    ratio, n = mean_test_train_ratio(results.plan.splits), len(judged)
    pairs = [(i, j) for i in range(n) for j in range(i)]
    found = [corrected_t(losses[i] - losses[j], ratio) for i, j in pairs]
    adjusted = holm([1.0 if np.isnan(one.p_value) else one.p_value for one in found])
    values, significant = np.zeros((n, n)), np.zeros((n, n), dtype=bool)
    for (i, j), one, p in zip(pairs, found, adjusted, strict=True):
        values[i, j], values[j, i] = one.mean, -one.mean
        significant[i, j] = significant[j, i] = p <= LEVEL
    names = [shorten(one.name, MAX_NAME_LETTERS) for one in judged]
    side = 1.6 + 0.42 * n
    first = f"the first {n} learners" if n < len(results.judged) else "all learners"
    return draw_figure(
        "matrix",
        lambda ax: difference_matrix(names, values, significant, "loss of the row minus loss of the column", ax=ax),
        f"Differences of {score.title} between {first}; {int(significant.sum()) // 2} of {len(pairs)} pairs differ "
        "significantly by their splits.",
        f"Mean difference of {score.title}, as a loss, of the row minus the column: blue means that the row is better. "
        "Bold: significant at 5 % by the corrected resampled t-test, adjusted by Holm for all pairs. The verdicts "
        "compare with the winner only, and also by single rows, so they find more.",
        width=side,
        height=side,
    )
