"""Union bound: the probability that any of several statements fails is at most sum_h delta_h.

So delta is shared out over the statements: evenly, or by the length of a code for each, delta_h = delta 2^-length(h).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fivefold.core.types import Vector
from fivefold.theory.concentration.bound_arguments import ConfidenceLimits
from fivefold.theory.concentration.hoeffding_bounds import hoeffding_interval


def split_evenly(delta: float, statements: int) -> Vector:
    """An equal part of delta for each statement."""
    return np.full(statements, delta / statements)


def split_by_length(delta: float, lengths: Sequence[float]) -> Vector:
    """delta 2^-length for a statement whose code has that many bits; no code may be a prefix of another (Kraft)."""
    weights = 2.0 ** -np.asarray(lengths, dtype=float)
    if weights.sum() > 1 + 1e-12:
        raise ValueError(
            f"no prefix code has these lengths: their 2^-length sum to {weights.sum():.4g}, above 1 (Kraft)"
        )
    return delta * weights


def simultaneous(
    means: Sequence[float],
    n: int,
    deltas: Sequence[float],
    interval: Callable[[float, int, float], ConfidenceLimits] = hoeffding_interval,
) -> tuple[ConfidenceLimits, ...]:
    """Intervals that all hold together with probability 1 - sum of the deltas."""
    return tuple(interval(mean, n, delta) for mean, delta in zip(means, deltas, strict=True))
