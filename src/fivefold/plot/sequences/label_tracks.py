"""The labels of one sequence, step by step: the truth above, and what models say below it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fivefold.core.types import Codes, Vector
from fivefold.plot.style import GREY, INK, axes, colour, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_COLOURED = 8  # labels with a colour of their own
MAX_TICKS = 8  # steps that are numbered


def label_tracks(tracks: Mapping[str, Codes], labels: Sequence[str], *, ax: Axes | None = None) -> Axes:
    """A row per track, a cell per step in the colour of its label; a cross where it differs from the first track."""
    ax = axes(ax, x="step")
    first = np.asarray(next(iter(tracks.values())))
    used = sorted({int(code) for track in tracks.values() for code in track})
    shades = {code: colour(i) if i < MAX_COLOURED else GREY for i, code in enumerate(used)}
    for row, track in enumerate(tracks.values()):
        codes = np.asarray(track)
        shown = [shades[int(code)] for code in codes]
        ax.barh(np.full(len(codes), row), 1.0, left=np.arange(len(codes)) + 0.5, height=0.72, color=shown, lw=0)
        wrong = np.flatnonzero(codes != first)
        ax.scatter(wrong + 1, np.full(len(wrong), row), marker="x", s=18, color=INK, lw=1.1, zorder=3)
    ax.set_yticks(range(len(tracks)), list(tracks))
    ax.set_ylim(len(tracks) - 0.5, -0.5)
    ax.set_xlim(0.5, len(first) + 0.5)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    _whole_steps(ax, len(first))
    for code in used:
        ax.plot([], [], "s", color=shades[code], label=labels[code])
    legend(ax, loc="lower left", bbox_to_anchor=(0, 1), ncols=4)
    return ax


def number_tracks(tracks: Mapping[str, Vector], *, y: str = "", ax: Axes | None = None) -> Axes:
    """A line per track over the steps of a sequence: the truth with marks, predictions below it."""
    ax = axes(ax, x="step", y=y)
    for i, (name, values) in enumerate(tracks.items()):
        steps = np.arange(1, len(values) + 1)
        if i == 0:
            ax.plot(steps, values, color=INK, lw=1.0, marker="o", ms=3, label=name, zorder=3)
        else:
            ax.plot(steps, values, color=colour(i - 1), lw=1.4, label=name)
    _whole_steps(ax, len(next(iter(tracks.values()))))
    legend(ax, loc="lower left", bbox_to_anchor=(0, 1), ncols=3)
    return ax


def _whole_steps(ax: Axes, steps: int) -> None:
    gap = next(gap for gap in (1, 2, 5, 10, 20, 50, 100, 1000, steps) if steps / gap <= MAX_TICKS)
    ax.set_xticks([step for step in range(1, steps + 1) if step == 1 or step % gap == 0])
