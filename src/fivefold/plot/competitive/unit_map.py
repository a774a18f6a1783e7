"""Maps of units: the lattice laid over the rows, and its cells coloured by a number, such as that of the U-matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from fivefold.competitive import SelfOrganizingMap
from fivefold.core.types import UserTable, UserTarget
from fivefold.plot.scatter import points
from fivefold.plot.style import INK, SEQUENTIAL, axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CORNERS = {"rectangular": (4, 0.5**0.5), "hexagonal": (6, 3**-0.5)}  # of a cell, and its radius in steps


def unit_map(model: SelfOrganizingMap, X: UserTable, y: UserTarget = None, *, ax: Axes | None = None) -> Axes:
    """The rows of two columns, and the units with lines between neighbours on the lattice."""
    X, C = np.asarray(X, dtype=float), np.asarray(model.cluster_centers_)
    if C.shape[1] != 2:
        raise ValueError(f"maps are drawn over two columns; the map has {C.shape[1]}. Fit it to two, or draw u_matrix")
    ax = points(X, np.zeros(len(X), dtype=int) if y is None else np.asarray(y), ax=ax)
    for i, j in np.argwhere(np.triu(model.lattice_.neighbours)):
        ax.plot(*C[[i, j]].T, color=INK, lw=0.8, zorder=3)
    ax.plot(*C.T, "o", color=INK, markersize=4, zorder=4)
    return ax


def u_matrix(model: SelfOrganizingMap, values: ArrayLike | None = None, *, ax: Axes | None = None) -> Axes:
    """The cells of the lattice, dark where a unit is far from its neighbours: walls between groups of units.

    `values` (n_rows, n_columns) takes the place of the distances, such as `model.hits(X)` or a column of the units.
    """
    from matplotlib.collections import PolyCollection

    lattice = model.lattice_
    shown = np.ravel(model.u_matrix() if values is None else np.asarray(values, dtype=float))
    if len(shown) != lattice.size:
        raise ValueError(f"{len(shown)} values for a map of {lattice.size} units; give one per unit")
    ax = axes(ax)
    corners, radius = CORNERS[lattice.kind]
    angles = np.pi / corners * (2 * np.arange(corners) + 1)
    outline = radius * np.column_stack([np.cos(angles), np.sin(angles)])
    cells = PolyCollection(lattice.places[:, None, ::-1] + outline, array=shown, cmap=SEQUENTIAL, edgecolor="white")
    ax.add_collection(cells)
    ax.figure.colorbar(cells, ax=ax, shrink=0.8)
    ax.set(aspect="equal", xlabel="column of the map", ylabel="row of the map")
    ax.autoscale_view()
    return ax
