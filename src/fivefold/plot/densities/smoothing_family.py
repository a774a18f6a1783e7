"""A family of smoothers: one panel for each width, number of bins or neighbours, above one another, with the data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from fivefold.core.types import Array, UserTable, UserTarget
from fivefold.plot.style import COLOURS, GREY, INK, axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POSITIONS = 600  # at which a curve is drawn
MAX_MARKS = 300  # of rows below a density; more would be a bar
MARGIN = 0.05  # of the range of the rows, on both sides


def smoothing_family(
    estimator: Any,
    parameter: str,
    values: Sequence[Any],
    X: UserTable,
    y: UserTarget = None,
    *,
    truth: Callable[[Array], Array] | None = None,
    panels: Sequence[Axes] | None = None,
) -> list[Axes]:
    """One panel for each value of a parameter: the density of rows of one column, or the curve through targets y.

    Parameters
    ----------
    estimator
        a density (`score_samples`) if y is None, otherwise a regressor (`predict`); it is cloned for each value.
    parameter, values
        what is varied.
    X, y
        rows of one column, and targets.
    truth
        the true density or curve, drawn grey behind.
    panels
        axes to draw on, one for each value.

    Examples
    --------
    >>> from fivefold.density import KernelDensity
    >>> X = np.random.default_rng(0).normal(size=(50, 1))
    >>> len(smoothing_family(KernelDensity(), "bandwidth", (0.1, 0.5, 2.0), X))
    3
    """
    X = np.asarray(X, dtype=np.float64).reshape(-1, 1)
    low, high = float(X.min()), float(X.max())
    space = MARGIN * (high - low) or 1.0
    grid = np.linspace(low - space, high + space, POSITIONS)
    drawn = _stacked(len(values), panels)
    for i, (ax, value) in enumerate(zip(drawn, values, strict=True)):
        shown = f"{value:g}" if isinstance(value, float) else str(value)
        axes(ax, title=f"{parameter} = {shown}", y="density" if y is None else "target")
        model = clone(estimator).set_params(**{parameter: value})
        if truth is not None:
            ax.plot(grid, truth(grid), color=GREY, lw=1.5, label="truth")
        if y is None:
            curve = np.exp(model.fit(X).score_samples(grid[:, None]))
            marks = X[:: max(1, len(X) // MAX_MARKS), 0]
            ax.plot(marks, np.zeros(len(marks)), "|", color=INK, ms=5, mew=0.4, clip_on=False)
            ax.set_ylim(bottom=0.0)
        else:
            curve = model.fit(X, y).predict(grid[:, None])
            ax.plot(X[:, 0], y, "o", color=INK, ms=2.5, lw=0)
        ax.plot(grid, curve, color=COLOURS[0], lw=1.4)
        if i < len(drawn) - 1:
            ax.tick_params(labelbottom=False)
    return drawn


def _stacked(count: int, given: Sequence[Axes] | None) -> list[Axes]:
    """Axes above one another with a common horizontal axis: the given ones, or those of a new figure."""
    if given is not None:
        if len(given) != count:
            raise ValueError(f"this figure has {count} panels; {len(given)} axes were given")
        return list(given)
    import matplotlib.pyplot as plt

    _, made = plt.subplots(count, 1, figsize=(5.4, 1.9 * count), sharex=True, layout="constrained", squeeze=False)
    return list(made[:, 0])
