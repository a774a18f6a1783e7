"""The neighbourhood of one row: a circle for the Euclidean distance, an ellipse for a Mahalanobis distance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.types import Matrix, UserTable, UserTarget
from fivefold.plot.geometry.ellipses import ellipse_points
from fivefold.plot.scatter import points
from fivefold.plot.style import INK, arrow, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROUNDNESS = 1e-9  # eigenvalues that differ by less than this share have no direction between them


def neighbourhood(
    X: UserTable,
    y: UserTarget,
    query: ArrayLike,
    *,
    n_neighbors: int = 3,
    matrix: Matrix | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Rows of two columns, a query, and the curve through the last of its nearest rows, which are ringed.

    Distances are (x - q)' M (x - q) with M = `matrix`, by default the identity: a circle. The arrow is the direction
    along which M stretches distances most, the one that a projection to a single column would keep.
    """
    X, y, query = np.asarray(X, dtype=float), np.asarray(y), np.asarray(query, dtype=float)
    if X.ndim != 2 or X.shape[1] != 2:
        raise ValueError(f"neighbourhoods are drawn for two columns; X has shape {X.shape}. Choose two columns")
    if not 0 < n_neighbors <= len(X):
        raise ValueError(f"n_neighbors={n_neighbors}: X has {len(X)} rows; ask for one of these at least, and no more")
    M = np.eye(2) if matrix is None else np.asarray(matrix, dtype=float)
    values, V = np.linalg.eigh(M)
    if values[0] <= 0:
        raise ValueError(f"the matrix of a distance has positive eigenvalues; got {values[0]:g} and {values[1]:g}")
    gaps = X - query
    squares = np.einsum("ij,jk,ik->i", gaps, M, gaps)
    near = np.argsort(squares, kind="stable")[:n_neighbors]
    radius = float(np.sqrt(squares[near[-1]]))
    ax = points(X, y, ax=ax)
    ax.plot(*ellipse_points(query, np.linalg.inv(M), radius).T, color=INK, lw=1.2)
    ax.scatter(X[near, 0], X[near, 1], s=70, facecolor="none", edgecolor=INK, lw=1.0, label="nearest", zorder=4)
    ax.plot(*query, marker="+", markersize=11, mew=2.0, color=INK, ls="", label="query", zorder=5)
    if values[1] - values[0] > ROUNDNESS * values[1]:
        arrow(ax, query, query + 1.5 * radius / np.sqrt(values[0]) * V[:, 1] / 2, INK, 1.2)
    legend(ax, loc="best")
    return ax
