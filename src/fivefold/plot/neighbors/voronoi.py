"""The cells of the rows of a table, the boundary between classes, and the rows that it does not need."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import Voronoi

from fivefold.core.types import UserTable, UserTarget
from fivefold.neighbors.prototypes.interior_rows import interior_rows
from fivefold.plot.scatter import points
from fivefold.plot.style import GREY, INK, legend, plane_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARGIN_SHARE = 0.1  # around the points, as a share of their spread
FAR = 50.0  # spreads to the four points that close the outer cells; their own cells lie outside the frame


def voronoi(X: UserTable, y: UserTarget, *, ax: Axes | None = None) -> Axes:
    """Cells of the rows of two columns, the boundary of the nearest-neighbour rule, and stars on rows it does not need.

    A row is given the class of the cell it falls into. Without all starred rows the boundary is the same.
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    if X.ndim != 2 or X.shape[1] != 2:
        raise ValueError(f"cells are drawn for two columns; X has shape {X.shape}. Choose two columns")
    if len(np.unique(X, axis=0)) < 4:
        raise ValueError(f"cells are drawn for four distinct rows or more; X has {len(np.unique(X, axis=0))}")
    ax = points(X, y, ax=ax)
    low, high = plane_frame(X.min(axis=0), X.max(axis=0), MARGIN_SHARE)
    far = np.array([low, high]) + FAR * np.array([low - high, high - low])
    corners = [[x, z] for x in far[:, 0] for z in far[:, 1]]
    cells = Voronoi(np.concatenate([X, corners]))
    for (i, j), ends in zip(cells.ridge_points, cells.ridge_vertices, strict=True):
        if max(i, j) < len(X) and min(ends) >= 0:
            border = y[i] != y[j]
            x, z = cells.vertices[ends].T
            ax.plot(x, z, color=INK if border else GREY, lw=2.0 if border else 0.5, zorder=2 if border else 1)
    spare = X[interior_rows(X, y)]
    ax.scatter(
        spare[:, 0],
        spare[:, 1],
        s=90,
        marker="*",
        facecolor="none",
        edgecolor=INK,
        lw=0.8,
        label="not needed",
        zorder=4,
    )
    ax.set_aspect("equal", adjustable="box")
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    legend(ax, loc="best")
    return ax
