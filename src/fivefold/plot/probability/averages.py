"""Averages of growing numbers of draws: they gather about the mean, and their standardised shape becomes normal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fivefold.distributions.conjugate.normal_pairs import normals
from fivefold.distributions.estimation.limit_theorems import Averages, chebyshev_margin
from fivefold.plot.style import GREY, INK, LIGHT_GREY, axes, axes_row, colour, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def central_limit_histograms(
    sources: Mapping[str, Sequence[Averages]], *, panels: Sequence[Axes] | None = None
) -> list[Axes]:
    """Histograms of standardised means with the normal curve: a row of panels per source, one panel per n."""
    several = [(name, average) for name, averages in sources.items() for average in averages]
    drawn = axes_row(len(several), panels, width=2.4, height=2.4)
    grid = np.linspace(-4, 4, 161)
    curve = np.exp(normals(0.0, 1.0).log_prob(grid[:, None])[:, 0])
    for ax, (name, average) in zip(drawn, several, strict=True):
        axes(ax, title=f"{name}, n = {average.n}", x=f"distance to normal {average.kolmogorov_distance:.3f}")
        ax.hist(average.standardised, bins=40, range=(-4, 4), density=True, color=GREY, alpha=0.6)
        ax.plot(grid, curve, color=INK, lw=1.4)
    return drawn


def large_numbers(averages: Sequence[Averages], *, delta: float = 0.05, ax: Axes | None = None) -> Axes:
    """Means of n draws against n, the middle 95 % of them, and the margin that Chebyshev's inequality promises."""
    ax = axes(ax, x="number of draws", y="mean of the draws")
    n = np.array([average.n for average in averages])
    mu, variance = averages[0].mu, averages[0].variance
    low, high = np.array([np.quantile(a.means, [delta / 2, 1 - delta / 2]) for a in averages]).T
    margin = np.array([chebyshev_margin(variance, delta, int(size)) for size in n])
    ax.fill_between(n, mu - margin, mu + margin, color=LIGHT_GREY, label=f"Chebyshev, {1 - delta:.0%}")
    ax.fill_between(n, low, high, color=colour(0), alpha=0.35, lw=0, label=f"middle {1 - delta:.0%} of the means")
    ax.axhline(mu, color=INK, lw=1)
    ax.set_xscale("log")
    legend(ax)
    return ax
