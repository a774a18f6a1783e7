"""The best single prediction under a predictive density: it depends on the loss.

    t* = argmin_t E loss(Y - t)

squared      (y - t)^2                 the mean
absolute     |y - t|                   the median
pinball      tau or 1 - tau times |y - t|, above or below t        the tau-quantile
zero-one     0 within a vanishing distance, else 1                 the mode
Minkowski    |y - t|^q                 q > 1, found where E sign(y - t) |y - t|^(q - 1) is zero

A density is a frozen distribution of scipy.stats, or a sample of it with weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import gaussian_kde

from fivefold.core.types import Array, Vector
from fivefold.evaluation.tolerances import TAIL_PROBABILITY

GRID_POINTS = 2001  # points of the grid on which the mode is looked for before it is refined


class PredictiveDensity(Protocol):
    """A predictive density: any frozen distribution of scipy.stats, or a `WeightedSample`."""

    def mean(self) -> float: ...
    def ppf(self, q: float | Array, /) -> Array: ...
    def pdf(self, x: Array, /) -> Array: ...
    def expect(self, func: Callable[[Array], Array], /) -> float: ...


@dataclass(frozen=True)
class WeightedSample:
    """Draws from a predictive density, with weights; its density is a kernel estimate.

    Examples
    --------
    >>> draws = WeightedSample([1, 2, 3, 4, 100])
    >>> SquaredLoss().best(draws), AbsoluteLoss().best(draws)
    (22.0, 3.0)
    """

    values: Sequence[float] | Array
    weights: Sequence[float] | Array | None = None

    def mean(self) -> float:
        """The weighted mean."""
        return float(np.average(self.values, weights=self.weights))

    def ppf(self, q: float | Array) -> Array:
        """The smallest value at or below which the share q lies."""
        v, w = self._sorted()
        return v[np.minimum(np.searchsorted(np.cumsum(w), np.asarray(q) - 1e-12), len(v) - 1)]

    def pdf(self, x: Array) -> Array:
        """A Gaussian kernel estimate with Scott's width."""
        return gaussian_kde(np.asarray(self.values, dtype=float), weights=self.weights)(x)

    def expect(self, function: Callable[[Array], Array]) -> float:
        """The weighted mean of a function."""
        v, w = self._sorted()
        return float(w @ function(v))

    def _sorted(self) -> tuple[Vector, Vector]:
        v = np.asarray(self.values, dtype=float)
        w = np.ones(len(v)) if self.weights is None else np.asarray(self.weights, dtype=float)
        order = np.argsort(v, kind="stable")
        return v[order], w[order] / w.sum()


@dataclass(frozen=True)
class SquaredLoss:
    """(y - t)^2."""

    def best(self, density: PredictiveDensity) -> float:
        """The mean."""
        return float(density.mean())


@dataclass(frozen=True)
class PinballLoss:
    """tau (y - t) above t, (1 - tau) (t - y) below: a prediction too low costs tau per unit, one too high 1 - tau.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> round(PinballLoss(0.9).best(norm(10, 2)), 4)
    12.5631
    """

    tau: float

    def best(self, density: PredictiveDensity) -> float:
        """The tau-quantile."""
        return float(density.ppf(self.tau))


@dataclass(frozen=True)
class AbsoluteLoss:
    """|y - t|."""

    def best(self, density: PredictiveDensity) -> float:
        """The median."""
        return float(density.ppf(0.5))


@dataclass(frozen=True)
class ZeroOneLoss:
    """0 if t is within a vanishing distance of y, otherwise 1."""

    def best(self, density: PredictiveDensity) -> float:
        """The highest mode."""
        grid = np.linspace(density.ppf(TAIL_PROBABILITY), density.ppf(1 - TAIL_PROBABILITY), GRID_POINTS)
        near = grid[int(np.argmax(density.pdf(grid)))]
        step = grid[1] - grid[0]
        found = minimize_scalar(lambda t: -float(np.ravel(density.pdf(t))[0]), bounds=(near - step, near + step))
        return float(found.x)


@dataclass(frozen=True)
class MinkowskiLoss:
    """|y - t|^q with q > 1; a larger q penalises large errors more.

    Examples
    --------
    >>> from scipy.stats import expon
    >>> round(MinkowskiLoss(2).best(expon()), 6), round(MinkowskiLoss(4).best(expon()), 3)
    (1.0, 1.596)
    """

    q: float

    def best(self, density: PredictiveDensity) -> float:
        """The point where the expected derivatives from above and from below cancel."""
        if not self.q > 1:
            raise ValueError(f"q must exceed 1; got {self.q}. AbsoluteLoss() is the loss with q = 1")

        def pull(t: float) -> float:
            return float(density.expect(lambda y: np.sign(y - t) * np.abs(y - t) ** (self.q - 1)))

        return float(brentq(pull, density.ppf(TAIL_PROBABILITY), density.ppf(1 - TAIL_PROBABILITY)))
