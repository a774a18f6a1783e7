"""The curse of dimensionality drawn: occupied bins and distances against the number of columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fivefold.density.curse_of_dimensionality import DimensionEffects
from fivefold.plot.style import COLOURS, MARKERS, axes, axes_row, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def dimension_effects(effects: DimensionEffects, *, panels: Sequence[Axes] | None = None) -> list[Axes]:
    """Two panels: the share of bins that hold rows, and how much distances still differ.

    Examples
    --------
    >>> from fivefold.density import curse_of_dimensionality
    >>> len(dimension_effects(curse_of_dimensionality((1, 2, 3), n_samples=100)))
    2
    """
    left, right = axes_row(2, panels, width=4.2, height=3.4)
    d = effects.dimensions
    axes(left, title=f"{effects.rows} rows, {effects.bins_per_column} bins per column", x="columns", y="occupied share")
    left.plot(d, effects.occupied, MARKERS[0] + "-", color=COLOURS[0], ms=4)
    left.set_yscale("log")
    axes(right, title="distances between rows", x="columns", y="ratio")
    right.plot(d, effects.nearest_to_farthest, MARKERS[0] + "-", color=COLOURS[0], ms=4, label="nearest / farthest")
    right.plot(d, effects.spread, MARKERS[1] + "-", color=COLOURS[1], ms=4, label="deviation / mean")
    right.set_ylim(0.0, 1.0)
    legend(right)
    return [left, right]
