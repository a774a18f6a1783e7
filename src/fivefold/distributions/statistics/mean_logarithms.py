"""Parameters of the Dirichlet distribution from means of logarithms.

    psi(alpha_i) - psi(alpha_0) = mean(log x_i),   alpha_0 = sum_i alpha_i

is where the likelihood, which is concave in alpha, is greatest. Its Hessian is diagonal plus a constant, so a step of
Newton's method costs as much as a gradient (Minka 2000). Beta distributions have two such means.
"""

from __future__ import annotations

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from fivefold.core.types import Array

MAX_STEPS = 200  # Newton steps, halved ones included: ten are usual
SLOPE = 1e-12  # the gradient at which the steps end, per unit of weight


def dirichlet_parameters(mean_logs: Array, name: str = "Dirichlet") -> Array:
    """alpha (..., m) from means of logarithms (..., m) whose exponentials sum to less than one.

    `name` is what a message calls the family.
    """
    share = np.exp(mean_logs)
    gap = -np.log(share.sum(axis=-1, keepdims=True))
    if not (gap > 1e-13).all():
        raise ValueError(
            f"{name}: the rows of a member are all the same, or nearly; no parameters are large enough. Give a prior, "
            "ask for fewer members, or drop a constant column"
        )
    share = share / share.sum(axis=-1, keepdims=True)
    alpha = share * (mean_logs.shape[-1] - 1) / (2 * gap) + 0.5  # right for large alpha: a normal approximation
    value = _value(alpha, mean_logs)
    for _ in range(MAX_STEPS):
        slope = digamma(alpha.sum(axis=-1, keepdims=True)) - digamma(alpha) + mean_logs
        if (np.abs(slope) <= SLOPE).all():
            break
        size, step = 1.0, _newton_step(alpha, slope)
        while True:
            there = np.where(alpha + size * step > alpha / 10, alpha + size * step, alpha / 10)
            better = _value(there, mean_logs) >= value - 1e-14 * np.abs(value)
            if better.all() or size < 1e-9:
                break
            size /= 2
        alpha, value = np.where(better, there, alpha), np.where(better, _value(there, mean_logs), value)
    return alpha


def _value(alpha: Array, mean_logs: Array) -> Array:
    """Log-likelihood per unit of weight (..., 1)."""
    total = alpha.sum(axis=-1, keepdims=True)
    return gammaln(total) + ((alpha - 1) * mean_logs - gammaln(alpha)).sum(axis=-1, keepdims=True)


def _newton_step(alpha: Array, slope: Array) -> Array:
    """-(H^-1 slope) with H = z 1 1' - diag(psi'(alpha)), z = psi'(alpha_0), by Sherman and Morrison."""
    curve, z = polygamma(1, alpha), polygamma(1, alpha.sum(axis=-1, keepdims=True))
    b = (slope / curve).sum(axis=-1, keepdims=True) / (1 / z - (1 / curve).sum(axis=-1, keepdims=True))
    return (slope + b) / curve
