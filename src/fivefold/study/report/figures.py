"""The figures of a report that show predictions for unseen rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.metrics import average_precision_score, confusion_matrix, roc_auc_score, root_mean_squared_error

from fivefold.evaluation.calibration import confidence, reliability
from fivefold.evaluation.comparison.estimate import Estimate
from fivefold.evaluation.curves import LossCurve
from fivefold.evaluation.metrics import pearson_correlation
from fivefold.evaluation.protocols import Label
from fivefold.evaluation.scores import Score
from fivefold.evaluation.thresholds import ChosenThreshold, Costs, sweep_thresholds
from fivefold.plot import classification, curves
from fivefold.plot.forest_plot import ForestRow, forest
from fivefold.plot.style import shorten
from fivefold.study.formatting import join_names, shorten_name
from fivefold.study.judging.inspection import ColumnImportance
from fivefold.study.judging.learner_fit import mean_train_score
from fivefold.study.judging.results import LearnerResult, Results
from fivefold.study.planning.plan import Plan
from fivefold.study.report.blocks import Figure
from fivefold.study.report.svg import draw_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_IMPORTANCES = 20  # columns whose importance is drawn
MAX_SCATTER_POINTS = 1500  # points in a scatter plot
MAX_CLASS_CURVES = 8  # classes with a curve against the rest
MAX_MATRIX_CLASSES = 16  # with more classes a confusion matrix cannot be read
MAX_SMALL_MATRIX = 6  # with more classes a confusion matrix needs a large figure
MAX_NAME_LETTERS = 22  # characters of a name in a legend
MAX_LEARNER_LETTERS = 32  # characters of a learner's name beside the scores


@dataclass(frozen=True)
class OutOfFoldPredictions:
    """Every row once, predicted by the model of the first repeat that was not trained on it."""

    name: str
    rows: np.ndarray
    y: np.ndarray
    predicted: np.ndarray
    proba: np.ndarray | None
    classes: np.ndarray | None

    @classmethod
    def of(cls, judged: LearnerResult, plan: Plan) -> OutOfFoldPredictions:
        """From the folds of a learner."""
        folds = [fold for fold in judged.outcome.folds if fold.repeat == 0]
        rows = np.concatenate([fold.test for fold in folds])
        proba = None if folds[0].proba is None else np.concatenate([fold.proba for fold in folds])
        predicted = np.concatenate([fold.predicted for fold in folds])
        return cls(
            name=judged.name,
            rows=rows,
            y=plan.data.y[rows],
            predicted=predicted,
            proba=proba,
            classes=plan.classes,
        )

    def of_class(self, label: Label) -> np.ndarray:
        """Probabilities of a class."""
        assert self.proba is not None and self.classes is not None
        return self.proba[:, int(np.flatnonzero(self.classes == label)[0])]


def score_figure(results: Results) -> Figure:
    """The leaderboard as a forest plot."""
    score, judged = results.score, results.judged
    bars = [
        ForestRow(
            shorten_name(j.name, MAX_LEARNER_LETTERS),
            *_mean_and_interval(j.estimates[score.name]),
            mean_train_score(j, score.name),
            "best" if i == 0 else "soft" if j.outcome.learner.baseline else "",
        )
        for i, j in enumerate(judged)
    ]
    if results.inside is not None:
        bars.insert(
            1,
            ForestRow("best, chosen inside", *_mean_and_interval(results.inside.estimates[score.name]), None, "other"),
        )
    low, high = score_window(results)
    cut = any(not low <= value <= high for bar in bars for value in (bar.mean, bar.low, bar.high))
    rest = " The axis covers the learners; an arrow points to what lies beyond it." if cut else ""
    better = "larger is better" if score.larger_is_better else "smaller is better"
    said = "; ".join(f"{bar.name} {bar.mean:.3g} ({bar.low:.3g} to {bar.high:.3g})" for bar in bars)
    return draw_figure(
        "forest",
        lambda ax: forest(
            bars,
            f"{score.title}, {better}",
            within=(low, high),
            beside="on training rows (optimistic)",
            ax=ax,
        ),
        f"Mean {score.title} of each learner with its 95 % interval: {said}.",
        f"Mean {score.title} over {len(results.plan.splits)} splits with 95 % intervals. Grey squares are baselines."
        f"{rest}",
        width=4.2,
        height=0.95 + 0.24 * len(bars),
    )


def roc_figures(best: Sequence[OutOfFoldPredictions], positive: Label, cut: ChosenThreshold) -> tuple[Figure, ...]:
    """ROC and precision-recall of two classes, the best learners on the same axes."""

    def draw(curve: Callable[..., Axes]) -> Callable[[Axes], None]:
        def on(ax: Axes) -> None:
            for i, one in enumerate(best):
                at = cut.threshold if i == 0 and np.isfinite(cut.threshold) else None
                curve(
                    one.y,
                    one.of_class(positive),
                    positive=positive,
                    threshold=at,
                    name=shorten(one.name, MAX_NAME_LETTERS),
                    index=i,
                    ax=ax,
                )

        return on

    areas = join_names([f"{one.name} {roc_auc_score(one.y == positive, one.of_class(positive)):.3f}" for one in best])
    average = join_names(
        [f"{one.name} {average_precision_score(one.y == positive, one.of_class(positive)):.3f}" for one in best]
    )
    return (
        draw_figure(
            "roc", draw(classification.roc), f"ROC curves. Areas: {areas}.", f"ROC: class {positive} against the other."
        ),
        draw_figure(
            "pr",
            draw(classification.precision_recall),
            f"Precision against recall. Average precision: {average}.",
            "Precision and recall; dashed: the share of the class.",
        ),
    )


def class_roc_figures(one: OutOfFoldPredictions) -> tuple[Figure, ...]:
    """ROC and precision-recall of every class against the rest, for one learner."""
    assert one.classes is not None
    labels, sizes = np.unique(one.y, return_counts=True)
    shown = labels[np.sort(np.argsort(-sizes, kind="stable")[:MAX_CLASS_CURVES])]

    def draw(curve: Callable[..., Axes]) -> Callable[[Axes], None]:
        def on(ax: Axes) -> None:
            for i, label in enumerate(shown):
                curve(
                    one.y,
                    one.of_class(label),
                    positive=label,
                    name=shorten(str(label), MAX_NAME_LETTERS),
                    index=i,
                    ax=ax,
                )

        return on

    areas = join_names([f"{label} {roc_auc_score(one.y == label, one.of_class(label)):.3f}" for label in shown])
    which = "each class" if len(shown) == len(labels) else f"each of the {MAX_CLASS_CURVES} largest classes"
    return (
        draw_figure(
            "roc",
            draw(classification.roc),
            f"ROC curves of {one.name}, {which} against the rest. Areas: {areas}.",
            f"ROC of {one.name}: {which} against the rest.",
        ),
        draw_figure(
            "pr",
            draw(classification.precision_recall),
            f"Precision against recall of {one.name}, {which} against the rest.",
            f"Precision and recall of {one.name}: {which} against the rest.",
        ),
    )


def confusion_figures(best: Sequence[OutOfFoldPredictions]) -> tuple[Figure, ...]:
    """One confusion matrix per learner; none if there are too many classes to be read."""
    labels = np.unique(np.concatenate([part for one in best for part in (one.y, one.predicted)]))
    return tuple(_confusion(one, labels, i) for i, one in enumerate(best)) if len(labels) <= MAX_MATRIX_CLASSES else ()


def calibration_figures(best: Sequence[OutOfFoldPredictions], positive: Label | None) -> tuple[Figure, ...]:
    """One reliability diagram per learner: of the positive class or, with several classes, of the most probable one."""
    return tuple(_calibration(one, positive, i) for i, one in enumerate(best))


def regression_figures(best: Sequence[OutOfFoldPredictions], target: str) -> tuple[Figure, ...]:
    """Target against prediction, and residuals, for each learner."""
    return tuple(figure for i, one in enumerate(best) for figure in _fit(one, target, i))


def importance_figure(found: Sequence[ColumnImportance], title: str) -> Figure:
    """The columns that matter most, with intervals."""
    shown = found[:MAX_IMPORTANCES]
    bars = [ForestRow(shorten(one.column, MAX_NAME_LETTERS), *_mean_and_interval(one.rise)) for one in shown]
    ends = [end for bar in bars for end in (bar.low, bar.high, 0.0) if np.isfinite(end)]
    said = "; ".join(f"{one.column} {one.rise.mean:.3g}" for one in shown)
    rest = f" {len(found) - len(shown)} others matter less." if len(found) > len(shown) else ""
    return draw_figure(
        "importance",
        lambda ax: forest(bars, f"worse {title} when shuffled", within=(min(ends), max(ends)), ax=ax),
        f"Importance of columns, as the rise of the loss when shuffled: {said}.{rest}",
        f"Means over the folds of the first repeat, with 95 % intervals.{rest}",
        width=4.2,
        height=0.7 + 0.24 * len(bars),
    )


def learning_figure(found: LossCurve, name: str, score: Score) -> Figure:
    """The learning curve of the winner."""
    test, train = found.test.mean(axis=1), found.train.mean(axis=1)
    said = "; ".join(f"{n} rows: {a:.3g}, training {b:.3g}" for n, a, b in zip(found.values, test, train, strict=True))
    better = "rises" if score.larger_is_better else "falls"
    return draw_figure(
        "learning",
        lambda ax: curves.curve(found, best=False, loss=score.title, ax=ax),
        f"Learning curve of {name}, {score.title} on unseen rows: {said}.",
        f"{name} with the settings chosen on all training rows. Where the curve of unseen rows still {better} at the "
        "right end, more rows help; where the two curves have met, they do not.",
        width=4.2,
        height=2.9,
    )


def best_threshold(one: OutOfFoldPredictions, positive: Label, costs: Costs) -> ChosenThreshold:
    """The threshold with the least cost on unseen rows."""
    return sweep_thresholds(one.y, one.of_class(positive), positive=positive).best(costs)


def score_window(results: Results) -> tuple[float, float]:
    """The range of the axis: that of the learners which beat every baseline, or of all learners if none does.

    An interval extends the axis by no more than the range of the means or the median width, so that a single wide one
    does not flatten the rest.
    """
    score = results.score
    learners = [j.estimates[score.name] for j in results.judged if not j.outcome.learner.baseline]
    least = min((score.loss(j.estimates[score.name].mean) for j in results.baselines), default=np.inf)
    near = [found for found in learners if score.loss(found.mean) < least] or learners
    near = near or [j.estimates[score.name] for j in results.judged]
    means = [found.mean for found in near]
    room = max(max(means) - min(means), float(np.median([found.high - found.low for found in near])))
    ends = [np.clip(end, min(means) - room, max(means) + room) for found in near for end in (found.low, found.high)]
    finite = [float(value) for value in (*means, *ends) if np.isfinite(value)]
    return max(min(finite), score.low), min(max(finite), score.high)


def _mean_and_interval(estimate: Estimate) -> tuple[float, float, float]:
    return estimate.mean, estimate.low, estimate.high


def _correlation(one: OutOfFoldPredictions) -> float:
    return float(np.nan_to_num(pearson_correlation(one.y, one.predicted)))  # undefined for a constant: shown as zero


def _confusion(one: OutOfFoldPredictions, labels: np.ndarray, index: int) -> Figure:
    counts = confusion_matrix(one.y, one.predicted, labels=labels)
    cells = [(a, b, counts[i, j]) for i, a in enumerate(labels) for j, b in enumerate(labels) if counts[i, j]]
    said = "; ".join(f"true {a}, predicted {b}: {n}" for a, b, n in cells)
    side = 3.3 if len(labels) <= MAX_SMALL_MATRIX else 4.8
    return draw_figure(
        f"confusion{index}",
        lambda ax: classification.confusion(one.y, one.predicted, labels=labels, ax=ax),
        f"Confusion matrix of {one.name}. {said}.",
        f"{one.name}: {np.trace(counts):,} of {counts.sum():,} rows are right. Shares are of the true class.",
        width=side,
        height=side,
    )


def _calibration(one: OutOfFoldPredictions, positive: Label | None, index: int) -> Figure:
    if positive is None:
        hit, sure = confidence(one.y, one.proba, one.classes)
    else:
        hit, sure = one.y == positive, one.of_class(positive)
    diagram = reliability(np.asarray(hit, dtype=int), sure)
    share = "share that is right" if positive is None else f"share of {shorten(str(positive), MAX_NAME_LETTERS)}"
    return draw_figure(
        f"calibration{index}",
        lambda ax: classification.reliability(diagram, index=index, ax=ax).set_ylabel(share),
        f"Reliability diagram of {one.name}: expected calibration error {diagram.expected_error:.3f}, largest gap "
        f"{diagram.largest_error:.3f}.",
        f"{one.name}. On the dashed line, probabilities are calibrated; bars show how many rows there are.",
    )


def _fit(one: OutOfFoldPredictions, target: str, index: int) -> tuple[Figure, Figure]:
    error = root_mean_squared_error(one.y, one.predicted)
    step = np.linspace(0, len(one.y) - 1, min(MAX_SCATTER_POINTS, len(one.y))).astype(int)
    y, predicted = one.y[step], one.predicted[step]
    few = f" {len(step):,} of {len(one.y):,} rows are drawn." if len(step) < len(one.y) else ""
    return (
        draw_figure(
            f"against{index}",
            lambda ax: curves.agreement(y, predicted, ax=ax),
            f"True {target} against the prediction of {one.name}; correlation {_correlation(one):.3f}.",
            f"{one.name}: {target} against its prediction; points on the line are predicted exactly.{few}",
        ),
        draw_figure(
            f"residuals{index}",
            lambda ax: curves.residuals(y, predicted, ax=ax),
            f"Residuals of {one.name} against its predictions; root mean squared error {error:.3g}.",
            f"{one.name}: residuals against the prediction. A bend or a fan means that there is more to learn.",
        ),
    )
