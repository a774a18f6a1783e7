"""Underfit, right, overfit: decision boundaries side by side, with training and test errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import clone

from fivefold.core.types import UserTable, UserTarget
from fivefold.evaluation.protocols import FittedClassifier, Model
from fivefold.kernel_ridge import KernelRidgeClassifier
from fivefold.plot.style import INK, axes, axes_row, colour, marker, plane_grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAP_STEPS = 120  # grid points per side of a map
MARGIN_SHARE = 0.05  # around the points, as a share of their spread
KERNEL_WIDTHS = (1.0, 0.05, 0.001)  # of Gaussian kernels, in units of the columns: too wide, right, too narrow


@dataclass(frozen=True)
class FitPanel:
    """Fitted classifiers, their errors on training rows and on new rows, and the axes that show them."""

    names: tuple[str, ...]
    models: tuple[FittedClassifier, ...]
    training_errors: tuple[float, ...]
    test_errors: tuple[float, ...]
    axes: tuple[Axes, ...]

    @property
    def best(self) -> str:
        """The name of the classifier with the least error on new rows."""
        return self.names[int(np.argmin(self.test_errors))]

    def __str__(self) -> str:
        parts = zip(self.names, self.training_errors, self.test_errors, strict=True)
        return "\n".join(f"{name}: training error {own:.3f}, test error {new:.3f}" for name, own, new in parts)


def fit_panel(
    models: Mapping[str, Model],
    X: UserTable,
    y: UserTarget,
    X_new: UserTable,
    y_new: UserTarget,
    *,
    panels: Sequence[Axes] | None = None,
) -> FitPanel:
    """Fit classifiers to rows of two columns and draw each one's boundary, with its error on these and on new rows.

    Parameters
    ----------
    models
        Classifiers by name, from the least flexible to the most flexible.
    X, y
        Rows of two columns to learn from, and their labels.
    X_new, y_new
        Rows for the test error.
    panels
        Axes to draw on, one per model.

    Examples
    --------
    >>> from fivefold.baselines import MajorityClassifier, MemorisingClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, new = rng.normal(size=(2, 40, 2))
    >>> models = {"majority": MajorityClassifier(), "memory": MemorisingClassifier()}
    >>> found = fit_panel(models, X, X[:, 0] > 0, new, new[:, 0] > 0)
    >>> found.training_errors[1]
    0.0
    """
    X, X_new = np.asarray(X, dtype=float), np.asarray(X_new, dtype=float)
    if X.ndim != 2 or X.shape[1] != 2:
        raise ValueError(f"a panel is drawn over two columns; X has shape {X.shape}. Select two columns")
    fitted = tuple(clone(model).fit(X, y) for model in models.values())
    errors = [tuple(float(1 - m.score(A, b)) for m in fitted) for A, b in ((X, y), (X_new, y_new))]
    sides, grid = plane_grid(X, MAP_STEPS, MARGIN_SHARE)
    drawn = axes_row(len(models), panels)
    for ax, name, model, own, new in zip(drawn, models, fitted, *errors, strict=True):
        axes(ax, title=f"{name}\ntraining error {own:.2f}, test error {new:.2f}")
        labels = np.searchsorted(model.classes_, model.predict(grid)).reshape(MAP_STEPS, MAP_STEPS)
        levels = np.arange(len(model.classes_) + 1) - 0.5
        colours = [colour(k) for k in range(len(model.classes_))]
        ax.contourf(*sides, labels, levels=levels, colors=colours, alpha=0.15)
        if labels.min() < labels.max():
            ax.contour(*sides, labels, levels=levels[1:-1], colors=[INK], linewidths=0.8)
        for k, label in enumerate(model.classes_):
            ax.plot(*X[np.asarray(y) == label].T, marker(k), ms=2.5, color=colour(k), lw=0)
        ax.set_aspect("equal")
    return FitPanel(tuple(models), fitted, errors[0], errors[1], tuple(drawn))


def width_panel(
    X: UserTable,
    y: UserTarget,
    X_new: UserTable,
    y_new: UserTarget,
    *,
    widths: Sequence[float] = KERNEL_WIDTHS,
    tau: float = 1.0,
    panels: Sequence[Axes] | None = None,
) -> FitPanel:
    """Kernel ridge classifiers of several kernel widths on rows of two columns: underfit, right, overfit.

    Parameters
    ----------
    X, y
        Rows of two columns to learn from, and their labels.
    X_new, y_new
        Rows for the test error.
    widths
        Widths of the Gaussian kernel, the widest first; the defaults suit columns between 0 and 1.
    tau
        Regularisation, the same for all.
    panels
        Axes to draw on, one per width.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, new = rng.random((2, 100, 2))
    >>> found = width_panel(X, X[:, 0] > 0.5, new, new[:, 0] > 0.5)
    >>> found.training_errors[-1]
    0.0
    """
    models: dict[str, Model] = {
        f"width {width:g}": KernelRidgeClassifier(tau, gamma=0.5 / width**2) for width in widths
    }
    return fit_panel(models, X, y, X_new, y_new, panels=panels)
