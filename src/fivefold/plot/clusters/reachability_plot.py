"""The reachability plot of OPTICS: distances in the order of visits, in which clusters are dents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fivefold.core.numerics.arrays import to_numpy
from fivefold.plot.style import COLOURS, GREY, INK, axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fivefold.cluster import OPTICS


def reachability_plot(model: OPTICS, *, level: float | None = None, ax: Axes | None = None) -> Axes:
    """A bar per row in the order of visits, as high as the distance it is reached at, in the colour of its cluster.

    Noise is grey; rows that no other reaches have bars up to the top. Lines below the bars are all clusters of the
    slopes, those inside others above them. `level` draws a line at which the plot may be cut.

    Examples
    --------
    >>> from fivefold.cluster import OPTICS
    >>> model = OPTICS(min_samples=2).fit([[0.0], [1.0], [1.5], [9.0], [9.4], [10.0]])
    >>> reachability_plot(model).get_ylabel()
    'reachability'
    """
    ax, order = axes(ax), to_numpy(model.ordering_)
    heights, labels = to_numpy(model.reachability_)[order], to_numpy(model.labels_)[order]
    top = 1.1 * float(heights[np.isfinite(heights)].max(initial=0.0)) or 1.0
    shown, places = np.where(np.isfinite(heights), heights, top), np.arange(len(order))
    for label in np.unique(labels):
        own = labels == label
        colour = GREY if label < 0 else COLOURS[int(label) % len(COLOURS)]
        ax.vlines(places[own], 0.0, shown[own], color=colour, lw=1.0)
    if model.cluster_method == "xi":
        _draw_nesting(ax, to_numpy(model.cluster_hierarchy_), top)
    if level is not None:
        ax.axhline(level, color=INK, lw=0.8, ls="--")
    ax.set(xlabel="rows in the order of visits", ylabel="reachability", xlim=(-1, len(order)))
    ax.set_ylim(top=top)
    return ax


def _draw_nesting(ax: Axes, clusters: np.ndarray, top: float) -> None:
    """A line per cluster below the plot; larger ones lie lower."""
    for first, last in clusters:
        inside = (clusters[:, 0] >= first) & (clusters[:, 1] <= last)
        depth = int(inside.sum())  # clusters in it, itself included
        ax.plot([first, last], [-0.03 * top * min(depth, 8)] * 2, color=INK, lw=1.5, solid_capstyle="butt")
