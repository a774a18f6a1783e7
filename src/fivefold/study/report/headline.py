"""The first page: which learner won, what it cannot be told from, and the table of all."""

from __future__ import annotations

from typing import Literal

from fivefold.evaluation.compare import Estimate
from fivefold.evaluation.scores import Score
from fivefold.study.report import drawings
from fivefold.study.report.blocks import Block, Cards, Cell, Points, Section, Table, Text
from fivefold.study.report.words import both, count, decimals, number, p, seconds, size, span
from fivefold.study.results import Judged, Results

HALF = 0.5  # of what is gained over the baseline on training rows must show on unseen ones
LITTLE = 0.1  # of what could be gained over the baseline is next to nothing
INSIDE = "best, chosen inside each fold"
READING = {"over": "overfits", "under": "underfits", "": ""}

Fit = Literal["over", "under", ""]


def result(results: Results) -> Section:
    """The result in a few sentences, numbers and one table."""
    if not results.judged:
        said = "Every learner failed; the reasons stand under training."
        return Section("result", "The result", (Text(said),))
    blocks: tuple[Block, ...] = (
        Text(verdict(results)),
        Cards(tuple(_cards(results))),
        drawings.scores(results),
        leaderboard(results),
        Points(tuple(_legend(results))),
    )
    return Section("result", "The result", blocks)


def verdict(results: Results) -> str:
    """Winner, score, ties and baseline, in words."""
    best, score = results.judged[0], results.score
    estimate, rest = best.estimates[score.name], results.judged[1:]
    digits = decimals(estimate.mean)
    said = [
        f"{best.name} is best, with a mean {score.title} of {number(estimate.mean, digits)} on unseen rows (95 % "
        f"interval {span(estimate, digits)})."
    ]
    if results.alike:
        said.append(f"At the 5 % level it cannot be told from {both(results.alike)}.")
    elif rest:
        said.append("It is significantly better than every other learner.")
    dummies = [judged for judged in results.judged if judged.outcome.learner.baseline]
    if best in dummies:
        said.append("It is a baseline: no method learned anything from this table.")
    elif unbeaten := [judged.name for judged in dummies if not judged.worse]:
        said.append(f"It does not beat the baseline {both(unbeaten)}: doubt that anything was learned.")
    elif dummies:
        nearest = dummies[0]
        said.append(f"The best baseline, {nearest.name}, has {number(nearest.estimates[score.name].mean, digits)}.")
    return " ".join(said)


def leaderboard(results: Results) -> Table:
    """Every learner, best first, and the one that is chosen inside each fold."""
    scores, first = results.plan.scores, results.score
    digits = {s.name: decimals(results.judged[0].estimates[s.name].mean) for s in scores}
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
    rows = [_row(results, judged, rank, digits) for rank, judged in enumerate(results.judged)]
    if results.inside is not None:
        found = results.inside.estimates
        inside = [Cell("◆"), Cell(INSIDE), *_estimate(found[first.name], digits[first.name]), Cell(""), Cell("")]
        inside += [Cell(number(found[s.name].mean, digits[s.name]), found[s.name].mean) for s in scores[1:]]
        rows.insert(1, (*inside, Cell(""), Cell(""), Cell("")))
    caption = f"Leaderboard: means over {count(len(results.plan.splits), 'split')} of rows that training did not see"
    return Table(caption, header, tuple(rows), name="leaderboard")


def reading(train: float, test: float, baseline: float, perfect: float) -> Fit:
    """Does a learner fit too closely, or too little? All are losses.

    Too little if even on training rows it gains next to nothing of what could be gained over the baseline; too closely
    if less than half of what it gains there is seen on unseen rows.

    Examples
    --------
    >>> reading(train=0.2, test=0.3, baseline=1.0, perfect=0.0)
    ''
    >>> reading(train=0.97, test=0.98, baseline=1.0, perfect=0.0)
    'under'
    >>> reading(train=0.0, test=0.8, baseline=1.0, perfect=0.0)
    'over'
    """
    if baseline - train < LITTLE * (baseline - perfect):
        return "under"
    return "over" if baseline - test < HALF * (baseline - train) else ""


def fit_of(results: Results, judged: Judged) -> Fit:
    """The reading of a learner beside the best baseline; of a baseline there is none."""
    score, train = results.score, drawings.trained(judged, results.score.name)
    dummies = [j.estimates[score.name].mean for j in results.judged if j.outcome.learner.baseline]
    if train is None or not dummies or judged.outcome.learner.baseline:
        return ""
    perfect = score.high if score.larger_is_better else score.low
    losses = [score.loss(v) for v in (train, judged.estimates[score.name].mean, dummies[0], perfect)]
    return reading(*losses)


def _row(results: Results, judged: Judged, rank: int, digits: dict[str, int]) -> tuple[Cell, ...]:
    first, scores = results.score, results.plan.scores
    baseline, train = judged.outcome.learner.baseline, drawings.trained(judged, first.name)
    look: Literal["best", "soft", ""] = "best" if rank == 0 else "soft" if baseline else ""
    fit = READING[fit_of(results, judged)]
    return (
        Cell("★" if rank == 0 else "" if judged.worse else "≈", None, look),
        Cell(judged.name + (" (baseline)" if baseline else ""), None, look),
        *_estimate(judged.estimates[first.name], digits[first.name], look),
        Cell("best" if rank == 0 else p(judged.adjusted_p), None if rank == 0 else judged.adjusted_p),
        Cell("–") if train is None else _trained(train, digits[first.name], fit),
        *(
            Cell(number(judged.estimates[s.name].mean, digits[s.name]), judged.estimates[s.name].mean)
            for s in scores[1:]
        ),
        Cell(seconds(judged.fit_seconds), judged.fit_seconds),
        Cell(seconds(judged.predict_seconds), judged.predict_seconds),
        Cell(size(judged.size_bytes), judged.size_bytes),
    )


def _trained(value: float, digits: int, fit: str) -> Cell:
    return Cell(number(value, digits) + (f" {fit}" if fit else ""), value, "bad" if fit else "")


def _estimate(found: Estimate, digits: int, look: Literal["", "best", "soft"] = "") -> tuple[Cell, Cell]:
    return Cell(number(found.mean, digits), found.mean, look), Cell(span(found, digits), None, look)


def _cards(results: Results) -> list[tuple[str, str, str]]:
    best, score, data = results.judged[0], results.score, results.plan.data
    estimate, second = best.estimates[score.name], results.plan.shown[-1]
    digits = decimals(estimate.mean)
    cards = [
        (
            "winner",
            best.name,
            f"not told from {count(len(results.alike), 'other')}" if results.alike else "ahead of all",
        ),
        (score.title, number(estimate.mean, digits), f"95 %: {span(estimate, digits)}"),
    ]
    if second is not score:
        cards.append(_card(second, best.estimates[second.name]))
    dummies = [judged for judged in results.judged if judged.outcome.learner.baseline]
    if dummies:
        mean = dummies[0].estimates[score.name].mean
        cards.append((f"baseline {score.title}", number(mean, decimals(mean)), dummies[0].name))
    if results.holdout is not None and results.holdout.certificate is not None:
        found = results.holdout.certificate
        cards.append(("certified error", f"< {found.bound:.1%}", f"with probability {1 - found.delta:.0%}"))
    return [*cards, ("rows", f"{len(data.y):,}", f"{count(len(data.columns), 'column')} to learn from")]


def _card(score: Score, estimate: Estimate) -> tuple[str, str, str]:
    digits = decimals(estimate.mean)
    return score.title, number(estimate.mean, digits), f"95 %: {span(estimate, digits)}"


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
            f"◆ {INSIDE}: in every split the learner is chosen on training rows alone, then judged. The best of many "
            "looks better than it is; this is the score to expect of running a study and taking its winner.",
        )
    return found
