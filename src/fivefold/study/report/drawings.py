"""The figures of a report, drawn from predictions on rows that no model had seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, confusion_matrix, roc_auc_score, root_mean_squared_error

from fivefold.evaluation.calibration import confidence, reliability
from fivefold.evaluation.curves import Curve
from fivefold.evaluation.metrics import correlation
from fivefold.evaluation.scores import Score
from fivefold.evaluation.thresholds import Costs, Threshold, sweep
from fivefold.plot import curves, judgement
from fivefold.plot.forest import Bar, forest
from fivefold.study.inspection import Importance
from fivefold.study.plan import Plan
from fivefold.study.report.blocks import Figure
from fivefold.study.report.svg import drawn
from fivefold.study.report.words import both
from fivefold.study.results import Judged, Results

IMPORTANT = 20  # columns whose importance is drawn
POINTS = 1500  # of a scatter plot
CLASSES = 8  # curves of one against the rest
MATRIX = 16  # classes of a confusion matrix that can be read
FEW = 6  # classes of a small confusion matrix
NAME = 22  # letters of a name in a legend


@dataclass(frozen=True)
class Unseen:
    """Every row once, with what a model said that had not seen it: the folds of the first repeat together."""

    name: str
    rows: np.ndarray
    y: np.ndarray
    predicted: np.ndarray
    proba: np.ndarray | None
    classes: np.ndarray | None

    @classmethod
    def of(cls, judged: Judged, plan: Plan) -> Unseen:
        """From the folds of a learner."""
        folds = [fold for fold in judged.outcome.folds if fold.repeat == 0]
        rows = np.concatenate([fold.test for fold in folds])
        proba = None if folds[0].proba is None else np.concatenate([fold.proba for fold in folds])
        predicted = np.concatenate([fold.predicted for fold in folds])
        return cls(judged.name, rows, plan.data.y[rows], predicted, proba, plan.classes)

    def of_class(self, label: Any) -> np.ndarray:
        """Probabilities of a class."""
        assert self.proba is not None and self.classes is not None
        return self.proba[:, int(np.flatnonzero(self.classes == label)[0])]


def scores(results: Results) -> Figure:
    """The leaderboard as a forest plot."""
    score, judged = results.score, results.judged
    bars = [
        Bar(
            j.name,
            *_of(j.estimates[score.name]),
            trained(j, score.name),
            "best" if i == 0 else "soft" if j.outcome.learner.baseline else "",
        )
        for i, j in enumerate(judged)
    ]
    if results.inside is not None:
        bars.insert(1, Bar("best, chosen inside", *_of(results.inside.estimates[score.name]), None, "other"))
    better = "larger is better" if score.larger_is_better else "smaller is better"
    said = "; ".join(f"{bar.name} {bar.mean:.3g} ({bar.low:.3g} to {bar.high:.3g})" for bar in bars)
    return drawn(
        "forest",
        lambda ax: forest(
            bars, f"{score.title}, {better}", within=_window(results), beside="on training rows (optimistic)", ax=ax
        ),
        f"Mean {score.title} of each learner with its 95 % interval: {said}.",
        f"Mean {score.title} over {len(results.plan.splits)} splits with 95 % intervals. Grey squares are baselines.",
        width=4.2,
        height=0.95 + 0.24 * len(bars),
    )


def trained(judged: Judged, score: str) -> float | None:
    """The mean score on training rows; None where it was not taken."""
    found = [fold.train_score[score] for fold in judged.outcome.folds if score in fold.train_score]
    return float(np.mean(found)) if found else None


def rocs(best: Sequence[Unseen], positive: Any, cut: Threshold) -> tuple[Figure, ...]:
    """ROC and precision-recall of two classes, the best learners on the same axes."""

    def draw(curve: Any) -> Any:
        def on(ax: Any) -> None:
            for i, one in enumerate(best):
                at = cut.threshold if i == 0 and np.isfinite(cut.threshold) else None
                curve(
                    one.y, one.of_class(positive), positive=positive, threshold=at, name=_cut(one.name), index=i, ax=ax
                )

        return on

    areas = both([f"{one.name} {roc_auc_score(one.y == positive, one.of_class(positive)):.3f}" for one in best])
    average = both(
        [f"{one.name} {average_precision_score(one.y == positive, one.of_class(positive)):.3f}" for one in best]
    )
    return (
        drawn("roc", draw(judgement.roc), f"ROC curves. Areas: {areas}.", f"ROC: class {positive} against the other."),
        drawn(
            "pr",
            draw(judgement.precision_recall),
            f"Precision against recall. Average precision: {average}.",
            "Precision and recall; dashed: the share of the class.",
        ),
    )


def rocs_of_classes(one: Unseen) -> tuple[Figure, ...]:
    """ROC and precision-recall of every class against the rest, for one learner."""
    assert one.classes is not None
    labels, sizes = np.unique(one.y, return_counts=True)
    shown = labels[np.sort(np.argsort(-sizes, kind="stable")[:CLASSES])]

    def draw(curve: Any) -> Any:
        def on(ax: Any) -> None:
            for i, label in enumerate(shown):
                curve(one.y, one.of_class(label), positive=label, name=_cut(str(label)), index=i, ax=ax)

        return on

    areas = both([f"{label} {roc_auc_score(one.y == label, one.of_class(label)):.3f}" for label in shown])
    which = "each class" if len(shown) == len(labels) else f"each of the {CLASSES} largest classes"
    return (
        drawn(
            "roc",
            draw(judgement.roc),
            f"ROC curves of {one.name}, {which} against the rest. Areas: {areas}.",
            f"ROC of {one.name}: {which} against the rest.",
        ),
        drawn(
            "pr",
            draw(judgement.precision_recall),
            f"Precision against recall of {one.name}, {which} against the rest.",
            f"Precision and recall of {one.name}: {which} against the rest.",
        ),
    )


def confusions(best: Sequence[Unseen]) -> tuple[Figure, ...]:
    """A confusion matrix a learner; none where there are more classes than can be read."""
    labels = np.unique(np.concatenate([part for one in best for part in (one.y, one.predicted)]))
    return tuple(_confusion(one, labels, i) for i, one in enumerate(best)) if len(labels) <= MATRIX else ()


def calibrations(best: Sequence[Unseen], positive: Any) -> tuple[Figure, ...]:
    """A reliability diagram a learner: of the positive class, or of the most probable one where there are several."""
    return tuple(_calibration(one, positive, i) for i, one in enumerate(best))


def fits(best: Sequence[Unseen], target: str) -> tuple[Figure, ...]:
    """Target against prediction, and residuals, for each learner."""
    return tuple(figure for i, one in enumerate(best) for figure in _fit(one, target, i))


def importance(found: Sequence[Importance], title: str) -> Figure:
    """The columns that matter most, with intervals."""
    shown = found[:IMPORTANT]
    bars = [Bar(_cut(one.column), *_of(one.rise)) for one in shown]
    ends = [end for bar in bars for end in (bar.low, bar.high, 0.0) if np.isfinite(end)]
    said = "; ".join(f"{one.column} {one.rise.mean:.3g}" for one in shown)
    rest = f" {len(found) - len(shown)} others matter less." if len(found) > len(shown) else ""
    return drawn(
        "importance",
        lambda ax: forest(bars, f"worse {title} when shuffled", within=(min(ends), max(ends)), ax=ax),
        f"Importance of columns, as the rise of the loss when shuffled: {said}.{rest}",
        f"Means over the folds of the first repeat, with 95 % intervals.{rest}",
        width=4.2,
        height=0.7 + 0.24 * len(bars),
    )


def learning(found: Curve, name: str, score: Score) -> Figure:
    """The learning curve of the winner."""
    test, train = found.test.mean(axis=1), found.train.mean(axis=1)
    said = "; ".join(f"{n} rows: {a:.3g}, training {b:.3g}" for n, a, b in zip(found.values, test, train, strict=True))
    better = "rises" if score.larger_is_better else "falls"
    return drawn(
        "learning",
        lambda ax: curves.curve(found, best=False, loss=score.title, ax=ax),
        f"Learning curve of {name}, {score.title} on unseen rows: {said}.",
        f"{name} with the settings chosen on all training rows. Where the curve of unseen rows still {better} at the "
        "right end, more rows would help; where the two curves have met, they would not.",
        width=4.2,
        height=2.9,
    )


def cut_of(one: Unseen, positive: Any, costs: Costs) -> Threshold:
    """The threshold that costs least on rows the models had not seen."""
    return sweep(one.y, one.of_class(positive), positive=positive).best(costs)


def _window(results: Results) -> tuple[float, float]:
    """What to show of the axis: all that is not far worse than the best baseline."""
    score, judged = results.score, results.judged
    loss = {j.name: score.loss(j.estimates[score.name].mean) for j in judged}
    least = [loss[j.name] for j in judged if j.outcome.learner.baseline] or list(loss.values())
    far = loss[judged[0].name] + 2.0 * max(min(least) - loss[judged[0].name], 0.0)
    near = [j for j in judged if loss[j.name] <= far] or [judged[0]]
    numbers = [end for j in near for end in (j.estimates[score.name].low, j.estimates[score.name].high)]
    numbers += [value for j in near if (value := trained(j, score.name)) is not None]
    finite = [value for value in numbers if np.isfinite(value)]
    return min(finite), max(finite)


def _of(estimate: Any) -> tuple[float, float, float]:
    return estimate.mean, estimate.low, estimate.high


def _correlation(one: Unseen) -> float:
    return float(np.nan_to_num(correlation(one.y, one.predicted)))  # of a constant there is none: shown as zero


def _cut(name: str) -> str:
    return name if len(name) <= NAME else name[: NAME - 1] + "…"


def _confusion(one: Unseen, labels: np.ndarray, index: int) -> Figure:
    counts = confusion_matrix(one.y, one.predicted, labels=labels)
    cells = [(a, b, counts[i, j]) for i, a in enumerate(labels) for j, b in enumerate(labels) if counts[i, j]]
    said = "; ".join(f"true {a}, predicted {b}: {n}" for a, b, n in cells)
    side = 3.3 if len(labels) <= FEW else 4.8
    return drawn(
        f"confusion{index}",
        lambda ax: judgement.confusion(one.y, one.predicted, labels=labels, ax=ax),
        f"Confusion matrix of {one.name}. {said}.",
        f"{one.name}: {np.trace(counts):,} of {counts.sum():,} rows right. Shares are of the true class.",
        width=side,
        height=side,
    )


def _calibration(one: Unseen, positive: Any, index: int) -> Figure:
    if positive is None:
        hit, sure = confidence(one.y, one.proba, one.classes)
    else:
        hit, sure = one.y == positive, one.of_class(positive)
    diagram = reliability(np.asarray(hit, dtype=int), sure)
    share = "share that is right" if positive is None else f"share of {_cut(str(positive))}"
    return drawn(
        f"calibration{index}",
        lambda ax: judgement.reliability(diagram, index=index, ax=ax).set_ylabel(share),
        f"Reliability diagram of {one.name}: expected calibration error {diagram.expected_error:.3f}, largest gap "
        f"{diagram.largest_error:.3f}.",
        f"{one.name}. On the dashed line probabilities mean what they say; bars show where the rows are.",
    )


def _fit(one: Unseen, target: str, index: int) -> tuple[Figure, Figure]:
    error = root_mean_squared_error(one.y, one.predicted)
    step = np.linspace(0, len(one.y) - 1, min(POINTS, len(one.y))).astype(int)
    y, predicted = one.y[step], one.predicted[step]
    few = f" {len(step):,} of {len(one.y):,} rows are drawn." if len(step) < len(one.y) else ""
    return (
        drawn(
            f"against{index}",
            lambda ax: curves.agreement(y, predicted, ax=ax),
            f"True {target} against what {one.name} predicted; correlation {_correlation(one):.3f}.",
            f"{one.name}: {target} against its prediction; on the line it is right.{few}",
        ),
        drawn(
            f"residuals{index}",
            lambda ax: curves.residuals(y, predicted, ax=ax),
            f"Residuals of {one.name} against its predictions; root mean squared error {error:.3g}.",
            f"{one.name}: what is left, against the prediction. A bend or a fan is something still to learn.",
        ),
    )
