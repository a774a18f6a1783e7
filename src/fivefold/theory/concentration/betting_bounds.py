"""Betting on the mean: limits for values in [0, 1] that adapt to their variance, from the capital of a gambler.

Someone claims that the mean is mu. A gambler stakes a share of her capital on the next value being smaller,

    K_t(mu) = prod_{i <= t} (1 - lambda_i (x_i - mu)),    0 <= lambda_i <= c < 1, chosen before x_i is seen.

If the claim is right the game is fair, and the capital ever reaches 1 / delta with probability at most delta (Ville).
So the mu at which max_t K_t reaches 1 / delta is an upper limit. Each factor grows with mu: bisection finds it. Stakes

    lambda_i = min(c, sqrt(2 ln(1 / delta) / (n v_{i-1}))),    v_i = (1/4 + sum_{j <= i} (x_j - m_j)^2) / (i + 1)

with m_j = (1/2 + sum_{k <= j} x_k) / (j + 1) win fast for the variance seen so far. The order of the values matters,
so it must not depend on them.

Waudby-Smith & Ramdas (2024), with a cap on the stakes that does not depend on mu.
"""

from __future__ import annotations

import numpy as np

from fivefold.core.types import Array, Doubles
from fivefold.theory.concentration.bound_arguments import (
    ConfidenceLimits,
    Numbers,
    as_given,
    check_confidence,
    check_unit,
    doubles,
)

STAKE_LIMIT = 0.75  # largest share of the capital at stake; 1 would let one value ruin the gambler
HALVINGS = 50  # of [0, 1]: the limit is known to 1e-15


def betting_upper(values: Array, delta: float) -> Numbers:
    """Upper limit of the mean of values in [0, 1], along the last axis.

    Examples
    --------
    >>> x = np.random.default_rng(0).beta(2, 38, 1000)  # mean 0.05, variance 0.0012
    >>> round(betting_upper(x, 0.05), 3)
    0.053
    """
    x = doubles(values)
    check_confidence(x.shape[-1], delta)
    check_unit("every value", x)
    stakes, goal = _stakes(x, delta), -np.log(delta)
    low, high = np.zeros(x.shape[:-1]), np.ones(x.shape[:-1])
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        won = np.log1p(-stakes * (x - middle[..., None])).cumsum(axis=-1).max(axis=-1) >= goal
        low, high = np.where(won, low, middle), np.where(won, middle, high)
    return as_given(high)


def betting_interval(values: Array, delta: float) -> ConfidenceLimits:
    """Limits of the mean that fail with probability delta / 2 on either side."""
    x = doubles(values)
    return 1 - betting_upper(1 - x, delta / 2), betting_upper(x, delta / 2)


def _stakes(x: Doubles, delta: float) -> Doubles:
    """lambda_i (..., n), each from the values before x_i."""
    n = x.shape[-1]
    t = np.arange(1, n + 1)
    means = (0.5 + x.cumsum(axis=-1)) / (t + 1)
    variances = (0.25 + ((x - means) ** 2).cumsum(axis=-1)) / (t + 1)
    before = np.concatenate([np.full((*x.shape[:-1], 1), 0.25), variances[..., :-1]], axis=-1)
    return np.minimum(STAKE_LIMIT, np.sqrt(-2 * np.log(delta) / (n * before)))
