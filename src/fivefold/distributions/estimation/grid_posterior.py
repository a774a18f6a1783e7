"""Posterior of one or two parameters for any prior and likelihood, by quadrature.

    p(theta | X) = p(X | theta) p(theta) / p(X),    p(X) = integral p(X | theta) p(theta) dtheta

Everything is in logarithms. A parameter with bounds becomes a number s without: theta = low + e^s, high - e^-s, or the
logistic curve between low and high; without bounds theta = mode + width sinh(s), so that heavy tails are short. The
density of s falls off on both sides, even where that of theta is infinite at a bound. It is summed at Gauss-Legendre
points of panels, as far as it is within a factor e^-40 of its maximum: equal ones, and for one parameter as many again
where the probability is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logit, logsumexp

from fivefold.core.types import Array, Matrix, Vector

LogFunction = Callable[[Matrix], Vector]  # parameters (m, p) -> one number for each (m,)
POINTS_PER_PANEL = 8  # Gauss-Legendre points of a panel: exact for polynomials of degree 15
PANELS = {1: 200, 2: 24}  # panels along an axis, by the number of parameters: 3,200 and 192 x 192 points
MAX_LOG = 690.0  # the largest exponent whose power is a number
LARGE = 1e300  # in place of an infinite log density: a search subtracts them
DROP = 40.0  # how far below its maximum the log density still counts: e^-40 is 4e-18


@dataclass(frozen=True)
class ParameterCurve:
    """A parameter between bounds as an increasing function of a number s without."""

    low: float
    high: float
    centre: float  # without bounds: the mode, and how far from it the density is about half
    width: float

    def theta(self, s: Array) -> Array:
        if np.isfinite(self.low) and np.isfinite(self.high):
            return self.low + (self.high - self.low) * expit(s)
        if np.isfinite(self.low):
            return self.low + np.exp(np.clip(s, -MAX_LOG, MAX_LOG))
        if np.isfinite(self.high):
            return self.high - np.exp(np.clip(-s, -MAX_LOG, MAX_LOG))
        return self.centre + self.width * np.sinh(np.clip(s, -MAX_LOG, MAX_LOG))

    def log_slope(self, s: Array) -> Array:
        """log dtheta / ds."""
        if np.isfinite(self.low) and np.isfinite(self.high):
            return np.log(self.high - self.low) + log_expit(s) + log_expit(-s)
        if np.isfinite(self.low):
            return s
        if np.isfinite(self.high):
            return -s
        away = np.abs(s)
        return np.log(self.width / 2) + away + np.log1p(np.exp(-2 * away))  # log cosh

    def place(self, theta: float) -> float:
        """The s of a theta, which is moved inside if it is on a bound."""
        if np.isfinite(self.low) and np.isfinite(self.high):
            return float(logit(np.clip((theta - self.low) / (self.high - self.low), 1e-9, 1 - 1e-9)))
        if np.isfinite(self.low):
            return float(np.log(max(theta - self.low, 1e-9)))
        if np.isfinite(self.high):
            return -float(np.log(max(self.high - theta, 1e-9)))
        return float(np.arcsinh((theta - self.centre) / self.width))


@dataclass(frozen=True)
class GridPosterior:
    """A density of p parameters at points, with the weight of each."""

    points: Matrix  # (m, p)
    log_weights: Vector  # (m,) log of probability, sums to one
    log_density: Vector  # (m,)
    log_evidence: float  # log p(X)
    mode: Vector  # (p,) maximum posterior probability
    log_joint: LogFunction  # log p(X, theta)
    edges: tuple[Vector, ...]  # of the panels of s, for each parameter
    curves: tuple[ParameterCurve, ...]  # from s to theta

    @property
    def probability(self) -> Vector:
        """Probability of each point's cell (m,); sums to one."""
        return np.exp(self.log_weights)

    def density(self, theta: ArrayLike) -> Vector:
        """Density at parameters (k, p), or (k,) for one parameter."""
        at = np.asarray(theta, dtype=np.float64)
        return np.exp(self.log_joint(at.reshape(-1, self.points.shape[1])) - self.log_evidence)

    def expectation(self, function: Callable[[Matrix], Array]) -> Array:
        """E f(theta) of a function of parameters (m, p) with values (m, ...)."""
        return np.tensordot(self.probability, function(self.points), axes=(0, 0))

    @property
    def mean(self) -> Vector:
        """E theta (p,)."""
        return self.probability @ self.points

    @property
    def covariance(self) -> Matrix:
        """(p, p)."""
        away = self.points - self.mean
        return (self.probability[:, None] * away).T @ away

    def quantile(self, q: ArrayLike, parameter: int = 0) -> Vector:
        """Quantiles of one parameter: the panel is found, and the integral of its polynomial inverted."""
        wanted = np.clip(np.asarray(q, dtype=np.float64), 0.0, 1.0)
        edges, slopes, below = self._distribution[parameter]
        panel = np.clip(np.searchsorted(below, wanted, side="right") - 1, 0, len(slopes) - 1)
        low, high = np.full(wanted.shape, -1.0), np.full(wanted.shape, 1.0)
        for _ in range(54):  # halvings down to rounding
            middle = (low + high) / 2
            short = below[panel] + legendre.legval(middle, slopes[panel].T, tensor=False) < wanted
            low, high = np.where(short, middle, low), np.where(short, high, middle)
        places = edges[panel] + (edges[panel + 1] - edges[panel]) * (low + 1) / 2
        return self.curves[parameter].theta(places)

    @cached_property
    def _distribution(self) -> list[tuple[Vector, Matrix, Vector]]:
        """For each parameter, the edges of panels of s, the integral of the density from each, and its value there."""
        out = []
        nodes, weights = legendre.leggauss(POINTS_PER_PANEL)
        shape = [len(edges) * POINTS_PER_PANEL - POINTS_PER_PANEL for edges in self.edges]
        mass = self.probability.reshape(shape)
        for j, edges in enumerate(self.edges):
            along = mass.sum(axis=1 - j) if len(shape) == 2 else mass
            heights = along.reshape(-1, POINTS_PER_PANEL) / weights
            slopes = legendre.legint(legendre.legfit(nodes, heights.T, POINTS_PER_PANEL - 1), lbnd=-1).T
            below = np.concatenate([[0.0], np.cumsum(along.reshape(-1, POINTS_PER_PANEL).sum(axis=1))])
            out.append((edges, slopes / below[-1], below / below[-1]))
        return out

    def interval(self, mass: float = 0.95, parameter: int = 0) -> Vector:
        """The ends of the central interval of one parameter that holds this probability."""
        return self.quantile([(1 - mass) / 2, (1 + mass) / 2], parameter)

    def predictive(self, log_likelihood: Callable[[Array, Matrix], Matrix], x: Array) -> Vector:
        """Density of new values x (k,): log_likelihood(x, theta) gives log p(x | theta) (k, m)."""
        return np.exp(logsumexp(log_likelihood(x, self.points) + self.log_weights, axis=1))

    def sample(self, n: int, rng: np.random.RandomState) -> Matrix:
        """Points drawn by their probability (n, p): a grid, not a continuum."""
        p = self.probability
        return self.points[rng.choice(len(p), n, p=p / p.sum())]


def grid_posterior(
    log_likelihood: LogFunction,
    log_prior: LogFunction,
    bounds: Sequence[tuple[float, float]],
    *,
    start: ArrayLike | None = None,
    panels: int | None = None,
) -> GridPosterior:
    """The posterior of one or two parameters between `bounds`, from functions of many of them at once (m, p) -> (m,).

    `start` is a place of positive density, needed where the middle of the bounds, or one above a lower bound, has none.

    >>> heads = lambda theta: 3 * np.log(theta[:, 0])
    >>> found = grid_posterior(heads, lambda theta: np.zeros(len(theta)), [(0.0, 1.0)])
    >>> found.mean.round(6), round(found.log_evidence, 6), found.interval().round(6)  # Beta(4, 1); log 1/4
    (array([0.8]), -1.386294, array([0.397635, 0.993691]))
    """
    low, high = np.array(bounds, dtype=np.float64).T
    if len(low) not in PANELS:
        raise ValueError(f"a grid has one or two parameters; got bounds of {len(low)}")

    def log_joint(theta: Matrix) -> Vector:
        with np.errstate(all="ignore"):
            value = log_likelihood(theta) + log_prior(theta)
        return np.where(np.isnan(value), -np.inf, value)

    mode = np.clip(_maximum(lambda t: log_joint(np.clip(t, low, high)), _inner(low, high, start)), low, high)
    curves = tuple(
        ParameterCurve(float(a), float(b), float(mode[j]), _half_width(log_joint, mode, j))
        for j, (a, b) in enumerate(zip(low, high, strict=True))
    )

    def theta(s: Matrix) -> Matrix:
        return np.stack([curve.theta(column) for curve, column in zip(curves, s.T, strict=True)], axis=1)

    def log_joint_of_s(s: Matrix) -> Vector:
        slopes = np.sum([curve.log_slope(column) for curve, column in zip(curves, s.T, strict=True)], axis=0)
        logs = log_joint(theta(s))
        return np.where(logs == np.inf, -np.inf, logs) + slopes  # at a bound, which has no width

    peak = _maximum(log_joint_of_s, np.array([c.place(t) for c, t in zip(curves, mode.tolist(), strict=True)]))
    ends = [tuple(_drop(log_joint_of_s, peak, j, sign) for sign in (-1.0, 1.0)) for j in range(len(low))]

    def summed(edges: tuple[Vector, ...]) -> GridPosterior:
        axes = [_panel_points(edge) for edge in edges]
        s = np.stack(np.meshgrid(*(axis[0] for axis in axes), indexing="ij"), axis=-1).reshape(-1, len(low))
        widths = axes[0][1] if len(axes) == 1 else np.multiply.outer(axes[0][1], axes[1][1]).ravel()
        logs, points = log_joint_of_s(s) + np.log(widths), theta(s)
        total = float(logsumexp(logs))
        if not np.isfinite(total):
            raise ValueError(
                "no point of the grid has positive density, or the integral is infinite: narrow the bounds"
            )
        return GridPosterior(points, logs - total, log_joint(points) - total, total, mode, log_joint, edges, curves)

    count = panels or PANELS[len(low)]
    coarse = summed(tuple(np.linspace(a, b, count + 1) for a, b in ends))
    return summed(tuple(_closer(*each) for each in coarse._distribution)) if len(low) == 1 else coarse


def _inner(low: Vector, high: Vector, start: ArrayLike | None) -> Vector:
    """A place within the bounds to start from."""
    if start is not None:
        return np.atleast_1d(np.asarray(start, dtype=np.float64))
    a, b = np.isfinite(low), np.isfinite(high)
    return np.where(a & b, 0.5, 1.0) * (np.where(a, low, 0.0) + np.where(b, high, 0.0)) + (a & ~b) - (b & ~a)


def _maximum(function: LogFunction, start: Vector) -> Vector:
    """The best of some places around the start, improved by the simplex method of Nelder and Mead."""
    around = [value + np.concatenate([[0.0], np.linspace(-5, 5, 51)]) * (1 + abs(value)) for value in start]
    grid = np.stack(np.meshgrid(*around, indexing="ij"), axis=-1).reshape(-1, len(start))
    best = grid[int(np.argmax(function(grid)))]
    tight = {"xatol": 1e-10, "fatol": 1e-13, "maxiter": 4000, "maxfev": 4000}

    def drop(at: Vector) -> float:
        return -float(np.clip(function(at[None])[0], -LARGE, LARGE))

    return minimize(drop, best, method="Nelder-Mead", options=tight).x


def _half_width(function: LogFunction, mode: Vector, j: int) -> float:
    """How far along parameter j the log density has dropped by one half, on the nearer side."""
    top, step = function(mode[None])[0], 1e-6 * (1 + abs(mode[j]))
    sides = np.eye(len(mode))[j] * np.array([[1.0], [-1.0]])
    while step < 1e12 and (function(mode + step * sides) > top - 0.5).all():
        step *= 1.5
    return float(step)


def _drop(function: LogFunction, peak: Vector, j: int, sign: float) -> float:
    """The value of s_j at which no value of the other leaves more than e^-DROP of the maximum."""
    top, step = function(peak[None])[0], 1e-3
    while step < 1e6 and _profile(function, peak, j, peak[j] + sign * step) >= top - DROP:
        step *= 1.2
    return float(peak[j] + sign * step)


def _profile(function: LogFunction, peak: Vector, j: int, there: float) -> float:
    """The greatest log density with s_j held, over a wide set of values of the other."""
    if len(peak) == 1:
        return float(function(np.array([[there]]))[0])
    away = np.concatenate([[0.0], np.geomspace(1e-4, 1e4, 97)])
    values = peak[1 - j] + np.concatenate([-away, away])
    s = np.empty((len(values), 2))
    s[:, j], s[:, 1 - j] = there, values
    return float(function(s).max(initial=-np.inf))


def _closer(edges: Vector, slopes: Matrix, below: Vector) -> Vector:
    """The same edges, and as many again between which the probability is equal."""
    more = np.interp(np.linspace(0, 1, len(slopes) + 1)[1:-1], below, edges)
    return np.unique(np.concatenate([edges, more]))


def _panel_points(edges: Vector) -> tuple[Vector, Vector]:
    """Gauss-Legendre points and their weights on the panels between the edges."""
    nodes, weights = legendre.leggauss(POINTS_PER_PANEL)
    half = np.diff(edges)[:, None] / 2
    return ((edges[:-1, None] + half) + half * nodes).ravel(), (half * weights).ravel()
