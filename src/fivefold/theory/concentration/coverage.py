"""Coverage of a bound, by simulation: how often does the true error exceed it?

Each trial draws a sample, evaluates the bound on it, and compares with a true error that is known because the source
is. A bound at delta is wrong in at most delta of the trials, apart from chance:

    share of violations  <=  delta + 3 sqrt(delta (1 - delta) / trials)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

STANDARD_ERRORS = 3.0  # a bound that is wrong in exactly delta of all samples passes 999 checks of 1,000
ROUNDING = 1e-12  # a true error above the bound by less than this is equal to it

Sample = TypeVar("Sample")
Trial = Callable[[np.random.Generator], tuple[float, float]]  # one sample: the value of the bound, the true error


@dataclass(frozen=True)
class Coverage:
    """How often a bound was wrong, and how wide it was."""

    trials: int
    violations: int
    delta: float
    mean_bound: float
    mean_error: float  # the true one

    @property
    def share(self) -> float:
        """The share of trials whose true error exceeds the bound."""
        return self.violations / self.trials

    @property
    def mean_width(self) -> float:
        """How far the bound is above the true error, on average."""
        return self.mean_bound - self.mean_error

    @property
    def limit(self) -> float:
        """The largest share that chance explains."""
        return float(self.delta + STANDARD_ERRORS * np.sqrt(self.delta * (1 - self.delta) / self.trials))

    @property
    def holds(self) -> bool:
        """No more violations than delta and chance allow."""
        return self.share <= self.limit

    def __str__(self) -> str:
        return (
            f"wrong in {self.share:.2%} of {self.trials} samples, {self.limit:.2%} allowed at delta={self.delta:.4g}; "
            f"mean bound {self.mean_bound:.4g}, mean true error {self.mean_error:.4g}"
        )


def measure_coverage(trial: Trial, delta: float, *, trials: int = 2000, seed: int = 0) -> Coverage:
    """Repeat a trial that gives the value of a bound and the true error.

    Examples
    --------
    >>> from fivefold.theory.concentration import binomial_upper
    >>> found = measure_coverage(lambda rng: (binomial_upper(int(rng.binomial(50, 0.3)), 50, 0.1), 0.3), 0.1)
    >>> found.holds
    True
    """
    if trials < 1 or not 0 < delta < 1:
        raise ValueError(
            f"a simulation needs trials, and delta between 0 and 1 such as 0.05; got {trials} trials, delta={delta}"
        )
    rng = np.random.default_rng(seed)
    found = np.array([trial(rng) for _ in range(trials)], dtype=float)  # (trials, 2)
    if np.isnan(found).any():
        raise ValueError(f"trial {int(np.isnan(found).any(axis=1).argmax())} gave NaN for the bound or the true error")
    bounds, errors = found.T
    wrong = int((errors > bounds + ROUNDING).sum())
    return Coverage(trials, wrong, delta, float(bounds.mean()), float(errors.mean()))


def simulate_coverage(
    bound: Callable[[Sample, float], float],
    draw_sample: Callable[[np.random.Generator], Sample],
    true_error: float | Callable[[Sample], float],
    delta: float = 0.05,
    trials: int = 2000,
    seed: int = 0,
) -> Coverage:
    """How often `true_error` exceeds `bound(sample, delta)` over samples of `draw_sample(rng)`.

    The true error is a number, or a function of the sample where a model is learned from it.

    Examples
    --------
    >>> from fivefold.theory.concentration import hoeffding_margin
    >>> def bound(sample, delta):
    ...     return sample.mean() + hoeffding_margin(len(sample), delta, sides=1)
    >>> found = simulate_coverage(bound, lambda rng: rng.random(40) < 0.3, 0.3, delta=0.1)
    >>> found.holds, found.share < 0.1
    (True, True)
    """

    def trial(rng: np.random.Generator) -> tuple[float, float]:
        sample = draw_sample(rng)
        return bound(sample, delta), true_error(sample) if callable(true_error) else true_error

    return measure_coverage(trial, delta, trials=trials, seed=seed)
