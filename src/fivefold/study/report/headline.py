"""The first section: which learner won, which ones tie with it, what to beware of, and the table of all."""

from __future__ import annotations

from typing import Literal

from fivefold.evaluation.comparison.estimate import Estimate
from fivefold.evaluation.scores import Score
from fivefold.study.formatting import (
    decimals_for,
    format_bytes,
    format_count,
    format_interval,
    format_number,
    format_p_value,
    format_seconds,
)
from fivefold.study.judging.cost_summary import cost_sentences
from fivefold.study.judging.learner_fit import LearnerFit, learner_fit, mean_train_score
from fivefold.study.judging.results import INNER_SELECTION_LABEL, LearnerResult, Results, ranking_sentences
from fivefold.study.judging.time_order import time_order_sentences
from fivefold.study.report import figures
from fivefold.study.report.blocks import (
    Block,
    BulletList,
    Cell,
    CollapsedBlocks,
    Figure,
    FigureRow,
    KeyFigures,
    Paragraph,
    Section,
    SubHeading,
    TableBlock,
)
from fivefold.study.report.learner_figures import learner_figures

FIT_WORDS: dict[LearnerFit, str] = {
    "overfit": "overfits",
    "underfit": "underfits",
    "overconfident": "overconfident",
    "right": "",
}


def result_section(results: Results) -> Section:
    """The result in a few sentences, a few numbers and one table."""
    if not results.judged:
        failed = Paragraph("Every learner failed; the section on training gives the reasons.")
        return Section("result", "The result", (failed, *_caution_blocks(results)))
    blocks: tuple[Block, ...] = (
        Paragraph(verdict(results)),
        KeyFigures(tuple(_key_figures(results))),
        *_caution_blocks(results),
        FigureRow(result_figures(results)),
        leaderboard(results),
        CollapsedBlocks("How to read this table", (BulletList(tuple(_legend(results))),)),
    )
    return Section("result", "The result", blocks)


def result_figures(results: Results) -> tuple[Figure, ...]:
    """The scores of the learners at a glance: means, splits, times."""
    return (figures.score_figure(results), *learner_figures(results))


def _caution_blocks(results: Results) -> list[Block]:
    """What makes the results less certain than they look, from the table, the plan and the run."""
    found = (
        *results.plan.data.warnings,
        *results.plan.warnings,
        *time_order_sentences(results.time_order),
        *results.strikes,
    )
    return [SubHeading("Before you rely on it"), BulletList(found)] if found else []


def verdict(results: Results) -> str:
    """The winner, its score, ties and the baseline, in words."""
    best, score = results.judged[0], results.score
    estimate = best.estimates[score.name]
    digits = decimals_for(estimate.mean)
    sentences = [
        f"{best.name} is best, with a mean {score.title} of {format_number(estimate.mean, digits)} on unseen rows "
        f"(95 % interval {format_interval(estimate, digits)}).",
        *ranking_sentences(results),
        *cost_sentences(results)[:2],
    ]
    if results.baselines and best not in results.baselines and all(judged.worse for judged in results.baselines):
        nearest = results.baselines[0]
        value = format_number(nearest.estimates[score.name].mean, digits)
        sentences.append(f"The best baseline, {nearest.name}, has {value}.")
    return " ".join(sentences)


def leaderboard(results: Results) -> TableBlock:
    """Every learner, best first, and the one chosen inside each fold."""
    scores, first = results.plan.scores, results.score
    digits = {s.name: decimals_for(results.judged[0].estimates[s.name].mean) for s in scores}
    header = (
        "",
        "learner",
        first.title,
        "95 % interval",
        "p",
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
    caption = f"Leaderboard: means over {format_count(len(results.plan.splits), 'split')}, on unseen rows"
    return TableBlock(caption, header, tuple(rows), name="leaderboard")


def _learner_row(results: Results, judged: LearnerResult, rank: int, digits: dict[str, int]) -> tuple[Cell, ...]:
    first, scores = results.score, results.plan.scores
    baseline, train = judged.outcome.learner.baseline, mean_train_score(judged, first.name)
    look: Literal["best", "soft", ""] = "best" if rank == 0 else "soft" if baseline else ""
    fit = FIT_WORDS[learner_fit(results, judged)]
    return (
        Cell(judged.mark, None, look),
        Cell(judged.name + (" (baseline)" if baseline else ""), None, look),
        *_estimate_cells(judged.estimates[first.name], digits[first.name], look),
        Cell("best" if rank == 0 else format_p_value(judged.p_value), None if rank == 0 else judged.p_value),
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
            _standing(results),
        ),
        (score.title, format_number(estimate.mean, digits), f"95 %: {format_interval(estimate, digits)}"),
    ]
    if second is not score:
        cards.append(_key_figure(second, best.estimates[second.name]))
    if results.baselines:
        baseline = results.baselines[0]
        mean = baseline.estimates[score.name].mean
        cards.append((f"baseline {score.title}", format_number(mean, decimals_for(mean)), baseline.name))
    if results.holdout is not None and results.holdout.certificate is not None:
        found = results.holdout.certificate
        cards.append(("certified error", f"< {found.bound:.1%}", f"with probability {1 - found.delta:.0%}"))
    elif results.certificates is not None and best.name in results.certificates.learners:
        folds = results.certificates
        bound = folds.learners[best.name].bound
        said = f"< {bound:.1%}" if bound < 1 else "none"
        cards.append(("certified error", said, f"of the fold models, with probability {1 - folds.delta:.0%}"))
    return [*cards, ("rows", f"{len(data.y):,}", f"{format_count(len(data.columns), 'column')} to learn from")]


def _standing(results: Results) -> str:
    """How far the winner is from the others, in a few words."""
    counts = {"practically equal": len(results.equal), "undecided": len(results.undecided)}
    named = [f"{count} {word}" for word, count in counts.items() if count]
    return ", ".join(named) if named else "better than all others"


def _key_figure(score: Score, estimate: Estimate) -> tuple[str, str, str]:
    digits = decimals_for(estimate.mean)
    return score.title, format_number(estimate.mean, digits), f"95 %: {format_interval(estimate, digits)}"


def _legend(results: Results) -> list[str]:
    found = [
        "★ best learner; ≈ practically equal to it; ? undecided; no mark: worse. Intervals: corrected resampled t. p: "
        "of the hypothesis that the learner is worse by no more than the margin of practical equality, adjusted "
        "for the number of learners and for the choice of the best.",
        "The score on training rows is optimistic: it is shown for comparison only. A learner overfits if less than "
        "half of its gain over the baseline on training rows remains on unseen rows; it underfits if it gains almost "
        "nothing even on training rows; it is overconfident if neither is true of its classes, but its probabilities "
        "are too close to 0 and 1.",
        "Fit, predict and size are means over the splits: time to fit the chosen setting on all training rows, time to "
        "predict all test rows, bytes of the fitted model.",
    ]
    if results.inside is not None:
        found.insert(
            1,
            f"◆ {INNER_SELECTION_LABEL}: in every split the learner is chosen on training rows alone, then tested. "
            "The best of many looks better than it is; this is the score to expect from running a study and taking its "
            "winner.",
        )
    return found
