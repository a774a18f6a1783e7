"""A hidden state over time: what was observed, and what a filter and a smoother know of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fivefold.core.types import UserTable, Vector
from fivefold.plot.style import GREY, axes, colour, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fivefold.sequence import KalmanFilter


def state_track(
    model: KalmanFilter,
    X: UserTable,
    *,
    state: int = 0,
    column: int | None = 0,
    truth: Vector | None = None,
    width: float = 2.0,
    ax: Axes | None = None,
) -> Axes:
    """Filtered and smoothed means of one state, in bands of `width` standard deviations, and one column of X.

    Where rows are missing the band of the filter widens, and that of the smoother bulges.
    """
    ax = axes(ax, x="step", y=f"state {state}")
    rows = np.asarray(X, dtype=float)
    steps = np.arange(len(rows))
    for i, (name, (mean, covariance)) in enumerate((("filtered", model.filter(X)), ("smoothed", model.smooth(X)))):
        middle, spread = mean[:, state], width * np.sqrt(covariance[:, state, state])
        ax.fill_between(steps, middle - spread, middle + spread, color=colour(i), alpha=0.15 + 0.1 * i, lw=0)
        ax.plot(steps, middle, color=colour(i), lw=1.4, label=name)
    if truth is not None:
        ax.plot(steps, truth, color=GREY, lw=1.0, ls="--", label="truth")
    if column is not None:
        ax.scatter(steps, rows[:, column], s=8, color=GREY, lw=0, zorder=3, label="observed")
    legend(ax, loc="best")
    return ax
