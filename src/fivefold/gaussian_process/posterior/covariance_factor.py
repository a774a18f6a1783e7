"""The Cholesky factor of a covariance, with a ladder of jitter where rounding has made it singular.

A covariance of rows that are equal, or much closer than the width of the kernel, is singular to rounding. Numbers from
JITTER_LADDER, times the mean of the diagonal, are added to the diagonal until it has a factor: noise of that variance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve

from fivefold.core.console.user_warnings import warn
from fivefold.core.numerics.cholesky import cholesky, inverse_factor
from fivefold.core.types import Doubles, Vector
from fivefold.kernels.base import Objects, count

JITTER_LADDER = (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4)  # shares of the mean variance


@dataclass(frozen=True)
class CovarianceFactor:
    """C + jitter I = L L'."""

    L: Doubles  # (n, n) lower; above the diagonal is no meaning
    jitter: float

    def solve(self, B: Doubles) -> Doubles:
        """C^-1 B."""
        found: Doubles = cho_solve((self.L.T, False), B, check_finite=False)
        return found

    @property
    def half_log_det(self) -> float:
        """log |C| / 2."""
        return float(np.log(np.diag(self.L)).sum())

    def inverse_factor(self) -> Doubles:
        """P = L^-T, so that C^-1 = P P'."""
        return inverse_factor(self.L)


def factor(K: Doubles, noise: float | Vector) -> CovarianceFactor:
    """The factor of K + noise on the diagonal; K, symmetric, is overwritten."""
    diagonal = np.diag(K) + noise
    level = max(float(np.abs(diagonal).mean()), np.finfo(float).tiny)
    if not np.isfinite(level):
        raise ValueError(
            "the covariance holds NaN or infinity: scale the columns, or keep the kernel's parameters small"
        )
    for i, share in enumerate(JITTER_LADDER):
        if i:  # the upper triangle still holds the covariance
            rows, columns = np.tril_indices(len(K), -1)
            K[rows, columns] = K[columns, rows]
        np.fill_diagonal(K, diagonal + share * level)
        if (bad := cholesky(K)) == 0:
            return CovarianceFactor(K, share * level)
    raise np.linalg.LinAlgError(
        f"the covariance is not positive definite: row {bad} has a negative variance given those before it, even "
        f"with {JITTER_LADDER[-1] * level:.1g} added to every variance. The kernel is no kernel for these rows (an "
        "indefinite similarity, or a sigmoid): take another one, or raise alpha"
    )


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
