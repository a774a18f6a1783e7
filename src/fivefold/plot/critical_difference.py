"""The critical-difference diagram: mean ranks on a line; bars join learners that are not significantly different.

Demsar (2006), Statistical comparisons of classifiers over multiple data sets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fivefold.evaluation.comparison.friedman import Friedman
from fivefold.plot.style import COLOURS, GREY, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RULER_INCHES = 3.6  # length of the line of ranks
LETTER_INCHES = 0.07  # width of a letter
LINE_HEIGHT = 0.62  # of a name, in data units; the ruler is at 0 and its numbers end at 0.6
BAR_SPACING = 0.22  # from one bar to the next, in data units


def critical_difference(found: Friedman, *, ax: Axes | None = None) -> Axes:
    """Learners by mean rank, the best on the left; a bar joins those within one critical difference of each other."""
    order = np.argsort(found.mean_ranks, kind="stable")
    ranks = np.array(found.mean_ranks)[order]
    names = [found.learners[i] for i in order]
    k, groups = len(names), found.groups
    half = (k + 1) // 2  # this many names are on the left
    first = -0.45 - BAR_SPACING * len(groups)  # where the names begin
    ax = _axes(ax, bottom=first - LINE_HEIGHT * (half - 0.5), k=k, letters=max(map(len, names)))
    gap = 0.03 * (k - 1)
    _ruler(ax, k, found.critical_difference, found.alpha, gap)

    for i, (rank, name) in enumerate(zip(ranks, names, strict=True)):
        left = i < half
        x, y = (1 - 3 * gap, first - LINE_HEIGHT * i) if left else (k + 3 * gap, first - LINE_HEIGHT * (k - 1 - i))
        ax.plot([rank, rank, x], [0, y, y], color=INK, lw=0.9, solid_joinstyle="miter", gid="learner")
        text, side = (f"{name}  {rank:.2f}", "right") if left else (f"{rank:.2f}  {name}", "left")
        ax.text(x - gap / 2 if left else x + gap / 2, y, text, ha=side, va="center", size=9, color=INK)
    where = dict(zip(names, ranks, strict=True))
    for i, group in enumerate(groups):
        ends = [where[group[0]] - gap / 4, where[group[-1]] + gap / 4]
        ax.plot(
            ends, [-0.3 - BAR_SPACING * i] * 2, color=COLOURS[0], lw=4, solid_capstyle="butt", gid="group", zorder=3
        )
    return ax


def _axes(ax: Axes | None, bottom: float, k: int, letters: int) -> Axes:
    """Axes without a frame, with room for names of `letters` letters on both sides."""
    top, margin = 1.25, LETTER_INCHES * (letters + 7)  # the rank is printed beside the name
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=(RULER_INCHES + 2 * margin, 0.2 + 0.4 * (top - bottom)), layout="constrained")
    side = (k - 1) * (margin / RULER_INCHES + 0.1)
    ax.set_axis_off()
    ax.set_xlim(1 - side, k + side)
    ax.set_ylim(bottom, top)
    return ax


def _ruler(ax: Axes, k: int, width: float, alpha: float, gap: float) -> None:
    """The line of ranks, and the critical difference above it."""
    ax.plot([1, k], [0, 0], color=INK, lw=1, gid="ruler")
    for rank in range(1, k + 1):
        ax.plot([rank, rank], [0, 0.14], color=INK, lw=1, gid="ruler")
        ax.text(rank, 0.2, str(rank), ha="center", va="bottom", size=8, color=INK)
    ax.plot([1, 1 + width], [0.95, 0.95], color=GREY, lw=1.4, marker="|", markersize=6, gid="critical difference")
    text = f"critical difference {width:.2f} at a level of {alpha:g}"
    ax.text(1 + width + 2 * gap, 0.95, text, ha="left", va="center", size=8, color=GREY)
