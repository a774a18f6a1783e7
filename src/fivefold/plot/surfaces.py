"""Linear scores and what the softmax, or the sigmoid, makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from fivefold.core.types import Array, Matrix, UserTable, UserTarget
from fivefold.evaluation.protocols import FittedClassifier
from fivefold.plot.style import DIVERGING, INK, axes, axes_row, colour, marker, plane_grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GRID_STEPS = 121  # grid points per column
MARGIN_SHARE = 0.08  # around the points, as a share of their spread


class ScoringClassifier(FittedClassifier, Protocol):
    """A classifier with scores before the softmax, or the sigmoid."""

    def decision_function(self, X: Matrix, /) -> Array: ...


def surfaces(
    model: ScoringClassifier, X: UserTable, y: UserTarget = None, *, axs: Sequence[Axes] | None = None
) -> tuple[Axes, Axes]:
    """Scores of a classifier of two columns next to its posterior, and the boundary in both.

    For two classes the log odds and the probability of the second; for more the largest score and the largest
    posterior, coloured by the class that has it.
    """
    X = np.asarray(X)
    if X.shape[1] != 2:
        raise ValueError(f"surfaces are drawn over two columns; X has {X.shape[1]}. Fit the classifier on two of them")
    (a, b), grid = plane_grid(X, GRID_STEPS, MARGIN_SHARE)
    scores, P = np.asarray(model.decision_function(grid)), np.asarray(model.predict_proba(grid))
    left, right = axes_row(2, axs, width=4.2)
    for ax, title, values in ((left, "scores", scores), (right, "posterior", P[:, 1] if P.shape[1] == 2 else P)):
        axes(ax, title=title)
        _surface(ax, a, b, values, middle=0.0 if values is scores else 0.5)
        if y is not None:
            for k, label in enumerate(model.classes_):
                own = X[np.asarray(y) == label]
                ax.scatter(
                    own[:, 0],
                    own[:, 1],
                    s=14,
                    color=colour(k),
                    marker=marker(k),
                    edgecolor="white",
                    lw=0.5,
                    label=str(label),
                )
    return left, right


def _surface(ax: Axes, a: Array, b: Array, values: Array, middle: float) -> None:
    shape = len(b), len(a)
    if values.ndim == 1:
        reach = float(np.abs(values - middle).max())
        levels = np.linspace(middle - reach, middle + reach, 17)
        ax.contourf(a, b, values.reshape(shape), levels=levels, cmap=DIVERGING, alpha=0.8)
        ax.contour(a, b, values.reshape(shape), levels=[middle], colors=[INK], linewidths=1.4)
        return
    best = values.argmax(axis=1)
    for k in range(values.shape[1]):
        own = np.where(best == k, values[:, k], np.nan).reshape(shape)
        if np.isfinite(own).any():
            ax.contour(a, b, own, levels=9, colors=[colour(k)], linewidths=0.9)
    ax.contour(a, b, best.reshape(shape), levels=np.arange(values.shape[1]) + 0.5, colors=[INK], linewidths=1.4)
