"""The central limit theorem in the plane, by experiment.

    sqrt(n) (mean of n draws - mu)  ->  N(0, Sigma)

The covariance of the left side is Sigma for every n; its shape becomes Gaussian as n grows, which the
probability of a region shows: here the quadrant of points with both coordinates below zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import multivariate_normal

from fivefold.core.types import Array, Matrix
from fivefold.plot.geometry.ellipses import ellipses
from fivefold.plot.style import GREY, axes, axes_row

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class LimitSample:
    """Scaled means of n draws, repeated, and the Gaussian that they approach."""

    n: int
    scaled: Array  # (repeats, 2)
    covariance: Array  # (2, 2), of the source
    quadrant: float  # share of `scaled` with both coordinates below zero
    expected: float  # probability of the same under the Gaussian


def central_limit_experiment(
    draw: Callable[[np.random.RandomState, tuple[int, int]], Array],
    mean: Array,
    covariance: Matrix,
    *,
    sizes: Sequence[int] = (1, 4, 64),
    repeats: int = 1500,
    rng: np.random.RandomState | None = None,
) -> tuple[LimitSample, ...]:
    """For each n the scaled means of `repeats` samples; draw(rng, (repeats, n)) gives points (repeats, n, 2)."""
    rng = np.random.RandomState(0) if rng is None else rng
    mean, covariance = np.asarray(mean), np.asarray(covariance)
    expected = float(multivariate_normal([0, 0], covariance).cdf([0, 0]))
    found = []
    for n in sizes:
        scaled = np.sqrt(n) * (draw(rng, (repeats, n)).mean(axis=1) - mean)
        found.append(LimitSample(n, scaled, covariance, float((scaled < 0).all(axis=1).mean()), expected))
    return tuple(found)


def central_limit(limits: Sequence[LimitSample], *, panels: Sequence[Axes] | None = None) -> list[Axes]:
    """One panel per n: the scaled means, and the ellipses that hold half and 95 % of the Gaussian."""
    drawn = axes_row(len(limits), panels, width=3.0, height=3.3)
    reach = 3.2 * np.sqrt(np.diag(limits[0].covariance))
    for ax, limit in zip(drawn, limits, strict=True):
        axes(ax, title=f"n = {limit.n}", x=f"both below zero: {limit.quadrant:.3f}, Gaussian {limit.expected:.3f}")
        ax.scatter(limit.scaled[:, 0], limit.scaled[:, 1], s=4, color=GREY, alpha=0.45, lw=0)
        ellipses([[0.0, 0.0]], [limit.covariance], ax=ax)
        ax.set_aspect("equal", adjustable="box")
        ax.set_xlim(-reach[0], reach[0])
        ax.set_ylim(-reach[1], reach[1])
    return drawn
