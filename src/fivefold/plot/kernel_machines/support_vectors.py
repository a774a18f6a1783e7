"""Support vectors in their place: the margin of a classifier, the tube of a regression, the surface of one class.

A support vector on the margin is free (0 < alpha < C) and gets a circle; one beyond it is bound (alpha = C) and gets a
square. Rows without a mark could be left out: the machine would be the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from fivefold.core.types import Array, Indices, Mask, Matrix, UserTable, UserTarget, Vector
from fivefold.plot.scatter import points
from fivefold.plot.style import GREY, INK, axes, colour, legend, plane_grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GRID_STEPS = 200  # grid points per side of a map
CURVE_STEPS = 400  # points of a curve
MARGIN_SHARE = 0.1  # around the points, as a share of their spread
TOLERANCES = 2.0  # a support vector is on the margin within this many tolerances of the solver: each row may use one


class SupportVectorMachine(Protocol):
    """A fitted machine: its support vectors, and the tolerance that its solver stopped at."""

    tol: float

    @property
    def support_(self) -> Indices: ...


class MarginMachine(SupportVectorMachine, Protocol):
    """A machine whose values have a meaning at -1, 0 and 1, or at 0 alone."""

    def decision_function(self, X: Matrix, /) -> Array: ...


class TwoClassMachine(MarginMachine, Protocol):
    """A machine of two classes."""

    @property
    def classes_(self) -> Array: ...


class TubeMachine(SupportVectorMachine, Protocol):
    """A machine that ignores errors of up to epsilon."""

    epsilon: float

    def predict(self, X: Matrix, /) -> Array: ...


def support_vectors(model: TwoClassMachine, X: UserTable, y: UserTarget, *, ax: Axes | None = None) -> Axes:
    """Rows of two classes in two columns, the boundary f = 0, the margin f = -1 and 1, and the support vectors."""
    X = _two_columns(X)
    if len(model.classes_) != 2:
        raise ValueError(f"margins are drawn for two classes; the machine has {len(model.classes_)}. Fit it on two")
    ax = points(X, y, ax=ax)
    _level_sets(ax, model, X, {-1.0: "--", 0.0: "-", 1.0: "--"})
    signs = np.where(np.asarray(y) == model.classes_[1], 1.0, -1.0)
    margins = (signs * np.asarray(model.decision_function(X)))[model.support_]
    _mark(ax, X[model.support_], margins < 1.0 - TOLERANCES * model.tol, "on the margin", "inside it, or wrong")
    return ax


def enclosing_surface(model: MarginMachine, X: UserTable, *, ax: Axes | None = None) -> Axes:
    """Rows of one class in two columns, the surface around them, f = 0, and the support vectors."""
    X = _two_columns(X)
    ax = points(X, ax=ax)
    _level_sets(ax, model, X, {0.0: "-"})
    values = np.asarray(model.decision_function(X))[model.support_]
    reach = TOLERANCES * model.tol * max(1.0, float(np.abs(values).max(initial=0.0)))
    _mark(ax, X[model.support_], values < -reach, "on the surface", "outside")
    return ax


def epsilon_tube(model: TubeMachine, X: UserTable, y: UserTarget, *, ax: Axes | None = None) -> Axes:
    """Targets along one column, the fitted curve, the tube of half-width epsilon, and the support vectors."""
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    if X.ndim != 2 or X.shape[1] != 1:
        raise ValueError(f"a tube is drawn along one column; X has shape {X.shape}. Fit the machine on one column")
    ax = axes(ax, x="x", y="y")
    line = np.linspace(X.min(), X.max(), CURVE_STEPS)
    f = np.asarray(model.predict(line[:, None]))
    ax.fill_between(line, f - model.epsilon, f + model.epsilon, color=colour(0), alpha=0.15, lw=0, label="tube")
    ax.plot(line, f, color=colour(0), lw=1.8)
    ax.scatter(X[:, 0], y, s=14, color=INK, lw=0, zorder=3)
    support = model.support_
    errors = np.abs(y - np.asarray(model.predict(X)))[support]
    places = np.column_stack([X[support, 0], y[support]])
    _mark(ax, places, errors > model.epsilon + TOLERANCES * model.tol, "on the border", "outside the tube")
    return ax


def _two_columns(X: UserTable) -> Matrix:
    table: Matrix = np.asarray(X, dtype=float)
    if table.ndim != 2 or table.shape[1] != 2:
        raise ValueError(f"this figure has two columns; X has shape {table.shape}. Fit the machine on two columns")
    return table


def _level_sets(ax: Axes, model: MarginMachine, X: Matrix, looks: dict[float, str]) -> None:
    sides, rows = plane_grid(X, GRID_STEPS, MARGIN_SHARE)
    values = np.asarray(model.decision_function(rows)).reshape(GRID_STEPS, GRID_STEPS)
    for level, look in looks.items():
        ink, width = (INK, 1.8) if level == 0 else (GREY, 1.0)
        ax.contour(*sides, values, levels=[level], colors=[ink], linestyles=[look], linewidths=[width])


def _mark(ax: Axes, places: Matrix, bound: Mask, free_name: str, bound_name: str) -> None:
    """Circles around free support vectors, squares around bound ones."""
    for rows, shape, name in ((~bound, "o", free_name), (bound, "s", bound_name)):
        where: tuple[Vector, Vector] = (places[rows, 0], places[rows, 1])
        ax.scatter(*where, s=70, marker=shape, facecolor="none", edgecolor=INK, lw=1.1, zorder=4, label=name)
    legend(ax, loc="best")
