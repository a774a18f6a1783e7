"""Paths of mean shift: where rows stood after each step uphill, over the contours of the density that they climb."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fivefold.core.numerics.arrays import to_numpy
from fivefold.core.types import UserTable
from fivefold.plot.style import INK, axes
from fivefold.spatial.distances import squared_distances
from fivefold.spatial.smoothing_kernels import KERNELS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fivefold.cluster import MeanShift

RED = "#c0392b"
GRID = 80  # points of a side of the grid that contours are drawn from
LEVELS = 8


def mean_shift_paths(model: MeanShift, X: UserTable, *, ax: Axes | None = None) -> Axes:
    """All positions of the rows of X, two columns, on their way to the modes, which are crosses, over the density.

    Examples
    --------
    >>> from fivefold.cluster import MeanShift
    >>> model = MeanShift(bandwidth=2).fit([[0.0, 0.0], [1.0, 0.0], [6.0, 5.0], [6.0, 6.0]])
    >>> len(mean_shift_paths(model, [[0.0, 0.0]]).collections[-1].get_offsets())
    2
    """
    rows, modes = np.asarray(model.model_.rows, dtype=np.float64), np.asarray(to_numpy(model.cluster_centers_))
    if rows.shape[1] != 2:
        raise ValueError(f"paths of mean shift are drawn for two columns; the model was fitted to {rows.shape[1]}")
    ax = axes(ax, square=True)
    low, high = rows.min(axis=0) - model.bandwidth_, rows.max(axis=0) + model.bandwidth_
    a, b = np.meshgrid(*(np.linspace(low[j], high[j], GRID) for j in range(2)))
    squares = squared_distances(np.column_stack([a.ravel(), b.ravel()]), rows)
    density = KERNELS[model.profile](np.sqrt(squares) / model.bandwidth_).mean(axis=1).reshape(a.shape)
    ax.contour(a, b, density, levels=LEVELS, colors=[INK], linewidths=0.7, alpha=0.6)
    paths = np.asarray(to_numpy(model.trajectories(X)))  # (steps, n, 2)
    ax.plot(*modes.T, marker="P", markersize=9, color=INK, mec="white", mew=1.2, ls="", zorder=5)
    seen = np.unique(paths.reshape(-1, 2).round(6), axis=0)
    ax.scatter(seen[:, 0], seen[:, 1], s=3, color=RED, alpha=0.5, lw=0, zorder=3)
    return ax
