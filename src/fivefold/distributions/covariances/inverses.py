"""Inverses of covariances, and words for those that have none.

P' P = Sigma^-1, P lower triangular: P = L^-1 for the Cholesky factor L of Sigma
"""

from __future__ import annotations

import numpy as np

from fivefold.core.types import Array

PIVOT_ROUNDING = 16 * np.finfo(np.float64).eps  # relative rounding error of a pivot, per column


def inverse_cholesky(sigma: Array, name: str = "the covariance of component {}") -> Array:
    """P (K, d, d), lower triangular, with P' P = Sigma^-1; `name` is how a message calls a singular matrix."""
    try:
        L = np.linalg.cholesky(sigma)
        pivots = np.einsum("kii->ki", L) ** 2 / np.einsum("kii->ki", sigma)
        if not pivots.min(initial=np.inf) > PIVOT_ROUNDING * sigma.shape[1]:
            raise np.linalg.LinAlgError
    except np.linalg.LinAlgError:
        raise _singular(sigma, name) from None
    return np.tril(np.linalg.inv(L))


def spd_inverse(matrices: Array) -> Array:
    """Inverses of symmetric positive definite matrices (K, d, d)."""
    P = inverse_cholesky(matrices)
    return P.transpose(0, 2, 1) @ P


def check_positive(variance: Array) -> Array:
    """The variances themselves; refused unless all are positive."""
    if not variance.min(initial=np.inf) > 0:
        k, *j = (int(i) for i in np.argwhere(~(variance > 0))[0])
        where = f"component {k}" + (f" in column {j[0]}" if j else "")
        raise ValueError(
            f"the variance of {where} is {variance[(k, *j)]:.3g}: its points are one point there, or there is none; "
            "raise the floor (reg_covar, var_smoothing), give a prior, or drop the column or the component"
        )
    return variance


def _singular(sigma: Array, name: str) -> ValueError:
    finite = np.isfinite(sigma).all(axis=(1, 2))
    if not finite.all():
        return ValueError(
            f"{name.format(int(finite.argmin()))} is not determined: no row has weight there; ask for fewer components "
            "or give a prior"
        )
    scale = np.sqrt(np.maximum(np.einsum("kii->ki", sigma), np.finfo(np.float64).tiny))
    least = np.linalg.eigvalsh(sigma / (scale[:, :, None] * scale[:, None, :]))[:, 0]
    return ValueError(
        f"{name.format(int(least.argmin()))} is singular: the points lie in a subspace (a constant column, columns "
        "that determine one another, or too few points); raise the floor (reg_covar), give a prior, ask for fewer "
        "components, or drop such columns"
    )
