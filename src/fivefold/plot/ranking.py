"""A ranking as a projection: points with their grades, and the direction along which they are ordered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fivefold.core.types import UserTable, Vector
from fivefold.plot.style import GREY, INK, LIGHT_GREY, arrow, axes, colour

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fivefold.rank import LinearRanker, RankingPerceptron


def ranking_projection(
    model: LinearRanker | RankingPerceptron,
    X: UserTable,
    grades: Sequence[float] | Vector,
    *,
    names: Sequence[object] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Rows of X (n, 2) with their grades, the direction of a fitted ranker, and the projections onto it.

    `names`, if given, are written next to the points instead of the grades.
    """
    X, w = np.asarray(X, dtype=np.float64), np.asarray(model.coef_, dtype=np.float64)
    ax = axes(ax, square=True)
    u, middle = w / np.linalg.norm(w), X.mean(axis=0)
    along = (X - middle) @ u
    feet = middle + along[:, None] * u
    reach = 1.15 * np.abs(along).max()
    for point, foot in zip(X, feet, strict=True):
        ax.plot(*np.transpose([point, foot]), color=LIGHT_GREY, lw=1.2, zorder=1)
    ends = middle - reach * u, middle + reach * u
    ax.update_datalim(ends)
    ax.autoscale_view()
    arrow(ax, *ends, INK)
    ax.scatter(feet[:, 0], feet[:, 1], s=14, color=GREY, lw=0, zorder=2)
    levels = np.unique(grades, return_inverse=True)[1]
    ax.scatter(X[:, 0], X[:, 1], s=34, color=[colour(k) for k in levels], lw=0, zorder=3)
    for point, text in zip(X, grades if names is None else names, strict=True):
        ax.annotate(str(text), point, xytext=(5, 4), textcoords="offset points", fontsize=9, color=INK)
    return ax
