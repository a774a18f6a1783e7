"""Expectations under a distribution: sums, quadrature, or means of draws with their standard error.

    E[f(x)]          = sum f(x) p(x), integral f(x) p(x) dx, or 1/n sum f(x_i)
    E[f(x) | a]      = E[f(x) 1_a(x)] / P(a)
    moments          E[x^m],  E[(x - mu)^m];  skewness m_3 / s^3 and kurtosis m_4 / s^4 standardised
    divergence       D(p || q) = E_p[log p(x) - log q(x)],  also on a grid

Distributions are those of scipy.stats, of one number; skewness and kurtosis of some texts are the central moments
themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.integrate import quad

from fivefold.core.types import Mask, Vector

Distribution: TypeAlias = Any  # frozen, of scipy.stats, which gives them no type in common
Method = Literal["auto", "monte carlo"]
TAIL = 1e-13  # probability of an infinite support that sums and grids leave out at either end
DRAWS = 100_000
QUADRATURE_CUTS = (1e-8, 1e-3, 0.1, 0.5, 0.9, 1 - 1e-3, 1 - 1e-8)  # quantiles between which is integrated
GRID_POINTS = 20_001  # of a divergence on a grid


@dataclass(frozen=True)
class Expectation:
    """An expectation, and the standard error of a mean of draws, 0 for a sum or an integral."""

    value: float
    standard_error: float = 0.0

    def __float__(self) -> float:
        return self.value


def expectation(
    distribution: Distribution,
    f: Callable[[Vector], Vector] = np.asarray,
    *,
    given: Callable[[Vector], Mask] | None = None,
    method: Method = "auto",
    n: int = DRAWS,
    seed: int = 0,
) -> Expectation:
    """The expectation of f(x), by default of x, if an event is `given`, conditional on it.

    Parameters
    ----------
    distribution
        a frozen distribution of scipy.stats, of one number.
    f, given
        functions of arrays of numbers: the value, and whether the event occurs.
    method, n, seed
        by a sum or an integral (auto), or by n draws with this seed.

    Examples
    --------
    >>> from scipy.stats import norm, randint
    >>> die = randint(1, 7)
    >>> float(expectation(die)), float(expectation(die, given=lambda x: x > 3))
    (3.5, 5.0)
    >>> round(float(expectation(norm(2, 3), np.square)), 6)
    13.0
    """
    if method == "monte carlo":
        return _by_draws(distribution, f, given, n, seed)
    inside = (lambda x: np.ones(np.shape(x), dtype=bool)) if given is None else given
    total = _integral(distribution, lambda x: np.where(inside(x), f(x), 0.0))
    share = 1.0 if given is None else _integral(distribution, lambda x: np.asarray(inside(x), dtype=float))
    if not share > 0:
        raise ValueError("the event that is given has probability zero")
    return Expectation(total / share)


def central_moment(distribution: Distribution, order: int, *, standardised: bool = False) -> float:
    """E[(x - mu)^order]; standardised, in units of the standard deviation: 3 is skewness, 4 kurtosis.

    Examples
    --------
    >>> from scipy.stats import expon, norm
    >>> round(central_moment(norm(5, 2), 4), 6), round(central_moment(norm(5, 2), 4, standardised=True), 6)
    (48.0, 3.0)
    >>> round(central_moment(expon(), 3, standardised=True), 6)
    2.0
    """
    mean, scale = float(distribution.mean()), float(distribution.std()) if standardised else 1.0
    return expectation(distribution, lambda x: ((x - mean) / scale) ** order).value


def density_divergence(
    p: Distribution,
    q: Distribution,
    *,
    method: Literal["quadrature", "grid", "monte carlo"] = "quadrature",
    n: int = DRAWS,
    seed: int = 0,
) -> Expectation:
    """The Kullback-Leibler divergence D(p || q) of two densities on the line, in nats; infinite where q = 0 < p.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> [round(float(density_divergence(norm(0, 1), norm(1, 2), method=m)), 3) for m in ("quadrature", "grid")]
    [0.443, 0.443]
    """
    logs = ("logpdf", "logpdf") if _is_continuous(p) else ("logpmf", "logpmf")

    def ratio(x: Vector) -> Vector:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(getattr(p, logs[0])(x) - getattr(q, logs[1])(x))

    if method == "monte carlo":
        return _by_draws(p, ratio, None, n, seed)
    if method == "grid" and _is_continuous(p):
        x = np.linspace(p.ppf(TAIL), p.ppf(1 - TAIL), GRID_POINTS)
        weights = p.pdf(x)
        return Expectation(float((weights @ np.where(weights > 0, ratio(x), 0.0)) / weights.sum()))
    return Expectation(_integral(p, ratio))


def _is_continuous(distribution: Distribution) -> bool:
    return hasattr(distribution, "pdf")


def _integral(distribution: Distribution, f: Callable[[Vector], Vector]) -> float:
    low, high = distribution.support()
    if not _is_continuous(distribution):
        first = low if np.isfinite(low) else distribution.ppf(TAIL)
        last = high if np.isfinite(high) else distribution.isf(TAIL)
        x = np.arange(first, last + 1)
        p = distribution.pmf(x)
        return float(p @ np.where(p > 0, f(x), 0.0))

    def term(t: float) -> float:
        density = float(distribution.pdf(t))
        return density * float(f(np.asarray(t))) if density > 0 else 0.0

    cuts = [low, *np.unique(distribution.ppf(QUADRATURE_CUTS)), high]
    return float(sum(quad(term, a, b, limit=200)[0] for a, b in pairwise(cuts) if a < b))


def _by_draws(
    distribution: Distribution,
    f: Callable[[Vector], Vector],
    given: Callable[[Vector], Mask] | None,
    n: int,
    seed: int,
) -> Expectation:
    x = distribution.rvs(n, random_state=np.random.default_rng(seed))
    values = np.asarray(f(x if given is None else x[given(x)]), dtype=float)
    if len(values) < 2:
        raise ValueError(f"the event that is given occurred in {len(values)} of {n} draws; draw more")
    return Expectation(float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))))
