"""The first page: which learner won, what it cannot be told from, and the table of all."""

from __future__ import annotations

from typing import Literal

from fivefold.evaluation.comparison.estimate import Estimate
from fivefold.evaluation.scores import Score
from fivefold.study.judging.results import LearnerResult, Results
from fivefold.study.report import figures
from fivefold.study.report.blocks import Block, BulletList, Cell, KeyFigures, Paragraph, Section, TableBlock
from fivefold.study.report.formatting import (
    decimals_for,
    format_bytes,
    format_count,
    format_interval,
    format_number,
    format_p_value,
    format_seconds,
    join_names,
)

MIN_GAIN_KEPT = 0.5  # of what is gained over the baseline on training rows must show on unseen ones
MIN_GAIN = 0.1  # of what could be gained over the baseline is next to nothing
INNER_SELECTION_LABEL = "best, chosen inside each fold"
FIT_VERDICTS = {"over": "overfits", "under": "underfits", "": ""}

FitReading = Literal["over", "under", ""]


def result_section(results: Results) -> Section:
    """The result in a few sentences, numbers and one table."""
    if not results.judged:
        said = "Every learner failed; the reasons stand under training."
        return Section("result", "The result", (Paragraph(said),))
    blocks: tuple[Block, ...] = (
        Paragraph(verdict(results)),
        KeyFigures(tuple(_key_figures(results))),
        figures.score_figure(results),
        leaderboard(results),
        BulletList(tuple(_legend(results))),
    )
    return Section("result", "The result", blocks)


def verdict(results: Results) -> str:
    """Winner, score, ties and baseline, in words."""
    best, score = results.judged[0], results.score
    estimate, rest = best.estimates[score.name], results.judged[1:]
    digits = decimals_for(estimate.mean)
    said = [
        f"{best.name} is best, with a mean {score.title} of {format_number(estimate.mean, digits)} on unseen rows (95 "
        "% "
        f"interval {format_interval(estimate, digits)})."
    ]
    if results.alike:
        said.append(f"At the 5 % level it cannot be told from {join_names(results.alike)}.")
    elif rest:
        said.append("It is significantly better than every other learner.")
    dummies = [judged for judged in results.judged if judged.outcome.learner.baseline]
    if best in dummies:
        said.append("It is a baseline: no method learned anything from this table.")
    elif unbeaten := [judged.name for judged in dummies if not judged.worse]:
        said.append(f"It does not beat the baseline {join_names(unbeaten)}: doubt that anything was learned.")
    elif dummies:
        nearest = dummies[0]
        said.append(
            f"The best baseline, {nearest.name}, has {format_number(nearest.estimates[score.name].mean, digits)}."
        )
    return " ".join(said)


def leaderboard(results: Results) -> TableBlock:
    """Every learner, best first, and the one that is chosen inside each fold."""
    scores, first = results.plan.scores, results.score
    digits = {s.name: decimals_for(results.judged[0].estimates[s.name].mean) for s in scores}
    header = (
        "",
        "learner",
        first.title,
        "95 % interval",
        "p, Holm",
        f"{first.title} on training rows (optimistic)",
        *(score.title for score in scores[1:]),
        "fit",
        "predict",
        "size",
    )
    rows = [_learner_row(results, judged, rank, digits) for rank, judged in enumerate(results.judged)]
    if results.inside is not None:
        found = results.inside.estimates
        inside = [
            Cell("◆"),
            Cell(INNER_SELECTION_LABEL),
            *_estimate_cells(found[first.name], digits[first.name]),
            Cell(""),
            Cell(""),
        ]
        inside += [Cell(format_number(found[s.name].mean, digits[s.name]), found[s.name].mean) for s in scores[1:]]
        rows.insert(1, (*inside, Cell(""), Cell(""), Cell("")))
    caption = (
        f"Leaderboard: means over {format_count(len(results.plan.splits), 'split')} of rows that training did not see"
    )
    return TableBlock(caption, header, tuple(rows), name="leaderboard")


def read_fit(train: float, test: float, baseline: float, perfect: float) -> FitReading:
    """Does a learner fit too closely, or too little? All are losses.

    Too little if even on training rows it gains next to nothing of what could be gained over the baseline; too closely
    if less than half of what it gains there is seen on unseen rows.

    Examples
    --------
    >>> read_fit(train=0.2, test=0.3, baseline=1.0, perfect=0.0)
    ''
    >>> read_fit(train=0.97, test=0.98, baseline=1.0, perfect=0.0)
    'under'
    >>> read_fit(train=0.0, test=0.8, baseline=1.0, perfect=0.0)
    'over'
    """
    if baseline - train < MIN_GAIN * (baseline - perfect):
        return "under"
    return "over" if baseline - test < MIN_GAIN_KEPT * (baseline - train) else ""


def learner_fit(results: Results, judged: LearnerResult) -> FitReading:
    """The reading of a learner beside the best baseline; of a baseline there is none."""
    score, train = results.score, figures.mean_train_score(judged, results.score.name)
    dummies = [j.estimates[score.name].mean for j in results.judged if j.outcome.learner.baseline]
    if train is None or not dummies or judged.outcome.learner.baseline:
        return ""
    perfect = score.high if score.larger_is_better else score.low
    losses = [score.loss(v) for v in (train, judged.estimates[score.name].mean, dummies[0], perfect)]
    return read_fit(*losses)


def _learner_row(results: Results, judged: LearnerResult, rank: int, digits: dict[str, int]) -> tuple[Cell, ...]:
    first, scores = results.score, results.plan.scores
    baseline, train = judged.outcome.learner.baseline, figures.mean_train_score(judged, first.name)
    look: Literal["best", "soft", ""] = "best" if rank == 0 else "soft" if baseline else ""
    fit = FIT_VERDICTS[learner_fit(results, judged)]
    return (
        Cell("★" if rank == 0 else "" if judged.worse else "≈", None, look),
        Cell(judged.name + (" (baseline)" if baseline else ""), None, look),
        *_estimate_cells(judged.estimates[first.name], digits[first.name], look),
        Cell("best" if rank == 0 else format_p_value(judged.adjusted_p), None if rank == 0 else judged.adjusted_p),
        Cell("–") if train is None else _train_score_cell(train, digits[first.name], fit),
        *(
            Cell(format_number(judged.estimates[s.name].mean, digits[s.name]), judged.estimates[s.name].mean)
            for s in scores[1:]
        ),
        Cell(format_seconds(judged.fit_seconds), judged.fit_seconds),
        Cell(format_seconds(judged.predict_seconds), judged.predict_seconds),
        Cell(format_bytes(judged.size_bytes), judged.size_bytes),
    )


def _train_score_cell(value: float, digits: int, fit: str) -> Cell:
    return Cell(format_number(value, digits) + (f" {fit}" if fit else ""), value, "bad" if fit else "")


def _estimate_cells(found: Estimate, digits: int, look: Literal["", "best", "soft"] = "") -> tuple[Cell, Cell]:
    return Cell(format_number(found.mean, digits), found.mean, look), Cell(format_interval(found, digits), None, look)


def _key_figures(results: Results) -> list[tuple[str, str, str]]:
    best, score, data = results.judged[0], results.score, results.plan.data
    estimate, second = best.estimates[score.name], results.plan.shown[-1]
    digits = decimals_for(estimate.mean)
    cards = [
        (
            "winner",
            best.name,
            f"not told from {format_count(len(results.alike), 'other')}" if results.alike else "ahead of all",
        ),
        (score.title, format_number(estimate.mean, digits), f"95 %: {format_interval(estimate, digits)}"),
    ]
    if second is not score:
        cards.append(_key_figure(second, best.estimates[second.name]))
    dummies = [judged for judged in results.judged if judged.outcome.learner.baseline]
    if dummies:
        mean = dummies[0].estimates[score.name].mean
        cards.append((f"baseline {score.title}", format_number(mean, decimals_for(mean)), dummies[0].name))
    if results.holdout is not None and results.holdout.certificate is not None:
        found = results.holdout.certificate
        cards.append(("certified error", f"< {found.bound:.1%}", f"with probability {1 - found.delta:.0%}"))
    return [*cards, ("rows", f"{len(data.y):,}", f"{format_count(len(data.columns), 'column')} to learn from")]


def _key_figure(score: Score, estimate: Estimate) -> tuple[str, str, str]:
    digits = decimals_for(estimate.mean)
    return score.title, format_number(estimate.mean, digits), f"95 %: {format_interval(estimate, digits)}"


def _legend(results: Results) -> list[str]:
    found = [
        "★ the best; ≈ not told from the best at the 5 % level. Intervals: corrected resampled t; p: the same test "
        "against the best, adjusted by Holm over all pairs of learners.",
        "The score on training rows is optimistic: it is shown to be compared, never to be believed. A learner "
        "overfits where less than half of what it gains over the baseline on training rows is seen on unseen ones; it "
        "underfits where it gains next to nothing even there.",
        "Fit, predict and size are means over the splits: fitting the chosen setting on all training rows, "
        "predicting all test rows, bytes of the fitted model.",
    ]
    if results.inside is not None:
        found.insert(
            1,
            f"◆ {INNER_SELECTION_LABEL}: in every split the learner is chosen on training rows alone, then judged. The "
            "best of many "
            "looks better than it is; this is the score to expect of running a study and taking its winner.",
        )
    return found
