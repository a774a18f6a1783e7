"""Laws of averages: what the mean of n independent draws is like, by bound and by experiment.

    E mean = mu,    Var mean = sigma^2 / n
    Chebyshev                P(|x - mu| >= a)       <=  sigma^2 / a^2          1 / k^2 for a = k sigma
    law of large numbers     P(|mean - mu| >= e)    <=  sigma^2 / (n e^2)      -> 0
    central limit theorem    (mean - mu) / (sigma / sqrt n)  ->  N(0, 1)       whatever the distribution of x

Chebyshev's bound holds for every distribution with a variance, and is loose for most.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from fivefold.core.types import Array, Rng, Vector


def chebyshev_tail(variance: float, epsilon: float, n: int = 1) -> float:
    """P(|mean of n draws - mu| >= epsilon) is at most this.

    >>> chebyshev_tail(1.0, 2.0), round(chebyshev_tail(1.0, 3.0), 4)
    (0.25, 0.1111)
    """
    _check_positive(variance=variance, epsilon=epsilon, n=n)
    return min(1.0, variance / (n * epsilon**2))


def chebyshev_margin(variance: float, delta: float, n: int = 1) -> float:
    """The mean of n draws is this close to mu, except with probability delta."""
    _check_positive(variance=variance, delta=delta, n=n)
    return float(np.sqrt(variance / (n * delta)))


def chebyshev_rows(variance: float, epsilon: float, delta: float) -> int:
    """This many draws bring their mean within epsilon of mu, except with probability delta.

    >>> chebyshev_rows(0.25, 0.05, 0.05)
    2000
    """
    _check_positive(variance=variance, epsilon=epsilon, delta=delta)
    exact = variance / (delta * epsilon**2)
    return int(np.ceil(exact * (1 - 1e-12)))  # a whole number stays itself in spite of rounding


@dataclass(frozen=True)
class Averages:
    """Means of n draws, repeated."""

    n: int
    means: Vector  # (repeats,)
    mu: float
    variance: float  # of one draw

    @property
    def standardised(self) -> Vector:
        """(mean - mu) / (sigma / sqrt n) (repeats,)."""
        return (self.means - self.mu) * np.sqrt(self.n / self.variance)

    @property
    def expected_variance(self) -> float:
        """sigma^2 / n."""
        return self.variance / self.n

    def tail(self, epsilon: float) -> tuple[float, float]:
        """The share of means at least epsilon away from mu, and Chebyshev's bound on its probability."""
        away = float((np.abs(self.means - self.mu) >= epsilon).mean())
        return away, chebyshev_tail(self.variance, epsilon, self.n)

    @property
    def kolmogorov_distance(self) -> float:
        """The largest difference between the distribution functions of the standardised means and of N(0, 1)."""
        z = np.sort(self.standardised)
        below = ndtr(z)
        steps = np.arange(len(z) + 1) / len(z)
        return float(max((steps[1:] - below).max(), (below - steps[:-1]).max()))


def average_experiment(
    draw: Callable[[Rng, tuple[int, int]], Array],
    mu: float,
    variance: float,
    *,
    sizes: Sequence[int] = (1, 4, 16, 64),
    repeats: int = 4000,
    rng: Rng | None = None,
) -> tuple[Averages, ...]:
    """Means of n draws for each n of `sizes`; draw(rng, (repeats, n)) gives the draws, of this mean and variance."""
    rng = np.random.RandomState(0) if rng is None else rng
    return tuple(Averages(n, draw(rng, (repeats, n)).mean(axis=1), mu, variance) for n in sizes)


def _check_positive(**values: float) -> None:
    for name, value in values.items():
        if not value > 0:
            raise ValueError(f"{name} must be above zero; got {value}")
