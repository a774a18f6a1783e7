"""The critical-difference diagram: mean ranks on a line, and bars that join learners which cannot be told apart.

Demsar (2006), Statistical comparisons of classifiers over multiple data sets.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fivefold.evaluation.comparison.friedman import Friedman
from fivefold.plot.style import COLOURS, INK, SOFT

STEP = 0.62  # height of a line of letters
BAR = 0.22  # between two bars


def critical_difference(found: Friedman, *, ax: Any = None) -> Any:
    """Learners by mean rank, the best on the left; a bar joins those within one critical difference of each other."""
    order = np.argsort(found.mean_ranks, kind="stable")
    ranks = np.array(found.mean_ranks)[order]
    names = [found.learners[i] for i in order]
    k = len(names)
    left = (k + 1) // 2  # so many have their names on the left
    ax = _axes(ax, k, left, len(found.groups))
    _ruler(ax, k, found.critical_difference, found.alpha)

    start = -0.45 - BAR * len(found.groups)
    for i, (rank, name) in enumerate(zip(ranks, names, strict=True)):
        on_left = i < left
        y = start - STEP * (i if on_left else k - 1 - i)
        x = 0.75 if on_left else k + 0.25
        ax.plot([rank, rank, x], [0, y, y], color=INK, lw=0.9, solid_joinstyle="miter", gid="learner")
        side = {"ha": "right", "x": x - 0.05} if on_left else {"ha": "left", "x": x + 0.05}
        ax.text(
            s=f"{name}  {rank:.2f}" if on_left else f"{rank:.2f}  {name}", y=y, va="center", size=9, color=INK, **side
        )
    where = dict(zip(names, ranks, strict=True))
    for i, group in enumerate(found.groups):
        ends = [where[group[0]] - 0.04, where[group[-1]] + 0.04]
        ax.plot(ends, [-0.3 - BAR * i] * 2, color=COLOURS[0], lw=4, solid_capstyle="butt", gid="group", zorder=3)
    return ax


def _axes(ax: Any, k: int, left: int, groups: int) -> Any:
    height = 1.3 + 0.45 + BAR * groups + STEP * left
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=(6.4, 0.4 + 0.42 * height), layout="constrained")
    ax.set_axis_off()
    ax.set_xlim(-0.15 * k, 1.15 * k + 1)
    ax.set_ylim(-(height - 1.3), 1.3)
    return ax


def _ruler(ax: Any, k: int, width: float, alpha: float) -> None:
    """The line of ranks, and the critical difference above it."""
    ax.plot([1, k], [0, 0], color=INK, lw=1, gid="ruler")
    for rank in range(1, k + 1):
        ax.plot([rank, rank], [0, 0.14], color=INK, lw=1, gid="ruler")
        ax.text(rank, 0.2, str(rank), ha="center", va="bottom", size=8, color=INK)
    ax.plot([1, 1 + width], [0.95, 0.95], color=SOFT, lw=1.4, marker="|", markersize=6, gid="critical difference")
    text = f"critical difference {width:.2f} at a level of {alpha:g}"
    ax.text(1 + width + 0.1, 0.95, text, ha="left", va="center", size=8, color=SOFT)
