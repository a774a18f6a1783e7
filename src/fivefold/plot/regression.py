"""Regression in pictures: a surface with the band of its noise, what one outlier does to each fit, and curves side by
side.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fivefold.core.types import Matrix, UserTable, UserTarget
from fivefold.plot.style import GREY, INK, axes, axes_row, colour, legend, marker

CURVE_POINTS = 601  # at which a curve is drawn: steps look like steps

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fivefold.linear_model import LinearRegression
    from fivefold.linear_model.diagnostics.collinearity import OutlierSensitivity


def noise_band(
    model: LinearRegression,
    X: UserTable,
    y: UserTarget,
    *,
    basis: Callable[[Matrix], Matrix] | None = None,
    width: float = 1.0,
    ax: Axes | None = None,
) -> Axes:
    """Points of one input, the fitted curve, and a band of `width` standard deviations of the noise around it.

    `model` has `noise()`, as LinearRegression has; `basis` maps the input column to the columns of the fit.
    """
    x = np.asarray(X, dtype=float).reshape(-1)
    ax = axes(ax, x="x", y="y")
    line = np.linspace(x.min(), x.max(), 200)
    rows = line[:, None] if basis is None else basis(line[:, None])
    noise = model.noise()
    low, high = noise.band(rows, width)
    ax.fill_between(line, low, high, color=colour(0), alpha=0.15, lw=0, label=f"{width:g} standard deviation of noise")
    ax.plot(line, noise.mean(rows), color=colour(0), lw=1.8, label="mean")
    ax.scatter(x, y, s=14, color=INK, lw=0, zorder=3)
    legend(ax, loc="best")
    return ax


def outlier_sensitivity(sensitivity: OutlierSensitivity, *, column: int = 0, ax: Axes | None = None) -> Axes:
    """The weight of one column in each fit as one target moves: `fivefold.linear_model.outlier_sensitivity` drawn."""
    ax = axes(ax, x="added to one target", y=f"weight of column {column}")
    ax.axhline(0, color=GREY, lw=0.6)
    for i, (name, coefficients) in enumerate(sensitivity.coefficients.items()):
        ax.plot(
            sensitivity.amounts,
            coefficients[:, column],
            color=colour(i),
            marker=marker(i),
            ms=4,
            lw=1.6,
            label=name,
        )
    legend(ax, loc="best")
    return ax


def curve_panels(
    models: Mapping[str, Any],
    X: UserTable,
    y: UserTarget,
    *,
    level: float | None = None,
    panels: Sequence[Axes] | None = None,
) -> list[Axes]:
    """A panel per fitted regressor of one column, with the points and its curve; by name.

    With `level`, smoothers that have `confidence_band` show it.

    Examples
    --------
    >>> from fivefold.smoothing import Regressogram, RunningMean
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 4.0, 9.0]
    >>> models = {"bins": Regressogram(2.0).fit(X, y), "window": RunningMean(2.0).fit(X, y)}
    >>> [ax.get_title() for ax in curve_panels(models, X, y)]
    ['bins', 'window']
    """
    x = np.asarray(X, dtype=float).reshape(-1)
    line = np.linspace(x.min(), x.max(), CURVE_POINTS)[:, None]
    panels = axes_row(len(models), panels)
    for ax, (name, model) in zip(panels, models.items(), strict=True):
        axes(ax, x="x", y="y")
        ax.scatter(x, y, s=9, color=GREY, lw=0)
        if level is not None and hasattr(model, "confidence_band"):
            band = model.confidence_band(line, level)
            ax.fill_between(line[:, 0], band.low, band.high, color=colour(0), alpha=0.18, lw=0)
        ax.plot(line[:, 0], model.predict(line), color=colour(0), lw=1.6)
        ax.set_title(name, color=INK)
    return list(panels)
