"""A Gaussian process along one column, and the evidence over two of its parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from fivefold.core.types import Array, Matrix, UserTable, UserTarget, Vector
from fivefold.plot.style import INK, SEQUENTIAL, axes, colour, legend, plane_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CURVE_STEPS = 300  # points of a curve
GRID_STEPS = 41  # values of each parameter
MARGIN_SHARE = 0.15  # beyond the points, as a share of their range: there the band widens
DECADES = 1.5  # logarithms to base 10 on either side of the fitted parameters
CONTOUR_DROPS = (0.5, 1, 2, 4, 8, 16, 32, 64)  # how far below its maximum the logarithm of the evidence is drawn


class FittedProcess(Protocol):
    """A fitted Gaussian process of numbers."""

    kernel_: Any  # a kernel with `theta`

    def predict(self, X: Matrix, /, *, return_std: bool) -> tuple[Array, Array]: ...
    def sample_y(self, X: Matrix, n_samples: int, random_state: int) -> Array: ...
    def log_marginal_likelihood(self, theta: Vector, /) -> float: ...


def process(
    model: FittedProcess,
    X: UserTable,
    y: UserTarget,
    *,
    samples: int = 3,
    width: float = 2.0,
    seed: int = 0,
    ax: Axes | None = None,
) -> Axes:
    """Targets along one column, the mean of the process, a band of `width` standard deviations, and curves drawn."""
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    if X.ndim != 2 or X.shape[1] != 1:
        raise ValueError(f"a process is drawn along one column; X has shape {X.shape}. Fit it on one column")
    ax = axes(ax, x="x", y="y")
    low, high = plane_frame(X.min(axis=0), X.max(axis=0), MARGIN_SHARE)
    line = np.linspace(low[0], high[0], CURVE_STEPS)
    mean, spread = model.predict(line[:, None], return_std=True)
    band = f"{width:g} standard deviations"
    ax.fill_between(line, mean - width * spread, mean + width * spread, color=colour(0), alpha=0.15, lw=0, label=band)
    if samples:
        curves = model.sample_y(line[:, None], samples, seed)
        ax.plot(line, curves, color=colour(1), lw=0.7, alpha=0.8, label=[f"{samples} draws"] + ["_"] * (samples - 1))
    ax.plot(line, mean, color=colour(0), lw=1.8, label="mean")
    ax.scatter(X[:, 0], y, s=16, color=INK, lw=0, zorder=3)
    legend(ax, loc="best")
    return ax


def evidence(model: FittedProcess, *, parameters: tuple[int, int] = (0, 1), ax: Axes | None = None) -> Axes:
    """The logarithm of the evidence over two parameters of the kernel, the others as fitted; a cross at the fit."""
    theta = np.asarray(model.kernel_.theta)
    if len(theta) <= max(parameters):
        raise ValueError(f"parameters {parameters} of theta were asked for, but the kernel has {len(theta)}")
    names = [h.name for h in model.kernel_.hyperparameters if not h.fixed for _ in range(h.n_elements)]
    sides = [theta[j] + np.log(10) * np.linspace(-DECADES, DECADES, GRID_STEPS) for j in parameters]
    values = np.empty((GRID_STEPS, GRID_STEPS))
    for a, first in enumerate(sides[0]):
        for b, second in enumerate(sides[1]):
            here = theta.copy()
            here[list(parameters)] = first, second
            values[b, a] = model.log_marginal_likelihood(here)
    ax = axes(ax, title="logarithm of the evidence", x=names[parameters[0]], y=names[parameters[1]])
    top = float(values.max())
    drops = [top - drop for drop in reversed(CONTOUR_DROPS)]
    ax.contourf(*map(np.exp, sides), values, levels=[*drops, top], cmap=SEQUENTIAL, alpha=0.6)
    ax.contour(*map(np.exp, sides), values, levels=drops, colors=[INK], linewidths=0.5, linestyles="solid")
    ax.plot(*np.exp(theta[list(parameters)])[:, None], marker="x", ms=8, mew=2, color=colour(1))
    ax.set(xscale="log", yscale="log")
    return ax
