"""Soft trees of two columns: where their gates are, how soft they are, and how they divide the plane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy.special import expit

from fivefold.core.types import Array, Matrix, UserTable, UserTarget
from fivefold.plot.scatter import points
from fivefold.plot.style import GREY, INK, axes, colour, plane_grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fivefold.tree import SoftTreeClassifier, SoftTreeRegressor

GRID_STEPS = 161  # grid points per column
MARGIN_SHARE = 0.06  # around the points, as a share of their spread
MIN_REACH = 0.25  # a gate is drawn where at least this share of a row reaches it
GATE_STYLES = {0.1: (GREY, ":", 1.0), 0.5: (INK, "-", 1.8), 0.9: (GREY, ":", 1.0)}


def soft_gates(
    model: SoftTreeClassifier | SoftTreeRegressor, X: UserTable, y: UserTarget = None, *, ax: Axes | None = None
) -> Axes:
    """A line where each gate is one half, dotted ones at 0.1 and 0.9; classes as colours, numbers as shades."""
    X = np.asarray(X)
    if X.shape[1] != 2:
        raise ValueError(f"gates are drawn over two columns; X has {X.shape[1]}. Fit the tree on two of them")
    sides, rows = plane_grid(X, GRID_STEPS, MARGIN_SHARE)
    ax = axes(ax)
    _draw_background(ax, model, sides, rows)
    reach = _reach(model, rows)
    G = expit(rows @ model.gate_coef_.T + model.gate_intercept_)
    for t in range(G.shape[1]):
        seen = np.where(reach[:, t] >= MIN_REACH, G[:, t], np.nan).reshape(GRID_STEPS, GRID_STEPS)
        for level, (ink, dashes, width) in GATE_STYLES.items():
            if np.nanmin(seen, initial=1.0) < level < np.nanmax(seen, initial=0.0):
                ax.contour(*sides, seen, levels=[level], colors=[ink], linestyles=[dashes], linewidths=[width])
    points(X, y if len(model.leaf_values_[0]) > 1 else None, ax=ax)
    ax.set(xlim=sides[0][[0, -1]], ylim=sides[1][[0, -1]], aspect="auto")
    return ax


def _draw_background(ax: Axes, model: SoftTreeClassifier | SoftTreeRegressor, sides: list[Array], rows: Matrix) -> None:
    """Probabilities as a mixture of the colours of the classes; numbers as shades."""
    from matplotlib.colors import to_rgb

    extent = (*sides[0][[0, -1]], *sides[1][[0, -1]])
    look: dict[str, Any]
    if len(model.leaf_values_[0]) == 1:
        image, look = model.predict(rows).reshape(GRID_STEPS, GRID_STEPS), {"cmap": "Blues", "alpha": 0.8}
    else:
        P = np.asarray(cast("SoftTreeClassifier", model).predict_proba(rows))
        inks = np.array([to_rgb(colour(k)) for k in range(P.shape[1])])
        image, look = (P @ inks).reshape(GRID_STEPS, GRID_STEPS, 3), {"alpha": 0.3}
    ax.imshow(image, extent=extent, origin="lower", aspect="auto", zorder=-2, **look)


def _reach(model: SoftTreeClassifier | SoftTreeRegressor, rows: Matrix) -> Matrix:
    """Share (n, gates) of each row that reaches each gate."""
    children = model.model_.skeleton.children
    m = len(children)
    reach = np.concatenate([np.zeros((len(rows), m)), model.gates(rows)], axis=1)
    for t in range(m - 1, -1, -1):
        reach[:, t] = reach[:, children[t]].sum(axis=1)
    return reach[:, :m]
