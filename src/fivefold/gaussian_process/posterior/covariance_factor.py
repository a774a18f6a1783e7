"""The Cholesky factor of a covariance, with a ladder of jitter where rounding has made it singular.

A covariance of rows that are equal, or much closer than the width of the kernel, is singular to rounding. Numbers from
JITTER_LADDER, times the mean of the diagonal, are added to the diagonal until it has a factor: noise of that variance.
"""

from __future__ import annotations

import numpy as np

from fivefold.core.console.user_warnings import warn
from fivefold.core.numerics.cholesky import cholesky_with_least
from fivefold.core.types import Doubles, Vector
from fivefold.kernels.base import Objects, count
from fivefold.kernels.gram import JITTERS, Factor, NotPositiveDefiniteError, jitters

JITTER_LADDER = (*JITTERS, 1e-4)  # shares of the mean variance


def factor(K: Doubles, noise: float | Vector) -> Factor:
    """The factor of K + noise on the diagonal; K, symmetric, is overwritten, and its upper triangle stays in L."""
    diagonal = np.diag(K) + noise
    level = max(float(np.abs(diagonal).mean()), np.finfo(float).tiny)
    if not np.isfinite(level):
        raise ValueError(
            "the covariance holds NaN or infinity: scale the columns, or keep the kernel's parameters small"
        )
    jitter = cholesky_with_least(
        K, diagonal, jitters(len(K), level, JITTER_LADDER), len(K) * np.finfo(np.float64).eps * level
    )
    if jitter is None:
        raise NotPositiveDefiniteError(
            f"the covariance is not positive definite, even with {JITTER_LADDER[-1] * level:.1g} added to every "
            "variance. The kernel is no kernel for these rows (an indefinite similarity, or a sigmoid): take another "
            "one, or raise alpha"
        )
    return Factor(K, jitter)


def warn_of_jitter(owner: str, jitter: float, X: Objects, kernel: object) -> None:
    """Say what was added to the diagonal, why it was needed and what to do about it."""
    if jitter == 0:
        return
    n, copies = count(X), 0
    if isinstance(X, np.ndarray) and X.ndim == 2:
        copies = n - len(np.unique(X, axis=0))
    cause = (
        f"{copies} of {n} rows repeat another row"
        if copies
        else "rows lie much closer together than the kernel is wide, or it has fewer dimensions than there are rows"
    )
    warn(
        f"{owner}: the covariance of {n} rows under {kernel} is singular to rounding: {cause}. {jitter:.1e} was added "
        "to every variance. Say how noisy the targets are: add a WhiteKernel, or give their variance as alpha"
    )
