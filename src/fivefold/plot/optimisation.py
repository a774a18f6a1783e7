"""How solvers move over a landscape, and how margin losses judge a margin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fivefold.optim.functions import Landscape
from fivefold.optim.losses import Hinge, Log, Margin, MarginError, ProbitMargin, SquaredMargin, ZeroOne
from fivefold.optim.objective import Minimum
from fivefold.plot.style import FAINT, INK, SOFT, axes, colour, key, mark

LINES = 9  # of equal value
GRID = 161  # points a side, of which the lines are drawn
FEW = 60  # a path of more points has no marks

LOSSES: Mapping[str, Margin] = {
    "0/1": ZeroOne(),
    "margin": MarginError(),
    "hinge": Hinge(),
    "square": SquaredMargin(),
    "log": Log(),
    "probit": ProbitMargin(),
}


def landscape(land: Landscape, *, ax: Any = None) -> Any:
    """Lines of equal value, closer where it is low, and a cross at the minimum."""
    ax = axes(ax, x="$\\theta_1$", y="$\\theta_2$")
    (a, b), (c, d) = land.window
    s, t = np.meshgrid(np.linspace(a, b, GRID), np.linspace(c, d, GRID))
    J = np.array([land.function.value(point) for point in np.column_stack([s.ravel(), t.ravel()])]).reshape(s.shape)
    least = land.function.value(np.array(land.minimum))
    levels = least + (J.max() - least) * np.linspace(0.03, 1, LINES) ** 3
    ax.contour(s, t, J, levels=levels, colors=SOFT, linewidths=0.5)
    ax.plot(*land.minimum, marker="+", color=INK, markersize=10, mew=1.4, ls="", zorder=5)
    ax.set_xlim(a, b)
    ax.set_ylim(c, d)
    return ax


def paths(land: Landscape, runs: Mapping[str, Minimum], *, ax: Any = None) -> Any:
    """The recorded paths of solvers over lines of equal value, each with the number of its steps."""
    ax = landscape(land, ax=ax)
    for i, (name, found) in enumerate(runs.items()):
        if not found.path:
            raise ValueError(f"{name} has no path: minimise with record=True")
        points = np.array(found.path)
        look = {"marker": mark(i), "markersize": 2.8} if len(points) <= FEW else {}
        ax.plot(*points.T, color=colour(i), lw=1.2, label=f"{name}: {found.steps}", **look)
    key(ax, loc="best", fontsize=7)
    return ax


def margin_losses(
    losses: Mapping[str, Margin] | None = None, *, within: Sequence[float] = (-2.0, 2.5), ax: Any = None
) -> Any:
    """Losses against the margin y f(x): below zero the sign is wrong, at one the margin is wide enough."""
    ax = axes(ax, x="margin $m = y f(x)$", y="loss")
    m = np.linspace(within[0], within[1], 901)
    for i, (name, loss) in enumerate((LOSSES if losses is None else losses).items()):
        ax.plot(m, loss.of(m), color=colour(i), lw=1.6, ls="-" if loss.convex else (0, (4, 2)), label=name)
    for place in (0.0, 1.0):
        ax.axvline(place, color=FAINT, lw=1, zorder=0)
    ax.set_ylim(-0.05, 3.2)
    key(ax, loc="upper right")
    return ax
