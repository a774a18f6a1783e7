"""How solvers move over a landscape, and how margin losses judge a margin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fivefold.optim.functions import Landscape
from fivefold.optim.losses.margin_losses import (
    HingeLoss,
    LogLoss,
    MarginErrorLoss,
    MarginLoss,
    ProbitMarginLoss,
    SquaredMarginLoss,
    ZeroOneLoss,
)
from fivefold.optim.objective import Minimum
from fivefold.plot.style import GREY, INK, LIGHT_GREY, axes, colour, legend, marker

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CONTOUR_LINES = 9  # lines of equal value per figure
CONTOUR_POINTS = 161  # grid points per side from which the lines are drawn
MAX_MARKED_POINTS = 60  # a path of more points than this has no marks

MARGIN_LOSSES: Mapping[str, MarginLoss] = {
    "0/1": ZeroOneLoss(),
    "margin": MarginErrorLoss(),
    "hinge": HingeLoss(),
    "square": SquaredMarginLoss(),
    "log": LogLoss(),
    "probit": ProbitMarginLoss(),
}


def landscape(land: Landscape, *, ax: Axes | None = None) -> Axes:
    """Lines of equal value, closer where it is low, and a cross at the minimum."""
    ax = axes(ax, x="$\\theta_1$", y="$\\theta_2$")
    (a, b), (c, d) = land.window
    s, t = np.meshgrid(np.linspace(a, b, CONTOUR_POINTS), np.linspace(c, d, CONTOUR_POINTS))
    J = np.array([land.function.value(point) for point in np.column_stack([s.ravel(), t.ravel()])]).reshape(s.shape)
    least = land.function.value(np.array(land.minimum))
    levels = least + (J.max() - least) * np.linspace(0.03, 1, CONTOUR_LINES) ** 3
    ax.contour(s, t, J, levels=levels, colors=GREY, linewidths=0.5)
    ax.plot(*land.minimum, marker="+", color=INK, markersize=10, mew=1.4, ls="", zorder=5)
    ax.set_xlim(a, b)
    ax.set_ylim(c, d)
    return ax


def paths(land: Landscape, runs: Mapping[str, Minimum], *, ax: Axes | None = None) -> Axes:
    """The recorded paths of solvers over lines of equal value, each with the number of its steps."""
    ax = landscape(land, ax=ax)
    for i, (name, found) in enumerate(runs.items()):
        if not found.path:
            raise ValueError(f"{name} has no path: minimise with record=True")
        points = np.array(found.path)
        look: dict[str, Any] = {"marker": marker(i), "markersize": 2.8} if len(points) <= MAX_MARKED_POINTS else {}
        ax.plot(*points.T, color=colour(i), lw=1.2, label=f"{name}: {found.steps}", **look)
    legend(ax, loc="best", fontsize=7)
    return ax


def margin_losses(
    losses: Mapping[str, MarginLoss] | None = None, *, within: Sequence[float] = (-2.0, 2.5), ax: Axes | None = None
) -> Axes:
    """Losses against the margin y f(x): below zero the sign is wrong, at one the margin is wide enough."""
    ax = axes(ax, x="margin $m = y f(x)$", y="loss")
    m = np.linspace(within[0], within[1], 901)
    for i, (name, loss) in enumerate((MARGIN_LOSSES if losses is None else losses).items()):
        ax.plot(m, loss.at(m), color=colour(i), lw=1.6, ls="-" if loss.convex else (0, (4, 2)), label=name)
    for place in (0.0, 1.0):
        ax.axvline(place, color=LIGHT_GREY, lw=1, zorder=0)
    ax.set_ylim(-0.05, 3.2)
    legend(ax, loc="upper right")
    return ax
