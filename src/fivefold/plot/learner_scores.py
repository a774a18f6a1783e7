"""Learners beside each other: their scores on every split, their scores against their time, and all differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fivefold.core.types import Mask, Matrix, Vector
from fivefold.plot.style import COLOURS, DIVERGING, GREY, INK, LIGHT_GREY, axes, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CELL_LETTERS_DARK = 0.6  # share of the largest difference above which a cell is dark and its number white
LABEL_GAP = 0.055  # between the heights of two labels, as a share of the range of scores
MIN_SECONDS = 1e-4  # shorter times are drawn as this: the axis is logarithmic


def split_strips(
    names: Sequence[str],
    scores: Matrix,
    title: str,
    *,
    within: tuple[float, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """One line per learner with a mark per split, scores (learners, splits); a grey line joins the marks of a split.

    Lines that do not cross mean that the order of the learners is the same on every split. Marks outside `within` are
    left out.
    """
    ax = axes(ax, x=title)
    values, lines = np.asarray(scores, dtype=float), np.arange(len(names))
    for split in values.T:
        ax.plot(split, lines, color=LIGHT_GREY, lw=0.8, zorder=1)
    for i, row in enumerate(values):
        ink = COLOURS[2] if i == 0 else COLOURS[0]
        ax.scatter(row, np.full(len(row), i), s=16, color=ink, alpha=0.65, lw=0, zorder=2)
        ax.plot([row.mean()] * 2, [i - 0.3, i + 0.3], color=INK, lw=1.4, zorder=3)
    if within is not None:
        pad = 0.04 * (within[1] - within[0]) or 1.0
        ax.set_xlim(within[0] - pad, within[1] + pad)
    ax.set_yticks(lines, list(names))
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax


def score_against_time(
    names: Sequence[str],
    seconds: Sequence[float] | Vector,
    scores: Sequence[float] | Vector,
    title: str,
    *,
    larger_is_better: bool,
    ax: Axes | None = None,
) -> Axes:
    """Mean score against the time of one fit; a line joins the learners that no other beats in both."""
    from matplotlib.ticker import LogLocator

    ax = axes(ax, x="seconds to fit", y=title)
    x, y = np.maximum(np.asarray(seconds, dtype=float), MIN_SECONDS), np.asarray(scores, dtype=float)
    front = pareto_front(x, -y if larger_is_better else y)
    ax.set_xscale("log")
    ax.grid(color=LIGHT_GREY, lw=0.8)
    ax.plot(x[front], y[front], color=GREY, lw=1, ls=(0, (4, 3)), label="no other is faster and better", zorder=1)
    ax.scatter(x, y, s=22, color=[COLOURS[0] if i in front else GREY for i in range(len(x))], lw=0, zorder=2)
    middle = float(np.sqrt(x.min() * x.max()))
    heights = spread_heights(y, LABEL_GAP * (float(np.ptp(y)) or 1.0))
    for i, name in enumerate(names):
        left = x[i] <= middle
        ax.annotate(
            name,
            (x[i], heights[i]),
            (5 if left else -5, 0),
            textcoords="offset points",
            ha="left" if left else "right",
            va="center",
            fontsize=7,
            color=INK,
        )
    ax.set_ylim(top=max(ax.get_ylim()[1], float(heights.max()) + LABEL_GAP * float(np.ptp(y))))
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    ax.xaxis.set_major_formatter("{x:g}")  # without mathematics, which stays text in a page
    ax.xaxis.set_minor_formatter("")
    legend(ax, loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2)
    return ax


def spread_heights(heights: Vector, gap: float) -> Vector:
    """Heights for labels: raised where needed, so that each is at least `gap` above the one below it.

    Examples
    --------
    >>> spread_heights(np.array([3.0, 1.0, 1.2]), 0.5)
    array([3. , 1. , 1.5])
    """
    spread, least = np.array(heights, dtype=float), -np.inf
    for i in np.argsort(spread, kind="stable"):
        spread[i] = max(spread[i], least)
        least = spread[i] + gap
    return spread


def pareto_front(first: Vector, second: Vector) -> list[int]:
    """Indices of the points that no other point is below in both, in the order of the first number.

    Examples
    --------
    >>> pareto_front(np.array([1.0, 2.0, 3.0, 4.0]), np.array([5.0, 6.0, 2.0, 2.0]))
    [0, 2]
    """
    front, least = list[int](), np.inf
    for i in np.lexsort((second, first)):
        if second[i] < least:
            front.append(int(i))
            least = float(second[i])
    return front


def difference_matrix(
    names: Sequence[str], differences: Matrix, significant: Mask, title: str, *, ax: Axes | None = None
) -> Axes:
    """The loss of the row minus that of the column, (learners, learners); bold where the difference is significant."""
    values = np.asarray(differences, dtype=float)
    most = float(np.abs(values).max()) or 1.0
    if ax is None:
        import matplotlib.pyplot as plt

        side = 1.4 + 0.5 * len(names)
        _, ax = plt.subplots(figsize=(side, side), layout="constrained")
    ax = axes(ax, x=title)
    ax.imshow(values, cmap=DIVERGING, vmin=-most, vmax=most, aspect="auto")
    for i in range(len(names)):
        for j in range(len(names)):
            if i != j:
                dark = abs(values[i, j]) > CELL_LETTERS_DARK * most
                weight = "bold" if significant[i, j] else "normal"
                ink = "white" if dark else INK if significant[i, j] else "#5c5c5c"
                text = f"{values[i, j]:.2g}"
                ax.text(j, i, text, ha="center", va="center", fontsize=7, color=ink, weight=weight)
    ax.set_xticks(range(len(names)), list(names), rotation=45, ha="right", rotation_mode="anchor", fontsize=7)
    ax.set_yticks(range(len(names)), list(names), fontsize=7)
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)
    return ax
