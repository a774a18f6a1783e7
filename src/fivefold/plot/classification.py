"""How well a classifier does: ROC, precision and recall, confusion, reliability, errors against rejections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import auc, average_precision_score, confusion_matrix, precision_recall_curve, roc_curve

from fivefold.core.types import Mask, UserTarget
from fivefold.decision.minimum_risk import ErrorRejectCurve
from fivefold.evaluation.calibration import Reliability
from fivefold.evaluation.metrics import ConfusionCounts, DensityROC, is_positive
from fivefold.evaluation.protocols import Label
from fivefold.plot.style import GREY, INK, LIGHT_GREY, SEQUENTIAL, axes, axes_row, colour, legend, marker

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TAIL_PROBABILITY = 1e-3  # probability that the figure leaves out at either end of a density
DARK_SHARE = 0.55  # cells whose share of their row is above this are dark: their text is white


def roc(
    y: UserTarget,
    scores: ArrayLike,
    *,
    positive: Label | None = None,
    threshold: float | None = None,
    name: str = "",
    index: int = 0,
    ax: Axes | None = None,
) -> Axes:
    """True positive rate against false positive rate at every threshold, with a mark at the threshold in use.

    `name` and `index` label and colour one of several curves on the same axes.
    """
    hit = is_positive(y, positive)
    fpr, tpr, _ = roc_curve(hit, scores, drop_intermediate=False)
    ax = _unit_axes(ax, "false positive rate", "true positive rate")
    ax.plot([0, 1], [0, 1], color=GREY, lw=1, ls=(0, (4, 3)))
    ax.plot(fpr, tpr, color=colour(index), lw=1.8, label=f"{name} area {auc(fpr, tpr):.3f}".strip())
    if threshold is not None:
        at = _counts_above(hit, scores, threshold)
        _mark_point(ax, float(at.false_positive_rate), float(at.recall), index, f"positive from {threshold:.3g}")
    legend(ax, loc="lower right")
    return ax


def precision_recall(
    y: UserTarget,
    scores: ArrayLike,
    *,
    positive: Label | None = None,
    threshold: float | None = None,
    name: str = "",
    index: int = 0,
    ax: Axes | None = None,
) -> Axes:
    """Precision against recall, in steps; the dashed line is the share of positives, what a random guess attains."""
    hit = is_positive(y, positive)
    precision, recall, _ = precision_recall_curve(hit, scores)
    area = average_precision_score(hit, scores)
    ax = _unit_axes(ax, "recall", "precision")
    ax.axhline(hit.mean(), color=GREY, lw=1, ls=(0, (4, 3)))
    # Between two recalls precision is that of the larger one: the area under these steps is the average precision.
    ax.step(recall, precision, where="post", color=colour(index), lw=1.8, label=f"{name} average {area:.3f}".strip())
    if threshold is not None:
        at = _counts_above(hit, scores, threshold)
        _mark_point(ax, float(at.recall), float(at.precision), index, f"positive from {threshold:.3g}")
    legend(ax, loc="lower left")
    return ax


def class_densities(
    densities: DensityROC,
    threshold: float,
    *,
    names: tuple[str, str] = ("negative", "positive"),
    panels: Sequence[Axes] | None = None,
) -> list[Axes]:
    """Densities of a score in two classes with a threshold, and next to them its point on the ROC curve.

    For a sample, use the densities scipy.stats.rv_histogram(numpy.histogram(values)).
    """
    left, right = axes_row(2, panels, width=4.0, height=3.4)
    pair = densities.negative, densities.positive
    low = min(density.ppf(TAIL_PROBABILITY) for density in pair)
    high = max(density.isf(TAIL_PROBABILITY) for density in pair)
    x = np.linspace(low, high, 401)
    axes(left, x="score", y="density")
    for k, (density, name) in enumerate(zip(pair, names, strict=True)):
        share = float(density.sf(threshold))
        left.plot(x, density.pdf(x), color=colour(k), lw=1.8, label=f"{name}: {share:.1%} above")
        above = x >= threshold
        left.fill_between(x[above], density.pdf(x[above]), color=colour(k), alpha=0.25, lw=0)
    left.axvline(threshold, color=INK, lw=1.2)
    left.set_ylim(0, 1.3 * left.get_ylim()[1])  # room for the legend
    legend(left, loc="upper left")
    fpr, tpr, _ = densities.curve()
    _unit_axes(right, "false positive rate", "true positive rate")
    right.plot([0, 1], [0, 1], color=GREY, lw=1, ls=(0, (4, 3)))
    right.plot(fpr, tpr, color=INK, lw=1.8, label=f"area {densities.area:.3f}")
    across, up = densities.at(threshold)
    _mark_point(right, float(across), float(up), 1, f"threshold {threshold:.3g}")
    legend(right, loc="lower right")
    return [left, right]


def confusion(y: UserTarget, predicted: UserTarget, *, labels: ArrayLike | None = None, ax: Axes | None = None) -> Axes:
    """Rows are true classes, columns predicted ones: counts, and their share of the row as a shade and in percent."""
    labels = np.unique(np.concatenate([np.asarray(y), np.asarray(predicted)])) if labels is None else np.asarray(labels)
    counts = confusion_matrix(y, predicted, labels=labels)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    ax = axes(ax, x="predicted", y="true", square=True)
    ax.imshow(shares, cmap=SEQUENTIAL, vmin=0, vmax=1.15)
    size = max(5.0, 9.5 - 0.35 * len(labels))
    for (i, j), count in np.ndenumerate(counts):
        text = f"{count}\n{shares[i, j]:.0%}" if count else "0"
        ink = "white" if shares[i, j] > DARK_SHARE else INK if count else GREY
        ax.text(j, i, text, ha="center", va="center", color=ink, fontsize=size)
    turn: dict[str, Any] = {"rotation": 45, "ha": "right"} if max(len(str(label)) for label in labels) > 4 else {}
    ax.set_xticks(range(len(labels)), [str(label) for label in labels], **turn)
    ax.set_yticks(range(len(labels)), [str(label) for label in labels])
    ax.set_aspect("equal", adjustable="box")
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)
    return ax


def reliability(found: Reliability, *, name: str = "", index: int = 0, ax: Axes | None = None) -> Axes:
    """Share of positives against mean probability in every bin, with 95 % intervals; bars show where the rows are."""
    ax = _unit_axes(ax, "predicted probability", "share of positives")
    ax.plot([0, 1], [0, 1], color=GREY, lw=1, ls=(0, (4, 3)))
    heights = 0.12 * found.counts / found.counts.max()
    ax.bar(found.predicted, heights, width=0.02, color=colour(index), alpha=0.3, lw=0)
    ends = np.array([found.observed - found.low, found.high - found.observed]).clip(0)
    ax.errorbar(
        found.predicted,
        found.observed,
        ends,
        color=colour(index),
        marker=marker(index),
        markersize=4,
        lw=1.4,
        elinewidth=0.9,
        label=f"{name} calibration error {found.expected_error:.3f}".strip(),
    )
    legend(ax, loc="upper left", frameon=True, framealpha=0.85, edgecolor="none")
    return ax


def error_reject(found: ErrorRejectCurve, *, name: str = "", index: int = 0, ax: Axes | None = None) -> Axes:
    """Error among the answered rows against the share of rejected ones."""
    ax = axes(ax, x="share of rows rejected", y="error among the others")
    label = f"{name} mean {found.area:.3f}".strip()
    ax.step(found.rejected, found.error, where="post", color=colour(index), lw=1.6, label=label)
    ax.set_xlim(0, 1)
    ax.set_ylim(bottom=0)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:.3g}")
    legend(ax, loc="upper right")
    return ax


def _unit_axes(ax: Axes | None, x: str, y: str) -> Axes:
    """Square axes from 0 to 1."""
    ax = axes(ax, x=x, y=y, square=True)
    ax.set_aspect("equal", adjustable="box")
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
    ax.grid(color=LIGHT_GREY, lw=0.8)
    return ax


def _counts_above(hit: Mask, scores: ArrayLike, threshold: float) -> ConfusionCounts:
    """Right and wrong answers if scores from the threshold on are called positive."""
    return ConfusionCounts.from_labels(hit, np.asarray(scores) >= threshold, positive=True)


def _mark_point(ax: Axes, x: float, y: float, index: int, label: str) -> None:
    ax.plot([x], [y], marker="o", markersize=7, color=colour(index), mec=INK, mew=1.2, ls="", label=label, zorder=5)
