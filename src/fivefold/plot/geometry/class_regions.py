"""Regions of classes: on the line with likelihoods and posteriors, in the plane for any classifier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fivefold.core.types import UserTable, UserTarget
from fivefold.decision.class_conditional import ClassConditionalModel
from fivefold.decision.regions import decision_regions
from fivefold.evaluation.protocols import FittedClassifier
from fivefold.plot.scatter import points
from fivefold.plot.style import GREY, INK, axes, axes_row, colour, legend, plane_grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LINE_POINTS = 801  # at which curves are drawn
MAP_POINTS = 300  # grid points per side of a map
MARGIN_SHARE = 0.12  # around the points, as a share of their spread


def posterior_panels(
    model: ClassConditionalModel, low: float, high: float, *, panels: Sequence[Axes] | None = None
) -> list[Axes]:
    """Three panels of a model of one column: p(x | k), p(x | k) P(k), and P(k | x), with the decision boundaries."""
    three = axes_row(3, panels, width=3.8, height=3.0)
    x = np.linspace(low, high, LINE_POINTS)
    regions = decision_regions(model)
    curves = (
        ("likelihood", "p(x | class)", np.exp(model.log_likelihoods(x))),
        ("likelihood x prior", "p(x, class)", np.exp(model.log_joint(x))),
        ("posterior", "P(class | x)", model.posterior(x)),
    )
    for ax, (title, name, values) in zip(three, curves, strict=True):
        axes(ax, title=title, x="x", y=name)
        for k, label in enumerate(model.classes_):
            ax.plot(x, values[:, k], color=colour(k), lw=1.8, label=str(label))
        ax.set(xlim=(low, high), ylim=(0, None))
    for ax in three[1:]:
        for boundary in regions.boundaries[(regions.boundaries > low) & (regions.boundaries < high)]:
            ax.axvline(boundary, color=GREY, lw=1, ls=(0, (4, 3)))
    edges = np.clip(regions.edges, low, high)
    for a, b, k in zip(edges[:-1], edges[1:], regions.codes, strict=True):
        three[2].axvspan(a, b, color=colour(k), alpha=0.1, lw=0)
    legend(three[0], loc="best")
    return three


def class_regions(
    model: FittedClassifier, X: UserTable, y: UserTarget = None, *, reject: float | None = None, ax: Axes | None = None
) -> Axes:
    """The region of each class in the plane around the rows X (n, 2), with its boundary; grey where rows are rejected.

    `reject` is the cost of a rejection: rows whose most probable class is wrong with a larger probability are rejected.
    """
    X, labels = np.asarray(X), np.asarray(model.classes_)
    sides, rows = plane_grid(X, MAP_POINTS, MARGIN_SHARE)
    P = np.asarray(model.predict_proba(rows))
    winner = P.argmax(axis=1).reshape(MAP_POINTS, MAP_POINTS)
    ax = points(X, y, ax=ax)
    levels = np.arange(len(labels) + 1) - 0.5
    ax.contourf(*sides, winner, levels=levels, colors=[colour(k) for k in range(len(labels))], alpha=0.15, zorder=-2)
    top = np.sort(P, axis=1)
    gap = (top[:, -1] - top[:, -2]).reshape(MAP_POINTS, MAP_POINTS)
    for k in range(len(labels)):  # signed, so that the line lies where the two largest probabilities tie
        ax.contour(*sides, np.where(winner == k, gap, -gap), levels=[0.0], colors=[INK], linewidths=1.2, zorder=1)
    if reject is not None:
        unsure = (1 - P.max(axis=1) > reject).astype(float).reshape(MAP_POINTS, MAP_POINTS)
        ax.contourf(*sides, unsure, levels=[0.5, 1.5], colors=[GREY], alpha=0.45, zorder=-1)
    ax.set(xlim=(rows[0, 0], rows[-1, 0]), ylim=(rows[0, 1], rows[-1, 1]))
    return ax
