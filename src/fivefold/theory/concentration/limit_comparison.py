"""Limits of an error rate side by side: how often each is exceeded, and how wide it is.

For n values 0 and 1 with mean mu, each family has an upper limit of mu from the observed mean, and, where it comes from
one, a bound of the tail P(m <= q). For small mu the widths are in the order binomial, KL, relative Chernoff, Hoeffding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from fivefold.core.types import Vector
from fivefold.theory.concentration.binomial_tails import binomial_tail, binomial_upper
from fivefold.theory.concentration.bound_arguments import Numbers, check_confidence, check_unit
from fivefold.theory.concentration.coverage import Coverage
from fivefold.theory.concentration.gaussian_approximation import approximate_gaussian_tail, approximate_upper
from fivefold.theory.concentration.hoeffding_bounds import hoeffding_tail, hoeffding_upper
from fivefold.theory.concentration.kl_chernoff import kl_tail, kl_upper
from fivefold.theory.concentration.relative_chernoff import largest_variance, relative_tail, relative_upper
from fivefold.theory.concentration.variance_bounds import cantelli_tail, chebyshev_upper, empirical_bernstein_upper


@dataclass(frozen=True)
class LimitFamily:
    """One way to an upper limit of the mean of n values 0 and 1."""

    upper: Callable[[Numbers, Numbers, Numbers], Numbers]  # of the observed mean, n and delta
    tail: Callable[[Numbers, Numbers, Numbers], Numbers] | None = None  # of n, q and mu: P(m <= q), for q <= mu
    rigorous: bool = True  # fails with probability at most delta, for every n


def _sample_variance(mean: Numbers, n: Numbers) -> Numbers:
    """Of n values 0 and 1 with this mean, divided by n - 1."""
    return np.asarray(mean) * (1 - np.asarray(mean)) * n / np.maximum(np.asarray(n) - 1, 1)


LIMIT_FAMILIES: Mapping[str, LimitFamily] = {
    "binomial inversion": LimitFamily(
        lambda m, n, delta: binomial_upper(np.rint(np.asarray(m) * n), n, delta),
        lambda n, q, mu: binomial_tail(n, np.floor(np.asarray(q) * n + 1e-9), mu),  # q is k / n, rounded
    ),
    "KL inversion": LimitFamily(kl_upper, kl_tail),
    "relative Chernoff": LimitFamily(
        lambda m, n, delta: np.minimum(relative_upper(m, n, delta), 1.0), lambda n, q, mu: relative_tail(n, mu, mu - q)
    ),
    "Hoeffding": LimitFamily(hoeffding_upper, lambda n, q, mu: hoeffding_tail(n, mu - q)),
    "Chebyshev": LimitFamily(chebyshev_upper, lambda n, q, mu: cantelli_tail(largest_variance(mu), mu - q, n)),
    "empirical Bernstein": LimitFamily(
        lambda m, n, delta: empirical_bernstein_upper(m, _sample_variance(m, n), n, delta)
    ),
    "Gaussian approximation": LimitFamily(
        approximate_upper, lambda n, q, mu: approximate_gaussian_tail(n, mu - q, largest_variance(mu)), rigorous=False
    ),
}


@dataclass(frozen=True)
class LimitComparison:
    """Coverage of each family on the same samples."""

    n: int
    mu: float
    delta: float
    coverages: Mapping[str, Coverage]
    widths: Mapping[str, float]  # mean distance of the limit from the observed mean

    def __str__(self) -> str:
        lines = [
            f"{'limit':24}{'coverage':>10}{'width':>10}   n = {self.n}, mean {self.mu:.4g}, delta {self.delta:.4g}"
        ]
        for name, found in self.coverages.items():
            note = "" if found.holds else "   too low"
            lines.append(f"{name:24}{1 - found.share:>10.2%}{self.widths[name]:>10.4f}{note}")
        return "\n".join(lines)


def compare_limits(
    n: int,
    mu: float,
    delta: float = 0.05,
    *,
    trials: int = 10_000,
    seed: int = 0,
    families: Mapping[str, LimitFamily] = LIMIT_FAMILIES,
) -> LimitComparison:
    """Draw samples of n values 0 and 1 with mean mu, and count how often each limit is below mu.

    Examples
    --------
    >>> print(compare_limits(100, 0.05))
    limit                     coverage     width   n = 100, mean 0.05, delta 0.05
    binomial inversion          96.32%    0.0514
    KL inversion                99.47%    0.0701
    relative Chernoff          100.00%    0.0914
    Hoeffding                  100.00%    0.1224
    Chebyshev                  100.00%    0.1838
    empirical Bernstein        100.00%    0.1446
    Gaussian approximation      87.97%    0.0348   too low
    """
    check_confidence(n, delta)
    check_unit("mu", mu)
    means: Vector = np.random.default_rng(seed).binomial(n, mu, trials) / n
    coverages, widths = {}, {}
    for name, family in families.items():
        limits = np.asarray(family.upper(means, n, delta))
        wrong = int((mu > limits + 1e-12).sum())  # rounding
        coverages[name] = Coverage(trials, wrong, delta, float(limits.mean()), mu)
        widths[name] = float((limits - means).mean())
    return LimitComparison(n, mu, delta, coverages, widths)
