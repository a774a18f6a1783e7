"""Three complexities of a linear classifier against the number of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fivefold.plot.style import GREY, axes, colour, legend
from fivefold.theory.pac_bayes.margin_complexities import MarginComplexities

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DECADES = 3  # powers of ten of the number of rows on either side of the one given


def margin_curves(found: MarginComplexities, *, ax: Axes | None = None) -> Axes:
    """(complexity + ln(1 / delta)) / n of the three priors; where a curve is above 1 its bound says nothing."""
    title = f"{found.margin_error:.3g} of rows within the margin; orders of magnitude only"
    ax = axes(ax, title=title, x="rows", y="complexity per row")
    n = np.geomspace(max(1.0, found.n / 10**DECADES), found.n * 10**DECADES, 50)
    for i, (name, values) in enumerate(found.rates(n).items()):
        ax.plot(n, values, color=colour(i), lw=1.6, label=name)
        ax.plot(found.n, found.rates()[name], color=colour(i), marker="o", ms=4)
    ax.axhline(1.0, color=GREY, lw=0.8, ls="--")
    ax.set_xscale("log")
    ax.set_yscale("log")
    legend(ax)
    return ax
