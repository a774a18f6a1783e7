"""Widths by the likelihood of every row under the density of the others, in closed form.

    p_(-i)(x_i) = (S_i - k(0)) / ((W - 1) h^d c_d),      S_i = sum of w_j k(|x_i - x_j| / h) over all rows, i too

One copy of a row is left out: of a row of weight w there remain w - 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from scipy.optimize import minimize_scalar

from fivefold.core.types import Doubles, Matrix, Vector
from fivefold.density.sums.window_kernels import WindowKernel

GRID_WIDTHS = 15  # widths tried before the best is refined
WIDTH_SPAN = 30.0  # the widths tried lie within this factor of the rule of thumb
REFINED_DIGITS = 1e-3  # in the log of the width
SEARCH_TOLERANCE = 1e-6  # relative error of the sums of a search


class SumsOfKernel(Protocol):
    """Whatever sums kernels over weighted points."""

    @property
    def mass(self) -> float: ...

    def log_sums(self, Q: Matrix, h: float, *, rtol: float = 0.0) -> Doubles: ...


def leave_one_out_scores(
    sums: SumsOfKernel, kernel: WindowKernel, X: Matrix, w: Vector, h: float, rtol: float = 0.0
) -> Doubles:
    """log density of each row under the others (n,); minus infinity where no other row is near."""
    at_zero = float(kernel.values(np.zeros(1))[0])
    own = np.minimum(w, 1.0)
    logs = sums.log_sums(X, h, rtol=rtol)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = own * at_zero * np.exp(-logs)  # the row's own part of its sum
        rest = np.where(ratio < 1.0 - 1e-13, logs + np.log1p(-np.minimum(ratio, 1.0)), -np.inf)
        return rest - np.log(sums.mass - own) - X.shape[1] * np.log(h) - kernel.log_integral(X.shape[1])


def likelihood_width(
    score: Callable[[float], float], start: float, *, span: float = WIDTH_SPAN, what: str = "bandwidth"
) -> float:
    """The width with the largest score, from a grid around `start` and a search between the neighbours of the best."""
    grid = start * np.geomspace(1 / span, span, GRID_WIDTHS)
    values = np.array([score(float(h)) for h in grid])
    if not np.isfinite(values).any():
        raise ValueError(
            f"{what}: no width from {grid[0]:.3g} to {grid[-1]:.3g} gives every row a neighbour; pass a number"
        )
    best = int(np.nanargmax(values))
    if best == 0:
        raise ValueError(
            f"{what}: the likelihood of rows left out still grows as the width shrinks below {grid[0]:.3g}, as it does "
            "without end where rows repeat. Remove the copies, add noise as large as the rounding, or pass a number"
        )
    ends = np.log(grid[best - 1]), np.log(grid[min(best + 1, len(grid) - 1)])
    found = minimize_scalar(
        lambda u: -score(float(np.exp(u))), bounds=ends, method="bounded", options={"xatol": REFINED_DIGITS}
    )
    return float(np.exp(found.x)) if -found.fun >= values[best] else float(grid[best])
