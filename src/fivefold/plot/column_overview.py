"""A table at a glance: how its columns are distributed, and where values are missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.types import Mask
from fivefold.plot.style import COLOURS, GREY, INK, LIGHT_GREY, axes, colour, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HISTOGRAM_BINS = 16  # at most this many bins per histogram
MAX_LEVELS = 6  # at most this many bars per category; the rarest levels share the last
SMALL_FIGURE_INCHES = (1.9, 1.05)  # width and height of a small figure
SMALL_AXES_BOX = (0.03, 0.2, 0.94, 0.76)  # left, bottom, width and height of its axes, as shares of the figure
ROW_BANDS = 120  # a missing map groups the rows into at most this many bands


def distribution(
    values: ArrayLike,
    groups: Sequence[Mask] = (),
    *,
    written: Callable[[float], str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """A histogram; with groups (masks of rows), one outline per group, as shares of the group.

    `written` turns the least and the largest value into text.
    """
    ax = _strip_axes(ax)
    v = np.asarray(values, dtype=float)
    seen = np.isfinite(v)
    if not seen.any():
        return ax
    edges = np.histogram_bin_edges(v[seen], bins=min(HISTOGRAM_BINS, max(2, len(np.unique(v[seen])))))
    if not groups:
        ax.stairs(np.histogram(v[seen], edges)[0] / seen.sum(), edges, fill=True, color=COLOURS[0], alpha=0.75)
    for k, mask in enumerate(groups):
        inside = v[seen & mask]
        share = np.histogram(inside, edges)[0] / max(1, len(inside))
        ax.stairs(share, edges, color=colour(k), lw=1.2)
        ax.stairs(share, edges, fill=True, color=colour(k), alpha=0.12)
    ax.set_ylim(bottom=0)
    ax.set_xticks([edges[0], edges[-1]], [(written or format_short)(edges[0]), (written or format_short)(edges[-1])])
    left, right = ax.get_xticklabels()
    left.set_horizontalalignment("left")
    right.set_horizontalalignment("right")
    return ax


def format_short(value: float) -> str:
    """A number with about four significant digits.

    Examples
    --------
    >>> format_short(0.123456), format_short(75834.2), format_short(1.5e9)
    ('0.1235', '75,834', '1.5e+09')
    """
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e7 else f"{value:.4g}"


def level_bars(counts: Mapping[str, int], *, coloured: bool = False, ax: Axes | None = None) -> Axes:
    """Bars of the most frequent levels, longest first; if `coloured`, in the given order and the colours of classes."""
    ax = _strip_axes(ax)
    ordered = list(counts.items()) if coloured else sorted(counts.items(), key=lambda item: -item[1])
    shown = ordered if len(ordered) <= MAX_LEVELS else ordered[: MAX_LEVELS - 1]
    if rest := ordered[len(shown) :]:
        shown = [*shown, (f"{len(rest)} others", sum(n for _, n in rest))]
    heights = [n for _, n in shown]
    inks = [colour(i) for i in range(len(shown))] if coloured else COLOURS[0]
    ax.barh(range(len(shown)), heights, color=inks, alpha=0.35, height=0.8)
    for i, (name, _) in enumerate(shown):
        ax.text(0.02 * max(heights), i, shorten(name, 22), va="center", ha="left", fontsize=7, color=INK)
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.set_xticks([])
    ax.spines["bottom"].set_visible(False)
    return ax


def missing_map(holes: Mapping[str, ArrayLike], *, width: float = 4.6, ax: Axes | None = None) -> Axes:
    """Columns down, rows across in table order: the darker a band, the more of its values are missing."""
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=(width, 0.7 + 0.22 * len(holes)), layout="constrained")
    ax = axes(ax, x="row")
    masks = np.array([np.asarray(mask, dtype=float) for mask in holes.values()])  # (d, n)
    n = masks.shape[1]
    starts = np.unique(np.linspace(0, n, min(n, ROW_BANDS) + 1).astype(int))
    shares = np.add.reduceat(masks, starts[:-1], axis=1) / np.diff(starts)
    # an embedded image: thousands of cells drawn as shapes would make a large file
    box = (0.5, n + 0.5, len(holes) - 0.5, -0.5)
    ax.imshow(shares, cmap="Oranges", vmin=0, vmax=1, extent=box, aspect="auto", interpolation="nearest")
    names = [f"{shorten(name, 24)}  {mask.mean():.1%}" for name, mask in zip(holes, masks, strict=True)]
    ax.set_yticks(range(len(holes)), names)
    ax.set_ylim(len(holes) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    for spine in ax.spines.values():
        spine.set_visible(True)
        spine.set_color(LIGHT_GREY)
    return ax


def _strip_axes(ax: Axes | None) -> Axes:
    """Axes without a frame, except for the line below."""
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.figure(figsize=SMALL_FIGURE_INCHES).add_axes(SMALL_AXES_BOX)
    ax = axes(ax)
    ax.tick_params(labelsize=7, length=2)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.spines["bottom"].set_color(GREY)
    return ax
