"""A linear map of the plane: what it does to a grid, in the standard basis and in the basis of its eigenvectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from fivefold.core.linalg import eigen
from fivefold.plot.style import FAINT, INK, SOFT, arrow, axes, colour, key, row

HALF = 2  # the grid goes from -HALF to HALF


def grid(count: int = 41) -> Any:
    """Lines (lines, count, 2) of the unit grid, upright ones first."""
    steps, along = np.arange(-HALF, HALF + 1), np.linspace(-HALF, HALF, count)
    upright = [np.column_stack([np.full(count, s), along]) for s in steps]
    return np.array(upright + [line[:, ::-1] for line in upright], dtype=float)


def transformation(A: Any, *, panels: Any = None) -> Any:
    """The unit grid and its image under a symmetric A, first in the standard basis, then in that of A's eigenvectors.

    With V the eigenvectors, a point x has coordinates V^T x in the second panel, where the map is V^T A V,
    diagonal: it stretches the axes and does nothing else.
    """
    A = np.asarray(A, dtype=float)
    if A.shape != (2, 2) or not np.allclose(A, A.T):
        raise ValueError(f"the figure shows a symmetric 2 x 2 matrix; got {A.tolist()}")
    values, V = eigen(A)
    panels = row(2, panels)
    reach = 1.15 * HALF * max(1.0, float(np.abs(A).sum(axis=1).max()), float(np.abs(values).max()))
    for ax, M, title, directions in (
        (panels[0], A, "standard basis: turns and stretches", V.T),
        (panels[1], V.T @ A @ V, "eigenbasis: only stretches", np.eye(2)),
    ):
        axes(ax, title=title)
        for line in grid():
            ax.plot(*line.T, color=FAINT, lw=1)
        for line in grid() @ M.T:
            ax.plot(*line.T, color=SOFT, lw=0.9)
        for j, (value, v) in enumerate(zip(values, directions, strict=True)):
            arrow(ax, (0, 0), HALF * value * v, colour(j), 2.4)
            arrow(ax, (0, 0), HALF * v, INK, 1.0)
            ax.plot([], [], color=colour(j), lw=2.4, label=f"$\\lambda_{j + 1} = {value:.3g}$")
        ax.set_aspect("equal", adjustable="box")
        ax.set_xlim(-reach, reach)
        ax.set_ylim(-reach, reach)
    key(panels[0], loc="upper left")
    return panels
