"""Upper limits of an error rate side by side: their width against n and against the observed error, and the tails that
they come from; and the means of samples under the Gaussian that approximates them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fivefold.core.types import Vector
from fivefold.distributions.estimation.limit_theorems import Averages
from fivefold.plot.style import GREY, INK, axes, axes_row, colour, legend
from fivefold.theory.concentration.gaussian_approximation import approximate_density
from fivefold.theory.concentration.limit_comparison import LIMIT_FAMILIES, LimitFamily

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SMALLEST_TAIL = 1e-12  # tails below this are not drawn


def limit_widths_by_rows(
    mean: float,
    sizes: Sequence[int] | None = None,
    *,
    delta: float = 0.05,
    families: Mapping[str, LimitFamily] = LIMIT_FAMILIES,
    ax: Axes | None = None,
) -> Axes:
    """How far each limit is above an observed error, against the number of rows."""
    n = _whole_errors(mean) if sizes is None else np.asarray(sizes)
    ax = axes(ax, title=f"error {mean:.4g} observed", x="rows", y="limit - error")
    _draw(ax, n, {name: np.asarray(family.upper(mean, n, delta)) - mean for name, family in families.items()}, families)
    ax.set_xscale("log")
    ax.set_yscale("log")
    return ax


def limit_widths_by_mean(
    n: int, *, delta: float = 0.05, families: Mapping[str, LimitFamily] = LIMIT_FAMILIES, ax: Axes | None = None
) -> Axes:
    """How far each limit of n rows is above the observed error, for every error there can be."""
    means = np.arange(n + 1) / n
    ax = axes(ax, title=f"{n} rows", x="error observed", y="limit - error")
    _draw(ax, means, {name: family.upper(means, n, delta) - means for name, family in families.items()}, families)
    return ax


def limit_tails(
    n: int, mu: float, *, families: Mapping[str, LimitFamily] = LIMIT_FAMILIES, ax: Axes | None = None
) -> Axes:
    """P(observed error <= q) for a true error mu: the binomial tail and what each inequality allows."""
    q = np.arange(int(np.floor(mu * n)) + 1) / n
    ax = axes(ax, title=f"{n} rows, true error {mu:.4g}", x="q", y="P(error observed <= q)")
    tails = {name: np.asarray(family.tail(n, q, mu)) for name, family in families.items() if family.tail is not None}
    _draw(ax, q, {name: np.where(tail >= SMALLEST_TAIL, tail, np.nan) for name, tail in tails.items()}, families)
    ax.set_yscale("log")
    return ax


def error_limits(mean: float, n: int, *, delta: float = 0.05, panels: Sequence[Axes] | None = None) -> list[Axes]:
    """All three: widths against n and against the error, and tails at a true error of `mean`."""
    drawn = axes_row(3, panels, width=4.0, height=3.8)
    limit_widths_by_rows(mean, delta=delta, ax=drawn[0])
    limit_widths_by_mean(n, delta=delta, ax=drawn[1])
    limit_tails(n, mean, ax=drawn[2])
    legend(drawn[0])
    return drawn


def sample_mean_histograms(averages: Sequence[Averages], *, panels: Sequence[Axes] | None = None) -> list[Axes]:
    """Means of samples of each size on one scale, with the Gaussian that approximates their density."""
    drawn = axes_row(len(averages), panels, width=3.4, height=2.8)
    reach = 4 * np.sqrt(max(average.expected_variance for average in averages))
    grid = averages[0].mu + np.linspace(-reach, reach, 401)
    for ax, average in zip(drawn, averages, strict=True):
        axes(ax, title=f"n = {average.n}", x="mean of the sample")
        ax.hist(average.means, bins=40, density=True, color=GREY, alpha=0.6)
        ax.plot(grid, approximate_density(grid, average.mu, average.variance, average.n), color=INK, lw=1.4)
        ax.set_xlim(grid[0], grid[-1])
    return drawn


def _whole_errors(mean: float) -> Vector:
    """From 10 to 100,000 rows, with a whole number of errors."""
    n = np.geomspace(10, 1e5, 60)
    return np.unique(np.rint(np.maximum(np.rint(n * mean), 1) / mean if mean > 0 else n))


def _draw(ax: Axes, x: Vector, curves: Mapping[str, Vector], families: Mapping[str, LimitFamily]) -> None:
    """One line per family; what is no guarantee is dashed."""
    colours = {name: colour(i) for i, name in enumerate(families)}  # the same in every panel
    for name, y in curves.items():
        ax.plot(x, y, color=colours[name], lw=1.5, ls="-" if families[name].rigorous else "--", label=name)
