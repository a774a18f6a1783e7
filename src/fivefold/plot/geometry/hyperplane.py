"""Hyperplanes in the plane: a line with its normal and distances, the regions of classes, the margins of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.types import UserTable, UserTarget, Vector
from fivefold.linear_model.geometry.hyperplane import Hyperplane
from fivefold.plot.scatter import points
from fivefold.plot.style import COLOURS, GREY, INK, LIGHT_GREY, arrow, axes, colour, legend, plane_frame, plane_grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fivefold.multiclass import OneVsOneClassifier, OneVsRestClassifier

MAP_POINTS = 300  # grid points per side of a map
MARGIN_SHARE = 0.12  # around the points, as a share of their spread


def hyperplane(plane: Hyperplane, X: UserTable, y: UserTarget = None, *, ax: Axes | None = None) -> Axes:
    """The line f = 0, its normal, the lines f = -1 and +1, and the segment from each row to its projection."""
    X = np.asarray(X)
    ax = points(X, y, ax=ax)
    low, high = plane_frame(X.min(axis=0), X.max(axis=0), MARGIN_SHARE)
    for level, look in ((-1, "--"), (0, "-"), (1, "--")):
        _line(ax, plane, level, low, high, color=INK if level == 0 else GREY, ls=look, lw=1.6 if level == 0 else 0.9)
    feet = plane.project(X)
    ax.plot(*np.stack([X, feet], axis=1).transpose(2, 1, 0), color=GREY, lw=0.5, zorder=0)
    foot = plane.project(X.mean(axis=0, keepdims=True))[0]
    tip = foot + plane.normal * 0.25 * float(np.min(high - low))
    arrow(ax, foot, tip, INK)
    ax.annotate("w", tip, fontsize=9, color=INK, xytext=(4, 2), textcoords="offset points")
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    ax.set_title(f"distance of the origin {plane.origin_distance:.3g}", loc="left", fontsize=10, color=INK)
    return ax


def regions(
    model: OneVsRestClassifier | OneVsOneClassifier, X: UserTable, y: UserTarget, *, ax: Axes | None = None
) -> Axes:
    """Regions of the classes with a thick boundary, a thin line per machine; grey where no class or several claim.

    `model` is a OneVsRestClassifier or OneVsOneClassifier of linear machines in two columns.
    """
    X, labels = np.asarray(X), list(model.classes_)
    sides, rows = plane_grid(X, MAP_POINTS, MARGIN_SHARE)
    low, high = rows[0], rows[-1]
    ax = points(X, y, ax=ax)
    winner = np.searchsorted(model.classes_, model.predict(rows)).reshape(MAP_POINTS, MAP_POINTS)
    levels = np.arange(len(labels) + 1) - 0.5
    ax.contourf(*sides, winner, levels=levels, colors=[colour(k) for k in range(len(labels))], alpha=0.12, zorder=-2)
    unclear = (model.claims(rows).sum(axis=1) != 1).reshape(MAP_POINTS, MAP_POINTS).astype(float)
    ax.contourf(*sides, unclear, levels=[0.5, 1.5], colors=[GREY], alpha=0.45, zorder=-1)
    for k in range(len(labels)):
        ax.contour(*sides, (winner == k).astype(float), levels=[0.5], colors=[INK], linewidths=2.4, zorder=1)
    for l, machine in enumerate(model.estimators_):
        _line(ax, Hyperplane.of(machine), 0, low, high, color=colour(l), ls=":", lw=1.0)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    ax.set_title(f"{unclear.mean():.2%} of the area is claimed by no class or by several", loc="left", fontsize=10)
    return ax


def margin_distribution(margins: ArrayLike, *, ax: Axes | None = None) -> Axes:
    """The share of rows whose margin is at most m, against m; its value at zero is the training error."""
    m = np.sort(np.asarray(margins))
    error = float(np.mean(m < 0))
    ax = axes(ax, title=f"training error {error:.1%}", x="margin", y="share of rows")
    ax.axvspan(min(m[0], 0.0), 0.0, color=LIGHT_GREY, zorder=0)
    ax.step(m, np.arange(1, len(m) + 1) / len(m), where="post", color=COLOURS[0], lw=1.4, label="rows")
    for at, text in ((0.0, "wrong below"), (1.0, "hinge loss below")):
        ax.axvline(at, color=GREY, lw=0.9, ls="--", label=f"{text} {at:g}")
    legend(ax, loc="best")
    return ax


def _line(ax: Axes, plane: Hyperplane, level: float, low: Vector, high: Vector, **look: Any) -> None:
    """The line f = level, long enough to cross the frame."""
    along = np.array([-plane.normal[1], plane.normal[0]])
    middle = (low + high) / 2
    foot = plane.project(middle[None])[0] + plane.normal * level / np.linalg.norm(plane.w)
    reach = float(np.linalg.norm(high - low))
    ax.plot(*np.stack([foot - reach * along, foot + reach * along], axis=1), zorder=0, **look)
