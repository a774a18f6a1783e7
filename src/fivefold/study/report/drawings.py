"""The figures of a report, drawn from predictions on rows that no model had seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, confusion_matrix, roc_auc_score, root_mean_squared_error

from fivefold.evaluation.calibration import confidence, reliability
from fivefold.evaluation.thresholds import Costs, Threshold, sweep
from fivefold.plot import curves, judgement
from fivefold.plot.forest import Bar, forest
from fivefold.plot.table import INSIDE, SMALL, distribution, levels, missing_map
from fivefold.study.data import Column, Data
from fivefold.study.plan import Plan
from fivefold.study.report.blocks import Figure
from fivefold.study.report.svg import drawn
from fivefold.study.report.words import both
from fivefold.study.results import Judged, Results

POINTS = 1500  # of a scatter plot
CLASSES = 8  # curves of one against the rest
MATRIX = 16  # classes of a confusion matrix that can be read
GROUPS = 6  # classes whose distributions are drawn apart
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
        proba = None if folds[0].proba is None else np.concatenate([fold.proba for fold in folds])  # type: ignore[misc]
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
    found = []
    for i, one in enumerate(best):
        labels = np.unique(np.concatenate([one.y, one.predicted]))
        if len(labels) > MATRIX:
            return ()
        counts = confusion_matrix(one.y, one.predicted, labels=labels)
        said = "; ".join(
            f"true {a}, predicted {b}: {counts[k, m]}"
            for k, a in enumerate(labels)
            for m, b in enumerate(labels)
            if counts[k, m]
        )
        side = 3.3 if len(labels) <= 6 else 4.8
        found.append(
            drawn(
                f"confusion{i}",
                lambda ax, one=one, labels=labels: judgement.confusion(one.y, one.predicted, labels=labels, ax=ax),
                f"Confusion matrix of {one.name}. {said}.",
                f"{one.name}: {np.trace(counts):,} of {counts.sum():,} rows right. Shares are of the true class.",
                width=side,
                height=side,
            )
        )
    return tuple(found)


def calibrations(best: Sequence[Unseen], positive: Any) -> tuple[Figure, ...]:
    """A reliability diagram a learner: of the positive class, or of the most probable one where there are several."""
    found, share = [], "share that is right" if positive is None else f"share of {_cut(str(positive))}"
    for i, one in enumerate(best):
        assert one.classes is not None
        hit, sure = (
            (one.y == positive, one.of_class(positive))
            if positive is not None
            else confidence(one.y, one.proba, one.classes)
        )
        diagram = reliability(np.asarray(hit, dtype=int), sure)
        found.append(
            drawn(
                f"calibration{i}",
                lambda ax, diagram=diagram, i=i: judgement.reliability(diagram, index=i, ax=ax).set_ylabel(share),
                f"Reliability diagram of {one.name}: expected calibration error {diagram.expected_error:.3f}, largest "
                f"gap {diagram.largest_error:.3f}.",
                f"{one.name}. On the dashed line probabilities mean what they say; bars show where the rows are.",
            )
        )
    return tuple(found)


def fits(best: Sequence[Unseen], target: str) -> tuple[Figure, ...]:
    """Target against prediction, and residuals, for each learner."""
    found = []
    for i, one in enumerate(best):
        error = root_mean_squared_error(one.y, one.predicted)
        step = np.linspace(0, len(one.y) - 1, min(POINTS, len(one.y))).astype(int)
        y, predicted = one.y[step], one.predicted[step]
        few = f" {len(step):,} of {len(one.y):,} rows are drawn." if len(step) < len(one.y) else ""
        found += [
            drawn(
                f"against{i}",
                lambda ax, y=y, predicted=predicted: curves.agreement(y, predicted, ax=ax),
                f"True {target} against what {one.name} predicted; correlation {_correlation(one):.3f}.",
                f"{one.name}: {target} against its prediction; on the line it is right.{few}",
            ),
            drawn(
                f"residuals{i}",
                lambda ax, y=y, predicted=predicted: curves.residuals(y, predicted, ax=ax),
                f"Residuals of {one.name} against its predictions; root mean squared error {error:.3g}.",
                f"{one.name}: what is left, against the prediction. A bend or a fan is something still to learn.",
            ),
        ]
    return tuple(found)


def columns(data: Data, rows: np.ndarray, shown: Sequence[Column], classes: np.ndarray | None) -> tuple[Figure, ...]:
    """A small figure a column."""
    y = data.y[rows]
    groups = [] if classes is None or len(classes) > GROUPS else [y == label for label in classes]
    return tuple(_column(data, rows, column, groups, i) for i, column in enumerate(shown))


def target(data: Data, rows: np.ndarray) -> Figure:
    """How the target is distributed."""
    y = data.y[rows]
    if data.task == "regression":
        said = f"{data.target}: mean {y.mean():.4g}, standard deviation {y.std():.4g}, {y.min():.4g} to {y.max():.4g}"
        return drawn(
            "target", lambda ax: distribution(y, ax=ax), said + ".", said, width=3.2, height=1.5, inside=INSIDE
        )
    labels, sizes = np.unique(y, return_counts=True)
    counts = {f"{label}  {n}": int(n) for label, n in zip(labels, sizes, strict=True)}
    said = "; ".join(f"{label}: {n} rows" for label, n in zip(labels, sizes, strict=True))
    height = 0.3 + 0.2 * min(8, len(labels))
    return drawn(
        "target",
        lambda ax: levels(counts, coloured=len(labels) <= GROUPS, ax=ax),
        f"Classes of {data.target}. {said}.",
        f"Rows of each class of {data.target}.",
        width=3.2,
        height=height,
        inside=(0.01, 0.02, 0.98, 0.96),
    )


def holes(data: Data, most: int) -> tuple[Figure, int]:
    """The map of missing values, of the columns that have most of them, and how many columns have any."""
    masks = {column.name: missing(data, column.name) for column in data.columns if column.missing}
    shown = dict(sorted(masks.items(), key=lambda item: -item[1].sum())[:most])
    said = "; ".join(f"{name} {mask.mean():.1%}" for name, mask in shown.items())
    figure = drawn(
        "missing",
        lambda ax: missing_map(shown, ax=ax),
        f"Missing values by column: {said}.",
        "Where values are missing, rows in the order of the table; the darker, the more. Stripes that run through "
        "several columns say that the holes come together.",
        width=4.8,
        height=0.7 + 0.22 * len(shown),
    )
    return figure, len(masks)


def missing(data: Data, name: str) -> np.ndarray:
    """Where a column has no value."""
    series = data.X[name]
    gone = series.is_null()
    return np.asarray((gone | series.is_nan().fill_null(True)) if series.dtype.is_float() else gone, dtype=bool)


def cut_of(one: Unseen, positive: Any, costs: Costs) -> Threshold:
    """The threshold that costs least on rows the models had not seen."""
    return sweep(one.y, one.of_class(positive), positive=positive).best(costs)


def _column(data: Data, rows: np.ndarray, column: Column, groups: list[np.ndarray], index: int) -> Figure:
    series, gone = data.X[column.name], missing(data, column.name)[rows]
    size = {"width": SMALL[0], "height": SMALL[1], "inside": INSIDE}
    lost = f", {gone.mean():.1%} missing" if gone.any() else ""
    if series.dtype.is_numeric():
        values = series.to_numpy()[rows].astype(float)
        seen = values[np.isfinite(values)]
        said = f"{column.name}: {column.kind}, mean {seen.mean():.3g}, {seen.min():.3g} to {seen.max():.3g}{lost}"
        return drawn(
            f"column{index}", lambda ax: distribution(values, groups, ax=ax), said, f"{column.name}{lost}", **size
        )  # type: ignore[arg-type]
    known = [str(value) for value, lost_ in zip(series.gather(rows).to_list(), gone, strict=True) if not lost_]
    labels, sizes = np.unique(known, return_counts=True)
    counts = dict(zip(labels.tolist(), sizes.tolist(), strict=True))
    most = labels[sizes.argmax()] if len(labels) else "none"
    said = f"{column.name}: {column.kind}, {len(labels)} levels, most often {most}{lost}"
    return drawn(
        f"column{index}", lambda ax: levels(counts, ax=ax), said, f"{column.name} ({column.kind}){lost}", **size
    )  # type: ignore[arg-type]


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
    constant = np.ptp(one.y) == 0 or np.ptp(one.predicted) == 0
    return 0.0 if constant else float(np.corrcoef(one.y, one.predicted)[0, 1])


def _cut(name: str) -> str:
    return name if len(name) <= NAME else name[: NAME - 1] + "…"
