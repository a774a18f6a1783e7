"""Estimates with their intervals, one below the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fivefold.plot.style import COLOURS, GREY, INK, LIGHT_GREY, axes, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LINE_INCHES = 0.27  # height of a row of the plot


@dataclass(frozen=True)
class ForestRow:
    """A row of a forest plot: a name, a mean and its interval."""

    name: str
    mean: float
    low: float
    high: float
    beside: float | None = None  # a second number, such as the score on training rows
    look: str = ""  # a key of ROW_STYLES: best, soft, other, or plain


ROW_STYLES = {"": (COLOURS[0], "o"), "best": (COLOURS[2], "*"), "soft": (GREY, "s"), "other": (COLOURS[1], "D")}


def forest(
    bars: Sequence[ForestRow],
    title: str,
    *,
    within: tuple[float, float],
    beside: str = "",
    width: float = 4.6,
    ax: Axes | None = None,
) -> Axes:
    """A mark at each mean and a line over its interval.

    A mean outside `within` is an arrow with its number, and an interval that goes on outside ends in an arrow.
    """
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=(width, 0.75 + LINE_INCHES * len(bars)), layout="constrained")
    ax = axes(ax, x=title)
    low, high = within
    pad = 0.04 * (high - low) or 1.0
    for i, bar in enumerate(bars):
        ink, marker = ROW_STYLES[bar.look]
        if low <= bar.mean <= high:
            ends = np.clip([bar.low, bar.high], low - pad, high + pad)
            ax.plot(ends, [i, i], color=ink, lw=1.8, solid_capstyle="butt")
            for end, beyond, tip in ((ends[0], bar.low < low - pad, "<"), (ends[1], bar.high > high + pad, ">")):
                if beyond:
                    ax.plot([end], [i], marker=tip, color=ink, markersize=4.5, ls="")
            ax.plot([bar.mean], [i], marker=marker, color=ink, markersize=9 if marker == "*" else 5.5, ls="")
        else:
            _beyond(ax, bar.mean, i, low - pad if bar.mean < low else high + pad, ink)
        if bar.beside is not None and low <= bar.beside <= high:
            ax.plot([bar.beside], [i], marker="|", color=INK, markersize=8, mew=1.3, ls="")
    if beside:
        ax.plot([], [], marker="|", color=INK, markersize=8, mew=1.3, ls="", label=beside)
        legend(ax, loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2)
    ax.set_yticks(range(len(bars)), [bar.name for bar in bars])
    ax.set_ylim(len(bars) - 0.4, -0.6)
    ax.set_xlim(low - 2 * pad, high + 2 * pad)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color=LIGHT_GREY, lw=0.8)
    return ax


def _beyond(ax: Axes, value: float, line: int, edge: float, ink: str) -> None:
    """An arrow at the edge, and the number that did not fit."""
    right = value > edge
    ax.plot([edge], [line], marker=">" if right else "<", color=ink, markersize=6, ls="")
    ax.annotate(
        f"{value:.3g}",
        (edge, line),
        (-8 if right else 8, 0),
        textcoords="offset points",
        ha="right" if right else "left",
        va="center",
        fontsize=8,
        color=INK,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
    )
