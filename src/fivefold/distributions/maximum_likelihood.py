"""Maximum likelihood and maximum a posteriori for any density, by numerical climbing.

    theta* = argmax_theta  sum_i w_i log p(x_i | theta)  [+ log p(theta)]

Quasi-Newton steps within bounds (Byrd, Lu, Nocedal & Zhu 1995) from several starts, because a maximum found
may be a local one. At the maximum the gradient is zero, but for components held by a bound: `slope` says how nearly.
Families have closed forms; this is for densities that have none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.optimize import Bounds, minimize

from fivefold.core.types import Array, Matrix, Table
from fivefold.distributions.family import GroupWeights, Members

LogDensity = Callable[[Any, Array], Array]  # (X, theta) -> log density of each row (n,)
LOG_ZERO = -1e150  # what is impossible counts as this: the climb needs numbers


@dataclass(frozen=True)
class LikelihoodMaximum:
    """The best maximum found, and how good it is."""

    theta: Array  # (p,)
    value: float  # log-likelihood there, with the log prior if there is one
    slope: float  # steepest component of its gradient per unit of weight, in units of max(1, |theta|)
    values: tuple[float, ...]  # the maxima of all runs
    reason: Literal["converged", "not stationary"]


def log_likelihood(members: Members, X: Table, R: Matrix) -> Array:
    """sum_i r_ik log p_k(x_i) of each member (K,)."""
    R = R.dense() if isinstance(R, GroupWeights) else R
    logs = members.log_prob(X)
    return np.where(R > 0, R * np.where(R > 0, logs, 0.0), 0.0).sum(axis=0)


def maximise_likelihood(
    log_density: LogDensity,
    X: Any,
    start: Any,
    *,
    w: Any = None,
    log_prior: Callable[[Array], float] | None = None,
    gradient: Callable[[Any, Array], Array] | None = None,
    bounds: Sequence[tuple[float, float]] | None = None,
    restarts: int = 3,
    rng: np.random.RandomState | None = None,
    tol: float = 1e-5,
) -> LikelihoodMaximum:
    """Climb from `start`, and from `restarts` random points around it, to the likeliest parameters.

    `gradient(X, theta)` gives the derivatives of each row's log density (n, p); it is checked against differences
    before it is used, and differences serve where there is none. With `log_prior` the estimate is the mode of the
    posterior.

    >>> waits = np.array([0.5, 1.0, 3.0])  # exponential, of mean 1.5
    >>> log_density = lambda x, theta: np.log(theta[0]) - theta[0] * x
    >>> found = maximise_likelihood(log_density, waits, 1.0, bounds=[(1e-9, np.inf)])
    >>> found.theta.round(4), found.reason
    (array([0.6667]), 'converged')
    """
    start = np.atleast_1d(np.asarray(start, dtype=np.float64))
    w = np.ones(len(X)) if w is None else np.asarray(w, dtype=np.float64)
    low, high = np.array(bounds if bounds is not None else [(-np.inf, np.inf)] * len(start), dtype=np.float64).T
    total = w.sum()

    def value(theta: Array) -> float:
        with np.errstate(all="ignore"):
            log_p = w @ log_density(X, theta) + (log_prior(theta) if log_prior is not None else 0.0)
        return float(log_p / total) if np.isfinite(log_p) else LOG_ZERO

    def slopes(theta: Array) -> Array:
        if gradient is None:
            return _differences(value, theta, low, high)
        rise = w @ gradient(X, theta)
        return (rise if log_prior is None else rise + _differences(log_prior, theta, low, high)) / total

    if gradient is not None:
        _check(slopes(start), _differences(value, start, low, high))
    starts = [start, *_around(start, low, high, restarts, rng or np.random.RandomState(0))]
    ends = [_climb(value, slopes, theta, low, high) for theta in starts]
    best = max(ends, key=value)
    rise = slopes(best)
    held = ((best <= low) & (rise < 0)) | ((best >= high) & (rise > 0))
    slope = float(np.max(np.where(held, 0.0, np.abs(rise) * np.maximum(1, np.abs(best)))))
    values = tuple(total * value(end) for end in ends)
    return LikelihoodMaximum(best, total * value(best), slope, values, "converged" if slope < tol else "not stationary")


def _climb(
    value: Callable[[Array], float], slopes: Callable[[Array], Array], start: Array, low: Array, high: Array
) -> Array:
    found = minimize(
        lambda theta: -value(theta),
        start,
        jac=lambda theta: -slopes(theta),
        method="L-BFGS-B",
        bounds=Bounds(low, high),
        options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 1000},
    )
    return found.x


def _differences(value: Callable[[Array], float], theta: Array, low: Array, high: Array) -> Array:
    """The gradient by central differences, one-sided at a bound."""
    rise = np.empty(len(theta))
    for j, t in enumerate(theta):
        h = 6e-6 * max(1.0, abs(t))  # the cube root of the rounding error: error of the difference = its noise
        up, down = theta.copy(), theta.copy()
        up[j], down[j] = min(t + h, high[j]), max(t - h, low[j])
        rise[j] = (value(up) - value(down)) / (up[j] - down[j])
    return rise


def _check(given: Array, found: Array) -> None:
    off = np.abs(given - found) > 1e-4 * np.maximum(1.0, np.abs(found))
    if off.any():
        j = int(off.argmax())
        raise ValueError(
            f"the gradient given is {given[j]:.6g} for parameter {j} at the start, but differences of the "
            f"log-likelihood say {found[j]:.6g} per unit of weight; correct it, or leave it out"
        )


def _around(start: Array, low: Array, high: Array, count: int, rng: np.random.RandomState) -> list[Array]:
    """Random points about the start; those past a bound stop short of it."""
    drawn = start + rng.standard_normal((count, len(start))) * (1 + np.abs(start))
    held = np.clip(drawn, low, high)
    return list(np.where(held == drawn, drawn, start + 0.9 * (held - start)))
