"""The variance along principal components, and what remains after the first few."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fivefold.decomposition.components.n_components import ComponentRule, Distortion, LargestRatio
from fivefold.plot.style import COLOURS, GREY, INK, axes, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fivefold.decomposition import PCA

DEFAULT_KNEE = LargestRatio()
MAX_MARKED_POINTS = 25  # a curve over more components than this has no marks


def scree(
    pca: PCA, *, knee: ComponentRule | None = DEFAULT_KNEE, threshold: Distortion | None = None, ax: Axes | None = None
) -> Axes:
    """Share of the variance along each component, and the distortion left after 0, 1, ... of them.

    `knee` is a rule that chooses a number of components, drawn as a line after the last one it keeps;
    `threshold` is a limit on the distortion, drawn as a horizontal line.
    """
    found = pca.scree()
    left = found.distortion / found.total
    index = np.arange(1, len(found.values) + 1)
    ax = axes(ax, x="component", y="share of the variance")
    marks = "o" if len(index) <= MAX_MARKED_POINTS else ""
    bars = ax.bar(index, found.shares, width=0.72, color=COLOURS[0], label="of this component", zorder=2)
    lines = ax.plot(np.arange(len(left)), left, color=COLOURS[1], marker=marks, markersize=3.5, lw=1.5, zorder=3)
    lines[0].set_label("left out after this many")
    handles = [bars, *lines]
    if threshold is not None:
        limit = threshold.threshold if threshold.share else threshold.threshold / found.total
        name = f"threshold {limit:.3g}: keep {threshold(found)}"
        handles.append(ax.axhline(limit, color=GREY, lw=1, ls=(0, (4, 3)), label=name))
    if knee is not None:
        handles.append(ax.axvline(knee(found) + 0.5, color=INK, lw=1, ls=":", label=f"knee: keep {knee(found)}"))
    ax.set_xlim(-0.4, len(index) + 0.6)
    ax.set_ylim(0, 1.03)
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    ax.locator_params(axis="x", integer=True)
    legend(ax, loc="upper right", handles=handles)
    return ax
