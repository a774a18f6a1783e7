"""What the draws of Markov chains are worth: autocorrelation, effective sample size, and whether chains agree.

For m chains of n draws each, with variance W within and B/n between them,

    R-hat = sqrt(((n - 1) / n W + B / n) / W)          near 1 when all chains tell the same (each cut in half first)
    ESS   = m n / (1 + 2 sum of autocorrelations)      draws that would say as much if they were independent

The sum of autocorrelations ends where two neighbours add up to less than zero (Geyer 1992).

Gelman & Rubin (1992); Vehtari, Gelman, Simpson, Carpenter & Buerkner (2021).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.fft import irfft, next_fast_len, rfft

from fivefold.core.types import Doubles


def autocovariance(draws: ArrayLike) -> Doubles:
    """Autocovariance along the last axis at lags 0, 1, ..., each divided by the number of draws."""
    x = np.asarray(draws, dtype=np.float64)
    n = x.shape[-1]
    size = next_fast_len(2 * n, real=True)
    F = rfft(x - x.mean(axis=-1, keepdims=True), size, axis=-1)
    found: Doubles = irfft(F * F.conj(), size, axis=-1)[..., :n] / n
    return found


def autocorrelation(draws: ArrayLike, lags: int | None = None) -> Doubles:
    """Autocorrelation along the last axis at lags 0 to `lags`; 1 at all lags where the draws are constant.

    Examples
    --------
    >>> autocorrelation([0.0, 1.0, 0.0, 1.0], lags=2)
    array([ 1.  , -0.75,  0.5 ])
    """
    covariance = autocovariance(draws)
    variance = covariance[..., :1]
    found = np.divide(covariance, variance, out=np.ones_like(covariance), where=variance > 0)
    return found[..., : None if lags is None else lags + 1]


def split_r_hat(draws: ArrayLike) -> float:
    """R-hat of (chains, n) draws, each chain cut in half; infinite where chains stay at different values.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> bool(split_r_hat(rng.normal(size=(4, 1000))) < 1.01), bool(split_r_hat([[0, 1] * 4, [9, 8] * 4]) > 5)
    (True, True)
    """
    x = _chains(draws)
    n = x.shape[1] // 2
    if n < 2:
        return float("nan")
    halves = np.concatenate([x[:, :n], x[:, -n:]])
    within = halves.var(axis=1, ddof=1).mean()
    between = halves.mean(axis=1).var(ddof=1)
    if within == 0:
        return 1.0 if between == 0 else float("inf")
    return float(np.sqrt((n - 1) / n + between / within))


def effective_size(draws: ArrayLike) -> float:
    """Independent draws that would say as much about the mean as these (chains, n).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> steps = np.cumsum(rng.normal(size=1000))
    >>> effective_size(steps) < 20
    True
    """
    x = _chains(draws)
    m, n = x.shape
    if n < 4 or np.ptp(x) == 0:
        return float(m * n)
    covariance = autocovariance(x).mean(axis=0)
    within = covariance[0] * n / (n - 1)
    total = (n - 1) / n * within + (x.mean(axis=1).var(ddof=1) if m > 1 else 0.0)
    rho = 1.0 - (within - covariance * n / (n - 1)) / total
    pairs = rho[: n // 2 * 2].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs < 0)
    kept = np.minimum.accumulate(pairs[: negative[0] if len(negative) else len(pairs)])
    time = max(2.0 * kept.sum() - 1.0, 1.0 / np.log10(m * n + 10.0))  # antithetic draws: at most log10 of their number
    return float(m * n / time)


def monte_carlo_error(draws: ArrayLike) -> float:
    """Standard error of the mean of (chains, n) draws."""
    x = _chains(draws)
    return float(x.std(ddof=1) / np.sqrt(effective_size(x))) if x.size > 1 else float("nan")


def running_mean(draws: ArrayLike) -> Doubles:
    """Mean of the draws so far, along the last axis."""
    x = np.asarray(draws, dtype=np.float64)
    found: Doubles = np.cumsum(x, axis=-1) / np.arange(1, x.shape[-1] + 1)
    return found


def _chains(draws: ArrayLike) -> Doubles:
    x = np.atleast_2d(np.asarray(draws, dtype=np.float64))
    if x.ndim != 2 or not x.size:
        raise ValueError(f"draws have to be (n,) or (chains, n) numbers; got shape {x.shape}")
    return x
