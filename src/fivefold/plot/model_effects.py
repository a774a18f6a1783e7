"""What a model does with its columns: the effect of one column, and the contributions of all to one prediction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fivefold.core.types import Vector
from fivefold.evaluation.inspection.partial_dependence import ORDERED_KINDS, PartialDependence
from fivefold.evaluation.protocols import Label
from fivefold.plot.style import COLOURS, GREY, INK, LIGHT_GREY, axes, colour, legend, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_CURVES = 40  # curves of single rows
MAX_TICK_LETTERS = 12  # of a level on the axis
MAX_NAME_LETTERS = 30  # of a column below the axis
LABEL_SHARE = 0.4  # room for the numbers beside bars, as a share of the longest


def effect(
    found: PartialDependence, *, outputs: Sequence[Label] = (), y: str = "prediction", ax: Axes | None = None
) -> Axes:
    """Partial dependence; for a single output also curves of single rows, and where 80 % of them lie.

    `outputs` are the classes to draw, by default the last one. Numbers and dates are joined by lines, levels are not.
    """
    ordered = found.values.dtype.kind in ORDERED_KINDS and found.values.dtype.kind != "b"
    x = found.values if ordered else np.arange(len(found.values))
    ax = axes(ax, x=shorten(str(found.column), MAX_NAME_LETTERS), y=y)
    ax.grid(axis="y", color=LIGHT_GREY, lw=0.8)
    shown = [None] if not outputs else list(outputs)
    for i, output in enumerate(shown):
        curves = found.curves(output)
        ink, mean = INK if len(shown) == 1 else colour(i), curves.mean(axis=0)
        if len(shown) == 1:
            _single_rows(ax, x, curves, ordered)
        name = "" if output is None or len(shown) == 1 else str(output)
        ax.plot(x, mean, color=ink, lw=2 if ordered else 0, marker="o", ms=3 if ordered else 6, label=name, zorder=3)
    if not ordered:
        names = [shorten(str(value), MAX_TICK_LETTERS) for value in found.values]
        ax.set_xticks(
            x, names, rotation=35 if max(map(len, names)) > 4 else 0, ha="right" if len(names) > 1 else "center"
        )
    elif found.values.dtype.kind == "M":
        ax.tick_params(axis="x", rotation=35)
    if len(shown) > 1:
        legend(ax, loc="best")
    return ax


def contribution_bars(
    names: Sequence[str], values: Sequence[float] | Vector, title: str, *, ax: Axes | None = None
) -> Axes:
    """One bar per contribution, from zero to the right if it raises the prediction, to the left if it lowers it."""
    v, lines = np.asarray(values, dtype=float), np.arange(len(names))
    ax = axes(ax, x=title)
    ax.barh(lines, v, height=0.62, color=[COLOURS[0] if value >= 0 else COLOURS[1] for value in v])
    ax.axvline(0, color=INK, lw=0.8)
    reach = float(np.abs(v).max(initial=0.0)) or 1.0
    for i, value in enumerate(v):
        ax.annotate(
            f"{value:+,.0f}" if abs(value) >= 100 else f"{value:+.2g}",  # no exponent for what is large
            (value, i),
            (3 if value >= 0 else -3, 0),
            textcoords="offset points",
            ha="left" if value >= 0 else "right",
            va="center",
            fontsize=7,
            color=INK,
        )
    room = LABEL_SHARE * reach
    ax.set_xlim(min(v.min(initial=0.0), 0.0) - room, max(v.max(initial=0.0), 0.0) + room)
    ax.set_yticks(lines, list(names))
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax


def _single_rows(ax: Axes, x: np.ndarray, curves: np.ndarray, ordered: bool) -> None:
    """Some of the curves, or, for levels, bars from the first to the ninth decile."""
    if ordered:
        some = curves[np.linspace(0, len(curves) - 1, min(MAX_CURVES, len(curves))).astype(int)]
        ax.plot(x, some.T, color=COLOURS[0], lw=0.6, alpha=0.3, zorder=1)
        return
    low, high = np.quantile(curves, (0.1, 0.9), axis=0)
    ax.vlines(x, low, high, color=GREY, lw=3, alpha=0.5, zorder=1)
