"""Regression in pictures: a surface with the band of its noise, and what one outlier does to each fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from fivefold.core.types import Matrix, UserTable, UserTarget
from fivefold.plot.style import GREY, INK, axes, colour, legend, marker

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
