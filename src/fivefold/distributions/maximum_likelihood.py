"""Maximum likelihood and maximum a posteriori for any density, by numerical maximisation.

    theta* = argmax_theta  sum_i w_i log p(x_i | theta)  [+ log p(theta)]

Quasi-Newton steps within bounds (Byrd, Lu, Nocedal & Zhu 1995) from several starts, because a maximum may be a local
one. At the maximum the gradient is zero except in components held at a bound; `slope` says how close to zero it is.
Families have closed forms; this is for densities that have none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import Bounds, minimize

from fivefold.core.types import Matrix, Rng, Table, Vector
from fivefold.distributions.family import GroupWeights, Members, RowWeights

LogDensity = Callable[[Table, Vector], Vector]  # (X, theta) -> log density of each row (n,)
LOG_ZERO = -1e150  # log-likelihood where the density is zero: the solver needs finite numbers


@dataclass(frozen=True)
class LikelihoodMaximum:
    """The best maximum found, and how good it is."""

    theta: Vector  # (p,)
    value: float  # log-likelihood there, plus the log prior if there is one
    slope: float  # largest component of its gradient per unit of weight, times max(1, |theta|)
    values: tuple[float, ...]  # the maximum that each run found
    reason: Literal["converged", "not stationary"]


def log_likelihood(members: Members, X: Table, R: RowWeights) -> Vector:
    """sum_i r_ik log p_k(x_i) of each member (K,)."""
    R = R.to_matrix() if isinstance(R, GroupWeights) else R
    logs = members.log_prob(X)
    return np.where(R > 0, R * np.where(R > 0, logs, 0.0), 0.0).sum(axis=0)


def maximise_likelihood(
    log_density: LogDensity,
    X: Table,
    start: ArrayLike,
    *,
    w: ArrayLike | None = None,
    log_prior: Callable[[Vector], float] | None = None,
    gradient: Callable[[Table, Vector], Matrix] | None = None,
    bounds: Sequence[tuple[float, float]] | None = None,
    restarts: int = 3,
    rng: Rng | None = None,
    tol: float = 1e-5,
) -> LikelihoodMaximum:
    """Maximise the likelihood from `start`, and from `restarts` random points around it.

    `gradient(X, theta)` gives the derivatives of each row's log density (n, p); it is checked against differences
    before it is used, and differences replace it if it is not given. With `log_prior` the estimate is the mode of the
    posterior.

    >>> waits = np.array([0.5, 1.0, 3.0])  # exponential, of mean 1.5
    >>> log_density = lambda x, theta: np.log(theta[0]) - theta[0] * x
    >>> found = maximise_likelihood(log_density, waits, 1.0, bounds=[(1e-9, np.inf)])
    >>> found.theta.round(4), found.reason
    (array([0.6667]), 'converged')
    """
    first = np.atleast_1d(np.asarray(start, dtype=np.float64))
    weights = np.ones(len(X)) if w is None else np.asarray(w, dtype=np.float64)
    low, high = np.array(bounds if bounds is not None else [(-np.inf, np.inf)] * len(first), dtype=np.float64).T
    total = weights.sum()

    def value(theta: Vector) -> float:
        with np.errstate(all="ignore"):
            log_p = weights @ log_density(X, theta) + (log_prior(theta) if log_prior is not None else 0.0)
        return float(log_p / total) if np.isfinite(log_p) else LOG_ZERO

    def slopes(theta: Vector) -> Vector:
        if gradient is None:
            return _differences(value, theta, low, high)
        rise = weights @ gradient(X, theta)
        return (rise if log_prior is None else rise + _differences(log_prior, theta, low, high)) / total

    if gradient is not None:
        _check_gradient(slopes(first), _differences(value, first, low, high))
    starts = [first, *_around(first, low, high, restarts, rng or np.random.RandomState(0))]
    ends = [_maximise(value, slopes, theta, low, high) for theta in starts]
    best = max(ends, key=value)
    rise = slopes(best)
    held = ((best <= low) & (rise < 0)) | ((best >= high) & (rise > 0))
    slope = float(np.max(np.where(held, 0.0, np.abs(rise) * np.maximum(1, np.abs(best)))))
    values = tuple(total * value(end) for end in ends)
    return LikelihoodMaximum(
        theta=best,
        value=total * value(best),
        slope=slope,
        values=values,
        reason="converged" if slope < tol else "not stationary",
    )


def _maximise(
    value: Callable[[Vector], float], slopes: Callable[[Vector], Vector], start: Vector, low: Vector, high: Vector
) -> Vector:
    found = minimize(
        lambda theta: -value(theta),
        start,
        jac=lambda theta: -slopes(theta),
        method="L-BFGS-B",
        bounds=Bounds(low, high),
        options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 1000},
    )
    return found.x


def _differences(value: Callable[[Vector], float], theta: Vector, low: Vector, high: Vector) -> Vector:
    """The gradient by central differences, one-sided at a bound."""
    rise = np.empty(len(theta))
    for j, t in enumerate(theta):
        h = 6e-6 * max(1.0, abs(t))  # the cube root of machine epsilon: truncation and rounding errors are equal
        up, down = theta.copy(), theta.copy()
        up[j], down[j] = min(t + h, high[j]), max(t - h, low[j])
        rise[j] = (value(up) - value(down)) / (up[j] - down[j])
    return rise


def _check_gradient(given: Vector, found: Vector) -> None:
    off = np.abs(given - found) > 1e-4 * np.maximum(1.0, np.abs(found))
    if off.any():
        j = int(off.argmax())
        raise ValueError(
            f"the gradient given is {given[j]:.6g} for parameter {j} at the start, but differences of the "
            f"log-likelihood say {found[j]:.6g} per unit of weight; correct it, or leave it out"
        )


def _around(start: Vector, low: Vector, high: Vector, count: int, rng: Rng) -> list[Vector]:
    """Random points around the start; those beyond a bound are moved inside it."""
    drawn = start + rng.standard_normal((count, len(start))) * (1 + np.abs(start))
    held = np.clip(drawn, low, high)
    return list(np.where(held == drawn, drawn, start + 0.9 * (held - start)))
