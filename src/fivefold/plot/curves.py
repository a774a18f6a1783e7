"""Loss curves over a parameter or a sample size, their parts (bias and variance), and residuals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import root_mean_squared_error

from fivefold.core.types import UserTarget, Vector
from fivefold.evaluation.curves import LossCurve
from fivefold.evaluation.experiments.bias_variance import ErrorDecomposition
from fivefold.plot.style import COLOURS, GREY, INK, LIGHT_GREY, axes, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def curve(
    found: LossCurve, *, log: bool = False, best: bool = True, loss: str = "loss", ax: Axes | None = None
) -> Axes:
    """Loss on training and on unseen rows with bands of one standard error; a line marks the least unseen loss."""
    ax = axes(ax, x=found.name, y=loss)
    x = _places(found.values)
    for values, ink, name, marker in (
        (found.train, COLOURS[1], "training rows", "s"),
        (found.test, COLOURS[0], "unseen rows", "o"),
    ):
        mean = values.mean(axis=1)
        half = values.std(axis=1, ddof=1) / np.sqrt(values.shape[1]) if values.shape[1] > 1 else 0 * mean
        ax.fill_between(x, mean - half, mean + half, color=ink, alpha=0.2, lw=0)
        ax.plot(x, mean, color=ink, marker=marker, markersize=3.5, lw=1.5, label=name)
    if best:
        ax.axvline(x[found.best], color=INK, lw=1, ls=":", label=f"least: {_short(found.values[found.best])}")
    _scale(ax, x, found.values, log)
    legend(ax, loc="best")
    return ax


def bias_variance(
    found: ErrorDecomposition, *, name: str = "complexity", log: bool = False, ax: Axes | None = None
) -> Axes:
    """Squared bias, variance, noise and their sum at every complexity; crosses are the measured error."""
    ax = axes(ax, x=name, y="expected squared error")
    x = _places(found.values)
    parts = (
        (found.bias2, COLOURS[0], "bias squared", "o"),
        (found.variance, COLOURS[1], "variance", "s"),
        (found.bias2 + found.variance + found.noise, INK, "sum with noise", ""),
    )
    for values, ink, label, marker in parts:
        ax.plot(x, values, color=ink, marker=marker, markersize=3.5, lw=1.5, label=label)
    ax.axhline(found.noise, color=GREY, lw=1, ls=(0, (4, 3)), label="noise")
    ax.errorbar(
        x, found.total, found.error, color=INK, marker="x", markersize=5, ls="", elinewidth=0.9, label="measured"
    )
    _scale(ax, x, found.values, log)
    ax.set_ylim(bottom=0)
    legend(ax, loc="best")
    return ax


def residuals(y: UserTarget, predicted: UserTarget, *, ax: Axes | None = None) -> Axes:
    """Target minus prediction against the prediction; dashed lines are one root mean squared error from zero."""
    y, predicted = np.asarray(y, dtype=float), np.asarray(predicted, dtype=float)
    error = root_mean_squared_error(y, predicted)
    ax = axes(ax, x="predicted", y="target - predicted")
    ax.scatter(predicted, y - predicted, s=12, color=COLOURS[0], alpha=0.55, lw=0)
    ax.axhline(0, color=INK, lw=1)
    for level in (-error, error):
        ax.axhline(level, color=GREY, lw=1, ls=(0, (4, 3)))
    ax.plot([], [], color=GREY, lw=1, ls=(0, (4, 3)), label=f"RMSE {error:.3g}")
    ax.grid(color=LIGHT_GREY, lw=0.8)
    legend(ax, loc="best")
    return ax


def agreement(y: UserTarget, predicted: UserTarget, *, ax: Axes | None = None) -> Axes:
    """Target against prediction; on the line they are equal."""
    y, predicted = np.asarray(y, dtype=float), np.asarray(predicted, dtype=float)
    ends = [min(y.min(), predicted.min()), max(y.max(), predicted.max())]
    ax = axes(ax, x="predicted", y="target")
    ax.scatter(predicted, y, s=12, color=COLOURS[0], alpha=0.55, lw=0)
    ax.plot(ends, ends, color=INK, lw=1)
    ax.grid(color=LIGHT_GREY, lw=0.8)
    return ax


def _places(values: Sequence[Any] | NDArray[Any]) -> Vector:
    """Positions on the axis: numbers at their value, anything else one after the other."""
    if all(isinstance(value, int | float | np.number) and not isinstance(value, bool) for value in values):
        return np.asarray(values, dtype=float)
    return np.arange(len(values), dtype=float)


def _scale(ax: Axes, x: Vector, values: Sequence[Any] | NDArray[Any], log: bool) -> None:
    if log:
        ax.set_xscale("log")
    elif not isinstance(values[0], int | float | np.number):
        ax.set_xticks(x, [str(value) for value in values])


def _short(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
